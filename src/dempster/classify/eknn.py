"""The evidential K nearest neighbour rule: the classifier, masses from neighbours, and soft labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, Metric
from dempster._validation import as_reals, in_order_of, object_index
from dempster.belief import FocalSets, MassFunctions
from dempster.belief.focal_sets import is_subset
from dempster.classify._base import EvidentialClassifier, Targets
from dempster.dissimilarity.input import METRIC_RULE, try_metric
from dempster.dissimilarity.neighbors import check_neighbors, exact_index, minkowski_power, safe_jobs
from dempster.dissimilarity.sources import AttributeSource, check_square, naming_metric
from dempster.optimize.descent import Run
from dempster.optimize.lbfgs import minimize_lbfgs

MAX_SETS = 4_096
_BLOCK = 2_000_000  # numbers held at a time
_OCTAVES = np.arange(-2, 7)  # not lower: labels would count however far their objects are
_GAIN_MEMORY = 0.9  # share of the running gain that an iteration keeps
_ROUNDING = 4 * np.finfo(float).eps  # a rise that is none: at the bottom the value only trembles
_GRID = range(1, 16)
_MIN_GAMMA = 0.25  # the smallest gamma, times the mean distance within the class
MAX_PAIRED = 2_000  # objects of a class whose distances to each other make its first gamma
MAX_PAIRED_PYTHON = 300  # the same for a metric written in Python


@dataclass(frozen=True)
class _Neighbours:
    """Nearest training objects, (n, K): positions, squared distances, classes (no columns when labels are soft)."""

    positions: np.ndarray
    squared: np.ndarray
    classes: np.ndarray

    def first(self, k: int) -> _Neighbours:
        return _Neighbours(*(np.ascontiguousarray(a[:, :k]) for a in (self.positions, self.squared, self.classes)))


class EKNNClassifier(EvidentialClassifier):
    """Evidential K nearest neighbour rule: each neighbour is a piece of evidence that fades with distance.

    A neighbour of class k at distance d supports {k} with the mass ``reliability`` exp(-gamma_k^2 d^2) and leaves the
    rest to the whole set of classes; Dempster's rule combines the neighbours. Far from all training objects nothing is
    left but ignorance. The scales gamma_k are learnt: they minimise the squared error of the outputs of the training
    objects, each classified by its neighbours among the others.

    Parameters
    ----------
    n_neighbors : int, "auto" or sequence of int, default=5
        K. "auto" or a sequence: the number (of 1 to 15, or of the sequence) with the smallest leave-one-out error, the
        smallest on ties.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's `NearestNeighbors`, or "precomputed": X then holds distances to the training
        objects (square in ``fit``).
    metric_params : dict, optional
        Parameters of the metric.
    reliability : float in (0, 1), default=0.95
        Mass that a neighbour at distance 0 gives to its class.
    gamma : float, array of shape (n_classes,) or None, default=None
        Scales, if they are not to be learnt.
    mixing : float in [0, 1] or None, default=None
        Share of the mass of the whole frame in the outputs m_k + mixing m(frame) that are compared with the labels: 1
        compares plausibilities, 0 beliefs, None (1 / n_classes) pignistic probabilities.
    optimize : bool, default=True
        Whether to learn gamma or to stay with the first ones.
    solver : {"lbfgs", "adaptive-steps"}, default="lbfgs"
        "adaptive-steps": the method of the paper, slower, for the same minimum unless that is at the bound which
        L-BFGS alone has: it keeps gamma at or above a quarter of one over the mean distance in the class. At 0, a
        class is supported however far its objects are. The steps are in the units of X, and L-BFGS's are not.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are searched for.
    init : {"mean-distance", "evclass"}, default="mean-distance"
        First gamma of a class: one over the mean distance within it, or, as in the R package evclass, over the square
        root of that (which depends on the units of the attributes).
    max_iter : int, default=300
    tol : float, default=1e-6
        Gain in cost that ends the learning.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_neighbors_ : int
        The K in use.
    gamma_ : array of shape (n_classes,)
        Learnt scales; all the same with soft labels.
    focal_sets_ : FocalSets
        The single classes and the whole frame; with soft labels their focal sets and all intersections.
    leave_one_out_masses_ : MassFunctions
        Of the training objects, each from its neighbours among the others.
    leave_one_out_error_ : float
    leave_one_out_errors_ : dict of int to float
        Error for each K that was tried.
    objective_, history_, n_iter_, converged_
        Cost at the end, at the start and after each step, their number, and whether the gain fell below ``tol``.

    Notes
    -----
    Soft labels: ``fit(X, y)`` takes `MassFunctions` as y, one mass function on the classes for each object. A
    neighbour then supports the sets of its label; a vacuous label has no effect, certain labels give the rule above.
    One gamma is learnt for all classes, by comparison with the pignistic probabilities of the labels.

    The first gammas use at most 2,000 objects of each class, evenly spread over the rows.

    References
    ----------
    T. Denoeux (1995). A k-nearest neighbor classification rule based on Dempster-Shafer theory. IEEE Trans. SMC 25.

    L. M. Zouhal and T. Denoeux (1998). An evidence-theoretic k-NN rule with parameter optimization. IEEE Trans. SMC C
    28.

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

    _codes: np.ndarray | None
    _n_training: int
    _reliability: float
    _soft: SoftLabels | None

    _rules: Mapping[str, rule.Rule] = {
        "n_neighbors": rule.integer(1) | rule.choice("auto") | rule.array,
        "metric": METRIC_RULE,
        "metric_params": rule.choice(None) | rule.kind(dict),
        "reliability": rule.real(0, 1, open_low=True, open_high=True),
        "gamma": rule.choice(None) | rule.real(0) | rule.array,
        "mixing": rule.choice(None) | rule.real(0, 1),
        "optimize": rule.flag,
        "solver": rule.choice("lbfgs", "adaptive-steps"),
        "algorithm": rule.choice("auto", "ball_tree", "kd_tree", "brute"),
        "init": rule.choice("mean-distance", "evclass"),
        "max_iter": rule.iterations(),
        "tol": rule.real(0),
        "n_jobs": rule.n_jobs,
    }

    def __init__(
        self,
        n_neighbors: int | str | ArrayLike = 5,
        *,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        reliability: float = 0.95,
        gamma: float | ArrayLike = None,
        mixing: float | None = None,
        optimize: bool = True,
        solver: str = "lbfgs",
        algorithm: str = "auto",
        init: str = "mean-distance",
        max_iter: int = 300,
        tol: float = 1e-6,
        n_jobs: int | None = -1,
    ):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.reliability = reliability
        self.gamma = gamma
        self.mixing = mixing
        self.optimize = optimize
        self.solver = solver
        self.algorithm = algorithm
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags

    # ---- learning -------------------------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any) -> None:
        # The data are kept and must not change with what the user does later.
        data, targets = self._checked_training(X, y, ensure_min_samples=2, copy=True)
        if self.metric == "precomputed":
            data = check_square(data, symmetrize=False, remedy="")
        elif callable(self.metric):
            try_metric(AttributeSource(data, self.metric, self.metric_params or {}))
        grid = self._grid(len(data))
        self._search, self._n_training = self._index(data), len(data)
        self._codes = targets.codes
        self._reliability = float(self.reliability)  # predictions are those of the fit, whatever is set later
        self._soft = None if targets.soft is None else SoftLabels(targets.soft)
        classes = FocalSets.simple(len(self.classes_), empty=False)
        self.focal_sets_ = classes if self._soft is None else self._soft.family
        self._spreads = self._mean_distances(data, targets)
        start = self._first_gamma()
        others = self._neighbours(None, max(grid))
        tried = {k: self._learnt(others.first(k), targets, start) for k in grid}
        self.leave_one_out_errors_ = {
            k: self._error(self._combined(others.first(k), run.model), targets) for k, run in tried.items()
        }
        self.n_neighbors_ = min(grid, key=lambda k: (self.leave_one_out_errors_[k], k))
        self.leave_one_out_error_ = self.leave_one_out_errors_[self.n_neighbors_]
        run = tried[self.n_neighbors_]
        self.gamma_ = run.model
        masses = self._combined(others.first(self.n_neighbors_), self.gamma_)
        self.leave_one_out_masses_ = MassFunctions.unchecked(
            masses, self.focal_sets_, object_index(X), self.classes_.tolist()
        )
        self._set_run(run)

    def _grid(self, n: int) -> list[int]:
        """Numbers of neighbours to try."""
        if isinstance(self.n_neighbors, str):
            return [k for k in _GRID if k < n]
        given = np.ravel(self.n_neighbors)
        grid = sorted({int(k) for k in given}) if given.dtype.kind in "iu" else []
        if not grid or grid[0] < 1:
            raise InvalidParameterError("n_neighbors", "integers of at least 1", self.n_neighbors)
        if max(grid) >= n:
            raise InvalidParameterError(
                "n_neighbors",
                f"below the number of training objects, n_samples = {n}, because each is classified by its neighbours "
                "among the others",
                max(grid),
            )
        return grid

    def _first_gamma(self) -> np.ndarray:
        """(M,) the scales given, or those from which learning starts."""
        n_classes = len(self.classes_)
        if self.gamma is not None:
            given = as_reals(in_order_of(self.gamma, self.classes_), "gamma").astype(float, copy=False)
            if given.shape not in ((), (n_classes,)) or not (np.isfinite(given) & (given >= 0)).all():
                raise InvalidParameterError("gamma", f"{n_classes} numbers of at least 0 (or one)", self.gamma)
            if self._soft is not None and np.ptp(given) > 0:
                raise InvalidParameterError("gamma", "one number when labels are soft", self.gamma)
            return np.broadcast_to(given, (n_classes,)).copy()
        return 1 / (np.sqrt(self._spreads) if self.init == "evclass" else self._spreads)

    def _mean_distances(self, data: np.ndarray, targets: Targets) -> np.ndarray:
        """(M,) mean distances within the classes; within all the data for soft labels and classes of one object."""
        overall = self._mean_distance(data, np.arange(len(data))) or 1.0
        if targets.codes is None:
            return np.full(len(targets.names), overall)
        members = [np.flatnonzero(targets.codes == k) for k in range(len(targets.names))]
        return np.array([self._mean_distance(data, rows) or overall for rows in members])

    def _mean_distance(self, data: np.ndarray, rows: np.ndarray) -> float:
        """Mean distance between different objects of a class; 0 if it has only one."""
        from scipy.spatial.distance import pdist
        from sklearn.metrics import pairwise_distances

        if len(rows) < 2:
            return 0.0
        most = MAX_PAIRED_PYTHON if callable(self.metric) else MAX_PAIRED
        if len(rows) > most:
            rows = rows[np.linspace(0, len(rows) - 1, most).astype(int)]
        if self.metric == "euclidean":  # without products of matrices, whose threads take longer than these distances
            return float(pdist(data[rows]).mean())
        if self.metric == "precomputed":
            distances = data[np.ix_(rows, rows)]
        else:
            distances = pairwise_distances(data[rows], metric=self.metric, **(self.metric_params or {}))
        return float((distances.sum(dtype=float) - np.trace(distances)) / (len(rows) * (len(rows) - 1)))

    def _learnt(self, others: _Neighbours, targets: Targets, start: np.ndarray) -> Run[np.ndarray]:
        """The scales that fit the neighbours of the training objects best, or the first ones."""
        if self._soft is not None:
            return self._learnt_from_soft(others, targets, start)
        mixing = 1 / len(start) if self.mixing is None else self.mixing

        def cost(gamma: np.ndarray) -> tuple[float, np.ndarray]:
            return cost_and_gradient(
                gamma, others.squared, others.classes, targets.indicators, self.reliability, mixing
            )

        if self.gamma is not None or not self.optimize:
            return Run(start, [cost(start)[0]], converged=True)
        if self.solver == "adaptive-steps":
            run = adaptive_steps(cost, start, max_iter=self.max_iter, tol=self.tol)
            return Run(np.abs(run.model), run.history, run.converged)
        lowest = _MIN_GAMMA / self._spreads
        return _lbfgs_above(cost, start, lowest, max_iter=self.max_iter, tol=self.tol)

    def _learnt_from_soft(self, others: _Neighbours, targets: Targets, start: np.ndarray) -> Run[np.ndarray]:
        assert self._soft is not None
        share = self._soft.share()

        def cost(gamma: float) -> float:
            outputs = self._combined(others, np.full(len(start), gamma)) @ share
            return 0.5 * float(((outputs - targets.indicators) ** 2).sum()) / len(outputs)

        if self.gamma is not None or not self.optimize:
            return Run(start, [cost(float(start[0]))], converged=True)
        run = best_scale(cost, float(start[0]), max_iter=self.max_iter, tol=self.tol)
        return Run(np.full(len(start), run.model), run.history, run.converged)

    def _error(self, masses: np.ndarray, targets: Targets) -> float:
        """Share of the training objects that are not classified as their label says (its pignistic probability)."""
        probabilities = MassFunctions.unchecked(masses, self.focal_sets_).pignistic()
        found = probabilities.argmax(axis=1)
        return float(1 - targets.indicators[np.arange(len(found)), found].mean())

    # ---- neighbours and their evidence ----------------------------------------------------------------------------

    def _index(self, data: np.ndarray) -> Any:
        """Return an index of the training objects: our own for Minkowski metrics, otherwise scikit-learn's."""
        from sklearn.neighbors import NearestNeighbors

        if self.algorithm == "auto" and minkowski_power(self.metric, self.metric_params) is not None:
            return exact_index(AttributeSource(data, self.metric, self.metric_params or {}), self.n_jobs)
        with naming_metric(self.metric):
            return NearestNeighbors(
                algorithm=self.algorithm,
                metric=self.metric,
                metric_params=self.metric_params,
                n_jobs=safe_jobs(self.metric, self.n_jobs),
            ).fit(data)

    def _neighbours(self, X: np.ndarray | None, k: int) -> _Neighbours:
        """Nearest training objects of new objects; of the training objects among the others when X is None."""
        distances, positions = self._search.kneighbors(X, k)
        check_neighbors(positions, distances, self._n_training)
        squared = distances.astype(float, copy=False)
        squared *= squared
        classes = positions[:, :0] if self._codes is None else self._codes[positions]
        return _Neighbours(positions, squared, classes)

    def _combined(self, neighbours: _Neighbours, gamma: np.ndarray) -> np.ndarray:
        if self._soft is None:
            return neighbour_masses(neighbours.squared, neighbours.classes, gamma, self._reliability, len(gamma))
        supports = self._reliability * np.exp(-(gamma[0] ** 2) * neighbours.squared)
        return self._soft.masses(neighbours.positions, supports)

    def _masses(self, X: np.ndarray) -> np.ndarray:
        if self.metric == "precomputed" and X.size and X.min() < 0:
            raise InvalidParameterError(
                "X", message="Negative values in data: X must hold distances, which are at least 0"
            )
        return self._combined(self._neighbours(X, self.n_neighbors_), self.gamma_)


# ---- learning scales ------------------------------------------------------------------------------------------------


def _lbfgs_above(cost: Any, start: np.ndarray, lowest: np.ndarray, *, max_iter: int, tol: float) -> Run[np.ndarray]:
    """L-BFGS with lower bounds: on t, where gamma = lowest + width t^2 / 4, from t = 2.

    ``width`` is the start less its bound, so that the units of the attributes do not matter. At t = 0 the derivative is
    zero, whatever that by gamma: a start near the bound is moved away from it.
    """
    width = np.maximum(start - lowest, 0.1 * lowest)

    def gamma(t: np.ndarray) -> np.ndarray:
        return lowest + width * t * t / 4

    def of_t(t: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = cost(gamma(t))
        return value, gradient * width * t / 2

    run = minimize_lbfgs(of_t, np.full_like(start, 2.0), max_iter=max_iter, tol=tol * 1e-9, gradient_tol=tol * 1e-2)
    return Run(gamma(run.model), run.history, run.converged)


def adaptive_steps(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    max_iter: int = 300,
    tol: float = 1e-6,
    first_step: float = 0.1,
    step_range: tuple[float, float] = (1e-4, 1e6),
) -> Run[np.ndarray]:
    """Minimise a function by the method of Silva and Almeida (1990).

    A step grows by a fifth while its derivative keeps its sign and shrinks by a fifth when it changes. If the value
    rises, all steps are halved and taken again from the last accepted point, which is also what is returned.

    Parameters
    ----------
    evaluate : function
        Gives the value and the gradient at a point (a one-dimensional array).
    start : array of shape (q,)
    max_iter : int
        Evaluations after the first.
    tol : float
        The running mean of the gains (absolute, first 1) that ends the descent.
    first_step : float
    step_range : pair of float
        Between which the steps are kept.

    Returns
    -------
    Run
        Its history holds the value accepted so far after each evaluation, the start included.
    """
    point = np.array(start, dtype=float)
    value, gradient = evaluate(point)
    run = Run(point, [float(value)])
    steps = np.clip(np.full_like(point, 1.2 * first_step), *step_range)
    gain = 1.0
    for _ in range(max_iter):
        trial = run.model - steps * gradient
        value, slope = evaluate(trial)
        last = run.history[-1]
        if not value <= last + _ROUNDING * abs(last):
            steps *= 0.5
            run.history.append(last)
            continue
        gain = _GAIN_MEMORY * gain + (1 - _GAIN_MEMORY) * abs(last - value)
        steps = np.clip(np.where(slope * gradient >= 0, 1.2, 0.8) * steps, *step_range)
        run.model, gradient = trial, slope
        run.history.append(min(float(value), last))
        if gain < tol:
            run.converged = True
            break
    return run


def best_scale(cost: Callable[[float], float], start: float, *, max_iter: int, tol: float) -> Run[float]:
    """Minimise a cost over one positive number: the best power of two times the start, then Brent's method around it.

    The history holds the smallest cost so far.
    """
    run = Run(start)
    logs = np.log(start) + np.log(2.0) * _OCTAVES
    costs = [cost(float(np.exp(x))) for x in logs]
    best = int(np.argmin(costs))
    run.history = np.minimum.accumulate(costs).tolist()
    around = (logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)])
    values: list[float] = []

    def followed(x: float) -> float:
        values.append(cost(float(np.exp(x))))
        return values[-1]

    found = minimize_scalar(followed, bounds=around, method="bounded", options={"xatol": tol, "maxiter": max_iter})
    run.history += np.minimum(np.minimum.accumulate(values), run.history[-1]).tolist()
    run.model = float(np.exp(found.x if found.fun < costs[best] else logs[best]))
    run.converged = bool(found.success)
    return run


# ---- masses from neighbours -----------------------------------------------------------------------------------------


def neighbour_masses(
    squared: np.ndarray, classes: np.ndarray, gamma: np.ndarray, alpha: float, n_classes: int
) -> np.ndarray:
    """(n, M + 1) masses of objects from the (n, K) squared distances and classes of their neighbours, frame last."""
    return _combined(_weights_of_classes(_supports(squared, classes, gamma, alpha), classes, n_classes))


def cost_and_gradient(
    gamma: np.ndarray, squared: np.ndarray, classes: np.ndarray, targets: np.ndarray, alpha: float, mixing: float
) -> tuple[float, np.ndarray]:
    """Half the mean squared difference of outputs o_k = m_k + mixing m(frame) and targets, and its gradient.

    Zouhal and Denoeux (1998), equation 9. With o_k = (r_k + mixing) / Z, r_k = exp(w_k) - 1 and Z = 1 + sum of r, the
    derivative by the support s of a neighbour of class k is (q_k - sum of q o) pl_k / (1 - s), q = (o - t) / n.
    """
    n, n_classes = targets.shape
    supports = _supports(squared, classes, gamma, alpha)
    masses = _combined(_weights_of_classes(supports, classes, n_classes))
    outputs = masses[:, :-1] + mixing * masses[:, -1:]
    errors = outputs - targets
    per_class = (errors - (errors * outputs).sum(axis=1, keepdims=True)) * (masses[:, :-1] + masses[:, -1:])
    per_neighbour = np.take_along_axis(per_class, classes, axis=1) * squared * supports / (1 - supports)
    slopes = np.bincount(classes.ravel(), weights=per_neighbour.ravel(), minlength=n_classes)
    return 0.5 * float((errors * errors).sum()) / n, -2.0 * gamma * slopes / n


def _supports(squared: np.ndarray, classes: np.ndarray, gamma: np.ndarray, alpha: float) -> np.ndarray:
    """(n, K) mass that each neighbour gives to its class: s = alpha exp(-gamma_k^2 d^2) (Zouhal and Denoeux, 1998)."""
    s = gamma[classes]
    s *= s
    s *= squared
    np.negative(s, out=s)
    np.exp(s, out=s)
    s *= alpha
    return s


def _weights_of_classes(supports: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """(n, M) weights of evidence: minus the logarithm of the product of 1 - s over the neighbours of each class."""
    n = len(supports)
    cells = classes + n_classes * np.arange(n)[:, None]
    weights = np.bincount(cells.ravel(), weights=-np.log1p(-supports).ravel(), minlength=n * n_classes)
    return weights.reshape(n, n_classes)


def _combined(weights: np.ndarray) -> np.ndarray:
    """(n, M + 1) Dempster combination of simple mass functions {k}^w_k, the whole frame last.

    m_k is proportional to exp(w_k) - 1 and m(frame) to 1 (Denoeux, 1995); all is divided by exp(largest weight), so
    that many close neighbours do not overflow.
    """
    top = weights.max(axis=1, keepdims=True)
    out = np.empty((len(weights), weights.shape[1] + 1))
    out[:, :-1] = -np.expm1(-weights) * np.exp(weights - top)
    out[:, -1:] = np.exp(-top)
    out /= out.sum(axis=1, keepdims=True)
    return out


# ---- soft labels ----------------------------------------------------------------------------------------------------


class SoftLabels:
    """Labels of the training objects, ready to be discounted by distance and combined by Dempster's rule.

    A neighbour at distance d keeps the share phi(d) of its label and gives the rest to the whole frame, so that its
    commonalities are 1 - phi (1 - q*). Dempster's rule multiplies them; all happens on the smallest family that holds
    the focal sets of the labels, the frame, and all their intersections (Denoeux, 1995, section III).

    Attributes
    ----------
    family : FocalSets
    missing : (n, f) array
        1 - q* of each label.
    _supersets : (f, f) array
    """

    family: FocalSets

    def __init__(self, labels: MassFunctions):
        self.family = _closed(labels.focal_sets)
        on_family = labels.to_family(self.family).masses
        supersets = is_subset(self.family.membership, self.family.membership).astype(float)  # [a, b]: a is inside b
        self.missing = 1.0 - on_family @ supersets.T  # 1 - q*, the same for sets in no label
        self._supersets = supersets

    def masses(self, neighbours: np.ndarray, supports: np.ndarray) -> np.ndarray:
        """(n, f) masses from the (n, K) positions of neighbours and the shares phi of their labels that count."""
        out = np.empty((len(neighbours), len(self.family)))
        size = max(1, _BLOCK // (neighbours.shape[1] * len(self.family)))
        for begin in range(0, len(out), size):
            rows = slice(begin, begin + size)
            logs = np.log1p(-supports[rows, :, None] * self.missing[neighbours[rows]]).sum(axis=1)
            commonality = np.exp(logs - logs.max(axis=1, keepdims=True))  # scaled: the masses are normalised anyway
            masses = solve_triangular(self._supersets, commonality.T, lower=False, unit_diagonal=True).T
            out[rows] = np.maximum(masses, 0)
        return out / out.sum(axis=1, keepdims=True)

    def share(self) -> np.ndarray:
        """(f, M) how pignistic probabilities share the mass of each set."""
        return self.family.membership / self.family.cardinality[:, None]


def _closed(family: FocalSets) -> FocalSets:
    """The sets, the whole frame, and every nonempty intersection, by cardinality."""
    sets = {frozenset(members) for members in family} | {frozenset(range(family.n_clusters))}
    sets.discard(frozenset())
    given = fresh = sets
    while fresh:
        fresh = {a & b for a in given for b in fresh} - sets - {frozenset()}
        sets = sets | fresh
        if len(sets) > MAX_SETS:
            raise InvalidParameterError(
                "y", f"soft labels whose sets have at most {MAX_SETS} intersections; use fewer focal sets"
            )
    return FocalSets.from_sets(family.n_clusters, [tuple(sorted(members)) for members in sets]).sorted()
