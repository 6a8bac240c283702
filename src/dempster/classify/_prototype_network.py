"""Base of the prototype networks: units, starts, restarts, L-BFGS, and regularisation by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._random import as_random_state
from dempster._validation import as_reals, mean_of_rows
from dempster.classify._base import EvidentialClassifier, Targets
from dempster.optimize.blocks import block_map
from dempster.optimize.descent import Run
from dempster.optimize.k_means import k_means
from dempster.optimize.lbfgs import minimize_lbfgs

Cost = Callable[[np.ndarray], tuple[float, np.ndarray]]

NETWORK_RULES: Mapping[str, rule.Rule] = {
    "n_prototypes": rule.choice("auto") | rule.integer(1),
    "regularization": rule.real(0) | rule.choice("cv") | rule.array,
    "optimize_prototypes": rule.flag,
    "cv": rule.integer(2),
    "n_init": rule.repetitions(),
    "max_iter": rule.iterations(),
    "tol": rule.real(0),
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
}

_PER_CLASS = 5  # prototypes of n_prototypes="auto"
_MIN_UNIT = 1e-290  # one over it is still a number
_STARTS_DRAWN = 8  # first parameters of which one descent takes the best


@dataclass(frozen=True)
class Problem:
    """Training objects in their own unit, with what is known of their classes."""

    data: np.ndarray  # (n, p) centred, mean variance 1
    indicators: np.ndarray  # (n, M) probabilities of the classes
    belief: np.ndarray  # (n, M) and plausibility: both are the indicators where classes are known
    contour: np.ndarray

    def subset(self, rows: np.ndarray) -> Problem:
        return Problem(self.data[rows], self.indicators[rows], self.belief[rows], self.contour[rows])

    def __len__(self) -> int:
        return len(self.data)


class PrototypeNetworkClassifier(EvidentialClassifier):
    """Base of the prototype networks: a method supplies starts, its cost, its fitted attributes and its masses.

    Subclasses have the parameters of `NETWORK_RULES`. The strength of the regularisation is a number, a sequence of
    numbers to choose from, or "cv".

    Attributes
    ----------
    _centre : (n_features,) array
    _unit : float
        What is taken off attributes and by what they are divided.
    """

    _centre: np.ndarray
    _unit: float
    _strengths: tuple[float, ...]  # what regularization="cv" tries

    # ---- what a method supplies -----------------------------------------------------------------------------------

    def _start(self, problem: Problem, n_prototypes: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw first parameters, in a vector."""
        raise NotImplementedError

    def _cost(self, problem: Problem, strength: float) -> Cost:
        """Return a function that computes the cost and the gradient of a vector of parameters."""
        raise NotImplementedError

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        """Set the fitted attributes, given parameters in the unit of the problem."""
        raise NotImplementedError

    # ---- learning -------------------------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any) -> None:
        data, targets = self._checked_training(X, y)
        rng = as_random_state(self.random_state)
        problem = self._problem(data, targets)
        count = self._number_of_prototypes(problem)
        strength = self._chosen_strength(problem, targets, count, rng)
        run = self._best(problem, count, strength, self.n_init, rng)
        self._set_model(run.model, data.shape[1])
        self._set_run(run)

    def _problem(self, data: np.ndarray, targets: Targets) -> Problem:
        """Centre the objects and divide by one unit, which does not change a model of Euclidean distances."""
        values = data.astype(float)
        self._centre = mean_of_rows(values)
        values -= self._centre
        largest = float(np.abs(values).max()) or 1.0  # its square may overflow
        self._unit = largest * float(np.sqrt(np.mean((values / largest) ** 2))) or 1.0
        if self._unit < _MIN_UNIT:
            raise InvalidParameterError(
                "X", message=f"X must hold numbers that differ by at least {_MIN_UNIT:g}: multiply X by 1e100"
            )
        belief = targets.indicators if targets.soft is None else targets.soft.singleton_belief
        contour = np.minimum(targets.contour, 1.0)
        data, belief, contour = (np.ascontiguousarray(a) for a in (values / self._unit, belief, contour))
        return Problem(data, targets.indicators, belief, contour)

    def _in_unit(self, X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((X.astype(float) - self._centre) / self._unit)

    def _number_of_prototypes(self, problem: Problem) -> int:
        different = len(np.unique(problem.data, axis=0))
        if isinstance(self.n_prototypes, str):
            return min(_PER_CLASS * problem.indicators.shape[1], different)
        if self.n_prototypes > different:
            raise InvalidParameterError(
                "n_prototypes", f"at most the number of different training objects, {different}", self.n_prototypes
            )
        return int(self.n_prototypes)

    def _best(self, problem: Problem, count: int, strength: float, n_init: int, rng: Any) -> Run[np.ndarray]:
        """Descend from several starts, in threads, and return the run with the smallest cost, the first on ties."""
        seeds = rng.randint(2**31 - 1, size=n_init)

        def run(seed: int) -> Run[np.ndarray]:
            return self._minimum(problem, strength, self._promising_start(problem, count, np.random.RandomState(seed)))

        with block_map(self.n_jobs) as apply:
            return min(apply(run, [(seed,) for seed in seeds]), key=lambda found: found.objective)

    def _promising_start(self, problem: Problem, count: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw some first parameters and return those of smallest cost, which takes little beside a descent."""
        cost = self._cost(problem, 0.0)
        starts = [self._start(problem, count, rng) for _ in range(_STARTS_DRAWN)]
        return min(starts, key=lambda start: cost(start)[0])

    def _minimum(self, problem: Problem, strength: float, start: np.ndarray) -> Run[np.ndarray]:
        """Descend from these parameters."""
        cost = self._cost(problem, strength)
        return minimised(cost, start, self._held(start), max_iter=self.max_iter, tol=self.tol)

    def _held(self, start: np.ndarray) -> np.ndarray:
        """Tell which parameters stay as they start."""
        return np.zeros(len(start), dtype=bool)

    # ---- strength of the regularisation ---------------------------------------------------------------------------

    def _chosen_strength(self, problem: Problem, targets: Targets, count: int, rng: Any) -> float:
        """Return the strength given, or that of smallest cross-validated cost, the largest on ties."""
        given = self.regularization
        if np.ndim(given) == 0 and not isinstance(given, str):
            strength = float(given)
        else:
            grid = np.array(
                self._strengths if isinstance(given, str) else as_reals(given, "regularization"), dtype=float
            )
            if grid.ndim != 1 or not len(grid) or not (np.isfinite(grid) & (grid >= 0)).all():
                raise InvalidParameterError("regularization", "numbers of at least 0", given)
            losses = self._validated(problem, targets, count, grid, rng)
            self.cv_losses_ = dict(zip(grid.tolist(), losses.tolist(), strict=True))
            strength = float(max(grid[losses == losses.min()]))
        self.regularization_ = strength
        return strength

    def _validated(self, problem: Problem, targets: Targets, count: int, grid: np.ndarray, rng: Any) -> np.ndarray:
        """Compute the mean cost, without regularisation, of left-out objects, with one descent a fold."""
        tasks = []
        for train, test in _folds(targets, self.cv, rng):
            inside, outside = problem.subset(train), problem.subset(test)
            fewer = min(count, len(np.unique(inside.data, axis=0)))
            start = self._promising_start(inside, fewer, rng)
            tasks += [(inside, outside, float(strength), start) for strength in grid]

        def loss(inside: Problem, outside: Problem, strength: float, start: np.ndarray) -> float:
            found = self._minimum(inside, strength, start).model
            return self._cost(outside, 0.0)(found)[0] * len(outside) / len(problem)

        with block_map(self.n_jobs) as apply:
            return np.reshape(apply(loss, tasks), (-1, len(grid))).sum(axis=0)


def _folds(targets: Targets, cv: int, rng: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide the training set into parts, with all classes in each if they are known and large enough."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n = len(targets)
    if cv > n:
        raise InvalidParameterError("cv", f"at most the number of training objects, {n}", cv)
    codes = targets.codes
    if codes is not None and np.unique(codes, return_counts=True)[1].min() >= cv:
        return list(StratifiedKFold(cv, shuffle=True, random_state=rng).split(np.zeros(n), codes))
    if codes is not None and np.bincount(codes).max() >= cv:
        # a class with few objects is in some of the parts only: the objects are dealt out, class after class
        part = np.empty(n, dtype=int)
        part[np.concatenate([rng.permutation(np.flatnonzero(codes == k)) for k in np.unique(codes)])] = (
            np.arange(n) % cv
        )
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(cv)]
    return list(KFold(cv, shuffle=True, random_state=rng).split(np.zeros(n)))


def minimised(cost: Cost, start: np.ndarray, held: np.ndarray, *, max_iter: int, tol: float) -> Run[np.ndarray]:
    """Run L-BFGS; the history holds the cost after every iteration, or that of the start if there was none."""

    def of_free(values: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = cost(values)
        gradient[held] = 0.0
        return value, gradient

    run = minimize_lbfgs(of_free if held.any() else cost, start, max_iter=max_iter, tol=tol, gradient_tol=tol / 10)
    run.history = run.history[1:] or run.history
    return run


def clustered(X: np.ndarray, weights: np.ndarray, n_clusters: int, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return centres of a weighted k-means and the clusters; there are fewer where objects coincide."""
    return k_means(X, _count_different(X, n_clusters), rng, weights)


def _count_different(X: np.ndarray, enough: int) -> int:
    """Count different objects up to ``enough``: most often the first few suffice."""
    seen = set()
    for row in X:
        seen.add((row + 0.0).tobytes())  # there is one zero only
        if len(seen) == enough:
            break
    return len(seen)


def shares(sizes: Sequence[float], most: Sequence[int], total: int) -> np.ndarray:
    """Share ``total`` prototypes between classes, evenly, none more than it can have; the rest to larger classes."""
    limit = np.asarray(most)
    count = np.zeros(len(limit), dtype=int)
    order = np.argsort(-np.asarray(sizes), kind="stable")
    while count.sum() < total and (count < limit).any():
        for k in order:
            if count[k] < limit[k] and count.sum() < total:
                count[k] += 1
    return count
