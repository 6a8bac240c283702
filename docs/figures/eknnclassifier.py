"""Figures of the page on EKNNClassifier."""

from _drawing import parameter_row
from _panels import map_of, mass_map, row
from sklearn.datasets import make_blobs, make_moons

from dempster.classify import EKNNClassifier

X, y = make_blobs(
    [60, 60, 60],
    centers=[(0, 0), (2.6, 0), (1.3, 2.4)],
    cluster_std=0.8,
    random_state=0,
)


def fit(**parameters):
    return EKNNClassifier(**{"n_neighbors": 10, **parameters}).fit(X, y)


def panel(ax, model, data, title):
    mass_map(
        ax,
        model,
        data,
        y,
        f"{title}\nleave-one-out error {model.leave_one_out_error_:.2f}",
    )


parameter_row(
    "eknnclassifier-neighbors", "n_neighbors", [1, 10, 120], fit, X, panel=panel
)
parameter_row(
    "eknnclassifier-gamma",
    "gamma",
    [0.15, None, 6.0],
    fit,
    X,
    words=("too small", "learned", "too large"),
    panel=panel,
)
parameter_row(
    "eknnclassifier-reliability",
    "reliability",
    [0.3, 0.95, 0.999],
    fit,
    X,
    words=("small", "default", "large"),
    panel=panel,
)

few, few_y = make_blobs(
    [150, 8], centers=[(0, 0), (2.4, 0)], cluster_std=0.9, random_state=1
)
moons, moon = make_moons(200, noise=0.2, random_state=0)
row(
    "eknnclassifier-fails",
    map_of(
        EKNNClassifier(n_neighbors=25).fit(few, few_y),
        few,
        few_y,
        "eight objects of one class, K=25",
    ),
    map_of(
        EKNNClassifier(n_neighbors=10).fit(moons, moon),
        moons,
        moon,
        "no failure: any shape",
    ),
    width=4.2,
)
