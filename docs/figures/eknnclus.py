"""Figures of the page on EKNNClus."""

import warnings

import numpy as np
from _drawing import doubt_panel, parameter_row
from _panels import COLORS, clouds, row
from sklearn.datasets import make_moons

from dempster.cluster import EKNNClus
from dempster.datasets import make_fourclass

X, _ = make_fourclass(400, random_state=1)


def cluster_panel(ax, model, X, title):
    """Draw clusters with different colors and, if there are more clusters than colors, different markers."""
    for k in range(model.n_clusters_):
        marker = "osD^vP*X"[k // len(COLORS) % 8]
        ax.scatter(
            *X[model.labels_ == k].T,
            s=13,
            c=COLORS[k % len(COLORS)],
            marker=marker,
            linewidths=0,
        )
    ax.set_title(
        f"{title}\n{model.n_clusters_} {'clusters' if model.n_clusters_ > 1 else 'cluster'}"
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xticks=[], yticks=[])


def panel_of(X, title):
    return lambda ax: cluster_panel(ax, EKNNClus(random_state=0).fit(X), X, title)


def fit(**parameters):
    with warnings.catch_warnings():
        # The figure shows that a single cluster remains.
        warnings.simplefilter("ignore")
        return EKNNClus(random_state=0, **parameters).fit(X)


parameter_row(
    "eknnclus-neighbors",
    "n_neighbors",
    [10, 160, 390],
    fit,
    X,
    panel=cluster_panel,
)
parameter_row(
    "eknnclus-q",
    "q",
    [0.1, 0.9, 1.0],
    fit,
    X,
    words=("too small", "default", "largest"),
    panel=cluster_panel,
)
row(
    "eknnclus-doubt",
    lambda ax: cluster_panel(ax, fit(), X, "clusters"),
    lambda ax: doubt_panel(ax, fit(), X, "doubt: light none, dark all"),
    width=4.2,
)

rng = np.random.default_rng(0)
noisy = np.vstack(
    [
        clouds(((0, 0), 0.6, 100), ((5, 0), 0.6, 100)),
        rng.uniform((-4, -5), (9, 5), (60, 2)),
    ]
)
moons, _ = make_moons(300, noise=0.06, random_state=0)
unequal = clouds(((0, 0), 2.0, 300), ((6.5, 0), 0.4, 25))
row(
    "eknnclus-fails",
    panel_of(noisy, "two clusters in noise"),
    panel_of(unequal, "a large cluster and a small one"),
    panel_of(moons, "two moons"),
)
