"""Figures of the page on CECM."""

import numpy as np
from _drawing import parameter_row, partition_panel
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import CECM
from dempster.constraints import Constraints

# Three groups and two clusters: the constraints determine which two groups form a cluster.
X = clouds(((0, 0), 0.8, 80), ((3.4, 0), 0.8, 80), ((3.4, 4.2), 0.8, 80))
group = np.repeat([0, 1, 1], 80)
known = Constraints.from_labels(group, 60, random_state=0)


def fit(constraints=known, **parameters):
    return CECM(2, **{"metric": "adaptive", "random_state": 0, **parameters}).fit(
        X, constraints=constraints
    )


def wrong_panel(ax, model, data, title):
    """Draw a partition with the number of wrong objects in the title."""
    partition_panel(ax, model, data, title)
    wrong = min((model.labels_ != group).sum(), (model.labels_ == group).sum())
    ax.set_title(
        f"{title}\n{wrong} of {len(data)} wrong, {len(model.credal_partition_.ambiguous)} ambiguous"
    )


# One answer in ten is wrong.
said = group.copy()
liars = np.random.default_rng(1).choice(len(X), 12, replace=False)
said[liars] = 1 - said[liars]
doubtful = Constraints.from_labels(said, 60, random_state=0)
parameter_row(
    "cecm-xi",
    "xi",
    [0.05, 0.3, 0.99],
    lambda xi: fit(doubtful, xi=xi),
    X,
    words=("too small", "about right", "obeys false answers"),
    panel=wrong_panel,
)
parameter_row(
    "cecm-number",
    "pairs",
    [10, 30, 60],
    lambda pairs: fit(Constraints.from_labels(group, pairs, random_state=0)),
    X,
    words=("few", "more", "enough"),
    panel=wrong_panel,
)
parameter_row(
    "cecm-metric",
    "metric",
    ["euclidean", "adaptive"],
    lambda metric: fit(metric=metric),
    X,
    words=("default", "with shapes"),
    show=lambda value, model: f'"{value}"',
    panel=wrong_panel,
)

moons, moon = make_moons(300, noise=0.06, random_state=0)
answers = Constraints.from_labels(moon, 60, random_state=0)
lies = Constraints.from_labels(
    np.random.default_rng(0).permutation(group), 60, random_state=0
)
row(
    "cecm-fails",
    partition_of(
        CECM(2, random_state=0).fit(moons, constraints=answers),
        moons,
        "two moons, 60 true pairs",
    ),
    partition_of(fit(lies), X, "60 pairs of random answers"),
    width=4.2,
)
