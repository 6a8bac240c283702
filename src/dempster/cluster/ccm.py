"""Credal c-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._arrays import Array, to_host
from dempster._types import MaybeUnset, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES
from dempster.cluster._online import OnlineClusterer
from dempster.cluster._search import FitResult
from dempster.cluster.belief_peaks import INIT_RULE, Init
from dempster.cluster.ecm import (
    OnlinePrototypes,
    PrototypeClusterer,
    PrototypeMethod,
    PrototypeModel,
    Statistics,
    append_zeros,
)
from dempster.data.blocks import Blocks
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run, solve_normal_equations

# distance below which prototypes coincide, in standard deviations of the data
_MIN_DISTANCE = 0.05


@dataclass(frozen=True)
class CredalModel(PrototypeModel):
    """Prototypes of credal c-means, with an additional coordinate.

    Let v_A be the mean of the prototypes v_k of the clusters in a set A, and s_A = sum_{k in A}
    |v_k - v_A|^2. Because sum_{k in A} |x - v_k|^2 = |A| |x - v_A|^2 + s_A, the cost of A is
    D_i(A)^2 = |x_i - v_A|^2 + s_A / (|A| + gamma). The second term does not depend on the object.
    It is the square of the additional coordinate of v_A.
    """

    gamma: float = 1.0
    n_added = 1

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        barycentres, *others = super().kernel_arguments(dtype)
        sets = self.step.sets
        size = sets.sum(axis=1)
        bary = sets @ self.centers / size[:, None]
        gap = self.centers[None] - bary[:, None]
        spread = np.einsum("jk,jkd,jkd->j", sets, gap, gap)
        barycentres[-1] = np.sqrt(spread / (size + self.gamma))
        return (barycentres, *others)

    def _observed_squares(self, X: np.ndarray) -> np.ndarray:
        """Return the costs of the g nonempty sets over the observed attributes, shape (n, g)."""
        sets = self.step.sets
        size = sets.sum(axis=1)
        gap = self.centers[None] - (self.step.averages @ self.centers)[:, None]
        spreads = np.einsum("jk,jkd->jd", sets, gap**2) / (size + self.gamma)[:, None]
        return super()._observed_squares(X) + ~np.isnan(X) @ spreads.T

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Return the best prototypes V for given masses, from H V = R (Liu et al., 2015)."""
        sets = self.step.sets
        size = sets.sum(axis=1)
        share = 1 / (size + self.gamma)
        H = np.diag(sets.T @ (share * statistics.total))
        H += (sets.T * (self.gamma * share * statistics.total / size**2)) @ sets
        R = (sets.T * ((1 + self.gamma / size) * share)) @ statistics.first.T
        return solve_normal_equations(H, R)


class CredalMethod(PrototypeMethod):
    """Algorithm of credal c-means; the additional coordinate of the objects is zero."""

    model_type = CredalModel

    def _model_parameters(self) -> dict[str, Any]:
        return {"gamma": self.estimator.gamma}

    def result(self, run: Run[PrototypeModel]) -> FitResult:
        """Return the result, with a warning if prototypes coincide.

        A large beta can cause this in high dimensions.
        """
        result = super().result(run)
        centers = result.model.centers
        gap = centers[:, None] - centers[None]
        apart = np.einsum("kld,kld->kl", gap, gap) + np.diag(np.full(len(gap), np.inf))
        k, other = np.unravel_index(apart.argmin(), apart.shape)
        if apart[k, other] >= _MIN_DISTANCE**2 * self.mean_squared_deviation:
            return result
        advice = f"try a beta smaller than {self.beta:g}, or fewer focal sets"
        return replace(
            result, warnings=(f"clusters {k} and {other} coincide; {advice}",)
        )


def _lift_block(block: np.ndarray, shared: None, apply: Apply) -> np.ndarray:
    return append_zeros(block, 1)


class CCM(PrototypeClusterer, OnlineClusterer):
    r"""Credal c-means: an object belongs to a set of clusters if it is near all their prototypes.

    The method minimizes, over masses m and prototypes v,

    .. math::

        &\sum_i \sum_{A \neq \emptyset} m_i(A)^\beta D_i(A)^2
        + \delta^2 \sum_i m_i(\emptyset)^\beta,

        &D_i(A)^2 = \frac{\sum_{k \in A} d(x_i, v_k)^2 + \gamma\, d(x_i, v_A)^2}{|A| + \gamma},

    where d is the Euclidean distance and v_A is the mean of the prototypes of A. `ECM` uses only
    the distance d(x_i, v_A). If three clusters lie in a row, the pair of the outer clusters then
    competes with the middle cluster, because the mean of the outer prototypes is the prototype of
    the middle cluster. In credal c-means, the cost of a pair includes the distance between its
    clusters, so objects are ambiguous only between neighboring clusters. The objective never
    increases. The cost of an iteration is linear in the number of objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
        ``FocalSets.max_cardinality(c, T_c)`` is the family of the paper with sets of up to T_c
        clusters.
    gamma : float >= 0, default=1
        Weight of the distance to the mean of the prototypes, relative to the distances to the
        prototypes.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five
        attributes, else smaller.
    delta : float > 0 or "auto", default="auto"
        Distance from objects to the empty set, in units of the data; smaller values give more
        outliers. "auto" is the upper fence of a box plot (third quartile plus two interquartile
        ranges) of distances to the nearest prototype.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN), as in `ECM`; "partial" compares objects by the attributes
        that they have. "refuse" raises an error. "partial" adds the variance within clusters for
        each missing attribute.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. "belief-peaks" or a `BeliefPeaks` uses its centers, computed without
        weights. An array contains the prototypes, shape (n_clusters, n_features). A deterministic
        start is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With
        ``focal_sets="auto"``, results whose objectives are nearly equal (up to 10 %) are compared
        by their classification likelihood, which is smaller if a large cluster is divided. With
        more than 20,000 objects the starts are compared on a sample of that size, and the best one
        is continued with all objects. More than 25 clusters have one start, as in `ECM`.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop, at least 1e-4 for many
        clusters and objects, as in `ECM`.
    checkpoint : path or None, default=None
        For X in blocks: file from which an interrupted fit resumes, with the same result, as in
        `ECM`.
    device : str, default="cpu"
        Device that computes the sums over all objects, as in `ECM`; "cuda" is a GPU. A GPU requires
        torch.
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
        Masses of the objects.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
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
    sample_indices_ : ndarray
        Indices of the sampled rows, if X came in blocks.
    n_samples_seen_ : int
        Number of objects in `fit` and in all blocks of `partial_fit`.

    References
    ----------
    Z.-G. Liu, Q. Pan, J. Dezert and G. Mercier (2015). Credal c-means clustering method based on
    belief functions. Knowledge-Based Systems 74.

    Examples
    --------
    The data are three groups in a row. In ECM, the center of the middle group is also the
    barycenter of the outer groups.

    >>> import numpy as np
    >>> from dempster.cluster import CCM, ECM
    >>> spread = np.linspace(-1, 1, 21)
    >>> X = np.concatenate([spread - 4, spread, spread + 4])[:, None]
    >>> # largest mass on the pair of the outer groups within the middle one
    >>> centers = [[-4.0], [0.0], [4.0]]
    >>> for method in (ECM, CCM):
    ...     model = method(3, focal_sets="pairs", beta=2.0, init=centers).fit(X)
    ...     cp = model.credal_partition_
    ...     print(cp.masses[21:42, cp.focal_sets.index({0, 2})].max().round(2))
    0.27
    0.04
    """

    _model: CredalModel
    _online: MaybeUnset[OnlinePrototypes]

    _rules = {**COMMON_RULES, "gamma": rule.nonnegative, "init": INIT_RULE}
    _method_type = CredalMethod
    alpha = 0.0  # parameter of `ECM`, fixed here

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        gamma: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        missing: str = "refuse",
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.gamma = gamma
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.init = init
        self.checkpoint = checkpoint
        self.device = device

    def _read(self, X: TableLike, *, reset: bool) -> Array:
        """Validate X and append a column of zeros, the additional coordinate."""
        return append_zeros(super()._read(X, reset=reset), 1)

    def _map_blocks(self, source: Blocks) -> Blocks:
        assert source.width is not None
        return source.map(_lift_block, None, source.width + 1, source.dtype)

    def _comparison_source(self, values: Array) -> AttributeSource:
        return AttributeSource(to_host(values)[:, :-1])
