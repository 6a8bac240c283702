"""Figures of the page on CCM."""

from _drawing import doubt_panel, parameter_row
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import CCM, ECM
from dempster.datasets import make_fourclass

X, _ = make_fourclass(400, random_state=1)


def fit(**parameters):
    return CCM(**{"n_clusters": 4, "random_state": 0, **parameters}).fit(X)


usual = fit().delta_


def auto(value, chosen):
    if value == "auto":
        return f'"auto" ({chosen:.2g})'
    return f"{value}"


parameter_row(
    "ccm-delta",
    "delta",
    [round(0.45 * usual, 1), "auto", round(4 * usual, 1)],
    fit,
    X,
    show=lambda value, model: auto(value, model.delta_),
)
parameter_row(
    "ccm-beta",
    "beta",
    [1.05, "auto", 5],
    fit,
    X,
    show=lambda value, model: auto(value, model.beta_),
    panel=doubt_panel,
)
parameter_row(
    "ccm-gamma",
    "gamma",
    [0, 1, 20],
    lambda gamma: fit(gamma=gamma, focal_sets="pairs"),
    X,
)
parameter_row("ccm-number", "n_clusters", [3, 4, 6], fit, X)

# Three clusters in a row: the barycenter of the outer two is at the cluster between them.
three = clouds(((-4, 0), 0.8, 90), ((0, 0), 0.8, 90), ((4, 0), 0.8, 90))
settings = {"focal_sets": "pairs", "beta": 2.0, "random_state": 0}
row(
    "ccm-row",
    partition_of(ECM(3, **settings).fit(three), three, 'ECM, focal_sets="pairs"'),
    partition_of(CCM(3, **settings).fit(three), three, 'CCM, focal_sets="pairs"'),
    width=4.2,
    height=3.2,
)

moons, _ = make_moons(300, noise=0.06, random_state=0)
unequal = clouds(((0, 0), 2.2, 300), ((5.2, 0), 0.4, 25), ((4.5, 3.2), 0.4, 25))
row(
    "ccm-fails",
    partition_of(CCM(2, random_state=0).fit(moons), moons, "two moons"),
    partition_of(
        CCM(3, random_state=0).fit(unequal), unequal, "one large and two small"
    ),
    width=4.2,
)
