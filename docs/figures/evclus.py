"""Figures of the page on EVCLUS."""

import numpy as np
from _drawing import parameter_row, partition_panel
from _panels import clouds, partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import EVCLUS
from dempster.constraints import Constraints
from dempster.datasets import make_fourclass

X, _ = make_fourclass(400, random_state=1)


def fit(**parameters):
    return EVCLUS(**{"n_clusters": 4, "random_state": 0, **parameters}).fit(X)


# With all pairs, d0 determines when two objects are in different clusters, and so which are
# ambiguous or outliers.
parameter_row(
    "evclus-d0",
    "d0",
    [2.0, 6.7, 12.0],
    lambda d0: fit(d0=d0, focal_sets="pairs"),
    X,
)
parameter_row("evclus-number", "n_clusters", [3, 4, 6], fit, X)
parameter_row(
    "evclus-sets",
    "focal_sets",
    ["simple", "auto", "full"],
    fit,
    X,
    words=("few", "default", "all"),
    show=lambda value, model: f'"{value}" ({len(model.focal_sets_)} sets)',
)

# Curved clusters need a scale of the width of the moons instead of the default for round clusters.
moons, moon = make_moons(300, noise=0.06, random_state=0)


def wrong_panel(ax, model, data, title, more=""):
    """Draw a partition with the number of objects in the wrong moon in the title."""
    wrong = min((model.labels_ != moon).sum(), (model.labels_ == moon).sum())
    partition_panel(ax, model, data, title)
    ax.set_title(f"{title}\n{wrong} of {len(data)} in the wrong moon{more}")


parameter_row(
    "evclus-scale",
    "d0",
    [0.2, 0.65, "auto"],
    lambda d0: EVCLUS(2, d0=d0, random_state=0).fit(moons),
    moons,
    words=("too small", "as wide as a moon", "default"),
    show=lambda value, model: (
        f'"auto" ({model.d0_:.1f})' if value == "auto" else f"{value}"
    ),
    panel=wrong_panel,
)

# Constraints on 150 pairs of the moons.
known = Constraints.from_labels(moon, 150, random_state=0)
parameter_row(
    "evclus-xi",
    "xi",
    [0.05, 0.2, 0.5],
    lambda xi: EVCLUS(2, xi=xi, random_state=0).fit(moons, constraints=known),
    moons,
    panel=wrong_panel,
)

# Case of failure: close objects are in different clusters.
long = clouds(((0, 0), (3.2, 0.25), 150), ((0, 1.6), (3.2, 0.25), 150))
angle = np.random.default_rng(1).uniform(0, 2 * np.pi, 400)
radius = np.repeat([1.0, 2.2, 3.4], (80, 130, 190)) + np.random.default_rng(2).normal(
    0, 0.12, 400
)
nested = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
row(
    "evclus-fails",
    partition_of(
        EVCLUS(2, random_state=0).fit(long), long, "long clusters side by side"
    ),
    partition_of(EVCLUS(3, random_state=0).fit(nested), nested, "three rings"),
    width=4.2,
)
