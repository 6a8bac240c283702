"""Display of masses over the plane of two attributes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from dempster._arrays import row_max
from dempster._errors import InvalidParameterError
from dempster._validation import check, check_choice, integer
from dempster.belief import FocalSets, MassFunctions
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot._canvas import (
    Display,
    cluster_colors,
    finish_axes,
    halo,
    mix_colors,
    place_labels,
    validate_estimator,
    validate_names,
)
from dempster.plot.credal_partition import MIN_RASTER_OBJECTS
from dempster.plot.palette import INK
from dempster.plot.plane import Plane, project_to_plane

PANEL_LEVELS = np.linspace(0, 1, 11)
# At most one set has a mass above 0.5, so the regions do not overlap.
JOINT_LEVELS = np.array([0.5, 0.7, 0.9])
MAX_COLUMNS = 4
_MARGIN = 0.15  # Distance of the grid from the objects, as a share of their range.
MAX_RESOLUTION = 2000  # Maximum number of grid points along each axis.
# Sets of several clusters get a panel by default if their mass reaches this value.
MIN_PANEL_MASS = 0.25
MAX_PANELS = 12  # Maximum number of panels if the user does not select the sets.
_SYMBOLS = {"mass": "m", "plausibility": "pl", "belief": "bel"}
_EMPTY_COLOR = np.array([0.6, 0.6, 0.6])


def make_grid_table(
    estimator: Any, X: Any, resolution: int
) -> tuple[Plane, np.ndarray, np.ndarray, Any]:
    """Return the plane of the objects X, a grid around them, and the grid points as rows."""
    check(resolution, "grid_resolution", integer(2, MAX_RESOLUTION))
    n_features = getattr(estimator, "n_features_in_", 2)
    if n_features != 2:
        raise InvalidParameterError(
            "estimator",
            must=f"be fitted to two attributes, got {n_features}; fit it to two columns or to two "
            "principal components",
        )
    shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        raise InvalidParameterError(
            "X", must=f"have shape (n, 2) with n > 0, got {shape}"
        )
    plane = project_to_plane(X)
    low = plane.points.min(axis=0)
    high = plane.points.max(axis=0)
    # A range of width zero needs a larger margin.
    padding = np.where(high > low, _MARGIN * (high - low), 0.5)
    xx, yy = np.meshgrid(*np.linspace(low - padding, high + padding, resolution).T)
    grid = np.column_stack([xx.ravel(), yy.ravel()])
    # An estimator that was fitted to a table expects its column names.
    if hasattr(X, "columns"):
        return plane, xx, yy, type(X)(dict(zip(X.columns, grid.T, strict=True)))
    return plane, xx, yy, grid


def select_sets(masses: MassFunctions, sets: Any, quantity: str) -> FocalSets:
    """Return the given sets.

    If ``sets`` is None, return the empty set, the single clusters and sets of large mass.
    """
    if sets is not None:
        rows, _ = masses.membership_rows(sets)
        if len(rows) == 0 or len(np.unique(rows, axis=0)) < len(rows):
            raise InvalidParameterError(
                "sets", must="contain at least one set, each only once", value=sets
            )
        return FocalSets(rows)
    singletons = FocalSets.simple(masses.n_clusters, empty=False, omega=False)
    if quantity != "mass":
        return singletons
    family = masses.focal_sets
    selected = list(singletons)
    if family.empty_index is not None:
        selected.insert(0, ())
    largest = row_max(masses.to_numpy().stored_masses.T)
    candidates = np.flatnonzero((family.cardinality > 1) & (largest >= MIN_PANEL_MASS))
    n_more = max(MAX_PANELS - len(selected), 0)
    best = candidates[np.argsort(-largest[candidates], kind="stable")][:n_more]
    selected += [tuple(np.flatnonzero(family.membership[j]).tolist()) for j in best]
    return FocalSets.from_sets(masses.n_clusters, selected).sorted()


# ---- drawing -------------------------------------------------------------------------------------


def set_colors(sets: FocalSets, colors: np.ndarray) -> np.ndarray:
    """Return the mean color of the clusters of each set, and gray for the empty set."""
    mixed = mix_colors(sets.membership, colors)
    mixed[sets.cardinality == 0] = _EMPTY_COLOR
    return mixed


def shade_colormap(color: np.ndarray) -> Any:
    """Return a colormap from white (values below 0.06) to a dark shade of the color."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [
        (0, "white"),
        (0.06, "white"),
        (0.75, tuple(color)),
        (1, tuple(0.7 * color)),
    ]
    return LinearSegmentedColormap.from_list("mass", stops)


def rival_margins(plausibility: np.ndarray) -> np.ndarray:
    """Return the plausibility of each cluster minus the largest plausibility of the other clusters.

    The arrays have the shape (n_clusters, rows, columns). The result is NaN where all
    plausibilities are zero.
    """
    # Without normalization, rounding errors could change signs of tiny differences.
    total = plausibility.sum(axis=0)
    share = np.divide(
        plausibility, total, out=np.full_like(plausibility, np.nan), where=total > 0
    )
    if len(share) == 1:
        return share
    second, best = np.sort(share, axis=0)[-2:]
    return np.where(share == best, share - second, share - best)


def draw_boundaries(
    ax: Any, xx: np.ndarray, yy: np.ndarray, margins: np.ndarray
) -> list[Any]:
    """Draw the boundaries of the clusters, where ``margins`` (see `rival_margins`) are zero."""
    contours = []
    # The last cluster needs no contour, because every boundary belongs to two clusters.
    for margin in margins[:-1]:
        if (margin < 0).any() and (margin > 0).any():
            values = np.ma.masked_invalid(margin)
            contour = ax.contour(
                xx, yy, values, levels=[0.0], colors=[INK], linewidths=0.9, zorder=2
            )
            contour.set_path_effects(halo(2))
            contours.append(contour)
    return contours


def draw_objects(
    ax: Any,
    points: np.ndarray,
    labels: np.ndarray,
    colors: np.ndarray | None = None,
) -> list[Any]:
    """Draw objects in the colors of their clusters, dark if ``colors`` is None.

    Outliers (label -1) are crosses.
    """
    n = len(points)
    inside = labels >= 0
    width = 120
    look: dict[str, Any] = {"c": INK, "alpha": 0.6, "linewidths": 0}
    if colors is not None:
        width = 250
        look = {
            "c": colors[labels[inside]],
            "edgecolors": "white",
            "linewidths": 0.4,
        }
    size = float(np.clip(width / np.sqrt(n), 1, 16))
    style: dict[str, Any] = {"zorder": 3, "rasterized": n > MIN_RASTER_OBJECTS}
    artists = []
    if inside.any():
        artists.append(ax.scatter(*points[inside].T, s=size, **look, **style))
    if not inside.all():
        style |= {"marker": "x", "color": "black", "linewidths": 0.7}
        artists.append(ax.scatter(*points[~inside].T, s=max(1.3 * size, 8), **style))
    return artists


def name_regions(
    ax: Any,
    xx: np.ndarray,
    yy: np.ndarray,
    regions: np.ndarray,
    names: Sequence[str],
    colors: np.ndarray,
) -> list[Any]:
    """Write the name of each nonempty region at the point farthest from its border.

    Names do not overlap.
    """
    from scipy.ndimage import distance_transform_edt  # slow to import

    texts: list[Any] = []
    crowded = []
    for region, name, color in zip(regions, names, colors, strict=True):
        if not region.any():
            continue
        style: dict[str, Any] = {
            "color": 0.55 * color,
            "fontweight": "bold",
            "zorder": 6,
            "path_effects": halo(3),
        }
        depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(depth.argmax(), depth.shape)
        point = np.array([xx[row, column], yy[row, column]])
        text = ax.text(
            *point, name, ha="center", va="center", parse_math=False, **style
        )
        if any(
            text.get_window_extent().overlaps(other.get_window_extent())
            for other in texts
        ):
            text.remove()
            crowded.append((point, name, style))
        else:
            texts.append(text)
    for point, name, style in crowded:
        texts += place_labels(ax, point[None], [name], avoid=tuple(texts), **style)
    return texts


class MassContourDisplay(Display):
    """Display of the masses that a fitted model predicts, as contours over two attributes.

    One panel for each set of clusters shows its mass (or belief, or plausibility) from white (0) to
    dark (1). Dark lines are the boundaries between the most plausible clusters. If all sets are in
    one axes, each set has a color where its mass exceeds 0.5. Objects are points; objects whose
    largest mass is on the empty set are crosses.

    Parameters
    ----------
    xx, yy : arrays of shape (rows, columns)
        Coordinates of the grid points, in the format of `numpy.meshgrid`.
    values : array of shape (s, rows, columns)
        Mass, belief or plausibility of each set at each grid point, in [0, 1].
    sets : FocalSets
        The s sets of clusters.
    plausibility : array of shape (c, rows, columns)
        Plausibility of each cluster, which determines the boundaries.
    points : array of shape (n, 2)
        Objects to draw.
    point_labels : array of shape (n,)
        Clusters of the objects, -1 for outliers.
    quantity : {"mass", "plausibility", "belief"}, default="mass"
        The quantity in ``values``.
    cluster_names : sequence of length c, optional
        Names of the clusters; 0..c-1 by default.
    axis_names : pair of str
        Names of the horizontal and the vertical axis.

    Attributes
    ----------
    set_names : list of s str
        Names of the sets.
    figure_ : Matplotlib figure
    axes_ : list of axes
        One panel for each set, or one axes for all sets.
    ax_ : Matplotlib axes
        The first of the axes.
    fills_, lines_ : lists of contour sets
        Filled contours and contour lines of each set; an entry of ``lines_`` is None if the values
        cross no level.
    boundaries_ : list of lists of contour sets
        Boundaries between the clusters, one list for each axes.
    point_artists_ : list of lists of collections
        Markers of the objects, one list for each axes.
    texts_ : list of texts
        Names of the sets, if all sets are in one axes.
    colorbar_ : color bar or None
        Color bar of the panels; None if all sets are in one axes.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences
    572.

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
        points: Any,
        point_labels: Any,
        quantity: str = "mass",
        cluster_names: Sequence[Hashable] | None = None,
        axis_names: tuple[str, str] = ("attribute 1", "attribute 2"),
    ):
        self.quantity = quantity
        self.sets = sets
        self.xx = np.asarray(xx, float)
        self.yy = np.asarray(yy, float)
        # Sums of masses may exceed one by rounding errors.
        self.values = np.clip(values, 0, 1)
        self.plausibility = np.clip(plausibility, 0, 1)
        self.points = np.asarray(points, float)
        self.point_labels = np.asarray(point_labels)
        c = sets.n_clusters
        self.cluster_names = validate_names(cluster_names, "cluster_names", c)
        self.set_names = sets.names(self.cluster_names)
        self.axis_names = tuple(validate_names(axis_names, "axis_names", 2))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sets: Any = None,
        quantity: str = "mass",
        grid_resolution: int = 150,
        cluster_names: Sequence[Hashable] | None = None,
        **options: Any,
    ) -> Self:
        """Draw the masses that a fitted estimator predicts on a grid around the objects X.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with the method ``predict_mass`` that was fitted to two attributes.
        X : array-like or table of shape (n, 2)
            Objects to draw; they determine the range of the axes.
        sets : list of sets, FocalSets or one set (a tuple), optional
            Sets to draw, given by the numbers or names of their clusters, for example ``[(), (0,),
            (0, 1)]``. The default is the single clusters. For masses, the default includes the
            empty set and the sets of several clusters whose mass reaches 0.25, up to twelve panels.
        quantity : {"mass", "plausibility", "belief"}, default="mass"
            Quantity to draw.
        grid_resolution : int, default=150
            Number of grid points along each axis.
        cluster_names : sequence of length c, optional
            Names of the clusters; by default the names in the predicted masses.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        MassContourDisplay
        """
        validate_estimator(estimator, "predict_mass")
        check_choice(quantity, "quantity", _SYMBOLS)
        plane, xx, yy, table = make_grid_table(estimator, X, grid_resolution)
        masses = estimator.predict_mass(table)
        family = select_sets(masses, sets, quantity)
        display = cls(
            xx=xx,
            yy=yy,
            values=getattr(masses, quantity)(family).T.reshape(len(family), *xx.shape),
            sets=family,
            plausibility=masses.contour.T.reshape(masses.n_clusters, *xx.shape),
            quantity=quantity,
            points=plane.points,
            point_labels=as_credal_partition(
                estimator.predict_mass(X)
            ).labels_with_outliers,
            cluster_names=masses.frame if cluster_names is None else cluster_names,
            axis_names=plane.axis_names,
        )
        return display.plot(**options)

    def plot(
        self,
        *,
        ax: Any = None,
        layout: str = "panels",
        n_columns: int | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the contours.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            Axes for all sets together (or for the panel of a single set); by default those of a new
            figure.
        layout : {"panels", "together"}, default="panels"
            Whether a new figure has a panel for each set, with contours at tenths, or one axes for
            all sets together, with contours at 0.5, 0.7 and 0.9.
        n_columns : int, optional
            Number of columns of panels on a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        check_choice(layout, "layout", ("panels", "together"))
        new_figure = ax is None
        together = layout == "together" or (not new_figure and len(self.sets) > 1)
        levels = JOINT_LEVELS if together else PANEL_LEVELS
        colors = cluster_colors(self.sets.n_clusters)
        self._set_colors = set_colors(self.sets, colors)
        self.fills_: list[Any] = []
        self.lines_: list[Any] = []
        self.texts_: list[Any] = []
        self.colorbar_ = None
        if together:
            ax = self._open_axes(ax, (6.4, 5))
            finish_axes(ax, *self.axis_names)
            edges = np.append(levels, 1.001)  # The last region includes the value 1.
            for value, color in zip(self.values, self._set_colors, strict=True):
                alphas = np.linspace(0.22, 0.5, len(levels))
                fills = [(*color, alpha) for alpha in alphas]
                fill = ax.contourf(
                    self.xx, self.yy, value, levels=edges, colors=fills, zorder=1
                )
                self.fills_.append(fill)
                self._draw_lines(ax, value, levels, 0.75 * color, 0.9)
        else:
            self._open_set_panels(None if new_figure else [ax], n_columns)
            self.ax_ = self.axes_[0]
            self._draw_panels(levels)
            self.colorbar_ = self._draw_colorbar(levels)
        margins = rival_margins(self.plausibility)
        empty = self.sets.empty_index
        # Outliers are on no side of a boundary.
        if together and self.quantity == "mass" and empty is not None:
            margins = np.where(self.values[empty] > 0.5, np.nan, margins)
        self.boundaries_ = []
        self.point_artists_ = []
        # In panels the color represents the set.
        palette = colors if together else None
        for one in self.axes_:
            self.boundaries_.append(draw_boundaries(one, self.xx, self.yy, margins))
            self.point_artists_.append(
                draw_objects(one, self.points, self.point_labels, palette)
            )
            one.set_xlim(self.xx.min(), self.xx.max())
            one.set_ylim(self.yy.min(), self.yy.max())
        self._write_title(title)
        if together:
            if new_figure:
                # The placement of names needs the final size of the axes.
                self.figure_.draw_without_rendering()
            regions = self.values >= levels[0]
            self.texts_ = name_regions(
                self.ax_, self.xx, self.yy, regions, self.set_names, self._set_colors
            )
        return self

    def _open_set_panels(self, axes: Any, n_columns: int | None) -> None:
        s = len(self.sets)
        n_columns = min(n_columns or min(int(np.ceil(np.sqrt(s))), MAX_COLUMNS), s)
        size = (6.0, 5.0)
        if s > 1:
            size = (2.7 + 0.9 / n_columns, 2.5 + 0.4 / -(-s // n_columns))
        self._open_panels(axes, s, n_columns, size, share=True)
        for i, panel in enumerate(self.axes_):
            is_lowest = i + n_columns >= s
            is_leftmost = i % n_columns == 0
            x_name, y_name = self.axis_names
            finish_axes(panel, x_name * is_lowest, y_name * is_leftmost)
            panel.tick_params(labelbottom=is_lowest, labelleft=is_leftmost)

    def _draw_panels(self, levels: np.ndarray) -> None:
        for panel, value, color, name in zip(
            self.axes_, self.values, self._set_colors, self.set_names, strict=True
        ):
            fill = panel.contourf(
                self.xx,
                self.yy,
                value,
                levels=levels,
                cmap=shade_colormap(color),
                vmin=0,
                vmax=1,
                zorder=1,
            )
            self.fills_.append(fill)
            self._draw_lines(panel, value, levels, 0.55 * color, 0.5)
            title = f"{_SYMBOLS[self.quantity]}({name})"
            panel.set_title(title, fontsize="medium", parse_math=False)

    def _draw_lines(
        self, ax: Any, value: np.ndarray, levels: np.ndarray, color: Any, width: float
    ) -> None:
        """Draw contour lines and append them to ``lines_``.

        Omit levels that no value crosses to avoid a warning.
        """
        crossed = levels[(levels > value.min()) & (levels < value.max())]
        lines = None
        if len(crossed):
            lines = ax.contour(
                self.xx,
                self.yy,
                value,
                levels=crossed,
                colors=[color],
                linewidths=width,
                zorder=1.5,
            )
        self.lines_.append(lines)

    def _draw_colorbar(self, levels: np.ndarray) -> Any:
        """Draw one color bar for all panels, in gray if the panels have different colors."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import BoundaryNorm, ListedColormap

        colormap = shade_colormap(_EMPTY_COLOR)
        steps = ListedColormap(colormap((levels[:-1] + levels[1:]) / 2))
        scale = ScalarMappable(BoundaryNorm(levels, steps.N), steps)
        bar = self.figure_.colorbar(
            scale, ax=self.axes_, label=self.quantity, shrink=0.8, aspect=30
        )
        bar.ax.tick_params(labelsize="small")
        return bar
