"""Display of must-link and cannot-link constraints over the objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._validation import check, kind
from dempster.constraints import Constraints
from dempster.plot import _canvas as canvas
from dempster.plot.credal_partition import MIN_RASTER_OBJECTS, project_to_plane
from dempster.plot.palette import INK, PALETTE

_UNLABELED_COLOR = "#B8B8B8"


class ConstraintsDisplay(canvas.Display):
    """Display of constraints as segments between the objects.

    Must-links are solid lines, and cannot-links are dashed lines. Labeled objects have the color of their label, and
    unlabeled objects are gray.

    Parameters
    ----------
    points : array of shape (n, 2)
        Positions of the objects.
    constraints : Constraints
        Constraints between the n objects.
    labels : sequence of length n, optional
        Labels of the objects; -1 for unlabeled objects.
    axis_names : pair of str
        Names of the horizontal and the vertical axis.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    point_artists_ : list of collections
        Markers of the unlabeled objects, if there are any, and of the objects of each label.
    must_link_artist_, cannot_link_artist_ : collections
        Segments of the must-links and of the cannot-links.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> from dempster.datasets import make_circles
    >>> from dempster.plot import ConstraintsDisplay
    >>> X, y = make_circles(100, random_state=0)
    >>> constraints = Constraints.from_labels(y, 20, random_state=0)
    >>> display = ConstraintsDisplay.from_constraints(constraints, X, labels=y)
    >>> len(display.must_link_artist_.get_segments()) + len(display.cannot_link_artist_.get_segments())
    20
    """

    def __init__(
        self, *, points: Any, constraints: Constraints, labels: Any = None, axis_names: tuple[str, str] = ("", "")
    ):
        self.points = canvas.validate_points(points, "points")
        check(constraints, "constraints", kind(Constraints))
        constraints.check(len(self.points))
        self.constraints = constraints
        n = len(self.points)
        self._names, self._codes = canvas.encode_labels(np.full(n, -1) if labels is None else labels, "labels", n)
        self.labels = self._names[self._codes]
        self.axis_names = tuple(canvas.validate_names(axis_names, "axis_names", 2))

    @classmethod
    def from_constraints(cls, constraints: Constraints, X: Any, *, labels: Any = None, **options: Any) -> Self:
        """Draw constraints over the attributes of the objects.

        Parameters
        ----------
        constraints : Constraints
            Constraints between the n objects.
        X : array-like or table of shape (n, p), or (n,)
            Attributes of the objects. More than two attributes are reduced to two principal components.
        labels : sequence of length n, optional
            Labels of the objects; -1 for unlabeled objects.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ConstraintsDisplay
        """
        plane = project_to_plane(X)
        settings = {"constraints": constraints, "labels": labels, "axis_names": plane.axis_names}
        return cls(points=plane.points, **settings).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the objects and the constraints.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of colors, optional
            Colors of the labels.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it if there are constraints.
        title : str, optional

        Returns
        -------
        self
        """
        n = len(self.points)
        is_label = np.array([str(name) != "-1" for name in self._names], dtype=bool)
        palette = canvas.cluster_colors(int(is_label.sum()), colors)
        self._open_axes(ax, (6.4, 5))
        style: dict[str, Any] = {"s": float(np.clip(400 / np.sqrt(max(n, 1)), 2, 30)), "linewidths": 0}
        style |= {"rasterized": n > MIN_RASTER_OBJECTS, "zorder": 2}
        self.point_artists_ = []
        inks = iter(palette)
        for code, labeled in enumerate(is_label):
            ink = next(inks) if labeled else _UNLABELED_COLOR
            self.point_artists_.append(self.ax_.scatter(*self.points[self._codes == code].T, color=[ink], **style))
        self.must_link_artist_ = self._draw_links("must-link", self.constraints.must_link, INK, "-")
        self.cannot_link_artist_ = self._draw_links("cannot-link", self.constraints.cannot_link, PALETTE[1], "--")
        canvas.finish_axes(self.ax_, title=title)
        self.ax_.set_xlabel(self.axis_names[0], parse_math=False)
        self.ax_.set_ylabel(self.axis_names[1], parse_math=False)
        handles = [one for one in (self.must_link_artist_, self.cannot_link_artist_) if len(one.get_paths())]
        if handles and canvas.resolve_auto(legend, True):
            outside: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 2}
            canvas.draw_legend(self.ax_, handles, fontsize="small", frameon=False, **outside)
        return self

    def _draw_links(self, name: str, pairs: np.ndarray, color: str, style: str) -> Any:
        from matplotlib.collections import LineCollection

        look: dict[str, Any] = {"colors": color, "linestyles": style, "linewidths": 0.9, "zorder": 3}
        return self.ax_.add_collection(LineCollection(self.points[pairs], label=f"{name} ({len(pairs):,})", **look))
