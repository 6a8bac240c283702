"""Pictures of the page on CECM."""

import numpy as np
from _drawing import parameter_row, partition_panel
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from evidentia.cluster import CECM
from evidentia.constraints import Constraints

# Two groups, one above the other, where round clusters would be cut left and right.
X = clouds(((0, 0), (2.2, 0.5), 120), ((0, 2.0), (2.2, 0.5), 120))
group = np.repeat([0, 1], 120)
known = Constraints.from_labels(group, 40, random_state=0)


def wrong(model):
    return min((model.labels_ != group).sum(), (model.labels_ == group).sum())


def wrong_panel(ax, model, data, title):
    """As usual, but with the pairs: must-links as lines, cannot-links as dotted ones."""
    partition_panel(ax, model, data, title)
    broken = known.violations(model.credal_partition_)
    ax.set_title(f"{title}\n{wrong(model)} of {len(data)} wrong")
    return broken


parameter_row(
    "cecm-xi",
    "xi",
    [0.05, 0.5, 0.99],
    lambda xi: CECM(2, xi=xi, random_state=0).fit(X, constraints=known),
    X,
    panel=wrong_panel,
)
parameter_row(
    "cecm-number",
    "pairs",
    [10, 40, 160],
    lambda pairs: CECM(2, random_state=0).fit(X, constraints=Constraints.from_labels(group, pairs, random_state=0)),
    X,
    words=("few", "some", "many"),
    panel=wrong_panel,
)
parameter_row(
    "cecm-metric",
    "metric",
    ["euclidean", "adaptive"],
    lambda metric: CECM(2, metric=metric, random_state=0).fit(X, constraints=known),
    X,
    words=("default", "with shapes"),
    panel=wrong_panel,
)

moons, moon = make_moons(300, noise=0.06, random_state=0)
rng = np.random.default_rng(0)
lies = Constraints.from_labels(rng.permutation(group), 40, random_state=0)
row(
    "cecm-fails",
    partition_of(
        CECM(2, random_state=0).fit(moons, constraints=Constraints.from_labels(moon, 40, random_state=0)),
        moons,
        "two moons, 40 true pairs",
    ),
    partition_of(CECM(2, random_state=0).fit(X, constraints=lies), X, "40 pairs of which half are false"),
    width=4.2,
)
