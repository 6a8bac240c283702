"""Displays of a credal partition over the attributes, and of several partitions as points."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.spatial import ConvexHull

from dempster._errors import InvalidParameterError
from dempster._text import format_cluster
from dempster._validation import as_numbers, check, choice, flag
from dempster.belief.focal_sets import unique_sets
from dempster.partition.compare import PartitionMap
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot._canvas import (
    Display,
    cluster_colors,
    draw_legend,
    draw_outside_legend,
    finish_axes,
    halo,
    mix_colors,
    place_labels,
    set_equal_units,
    validate_estimator,
    validate_names,
    write_note,
)
from dempster.plot.palette import GREY, INK, PALETTE
from dempster.plot.plane import project_to_plane

_ANGLES = 2 * np.pi * np.arange(32) / 32
_CIRCLE = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
# Distance of hulls from their objects, as a share of the width of the plot.
_PADDING = 0.012
# A smaller set of objects need not be reduced to the corners of its hull.
_MAX_ROUNDED_OBJECTS = 500
# With more objects a vector file would be larger than an image.
MIN_RASTER_OBJECTS = 2_000
# With more clusters, names are written in the plot instead of the legend.
MAX_LISTED_CLUSTERS = 10
MAX_SECTORS = 4  # More colors cannot be distinguished inside one marker.
MAX_SPLIT_MARKERS = 2_000  # With more ambiguous objects, sectors would be too small.


def rounded_hull(points: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the outline of the convex hull of points, enlarged by ``radius`` (one per axis)."""
    center = points.mean(axis=0)
    scaled = (points - center) / radius
    if len(scaled) > _MAX_ROUNDED_OBJECTS:
        # "QJ" moves points by rounding errors, which is necessary if they are collinear.
        scaled = scaled[ConvexHull(scaled, qhull_options="QJ").vertices]
    around = (scaled[:, None] + _CIRCLE).reshape(-1, 2)
    return center + radius * around[ConvexHull(around).vertices]


def sector_angles(centers: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the order of the sectors and the first angle; sectors point towards their clusters."""
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
    paths = [
        disc.transform_path(Path.wedge(middle - half, middle + half))
        for middle in middles
    ]
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


class CredalPartitionDisplay(Display):
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
    edges : integer array of shape (m, 2), optional
        Pairs of objects to connect by lines, the edges of a graph.

    Attributes
    ----------
    lower, upper : lists of c arrays
        Indices of the objects that certainly (lower) and possibly (upper) belong to each cluster.
    ambiguous, outliers : arrays
        Indices of the objects that may belong to several clusters, and of the objects that belong
        to no cluster.
    ax_, figure_ : Matplotlib axes and figure
    colors_ : array of shape (c, 3)
        RGB colors of the clusters.
    lower_patches_, upper_patches_ : lists of patches
        Hulls of the lower and upper approximations.
    certain_artists_, ambiguous_artists_ : lists of collections
        Markers of the certain and the ambiguous objects.
    outlier_artist_, center_artist_, edge_artist_, legend_ : artists or None
        Markers of the outliers, markers of the centers, lines of the edges, and the legend.

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
        edges: Any = None,
    ):
        self.points = np.asarray(points, float)
        self.assignment = np.asarray(assignment, bool)
        self.cluster_names = validate_names(
            cluster_names, "cluster_names", self.n_clusters
        )
        self.centers = None if centers is None else np.asarray(centers, float)
        self.axis_names = tuple(validate_names(axis_names, "axis_names", 2))
        self.is_strip = is_strip
        self.edges = edges

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
            Missing values (NaN) are imputed from similar objects. A graph of networkx or igraph, or
            a sparse adjacency matrix, is drawn as a network.
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
            centers = as_numbers(cluster_centers, "cluster_centers")
            if centers.shape != shape:
                raise InvalidParameterError(
                    "cluster_centers",
                    must=f"have shape {shape}, got shape {centers.shape}",
                )
            cluster_centers = plane.project(centers)
        display = cls(
            points=plane.points,
            assignment=assignment,
            cluster_names=partition.frame if cluster_names is None else cluster_names,
            centers=cluster_centers,
            axis_names=plane.axis_names,
            is_strip=plane.n_attributes == 1,
            edges=plane.edges,
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
        validate_estimator(estimator, "credal_partition_")
        partition = estimator.credal_partition_
        if "cluster_centers" not in options:
            centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
            n_attributes = 1
            if np.ndim(X) == 2:
                n_attributes = np.shape(X)[1]
            # Some methods have prototypes that are not points in the space of X, and medoids may
            # have missing values.
            if (
                centers.shape == (partition.n_clusters, n_attributes)
                and np.isfinite(centers).all()
            ):
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
    def _extent(self) -> np.ndarray:
        """Width and height of the point cloud; zero is replaced by 1."""
        width = np.ptp(self.points, axis=0)
        return np.where(width > 0, width, 1.0)

    @cached_property
    def _means(self) -> np.ndarray:
        """Mean of the certain (or, if none is certain, the possible) objects of each cluster."""
        means = np.full((self.n_clusters, 2), np.nan)
        for k, (lower, upper) in enumerate(zip(self.lower, self.upper, strict=True)):
            if len(upper):
                members = upper if len(lower) == 0 else lower
                means[k] = self.points[members].mean(axis=0)
        return means

    @property
    def _is_crowded(self) -> bool:
        return len(self.points) > MIN_RASTER_OBJECTS

    # ---- drawing ---------------------------------------------------------------------------------

    def plot(
        self,
        *,
        ax: Any = None,
        lower: bool = True,
        upper: bool | str = "auto",
        legend: bool | str = True,
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
            cluster extends all upper hulls, and none in a network.
        legend : bool or "outside"
            Whether to draw a legend. True draws it outside the axes of a new figure, and inside
            given axes.
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
        is_many = self.n_clusters > MAX_LISTED_CLUSTERS
        check(legend, "legend", flag | choice("outside"))
        is_outside = ax is None or legend == "outside"
        self.colors_ = cluster_colors(self.n_clusters, colors)
        ax = self._open_axes(ax, (8, 2.6) if self.is_strip else (8, 5.2))
        size = marker_size or float(
            np.clip(400 / np.sqrt(max(len(self.points), 1)), 1, 34)
        )
        self.edge_artist_ = self._draw_edges()
        self.lower_patches_ = self.upper_patches_ = []
        if lower:
            self.lower_patches_ = [
                self._draw_hull(
                    members,
                    0.55,
                    1,
                    facecolor=(*color, 0.18),
                    edgecolor=(*color, 0.55),
                    linewidth=0.8,
                    zorder=1,
                )
                for members, color in zip(self.lower, self.colors_, strict=True)
                if len(members)
            ]
        if upper == "auto":
            upper = not is_many and self.edges is None
        if upper:
            self.upper_patches_ = self._draw_upper_hulls()
        self.certain_artists_ = self._draw_certain(size)
        self.ambiguous_artists_ = self._draw_ambiguous(size)
        self.outlier_artist_ = self.center_artist_ = self.legend_ = None
        if len(self.outliers):
            style: dict[str, Any] = {"linewidths": 1.2, "zorder": 4}
            if self._is_crowded:
                style = {"linewidths": 0.3, "zorder": 1.2, "rasterized": True}
            points = self.points[self.outliers]
            self.outlier_artist_ = ax.scatter(
                *points.T, s=max(1.3 * size, 4), marker="x", color="black", **style
            )
        if self.centers is not None:
            self.center_artist_ = ax.scatter(
                *self.centers.T,
                s=50,
                c=self.colors_,
                marker="D",
                edgecolors="white",
                linewidths=1.4,
                zorder=5,
            )
        if is_many:
            self._write_names()
        finish_axes(ax, *self.axis_names, title=title)
        ax.autoscale_view()
        if self.is_strip:
            ax.set_yticks([])
            ax.spines["left"].set_visible(False)
        if self.edges is not None:  # The coordinates of a network have no meaning.
            set_equal_units(ax, "datalim")
            ax.set_axis_off()
        if legend:
            self.legend_ = self._draw_legend(is_outside)
        return self

    def _draw_legend(self, is_outside: bool) -> Any:
        handles = self._legend_handles(explained=is_outside)
        if not handles:
            return None
        if is_outside:
            return draw_outside_legend(self.ax_, handles)
        return draw_legend(
            self.ax_,
            handles,
            # Matplotlib computes the location "best" from all points, which is slow for many.
            loc="upper right" if self._is_crowded else "best",
            fontsize="x-small",
            frameon=True,
            framealpha=0.7,
            labelspacing=0.3,
        )

    def _draw_edges(self) -> Any:
        if self.edges is None:
            return None
        from matplotlib.collections import LineCollection

        opacity = float(np.clip(500 / len(self.edges), 0.03, 1))
        lines = LineCollection(
            self.points[self.edges],
            colors=[GREY],
            linewidths=0.8,
            alpha=opacity,
            zorder=1.8,
            rasterized=self._is_crowded,
        )
        return self.ax_.add_collection(lines)

    def _draw_upper_hulls(self) -> list[Any]:
        """Draw dashed hulls of the upper approximations."""
        style: dict[str, Any] = {"zorder": 1.5}
        if self._is_crowded:
            # A white rim separates the line from points of the same color.
            style = {"zorder": 3.5, "path_effects": halo(2.6)}
        return [
            self._draw_hull(
                members,
                0.61 + 0.06 * k,
                1.5 + 0.25 * (k % 4),
                fill=False,
                edgecolor=self.colors_[k],
                linewidth=1.2,
                linestyle=(0, (4, 2.5)),
                **style,
            )
            for k, members in enumerate(self.upper)
            if len(members)
        ]

    def _draw_hull(
        self, members: np.ndarray, height: float, distance: float, **style: Any
    ) -> Any:
        """Draw the rounded hull of some objects; ``height`` is half its height in a strip."""
        from matplotlib.patches import Polygon

        points = self.points[members]
        if self.is_strip:
            ends = [points[:, 0].min(), points[:, 0].max()]
            points = np.array([(x, y) for x in ends for y in (-height, height)])
        outline = rounded_hull(points, distance * _PADDING * self._extent)
        return self.ax_.add_patch(Polygon(outline, **style))

    def _draw_certain(self, size: float) -> list[Any]:
        style: dict[str, Any] = {"linewidths": 0.5, "edgecolors": "white"}
        if self._is_crowded:  # Transparent points show the density.
            alpha = float(np.clip(60 / np.sqrt(len(self.points)), 0.1, 0.8))
            style = {"linewidths": 0, "alpha": alpha, "rasterized": True}
        return [
            self.ax_.scatter(
                *self.points[members].T, s=size, color=[color], zorder=2, **style
            )
            for members, color in zip(self.lower, self.colors_, strict=True)
            if len(members)
        ]

    def _draw_ambiguous(self, size: float) -> list[Any]:
        """Draw split markers or, if there are many ambiguous objects, markers in mixed colors."""
        if len(self.ambiguous) == 0:
            return []
        sets, which = unique_sets(self.assignment[self.ambiguous])
        points = self.points[self.ambiguous]
        mixed = mix_colors(sets, self.colors_)
        mixed[sets.sum(axis=1) > MAX_SECTORS] = 0.5
        style: dict[str, Any] = {"zorder": 3, "rasterized": self._is_crowded}
        if len(points) > MAX_SPLIT_MARKERS:
            return [
                self.ax_.scatter(
                    *points.T, s=1.3 * size, c=mixed[which], linewidths=0, **style
                )
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
            markers = split_markers(
                points[which == j], colors, start, max(2.2 * size, 14), **style
            )
            artists.append(self.ax_.add_collection(markers))
        return artists

    def _write_names(self) -> None:
        """Write the names of the clusters at their positions, or above the markers of centers."""
        place: dict[str, Any] = {"xytext": (0, 0), "va": "center"}
        if self.center_artist_ is not None:
            place = {"xytext": (0, 7), "va": "bottom"}
        positions = self._means if self.centers is None else self.centers
        for name, position, color in zip(
            self.cluster_names, positions, self.colors_, strict=True
        ):
            if np.isfinite(position[0]):
                self.ax_.annotate(
                    name,
                    position,
                    **place,
                    textcoords="offset points",
                    ha="center",
                    color=0.6 * color,
                    fontweight="bold",
                    fontsize="small",
                    path_effects=halo(2.5),
                    zorder=6,
                    parse_math=False,
                )

    def _legend_handles(self, explained: bool) -> list[Any]:
        """Return the legend handles; if ``explained`` is True, the labels include definitions."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        def add(label: str, definition: str = "", count: int = 0, **style: Any) -> None:
            label += definition * explained + f" ({count:,})" * (count > 0)
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
            dashes = (0, (3, 2))
            handles.append(
                Patch(fill=False, edgecolor="#666666", linestyle=dashes, label=label)
            )
        cardinality = self.cardinality[self.ambiguous]
        n_few = int((cardinality <= MAX_SECTORS).sum())
        n_many = int((cardinality > MAX_SECTORS).sum())
        rim = {
            "marker": "o",
            "markersize": 8,
            "markeredgecolor": INK,
            "markeredgewidth": 0.7,
        }
        if n_few:
            example = self.ambiguous[cardinality.argmin()]
            first, second = self.colors_[np.flatnonzero(self.assignment[example])[:2]]
            fill = {
                "markerfacecolor": first,
                "markerfacecoloralt": second,
                "fillstyle": "left",
            }
            if len(self.ambiguous) > MAX_SPLIT_MARKERS:
                fill = {"markerfacecolor": (first + second) / 2}
            add("ambiguous", ", in one of several", n_few, **rim, **fill)
        if n_many:
            add("ambiguous", ", in one of many", n_many, **rim, markerfacecolor="0.5")
        if len(self.outliers):
            style = {"marker": "x", "color": "black", "markersize": 6}
            add("outliers", ", in no cluster", len(self.outliers), **style)
        if self.center_artist_ is not None:
            add(
                "centers", marker="D", markersize=7, color=GREY, markeredgecolor="white"
            )
        return handles


class PartitionMapDisplay(Display):
    """Display of partitions as points whose distances approximate their dissimilarity.

    The dissimilarity of two partitions is one minus their credal Rand index.

    Parameters
    ----------
    coordinates : array of shape (N, 2)
        Positions of the N partitions.
    names : sequence of N str
        Names of the partitions.
    stress : float, optional
        Kruskal's stress-1 of the map. Below 0.05 the distances are accurate; above 0.2 they are
        not.

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
    >>> from dempster.partition import embed_partitions
    >>> from dempster.plot import PartitionMapDisplay
    >>> partitions = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]
    >>> embedding = embed_partitions(partitions, ["halves", "same", "crossed"])
    >>> display = PartitionMapDisplay.from_map(embedding)
    >>> display.names, display.coordinates.shape
    (['halves', 'same', 'crossed'], (3, 2))
    """

    def __init__(
        self,
        *,
        coordinates: Any,
        names: Sequence[str],
        stress: float | None = None,
    ):
        self.coordinates = np.asarray(coordinates, float)
        self.names = validate_names(names, "names", len(self.coordinates))
        self.stress = stress

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
        display = cls(
            coordinates=partition_map.coordinates,
            names=partition_map.names,
            stress=partition_map.stress,
        )
        return display.plot(**options)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        new_figure = ax is None
        ax = self._open_axes(ax, (6, 5))
        self.points_ = ax.scatter(
            *self.coordinates.T,
            s=55,
            c=PALETTE[:1],
            edgecolors="white",
            linewidths=0.8,
            zorder=3,
        )
        ax.margins(0.2)  # The margins leave space for the names.
        set_equal_units(ax, "datalim")
        finish_axes(ax, "distance = 1 − credal Rand index", title=title)
        ax.grid(color="#ECECEC", linewidth=0.7)
        ax.set_axisbelow(True)
        if new_figure:
            # The placement of names needs the final size of the axes.
            self.figure_.draw_without_rendering()
        ax.apply_aspect()
        self.stress_text_ = None
        avoid = []
        if self.stress is not None:
            self.stress_text_ = write_note(ax, f"stress {self.stress:.3f}")
            avoid.append(self.stress_text_)
        self.labels_ = place_labels(
            ax,
            self.coordinates,
            self.names,
            avoid=avoid,
            fontsize="small",
            color=INK,
            zorder=4,
        )
        return self
