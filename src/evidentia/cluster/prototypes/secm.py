"""Spatial evidential c-means for images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.prototypes._image import as_pixels, neighborhood, smoothed
from evidentia.cluster.prototypes._method import PrototypeSolver, checked_centers
from evidentia.cluster.prototypes._model import Model, Statistics
from evidentia.optimize.blocks import block_map
from evidentia.partition import CredalPartition

__all__ = ["SECM"]


class SECM(EvidentialClusterer):
    """Spatial evidential c-means: `ECM` for the pixels of an image, with a word from their neighbours.

    The cost of a set A for pixel i is the mean squared distance of the pixel *and its neighbours* to the prototype of
    the set,

        D_i(A) = sum_t P_it |x_t - v_A|^2,

    where P_ii = 1 - ``smoothing`` and the neighbours of i share the rest. With these costs in place of the squared
    distances the objective is that of `ECM`, and it never rises. A pixel that noise has changed is kept with its
    neighbours; on the border of two regions the costs of both are alike, and the mass goes to the pair. Cost per
    iteration: linear in the number of pixels, whatever the size of the neighbourhood.

    Grey levels lie on a line, where the prototype of two outer regions together is that of a region between them: for
    images of one channel and more than two regions prefer ``focal_sets="simple"``.

    This is the library's own variant of the idea of Lelandais et al. (2014), not their algorithm.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    smoothing : float in [0, 1), default=0.5
        Share of the neighbours in the cost of a pixel. With 0 the method is `ECM`.
    radius : int, default=1
        Neighbours are the pixels up to so many steps away along every axis: 8 in an image, 26 in a volume for 1.
    weighting : {"uniform", "distance"}, default="uniform"
        "distance": the weight of a neighbour decays exponentially with its distance.
    spacing : sequence of floats or None
        Distance of neighbouring pixels along each axis, for ``weighting="distance"`` (voxels need not be cubes).
    channel_axis : int or None, default=-1
        Axis of the channels. None: all axes are axes of the image, which has one channel.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the image: smaller values give more outliers. "auto": squared, ten times
        the mean cost of a pixel for the nearest centre of a short k-means.
    init : {"k-means++", "random"}, array of shape (n_clusters, n_channels) or CredalPartition, default="k-means++"
        A given start is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 pixels the starts compete on a sample of that size and
        the winner goes on with all pixels.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbors : int, default=1
        For ``focal_sets="selected"``: pairs among the ``n_neighbors`` nearest clusters of each other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None
        Threads; None and -1 use all processors.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Of the pixels, in the order of ``image.reshape(-1, n_channels)``.
    labels_ : ndarray of the shape of the image, without channels
        Cluster of largest plausibility of each pixel.
    image_shape_ : tuple
        Shape of the image, without channels.
    cluster_centers_ : ndarray of shape (n_clusters, n_channels)
    focal_sets_ : FocalSets
    delta_ : float
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int
        Number of channels.

    References
    ----------
    B. Lelandais, S. Ruan, T. Denoeux, P. Vera and I. Gardin (2014). Fusion of multi-tracer PET images for dose
    painting. Medical Image Analysis 18.

    Examples
    --------
    >>> import numpy as np
    >>> from evidentia.cluster import SECM
    >>> image = np.zeros((20, 30))
    >>> image[:, 15:] = 1
    >>> noisy = image + np.random.default_rng(0).normal(scale=0.3, size=image.shape)
    >>> labels = SECM(2, random_state=0).fit(noisy).labels_
    >>> labels.shape, bool(((labels == labels[0, 0]) == (image == 0)).mean() > 0.97)
    ((20, 30), True)
    """

    _rules = {
        **COMMON_RULES,
        "smoothing": rule.real(0, 1, open_high=True),
        "radius": rule.integer(1),
        "weighting": rule.choice("uniform", "distance"),
        "spacing": rule.choice(None) | rule.array,
        "channel_axis": rule.choice(None) | rule.Rule("an integer", lambda v: isinstance(v, int | np.integer)),
        "alpha": rule.real(0),
        "beta": rule.real(1, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random") | rule.kind(CredalPartition) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        smoothing: float = 0.5,
        radius: int = 1,
        weighting: str = "uniform",
        spacing: Sequence[float] | None = None,
        channel_axis: int | None = -1,
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.smoothing = smoothing
        self.radius = radius
        self.weighting = weighting
        self.spacing = spacing
        self.channel_axis = channel_axis
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> SECM:
        """Segment an image.

        Parameters
        ----------
        X : array-like of shape (h, w), (h, w, channels) or (h, w, d, channels)
            An image, or a volume, of numbers of any type; float32 is kept, others become float64. A volume of one
            channel has shape (h, w, d, 1), or (h, w, d) with ``channel_axis=None``.
        y : ignored
        """
        self._check_parameters()
        pixels, shape = as_pixels(X, self.channel_axis)
        if len(pixels) < self.n_clusters:
            raise ValueError(f"X has {len(pixels)} pixels, which should be >= n_clusters={self.n_clusters}")
        rng = as_random_state(self.random_state)
        sample, _ = _starts.representative_sample(pixels, np.empty(0), rng)
        _starts.check_enough_objects(pixels, sample, self.n_clusters)
        data = self._smoothed(pixels, shape)
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, data, np.empty(0), None, rng, apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            masses = run.model.masses(data, apply)
        self._model = run.model
        self.n_features_in_ = pixels.shape[1]
        self.image_shape_ = shape
        self.cluster_centers_ = run.model.centers[:, :-1].astype(pixels.dtype)
        self.delta_ = run.model.delta
        self._set_result(run, masses, run.model.family, None)
        self.labels_ = self.labels_.reshape(shape)
        return self

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of the pixels of another image, of any size, with as many axes and channels."""
        partition, _ = self._segmented(X)
        return partition

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of largest plausibility of each pixel of another image, in the shape of that image."""
        partition, shape = self._segmented(X)
        return partition.labels.reshape(shape)

    def _segmented(self, X: Any) -> tuple[CredalPartition, tuple[int, ...]]:
        check_is_fitted(self, "credal_partition_")
        pixels, shape = as_pixels(X, self.channel_axis)
        if pixels.shape[1] != self.n_features_in_ or len(shape) != len(self.image_shape_):
            raise ValueError(
                f"X must be an image with {len(self.image_shape_)} axes and {self.n_features_in_} channels, as in fit; "
                f"got {len(shape)} axes and {pixels.shape[1]} channels"
            )
        with block_map(self.n_jobs) as apply:
            masses = self._model.masses(self._smoothed(pixels, shape), apply)
        return CredalPartition.unchecked(masses, self.focal_sets_), shape

    def _smoothed(self, pixels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        weights = neighborhood(len(shape), self.radius, self.weighting, self.spacing)
        return smoothed(pixels, shape, weights, self.smoothing)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.no_validation = True
        return tags


@dataclass(frozen=True)
class _SpatialModel(Model):
    """Prototypes in one dimension more than the image: there the pixels have the spread of their neighbourhood.

    The mean squared distance of a pixel and its neighbours to v is that of their mean to v plus their spread: the
    squared distance between points lifted off the space of the image and prototypes that stay in it.
    """

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        return _grounded(super()._best_centers(statistics))


def _grounded(centers: np.ndarray) -> np.ndarray:
    """The minimum over prototypes whose last coordinate is zero: coordinates do not depend on each other."""
    centers[:, -1] = 0
    return centers


class _Solver(PrototypeSolver):
    """As for ECM, for pixels with the spread of their neighbourhood as a last coordinate."""

    model_type = _SpatialModel

    def _scale(self) -> float:
        flat = np.ascontiguousarray(self.sample[:, :-1])
        within = _starts.within_cluster_scale(flat, self.sample_weights, self.estimator.n_clusters, self.rng)
        return within + float(np.average(self.sample[:, -1].astype(float) ** 2, weights=self.sample_weights))

    def _drawn(self, family: FocalSets, method: str, seed: int) -> Model:
        model = super()._drawn(family, method, seed)
        return replace(model, centers=_grounded(model.centers))

    def _given_centers(self, init: Any, family: FocalSets) -> np.ndarray:
        if isinstance(init, CredalPartition):
            return super()._given_centers(init, family)
        centers = checked_centers(init, (self.estimator.n_clusters, self.data.shape[1] - 1))
        return np.hstack([centers, np.zeros((len(centers), 1))])
