"""Figures of the page on BPEC."""

from _drawing import parameter_row
from _panels import clouds, partition_of, row

from dempster.cluster import BPEC, BeliefPeaks
from dempster.datasets import make_fourclass

X, _ = make_fourclass(400, random_state=0)


def fit(**parameters):
    return BPEC(**{"init": BeliefPeaks(n_neighbors=50), **parameters}).fit(X)


parameter_row(
    "bpec-neighbors",
    "n_neighbors",
    [8, 50, 250],
    lambda n_neighbors: fit(init=BeliefPeaks(n_neighbors=n_neighbors)),
    X,
)
usual = fit().delta_
parameter_row(
    "bpec-delta",
    "delta",
    [round(0.45 * usual, 1), "auto", round(4 * usual, 1)],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.delta_:.1f})' if value == "auto" else f"{value}"
    ),
)
parameter_row("bpec-alpha", "alpha", [0, 1, 4], fit, X)

# The peak represents an elongated cluster badly unless each cluster has an adaptive metric.
long = clouds(((0, 0), (3, 0.35), 150), ((0, 2.2), (3, 0.35), 150))
row(
    "bpec-fails",
    partition_of(BPEC().fit(long), long, "long clusters, number not given"),
    partition_of(BPEC(2).fit(long), long, "n_clusters=2"),
    partition_of(
        BPEC(2, metric="adaptive").fit(long), long, 'n_clusters=2, metric="adaptive"'
    ),
)
