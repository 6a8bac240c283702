"""A credal partition over its attributes: what is certain, what is possible, what is neither."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot._canvas import (
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    legend_of_names,
    shown_names,
    wanted,
)
from dempster.plot._partition_picture import (
    MAX_LISTED_CLUSTERS,
    RoughPicture,
    draw_ambiguous,
    draw_certain,
    draw_lower_hulls,
    draw_outliers,
    draw_upper_hulls,
    is_crowded,
    legend_handles,
    to_plane,
    write_names,
)

__all__ = ["CredalPartitionDisplay"]


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
