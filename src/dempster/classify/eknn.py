"""Evidential K nearest neighbor rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from scipy.linalg import solve_triangular

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import ArrayLike, Metric
from dempster._validation import as_numbers, reorder_by_names, row_index
from dempster.belief import FocalSets, MassFunctions
from dempster.belief.focal_sets import is_subset
from dempster.classify._base import EvidentialClassifier, Targets
from dempster.dissimilarity.input import METRIC_RULE, check_metric
from dempster.dissimilarity.neighbors import check_neighbors, exact_index
from dempster.dissimilarity.sources import (
    AttributeSource,
    MatrixSource,
    check_square,
    check_values,
)
from dempster.optimize.descent import Run
from dempster.optimize.lbfgs import minimize_lbfgs

Source = MatrixSource | AttributeSource

MAX_SETS = 4_096
_BLOCK_CELLS = 2_000_000
# exponents of the powers of two by which the initial gamma is multiplied
_OCTAVES = np.arange(-2, 7)
_GRID = range(1, 16)
# lower bound of gamma multiplied by the mean distance within the class
_MIN_GAMMA = 0.25
# maximum number of objects of a class that are used to compute the mean distance
MAX_PAIRED = 2_000
MAX_PAIRED_PYTHON = 300  # the same maximum if the metric is a Python function


@dataclass(frozen=True)
class _Neighbors:
    """The K nearest training objects of n objects."""

    positions: np.ndarray  # rows of the neighbors in the training set, shape (n, K)
    squared: np.ndarray  # squared distances, shape (n, K)
    # positions of the classes of the neighbors, shape (n, K); (n, 0) for soft labels
    classes: np.ndarray

    def first(self, k: int) -> _Neighbors:
        parts = [np.ascontiguousarray(values[:, :k]) for values in vars(self).values()]
        return _Neighbors(*parts)


class EKNNClassifier(EvidentialClassifier):
    """Evidential K nearest neighbor rule: each neighbor is a piece of evidence about the class.

    Each of the K nearest neighbors of an object is a piece of evidence about its class. A neighbor
    of class k at distance d assigns the mass ``reliability`` exp(-gamma_k^2 d^2) to {k} and the
    remaining mass to the frame, the set of all classes. Dempster's rule combines the masses of the
    neighbors. Far from all training objects the result is vacuous. The scales gamma_k minimize the
    leave-one-out squared error on the training set.

    Parameters
    ----------
    n_neighbors : int, "auto" or sequence of int, default=5
        Number of neighbors K; "auto" or a sequence: selected by the leave-one-out error. The
        smallest number is selected in case of a tie. "auto" selects from 1 to 15.
    metric : {"euclidean", "precomputed"}, str or callable, default="euclidean"
        Metric of scikit-learn's `NearestNeighbors`; "precomputed": X contains distances to the
        training objects. X must then be square in ``fit``.
    reliability : float in (0, 1), default=0.95
        Mass that a neighbor at distance 0 assigns to its class.
    gamma : float, array of shape (n_classes,) or None, default=None
        Fixed scales gamma_k of the classes; None: learned from the data.
    mixing : float in [0, 1] or None, default=None
        Share of the mass of the frame in the outputs: 1 gives plausibilities, 0 gives beliefs. The
        squared error compares the labels with the outputs m({k}) + mixing m(frame). None gives
        pignistic probabilities, which means 1 / n_classes.
    optimize : bool, default=True
        Whether to learn gamma, instead of using its initial value, the inverse of the mean distance
        within the class. A learned gamma is at least a quarter of this value, because neighbors
        would support a class with gamma = 0 at any distance.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-6
        Decrease of the cost in an iteration at which the optimization stops.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Names of the classes.
    n_neighbors_ : int
        Given or selected number of neighbors K.
    gamma_ : array of shape (n_classes,)
        Scale of each class. All scales are equal if the labels are soft.
    focal_sets_ : FocalSets
        Focal sets of the predicted masses. For hard labels they are the single classes and the
        frame, for soft labels the frame, the focal sets of the labels, and all nonempty
        intersections.
    leave_one_out_masses_ : MassFunctions
        Masses of the training objects, where no object is a neighbor of itself.
    leave_one_out_error_ : float
        Leave-one-out error for ``n_neighbors_``.
    leave_one_out_errors_ : dict of int to float
        Leave-one-out error for each candidate number of neighbors.
    objective_, history_, n_iter_, converged_
        Final cost, array of the initial cost and the cost after each iteration, length of this
        array, and whether the optimization converged within ``max_iter`` iterations.

    Notes
    -----
    Only labelled objects are neighbors.

    y may contain soft labels (`MassFunctions`). The masses of a neighbor are then its label,
    discounted according to its distance. A vacuous label has no effect. If all labels are certain,
    the result is the same as for hard labels. One gamma is learned for all classes, and the squared
    error compares pignistic probabilities.

    The mean distance within a class is computed from at most 2,000 objects, evenly spread over the
    rows.

    References
    ----------
    T. Denoeux (1995). A k-nearest neighbor classification rule based on Dempster-Shafer theory.
    IEEE Trans. SMC 25.

    L. M. Zouhal and T. Denoeux (1998). An evidence-theoretic k-NN rule with parameter optimization.
    IEEE Trans. SMC C 28.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.classify import EKNNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EKNNClassifier(n_neighbors=9).fit(X, y)
    >>> model.predict([[6.0, 2.9, 4.5, 1.5], [60, 29, 45, 15]])
    array([1, 0])
    >>> print(model.predict_mass([[6.0, 2.9, 4.5, 1.5], [60, 29, 45, 15]]).masses.round(2))
    [[0. 1. 0. 0.]
     [0. 0. 0. 1.]]
    """

    n_neighbors_: int
    gamma_: Annotated[np.ndarray, "n_classes"]
    _search: Any
    _codes: np.ndarray | None
    _n_training: int
    _labelled: np.ndarray | None  # labelled training objects; None if all are labelled
    _reliability: float
    _soft: SoftLabels | None

    _rules: Mapping[str, rule.Rule] = {
        "n_neighbors": rule.positive_integer | rule.auto | rule.array,
        "metric": METRIC_RULE,
        "reliability": rule.proper_share,
        "gamma": rule.none | rule.nonnegative | rule.array,
        "mixing": rule.none | rule.share,
        "optimize": rule.flag,
        "max_iter": rule.iterations,
        "tol": rule.nonnegative,
        "n_jobs": rule.n_jobs,
    }

    def __init__(
        self,
        n_neighbors: int | str | ArrayLike = 5,
        *,
        metric: Metric = "euclidean",
        reliability: float = 0.95,
        gamma: float | ArrayLike = None,
        mixing: float | None = None,
        optimize: bool = True,
        max_iter: int = 300,
        tol: float = 1e-6,
        n_jobs: int | None = -1,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.reliability = reliability
        self.gamma = gamma
        self.mixing = mixing
        self.optimize = optimize
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags

    # ---- learning --------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any) -> None:
        # Copy the data for the neighbor search, because the user may change X after fit.
        data, targets = self._validate_training(X, y, ensure_min_samples=2, copy=True)
        source: Source
        if self.metric == "precomputed":
            source = MatrixSource(check_square(data, symmetrize=False))
        else:
            source = AttributeSource(data, self.metric)
            if callable(self.metric):
                check_metric(source)
        grid = self._candidates(len(data))
        self._search = exact_index(source, self.n_jobs)
        self._n_training = len(data)
        self._codes = targets.codes
        # Later changes of the parameter do not affect predictions.
        self._reliability = float(self.reliability)
        if targets.soft is None:
            self._soft = None
            self.focal_sets_ = FocalSets.simple(len(self.classes_), empty=False)
        else:
            self._soft = SoftLabels(targets.soft)
            self.focal_sets_ = self._soft.family
        self._spreads = self._mean_distances(source, targets)
        check_values(self._spreads, "metric")
        start = self._initial_gamma()
        others = self._find_neighbors(None, max(grid))
        runs = {k: self._learn_gamma(others.first(k), targets, start) for k in grid}
        self.leave_one_out_errors_ = {
            k: self._error(self._combine(others.first(k), run.model), targets)
            for k, run in runs.items()
        }
        self.n_neighbors_ = min(grid, key=lambda k: (self.leave_one_out_errors_[k], k))
        self.leave_one_out_error_ = self.leave_one_out_errors_[self.n_neighbors_]
        run = runs[self.n_neighbors_]
        self.gamma_ = run.model
        self._labelled = targets.rows
        masses = self._combine(others.first(self.n_neighbors_), self.gamma_)
        if targets.rows is not None:
            known = masses
            masses = self._compute_masses(self._validate_objects(X, reset=False))
            masses[targets.rows] = known
        self.leave_one_out_masses_ = MassFunctions.unchecked(
            masses, self.focal_sets_, row_index(X), self.classes_.tolist()
        )
        self._set_run(run)

    def _candidates(self, n: int) -> list[int]:
        """Return the candidate numbers of neighbors."""
        if isinstance(self.n_neighbors, str):
            return [k for k in _GRID if k < n]
        numbers = np.unique(self.n_neighbors)
        if numbers.dtype.kind not in "iu" or len(numbers) == 0 or numbers[0] < 1:
            raise InvalidParameterError(
                "n_neighbors", "integers of at least 1", self.n_neighbors
            )
        if numbers[-1] >= n:
            expected = f"smaller than the number of labelled objects, {n}"
            raise InvalidParameterError("n_neighbors", expected, int(numbers[-1]))
        return numbers.tolist()

    def _initial_gamma(self) -> np.ndarray:
        """Return the given scales of the M classes, or initial scales from mean distances."""
        if self.gamma is None:
            return 1 / self._spreads
        n_classes = len(self.classes_)
        gamma = as_numbers(reorder_by_names(self.gamma, self.classes_), "gamma", 0)
        if gamma.shape not in ((), (n_classes,)):
            expected = f"{n_classes} numbers of at least 0 (or one)"
            raise InvalidParameterError("gamma", expected, self.gamma)
        if self._soft is not None and np.ptp(gamma) > 0:
            raise InvalidParameterError(
                "gamma", "one number for soft labels", self.gamma
            )
        return np.broadcast_to(gamma, (n_classes,)).copy()

    def _mean_distances(self, source: Source, targets: Targets) -> np.ndarray:
        """Return the mean distance within each class, or between all objects for soft labels."""
        overall = self._mean_distance(source, np.arange(len(source))) or 1.0
        if targets.codes is None:
            return np.full(len(targets.names), overall)
        members = [
            np.flatnonzero(targets.codes == k) for k in range(len(targets.names))
        ]
        return np.array(
            [self._mean_distance(source, rows) or overall for rows in members]
        )

    def _mean_distance(self, source: Source, rows: np.ndarray) -> float:
        """Return the mean distance between the objects in ``rows``, or 0 for a single object."""
        from scipy.spatial.distance import pdist
        from sklearn.metrics import pairwise_distances

        n = len(rows)
        if n < 2:
            return 0.0
        max_rows = MAX_PAIRED
        if callable(self.metric):
            max_rows = MAX_PAIRED_PYTHON
        if n > max_rows:
            rows = rows[np.linspace(0, n - 1, max_rows).astype(int)]
            n = max_rows
        if isinstance(source, MatrixSource):
            distances = source.block(rows, rows)
        elif source.is_euclidean:
            # For at most 2,000 objects, pdist is faster than pairwise_distances.
            return float(pdist(source.objects[rows]).mean())
        else:
            distances = pairwise_distances(
                source.objects[rows], metric=source.metric, **source.parameters
            )
        total = distances.sum(dtype=float) - np.trace(distances)
        return float(total / (n * (n - 1)))

    def _learn_gamma(
        self, others: _Neighbors, targets: Targets, start: np.ndarray
    ) -> Run[np.ndarray]:
        """Return the scales with the smallest cost, or the initial scales if they are fixed."""
        is_fixed = self.gamma is not None or not self.optimize
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        if self._soft is None:
            mixing = 1 / len(start) if self.mixing is None else self.mixing
            cost = partial(
                cost_and_gradient,
                squared=others.squared,
                classes=others.classes,
                targets=targets.indicators,
                alpha=self.reliability,
                mixing=mixing,
            )
            if is_fixed:
                return Run(start, [cost(start)[0]], converged=True)
            return _minimize_above(cost, start, _MIN_GAMMA / self._spreads, **limits)
        # For pignistic probabilities, each class gets an equal share of the mass of every set that
        # contains it.
        share = self._soft.family.membership / self._soft.family.cardinality[:, None]

        def soft_cost(gamma: float) -> float:
            outputs = self._combine(others, np.full(len(start), gamma)) @ share
            return (
                0.5 * float(((outputs - targets.indicators) ** 2).sum()) / len(outputs)
            )

        if is_fixed:
            return Run(start, [soft_cost(float(start[0]))], converged=True)
        run = minimize_scale(soft_cost, float(start[0]), **limits)
        return Run(np.full(len(start), run.model), run.history, run.converged)

    def _error(self, masses: np.ndarray, targets: Targets) -> float:
        """Return the error rate.

        For soft labels, the probability that the label assigns to classes not predicted.
        """
        predicted = (
            MassFunctions.unchecked(masses, self.focal_sets_).pignistic().argmax(axis=1)
        )
        return float(
            1 - targets.indicators[np.arange(len(predicted)), predicted].mean()
        )

    # ---- neighbors and their evidence ------------------------------------------------------------

    def _find_neighbors(self, X: np.ndarray | None, k: int) -> _Neighbors:
        """Return the k nearest training objects of each row of X.

        If X is None, those of each training object.
        """
        distances, positions = self._search.kneighbors(X, k)
        check_neighbors(positions, distances, self._n_training)
        squared = distances.astype(float) ** 2
        classes = positions[:, :0] if self._codes is None else self._codes[positions]
        return _Neighbors(positions, squared, classes)

    def _combine(self, neighbors: _Neighbors, gamma: np.ndarray) -> np.ndarray:
        if self._soft is None:
            return combine_neighbors(
                neighbors.squared,
                neighbors.classes,
                gamma,
                self._reliability,
                len(gamma),
            )
        supports = self._reliability * np.exp(-(gamma[0] ** 2) * neighbors.squared)
        return self._soft.masses(neighbors.positions, supports)

    def _compute_masses(self, X: np.ndarray) -> np.ndarray:
        if self.metric == "precomputed" and X.size and X.min() < 0:
            message = "Negative values in data: X must contain distances"
            raise InvalidParameterError("X", message=message)
        if self.metric == "precomputed" and self._labelled is not None:
            X = np.ascontiguousarray(X[:, self._labelled])
        return self._combine(self._find_neighbors(X, self.n_neighbors_), self.gamma_)

    def _check_loaded(self) -> None:
        """Raise an error unless each training sample has a label, a class or a mass function."""
        codes = self._codes
        n = self._n_training
        rows = self._labelled
        if rows is not None and (
            rows.shape != (n,) or rows.dtype.kind not in "iu" or rows.min() < 0
        ):
            raise InvalidInputError(
                f"_labelled must contain the positions of the {n} labelled training samples"
            )
        if (codes is None) == (self._soft is None):
            raise InvalidInputError("exactly one of _codes and _soft must be None")
        if self._soft is not None and len(self._soft.missing) != n:
            raise InvalidInputError(
                f"_soft must contain a label for each of the {n} training samples"
            )
        if codes is not None:
            fits = codes.dtype.kind in "iu" and codes.shape == (n,)
            if not fits or codes.min() < 0 or codes.max() >= len(self.classes_):
                raise InvalidInputError(
                    "_codes must be an array with the index of a class for each training sample"
                )


# ---- minimization over the scales ----------------------------------------------------------------
def _minimize_above(
    cost: Any, start: np.ndarray, lower: np.ndarray, *, max_iter: int, tol: float
) -> Run[np.ndarray]:
    """Minimize a cost over gamma >= lower by L-BFGS.

    The optimized variable is t, with gamma = lower + width t^2 / 4 and the initial value t = 2.
    ``width`` is the distance of the initial gamma from its bound, so that the result does not
    depend on the units of the attributes. An initial gamma near the bound is moved away, because
    the derivative with respect to t is zero at the bound.
    """
    width = np.maximum(start - lower, 0.1 * lower)

    def gamma(t: np.ndarray) -> np.ndarray:
        return lower + width * t * t / 4

    def cost_of_t(t: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = cost(gamma(t))
        return value, gradient * width * t / 2

    t = np.full_like(start, 2.0)
    run = minimize_lbfgs(
        cost_of_t, t, max_iter=max_iter, tol=tol * 1e-9, gradient_tol=tol * 1e-2
    )
    return Run(gamma(run.model), run.history, run.converged)


def minimize_scale(
    cost: Callable[[float], float], start: float, *, max_iter: int, tol: float
) -> Run[float]:
    """Minimize a cost over a positive number.

    First try ``start`` multiplied by powers of two, then apply Brent's method around the best
    value. The history of the result contains the smallest cost found up to each evaluation.
    """
    from scipy.optimize import minimize_scalar  # slow to import

    costs: list[float] = []

    def record(x: float) -> float:
        costs.append(cost(float(np.exp(x))))
        return costs[-1]

    logs = np.log(start) + np.log(2.0) * _OCTAVES
    best = int(np.argmin([record(x) for x in logs]))
    result = minimize_scalar(
        record,
        bounds=(logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)]),
        method="bounded",
        options={"xatol": tol, "maxiter": max_iter},
    )
    found = result.x if result.fun < costs[best] else logs[best]
    history = np.minimum.accumulate(costs).tolist()
    return Run(float(np.exp(found)), history, bool(result.success))


# ---- masses from neighbors -----------------------------------------------------------------------


def combine_neighbors(
    squared: np.ndarray,
    classes: np.ndarray,
    gamma: np.ndarray,
    alpha: float,
    n_classes: int,
) -> np.ndarray:
    """Return the masses of n objects on M classes and the frame, shape (n, M + 1)."""
    supports = _supports(squared, classes, gamma, alpha)
    return _combine_supports(supports, classes, n_classes)


def cost_and_gradient(
    gamma: np.ndarray,
    squared: np.ndarray,
    classes: np.ndarray,
    targets: np.ndarray,
    alpha: float,
    mixing: float,
) -> tuple[float, np.ndarray]:
    """Return half the mean squared error of o_k = m({k}) + mixing m(frame), and its gradient.

    See Zouhal and Denoeux (1998), equation 9. Let w_k be the weight of evidence for class k, r_k =
    exp(w_k) - 1 and Z = 1 + sum_k r_k. Then o_k = (r_k + mixing) / Z, and the derivative with
    respect to the mass s that a neighbor assigns to its class k is (q_k - sum_l q_l o_l) pl_k / (1
    - s), where q = (o - t) / n, t are the ``targets`` and pl_k is the plausibility of class k.
    """
    n, n_classes = targets.shape
    supports = _supports(squared, classes, gamma, alpha)
    masses = _combine_supports(supports, classes, n_classes)
    singles = masses[:, :-1]
    frame = masses[:, -1:]
    outputs = singles + mixing * frame
    errors = outputs - targets
    plausibilities = singles + frame
    per_class = (
        errors - (errors * outputs).sum(axis=1, keepdims=True)
    ) * plausibilities
    per_neighbor = np.take_along_axis(per_class, classes, axis=1)
    per_neighbor = per_neighbor * squared * supports / (1 - supports)
    slopes = np.bincount(
        classes.ravel(), weights=per_neighbor.ravel(), minlength=n_classes
    )
    return 0.5 * float((errors * errors).sum()) / n, -2.0 * gamma * slopes / n


def _supports(
    squared: np.ndarray, classes: np.ndarray, gamma: np.ndarray, alpha: float
) -> np.ndarray:
    """Return the mass s = alpha exp(-gamma_k^2 d^2) that each neighbor assigns to its class."""
    s = -(gamma**2)[classes] * squared
    return alpha * np.exp(s, out=s)


def _combine_supports(
    supports: np.ndarray, classes: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return the masses of M classes and the frame (last column) by Dempster's rule.

    Let w_k be the weight of evidence for class k, the sum of -log(1 - support) over its neighbors.
    m({k}) is proportional to exp(w_k) - 1, and m(frame) to 1 (Denoeux, 1995). All terms are divided
    by the exponential of the largest weight to prevent overflow.
    """
    n = len(supports)
    cells = classes + n_classes * np.arange(n)[:, None]
    logs = -np.log1p(-supports)
    weights = np.bincount(cells.ravel(), logs.ravel(), n * n_classes)
    weights = weights.reshape(n, n_classes)
    top = weights.max(axis=1, keepdims=True)
    out = np.empty((n, n_classes + 1))
    out[:, :-1] = -np.expm1(-weights) * np.exp(weights - top)
    out[:, -1:] = np.exp(-top)
    out /= out.sum(axis=1, keepdims=True)
    return out


# ---- soft labels ---------------------------------------------------------------------------------


class SoftLabels:
    """Soft labels, which are discounted by distance and combined by Dempster's rule.

    The label of a neighbor is discounted to the share phi, so that a commonality q of the label
    becomes 1 - phi (1 - q). Dempster's rule multiplies the commonalities of the neighbors. The
    result has masses on the focal sets of the labels, the frame, and all nonempty intersections
    (Denoeux, 1995, section III).
    """

    family: FocalSets
    # one minus the commonalities of the n objects
    missing: Annotated[np.ndarray, "n f"]
    # Entry (a, b) is 1 if set a is a subset of set b, and 0 otherwise.
    _supersets: Annotated[np.ndarray, "f f"]

    def __init__(self, labels: MassFunctions):
        self.family = _close_under_intersection(labels.focal_sets)
        on_family = labels.to_family(self.family).masses
        self._supersets = is_subset(
            self.family.membership, self.family.membership
        ).astype(float)
        self.missing = 1.0 - on_family @ self._supersets.T

    def masses(self, neighbors: np.ndarray, supports: np.ndarray) -> np.ndarray:
        """Return the combined masses of n objects on the f focal sets, shape (n, f)."""
        out = np.empty((len(neighbors), len(self.family)))
        size = max(1, _BLOCK_CELLS // (neighbors.shape[1] * len(self.family)))
        for begin in range(0, len(out), size):
            rows = slice(begin, begin + size)
            logs = np.log1p(
                -supports[rows, :, None] * self.missing[neighbors[rows]]
            ).sum(axis=1)
            # The masses are normalized below.
            commonality = np.exp(logs - logs.max(axis=1, keepdims=True))
            masses = solve_triangular(
                self._supersets, commonality.T, unit_diagonal=True
            ).T
            out[rows] = np.maximum(masses, 0)
        return out / out.sum(axis=1, keepdims=True)


def _close_under_intersection(family: FocalSets) -> FocalSets:
    """Return the sets of a family, the frame, and all nonempty intersections, sorted by size."""
    sets = {frozenset(members) for members in family} | {
        frozenset(range(family.n_clusters))
    }
    sets.discard(frozenset())
    original = new = sets
    while new:
        new = {a & b for a in original for b in new} - sets - {frozenset()}
        sets = sets | new
        if len(sets) > MAX_SETS:
            raise InvalidParameterError(
                "y",
                f"soft labels with fewer focal sets (at most {MAX_SETS} intersections)",
            )
    return FocalSets.from_sets(
        family.n_clusters, [tuple(sorted(s)) for s in sets]
    ).sorted()
