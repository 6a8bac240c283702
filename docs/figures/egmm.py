"""Figures of the page on EGMM."""

from _drawing import parameter_row
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import EGMM
from dempster.datasets import make_fourclass

X, _ = make_fourclass(400, random_state=1)


def fit(**parameters):
    return EGMM(**{"n_clusters": 4, "random_state": 0, **parameters}).fit(X)


parameter_row("egmm-number", "n_clusters", [3, 4, 6], fit, X)
parameter_row(
    "egmm-sets",
    "focal_sets",
    ["simple", "auto", "pairs"],
    fit,
    X,
    words=("few", "default", "all pairs"),
    show=lambda value, model: f'"{value}" ({len(model.focal_sets_)} sets)',
)

# With one covariance matrix for all, parallel elongated clusters are found, crossing ones are not.
parallel = clouds(((0, 0), (3, 0.35), 150), ((0, 2.2), (3, 0.35), 150))
crossing = clouds(((0, 0), (3, 0.25), 150), ((0, 0), (0.25, 3), 150))
moons, _ = make_moons(300, noise=0.06, random_state=0)
far = clouds(((0, 0), 0.7, 100), ((5, 0), 0.7, 100))
far[[3, 150]] = [[2.5, 6.0], [2.6, -6.0]]
row(
    "egmm-fails",
    partition_of(EGMM(2, random_state=0).fit(parallel), parallel, "found: parallel"),
    partition_of(
        EGMM(2, random_state=0).fit(crossing), crossing, "not found: crossing"
    ),
    partition_of(EGMM(2, random_state=0).fit(moons), moons, "not found: bent"),
    partition_of(EGMM(2, random_state=0).fit(far), far, "far away, and in a cluster"),
    width=3.2,
)
