"""Figures of the page on RECM."""

import numpy as np
from _drawing import parameter_row, partition_panel
from _panels import partition_of, row
from sklearn.datasets import make_moons
from sklearn.metrics import pairwise_distances

from dempster.cluster import RECM
from dempster.datasets import make_fourclass

X, _ = make_fourclass(300, random_state=1)
squares = pairwise_distances(X, metric="sqeuclidean")


def fit(**parameters):
    return RECM(4, metric="precomputed", random_state=0, **parameters).fit(squares)


usual = fit().delta_
parameter_row(
    "recm-delta",
    "delta",
    [round(0.45 * usual, 1), "auto", round(4 * usual, 1)],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.delta_:.1f})' if value == "auto" else f"{value}"
    ),
)
parameter_row("recm-alpha", "alpha", [0, 1, 4], fit, X)

# Non-Euclidean dissimilarities: each squared distance has a relative error of up to a half.
noise = np.random.default_rng(0).uniform(0.5, 1.5, squares.shape)
bent = squares * (noise + noise.T) / 2


def corrected(correction):
    return RECM(4, metric="precomputed", correction=correction, random_state=0).fit(
        bent
    )


def shift_panel(ax, model, data, title):
    partition_panel(ax, model, data, title)
    shift = model.shift_ / np.median(bent)
    ax.set_title(
        f"{title}\nshifted by {shift:.1f} medians, {len(model.credal_partition_.ambiguous)} ambiguous"
    )


parameter_row(
    "recm-correction",
    "correction",
    ["clip", "auto", "shift"],
    corrected,
    X,
    words=("none", "default", "all of it"),
    show=lambda value, model: f'"{value}"',
    panel=shift_panel,
)

moons, _ = make_moons(300, noise=0.06, random_state=0)
row(
    "recm-fails",
    partition_of(RECM(2, random_state=0).fit(moons), moons, "two moons"),
    partition_of(
        RECM(4, metric="precomputed", square=True, random_state=0).fit(squares),
        X,
        "squares squared again",
    ),
    width=4.2,
)
