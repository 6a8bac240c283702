"""Functions that several displays use for axes, colors, validation, legends and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dempster._errors import InvalidParameterError
from dempster._text import printable
from dempster._validation import as_list
from dempster.plot.palette import GREY, PALETTE

# ---- axes ----------------------------------------------------------------------------------------


class Display:
    """Base class of displays, which draw on given axes or on a new figure."""

    axes_: Any

    def _open_axes(self, ax: Any, figsize: tuple[float, float]) -> Any:
        """Return the given axes or those of a new figure, and set ``ax_`` and ``figure_``."""
        self._open_panels(None if ax is None else [ax], 1, 1, figsize)
        self.ax_ = self.axes_[0]
        return self.ax_

    def _open_panels(
        self,
        axes: Any,
        n_panels: int,
        n_columns: int,
        size: tuple[float, float],
        *,
        share: bool = False,
    ) -> None:
        """Set ``axes_`` to the given axes or to panels of the given size on a new figure."""
        if axes is None:
            import matplotlib.pyplot as plt

            n_columns = min(n_panels, n_columns)
            n_rows = -(-n_panels // n_columns)
            figure, grid = plt.subplots(
                n_rows,
                n_columns,
                figsize=(size[0] * n_columns, size[1] * n_rows),
                layout="constrained",
                squeeze=False,
                sharex=share,
                sharey=share,
            )
            for unused in grid.ravel()[n_panels:]:
                figure.delaxes(unused)
            axes = grid.ravel()[:n_panels]
        self.axes_ = list(np.ravel(np.asarray(axes, object)))
        if len(self.axes_) != n_panels:
            raise InvalidParameterError(
                "axes",
                must=f"contain {n_panels} Matplotlib axes, got {len(self.axes_)}",
            )
        self.figure_ = self.axes_[0].figure

    def _write_title(self, title: str | None) -> None:
        """Write the title of the figure, or of the panel if there is only one."""
        if title is not None and len(self.axes_) > 1:
            self.figure_.suptitle(title)
        elif title is not None:
            self.axes_[0].set_title(title)


def set_equal_units(ax: Any, adjustable: str) -> None:
    """Give both axes the same scale by adjusting the box ("box") or the data limits ("datalim")."""
    # Matplotlib allows only "box" if both axes are shared.
    groups = ax.get_shared_x_axes(), ax.get_shared_y_axes()
    if all(len(group.get_siblings(ax)) > 1 for group in groups):
        adjustable = "box"
    ax.set_aspect("equal", adjustable=adjustable)


def finish_axes(
    ax: Any,
    xlabel: str = "",
    ylabel: str = "",
    *,
    title: str | None = None,
    grid: bool = False,
    integer_ticks: bool = False,
) -> None:
    """Label the axes literally, hide the upper and right border and draw gray ticks.

    ``grid`` draws horizontal lines.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor="#444444", labelsize="small")
    if grid:
        ax.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        ax.set_axisbelow(True)
    if integer_ticks:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(xlabel, parse_math=False)
    ax.set_ylabel(ylabel, parse_math=False)
    if title is not None:
        ax.set_title(title)


def write_note(ax: Any, text: str, va: str = "bottom") -> Any:
    """Write a small gray text in the lower or, with ``va="top"``, upper right corner."""
    y = {"bottom": 0.02, "top": 0.98}[va]
    return ax.text(
        0.985,
        y,
        text,
        color=GREY,
        fontsize="small",
        transform=ax.transAxes,
        ha="right",
        va=va,
    )


def halo(width: float) -> list[Any]:
    """Return path effects that draw a white rim around lines and text."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


# ---- colors and markers --------------------------------------------------------------------------


MARKERS = "osD^v<>P"


def cluster_colors(n_clusters: int, colors: Sequence[Any] | None = None) -> np.ndarray:
    """Return the RGB color of each cluster, shape (n_clusters, 3).

    The palette repeats after twenty clusters.
    """
    from matplotlib.colors import to_rgba_array

    if colors is None:
        colors = [PALETTE[k % len(PALETTE)] for k in range(n_clusters)]
    elif len(colors) < n_clusters:
        raise InvalidParameterError(
            "colors", f"a sequence of at least {n_clusters} colors", colors
        )
    return to_rgba_array(list(colors)[:n_clusters])[:, :3]


def mix_colors(sets: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Return the mean color of the clusters in each set.

    ``sets`` is a Boolean array of shape (n_sets, n_clusters).
    """
    return (sets @ colors) / np.maximum(sets.sum(axis=1, keepdims=True), 1)


# ---- validation of data --------------------------------------------------------------------------


def validate_names(names: Any, argument: str, number: int) -> list[str]:
    """Convert names, by default the numbers from 0, to text that Matplotlib can draw."""
    if names is None:
        names = range(number)
    if isinstance(names, str):
        raise InvalidParameterError(argument, f"a sequence of {number} names", names)
    texts = [printable(name) for name in as_list(names, argument, f"{number} names")]
    if len(texts) != number:
        raise InvalidParameterError(
            argument, must=f"contain {number} names, got {len(texts)}"
        )
    return texts


def validate_estimator(estimator: Any, *attributes: str) -> None:
    """Raise an error if the estimator is not fitted or does not have the required attributes."""
    check_is_fitted(estimator)
    missing = [name for name in attributes if not hasattr(estimator, name)]
    if missing:
        raise InvalidParameterError(
            "estimator",
            must=f"have {', '.join(missing)}, got {type(estimator).__name__}",
        )


# ---- legends and labels --------------------------------------------------------------------------


def draw_outside_legend(ax: Any, handles: Sequence[Any]) -> Any:
    """Draw a legend to the right of the axes."""
    return draw_legend(ax, handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def draw_legend(ax: Any, handles: Sequence[Any], **style: Any) -> Any:
    """Draw a legend with literal labels, including dollar signs and leading underscores."""
    style = {"fontsize": "small", "frameon": False, **style}
    legend = ax.legend(
        handles, [printable(handle.get_label()) for handle in handles], **style
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend


# Candidate directions in the order of preference: right, above, below and left, then the corners.
_DIRECTIONS = np.array(
    [(1, 0), (0, 1), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)], float
)
# Distances from a point to the nearest edge of its label, in points.
_RINGS = (5.0, 14.0, 26.0, 40.0)
_MIN_LEADER = 14.0  # Labels at this distance or farther get a line to their point.


def place_labels(
    ax: Any,
    points: np.ndarray,
    names: Sequence[str],
    *,
    avoid: Sequence[Any] = (),
    **style: Any,
) -> list[Any]:
    """Annotate each point with its name and return the annotations.

    Labels are placed one after the other. Each label is placed at the nearest position that covers
    no point, no earlier label, none of the artists to avoid and no border. If every position covers
    something, the label is placed where the covered area is smallest.
    """
    annotations = [
        ax.annotate(
            name,
            point,
            xytext=(0, 0),
            textcoords="offset points",
            ha="center",
            va="center",
            parse_math=False,
            **style,
        )
        for name, point in zip(names, points, strict=True)
    ]
    dots_per_point = ax.figure.dpi / 72
    anchors = ax.transData.transform(points) / dots_per_point

    def box(artist: Any) -> np.ndarray:
        return np.array(artist.get_window_extent().extents) / dots_per_point

    occupied = [np.concatenate([anchor - 4, anchor + 4]) for anchor in anchors]
    occupied += map(box, avoid)
    rings = np.repeat(_RINGS, len(_DIRECTIONS))
    directions = np.tile(_DIRECTIONS, (len(_RINGS), 1))
    is_diagonal = np.abs(directions).sum(axis=1) == 2
    reach = np.where(is_diagonal, rings * np.sqrt(0.5), rings)[:, None]
    for text, anchor in zip(annotations, anchors, strict=True):
        size = np.ptp(box(text).reshape(2, 2), axis=0)
        offsets = directions * (size / 2 + reach)
        boxes = np.hstack([anchor + offsets - size / 2, anchor + offsets + size / 2])
        areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
        outside = np.maximum(areas - _overlap(boxes, box(ax)[None])[:, 0], 0)
        cost = _overlap(boxes, np.array(occupied)).sum(axis=1) + 3 * outside
        # On ties, argmin returns the first candidate, which is preferred.
        best = int(np.argmin(cost))
        text.set_position(tuple(offsets[best]))
        occupied.append(boxes[best])
        if rings[best] >= _MIN_LEADER:
            ax.annotate(
                "",
                text.xy,
                xytext=offsets[best],
                textcoords="offset points",
                arrowprops={
                    "arrowstyle": "-",
                    "color": GREY,
                    "linewidth": 0.6,
                    "shrinkA": 0,
                    "shrinkB": 3,
                },
                zorder=2.5,
            )
    return annotations


def _overlap(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the areas of the intersections of boxes (left, bottom, right, top), shape (n, m)."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    return np.maximum(high - low, 0).prod(axis=2)


# ---- named curves --------------------------------------------------------------------------------


class CurvesDisplay(Display):
    """Base class of displays of one or several named curves."""

    def __init__(self, *, curves: Mapping[str, Any]):
        self.curves = {str(name): curve for name, curve in curves.items()}
        self.areas = {name: curve.area for name, curve in self.curves.items()}

    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of colors, optional
            Colors of the curves.
        title : str, optional

        Returns
        -------
        self
        """
        palette = cluster_colors(len(self.curves), colors)
        ax = self._open_axes(ax, (6.4, 4))
        self.lines_ = []
        for (name, curve), color in zip(self.curves.items(), palette, strict=True):
            self.lines_ += self._draw_curve(
                curve, color=color, linewidth=1.6, label=name
            )
        self._finish(title)
        labeled = ax.get_legend_handles_labels()[0]
        others = [line for line in labeled if line not in self.lines_]
        if len(others) + len(self.lines_) > 1:
            draw_legend(ax, [*others, *self.lines_])
        return self

    def _draw_curve(self, curve: Any, **style: Any) -> list[Any]:
        raise NotImplementedError

    def _finish(self, title: str | None) -> None:
        raise NotImplementedError
