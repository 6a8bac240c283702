"""Names beside points, placed so that they do not cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["place_labels"]

# Eight directions in the order of preference: right, above, below and left first, then the corners; then farther out.
_DIRECTIONS = np.array([(1, 0), (0, 1), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)], dtype=float)
_RINGS = (5.0, 14.0, 26.0, 40.0)  # distance from the point to the nearest edge of its name, in points
_LEADER_FROM = 14.0  # names this far away are tied to their points by a line


def place_labels(
    ax: Any, points: np.ndarray, names: Sequence[str], *, avoid: Sequence[Any] = (), **style: Any
) -> list[Any]:
    """Annotate each point with its name; returns the annotations.

    One after the other, each name takes the nearest place that covers no point, no earlier name, none of the artists
    to avoid and no border; where there is none, the place that covers least.
    """
    annotations = [
        ax.annotate(
            name, point, xytext=(0, 0), textcoords="offset points", ha="center", va="center", parse_math=False, **style
        )
        for name, point in zip(names, points, strict=True)
    ]
    dots_per_point = ax.figure.dpi / 72
    anchors = ax.transData.transform(points) / dots_per_point
    frame = np.array(ax.get_window_extent().extents) / dots_per_point
    extents = [text.get_window_extent() for text in annotations]
    sizes = np.array([(box.width, box.height) for box in extents]).reshape(-1, 2) / dots_per_point
    taken = [np.concatenate([anchor - 4, anchor + 4]) for anchor in anchors]
    taken += [np.array(artist.get_window_extent().extents) / dots_per_point for artist in avoid]
    for text, anchor, size in zip(annotations, anchors, sizes, strict=True):
        offsets, rings = _candidates(size)
        boxes = np.hstack([anchor + offsets - size / 2, anchor + offsets + size / 2])
        cost = _covered(boxes, np.array(taken)) + 3 * _outside(boxes, frame)
        best = int(np.argmin(cost))  # the first, that is the most liked, of the cheapest
        text.set_position(tuple(offsets[best]))
        taken.append(boxes[best])
        if rings[best] >= _LEADER_FROM:
            _tie(ax, text, style.get("zorder", 3))
    return annotations


def _candidates(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the middle of a name from its point, and the ring of each."""
    rings = np.repeat(_RINGS, len(_DIRECTIONS))
    directions = np.tile(_DIRECTIONS, (len(_RINGS), 1))
    diagonal = np.abs(directions).sum(axis=1) == 2
    reach = np.where(diagonal, rings * np.sqrt(0.5), rings)[:, None]
    return directions * (size / 2 + reach), rings


def _covered(boxes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Area each box shares with what is there already."""
    low = np.maximum(boxes[:, None, :2], taken[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], taken[None, :, 2:])
    return np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)


def _outside(boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Area of each box outside the frame of the axes."""
    low, high = np.maximum(boxes[:, :2], frame[:2]), np.minimum(boxes[:, 2:], frame[2:])
    inside = np.clip(high - low, 0, None).prod(axis=1)
    return np.clip((boxes[:, 2:] - boxes[:, :2]).prod(axis=1) - inside, 0, None)


def _tie(ax: Any, text: Any, zorder: float) -> None:
    from dempster.plot._drawing.canvas import GREY

    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
    ax.annotate(
        "",
        text.xy,
        xytext=text.get_position(),
        textcoords="offset points",
        arrowprops=line,
        zorder=zorder - 0.5,
    )
