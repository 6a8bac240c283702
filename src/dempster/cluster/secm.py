"""Spatial evidential c-means for images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import row_mean, to_host
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, MaybeUnset, Seed
from dempster._validation import (
    as_numbers,
    as_reals,
    check_scale,
    check_size,
    validating,
)
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import COMMON_RULES, FitRequest, Support
from dempster.cluster._search import Sample
from dempster.cluster._starts import outlier_cost
from dempster.cluster.ecm import (
    PrototypeClusterer,
    PrototypeMethod,
    PrototypeModel,
    Statistics,
    append_zeros,
)
from dempster.data import sampling
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply
from dempster.partition import CredalPartition

# maximum number, summed over all pixels (about ten seconds of smoothing)
_MAX_NEIGHBORS = 10_000_000_000


def as_pixels(
    image: ArrayLike, channel_axis: int | None
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the pixels, shape (n, channels), in C order, and the shape of the grid."""
    array = as_reals(image, "X")
    axes = max(array.ndim, 3)  # A 2-D image has no axis for the channels.
    if channel_axis is not None and not -axes <= channel_axis < axes:
        expected = f"one of the {array.ndim} axes of X"
        raise InvalidParameterError("channel_axis", expected, channel_axis)
    if channel_axis is None or array.ndim <= 2:
        array = array[..., None]
    else:
        array = np.moveaxis(array, channel_axis, -1)
    if array.ndim not in (3, 4):
        shapes = "an image of shape (h, w) or (h, w, channels) or a volume of shape "
        found = f"shape {np.shape(image)} with channel_axis={channel_axis}"
        must = f"be {shapes}(h, w, d, channels), got {found}"
        raise InvalidParameterError("X", must=must)
    if array.size == 0:
        must = f"have at least one pixel and one channel, got shape {np.shape(image)}"
        raise InvalidParameterError("X", must=must)
    pixels = np.ascontiguousarray(array).reshape(-1, array.shape[-1])
    if not np.isfinite(pixels).all():
        must = "contain finite numbers only, but it contains NaN or infinity"
        raise InvalidParameterError("X", must=must)
    check_size(pixels, "X")
    return pixels, array.shape[:-1]


def neighborhood(
    shape: Sequence[int], radius: int, weighting: str, spacing: Sequence[float] | None
) -> np.ndarray:
    """Return the weights of the neighbors, at most 2 radius + 1 per axis; zero at the center."""
    n_axes = len(shape)
    radius = min(int(radius), max(max(shape) - 1, 1))
    if (2 * radius + 1) ** n_axes * int(np.prod(shape)) > _MAX_NEIGHBORS:
        raise InvalidParameterError("radius", "smaller for so many pixels", radius)
    step = np.ones(n_axes)
    if spacing is not None:
        step = as_numbers(spacing, "spacing")
    if step.shape != (n_axes,) or not (step > 0).all():
        expected = f"{n_axes} positive numbers, one per axis of the image"
        raise InvalidParameterError("spacing", expected, spacing)
    weights = np.ones((2 * radius + 1,) * n_axes)
    if weighting == "distance":
        reach = range(-radius, radius + 1)
        places = step * np.array(list(product(reach, repeat=n_axes)))
        distance = np.hypot.reduce(places, axis=1).reshape(weights.shape)
        # Distances relative to the nearest neighbor avoid underflow. The common factor exp(1) of
        # all weights has no effect.
        weights = np.exp(1 - distance / step.min())
    weights[(radius,) * n_axes] = 0
    return weights


def smooth(
    pixels: np.ndarray,
    shape: tuple[int, ...],
    weights: np.ndarray,
    smoothing: float,
    *,
    covariances: bool = False,
) -> np.ndarray:
    """Return the mean and the spread of each pixel and its neighbors, shape (n, channels + 1).

    The last column contains the spread. A pixel has the weight 1 - smoothing, and its neighbors
    share the weight smoothing. A pixel without neighbors has the weight 1. The mean squared
    distance from a pixel and its neighbors to any point v is the squared distance from their mean
    to v, plus the squared spread. If ``covariances`` is True, the columns after the means contain
    the lower triangle of the covariance matrix instead of the spread.
    """
    from scipy.ndimage import convolve

    # Centering avoids the rounding errors of large squares.
    middle = row_mean(pixels).astype(pixels.dtype)
    grid = (pixels - middle).reshape(*shape, -1)
    dtype = pixels.dtype
    weights = weights.astype(dtype)
    present = convolve(np.ones(shape, dtype), weights, mode="constant")
    has_neighbors = present > 0
    share = np.where(has_neighbors, smoothing / np.where(has_neighbors, present, 1), 0)
    share = share.astype(dtype)
    own = np.where(has_neighbors, 1 - smoothing, 1).astype(dtype)

    def average(values: np.ndarray) -> np.ndarray:
        return own * values + share * convolve(values, weights, mode="constant")

    n_channels = pixels.shape[1]
    if covariances:
        channels = [np.ascontiguousarray(grid[..., d]) for d in range(n_channels)]
        means = [average(channel) for channel in channels]
        columns = [mean + center for mean, center in zip(means, middle, strict=True)]
        for row, column in zip(*np.tril_indices(n_channels), strict=True):
            covariance = (
                average(channels[row] * channels[column]) - means[row] * means[column]
            )
            columns.append(np.maximum(covariance, 0) if row == column else covariance)
        return np.stack([values.ravel() for values in columns], axis=1)
    out = np.empty((len(pixels), n_channels + 1), dtype)
    square = average(np.einsum("...d,...d->...", grid, grid))
    for d in range(n_channels):
        mean = average(np.ascontiguousarray(grid[..., d]))
        square -= mean * mean
        out[:, d] = mean.ravel() + middle[d]
    out[:, -1] = np.sqrt(np.maximum(square, 0)).ravel()
    return out


# ---- models and algorithms -----------------------------------------------------------------------


@dataclass(frozen=True)
class SpatialModel(PrototypeModel):
    """Prototypes of spatial evidential c-means.

    The mean squared distance from a pixel and its neighbors to a prototype v is the squared
    distance from their mean to v plus their spread, which is their mean squared distance from their
    mean. The model and the kernels of evidential c-means can compute this cost, because the last
    coordinate of a pixel is the square root of the spread, and that of a prototype is zero.
    """

    n_added = 1

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        # The coordinates are independent, so setting the additional coordinate to zero does not
        # change the others.
        return append_zeros(super()._best_centers(statistics)[:, :-1], 1)


class SpatialMethod(PrototypeMethod):
    """Spatial evidential c-means."""

    model_type = SpatialModel

    def _draw_centers(
        self, family: FocalSets, rng: np.random.RandomState
    ) -> np.ndarray:
        return append_zeros(super()._draw_centers(family, rng)[:, :-1], 1)

    def _outlier_cost(self) -> float:
        X = self.sample
        return outlier_cost(
            X[:, :-1],
            self.sample_weights,
            self.n_clusters,
            self.rng,
            np.square(X[:, -1], dtype=float),
        )


@dataclass(frozen=True)
class AdaptiveSpatialModel(PrototypeModel):
    """Prototypes of spatial evidential c-means with adaptive metrics.

    With the metric S, the mean squared distance from a pixel and its neighbors to a prototype v is
    the squared distance from their mean to v plus tr(S C), where C is their covariance matrix. The
    additional columns of a pixel are the entries of the lower triangle of C. Prototypes have no
    additional columns.
    """

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        p = self.centers.shape[1]
        metrics = self.metrics
        if metrics is None:
            metrics = np.broadcast_to(np.eye(p), (len(self.centers), p, p))
        row, column = np.tril_indices(p)
        factors = np.einsum("jk,kde->dej", self.step.averages, metrics)[row, column]
        # An entry beside the diagonal represents two entries.
        factors *= np.where(row == column, 1, 2)[:, None]
        squares = super().squared_distances(np.ascontiguousarray(X[:, :p]))
        return squares + X[:, p:].astype(float) @ factors

    def masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        squares = self.squared_distances(X).astype(float)
        return self.step.masses(squares, np.empty(0), apply)[1].astype(X.dtype)

    def statistics(
        self, X: np.ndarray, weights: np.ndarray | None, apply: Apply
    ) -> Statistics:
        assert weights is not None
        p = self.centers.shape[1]
        squares = self.squared_distances(X).astype(float)
        objective, masses, _ = self.step.nonempty_masses(squares, weights, apply)
        powers = masses**self.step.beta
        if len(weights):
            powers *= weights[:, None]
        means = X[:, :p].astype(float)
        row, column = np.tril_indices(p)
        second = np.zeros((p, p, powers.shape[1]))
        second[row, column] = (means[:, row] * means[:, column] + X[:, p:]).T @ powers
        return Statistics(objective, powers.sum(axis=0), means.T @ powers, second)


class AdaptiveSpatialMethod(PrototypeMethod):
    """Spatial evidential c-means with adaptive metrics."""

    model_type = AdaptiveSpatialModel

    def _find_points(self) -> np.ndarray:
        return self.sample[:, : self.estimator.n_features_in_]

    def _outlier_cost(self) -> float:
        n_channels = self.points.shape[1]
        row, column = np.tril_indices(n_channels)
        traces = self.sample[:, n_channels:][:, row == column].sum(axis=1)
        return outlier_cost(
            self.points, self.sample_weights, self.n_clusters, self.rng, traces
        )


# ---- the estimator -------------------------------------------------------------------------------


class SECM(PrototypeClusterer):
    r"""Spatial evidential c-means: `ECM` for images, with smoothing over neighboring pixels.

    The cost of a set A for pixel i is the mean squared distance from the pixel *and its neighbors*
    t to the prototype v_A of the set,

    .. math::

        D_i(A) = \sum_t P_{it} \|x_t - v_A\|^2,

    where P_ii = 1 - ``smoothing``, and the neighbors of pixel i share the weight ``smoothing``. The
    objective is that of `ECM`, with these costs instead of the squared distances, and it never
    increases. A noisy pixel is assigned to the cluster of its neighbors. On the border of two
    regions, the costs of both regions are similar, and the pair of regions gets the mass. The cost
    of an iteration is linear in the number of pixels and does not depend on the size of the
    neighborhood.

    Gray levels are one-dimensional, so the prototype of a dark and a bright region may coincide
    with the prototype of a gray region. Use ``focal_sets="simple"`` for images with one channel and
    more than two regions.

    The algorithm is inspired by Lelandais et al. (2014), but it is not their algorithm.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive" learns a metric matrix of determinant one for each cluster, as in `ECM`. It is
        useful for correlated channels and for channels with different noise. It needs p (p + 3) / 2
        numbers per pixel for p channels.
    smoothing : float in [0, 1), default=0.5
        Weight of the neighbors in the cost of a pixel; with 0, the method is equal to `ECM`.
    radius : int, default=1
        Largest distance to a neighbor along each axis, in pixels; with 1, a pixel has 8 neighbors.
        In a volume, a voxel has 26.
    weighting : {"uniform", "distance"}, default="uniform"
        Weights of the neighbors: all equal, or exponentially decaying with the distance.
    spacing : sequence of floats or None
        Distance between adjacent pixels along each axis, for ``weighting="distance"``. None means 1
        for all axes.
    channel_axis : int or None, default=-1
        Axis of the channels; None: the image has one channel and no axis for it.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five channels,
        smaller for more.
    delta : float > 0 or "auto", default="auto"
        Distance from pixels to the empty set, in units of the image; smaller values give more
        outliers. "auto" is the upper fence of a box plot (third quartile plus two interquartile
        ranges) of distances to the nearest prototype.
    init : {"k-means++", "random"}, array-like or CredalPartition, default="k-means++"
        Initial prototypes. An array has the shape (n_clusters, n_channels). A deterministic start
        is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With
        ``focal_sets="auto"``, results whose objectives are nearly equal (up to 10 %) are compared
        by their classification likelihood, which is smaller if a large cluster is divided. With
        more than 20,000 pixels the starts are compared on a sample of that size, and the best one
        is continued with all pixels. More than 25 clusters have one start, as in `ECM`.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Partition of the pixels, in the order of ``image.reshape(-1, n_channels)``.
    labels_ : ndarray of the shape of the image, without channels
        Cluster with the largest plausibility of each pixel.
    image_shape_ : tuple
        Shape of the image, without channels.
    cluster_centers_ : ndarray of shape (n_clusters, n_channels)
        Prototypes of the clusters.
    metric_matrices_ : ndarray of shape (n_clusters, n_channels, n_channels)
        Metric matrices of the clusters; only with the adaptive metric.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        Values of ``beta`` and ``delta`` that were used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
        Number of channels.

    References
    ----------
    B. Lelandais, S. Ruan, T. Denoeux, P. Vera and I. Gardin (2014). Fusion of multi-tracer PET
    images for dose painting. Medical Image Analysis 18.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import SECM
    >>> image = np.zeros((20, 30))
    >>> image[:, 15:] = 1
    >>> noisy = image + np.random.default_rng(0).normal(scale=0.3, size=image.shape)
    >>> labels = SECM(2, random_state=0).fit(noisy).labels_
    >>> labels.shape, bool(((labels == labels[0, 0]) == (image == 0)).mean() > 0.97)
    ((20, 30), True)
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.choice("euclidean", "adaptive"),
        "smoothing": rule.real(0, 1, open_high=True),
        "radius": rule.positive_integer,
        "weighting": rule.choice("uniform", "distance"),
        "spacing": rule.none | rule.array,
        "channel_axis": rule.none | rule.Rule("an integer", rule.is_integer),
        "init": rule.choice("k-means++", "random")
        | rule.kind(CredalPartition)
        | rule.array,
    }
    _support = Support(images=True)
    _model: SpatialModel | AdaptiveSpatialModel
    _smoothing: tuple[Any, ...]
    cluster_centers_: Annotated[np.ndarray, "n_clusters n_channels"]
    metric_matrices_: MaybeUnset[
        Annotated[np.ndarray, "n_clusters n_channels n_channels"]
    ]
    labels_: Annotated[Any, "* *"]

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        smoothing: float = 0.5,
        radius: int = 1,
        weighting: str = "uniform",
        spacing: Sequence[float] | None = None,
        channel_axis: int | None = -1,
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        init: str | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.smoothing = smoothing
        self.radius = radius
        self.weighting = weighting
        self.spacing = spacing
        self.channel_axis = channel_axis
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.init = init

    def fit(
        self, X: ArrayLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Segment an image.

        Parameters
        ----------
        X : array-like of shape (h, w), (h, w, channels) or (h, w, d, channels)
            An image or a volume of numbers. Data of type float32 keep their precision, and all
            other types are converted to float64. A volume with one channel has shape (h, w, d, 1),
            or (h, w, d) if ``channel_axis=None``.
        y : ignored
        sample_weight : array-like of shape (h, w), (h, w, d) or (n_pixels,), optional
            Weight of each pixel in the objective. The means over neighboring pixels do not depend
            on the weights.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the cluster with the largest plausibility of each pixel, as an image.

        Parameters
        ----------
        X : array-like
            An image of any size, with the same number of axes and channels as the training image.

        Returns
        -------
        array of the shape of the image without channels
        """
        _, shape = as_pixels(X, self.channel_axis)
        return super().predict(X).reshape(shape)

    def _read(self, X: ArrayLike, *, reset: bool) -> np.ndarray:
        """Return the mean and the spread (or covariances) of each neighborhood (see `smooth`)."""
        pixels, shape = as_pixels(X, self.channel_axis)
        if reset:
            neighbors = int(self.radius), self.weighting, self.spacing
            is_adaptive = self.metric == "adaptive"
            self._smoothing = (neighbors, float(self.smoothing), is_adaptive)
            self.n_features_in_ = pixels.shape[1]
            self.image_shape_ = shape
            # The pixels are checked before smoothing, which can make equal pixels different and
            # similar pixels equal.
            check_scale(pixels, "X")
            some = pixels[:: max(1, len(pixels) // sampling.SAMPLE_SIZE)]
            _starts.check_different_objects(
                pixels, some, self._requested_clusters() or 1
            )
        expected = f"{len(self.image_shape_)} axes and {self.n_features_in_} channels"
        found = f"{len(shape)} axes and {pixels.shape[1]} channels"
        if found != expected:
            must = f"have {expected}, as in fit, got {found}"
            raise InvalidParameterError("X", must=must)
        # The parameters may have changed since the last fit.
        neighbors, smoothing, is_adaptive = self._smoothing
        weights = neighborhood(shape, *neighbors)
        return smooth(pixels, shape, weights, smoothing, covariances=is_adaptive)

    def _extract_attributes(self, X: ArrayLike) -> np.ndarray:
        """Return the weighted mean of each pixel and its neighbors."""
        return self._read(X, reset=False)[:, : self.n_features_in_]

    def _read_objects(
        self, attributes: ArrayLike, like: np.ndarray | None
    ) -> np.ndarray:
        """Validate attributes of pixels, and append the spread of ``like`` (zero if None)."""
        values = self._validate_attributes(attributes, reset=False)
        n_added = 1
        if self._model.metrics is not None:
            n_added = self.n_features_in_ * (self.n_features_in_ + 1) // 2
        values = append_zeros(values, n_added)
        if like is not None:
            values[:, self.n_features_in_ :] = like[0, self.n_features_in_ :]
        return values

    def _validate_weights(
        self, sample_weight: ArrayLike, n_objects: int
    ) -> np.ndarray | None:
        with validating(sample_weight, "sample_weight"):
            if np.shape(sample_weight) == self.image_shape_:
                sample_weight = np.ravel(to_host(sample_weight))
        return super()._validate_weights(sample_weight, n_objects)

    def _row_names(self, X: ArrayLike) -> None:
        """Return None, because pixels have no names, even if the image is a DataFrame."""

    def _comparison_source(self, values: np.ndarray) -> AttributeSource:
        return AttributeSource(values[:, : self.n_features_in_])

    def _make_method(
        self, sample: Sample[np.ndarray], request: FitRequest
    ) -> PrototypeMethod:
        if self.metric == "adaptive":
            return AdaptiveSpatialMethod(self, sample, request)
        return SpatialMethod(self, sample, request)

    def _fitted_attributes(
        self, method: PrototypeMethod, model: PrototypeModel
    ) -> dict[str, Any]:
        labels = self.labels_.reshape(self.image_shape_)
        return {**super()._fitted_attributes(method, model), "labels_": labels}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags
