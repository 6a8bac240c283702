"""Masses, beliefs or plausibilities over the plane of two attributes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from evidentia.belief import FocalSets
from evidentia.partition.credal_partition import as_credal_partition
from evidentia.plot._canvas import INK, axes_to_draw_on, quiet_frame
from evidentia.plot._colors import cluster_colors, mixed_colors
from evidentia.plot._labels import place_labels
from evidentia.plot._places import check_two_attributes, chosen_sets, grid, like
from evidentia.plot._plane import to_plane

__all__ = ["MassContourDisplay"]

_SYMBOLS = {"mass": "m", "plausibility": "pl", "belief": "bel"}
_TENTHS = np.linspace(0, 1, 11)
_TOGETHER = np.array([0.5, 0.7, 0.9])  # at most one set has a mass above a half, so the regions do not overlap
_MOST_COLUMNS = 4
_RASTER_FROM = 2_000  # objects, beyond which a vector file would be larger than an image
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
    kind : {"mass", "plausibility", "belief"}, default="mass"
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
    xx, yy, values, sets, plausibility, kind, points, point_labels, cluster_names, axis_names
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
    >>> from evidentia.cluster import ECM
    >>> from evidentia.datasets import load_butterfly
    >>> from evidentia.plot import MassContourDisplay
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
        kind: str = "mass",
        points: Any = None,
        point_labels: Any = None,
        cluster_names: Sequence[Hashable] | None = None,
        axis_names: tuple[str, str] = ("attribute 1", "attribute 2"),
    ):
        if not isinstance(sets, FocalSets):
            raise TypeError(f"sets must be a FocalSets, got {type(sets).__name__}")
        self.kind = _checked_kind(kind)
        self.sets = sets
        self.xx, self.yy = np.asarray(xx, dtype=float), np.asarray(yy, dtype=float)
        if self.xx.ndim != 2 or min(self.xx.shape) < 2 or self.yy.shape != self.xx.shape:
            raise ValueError(
                f"xx and yy must have the same shape (rows, columns), got {self.xx.shape} and {self.yy.shape}"
            )
        self.values = _checked_values(values, "values", (len(sets), *self.xx.shape))
        self.plausibility = _checked_values(plausibility, "plausibility", (sets.n_clusters, *self.xx.shape))
        self.points = np.empty((0, 2)) if points is None else np.asarray(points, dtype=float)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise ValueError(f"points must have shape (n, 2), got {self.points.shape}")
        self.point_labels = None if point_labels is None else np.asarray(point_labels)
        if self.point_labels is not None and self.point_labels.shape != (len(self.points),):
            raise ValueError(f"point_labels must hold {len(self.points)} labels, got shape {self.point_labels.shape}")
        names = range(sets.n_clusters) if cluster_names is None else cluster_names
        self.cluster_names = [str(name) for name in names]
        self.set_names = sets.names(self.cluster_names)
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sets: Any = None,
        kind: str = "mass",
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
        kind : {"mass", "plausibility", "belief"}, default="mass"
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
            raise TypeError(f"estimator must have the method predict_mass, got {type(estimator).__name__}")
        _checked_kind(kind)
        check_two_attributes(estimator, X)
        plane = to_plane(X, len(X))
        xx, yy = grid(plane.points, grid_resolution, margin)
        masses = estimator.predict_mass(like(X, np.column_stack([xx.ravel(), yy.ravel()])))
        family = chosen_sets(masses, sets, kind)
        display = cls(
            xx=xx,
            yy=yy,
            values=getattr(masses, kind)(family).T.reshape(len(family), *xx.shape),
            sets=family,
            plausibility=masses.contour.T.reshape(masses.n_clusters, *xx.shape),
            kind=kind,
            points=plane.points,
            point_labels=as_credal_partition(estimator.predict_mass(X)).labels_with_outliers,
            cluster_names=masses.frame if cluster_names is None else cluster_names,
            axis_names=plane.axis_names,
        )
        return display.plot(ax, axes=axes, **options)

    # ---- the data of the picture ----------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> np.ndarray:
        """(rows, columns) most plausible cluster at each place."""
        return self.plausibility.argmax(axis=0)

    @cached_property
    def _margins(self) -> np.ndarray:
        """(c, rows, columns) normalised plausibility of each cluster less that of its best rival.

        Far away all plausibilities may be tiny: normalising keeps the sign clear of rounding. NaN where all are zero.
        """
        total = self.plausibility.sum(axis=0)
        share = np.divide(self.plausibility, total, out=np.full_like(self.plausibility, np.nan), where=total > 0)
        if len(share) == 1:  # no rival
            return share
        second, best = np.sort(share, axis=0)[-2:]
        return np.where(share == best, share - second, share - best)

    # ---- drawing --------------------------------------------------------------------------------------------------

    def plot(
        self,
        ax: Any = None,
        *,
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
        levels = _checked_levels(levels, together)
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
        with_bar = not together and (new_figure if colorbar == "auto" else bool(colorbar))
        if together:
            self._draw_together(levels)
        else:
            self._draw_panels(levels, cmap, not with_bar if labels == "auto" else bool(labels))
        self.boundaries_ = [self._draw_boundaries(one) if boundary else [] for one in self.axes_]
        self.point_artists_ = [self._draw_points(one, marker_size, together) if points else [] for one in self.axes_]
        if with_bar:
            self.colorbar_ = self._draw_colorbar(levels, cmap)
        self._finish(new_figure, title)
        if together and labels:
            if new_figure:
                self.figure_.draw_without_rendering()  # settles the size of the axes, which the names need
            self._write_names(levels[0])
        return self

    def _is_together(self, ax: Any, axes: Any, layout: str) -> bool:
        if layout not in ("auto", "panels", "together"):
            raise ValueError(f"layout must be 'auto', 'panels' or 'together', got {layout!r}")
        if ax is not None and axes is not None:
            raise ValueError("give either ax (all sets together) or axes (a panel for each set), not both")
        if axes is not None and layout == "together":
            raise ValueError("layout='together' needs a single axes: give it as ax instead of axes")
        if ax is not None and layout == "panels" and len(self.sets) > 1:
            raise ValueError(f"layout='panels' needs {len(self.sets)} axes: give them as axes instead of ax")
        return layout == "together" or (layout == "auto" and ax is not None and len(self.sets) > 1)

    def _panels(self, ax: Any, axes: Any, n_columns: int | None) -> list[Any]:
        s = len(self.sets)
        if ax is not None:
            return [ax]
        if axes is not None:
            given = list(np.atleast_1d(np.asarray(axes, dtype=object)).ravel())
            if len(given) < s:
                raise ValueError(f"axes must hold {s} axes, one for each set, got {len(given)}")
            return given[:s]
        if n_columns is None:
            n_columns = min(int(np.ceil(np.sqrt(s))), _MOST_COLUMNS)
        elif isinstance(n_columns, bool) or not isinstance(n_columns, int | np.integer) or n_columns < 1:
            raise ValueError(f"n_columns must be an integer of at least 1, got {n_columns!r}")
        return _new_panels(s, min(int(n_columns), s))

    def _draw_panels(self, levels: np.ndarray, cmap: Any, labelled: bool) -> None:
        for panel, value, color, name in zip(self.axes_, self.values, self._set_colors, self.set_names, strict=True):
            shades = _shades(color) if cmap is None else cmap
            fill = panel.contourf(self.xx, self.yy, value, levels=levels, cmap=shades, vmin=0, vmax=1, zorder=1)
            self.fills_.append(fill)
            lines = self._draw_lines(panel, value, levels, 0.55 * color if cmap is None else INK, 0.5)
            self.lines_.append(lines)
            if labelled and lines is not None:
                for text in panel.clabel(lines, fontsize="x-small", fmt="%g", inline_spacing=2):
                    text.set_path_effects(_halo(1.5))
            panel.set_title(f"{_SYMBOLS[self.kind]}({name})", fontsize="medium")

    def _draw_together(self, levels: np.ndarray) -> None:
        for value, color in zip(self.values, self._set_colors, strict=True):
            fills = [(*color, alpha) for alpha in np.linspace(0.22, 0.5, len(levels))]
            upwards = np.append(levels, 1.001)  # the last region reaches one
            self.fills_.append(self.ax_.contourf(self.xx, self.yy, value, levels=upwards, colors=fills, zorder=1))
            self.lines_.append(self._draw_lines(self.ax_, value, levels, 0.75 * color, 0.9))

    def _draw_lines(self, ax: Any, value: np.ndarray, levels: np.ndarray, color: Any, width: float) -> Any:
        crossed = levels[(levels > value.min()) & (levels < value.max())]
        if not len(crossed):  # Matplotlib would warn
            return None
        return ax.contour(self.xx, self.yy, value, levels=crossed, colors=[color], linewidths=width, zorder=1.5)

    def _write_names(self, lowest: float) -> None:
        """Each on the place of its region that is farthest from the edge; beside it where a name is already."""
        from scipy.ndimage import distance_transform_edt

        crowded = []
        for j, region in enumerate(self.values >= lowest):
            if not region.any():
                continue
            depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
            row, column = np.unravel_index(depth.argmax(), depth.shape)
            place = self.xx[row, column], self.yy[row, column]
            text = self.ax_.text(*place, self.set_names[j], ha="center", va="center", **self._name_style(j))
            if any(text.get_window_extent().overlaps(other.get_window_extent()) for other in self.texts_):
                text.remove()
                crowded.append((j, place))
            else:
                self.texts_.append(text)
        for j, place in crowded:
            self.texts_ += place_labels(
                self.ax_, np.array([place]), [self.set_names[j]], avoid=tuple(self.texts_), **self._name_style(j)
            )

    def _name_style(self, j: int) -> dict[str, Any]:
        color = 0.55 * self._set_colors[j]
        return {"color": color, "fontweight": "bold", "zorder": 6, "path_effects": _halo(3)}

    def _draw_boundaries(self, ax: Any) -> list[Any]:
        """Where each cluster but the last ceases to be the most plausible; its rival beyond shares the line."""
        drawn = []
        for margin in self._margins[:-1]:
            if (margin < 0).any() and (margin > 0).any():
                line = ax.contour(
                    self.xx, self.yy, np.ma.masked_invalid(margin), levels=[0.0], colors=[INK], linewidths=0.9, zorder=2
                )
                line.set_path_effects(_halo(2))  # seen on dark regions too
                drawn.append(line)
        return drawn

    def _draw_points(self, ax: Any, size: float | None, together: bool) -> list[Any]:
        """In the colours of their clusters where the sets are together; in panels they only show where the data are."""
        n = len(self.points)
        if n == 0:
            return []
        if size is None:
            size = float(np.clip((250 if together else 120) / np.sqrt(n), 1, 16))
        labels = np.zeros(n, dtype=int) if self.point_labels is None else self.point_labels
        inside = labels >= 0
        style: dict[str, Any] = {"zorder": 3, "rasterized": n > _RASTER_FROM}
        look: dict[str, Any] = {"c": INK, "alpha": 0.6, "linewidths": 0}
        if together:
            color = INK if self.point_labels is None else self.colors_[labels[inside]]
            look = {"c": color, "edgecolors": "white", "linewidths": 0.4}
        artists = [ax.scatter(*self.points[inside].T, s=size, **look, **style)] if inside.any() else []
        if not inside.all():
            cross = {"marker": "x", "color": "black", "linewidths": 0.7}
            artists.append(ax.scatter(*self.points[~inside].T, s=max(1.3 * size, 8), **cross, **style))
        return artists

    def _draw_colorbar(self, levels: np.ndarray, cmap: Any) -> Any:
        """One for all panels: in greys where each has its own colour."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm, ListedColormap

        shades = _shades(_EMPTY_COLOR) if cmap is None else self.fills_[0].cmap
        steps = ListedColormap(shades((levels[:-1] + levels[1:]) / 2))
        scale = ScalarMappable(BoundaryNorm(levels, steps.N), steps)
        bar = self.figure_.colorbar(scale, ax=list(self.axes_), label=self.kind, shrink=0.8, aspect=30)
        bar.ax.tick_params(labelsize="small")
        return bar

    def _finish(self, new_figure: bool, title: str | None) -> None:
        for ax in self.axes_:
            quiet_frame(ax)
            ax.set_xlim(self.xx.min(), self.xx.max())
            ax.set_ylim(self.yy.min(), self.yy.max())
        if new_figure and len(self.axes_) > 1:
            self.figure_.supxlabel(self.axis_names[0], fontsize="medium")
            self.figure_.supylabel(self.axis_names[1], fontsize="medium")
        else:
            for ax in self.axes_:
                ax.set_xlabel(self.axis_names[0])
                ax.set_ylabel(self.axis_names[1])
        if title is not None and len(self.axes_) > 1:
            self.figure_.suptitle(title)
        elif title is not None:
            self.ax_.set_title(title)


# ---- helpers ---------------------------------------------------------------------------------------------------------


def _new_panels(n_panels: int, n_columns: int) -> list[Any]:
    import matplotlib.pyplot as plt

    n_rows = -(-n_panels // n_columns)
    if n_panels == 1:
        return [plt.subplots(figsize=(6, 5), layout="constrained")[1]]
    figure = plt.figure(figsize=(2.7 * n_columns + 0.9, 2.5 * n_rows + 0.4), layout="constrained")
    panels: list[Any] = []
    for i in range(n_panels):
        shared = panels[0] if panels else None
        panel = figure.add_subplot(n_rows, n_columns, i + 1, sharex=shared, sharey=shared)
        panel.tick_params(labelbottom=i + n_columns >= n_panels, labelleft=i % n_columns == 0)
        panels.append(panel)
    return panels


def _shades(color: np.ndarray) -> Any:
    """From white, kept for the lowest tenth, through the colour to a darker one."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(0, "white"), (0.06, "white"), (0.75, tuple(color)), (1, tuple(0.7 * color))]
    return LinearSegmentedColormap.from_list("mass", stops)


def _halo(width: float) -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def _checked_kind(kind: Any) -> str:
    if kind not in _SYMBOLS:
        raise ValueError(f"kind must be 'mass', 'plausibility' or 'belief', got {kind!r}")
    return str(kind)


def _checked_values(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.all((array >= -1e-6) & (array <= 1 + 1e-6)):
        raise ValueError(f"{name} must lie in [0, 1], got values from {array.min():g} to {array.max():g}")
    return np.clip(array, 0, 1)  # sums of masses may pass one by rounding


def _checked_levels(levels: Any, together: bool) -> np.ndarray:
    if levels is None:
        return _TOGETHER if together else _TENTHS
    array = np.asarray(levels, dtype=float)
    if array.ndim != 1 or len(array) < (1 if together else 2) or not np.all(np.diff(array) > 0):
        raise ValueError(f"levels must be an increasing sequence of at least two numbers, got {levels!r}")
    if array[0] < 0 or array[-1] > 1:
        raise ValueError(f"levels must lie in [0, 1], got {levels!r}")
    return array
