"""A credal partition over its attributes: what is certain, what is possible, what is neither."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_cluster
from dempster._validation import as_reals, as_truth, check_missing, check_scale, reading
from dempster.dissimilarity.partial import filled
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot._canvas import (
    GREY,
    INK,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    legend_of_names,
    mixed_colors,
    shown_names,
    wanted,
)

_GOLDEN = (np.sqrt(5) - 1) / 2
MAX_FLATNESS = 1e-9  # ratio of the widths below which points count as lying on a line
_CORNER = np.exp(2j * np.pi * np.arange(32) / 32)  # a circle, to round the corners with
MIN_RASTER_OBJECTS = 2_000  # objects, beyond which a vector file would be larger than an image
_PADDING = 0.012  # of the width of the picture, around hulls
MAX_LISTED_CLUSTERS = 10  # clusters in the legend; more are named in the picture
MAX_SECTORS = 4  # colours that can be told apart inside one marker
MAX_SPLIT_MARKERS = 2_000  # ambiguous objects, beyond which sectors would be too small to see


@dataclass(frozen=True)
class Plane:
    """Points of the objects, and how other rows with the same attributes are projected beside them."""

    points: np.ndarray  # (n, 2)
    axis_names: tuple[str, str]
    n_attributes: int
    project: Callable[[np.ndarray], np.ndarray]
    explained_variance_ratio: np.ndarray | None = None  # (2,) for principal components

    @property
    def is_strip(self) -> bool:
        """One attribute: the second coordinate only keeps the points apart."""
        return self.n_attributes == 1


def to_plane(X: Any, n_objects: int | None = None) -> Plane:
    """Project objects to the plane.

    One attribute becomes a strip, two are taken as they are, more go through principal components. An object with
    missing values lies where the objects most like it do. ``n_objects`` checks the number of rows.
    """
    from sklearn.utils import check_array

    names = _column_names(X)
    with reading(X, "X"):
        data = check_array(X, dtype=np.float64, ensure_2d=False, input_name="X", ensure_all_finite="allow-nan")
    check_scale(data, "X")
    if data.ndim == 1:
        data = data[:, None]
    check_missing(data, X, None, learning=True)
    data = filled(data)
    if n_objects is not None and len(data) != n_objects:
        raise InvalidInputError(
            f"X must have a row for each of the {n_objects} objects of the partition, got {len(data)} rows"
        )
    if data.shape[1] == 1:
        return _strip(data, names)
    if data.shape[1] == 2:
        return Plane(data, (names[0], names[1]) if names else ("attribute 1", "attribute 2"), 2, np.asarray)
    return _principal_plane(data)


def _strip(data: np.ndarray, names: list[str] | None) -> Plane:
    # Multiples of the golden ratio modulo one: neighbours on the line get heights far apart, and always the same ones.
    rank = np.empty(len(data))
    rank[np.argsort(data[:, 0], kind="stable")] = np.arange(len(data))
    height = (rank * _GOLDEN + 0.5) % 1 - 0.5
    name = names[0] if names else "attribute 1"
    return Plane(
        np.column_stack([data[:, 0], height]), (name, ""), 1, lambda rows: np.column_stack([rows[:, 0], 0 * rows[:, 0]])
    )


def _principal_plane(data: np.ndarray) -> Plane:
    from sklearn.decomposition import PCA

    if len(data) < 2 or not np.ptp(data, axis=0).any():  # nothing varies: any plane will do
        centre = data.mean(axis=0)
        return Plane(data[:, :2] - centre[:2], ("PC 1", "PC 2"), data.shape[1], lambda rows: (rows - centre)[:, :2])
    model = PCA(2, random_state=0).fit(data)
    ratio = model.explained_variance_ratio_
    first, second = (f"PC {k} ({100 * share:.0f} % of variance)" for k, share in enumerate(ratio, start=1))
    return Plane(model.transform(data), (first, second), data.shape[1], model.transform, ratio)


def _column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a table, or of a series; None for plain arrays."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(X, "name", None)
    return None if name is None else [str(name)]


def hull_vertices(points: np.ndarray) -> np.ndarray:
    """Return the positions of the corners of the convex hull, counterclockwise.

    Points on a line have two corners, coincident points one, no points none.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot.credal_partition import hull_vertices
    >>> hull_vertices(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])).tolist()
    [0, 2]
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) == 0:
        return np.empty(0, dtype=np.intp)
    centred = points - points.mean(axis=0)
    width = np.ptp(centred, axis=0)
    # A change of units does not move the corners but keeps Qhull from taking a long thin cloud for a line.
    scaled = centred / np.where(width > 0, width, 1)
    _, widths, directions = np.linalg.svd(scaled, full_matrices=False)
    if len(points) > 2 and widths[1] > MAX_FLATNESS * widths[0]:
        try:
            return ConvexHull(scaled).vertices.astype(np.intp)
        except QhullError:
            pass  # flat at Qhull's precision
    along = scaled @ directions[0]
    ends = np.array([along.argmin(), along.argmax()])
    return ends[:1] if along[ends[0]] == along[ends[1]] else ends


def rounded_outline(corners: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the (k, 2) outline of all points within ``radius`` (one for each axis) of the convex hull of the corners.

    One point gives a circle, two a capsule: a hull can always be seen, and its points are not on its edge.
    """
    circle = np.column_stack([_CORNER.real, _CORNER.imag]) * radius
    around = (corners[:, None, :] + circle).reshape(-1, 2)
    return around[hull_vertices(around)]


class RoughPicture:
    """Data of the picture of a credal partition; `CredalPartitionDisplay` documents the parameters."""

    def __init__(self, points: Any, assignment: Any, is_strip: bool):
        self.points = as_reals(points, "points")
        self.assignment = as_truth(assignment, "assignment")
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise InvalidInputError(f"points must have shape (n, 2), got {self.points.shape}")
        if not np.isfinite(self.points).all():
            raise InvalidInputError("points must be finite, but they hold NaN or infinity")
        if self.assignment.ndim != 2 or len(self.assignment) != len(self.points):
            raise InvalidInputError(f"assignment must have shape ({len(self.points)}, c), got {self.assignment.shape}")
        self.is_strip = is_strip

    @property
    def n_clusters(self) -> int:
        return int(self.assignment.shape[1])

    @cached_property
    def cardinality(self) -> np.ndarray:
        """Number of clusters each object may belong to."""
        return self.assignment.sum(axis=1)

    @cached_property
    def lower(self) -> list[np.ndarray]:
        """Objects that certainly belong to each cluster (positions)."""
        certain = self.cardinality == 1
        return [np.flatnonzero(column & certain) for column in self.assignment.T]

    @cached_property
    def upper(self) -> list[np.ndarray]:
        """Objects that possibly belong to each cluster (positions)."""
        return [np.flatnonzero(column) for column in self.assignment.T]

    @cached_property
    def ambiguous(self) -> np.ndarray:
        """Objects that may belong to several clusters (positions)."""
        return np.flatnonzero(self.cardinality > 1)

    @cached_property
    def outliers(self) -> np.ndarray:
        """Objects that belong to no cluster (positions)."""
        return np.flatnonzero(self.cardinality == 0)

    @cached_property
    def lower_hulls(self) -> list[np.ndarray]:
        """Objects at the corners of the hull of each lower approximation (positions)."""
        return [self._corners(members) for members in self.lower]

    @cached_property
    def upper_hulls(self) -> list[np.ndarray]:
        """Objects at the corners of the hull of each upper approximation (positions)."""
        return [self._corners(members) for members in self.upper]

    def _corners(self, members: np.ndarray) -> np.ndarray:
        points = self.points[members]
        if self.is_strip:  # heights are only there to keep points apart
            points = points * [1, 0]
        return members[hull_vertices(points)]

    @cached_property
    def extent(self) -> np.ndarray:
        """Width and height of the cloud, never zero."""
        width = np.ptp(self.points, axis=0) if len(self.points) else np.ones(2)
        return np.where(width > 0, width, 1.0)

    @cached_property
    def middles(self) -> np.ndarray:
        """(c, 2) where each cluster is: the mean of its certain objects, else of its possible ones; NaN if none."""
        groups = [low if len(low) else up for low, up in zip(self.lower, self.upper, strict=True)]
        nowhere = np.full(2, np.nan)
        return np.array([self.points[group].mean(axis=0) if len(group) else nowhere for group in groups])


def sector_angles(centers: np.ndarray) -> tuple[np.ndarray, float]:
    """Find out how to turn a marker so that its sectors face their clusters.

    Returns the order of the clusters around the middle of their centres, and the direction (radians) of the first
    sector; the others follow at equal angles.
    """
    direction = centers - centers.mean(axis=0)
    angle = np.arctan2(direction[:, 1], direction[:, 0])
    order = np.argsort(angle, kind="stable")
    turn = 2 * np.pi / len(centers)
    # the mean direction, on the circle, of what each sector would like as the first one's
    wished = np.exp(1j * (angle[order] - turn * np.arange(len(centers)))).sum()
    return order, float(np.angle(wished))


def split_markers(points: np.ndarray, colors: np.ndarray, start: float, size: float, **properties: Any) -> Any:
    """Return a collection of discs, each cut into a sector of each color, with a dark rim.

    The sectors and the rim of an object follow each other in the collection, which keeps overlapping discs whole.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D, IdentityTransform

    from dempster.plot._canvas import INK

    m = len(colors)
    half = 180 / m
    disc = Affine2D().scale(0.5)  # the size of Matplotlib's own "o"
    middles = np.degrees(start) + 2 * half * np.arange(m)
    paths = [disc.transform_path(Path.wedge(middle - half, middle + half)) for middle in middles]
    paths.append(disc.transform_path(Path.unit_circle()))
    clear = (0.0, 0.0, 0.0, 0.0)
    collection = PathCollection(
        paths,
        sizes=[size],
        offsets=np.repeat(points, m + 1, axis=0),
        facecolors=[(*color, 1.0) for color in colors] + [clear],
        edgecolors=[clear] * m + [INK],
        **properties,
    )
    collection.set_transform(IdentityTransform())
    return collection


def is_crowded(picture: RoughPicture) -> bool:
    """Return whether there are so many objects that points overlap."""
    return len(picture.points) > MIN_RASTER_OBJECTS


# ---- hulls ----------------------------------------------------------------------------------------------------------


def draw_lower_hulls(ax: Any, picture: RoughPicture, colors: np.ndarray) -> list[Any]:
    """Fill the hulls of the lower approximations."""
    from matplotlib.patches import Polygon

    patches = []
    for hull, color in zip(picture.lower_hulls, colors, strict=True):
        if len(hull):
            outline = rounded_outline(_hull_corners(picture, hull, 0), _PADDING * picture.extent)
            patch = Polygon(outline, facecolor=(*color, 0.18), edgecolor=(*color, 0.55), linewidth=0.8, zorder=1)
            patches.append(ax.add_patch(patch))
    return patches


def draw_upper_hulls(ax: Any, picture: RoughPicture, colors: np.ndarray) -> list[Any]:
    """Draw dashed hulls of the upper approximations."""
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke

    crowded = is_crowded(picture)
    patches = []
    for k, (hull, color) in enumerate(zip(picture.upper_hulls, colors, strict=True)):
        if len(hull):
            padding = (1.5 + 0.25 * (k % 4)) * _PADDING * picture.extent
            outline = rounded_outline(_hull_corners(picture, hull, k + 1), padding)
            patch = Polygon(outline, fill=False, edgecolor=color, linewidth=1.2, zorder=3.5 if crowded else 1.5)
            patch.set_linestyle((0, (4, 2.5)))
            if crowded:  # the line crosses points of its own colour
                patch.set_path_effects([withStroke(linewidth=2.6, foreground="white")])
            patches.append(ax.add_patch(patch))
    return patches


def _hull_corners(picture: RoughPicture, hull: np.ndarray, level: int) -> np.ndarray:
    corners = picture.points[hull]
    if not picture.is_strip:
        return corners
    height = 0.55 + 0.06 * level  # bands of different heights, or the edges would lie on each other
    return np.concatenate([corners * [1, 0] + [0, sign * height] for sign in (-1, 1)])


# ---- objects --------------------------------------------------------------------------------------------------------


def draw_certain(ax: Any, picture: RoughPicture, colors: np.ndarray, size: float) -> list[Any]:
    """Draw a collection for each cluster that has certain objects."""
    raster = is_crowded(picture)
    style: dict[str, Any] = {"linewidths": 0.5, "edgecolors": "white"}
    if raster:  # overlapping points show how dense they are
        style = {"linewidths": 0, "alpha": float(np.clip(60 / np.sqrt(len(picture.points)), 0.1, 0.8))}
    return [
        ax.scatter(*picture.points[members].T, s=size, color=[color], zorder=2, rasterized=raster, **style)
        for members, color in zip(picture.lower, colors, strict=True)
        if len(members)
    ]


def draw_ambiguous(ax: Any, picture: RoughPicture, colors: np.ndarray, size: float) -> list[Any]:
    """Draw a collection for each set of clusters: discs with sectors, mixed colors for thousands of objects."""
    if not len(picture.ambiguous):
        return []
    raster = is_crowded(picture)
    packed, which = np.unique(np.packbits(picture.assignment[picture.ambiguous], axis=1), axis=0, return_inverse=True)
    sets = np.unpackbits(packed, axis=1, count=picture.n_clusters).astype(bool)
    which = which.reshape(-1)
    points = picture.points[picture.ambiguous]
    mixed = mixed_colors(sets, colors)
    mixed[sets.sum(axis=1) > MAX_SECTORS] = 0.5
    if len(picture.ambiguous) > MAX_SPLIT_MARKERS:
        return [ax.scatter(*points.T, s=1.3 * size, c=mixed[which], linewidths=0, zorder=3, rasterized=raster)]
    big = max(2.2 * size, 14)
    properties = {"linewidths": [0.7], "zorder": 3, "rasterized": raster, "offset_transform": ax.transData}
    artists = []
    for j, clusters in enumerate(sets):
        members = np.flatnonzero(clusters)
        inside, start = mixed[j : j + 1], 0.0
        if len(members) <= MAX_SECTORS:
            order, start = sector_angles(picture.middles[members] / picture.extent)
            inside = colors[members[order]]
        artists.append(ax.add_collection(split_markers(points[which == j], inside, start, big, **properties)))
    return artists


def draw_outliers(ax: Any, picture: RoughPicture, size: float) -> Any:
    """Draw black crosses; return None if there are no outliers."""
    if not len(picture.outliers):
        return None
    raster = is_crowded(picture)
    return ax.scatter(
        *picture.points[picture.outliers].T,
        s=max(1.3 * size, 4),
        marker="x",
        color="black",
        linewidths=0.3 if raster else 1.2,
        zorder=1.2 if raster else 4,
        rasterized=raster,
    )


# ---- names ----------------------------------------------------------------------------------------------------------


def write_names(ax: Any, places: np.ndarray, names: Sequence[str], colors: np.ndarray, *, raised: bool) -> None:
    """Write the names of the clusters on them, above the markers of the centers if ``raised``."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white")]
    for name, place, color in zip(names, places, colors, strict=True):
        if np.isfinite(place[0]):
            ax.annotate(
                name,
                place,
                xytext=(0, 7 if raised else 0),
                textcoords="offset points",
                ha="center",
                va="bottom" if raised else "center",
                color=0.6 * color,
                fontweight="bold",
                fontsize="small",
                path_effects=halo,
                zorder=6,
                parse_math=False,
            )


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
    """Return entries for the clusters, the hulls and centers that are drawn, and the objects.

    ``explained`` adds what they mean, where there is room for it.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def marker(label: str, **style: Any) -> Line2D:
        return Line2D([], [], linestyle="none", label=label, **style)

    handles: list[Any] = []
    if picture.n_clusters <= MAX_LISTED_CLUSTERS:
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
    few, many = np.count_nonzero(cardinality <= MAX_SECTORS), np.count_nonzero(cardinality > MAX_SECTORS)
    rim = {"marker": "o", "markersize": 8, "markeredgecolor": INK, "markeredgewidth": 0.7}
    handles = []
    if few:
        example = picture.ambiguous[cardinality.argmin()]
        first, second = colors[np.flatnonzero(picture.assignment[example])[:2]]
        filled = {"markerfacecolor": first, "markerfacecoloralt": second, "fillstyle": "left"}
        if len(picture.ambiguous) > MAX_SPLIT_MARKERS:
            filled = {"markerfacecolor": (first + second) / 2}
        handles.append(marker(f"ambiguous{', in one of several' * explained} ({few:,})", **rim, **filled))
    if many:
        text = f"ambiguous{', in one of many' * explained} ({many:,})"
        handles.append(marker(text, **rim, markerfacecolor="0.5"))
    return handles


class CredalPartitionDisplay(RoughPicture):
    """Picture of a credal partition.

    A filled hull holds the objects that certainly belong to a cluster (its lower approximation), a dashed one those
    that possibly do (its upper approximation). Ambiguous objects are discs in the colours of the clusters they may
    belong to, each colour on the side of its cluster; outliers, which belong to none, are black crosses.

    Make one with `from_partition` or `from_estimator`; the constructor takes data that are already in the plane.

    Parameters
    ----------
    points : array of shape (n, 2)
        Where the objects are drawn.
    assignment : Boolean array of shape (n, c)
        The clusters each object may belong to: one if it is certain, none for an outlier.
    cluster_names : sequence of length c, optional
        0..c-1 by default.
    centers : array of shape (c, 2), optional
    axis_names : pair of str
    is_strip : bool, default=False
        The data have one attribute; the second coordinate has no meaning.
    explained_variance_ratio : array of shape (2,), optional
        Share of the variance on each axis when they are principal components.

    Attributes
    ----------
    points, assignment, cluster_names, centers, axis_names, is_strip, explained_variance_ratio
        As given.
    lower, upper : lists of c arrays
        Positions of the objects that certainly, and possibly, belong to each cluster.
    ambiguous, outliers : arrays
        Positions of the objects that may belong to several clusters, and to none.
    lower_hulls, upper_hulls : lists of c arrays
        Positions of the objects at the corners of the convex hulls, counterclockwise: ``points[lower_hulls[k]]`` is a
        polygon, or a segment, a point or nothing when there are too few objects.
    ax_, figure_ : Matplotlib axes and figure
    colors_ : array of shape (c, 3)
    lower_patches_, upper_patches_ : lists of patches
    certain_artists_, ambiguous_artists_ : lists of collections
    outlier_artist_, center_artist_, legend_ : artists or None

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41 (lower and upper approximations: section 3).

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> from dempster.plot import CredalPartitionDisplay
    >>> X = load_butterfly().data
    >>> model = ECM(2, focal_sets="full", delta=5, random_state=0).fit(X)
    >>> display = CredalPartitionDisplay.from_estimator(model, X)
    >>> display.ambiguous, display.outliers
    (array([5]), array([11]))
    """

    def __init__(
        self,
        *,
        points: Any,
        assignment: Any,
        cluster_names: Sequence[Hashable] | None = None,
        centers: Any = None,
        axis_names: tuple[str, str] = ("", ""),
        is_strip: bool = False,
        explained_variance_ratio: Any = None,
    ):
        super().__init__(points, assignment, is_strip)
        c = self.n_clusters
        self.cluster_names = shown_names(range(c) if cluster_names is None else cluster_names, "cluster_names", c)
        self.centers = None if centers is None else as_reals(centers, "centers")
        if self.centers is not None and self.centers.shape != (c, 2):
            raise InvalidInputError(f"centers must have shape ({c}, 2), got {self.centers.shape}")
        if self.centers is not None and not np.isfinite(self.centers).all():
            raise InvalidInputError("centers must be finite, but they hold NaN or infinity")
        self.axis_names = tuple(shown_names(axis_names, "axis_names", 2))
        self.explained_variance_ratio = explained_variance_ratio

    # ---- making one -----------------------------------------------------------------------------------------------

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        X: Any,
        *,
        rule: str = "max_mass",
        cluster_names: Sequence[Hashable] | None = None,
        cluster_centers: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a partition over the attributes of its objects.

        Parameters
        ----------
        partition : CredalPartition (or hard labels)
        X : array-like or table of shape (n, p), or (n,)
            Attributes of the objects. One becomes a strip, two are the axes, more are shown by their first two
            principal components (standardise columns of different units beforehand). The names of the columns of a
            table name the axes. An object with missing values (NaN) lies where those that are most like it do.
        rule : {"max_mass", "interval_dominance"}
            How objects are assigned to sets of clusters, see `CredalPartition.assignment`. Objects whose largest
            mass is on the empty set are outliers under both.
        cluster_names : sequence of length c, optional
            Instead of the names in the partition.
        cluster_centers : array of shape (c, p), optional
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        CredalPartitionDisplay
        """
        partition = as_credal_partition(partition)
        assignment = partition.assignment(rule, keep_outliers=False)
        plane = to_plane(X, len(partition))
        centers = None
        if cluster_centers is not None:
            shape = (partition.n_clusters, plane.n_attributes)
            given = as_reals(cluster_centers, "cluster_centers")
            if given.shape != shape:
                raise InvalidInputError(f"cluster_centers must have shape {shape}, got {given.shape}")
            if not np.isfinite(given).all():
                raise InvalidInputError("cluster_centers must be finite, but they hold NaN or infinity")
            centers = plane.project(given)
        display = cls(
            points=plane.points,
            assignment=assignment,
            cluster_names=partition.frame if cluster_names is None else cluster_names,
            centers=centers,
            axis_names=plane.axis_names,
            is_strip=plane.is_strip,
            explained_variance_ratio=plane.explained_variance_ratio,
        )
        return display.plot(ax=ax, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the partition of a fitted clusterer over the attributes of the objects it was fitted to.

        Parameters
        ----------
        estimator : fitted evidential clusterer
            Its ``cluster_centers_`` are drawn when it has them, in the attributes of ``X``.
        X : array-like or table of shape (n, p), or (n,)
            Attributes of the objects that were clustered, in the same order. For new objects:
            ``from_partition(estimator.predict_mass(X), X)``.
        ax : Matplotlib axes, optional
        **options
            Passed to `from_partition` (``rule``, ``cluster_names``) and to `plot`.

        Returns
        -------
        CredalPartitionDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        if not hasattr(estimator, "credal_partition_"):
            raise InvalidInputError(
                "estimator must be an evidential clusterer (with the attribute credal_partition_), "
                f"got {type(estimator).__name__}"
            )
        partition = estimator.credal_partition_
        if "cluster_centers" not in options:
            centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
            n_attributes = np.shape(X)[1] if np.ndim(X) == 2 else 1
            # prototypes may live elsewhere: among dissimilarities, images, or columns that are not shown; medoids may
            # lack values
            if centers.shape == (partition.n_clusters, n_attributes) and np.isfinite(centers).all():
                options["cluster_centers"] = centers
        return cls.from_partition(partition, X, ax=ax, **options)

    # ---- drawing --------------------------------------------------------------------------------------------------

    @checked_options(legend=("auto", "inside", "outside"))
    def plot(
        self,
        *,
        ax: Any = None,
        lower: bool = True,
        upper: bool | str = "auto",
        centers: bool = True,
        labels: bool | str = "auto",
        legend: bool | str = "auto",
        colors: Sequence[Any] | None = None,
        marker_size: float | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        lower, upper : bool
            Whether to draw the hulls of the lower and upper approximations. ``upper="auto"``: up to ten clusters
            (an object that may belong to any cluster stretches the hulls of all of them).
        centers : bool
            Whether to draw the centres of the clusters, if they are known.
        labels : bool or "auto"
            Whether to write the names of the clusters on them; "auto": if they are too many for a legend.
        legend : bool, "inside", "outside" or "auto"
            "auto" (or True): beside the picture on a new figure, inside given axes.
        colors : sequence of c colours, optional
            A palette for colour-blind readers by default.
        marker_size : float, optional
            Area of the marker of a certain object in square points; smaller for more objects by default.
        title : str, optional

        Returns
        -------
        CredalPartitionDisplay
            This display, with the artists as attributes.
        """
        many = self.n_clusters > MAX_LISTED_CLUSTERS
        upper, labels = wanted(upper, not many), wanted(labels, many)
        self.colors_ = cluster_colors(self.n_clusters, colors)
        with_legend = wanted(legend, True)
        outside = legend == "outside" or (ax is None and with_legend and legend != "inside")
        self.ax_ = axes_to_draw_on(ax, (8, 2.6) if self.is_strip else (8, 5.2))
        self.figure_ = self.ax_.figure
        size = float(np.clip(400 / np.sqrt(max(len(self.points), 1)), 1, 34)) if marker_size is None else marker_size
        self.lower_patches_ = draw_lower_hulls(self.ax_, self, self.colors_) if lower else []
        self.upper_patches_ = draw_upper_hulls(self.ax_, self, self.colors_) if upper else []
        self.certain_artists_ = draw_certain(self.ax_, self, self.colors_, size)
        self.ambiguous_artists_ = draw_ambiguous(self.ax_, self, self.colors_, size)
        self.outlier_artist_ = draw_outliers(self.ax_, self, size)
        self.center_artist_ = self._draw_centers(centers)
        if labels:
            places = self.middles if self.centers is None else self.centers
            raised = self.center_artist_ is not None
            write_names(self.ax_, places, self.cluster_names, self.colors_, raised=raised)
        finish_axes(self.ax_)
        self._name_axes(title)
        self.legend_ = self._draw_legend(outside) if with_legend else None
        return self

    def _draw_centers(self, wanted: bool) -> Any:
        if not wanted or self.centers is None:
            return None
        return self.ax_.scatter(
            *self.centers.T, s=50, marker="D", c=self.colors_, edgecolors="white", linewidths=1.4, zorder=5
        )

    def _name_axes(self, title: str | None) -> None:
        self.ax_.autoscale_view()
        self.ax_.set_xlabel(self.axis_names[0], parse_math=False)
        self.ax_.set_ylabel(self.axis_names[1], parse_math=False)
        if self.is_strip:
            self.ax_.set_yticks([])
            self.ax_.spines["left"].set_visible(False)
        if title is not None:
            self.ax_.set_title(title)

    # ---- legend ---------------------------------------------------------------------------------------------------

    def _draw_legend(self, outside: bool) -> Any:
        handles = legend_handles(
            self,
            self.cluster_names,
            self.colors_,
            lower=bool(self.lower_patches_),
            upper=bool(self.upper_patches_),
            centers=self.center_artist_ is not None,
            explained=outside,
        )
        font = "small" if outside else "x-small"
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        if not outside:
            # "best" looks at every point
            place = {"loc": "upper right" if is_crowded(self) else "best", "framealpha": 0.7, "labelspacing": 0.3}
        if not handles:
            return None
        return legend_of_names(self.ax_, handles, fontsize=font, frameon=not outside, **place)
