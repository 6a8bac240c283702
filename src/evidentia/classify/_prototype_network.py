"""What networks of prototypes share: units, starts, restarts, L-BFGS, and regularisation by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from evidentia import _parameters as rule
from evidentia._fitting import draft_of
from evidentia._random import as_random_state
from evidentia.classify._base import EvidentialClassifier, Targets
from evidentia.optimize.blocks import block_map
from evidentia.optimize.descent import Run

__all__ = ["PrototypeNetworkClassifier", "NETWORK_RULES", "clustered"]

Cost = Callable[[np.ndarray], tuple[float, np.ndarray]]

NETWORK_RULES: Mapping[str, rule.Rule] = {
    "n_prototypes": rule.choice("auto") | rule.integer(1),
    "regularization": rule.real(0) | rule.choice("cv") | rule.array,
    "optimize_prototypes": rule.flag,
    "cv": rule.integer(2),
    "n_init": rule.integer(1),
    "max_iter": rule.integer(1),
    "tol": rule.real(0),
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
}

_PER_CLASS = 5  # prototypes of n_prototypes="auto"


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
    """Base of the networks of prototypes. A method supplies starts, its cost, its fitted attributes and its masses.

    Subclasses have the parameters of `NETWORK_RULES`. The strength of the regularisation is a number, a sequence of
    numbers to choose from, or "cv".
    """

    _strengths: tuple[float, ...]  # what regularization="cv" tries

    # ---- what a method supplies -----------------------------------------------------------------------------------

    def _start(self, problem: Problem, n_prototypes: int, rng: np.random.RandomState) -> np.ndarray:
        """First parameters, in a vector."""
        raise NotImplementedError

    def _cost(self, problem: Problem, strength: float, n_jobs: int | None) -> Cost:
        """Cost and gradient of a vector of parameters, computed by so many threads."""
        raise NotImplementedError

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        """Fitted attributes, in the unit of the problem."""
        raise NotImplementedError

    # ---- learning -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or MassFunctions
            Classes, or a mass function on the classes for each object.

        Returns
        -------
        self
        """
        with draft_of(self) as draft:
            draft._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any) -> None:
        data, targets = self._checked_training(X, y)
        rng = as_random_state(self.random_state)
        problem = self._problem(data, targets)
        count = self._number_of_prototypes(problem)
        strength = self._chosen_strength(problem, targets, count, rng)
        run = self._best(problem, count, strength, self.n_init, rng)
        self._set_model(run.model, data.shape[1])
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history)
        self.converged_ = run.converged
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; increase max_iter or "
                "tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _problem(self, data: np.ndarray, targets: Targets) -> Problem:
        """The distances of the model are Euclidean: one unit for all attributes leaves it as it is."""
        values = data.astype(float)
        self._centre = values.mean(axis=0)
        values -= self._centre
        largest = float(np.abs(values).max()) or 1.0  # its square may overflow
        self._unit = largest * float(np.sqrt(np.mean((values / largest) ** 2))) or 1.0
        belief = targets.indicators if targets.soft is None else targets.soft.singleton_belief
        return Problem(
            np.ascontiguousarray(values / self._unit), targets.indicators, belief, np.minimum(targets.contour, 1.0)
        )

    def _in_unit(self, X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((X.astype(float) - self._centre) / self._unit)

    def _number_of_prototypes(self, problem: Problem) -> int:
        different = len(np.unique(problem.data, axis=0))
        if isinstance(self.n_prototypes, str):
            return min(_PER_CLASS * problem.indicators.shape[1], different)
        if self.n_prototypes > different:
            raise ValueError(
                f"n_prototypes must be at most the number of different training objects, {different}, got "
                f"{self.n_prototypes}"
            )
        return int(self.n_prototypes)

    def _best(self, problem: Problem, count: int, strength: float, n_init: int, rng: Any) -> Run[np.ndarray]:
        """The smallest cost of several starts, the first on ties; threads share the starts, or the objects."""
        cost = self._cost(problem, strength, self.n_jobs if n_init == 1 else 1)
        seeds = rng.randint(2**31 - 1, size=n_init)

        def run(seed: int) -> Run[np.ndarray]:
            start = self._start(problem, count, np.random.RandomState(seed))
            return minimised(cost, start, self._held(start), max_iter=self.max_iter, tol=self.tol)

        with block_map(self.n_jobs) as apply:
            return min(apply(run, [(seed,) for seed in seeds]), key=lambda found: found.objective)

    def _held(self, start: np.ndarray) -> np.ndarray:
        """Which parameters stay as they start."""
        return np.zeros(len(start), dtype=bool)

    # ---- strength of the regularisation ---------------------------------------------------------------------------

    def _chosen_strength(self, problem: Problem, targets: Targets, count: int, rng: Any) -> float:
        """The strength given, or that with the smallest cross-validated cost, the largest on ties."""
        given = self.regularization
        if np.ndim(given) == 0 and not isinstance(given, str):
            strength = float(given)
        else:
            grid = np.array(self._strengths if isinstance(given, str) else given, dtype=float)
            if grid.ndim != 1 or not len(grid) or not (np.isfinite(grid) & (grid >= 0)).all():
                raise ValueError(f"regularization must hold numbers of at least 0, got {given!r}")
            losses = self._validated(problem, targets, count, grid, rng)
            self.cv_losses_ = dict(zip(grid.tolist(), losses.tolist(), strict=True))
            strength = float(max(grid[losses == losses.min()]))
        self.regularization_ = strength
        return strength

    def _validated(self, problem: Problem, targets: Targets, count: int, grid: np.ndarray, rng: Any) -> np.ndarray:
        """Mean cost, without regularisation, of objects that were left out; one start a fold."""
        losses = np.zeros(len(grid))
        for train, test in _folds(targets, self.cv, rng):
            inside, outside = problem.subset(train), problem.subset(test)
            fewer = min(count, len(np.unique(inside.data, axis=0)))
            start = self._start(inside, fewer, rng)
            judge = self._cost(outside, 0.0, self.n_jobs)
            for j, strength in enumerate(grid):
                cost = self._cost(inside, float(strength), self.n_jobs)
                run = minimised(cost, start, self._held(start), max_iter=self.max_iter, tol=self.tol)
                losses[j] += judge(run.model)[0] * len(test) / len(problem)
        return losses


def _folds(targets: Targets, cv: int, rng: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Parts of the training set, with all classes in each if they are known and have enough objects."""
    from sklearn.model_selection import KFold, StratifiedKFold

    n = len(targets)
    if cv > n:
        raise ValueError(f"cv must be at most the number of training objects, {n}, got {cv}")
    codes = targets.codes
    if codes is not None and np.bincount(codes).max() >= cv:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class with few objects is in some of the parts only
            return list(StratifiedKFold(cv, shuffle=True, random_state=rng).split(np.zeros(n), codes))
    return list(KFold(cv, shuffle=True, random_state=rng).split(np.zeros(n)))


def minimised(cost: Cost, start: np.ndarray, held: np.ndarray, *, max_iter: int, tol: float) -> Run[np.ndarray]:
    """L-BFGS; the history holds the cost after every iteration, or that of the start where nothing was to be gained."""
    from scipy.optimize import minimize

    run: Run[np.ndarray] = Run(start, [])
    free = ~held

    def some(values: np.ndarray) -> tuple[float, np.ndarray]:
        every = start.copy()
        every[free] = values
        value, gradient = cost(every)
        return value, gradient[free]

    def record(intermediate_result: Any) -> None:
        run.history.append(float(intermediate_result.fun))

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol, "gtol": tol / 10, "maxcor": 20}
    found = minimize(some, start[free], jac=True, method="L-BFGS-B", callback=record, options=options)
    run.model = start.copy()
    run.model[free] = found.x
    run.history = run.history or [float(found.fun)]
    run.converged = found.status != 1  # 1: stopped by max_iter
    return run


def clustered(X: np.ndarray, weights: np.ndarray, n_clusters: int, rng: Any) -> tuple[np.ndarray, np.ndarray]:
    """Centres of a weighted k-means and the cluster of each object; fewer centres where objects coincide."""
    from sklearn.cluster import KMeans

    n_clusters = min(n_clusters, len(np.unique(X, axis=0)))
    model = KMeans(n_clusters, n_init=1, random_state=rng.randint(2**31 - 1)).fit(X, sample_weight=weights)
    return model.cluster_centers_, model.labels_


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
