"""Colours of clusters that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["PALETTE", "cluster_colors", "mixed_colors"]

# The first six are those of Okabe and Ito (2008) that stand out from white and from black. Each of the others was
# chosen among saturated and medium-light colours as the one farthest (in Oklab, the smallest distance for normal,
# protanope and deuteranope eyes) from black, white and those before it.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#692D2D",
    "#3C2D96",
    "#87E1A5",
    "#A52D69",
    "#964B00",
    "#5A87F0",
    "#2DE1FF",
    "#A5B487",
    "#D2D24B",
    "#780F69",
    "#B44B4B",
    "#00D2C3",
    "#4B4BB4",
    "#A55A87",
)


def cluster_colors(n_clusters: int, colors: Sequence[Any] | None = None) -> np.ndarray:
    """(c, 3) colours; the palette starts again after twenty clusters, which then need their names in the picture."""
    from matplotlib.colors import to_rgb

    if colors is None:
        colors = [PALETTE[k % len(PALETTE)] for k in range(n_clusters)]
    elif len(colors) < n_clusters:
        raise ValueError(f"colors must be a sequence of at least {n_clusters} colours, got {colors!r}")
    return np.array([to_rgb(color) for color in list(colors)[:n_clusters]]).reshape(n_clusters, 3)


def mixed_colors(sets: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """(s, 3) mean colour of the clusters of each set, given as rows of a Boolean table (s, c)."""
    return (sets @ colors) / np.maximum(sets.sum(axis=1, keepdims=True), 1)
