"""The legend of a credal partition: what is in the picture, and nothing that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from evidentia.plot._canvas import GREY, INK

if TYPE_CHECKING:
    from evidentia.plot.credal_partition import CredalPartitionDisplay

__all__ = ["MOST_LISTED", "MOST_SECTORS", "MOST_SPLIT", "legend_handles"]

MOST_LISTED = 10  # clusters in the legend; more are named in the picture
MOST_SECTORS = 4  # colours that can be told apart inside one marker
MOST_SPLIT = 2_000  # ambiguous objects, beyond which sectors would be too small to see


def legend_handles(display: CredalPartitionDisplay, *, explained: bool) -> list[Any]:
    """Entries with a word on what they mean where there is room for it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def marker(label: str, **style: Any) -> Line2D:
        return Line2D([], [], linestyle="none", label=label, **style)

    handles: list[Any] = []
    if display.n_clusters <= MOST_LISTED:
        for name, color in zip(display.cluster_names, display.colors_, strict=True):
            handles.append(marker(f"cluster {name}" if name.isdigit() else name, marker="o", markersize=6, color=color))
    if display.lower_patches_:
        handles.append(
            Patch(facecolor="#DDDDDD", edgecolor="#AAAAAA", label=f"certain{': lower approximation' * explained}")
        )
    if display.upper_patches_:
        style: Any = {"fill": False, "edgecolor": "#666666", "linestyle": (0, (3, 2))}
        handles.append(Patch(**style, label=f"possible{': upper approximation' * explained}"))
    handles.extend(_ambiguous_handles(display, marker, explained))
    if len(display.outliers):
        handles.append(
            marker(
                f"outliers{', in no cluster' * explained} ({len(display.outliers):,})",
                marker="x",
                color="black",
                markersize=6,
            )
        )
    if display.center_artist_ is not None:
        handles.append(marker("centres", marker="D", markersize=7, color=GREY, markeredgecolor="white"))
    return handles


def _ambiguous_handles(display: CredalPartitionDisplay, marker: Callable[..., Any], explained: bool) -> list[Any]:
    cardinality = display.assignment[display.ambiguous].sum(axis=1)
    few, many = np.count_nonzero(cardinality <= MOST_SECTORS), np.count_nonzero(cardinality > MOST_SECTORS)
    rim = {"marker": "o", "markersize": 8, "markeredgecolor": INK, "markeredgewidth": 0.7}
    handles = []
    if few:
        example = display.ambiguous[cardinality.argmin()]
        first, second = display.colors_[np.flatnonzero(display.assignment[example])[:2]]
        colors = {"markerfacecolor": first, "markerfacecoloralt": second, "fillstyle": "left"}
        if len(display.ambiguous) > MOST_SPLIT:
            colors = {"markerfacecolor": (first + second) / 2}
        handles.append(marker(f"ambiguous{', in one of several' * explained} ({few:,})", **rim, **colors))
    if many:
        text = f"ambiguous{', in one of many' * explained} ({many:,})"
        handles.append(marker(text, **rim, markerfacecolor="0.5"))
    return handles
