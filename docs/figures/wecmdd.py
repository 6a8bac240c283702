"""Figures of the page on WECMdd."""

import warnings

import numpy as np
from _drawing import blank, parameter_row
from _panels import COLORS, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import WECMdd
from dempster.datasets import make_fourclass

X, _ = make_fourclass(300, random_state=1)


def fit(**parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The figure shows that clusters coincide.
        return WECMdd(4, random_state=0, **parameters).fit(X)


def weights_panel(ax, model, X, title):
    """Draw the weight of each object in its cluster as the size of a disc."""
    weights = np.zeros((model.n_clusters_, len(X)))
    weights[:, model.candidate_indices_] = model.prototype_weights_
    ax.scatter(*X.T, s=3, c="0.7", linewidths=0)
    for k, row_of in enumerate(weights):
        ax.scatter(*X.T, s=700 * row_of, c=COLORS[k], alpha=0.55, linewidths=0)
    several = (1 / (weights**2).sum(axis=1)).mean()
    ax.set_title(f"{title}\na cluster rests on about {several:.0f} objects")
    ax.spines[["top", "right"]].set_visible(False)
    blank(ax)


parameter_row("wecmdd-psi", "psi", [1.02, 1.2, 2.0], fit, X, panel=weights_panel)
usual = fit().delta_
parameter_row(
    "wecmdd-delta",
    "delta",
    [round(0.45 * usual, 1), "auto", round(4 * usual, 1)],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.delta_:.1f})' if value == "auto" else f"{value}"
    ),
)
parameter_row("wecmdd-alpha", "alpha", [0.5, 2, 6], fit, X)

moons, _ = make_moons(300, noise=0.06, random_state=0)
row(
    "wecmdd-fails",
    partition_of(WECMdd(2, random_state=0).fit(moons), moons, "two moons"),
    partition_of(fit(psi=2.0), X, "psi=2: clusters that coincide"),
    width=4.2,
)
