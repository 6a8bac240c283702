"""Figures of the page on ECMdd."""

from _drawing import parameter_row
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import ECMdd
from dempster.datasets import make_fourclass

X, _ = make_fourclass(300, random_state=1)


def fit(**parameters):
    return ECMdd(4, random_state=0, **parameters).fit(X)


usual = fit().delta_
parameter_row(
    "ecmdd-delta",
    "delta",
    [round(0.7 * usual, 1), "auto", round(3 * usual, 1)],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.delta_:.1f})' if value == "auto" else f"{value}"
    ),
)
parameter_row("ecmdd-alpha", "alpha", [0.5, 2, 6], fit, X)
parameter_row(
    "ecmdd-power", "power", [0.5, 1, 2], fit, X, words=("roots", "default", "squares")
)

moons, _ = make_moons(300, noise=0.06, random_state=0)
unequal = clouds(((0, 0), 2.2, 300), ((5.2, 0), 0.4, 25), ((4.5, 3.2), 0.4, 25))
row(
    "ecmdd-fails",
    partition_of(ECMdd(2, random_state=0).fit(moons), moons, "two moons"),
    partition_of(
        ECMdd(3, random_state=0).fit(unequal), unequal, "one large and two small"
    ),
    width=4.2,
)
