"""Colours of clusters that colour-blind readers can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.plot.palette import PALETTE

__all__ = ["PALETTE", "cluster_colors", "mixed_colors"]


def cluster_colors(n_clusters: int, colors: Sequence[Any] | None = None) -> np.ndarray:
    """(c, 3) colours; the palette starts again after twenty clusters, which then need their names in the picture."""
    from matplotlib.colors import to_rgb

    if colors is None:
        colors = [PALETTE[k % len(PALETTE)] for k in range(n_clusters)]
    elif len(colors) < n_clusters:
        raise InvalidInputError(f"colors must be a sequence of at least {n_clusters} colours, got {shown(colors)}")
    return np.array([to_rgb(color) for color in list(colors)[:n_clusters]]).reshape(n_clusters, 3)


def mixed_colors(sets: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """(s, 3) mean colour of the clusters of each set, given as rows of a Boolean table (s, c)."""
    return (sets @ colors) / np.maximum(sets.sum(axis=1, keepdims=True), 1)
