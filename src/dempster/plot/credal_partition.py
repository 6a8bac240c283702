"""Displays of a credal partition over the attributes of its objects, and of several partitions as points."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from sklearn.utils import check_array

import dempster.plot._canvas as canvas
from dempster._errors import InvalidInputError
from dempster._text import format_cluster
from dempster._validation import (
    as_boolean,
    check,
    check_missing,
    check_scale,
    choice,
    real,
    validating,
)
from dempster.dissimilarity.partial import impute_missing
from dempster.partition.compare import PartitionMap, embed_partitions
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot.palette import GREY, INK

_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
_CIRCLE = np.exp(2j * np.pi * np.arange(32) / 32)
_PADDING = 0.012  # Distance of hulls from their objects, as a share of the width of the plot.
# Points are collinear if the ratio of their smallest to their largest width is at most this value.
MAX_FLATNESS = 1e-9
MIN_RASTER_OBJECTS = 2_000  # With more objects a vector file would be larger than an image.
MAX_LISTED_CLUSTERS = 10  # With more clusters, names are written in the plot instead of the legend.
MAX_SECTORS = 4  # More colors cannot be distinguished inside one marker.
MAX_SPLIT_MARKERS = 2_000  # With more ambiguous objects, sectors would be too small.


@dataclass(frozen=True)
class Plane:
    """Coordinates of the objects in the plane, and a function that projects new rows to the plane."""

    points: np.ndarray  # (n, 2)
    axis_names: tuple[str, str]
    n_attributes: int
    project: Callable[[np.ndarray], np.ndarray]
    # None if the axes are not principal components
    explained_variance_ratio: np.ndarray | None = None


def project_to_plane(X: Any, n_objects: int | None = None) -> Plane:
    """Project objects to the plane (see `CredalPartitionDisplay.from_partition`)."""
    from sklearn.decomposition import PCA

    columns = getattr(X, "columns", None)
    if columns is None and getattr(X, "name", None) is not None:
        columns = [X.name]  # of a series
    names = None if columns is None else [str(name) for name in columns]
    with validating(X, "X"):
        data = check_array(
            X, dtype=np.float64, ensure_2d=False, input_name="X", ensure_all_finite="allow-nan"
        )
    check_scale(data, "X")
    if data.ndim == 1:
        data = data[:, None]
    check_missing(data, X, None, learning=True)
    data = impute_missing(data)
    n, p = data.shape
    if n_objects is not None and n != n_objects:
        raise InvalidInputError(
            f"X must have a row for each of the {n_objects} objects of the partition, got {n}"
        )
    if p == 1:
        # Multiples of the golden ratio modulo 1 give neighbors on the line very different heights,
        # reproducibly.
        rank = np.argsort(np.argsort(data[:, 0], kind="stable"))
        height = (rank * _GOLDEN_RATIO + 0.5) % 1 - 0.5
        points = np.column_stack([data[:, 0], height])
        return Plane(
            points,
            (names[0] if names else "attribute 1", ""),
            1,
            lambda rows: rows[:, :1] * [1.0, 0.0],
        )
    if p == 2:
        return Plane(
            data, (names[0], names[1]) if names else ("attribute 1", "attribute 2"), 2, np.asarray
        )
    if n < 2 or not np.ptp(data, axis=0).any():  # Principal components need variance.
        center = data.mean(axis=0)
        return Plane(
            data[:, :2] - center[:2], ("PC 1", "PC 2"), p, lambda rows: (rows - center)[:, :2]
        )
    model = PCA(2, random_state=0).fit(data)
    ratio = model.explained_variance_ratio_
    first, second = (
        f"PC {k} ({100 * share:.0f} % of variance)" for k, share in enumerate(ratio, start=1)
    )
    return Plane(model.transform(data), (first, second), p, model.transform, ratio)


def hull_vertices(points: np.ndarray) -> np.ndarray:
    """Return the indices of the corners of the convex hull, counterclockwise.

    Two if all points are collinear.
    """
    if len(points) == 0:
        return np.empty(0, dtype=np.intp)
    centered = points - points.mean(axis=0)
    width = np.ptp(centered, axis=0)
    # Scaling does not change the corners, and it prevents Qhull from treating a long thin cloud as
    # a line.
    scaled = centered / np.where(width > 0, width, 1)
    _, widths, directions = np.linalg.svd(scaled, full_matrices=False)
    if len(points) > 2 and widths[1] > MAX_FLATNESS * widths[0]:
        try:
            return ConvexHull(scaled).vertices.astype(np.intp)
        except QhullError:
            pass  # The points are collinear at the precision of Qhull.
    along = scaled @ directions[0]
    ends = np.array([along.argmin(), along.argmax()])
    if along[ends[0]] == along[ends[1]]:
        return ends[:1]
    return ends


def rounded_outline(corners: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the outline of a convex polygon enlarged by ``radius`` (one per axis).

    One corner gives a circle.
    """
    circle = np.column_stack([_CIRCLE.real, _CIRCLE.imag]) * radius
    around = (corners[:, None, :] + circle).reshape(-1, 2)
    return around[hull_vertices(around)]


def sector_angles(centers: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the order of the sectors and the angle of the first, such that sectors point towards their clusters."""
    direction = centers - centers.mean(axis=0)
    angle = np.arctan2(direction[:, 1], direction[:, 0])
    order = np.argsort(angle, kind="stable")
    step = 2 * np.pi / len(centers)
    # Each cluster has a preferred angle of the first sector. The circular mean of these angles is a
    # compromise.
    preferred = np.exp(1j * (angle[order] - step * np.arange(len(centers)))).sum()
    return order, float(np.angle(preferred))


def split_markers(
    points: np.ndarray, colors: np.ndarray, start: float, size: float, **properties: Any
) -> Any:
    """Return a collection of discs, each divided into one sector per color, with a dark rim."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D, IdentityTransform

    m = len(colors)
    half = 180 / m
    disc = Affine2D().scale(0.5)  # Matplotlib's marker "o" has the same size.
    middles = np.degrees(start) + 2 * half * np.arange(m)
    paths = [disc.transform_path(Path.wedge(middle - half, middle + half)) for middle in middles]
    paths.append(disc.transform_path(Path.unit_circle()))
    clear = (0.0, 0.0, 0.0, 0.0)
    # Each disc is drawn completely before the next disc, so that sectors of overlapping discs do
    # not mix.
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


class CredalPartitionDisplay(canvas.Display):
    """Display of a credal partition.

    A filled hull contains the objects that certainly belong to a cluster (its lower approximation).
    A dashed hull contains the objects that possibly belong to the cluster (its upper
    approximation). Ambiguous objects are discs in the colors of the clusters to which they may
    belong. Outliers, which belong to no cluster, are black crosses.

    Parameters
    ----------
    points : array of shape (n, 2)
        Positions of the objects.
    assignment : Boolean array of shape (n, c)
        The clusters to which each object may belong. A certain object has one cluster, and an
        outlier has none.
    cluster_names : sequence of length c, optional
        Names of the clusters; 0..c-1 by default.
    centers : array of shape (c, 2), optional
        Cluster centers.
    axis_names : pair of str
        Names of the horizontal and the vertical axis.
    is_strip : bool, default=False
        Whether the data have one attribute, so that the second coordinate has no meaning.
    explained_variance_ratio : array of shape (2,), optional
        Share of the variance on each axis if the axes are principal components.

    Attributes
    ----------
    lower, upper : lists of c arrays
        Indices of the objects that certainly (lower) and possibly (upper) belong to each cluster.
    ambiguous, outliers : arrays
        Indices of the objects that may belong to several clusters, and of the objects that belong
        to no cluster.
    lower_hulls, upper_hulls : lists of c arrays
        Indices of the objects at the corners of the convex hull of each cluster, counterclockwise.
        With few objects, a hull may have two corners, one corner or none.
    ax_, figure_ : Matplotlib axes and figure
    colors_ : array of shape (c, 3)
        RGB colors of the clusters.
    lower_patches_, upper_patches_ : lists of patches
        Hulls of the lower and upper approximations.
    certain_artists_, ambiguous_artists_ : lists of collections
        Markers of the certain and the ambiguous objects.
    outlier_artist_, center_artist_, legend_ : artists or None
        Markers of the outliers, markers of the centers, and the legend.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm.
    Pattern Recognition 41 (lower and upper approximations: section 3).

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
        self.points = canvas.validate_points(points, "points")
        self.assignment = as_boolean(assignment, "assignment")
        if self.assignment.ndim != 2 or len(self.assignment) != len(self.points):
            raise InvalidInputError(
                f"assignment must have shape ({len(self.points)}, c), got {self.assignment.shape}"
            )
        c = self.n_clusters
        names = range(c) if cluster_names is None else cluster_names
        self.cluster_names = canvas.validate_names(names, "cluster_names", c)
        if centers is None:
            self.centers = None
        else:
            self.centers = canvas.validate_points(centers, "centers", (c, 2))
        self.axis_names = tuple(canvas.validate_names(axis_names, "axis_names", 2))
        self.is_strip = is_strip
        self.explained_variance_ratio = explained_variance_ratio

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        X: Any,
        *,
        rule: str = "max_mass",
        cluster_names: Sequence[Hashable] | None = None,
        cluster_centers: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a partition over the attributes of its objects.

        Parameters
        ----------
        partition : CredalPartition or hard labels
            Partition to draw.
        X : array-like or table of shape (n, p), or (n,)
            Attributes of the objects. One attribute is drawn as a strip, two attributes are the
            axes, and more attributes are reduced to two principal components (standardize columns
            with different units first). The column names of a table are the names of the axes.
            Missing values (NaN) are imputed from similar objects.
        rule : {"max_mass", "interval_dominance"}
            How objects are assigned to sets of clusters, see `CredalPartition.assignment`. Objects
            whose largest mass is on the empty set are outliers under both rules.
        cluster_names : sequence of length c, optional
            Names of the clusters; by default the names in the partition.
        cluster_centers : array of shape (c, p), optional
            Cluster centers to draw.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        CredalPartitionDisplay
        """
        partition = as_credal_partition(partition)
        assignment = partition.assignment(rule, keep_outliers=False)
        plane = project_to_plane(X, len(partition))
        if cluster_centers is not None:
            shape = (partition.n_clusters, plane.n_attributes)
            cluster_centers = plane.project(
                canvas.validate_points(cluster_centers, "cluster_centers", shape)
            )
        display = cls(
            points=plane.points,
            assignment=assignment,
            cluster_names=partition.frame if cluster_names is None else cluster_names,
            centers=cluster_centers,
            axis_names=plane.axis_names,
            is_strip=plane.n_attributes == 1,
            explained_variance_ratio=plane.explained_variance_ratio,
        )
        return display.plot(**options)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Draw the partition of a fitted clusterer over the attributes of its training objects.

        Parameters
        ----------
        estimator : fitted evidential clusterer
            Its ``cluster_centers_`` are drawn if they have the same columns as ``X``.
        X : array-like or table of shape (n, p), or (n,)
            Attributes of the training objects, in the order of the rows in `fit`. For new objects
            use ``from_partition(estimator.predict_mass(X), X)``.
        **options
            Options of `from_partition` (``rule``, ``cluster_names``) and of `plot`.

        Returns
        -------
        CredalPartitionDisplay
        """
        canvas.validate_estimator(estimator, "credal_partition_")
        partition = estimator.credal_partition_
        if "cluster_centers" not in options:
            centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
            if np.ndim(X) == 2:
                n_attributes = np.shape(X)[1]
            else:
                n_attributes = 1
            # Some methods have prototypes that are not points in the space of X, and medoids may
            # have missing values.
            if centers.shape == (partition.n_clusters, n_attributes) and np.isfinite(centers).all():
                options["cluster_centers"] = centers
        return cls.from_partition(partition, X, **options)

    # ---- data ------------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.assignment.shape[1])

    @cached_property
    def cardinality(self) -> np.ndarray:
        """Number of clusters to which each object may belong."""
        return self.assignment.sum(axis=1)

    @cached_property
    def lower(self) -> list[np.ndarray]:
        """Indices of the objects that certainly belong to each cluster."""
        is_certain = self.cardinality == 1
        return [np.flatnonzero(column & is_certain) for column in self.assignment.T]

    @cached_property
    def upper(self) -> list[np.ndarray]:
        """Indices of the objects that possibly belong to each cluster."""
        return [np.flatnonzero(column) for column in self.assignment.T]

    @cached_property
    def ambiguous(self) -> np.ndarray:
        """Indices of the objects that may belong to several clusters."""
        return np.flatnonzero(self.cardinality > 1)

    @cached_property
    def outliers(self) -> np.ndarray:
        """Indices of the objects that belong to no cluster."""
        return np.flatnonzero(self.cardinality == 0)

    @cached_property
    def lower_hulls(self) -> list[np.ndarray]:
        """Indices of the objects at the corners of the hull of each lower approximation."""
        return [self._find_corners(members) for members in self.lower]

    @cached_property
    def upper_hulls(self) -> list[np.ndarray]:
        """Indices of the objects at the corners of the hull of each upper approximation."""
        return [self._find_corners(members) for members in self.upper]

    def _find_corners(self, members: np.ndarray) -> np.ndarray:
        points = self.points[members]
        return members[hull_vertices(points * [1, 0] if self.is_strip else points)]

    @cached_property
    def _extent(self) -> np.ndarray:
        """Width and height of the point cloud.

        Zero is replaced by 1, also if there are no points.
        """
        if len(self.points):
            width = np.ptp(self.points, axis=0)
        else:
            width = np.ones(2)
        return np.where(width > 0, width, 1.0)

    @cached_property
    def _means(self) -> np.ndarray:
        """Mean position of the certain objects of each cluster, or of its possible objects if none is certain."""
        groups = [low if len(low) else up for low, up in zip(self.lower, self.upper, strict=True)]
        return np.array(
            [self.points[group].mean(axis=0) if len(group) else [np.nan] * 2 for group in groups]
        )

    @property
    def _is_crowded(self) -> bool:
        return len(self.points) > MIN_RASTER_OBJECTS

    # ---- drawing ---------------------------------------------------------------------------------

    @canvas.validate_options(legend=("auto", "inside", "outside"))
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
        """Draw the partition.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        lower, upper : bool
            Whether to draw the hulls of the lower and upper approximations. ``upper="auto"`` draws
            the upper hulls of at most ten clusters, because an object that may belong to every
            cluster extends all upper hulls.
        centers : bool
            Whether to draw the cluster centers, if there are any.
        labels : bool or "auto"
            Whether to write the names of the clusters in the plot; "auto" writes them if there are
            too many clusters for a legend.
        legend : bool, "inside", "outside" or "auto"
            Whether and where to draw a legend. "auto" and True draw it outside the axes of a new
            figure, and inside given axes.
        colors : sequence of c colors, optional
            By default a palette for color-blind readers.
        marker_size : float, optional
            Area of the marker of a certain object in square points. By default it decreases with
            the number of objects.
        title : str, optional

        Returns
        -------
        self
        """
        many = self.n_clusters > MAX_LISTED_CLUSTERS
        with_legend = canvas.resolve_auto(legend, True)
        outside = legend == "outside" or (ax is None and with_legend and legend != "inside")
        self.colors_ = canvas.cluster_colors(self.n_clusters, colors)
        self._open_axes(ax, (8, 2.6) if self.is_strip else (8, 5.2))
        if marker_size is None:
            size = float(np.clip(400 / np.sqrt(max(len(self.points), 1)), 1, 34))
        else:
            size = marker_size
        if lower:
            self.lower_patches_ = self._draw_hulls(self.lower_hulls, is_upper=False)
        else:
            self.lower_patches_ = []
        upper = canvas.resolve_auto(upper, not many)
        if upper:
            self.upper_patches_ = self._draw_hulls(self.upper_hulls, is_upper=True)
        else:
            self.upper_patches_ = []
        self.certain_artists_ = self._draw_certain(size)
        if len(self.ambiguous):
            self.ambiguous_artists_ = self._draw_ambiguous(size)
        else:
            self.ambiguous_artists_ = []
        self.outlier_artist_ = self.center_artist_ = None
        if len(self.outliers):
            if self._is_crowded:
                width = 0.3
                zorder = 1.2
            else:
                width = 1.2
                zorder = 4
            cross = {
                "marker": "x",
                "color": "black",
                "linewidths": width,
                "rasterized": self._is_crowded,
            }
            points = self.points[self.outliers]
            self.outlier_artist_ = self.ax_.scatter(
                *points.T, s=max(1.3 * size, 4), zorder=zorder, **cross
            )
        if centers and self.centers is not None:
            style = {"marker": "D", "edgecolors": "white", "linewidths": 1.4, "zorder": 5}
            self.center_artist_ = self.ax_.scatter(*self.centers.T, s=50, c=self.colors_, **style)
        if canvas.resolve_auto(labels, many):
            self._write_names()
        canvas.finish_axes(self.ax_, title=title)
        self.ax_.autoscale_view()
        self.ax_.set_xlabel(self.axis_names[0], parse_math=False)
        self.ax_.set_ylabel(self.axis_names[1], parse_math=False)
        if self.is_strip:
            self.ax_.set_yticks([])
            self.ax_.spines["left"].set_visible(False)
        if with_legend:
            self.legend_ = self._draw_legend(outside)
        else:
            self.legend_ = None
        return self

    def _draw_hulls(self, hulls: list[np.ndarray], is_upper: bool) -> list[Any]:
        """Draw the hulls of the lower approximations (filled) or of the upper approximations (dashed)."""
        from matplotlib.patches import Polygon

        patches = []
        for k, (hull, color) in enumerate(zip(hulls, self.colors_, strict=True)):
            if len(hull) == 0:
                continue
            corners = self.points[hull]
            if self.is_strip:
                height = 0.55 + (0.06 * (k + 1) if is_upper else 0)
                corners = np.concatenate(
                    [corners * [1, 0] + [0, sign * height] for sign in (-1, 1)]
                )
            padding = (1.5 + 0.25 * (k % 4) if is_upper else 1) * _PADDING * self._extent
            style: dict[str, Any] = {
                "facecolor": (*color, 0.18),
                "edgecolor": (*color, 0.55),
                "linewidth": 0.8,
            }
            if is_upper:
                style = {
                    "fill": False,
                    "edgecolor": color,
                    "linewidth": 1.2,
                    "linestyle": (0, (4, 2.5)),
                }
            patch = Polygon(
                rounded_outline(corners, padding), zorder=1.5 if is_upper else 1, **style
            )
            # A white rim separates the line from points of the same color.
            if is_upper and self._is_crowded:
                patch.set(zorder=3.5, path_effects=canvas.halo(2.6))
            patches.append(self.ax_.add_patch(patch))
        return patches

    def _draw_certain(self, size: float) -> list[Any]:
        style: dict[str, Any] = {"linewidths": 0.5, "edgecolors": "white"}
        if self._is_crowded:  # Transparent points show the density.
            style = {
                "linewidths": 0,
                "alpha": float(np.clip(60 / np.sqrt(len(self.points)), 0.1, 0.8)),
            }
        style |= {"zorder": 2, "rasterized": self._is_crowded}
        return [
            self.ax_.scatter(*self.points[members].T, s=size, color=[color], **style)
            for members, color in zip(self.lower, self.colors_, strict=True)
            if len(members)
        ]

    def _draw_ambiguous(self, size: float) -> list[Any]:
        """Draw the ambiguous objects with split markers or, if there are many, with markers in mixed colors."""
        packed, which = np.unique(
            np.packbits(self.assignment[self.ambiguous], axis=1), axis=0, return_inverse=True
        )
        sets = np.unpackbits(packed, axis=1, count=self.n_clusters).astype(bool)
        which = which.reshape(-1)
        points = self.points[self.ambiguous]
        mixed = canvas.mix_colors(sets, self.colors_)
        mixed[sets.sum(axis=1) > MAX_SECTORS] = 0.5
        style: dict[str, Any] = {"zorder": 3, "rasterized": self._is_crowded}
        if len(self.ambiguous) > MAX_SPLIT_MARKERS:
            return [
                self.ax_.scatter(*points.T, s=1.3 * size, c=mixed[which], linewidths=0, **style)
            ]
        style |= {"linewidths": [0.7], "offset_transform": self.ax_.transData}
        artists = []
        for j, clusters in enumerate(sets):
            members = np.flatnonzero(clusters)
            colors = mixed[j : j + 1]
            start = 0.0
            if len(members) <= MAX_SECTORS:
                order, start = sector_angles(self._means[members] / self._extent)
                colors = self.colors_[members[order]]
            markers = split_markers(points[which == j], colors, start, max(2.2 * size, 14), **style)
            artists.append(self.ax_.add_collection(markers))
        return artists

    def _write_names(self) -> None:
        """Write the names of the clusters at their positions, or above the markers of their centers."""
        raised = self.center_artist_ is not None
        style: dict[str, Any] = {
            "ha": "center",
            "va": "bottom" if raised else "center",
            "textcoords": "offset points",
        }
        style |= {
            "fontweight": "bold",
            "fontsize": "small",
            "path_effects": canvas.halo(2.5),
            "zorder": 6,
        }
        if self.centers is None:
            positions = self._means
        else:
            positions = self.centers
        for name, position, color in zip(self.cluster_names, positions, self.colors_, strict=True):
            if np.isfinite(position[0]):
                offset = (0, 7 if raised else 0)
                self.ax_.annotate(
                    name, position, xytext=offset, color=0.6 * color, parse_math=False, **style
                )

    def _draw_legend(self, outside: bool) -> Any:
        handles = self._legend_handles(explained=outside)
        if not handles:
            return None
        if outside:
            place: dict[str, Any] = {
                "loc": "upper left",
                "bbox_to_anchor": (1.01, 1.0),
                "borderaxespad": 0.0,
            }
            return canvas.draw_legend(self.ax_, handles, fontsize="small", frameon=False, **place)
        # Matplotlib computes the location "best" from all points, which is slow for many points.
        place = {
            "loc": "upper right" if self._is_crowded else "best",
            "framealpha": 0.7,
            "labelspacing": 0.3,
        }
        return canvas.draw_legend(self.ax_, handles, fontsize="x-small", frameon=True, **place)

    def _legend_handles(self, explained: bool) -> list[Any]:
        """Return the legend handles; if ``explained`` is True, the labels include definitions."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        def add(label: str, definition: str = "", count: int = 0, **style: Any) -> None:
            label += definition * explained + (f" ({count:,})" if count else "")
            handles.append(Line2D([], [], linestyle="none", label=label, **style))

        handles: list[Any] = []
        if self.n_clusters <= MAX_LISTED_CLUSTERS:
            for name, color in zip(self.cluster_names, self.colors_, strict=True):
                add(format_cluster(name), marker="o", markersize=6, color=color)
        if self.lower_patches_:
            label = f"certain{': lower approximation' * explained}"
            handles.append(Patch(facecolor="#DDDDDD", edgecolor="#AAAAAA", label=label))
        if self.upper_patches_:
            label = f"possible{': upper approximation' * explained}"
            handles.append(
                Patch(fill=False, edgecolor="#666666", linestyle=(0, (3, 2)), label=label)
            )
        cardinality = self.cardinality[self.ambiguous]
        n_few = int((cardinality <= MAX_SECTORS).sum())
        n_many = int((cardinality > MAX_SECTORS).sum())
        rim = {"marker": "o", "markersize": 8, "markeredgecolor": INK, "markeredgewidth": 0.7}
        if n_few:
            example = self.ambiguous[cardinality.argmin()]
            first, second = self.colors_[np.flatnonzero(self.assignment[example])[:2]]
            fill = {"markerfacecolor": first, "markerfacecoloralt": second, "fillstyle": "left"}
            if len(self.ambiguous) > MAX_SPLIT_MARKERS:
                fill = {"markerfacecolor": (first + second) / 2}
            add("ambiguous", ", in one of several", n_few, **rim, **fill)
        if n_many:
            add("ambiguous", ", in one of many", n_many, **rim, markerfacecolor="0.5")
        if len(self.outliers):
            add(
                "outliers",
                ", in no cluster",
                len(self.outliers),
                marker="x",
                color="black",
                markersize=6,
            )
        if self.center_artist_ is not None:
            add("centers", marker="D", markersize=7, color=GREY, markeredgecolor="white")
        return handles


class PartitionMapDisplay(canvas.Display):
    """Display of partitions as points whose distances approximate one minus the credal Rand index.

    Parameters
    ----------
    coordinates : array of shape (N, 2)
        Positions of the N partitions.
    names : sequence of N str
        Names of the partitions.
    stress : float, optional
        Kruskal's stress-1 of the map. Below 0.05 the distances are accurate; above 0.2 they are
        not.
    dissimilarity : array of shape (N, N), optional
        Dissimilarities of the partitions, which the distances approximate.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        One point for each partition.
    labels_ : list of annotations
        Names of the partitions.
    stress_text_ : text or None
        Stress of the map.

    References
    ----------
    T. Denoeux, S. Li and S. Sriboonchitta (2018). Evaluating and comparing soft partitions: an
    approach based on Dempster-Shafer theory. IEEE Trans. Fuzzy Systems 26.

    Examples
    --------
    >>> from dempster.plot import PartitionMapDisplay
    >>> partitions = {"halves": [0, 0, 1, 1], "same": [1, 1, 0, 0], "crossed": [0, 1, 0, 1]}
    >>> display = PartitionMapDisplay.from_partitions(partitions)
    >>> display.names, display.coordinates.shape
    (['halves', 'same', 'crossed'], (3, 2))
    """

    def __init__(
        self,
        *,
        coordinates: Any,
        names: Sequence[str],
        stress: float | None = None,
        dissimilarity: Any = None,
    ):
        self.coordinates = canvas.validate_points(coordinates, "coordinates", ("N", 2))
        self.names = canvas.validate_names(names, "names", len(self.coordinates))
        check(stress, "stress", choice(None) | real(0))
        self.stress = stress
        self.dissimilarity = dissimilarity

    @classmethod
    def from_partitions(
        cls,
        partitions: Sequence[Any] | Mapping[str, Any],
        names: Sequence[str] | None = None,
        *,
        rule: str = "smacof",
        distance: str = "jousselme",
        n_pairs: int | str | None = "auto",
        random_state: Any = 0,
        **options: Any,
    ) -> Self:
        """Compare partitions and draw their map.

        Parameters
        ----------
        partitions : sequence of partitions or mapping of names to partitions
            Partitions of the same objects, each a CredalPartition or hard labels.
        names : sequence of str, optional
            Names of the partitions if ``partitions`` is a sequence; by default their indices.
        rule, distance, n_pairs, random_state
            Arguments of `dempster.partition.embed_partitions`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        PartitionMapDisplay
        """
        if isinstance(partitions, Mapping):
            if names is not None:
                raise InvalidInputError(
                    "names must be None if partitions is a mapping of names to partitions"
                )
            names = [str(name) for name in partitions]
            partitions = list(partitions.values())
        partition_map = embed_partitions(
            partitions,
            names,
            rule=rule,
            distance=distance,
            n_pairs=n_pairs,
            random_state=random_state,
        )
        return cls.from_map(partition_map, **options)

    @classmethod
    def from_map(cls, partition_map: PartitionMap, **options: Any) -> Self:
        """Draw the result of `dempster.partition.embed_partitions`.

        Parameters
        ----------
        partition_map : PartitionMap
            Result of `dempster.partition.embed_partitions`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        PartitionMapDisplay
        """
        names = ("coordinates", "names", "stress", "dissimilarity")
        return cls(**{name: getattr(partition_map, name) for name in names}).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        marker_size: float = 55.0,
        labels: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of N colors, optional
            By default all points have the same color.
        marker_size : float, default=55
            Area of the markers in square points.
        labels : bool, default=True
            Whether to write the names beside the points.
        title : str, optional

        Returns
        -------
        self
        """
        if colors is None:
            palette = canvas.cluster_colors(1)
        else:
            palette = canvas.cluster_colors(len(self.coordinates), colors)
        new_figure = ax is None
        self._open_axes(ax, (6, 5))
        self.points_ = self.ax_.scatter(
            *self.coordinates.T,
            s=marker_size,
            c=palette,
            edgecolors="white",
            linewidths=0.8,
            zorder=3,
        )
        self.ax_.margins(0.2)  # The margins leave space for the names.
        canvas.set_equal_units(self.ax_, "datalim")
        canvas.finish_axes(self.ax_, "distance = 1 − credal Rand index", title=title)
        self.ax_.grid(color="#ECECEC", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        if new_figure:
            # The placement of names needs the final size of the axes.
            self.figure_.draw_without_rendering()
        self.ax_.apply_aspect()
        if self.stress is None:
            self.stress_text_ = None
        else:
            self.stress_text_ = canvas.write_note(self.ax_, f"stress {self.stress:.3f}")
        self.labels_ = []
        if labels:
            if self.stress_text_ is None:
                avoid = []
            else:
                avoid = [self.stress_text_]
            style: dict[str, Any] = {"fontsize": "small", "color": INK, "zorder": 4}
            self.labels_ = canvas.place_labels(
                self.ax_, self.coordinates, self.names, avoid=avoid, **style
            )
        return self
