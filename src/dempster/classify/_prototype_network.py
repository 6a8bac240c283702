"""Base class of the prototype networks: optimization and cross-validated regularization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from dempster import _validation as rule
from dempster._arrays import row_mean
from dempster._errors import InvalidParameterError
from dempster._random import as_random_state
from dempster._types import Objective
from dempster._validation import as_numbers
from dempster.classify._base import EvidentialClassifier, Targets
from dempster.optimize.blocks import block_map
from dempster.optimize.descent import Run
from dempster.optimize.lbfgs import minimize_lbfgs

NETWORK_RULES: Mapping[str, rule.Rule] = {
    "n_prototypes": rule.auto | rule.positive_integer,
    "regularization": rule.nonnegative | rule.choice("cv") | rule.array,
    "cv": rule.integer(2),
    "n_init": rule.repetitions(),
    "max_iter": rule.iterations,
    "tol": rule.nonnegative,
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
}

_PROTOTYPES_PER_CLASS = 5  # for n_prototypes="auto"
_MIN_UNIT = 1e-290  # smallest scale of the data, chosen so that its inverse is finite
# number of random parameter vectors; the one with the smallest cost is optimized
_N_DRAWS = 8


@dataclass(frozen=True)
class Problem:
    """Scaled training objects (n rows, p attributes) and their labels (M classes)."""

    data: np.ndarray  # centered attributes with a mean variance of 1, shape (n, p)
    # pignistic probabilities of the classes, shape (n, M); 0 or 1 for hard labels
    indicators: np.ndarray
    # beliefs of the classes, shape (n, M); equal to indicators for hard labels
    belief: np.ndarray
    # plausibilities of the classes, shape (n, M); equal to indicators for hard labels
    contour: np.ndarray

    def subset(self, rows: np.ndarray) -> Problem:
        return Problem(*(values[rows] for values in vars(self).values()))

    def __len__(self) -> int:
        return len(self.data)


class PrototypeNetworkClassifier(EvidentialClassifier):
    """Base class of the prototype networks, which have the parameters in `NETWORK_RULES`.

    All values to optimize are in one vector, which starts with the coordinates of the prototypes.
    """

    # The scaled attributes are (x - _centre) / _unit.
    _centre: Annotated[np.ndarray, "n_features"]
    _unit: float
    prototypes_: Annotated[np.ndarray, "r n_features"]
    gamma_: Annotated[np.ndarray, "r"]
    # regularization strengths that regularization="cv" compares
    _strengths: tuple[float, ...]

    # ---- implemented by subclasses ---------------------------------------------------------------

    def _start(
        self, problem: Problem, n_prototypes: int, rng: np.random.RandomState
    ) -> np.ndarray:
        """Return a random initial vector of parameters."""
        raise NotImplementedError

    def _cost(self, problem: Problem, strength: float) -> Objective:
        """Return a function that computes the cost and its gradient for a vector of parameters."""
        raise NotImplementedError

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        """Set the fitted attributes from the parameters, which refer to the scaled data."""
        raise NotImplementedError

    # ---- learning --------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any) -> None:
        data, targets = self._validate_training(X, y)
        rng = as_random_state(self.random_state)
        problem = self._scale(data, targets)
        count = self._count_prototypes(problem)
        strength = self._select_strength(problem, targets, count, rng)
        run = self._select_run(problem, count, strength, rng)
        self._set_model(run.model, data.shape[1])
        self._set_run(run)

    def _scale(self, data: np.ndarray, targets: Targets) -> Problem:
        """Center the training objects and divide them by their overall scale."""
        values = data.astype(float)
        self._centre = row_mean(values)
        values -= self._centre
        # Divide by it first, because its square may overflow.
        largest = float(np.abs(values).max()) or 1.0
        self._unit = largest * float(np.sqrt(np.mean((values / largest) ** 2))) or 1.0
        if self._unit < _MIN_UNIT:
            raise InvalidParameterError(
                "X",
                must=f"have differences of at least {_MIN_UNIT:g}; multiply X by 1e100",
            )
        belief = (
            targets.indicators
            if targets.soft is None
            else targets.soft.singleton_belief
        )
        return Problem(
            np.ascontiguousarray(values / self._unit),
            targets.indicators,
            np.ascontiguousarray(belief),
            np.ascontiguousarray(np.minimum(targets.contour, 1.0)),
        )

    def _apply_scale(self, X: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray((X.astype(float) - self._centre) / self._unit)

    def _count_prototypes(self, problem: Problem) -> int:
        n_unique = len(np.unique(problem.data, axis=0))
        n_prototypes = self.n_prototypes
        if isinstance(n_prototypes, str):
            return min(_PROTOTYPES_PER_CLASS * problem.indicators.shape[1], n_unique)
        if n_prototypes > n_unique:
            raise InvalidParameterError(
                "n_prototypes",
                f"at most {n_unique} (unique objects)",
                n_prototypes,
            )
        return int(n_prototypes)

    def _select_run(
        self, problem: Problem, count: int, strength: float, rng: Any
    ) -> Run[np.ndarray]:
        """Minimize the cost from ``n_init`` random starts, and return the best result."""
        seeds = rng.randint(2**31 - 1, size=self.n_init)

        def run(seed: int) -> Run[np.ndarray]:
            start = self._draw_start(problem, count, np.random.RandomState(seed))
            return self._minimize(problem, strength, start)

        with block_map(self.n_jobs) as apply:
            return min(
                apply(run, [(seed,) for seed in seeds]), key=lambda one: one.objective
            )

    def _draw_start(
        self, problem: Problem, count: int, rng: np.random.RandomState
    ) -> np.ndarray:
        """Draw several random vectors of initial parameters, and return the best."""
        cost = self._cost(problem, 0.0)
        starts = [self._start(problem, count, rng) for _ in range(_N_DRAWS)]
        return min(starts, key=lambda start: cost(start)[0])

    def _minimize(
        self, problem: Problem, strength: float, start: np.ndarray
    ) -> Run[np.ndarray]:
        """Minimize the cost by L-BFGS."""
        run = minimize_lbfgs(
            self._cost(problem, strength),
            start,
            max_iter=self.max_iter,
            tol=self.tol,
            gradient_tol=self.tol / 10,
        )
        run.history = run.history[1:] or run.history
        return run

    # ---- strength of the regularization ----------------------------------------------------------

    def _select_strength(
        self, problem: Problem, targets: Targets, count: int, rng: Any
    ) -> float:
        """Return the given strength, or the candidate with the smallest cross-validated cost.

        In case of ties, return the largest candidate.
        """
        strength = self.regularization
        if isinstance(strength, str):
            strength = self._strengths
        if np.ndim(strength) > 0:
            grid = as_numbers(strength, "regularization", 0)
            if grid.ndim != 1 or not len(grid):
                raise InvalidParameterError(
                    "regularization", "a list of numbers", strength
                )
            losses = self._cross_validate(problem, targets, count, grid, rng)
            self.cv_losses_ = dict(zip(grid.tolist(), losses.tolist(), strict=True))
            strength = max(grid[losses == losses.min()])
        self.regularization_ = float(strength)
        return self.regularization_

    def _cross_validate(
        self, problem: Problem, targets: Targets, count: int, grid: np.ndarray, rng: Any
    ) -> np.ndarray:
        """Return the mean cost on the validation sets, without the penalty, for each strength."""
        tasks = []
        for train, test in _folds(targets, self.cv, rng):
            training = problem.subset(train)
            validation = problem.subset(test)
            n_prototypes = min(count, len(np.unique(training.data, axis=0)))
            start = self._draw_start(training, n_prototypes, rng)
            tasks += [
                (training, validation, float(strength), start) for strength in grid
            ]

        def loss(
            training: Problem, validation: Problem, strength: float, start: np.ndarray
        ) -> float:
            parameters = self._minimize(training, strength, start).model
            return (
                self._cost(validation, 0.0)(parameters)[0]
                * len(validation)
                / len(problem)
            )

        with block_map(self.n_jobs) as apply:
            return np.reshape(apply(loss, tasks), (-1, len(grid))).sum(axis=0)


def _folds(targets: Targets, cv: int, rng: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows for training and validation of each fold, stratified by class if hard."""
    from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

    n = len(targets.indicators)
    codes = targets.codes
    if cv > n:
        raise InvalidParameterError(
            "cv", f"at most the number of training objects, {n}", cv
        )
    splitter: Any = KFold(cv, shuffle=True, random_state=rng)
    if codes is not None:
        sizes = np.bincount(codes)
        if sizes.min() >= cv:
            splitter = StratifiedKFold(cv, shuffle=True, random_state=rng)
        elif sizes.max() >= cv:
            # Assign objects to folds class by class. StratifiedKFold would warn that a class has
            # fewer objects than folds.
            fold = np.empty(n, int)
            members = [np.flatnonzero(codes == k) for k in range(len(sizes))]
            order = np.concatenate([rng.permutation(rows) for rows in members])
            fold[order] = np.arange(n) % cv
            splitter = PredefinedSplit(fold)
    return list(splitter.split(np.zeros(n), codes))


def allocate(sizes: Sequence[float], limits: Sequence[int], total: int) -> np.ndarray:
    """Distribute ``total`` prototypes evenly over the classes, at most ``limits``.

    Large classes get the remainder.
    """
    limit = np.asarray(limits)
    count = np.zeros(len(limit), int)
    order = np.argsort(-np.asarray(sizes), kind="stable")
    for _ in range(min(total, limit.sum())):
        smallest = min(order, key=lambda k: (count[k] >= limit[k], count[k]))
        count[smallest] += 1
    return count
