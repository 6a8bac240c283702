"""Further shared parts of the figures of the methods: Gaussian data, rows of panels, and maps of masses."""

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _drawing import blank, partition_panel, save

COLORS = np.array(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"])
rng = np.random.default_rng(0)


def clouds(*parts: tuple[Any, Any, int]) -> np.ndarray:
    """Generate Gaussian clusters in the plane with given centers, standard deviations and numbers of objects."""
    return np.vstack(
        [rng.normal(center, spread, (n, 2)) for center, spread, n in parts]
    )


def row(
    name: str, *panels: Callable[[Any], None], width: float = 3.7, height: float = 3.6
) -> None:
    """Draw panels side by side; each panel is a function of the axes."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(width * len(panels), height), layout="constrained"
    )
    for ax, panel in zip(np.atleast_1d(axes), panels, strict=True):
        panel(ax)
    save(figure, name)


def partition_of(model: Any, X: Any, title: str) -> Callable[[Any], None]:
    """Return a panel for `row` that draws a fitted clusterer over its data."""
    return lambda ax: partition_panel(ax, model, X, title)


def mass_map(
    ax: Any, model: Any, X: Any, y: Any, title: str, margin: float = 0.35
) -> None:
    """Draw predicted masses in the plane: color of the cluster or class, white for ignorance, gray for outliers."""
    X = np.asarray(X)
    low = X.min(axis=0)
    high = X.max(axis=0)
    low, high = low - margin * (high - low), high + margin * (high - low)
    x, z = (np.linspace(low[a], high[a], 90) for a in (0, 1))
    found = model.predict_mass(np.stack(np.meshgrid(x, z), axis=-1).reshape(-1, 2))
    membership = np.asarray(found.focal_sets.membership)
    size = membership.sum(axis=1)
    shade = np.ones((len(size), 3))
    for k in range(membership.shape[1]):
        rgb = np.array([int(COLORS[k][i : i + 2], 16) for i in (1, 3, 5)]) / 255
        shade[(size == 1) & membership[:, k].astype(bool)] = 0.35 + 0.65 * rgb
    shade[size == 0] = 0.45
    image = np.clip(np.asarray(found.masses) @ shade, 0, 1).reshape(len(z), len(x), 3)
    ax.imshow(
        image,
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        aspect="auto",
        interpolation="bilinear",
    )
    ax.scatter(*X.T, s=12, c=COLORS[np.asarray(y)], edgecolors="white", linewidths=0.4)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title=title)
    blank(ax)


def map_of(
    model: Any, X: Any, y: Any, title: str, margin: float = 0.35
) -> Callable[[Any], None]:
    """Return a panel for `row` that draws the predicted masses of a fitted model."""
    return lambda ax: mass_map(ax, model, X, y, title, margin)
