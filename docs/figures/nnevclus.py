"""Figures of the page on NNEVCLUS."""

from _drawing import parameter_row
from _panels import clouds, map_of, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import NNEVCLUS
from dempster.datasets import make_fourclass

X, group = make_fourclass(300, random_state=1)


def fit(**parameters):
    return NNEVCLUS(**{"n_clusters": 4, "random_state": 0, **parameters}).fit(X)


parameter_row(
    "nnevclus-network",
    "network",
    [2, "auto", 300],
    fit,
    X,
    words=("too small", "default", "more than enough"),
    show=lambda value, model: f'"{value}"' if value == "auto" else f"{value}",
)
parameter_row(
    "nnevclus-d0",
    "d0_quantile",
    [0.1, 0.8, 0.97],
    lambda d0_quantile: fit(d0_quantile=d0_quantile, focal_sets="pairs"),
    X,
)

# Masses far from the training data, without and with an outlier detector.
three = clouds(((0, 0), 0.8, 80), ((5, 0), 0.8, 80), ((2.5, 4.3), 0.8, 80))
maps = []
for title, detector in (
    ("without a detector", None),
    ('outlier_detector="one-class-svm"', "one-class-svm"),
):
    model = NNEVCLUS(3, outlier_detector=detector, random_state=0).fit(three)
    maps.append(map_of(model, three, model.labels_, title, margin=1.0))
row("nnevclus-detector", *maps, width=4.2)

moons, _ = make_moons(300, noise=0.06, random_state=0)
long = clouds(((0, 0), (3.2, 0.25), 150), ((0, 1.6), (3.2, 0.25), 150))
row(
    "nnevclus-fails",
    partition_of(NNEVCLUS(2, random_state=0).fit(moons), moons, "two moons"),
    partition_of(
        NNEVCLUS(2, random_state=0).fit(long), long, "long clusters side by side"
    ),
    width=4.2,
)
