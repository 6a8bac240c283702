"""The legend of a credal partition: what is in the picture, and nothing that is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dempster._text import format_cluster, printable
from dempster.plot._drawing.canvas import GREY, INK
from dempster.plot._drawing.rough_picture import RoughPicture

__all__ = ["MOST_LISTED", "MOST_SECTORS", "MOST_SPLIT", "legend_handles", "legend_of_lines", "legend_of_names"]

MOST_LISTED = 10  # clusters in the legend; more are named in the picture
MOST_SECTORS = 4  # colours that can be told apart inside one marker
MOST_SPLIT = 2_000  # ambiguous objects, beyond which sectors would be too small to see


def legend_of_lines(ax: Any, lines: Sequence[Any]) -> None:
    """A legend of lines, and of what else with a name was there."""
    others = [handle for handle in ax.get_legend_handles_labels()[0] if handle not in lines]
    legend_of_names(ax, [*others, *lines], fontsize="small", frameon=False)


def legend_of_names(ax: Any, handles: Sequence[Any], **style: Any) -> Any:
    """A legend in which a $ is a $, and a name may begin with an underscore."""
    drawn = ax.legend(handles, [printable(handle.get_label()) for handle in handles], **style)
    for text in drawn.get_texts():
        text.set_parse_math(False)
    return drawn


def legend_handles(
    picture: RoughPicture,
    cluster_names: Sequence[str],
    colors: np.ndarray,
    *,
    lower: bool,
    upper: bool,
    centers: bool,
    explained: bool,
) -> list[Any]:
    """Entries for the clusters, the hulls and centres that are drawn, and the objects; ``explained``: with a word on
    what they mean, where there is room for it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def marker(label: str, **style: Any) -> Line2D:
        return Line2D([], [], linestyle="none", label=label, **style)

    handles: list[Any] = []
    if picture.n_clusters <= MOST_LISTED:
        for name, color in zip(cluster_names, colors, strict=True):
            handles.append(marker(format_cluster(name), marker="o", markersize=6, color=color))
    if lower:
        handles.append(
            Patch(facecolor="#DDDDDD", edgecolor="#AAAAAA", label=f"certain{': lower approximation' * explained}")
        )
    if upper:
        style: Any = {"fill": False, "edgecolor": "#666666", "linestyle": (0, (3, 2))}
        handles.append(Patch(**style, label=f"possible{': upper approximation' * explained}"))
    handles.extend(_ambiguous_handles(picture, colors, marker, explained))
    if len(picture.outliers):
        handles.append(
            marker(
                f"outliers{', in no cluster' * explained} ({len(picture.outliers):,})",
                marker="x",
                color="black",
                markersize=6,
            )
        )
    if centers:
        handles.append(marker("centres", marker="D", markersize=7, color=GREY, markeredgecolor="white"))
    return handles


def _ambiguous_handles(
    picture: RoughPicture, colors: np.ndarray, marker: Callable[..., Any], explained: bool
) -> list[Any]:
    cardinality = picture.cardinality[picture.ambiguous]
    few, many = np.count_nonzero(cardinality <= MOST_SECTORS), np.count_nonzero(cardinality > MOST_SECTORS)
    rim = {"marker": "o", "markersize": 8, "markeredgecolor": INK, "markeredgewidth": 0.7}
    handles = []
    if few:
        example = picture.ambiguous[cardinality.argmin()]
        first, second = colors[np.flatnonzero(picture.assignment[example])[:2]]
        filled = {"markerfacecolor": first, "markerfacecoloralt": second, "fillstyle": "left"}
        if len(picture.ambiguous) > MOST_SPLIT:
            filled = {"markerfacecolor": (first + second) / 2}
        handles.append(marker(f"ambiguous{', in one of several' * explained} ({few:,})", **rim, **filled))
    if many:
        text = f"ambiguous{', in one of many' * explained} ({many:,})"
        handles.append(marker(text, **rim, markerfacecolor="0.5"))
    return handles
