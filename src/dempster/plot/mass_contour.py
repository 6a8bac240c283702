"""Masses, beliefs or plausibilities over the plane of two attributes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_labels, as_reals, check_choice, is_integer, shown
from dempster.belief import FocalSets, MassFunctions
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot._canvas import (
    INK,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    mixed_colors,
    place_labels,
    shown_names,
    wanted,
)
from dempster.plot.credal_partition import to_plane

PANEL_LEVELS = np.linspace(0, 1, 11)
JOINT_LEVELS = np.array([0.5, 0.7, 0.9])  # at most one set has a mass above a half, so the regions do not overlap
MAX_COLUMNS = 4
MIN_RASTER_OBJECTS = 2_000  # objects, beyond which a vector file would be larger than an image
MAX_RESOLUTION = 2000  # places along each axis of a picture
MIN_PANEL_MASS = 0.25  # largest mass on the plane from which a set of several clusters is worth a panel
MAX_PANELS = 12  # of those chosen here
_SYMBOLS = {"mass": "m", "plausibility": "pl", "belief": "bel"}
_EMPTY_COLOR = np.array([0.6, 0.6, 0.6])


# ---- what was given -------------------------------------------------------------------------------------------------


def checked_values(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Validate values in [0, 1] of the given shape."""
    array = as_reals(values, name)
    if array.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.all((array >= -1e-6) & (array <= 1 + 1e-6)):
        raise InvalidInputError(f"{name} must lie in [0, 1], got values from {array.min():g} to {array.max():g}")
    return np.clip(array, 0, 1)  # sums of masses may pass one by rounding


def checked_levels(levels: Any, together: bool) -> np.ndarray:
    """Validate levels of contours; by default tenths for panels, three above a half for all sets together."""
    if levels is None:
        return JOINT_LEVELS if together else PANEL_LEVELS
    array = as_reals(levels, "levels")
    if array.ndim != 1 or len(array) < (1 if together else 2) or not np.all(np.diff(array) > 0):
        raise InvalidParameterError("levels", "an increasing sequence of at least two numbers", levels)
    if array[0] < 0 or array[-1] > 1:
        raise InvalidInputError(f"levels must lie in [0, 1], got {shown(levels)}")
    return array


# ---- panels and colours ---------------------------------------------------------------------------------------------


def panels_of_one_figure(n_panels: int, n_columns: int | None) -> list[Any]:
    """Make panels that share their axes on a new figure."""
    import matplotlib.pyplot as plt

    if n_columns is None:
        n_columns = min(int(np.ceil(np.sqrt(n_panels))), MAX_COLUMNS)
    n_columns = min(int(n_columns), n_panels)
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


def shades(color: np.ndarray) -> Any:
    """Return a colormap from white, kept for the lowest tenth, through the color to a darker one."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(0, "white"), (0.06, "white"), (0.75, tuple(color)), (1, tuple(0.7 * color))]
    return LinearSegmentedColormap.from_list("mass", stops)


def halo(width: float) -> list[Any]:
    """Return a white rim, so that ink is visible on dark regions too."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


# ---- lines, objects, names ------------------------------------------------------------------------------------------


def draw_lines(
    ax: Any, xx: np.ndarray, yy: np.ndarray, value: np.ndarray, levels: np.ndarray, color: Any, width: float
) -> Any:
    """Draw lines of the levels that are crossed; return None if none is (Matplotlib would warn)."""
    crossed = levels[(levels > value.min()) & (levels < value.max())]
    if not len(crossed):
        return None
    return ax.contour(xx, yy, value, levels=crossed, colors=[color], linewidths=width, zorder=1.5)


def rival_margins(plausibility: np.ndarray) -> np.ndarray:
    """Return the (c, rows, columns) normalized plausibility of each cluster less that of its best rival.

    Far away all plausibilities may be tiny: normalising keeps the sign clear of rounding. NaN where all are zero.
    """
    total = plausibility.sum(axis=0)
    share = np.divide(plausibility, total, out=np.full_like(plausibility, np.nan), where=total > 0)
    if len(share) == 1:  # no rival
        return share
    second, best = np.sort(share, axis=0)[-2:]
    return np.where(share == best, share - second, share - best)


def draw_boundaries(ax: Any, xx: np.ndarray, yy: np.ndarray, margins: np.ndarray) -> list[Any]:
    """Draw where the margin of each cluster over its best rival is zero.

    The last cluster has no lines of its own: each is shared with the rival beyond.
    """
    drawn = []
    for margin in margins[:-1]:
        if (margin < 0).any() and (margin > 0).any():
            line = ax.contour(
                xx, yy, np.ma.masked_invalid(margin), levels=[0.0], colors=[INK], linewidths=0.9, zorder=2
            )
            line.set_path_effects(halo(2))
            drawn.append(line)
    return drawn


def draw_objects(
    ax: Any, points: np.ndarray, labels: np.ndarray | None, colors: np.ndarray | None, size: float | None
) -> list[Any]:
    """Draw points in the colors of their clusters, or in faint ink without colors; crosses for outliers (label -1)."""
    n = len(points)
    if n == 0:
        return []
    if size is None:
        size = float(np.clip((120 if colors is None else 250) / np.sqrt(n), 1, 16))
    inside = np.ones(n, dtype=bool) if labels is None else labels >= 0
    style: dict[str, Any] = {"zorder": 3, "rasterized": n > MIN_RASTER_OBJECTS}
    look: dict[str, Any] = {"c": INK, "alpha": 0.6, "linewidths": 0}
    if colors is not None:
        look = {"c": INK if labels is None else colors[labels[inside]], "edgecolors": "white", "linewidths": 0.4}
    artists = [ax.scatter(*points[inside].T, s=size, **look, **style)] if inside.any() else []
    if not inside.all():
        cross = {"marker": "x", "color": "black", "linewidths": 0.7}
        artists.append(ax.scatter(*points[~inside].T, s=max(1.3 * size, 8), **cross, **style))
    return artists


def name_regions(
    ax: Any, xx: np.ndarray, yy: np.ndarray, regions: np.ndarray, names: Sequence[str], colors: np.ndarray
) -> list[Any]:
    """A name on each region that is somewhere, at the place farthest from its edge; beside it where a name is
    already."""
    from scipy.ndimage import distance_transform_edt

    texts: list[Any] = []
    crowded: list[tuple[np.ndarray, str, dict[str, Any]]] = []
    for region, name, color in zip(regions, names, colors, strict=True):
        if not region.any():
            continue
        style = {"color": 0.55 * color, "fontweight": "bold", "zorder": 6, "path_effects": halo(3)}
        depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(depth.argmax(), depth.shape)
        place = np.array([xx[row, column], yy[row, column]])
        text = ax.text(*place, name, ha="center", va="center", parse_math=False, **style)
        if any(text.get_window_extent().overlaps(other.get_window_extent()) for other in texts):
            text.remove()
            crowded.append((place, name, style))
        else:
            texts.append(text)
    for place, name, style in crowded:
        texts += place_labels(ax, place[None], [name], avoid=tuple(texts), **style)
    return texts


def check_two_attributes(estimator: Any, X: Any) -> None:
    """Raise an error unless estimator and X have two attributes."""
    fitted = getattr(estimator, "n_features_in_", 2)
    if fitted != 2:
        raise InvalidInputError(
            f"estimator must be fitted to two attributes to be drawn over their plane, got {fitted}; "
            "fit it to two columns, or to two principal components"
        )
    shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        raise InvalidInputError(f"X must have shape (n, 2), objects by two attributes, got {shape}")


def grid(points: np.ndarray, resolution: int, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Return places on and around the objects, as `numpy.meshgrid` gives them."""
    if not is_integer(resolution) or resolution < 2:
        raise InvalidParameterError("grid_resolution", "an integer of at least 2", resolution)
    if resolution > MAX_RESOLUTION:
        raise InvalidInputError(
            f"grid_resolution must be at most {MAX_RESOLUTION}, got {resolution}: a picture of {resolution:,} x "
            f"{resolution:,} places takes the masses of all of them"
        )
    if not isinstance(margin, int | float | np.number) or not 0 <= margin < np.inf:
        raise InvalidParameterError("margin", "a number of at least 0", margin)
    low, high = points.min(axis=0), points.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    room = np.where(high > low, margin, max(margin, 0.5)) * width  # something must be seen around a single place
    x, y = (np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True))
    xx, yy = np.meshgrid(x, y)
    return xx, yy


def like(X: Any, places: np.ndarray) -> Any:
    """Return a table with the columns of X, if X is one: estimators remember the names they were fitted to."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return places
    return type(X)({name: places[:, k] for k, name in enumerate(columns)})


def chosen_sets(masses: MassFunctions, sets: Any, quantity: str) -> FocalSets:
    """Return the given sets, or those worth a panel: single clusters, the empty set, larger sets that hold mass."""
    if sets is not None:
        rows, _ = masses.membership_rows(sets)
        if len(rows) == 0 or len(np.unique(rows, axis=0)) < len(rows):
            raise InvalidInputError(f"sets must hold at least one set, each only once, got {shown(sets)}")
        return FocalSets(rows)
    singletons = FocalSets.simple(masses.n_clusters, empty=False, omega=False)
    if quantity != "mass":
        return singletons
    family = masses.focal_sets
    largest = masses.masses.max(axis=0)
    chosen: list[tuple[int, ...]] = [()] if family.empty_index is not None else []
    chosen += list(singletons)
    large = np.flatnonzero((family.cardinality > 1) & (largest >= MIN_PANEL_MASS))
    room = max(MAX_PANELS - len(chosen), 0)
    kept = large[np.argsort(-largest[large], kind="stable")][:room]
    chosen += [tuple(np.flatnonzero(family.membership[j]).tolist()) for j in kept]
    return FocalSets.from_sets(masses.n_clusters, chosen).sorted()


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
            finish_axes(ax)
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
