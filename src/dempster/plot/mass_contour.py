"""Masses, beliefs or plausibilities over the plane of two attributes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_labels, as_reals, check_choice
from dempster.belief import FocalSets
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot._drawing.canvas import INK, axes_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import cluster_colors, mixed_colors
from dempster.plot._drawing.contours import (
    checked_levels,
    checked_values,
    draw_boundaries,
    draw_lines,
    draw_objects,
    halo,
    name_regions,
    panels_of_one_figure,
    rival_margins,
    shades,
)
from dempster.plot._drawing.names import shown_names
from dempster.plot._drawing.options import checked_options, wanted
from dempster.plot._drawing.places import check_two_attributes, chosen_sets, grid, like
from dempster.plot._drawing.plane import to_plane

__all__ = ["MassContourDisplay"]

_SYMBOLS = {"mass": "m", "plausibility": "pl", "belief": "bel"}
_EMPTY_COLOR = np.array([0.6, 0.6, 0.6])


class MassContourDisplay:
    """What a fitted model says about every place of the plane.

    A panel for each set of clusters shows its mass (or belief, or plausibility) from white, 0, to dark, 1; dark lines
    are the boundaries between the most plausible clusters. Drawn together in one axes, each set has its own colour
    where its mass exceeds a half. Objects are points, crosses those whose largest mass is on the empty set.

    Make one with `from_estimator`; the constructor takes values that are already computed.

    Parameters
    ----------
    xx, yy : arrays of shape (rows, columns)
        Coordinates of the places, as `numpy.meshgrid` gives them.
    values : array of shape (s, rows, columns)
        Mass, belief or plausibility of each set at each place, in [0, 1].
    sets : FocalSets
        The s sets.
    plausibility : array of shape (c, rows, columns)
        Plausibility of each cluster, from which the boundaries come.
    quantity : {"mass", "plausibility", "belief"}, default="mass"
        What the values are.
    points : array of shape (n, 2), optional
        Objects to draw.
    point_labels : array of shape (n,), optional
        Their clusters, -1 for outliers.
    cluster_names : sequence of length c, optional
        0..c-1 by default.
    axis_names : pair of str

    Attributes
    ----------
    xx, yy, values, sets, plausibility, quantity, points, point_labels, cluster_names, axis_names
        As given.
    set_names : list of s str
    labels : array of shape (rows, columns)
        Most plausible cluster at each place, the lowest number on ties.
    figure_ : Matplotlib figure
    axes_ : array of axes
        The panels, in the order of the sets; a single one if all are drawn together.
    ax_ : Matplotlib axes
        The first of them.
    colors_ : array of shape (c, 3)
        Of the clusters.
    fills_, lines_ : lists of contour sets
        For each set; an entry of ``lines_`` is None where no level is crossed.
    boundaries_ : list of lists of contour sets
        For each of the axes.
    point_artists_ : list of lists of collections
        For each of the axes.
    texts_ : list of texts
        Names of the sets on their regions, if all are drawn together.
    colorbar_ : colour bar or None

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences 572.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> from dempster.plot import MassContourDisplay
    >>> X = load_butterfly().data
    >>> model = ECM(2, delta=5, random_state=0).fit(X)
    >>> display = MassContourDisplay.from_estimator(model, X, grid_resolution=50)
    >>> display.set_names, display.values.shape
    (['∅', '{0}', '{1}', 'Ω'], (4, 50, 50))
    """

    def __init__(
        self,
        *,
        xx: Any,
        yy: Any,
        values: Any,
        sets: FocalSets,
        plausibility: Any,
        quantity: str = "mass",
        points: Any = None,
        point_labels: Any = None,
        cluster_names: Sequence[Hashable] | None = None,
        axis_names: tuple[str, str] = ("attribute 1", "attribute 2"),
    ):
        if not isinstance(sets, FocalSets):
            raise InvalidInputError(f"sets must be a FocalSets, got {type(sets).__name__}")
        self.quantity = _checked_quantity(quantity)
        self.sets = sets
        self.xx, self.yy = as_reals(xx, "xx"), as_reals(yy, "yy")
        if self.xx.ndim != 2 or min(self.xx.shape) < 2 or self.yy.shape != self.xx.shape:
            raise InvalidInputError(
                f"xx and yy must have the same shape (rows, columns), got {self.xx.shape} and {self.yy.shape}"
            )
        for name, places in (("xx", self.xx), ("yy", self.yy)):
            if not np.isfinite(places).all():
                raise InvalidInputError(f"{name} must hold finite numbers, got NaN or infinity")
        self.values = checked_values(values, "values", (len(sets), *self.xx.shape))
        self.plausibility = checked_values(plausibility, "plausibility", (sets.n_clusters, *self.xx.shape))
        self.points = np.empty((0, 2)) if points is None else as_reals(points, "points")
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise InvalidInputError(f"points must have shape (n, 2), got {self.points.shape}")
        self.point_labels = None if point_labels is None else as_labels(point_labels, "point_labels")
        if self.point_labels is not None and self.point_labels.shape != (len(self.points),):
            raise InvalidInputError(
                f"point_labels must hold {len(self.points)} labels, got shape {self.point_labels.shape}"
            )
        names = range(sets.n_clusters) if cluster_names is None else cluster_names
        self.cluster_names = shown_names(names, "cluster_names", sets.n_clusters)
        self.set_names = sets.names(self.cluster_names)
        self.axis_names = tuple(shown_names(axis_names, "axis_names", 2))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sets: Any = None,
        quantity: str = "mass",
        grid_resolution: int = 150,
        margin: float = 0.15,
        cluster_names: Sequence[Hashable] | None = None,
        ax: Any = None,
        axes: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the masses that a fitted estimator gives to the places around some objects.

        Parameters
        ----------
        estimator : fitted estimator
            With the method ``predict_mass``, fitted to two attributes.
        X : array-like or table of shape (n, 2)
            Objects to draw, those it was fitted to or others; the picture extends as far as they do.
        sets : list of sets, FocalSets or one set (a tuple), optional
            Which sets to draw, by the numbers of their clusters or, if the masses name them, their names:
            ``[(), (0,), (0, 1)]``. By default the single clusters; for masses also the empty set, and the larger sets
            whose mass reaches a quarter somewhere, the largest first while there are no more than twelve panels.
        quantity : {"mass", "plausibility", "belief"}, default="mass"
        grid_resolution : int, default=150
            Places along each axis.
        margin : float, default=0.15
            Room around the objects, as a share of their range.
        cluster_names : sequence of length c, optional
            Those of the masses by default.
        ax : Matplotlib axes, optional
            Draw all sets together in it.
        axes : sequence or array of Matplotlib axes, optional
            Draw a panel in each. By default, panels on a new figure.
        **options
            Passed to `plot`.

        Returns
        -------
        MassContourDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        if not callable(getattr(estimator, "predict_mass", None)):
            raise InvalidInputError(f"estimator must have the method predict_mass, got {type(estimator).__name__}")
        _checked_quantity(quantity)
        check_two_attributes(estimator, X)
        plane = to_plane(X)
        xx, yy = grid(plane.points, grid_resolution, margin)
        masses = estimator.predict_mass(like(X, np.column_stack([xx.ravel(), yy.ravel()])))
        family = chosen_sets(masses, sets, quantity)
        display = cls(
            xx=xx,
            yy=yy,
            values=getattr(masses, quantity)(family).T.reshape(len(family), *xx.shape),
            sets=family,
            plausibility=masses.contour.T.reshape(masses.n_clusters, *xx.shape),
            quantity=quantity,
            points=plane.points,
            point_labels=as_credal_partition(estimator.predict_mass(X)).labels_with_outliers,
            cluster_names=masses.frame if cluster_names is None else cluster_names,
            axis_names=plane.axis_names,
        )
        return display.plot(ax=ax, axes=axes, **options)

    # ---- the data of the picture ----------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> np.ndarray:
        """(rows, columns) most plausible cluster at each place."""
        return self.plausibility.argmax(axis=0)

    # ---- drawing --------------------------------------------------------------------------------------------------

    @checked_options(layout=("auto", "panels", "together"))
    def plot(
        self,
        *,
        ax: Any = None,
        axes: Any = None,
        layout: str = "auto",
        levels: Any = None,
        boundary: bool = True,
        points: bool = True,
        labels: bool | str = "auto",
        colorbar: bool | str = "auto",
        colors: Sequence[Any] | None = None,
        cmap: Any = None,
        n_columns: int | None = None,
        marker_size: float | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            Draw all sets together in it (a single set as a panel).
        axes : sequence or array of s Matplotlib axes, optional
            Draw a panel in each.
        layout : {"auto", "panels", "together"}, default="auto"
            On a new figure; "auto": panels.
        levels : increasing sequence of floats in [0, 1], optional
            Of the contours; tenths for panels, 0.5, 0.7 and 0.9 for all together.
        boundary : bool, default=True
            Whether to draw the boundaries between the most plausible clusters.
        points : bool, default=True
            Whether to draw the objects.
        labels : bool or "auto"
            Whether to write the levels on the lines of panels ("auto": if there is no colour bar), the names of the
            sets on their regions if all are drawn together ("auto": yes).
        colorbar : bool or "auto"
            "auto": beside the panels of a new figure. There is none if all are drawn together.
        colors : sequence of c colours, optional
            Of the clusters; a palette for colour-blind readers by default.
        cmap : colour map, optional
            One for all panels; by default white to the colour of the set.
        n_columns : int, optional
            Of panels on a new figure.
        marker_size : float, optional
            Area of the points in square points; smaller for more objects by default.
        title : str, optional

        Returns
        -------
        MassContourDisplay
        """
        together = self._is_together(ax, axes, layout)
        levels = checked_levels(levels, together)
        self.colors_ = cluster_colors(self.sets.n_clusters, colors)
        self._set_colors = mixed_colors(self.sets.membership, self.colors_)
        self._set_colors[self.sets.cardinality == 0] = _EMPTY_COLOR
        new_figure = ax is None and axes is None
        self.axes_ = np.array([axes_to_draw_on(ax, (6.4, 5))] if together else self._panels(ax, axes, n_columns))
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        self.fills_: list[Any] = []
        self.lines_: list[Any] = []
        self.texts_: list[Any] = []
        self.colorbar_ = None
        with_bar = not together and wanted(colorbar, new_figure)
        if together:
            self._draw_together(levels)
        else:
            self._draw_panels(levels, cmap, wanted(labels, not with_bar))
        margins = rival_margins(self.plausibility) if boundary else self.plausibility[:0]
        self.boundaries_ = [draw_boundaries(one, self.xx, self.yy, margins) for one in self.axes_]
        # in panels, which have colours of their own, points only show where the data are
        palette = self.colors_ if together else None
        self.point_artists_ = [
            draw_objects(one, self.points, self.point_labels, palette, marker_size) if points else []
            for one in self.axes_
        ]
        if with_bar:
            self.colorbar_ = self._draw_colorbar(levels, cmap)
        self._finish(new_figure, title)
        if together and labels:
            if new_figure:
                self.figure_.draw_without_rendering()  # settles the size of the axes, which the names need
            regions = self.values >= levels[0]
            self.texts_ = name_regions(self.ax_, self.xx, self.yy, regions, self.set_names, self._set_colors)
        return self

    def _is_together(self, ax: Any, axes: Any, layout: str) -> bool:
        if ax is not None and axes is not None:
            raise InvalidInputError("give either ax (all sets together) or axes (a panel for each set), not both")
        if axes is not None and layout == "together":
            raise InvalidInputError("layout='together' needs a single axes: give it as ax instead of axes")
        if ax is not None and layout == "panels" and len(self.sets) > 1:
            raise InvalidInputError(f"layout='panels' needs {len(self.sets)} axes: give them as axes instead of ax")
        return layout == "together" or (layout == "auto" and ax is not None and len(self.sets) > 1)

    def _panels(self, ax: Any, axes: Any, n_columns: int | None) -> list[Any]:
        s = len(self.sets)
        if ax is not None:
            return [ax]
        if axes is not None:
            given = list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel())
            if len(given) < s:
                raise InvalidInputError(f"axes must hold {s} axes, one for each set, got {len(given)}")
            return given[:s]
        return panels_of_one_figure(s, n_columns)

    def _draw_panels(self, levels: np.ndarray, cmap: Any, labelled: bool) -> None:
        for panel, value, color, name in zip(self.axes_, self.values, self._set_colors, self.set_names, strict=True):
            scale = shades(color) if cmap is None else cmap
            fill = panel.contourf(self.xx, self.yy, value, levels=levels, cmap=scale, vmin=0, vmax=1, zorder=1)
            self.fills_.append(fill)
            ink = 0.55 * color if cmap is None else INK
            lines = draw_lines(panel, self.xx, self.yy, value, levels, ink, 0.5)
            self.lines_.append(lines)
            if labelled and lines is not None:
                for text in panel.clabel(lines, fontsize="x-small", fmt="%g", inline_spacing=2):
                    text.set_path_effects(halo(1.5))
            panel.set_title(f"{_SYMBOLS[self.quantity]}({name})", fontsize="medium", parse_math=False)

    def _draw_together(self, levels: np.ndarray) -> None:
        for value, color in zip(self.values, self._set_colors, strict=True):
            fills = [(*color, alpha) for alpha in np.linspace(0.22, 0.5, len(levels))]
            upwards = np.append(levels, 1.001)  # the last region reaches one
            self.fills_.append(self.ax_.contourf(self.xx, self.yy, value, levels=upwards, colors=fills, zorder=1))
            self.lines_.append(draw_lines(self.ax_, self.xx, self.yy, value, levels, 0.75 * color, 0.9))

    def _draw_colorbar(self, levels: np.ndarray, cmap: Any) -> Any:
        """One for all panels: in greys where each has its own colour."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm, ListedColormap

        greys = shades(_EMPTY_COLOR) if cmap is None else self.fills_[0].cmap
        steps = ListedColormap(greys((levels[:-1] + levels[1:]) / 2))
        scale = ScalarMappable(BoundaryNorm(levels, steps.N), steps)
        bar = self.figure_.colorbar(scale, ax=list(self.axes_), label=self.quantity, shrink=0.8, aspect=30)
        bar.ax.tick_params(labelsize="small")
        return bar

    def _finish(self, new_figure: bool, title: str | None) -> None:
        for ax in self.axes_:
            quiet_frame(ax)
            ax.set_xlim(self.xx.min(), self.xx.max())
            ax.set_ylim(self.yy.min(), self.yy.max())
        if new_figure and len(self.axes_) > 1:
            self.figure_.supxlabel(self.axis_names[0], fontsize="medium", parse_math=False)
            self.figure_.supylabel(self.axis_names[1], fontsize="medium", parse_math=False)
        else:
            for ax in self.axes_:
                ax.set_xlabel(self.axis_names[0], parse_math=False)
                ax.set_ylabel(self.axis_names[1], parse_math=False)
        if title is not None and len(self.axes_) > 1:
            self.figure_.suptitle(title)
        elif title is not None:
            self.ax_.set_title(title)


def _checked_quantity(quantity: Any) -> str:
    check_choice(quantity, "quantity", _SYMBOLS)
    return str(quantity)
