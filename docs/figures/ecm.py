"""Figures of the page on ECM: each parameter too small, about right and too large."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import doubt_panel, parameter_row, partition_panel, save
from sklearn.datasets import make_moons

from dempster.cluster import ECM
from dempster.datasets import make_fourclass

X, _ = make_fourclass(400, random_state=1)


def fit(**parameters):
    return ECM(**{"n_clusters": 4, "random_state": 0, **parameters}).fit(X)


usual = fit()
parameter_row(
    "ecm-delta",
    "delta",
    [round(0.45 * usual.delta_, 1), "auto", round(4 * usual.delta_, 1)],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.delta_:.1f})' if value == "auto" else f"{value}"
    ),
)
parameter_row("ecm-alpha", "alpha", [0, 1, 4], fit, X)
parameter_row(
    "ecm-beta",
    "beta",
    [1.05, "auto", 5],
    fit,
    X,
    show=lambda value, model: (
        f'"auto" ({model.beta_:g})' if value == "auto" else f"{value}"
    ),
    panel=doubt_panel,
)
parameter_row("ecm-number", "n_clusters", [3, 4, 6], fit, X)
parameter_row(
    "ecm-sets",
    "focal_sets",
    ["simple", "auto", "full"],
    fit,
    X,
    words=("few", "default", "all"),
    show=lambda value, model: f'"{value}" ({len(model.focal_sets_)} sets)',
)

# Two elongated parallel clusters need the adaptive metric.
rng = np.random.default_rng(0)
long = np.vstack([rng.normal((0, y), (3.0, 0.35), (150, 2)) for y in (0.0, 2.2)])
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for ax, metric in zip(axes, ("euclidean", "adaptive"), strict=True):
    model = ECM(2, metric=metric, random_state=0).fit(long)
    partition_panel(ax, model, long, f'metric="{metric}"')
save(figure, "ecm-metric")

# Cases of failure: clusters without a center, and many outliers.
moons, _ = make_moons(300, noise=0.06, random_state=0)
crowd = np.vstack(
    [rng.normal(m, 0.6, (60, 2)) for m in ((0, 0), (4, 0), (2, 3.4))]
    + [rng.uniform(-9, 13, (150, 2))]
)
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
partition_panel(axes[0], ECM(2, random_state=0).fit(moons), moons, "two moons")
partition_panel(
    axes[1],
    ECM(3, random_state=0).fit(crowd),
    crowd,
    "nearly half of the objects are noise",
)
save(figure, "ecm-fails")
