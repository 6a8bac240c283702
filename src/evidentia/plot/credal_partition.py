"""A credal partition over its attributes: what is certain, what is possible, what is neither."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from evidentia.partition.credal_partition import as_credal_partition
from evidentia.plot._canvas import axes_to_draw_on, quiet_frame
from evidentia.plot._colors import cluster_colors, mixed_colors
from evidentia.plot._hulls import hull_vertices, rounded_outline
from evidentia.plot._legend import MOST_LISTED, MOST_SECTORS, MOST_SPLIT, legend_handles
from evidentia.plot._markers import sector_angles, split_markers
from evidentia.plot._plane import to_plane

__all__ = ["CredalPartitionDisplay"]

_RASTER_FROM = 2_000  # objects, beyond which a vector file would be larger than an image
_PADDING = 0.012  # of the width of the picture, around hulls


class CredalPartitionDisplay:
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

    Attributes
    ----------
    points, assignment, cluster_names, centers, axis_names, is_strip
        As given.
    lower, upper : lists of c arrays
        Positions of the objects that certainly, and possibly, belong to each cluster.
    ambiguous, outliers : arrays
        Positions of the objects that may belong to several clusters, and to none.
    lower_hulls, upper_hulls : lists of c arrays
        Positions of the objects at the corners of the convex hulls, counterclockwise: ``points[lower_hulls[k]]`` is a
        polygon, or a segment, a point or nothing when there are too few objects.
    explained_variance_ratio : array of shape (2,) or None
        Share of the variance on each axis when they are principal components.
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
    >>> from evidentia.cluster import ECM
    >>> from evidentia.datasets import load_butterfly
    >>> from evidentia.plot import CredalPartitionDisplay
    >>> X = load_butterfly().data
    >>> display = CredalPartitionDisplay.from_estimator(ECM(2, delta=5, random_state=0).fit(X), X)
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
        self.points = np.asarray(points, dtype=float)
        self.assignment = np.asarray(assignment, dtype=bool)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise ValueError(f"points must have shape (n, 2), got {self.points.shape}")
        if self.assignment.ndim != 2 or len(self.assignment) != len(self.points):
            raise ValueError(f"assignment must have shape ({len(self.points)}, c), got {self.assignment.shape}")
        c = self.assignment.shape[1]
        self.cluster_names = [str(name) for name in (range(c) if cluster_names is None else cluster_names)]
        if len(self.cluster_names) != c:
            raise ValueError(f"cluster_names must hold {c} names, got {len(self.cluster_names)}")
        self.centers = None if centers is None else np.asarray(centers, dtype=float)
        if self.centers is not None and self.centers.shape != (c, 2):
            raise ValueError(f"centers must have shape ({c}, 2), got {self.centers.shape}")
        self.axis_names = (str(axis_names[0]), str(axis_names[1]))
        self.is_strip = is_strip
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
            table name the axes.
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
            given = np.asarray(cluster_centers, dtype=float)
            if given.shape != shape:
                raise ValueError(f"cluster_centers must have shape {shape}, got {given.shape}")
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
        return display.plot(ax, **options)

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
            raise TypeError(
                "estimator must be an evidential clusterer (with the attribute credal_partition_), "
                f"got {type(estimator).__name__}"
            )
        partition = estimator.credal_partition_
        if "cluster_centers" not in options:
            centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
            n_attributes = np.shape(X)[1] if np.ndim(X) == 2 else 1
            # prototypes may live elsewhere: among dissimilarities, images, or columns that are not shown
            if centers.shape == (partition.n_clusters, n_attributes):
                options["cluster_centers"] = centers
        return cls.from_partition(partition, X, ax=ax, **options)

    # ---- the data of the picture ----------------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        return int(self.assignment.shape[1])

    @cached_property
    def _cardinality(self) -> np.ndarray:
        return self.assignment.sum(axis=1)

    @cached_property
    def lower(self) -> list[np.ndarray]:
        """Objects that certainly belong to each cluster (positions)."""
        certain = self._cardinality == 1
        return [np.flatnonzero(column & certain) for column in self.assignment.T]

    @cached_property
    def upper(self) -> list[np.ndarray]:
        """Objects that possibly belong to each cluster (positions)."""
        return [np.flatnonzero(column) for column in self.assignment.T]

    @cached_property
    def ambiguous(self) -> np.ndarray:
        """Objects that may belong to several clusters (positions)."""
        return np.flatnonzero(self._cardinality > 1)

    @cached_property
    def outliers(self) -> np.ndarray:
        """Objects that belong to no cluster (positions)."""
        return np.flatnonzero(self._cardinality == 0)

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
    def _extent(self) -> np.ndarray:
        """Width and height of the cloud, never zero."""
        width = np.ptp(self.points, axis=0) if len(self.points) else np.ones(2)
        return np.where(width > 0, width, 1.0)

    @cached_property
    def _middles(self) -> np.ndarray:
        """(c, 2) where each cluster is: the mean of its certain objects, else of its possible ones; NaN if none."""
        groups = [low if len(low) else up for low, up in zip(self.lower, self.upper, strict=True)]
        nowhere = np.full(2, np.nan)
        return np.array([self.points[group].mean(axis=0) if len(group) else nowhere for group in groups])

    # ---- drawing --------------------------------------------------------------------------------------------------

    def plot(
        self,
        ax: Any = None,
        *,
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
        if legend not in (True, False, "auto", "inside", "outside"):
            raise ValueError(f"legend must be True, False, 'auto', 'inside' or 'outside', got {legend!r}")
        many = self.n_clusters > MOST_LISTED
        upper, labels = _chosen(upper, "upper", not many), _chosen(labels, "labels", many)
        self.colors_ = cluster_colors(self.n_clusters, colors)
        outside = legend == "outside" or (ax is None and legend is not False and legend != "inside")
        self.ax_ = axes_to_draw_on(ax, (8, 2.6) if self.is_strip else (8, 5.2))
        self.figure_ = self.ax_.figure
        size = float(np.clip(400 / np.sqrt(max(len(self.points), 1)), 1, 34)) if marker_size is None else marker_size
        self._draw_hulls(lower, upper)
        self._draw_objects(size)
        self._draw_centers(centers)
        if labels:
            self._write_names()
        quiet_frame(self.ax_)
        self._name_axes(title)
        self.legend_ = self._draw_legend(outside) if legend is not False else None
        return self

    @property
    def _is_crowded(self) -> bool:
        return len(self.points) > _RASTER_FROM

    def _draw_hulls(self, lower: bool, upper: bool) -> None:
        from matplotlib.patches import Polygon
        from matplotlib.patheffects import withStroke

        self.lower_patches_, self.upper_patches_ = [], []
        padding = _PADDING * self._extent
        for k, color in enumerate(self.colors_):
            if lower and len(self.lower_hulls[k]):
                outline = rounded_outline(self._hull_corners(self.lower_hulls[k], 0), padding)
                patch = Polygon(outline, facecolor=(*color, 0.18), edgecolor=(*color, 0.55), linewidth=0.8, zorder=1)
                self.lower_patches_.append(self.ax_.add_patch(patch))
            if upper and len(self.upper_hulls[k]):
                outline = rounded_outline(
                    self._hull_corners(self.upper_hulls[k], k + 1), (1.5 + 0.25 * (k % 4)) * padding
                )
                patch = Polygon(
                    outline, fill=False, edgecolor=color, linewidth=1.2, zorder=3.5 if self._is_crowded else 1.5
                )
                patch.set_linestyle((0, (4, 2.5)))
                if self._is_crowded:  # the line crosses points of its own colour
                    patch.set_path_effects([withStroke(linewidth=2.6, foreground="white")])
                self.upper_patches_.append(self.ax_.add_patch(patch))

    def _hull_corners(self, hull: np.ndarray, level: int) -> np.ndarray:
        corners = self.points[hull]
        if not self.is_strip:
            return corners
        height = 0.55 + 0.06 * level  # bands of different heights, or the edges would lie on each other
        return np.concatenate([corners * [1, 0] + [0, sign * height] for sign in (-1, 1)])

    def _draw_objects(self, size: float) -> None:
        raster = self._is_crowded
        style: dict[str, Any] = {"linewidths": 0.5, "edgecolors": "white"}
        if raster:  # overlapping points show how dense they are
            style = {"linewidths": 0, "alpha": float(np.clip(60 / np.sqrt(len(self.points)), 0.1, 0.8))}
        self.certain_artists_ = [
            self.ax_.scatter(*self.points[members].T, s=size, color=[color], zorder=2, rasterized=raster, **style)
            for members, color in zip(self.lower, self.colors_, strict=True)
            if len(members)
        ]
        self._draw_ambiguous(size, raster)
        self.outlier_artist_ = None
        if len(self.outliers):
            self.outlier_artist_ = self.ax_.scatter(
                *self.points[self.outliers].T,
                s=max(1.3 * size, 4),
                marker="x",
                color="black",
                linewidths=0.3 if raster else 1.2,
                zorder=1.2 if raster else 4,
                rasterized=raster,
            )

    def _draw_ambiguous(self, size: float, raster: bool) -> None:
        """A collection for each set of clusters, discs with sectors; past a few thousand objects mixed colours."""
        self.ambiguous_artists_ = []
        if not len(self.ambiguous):
            return
        packed, which = np.unique(np.packbits(self.assignment[self.ambiguous], axis=1), axis=0, return_inverse=True)
        sets = np.unpackbits(packed, axis=1, count=self.n_clusters).astype(bool)
        which = which.reshape(-1)
        points = self.points[self.ambiguous]
        mixed = mixed_colors(sets, self.colors_)
        mixed[sets.sum(axis=1) > MOST_SECTORS] = 0.5
        if len(self.ambiguous) > MOST_SPLIT:
            artist = self.ax_.scatter(
                *points.T, s=1.3 * size, c=mixed[which], linewidths=0, zorder=3, rasterized=raster
            )
            self.ambiguous_artists_.append(artist)
            return
        big = max(2.2 * size, 14)
        properties = {"linewidths": [0.7], "zorder": 3, "rasterized": raster, "offset_transform": self.ax_.transData}
        for j, clusters in enumerate(sets):
            members = np.flatnonzero(clusters)
            colors, start = mixed[j : j + 1], 0.0
            if len(members) <= MOST_SECTORS:
                order, start = sector_angles(self._middles[members] / self._extent)
                colors = self.colors_[members[order]]
            artist = split_markers(points[which == j], colors, start, big, **properties)
            self.ambiguous_artists_.append(self.ax_.add_collection(artist))

    def _draw_centers(self, wanted: bool) -> None:
        self.center_artist_ = None
        if wanted and self.centers is not None:
            self.center_artist_ = self.ax_.scatter(
                *self.centers.T, s=50, marker="D", c=self.colors_, edgecolors="white", linewidths=1.4, zorder=5
            )

    def _write_names(self) -> None:
        from matplotlib.patheffects import withStroke

        halo = [withStroke(linewidth=2.5, foreground="white")]
        raised = (0, 7 if self.center_artist_ is not None else 0)  # above the marker of the centre
        for k, (x, y) in enumerate(self._middles if self.centers is None else self.centers):
            if np.isfinite(x):
                self.ax_.annotate(
                    self.cluster_names[k],
                    (x, y),
                    xytext=raised,
                    textcoords="offset points",
                    ha="center",
                    va="bottom" if raised[1] else "center",
                    color=0.6 * self.colors_[k],
                    fontweight="bold",
                    fontsize="small",
                    path_effects=halo,
                    zorder=6,
                )

    def _name_axes(self, title: str | None) -> None:
        self.ax_.autoscale_view()
        self.ax_.set_xlabel(self.axis_names[0])
        self.ax_.set_ylabel(self.axis_names[1])
        if self.is_strip:
            self.ax_.set_yticks([])
            self.ax_.spines["left"].set_visible(False)
        if title is not None:
            self.ax_.set_title(title)

    # ---- legend ---------------------------------------------------------------------------------------------------

    def _draw_legend(self, outside: bool) -> Any:
        handles = legend_handles(self, explained=outside)
        font = "small" if outside else "x-small"
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        if not outside:
            # "best" looks at every point
            place = {"loc": "upper right" if self._is_crowded else "best", "framealpha": 0.7, "labelspacing": 0.3}
        return self.ax_.legend(handles=handles, fontsize=font, frameon=not outside, **place) if handles else None


def _chosen(value: Any, name: str, automatic: bool) -> bool:
    if isinstance(value, str) and value == "auto":
        return automatic
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True, False or 'auto', got {value!r}")
    return bool(value)
