"""Figures of the page on MECM."""

from _drawing import parameter_row
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import MECM
from dempster.datasets import make_fourclass

X, _ = make_fourclass(300, random_state=1)


def fit(**parameters):
    return MECM(4, random_state=0, **parameters).fit(X)


usual = fit().delta_
parameter_row(
    "mecm-delta",
    "delta",
    [round(0.45 * usual, 1), "auto", round(4 * usual, 1)],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.delta_:.1f})' if value == "auto" else f"{value}"
    ),
)
parameter_row("mecm-alpha", "alpha", [0, 1, 4], fit, X)
parameter_row("mecm-eta", "eta", [0.3, 1, 4], fit, X)

moons, _ = make_moons(300, noise=0.06, random_state=0)
unequal = clouds(((0, 0), 2.2, 300), ((5.2, 0), 0.4, 25), ((4.5, 3.2), 0.4, 25))
row(
    "mecm-fails",
    partition_of(MECM(2, random_state=0).fit(moons), moons, "two moons"),
    partition_of(
        MECM(3, random_state=0).fit(unequal), unequal, "one large and two small"
    ),
    width=4.2,
)
