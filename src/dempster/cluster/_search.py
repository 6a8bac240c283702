"""Run an algorithm from several initial states and select the best run.

Every fit follows the same path::

    Sample -> Method -> Search -> Run[model] -> FitResult -> CredalPartition

A `Method` is an algorithm with its parameters and the rows to fit. `Search` runs it from several
initial states ("starts"), selects the best run and continues with it. The result contains a model
that computes masses for the rows of the fit and for new rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, reduce
from itertools import compress
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.special import entr

from dempster._errors import InvalidParameterError
from dempster._types import Advance, Index
from dempster.belief import FocalSets
from dempster.data.rows import BlockRows, Rows, open_rows
from dempster.optimize.blocks import Apply, run_outside
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition, nearest_pairs
from dempster.partition.credal_partition import Deferred

FAMILY_NAMES = ("auto", "simple", "pairs", "full", "selected")
# With this number of focal sets, the fit of 40 objects to pairs takes a minute.
_MAX_SETS = 256


@dataclass(frozen=True)
class Families:
    """Families of focal sets that a fit uses one after the other.

    ``select`` computes a second family, given the partition on the first family and the weights of
    its rows.
    """

    first: FocalSets  # family that is fitted first
    select: Callable[[CredalPartition, np.ndarray | None], FocalSets] | None = None
    # whether pairs of neighboring clusters are added at the end, without changing the clusters
    neighbors: bool = False


def resolve_families(
    focal_sets: str | FocalSets,
    n_clusters: int,
    n_neighbor_clusters: int = 1,
    *,
    empty: bool = True,
) -> Families:
    """Return the families of focal sets that the parameter ``focal_sets`` selects.

    If ``empty`` is true, named families contain the empty set. "auto" fits only single clusters.
    The empty set and the pairs of neighboring clusters are added at the end, because a fitted empty
    set would absorb small clusters.
    """
    if isinstance(focal_sets, FocalSets):
        return Families(focal_sets)
    if focal_sets == "auto":
        return Families(
            FocalSets.simple(n_clusters, empty=False, omega=False), neighbors=True
        )
    first = named_family(focal_sets, n_clusters, empty=empty)
    if focal_sets != "selected":
        return Families(first)
    return Families(
        first, partial(_add_nearest_pairs, n_clusters, n_neighbor_clusters, empty)
    )


def named_family(
    name: str, n_clusters: int, *, empty: bool = True, omega: bool = True
) -> FocalSets:
    """Return all sets, the pairs, or the single clusters and the frame."""
    if name == "full":
        return FocalSets.full(n_clusters, empty=empty)
    if name == "pairs":
        return FocalSets.pairs(n_clusters, empty=empty, omega=omega)
    return FocalSets.simple(n_clusters, empty=empty)


def _add_nearest_pairs(
    n_clusters: int,
    n_neighbors: int,
    empty: bool,
    partition: CredalPartition,
    weights: np.ndarray | None,
) -> FocalSets:
    pairs = nearest_pairs(partition, n_neighbors, weights)
    return FocalSets.with_pairs(n_clusters, pairs, empty=empty)


def require_singletons(
    family: FocalSets, why: str = "each cluster has a prototype"
) -> None:
    """Raise an error if the family lacks a single cluster."""
    if (family.singleton_index < 0).any():
        must = f"contain every single cluster: {why}"
        raise InvalidParameterError("focal_sets", must=must)


def check_number_of_sets(family: FocalSets) -> None:
    """Raise an error if the family is too large to fit masses to pairs of objects."""
    if len(family) > _MAX_SETS:
        must = f"contain at most {_MAX_SETS} sets, got {len(family):,}"
        advice = "use 'simple', 'pairs' or 'selected'"
        raise InvalidParameterError("focal_sets", must=f"{must}; {advice}")


Values = TypeVar("Values")
Start = TypeVar("Start")
Model = TypeVar("Model")

# difference of log-likelihoods per object below which two runs are tied
_TIED_LIKELIHOODS = 1e-4
# relative to the smallest objective; worse runs are not compared by their likelihood
_MAX_GAP = 0.1
# relative difference below which the objectives of two runs are tied
_TIED_OBJECTIVES = 1e-9


@dataclass(frozen=True)
class Sample(Generic[Values]):
    """The rows of one fit."""

    values: Values  # array or source of dissimilarities, in the form that the algorithm uses
    weights: np.ndarray | None = None  # (n,), None if all rows have equal weight
    index: Index = None  # names of the rows
    # (p,), variances of the features within clusters if X may have missing values
    within: np.ndarray | None = None
    # all rows, if X comes in blocks and ``values`` contains a random subset
    blocks: BlockRows | None = None
    device: Any = None  # device of X if X is a tensor

    @property
    def kernel_weights(self) -> np.ndarray:
        """Weights of the rows, or an empty array if all rows have equal weight."""
        if self.weights is None:
            return np.empty(0)
        return self.weights

    def rows(self, apply: Apply, device: str = "cpu") -> Rows:
        """Return all rows of X, in memory, in blocks or on a device."""
        values: Any = self.values
        if self.blocks is not None:
            return self.blocks.with_values(values, device, apply)
        return open_rows(values, self.kernel_weights, apply, device)

    def original_positions(self, positions: np.ndarray) -> np.ndarray:
        """Convert indices of rows in ``values`` to indices among all rows of X."""
        if self.blocks is None:
            return positions
        return self.blocks.indices[positions]


@dataclass(frozen=True)
class FitResult:
    """Result of a fit."""

    run: Run[Any]  # objective after every iteration, and whether the run converged
    # has the f focal sets ``family`` and the method ``masses(values, apply)``, which returns the
    # masses of n rows, shape (n, f)
    model: Any
    masses: Any  # (n, f) array, tensor or blocks, masses of the rows of the fit
    warnings: tuple[str, ...] = ()  # warnings for the user
    # whether the rows form several clusters; None if unknown
    is_separated: bool | Deferred | None = None


def most_likely_runs(
    runs: list[Run[Model]],
    costs: Callable[[Model], np.ndarray],
    weights: np.ndarray,
    dimension: float,
) -> list[Run[Model]]:
    """Return the runs with almost the largest classification likelihood.

    The objective of c-means prefers clusters of equal sizes. If the sizes are very different, it
    can be smaller for prototypes that divide a large cluster and merge small ones. Runs whose
    objectives are nearly equal (up to 10 %) are therefore compared by the likelihood of spherical
    Gaussian clusters with a common variance and different proportions (Symons, 1981, Biometrics
    37), in which each object belongs to the nearest prototype. Minus its logarithm, per object and
    up to a constant, is d / 2 log(mean squared distance) plus the entropy of the proportions.

    ``costs`` returns the squared distances, shape (n, c), of objects with the given weights.
    ``dimension`` is the number d of attributes.
    """
    smallest = min(run.objective for run in runs)
    runs = [run for run in runs if run.objective <= smallest + _MAX_GAP * abs(smallest)]
    losses = np.empty(len(runs))
    for i, run in enumerate(runs):
        squares = costs(run.model)
        sizes = np.bincount(squares.argmin(axis=1), weights, squares.shape[1])
        shares = sizes / weights.sum()
        error = max(
            float(np.average(squares.min(axis=1), weights=weights)),
            np.finfo(float).tiny,
        )
        losses[i] = dimension / 2 * np.log(error) + entr(shares).sum()
    return list(compress(runs, losses <= losses.min() + _TIED_LIKELIHOODS))


class Method(ABC, Generic[Start, Model]):
    """Algorithm with its parameters and the rows to fit, for any family of focal sets."""

    n_starts_drawn = 0  # number of starts, set by `Search.run`
    # tolerance of the iterations, for methods that may not use that of the estimator
    used_tol: Any = None
    # whether the runs from several starts are parallel; each run then uses one thread
    starts_in_threads = False

    @abstractmethod
    def draw_starts(self, family: FocalSets) -> list[Start]:
        """Return the initial states to compare, or the only one that the user specified."""

    @abstractmethod
    def run_start(self, start: Start) -> Run[Model]:
        """Run the algorithm from one initial state, possibly on some rows or not to the end."""

    def select_run(self, runs: Iterable[Run[Model]], tol: float) -> Run[Model]:
        """Return the run with the smallest objective, the first one in case of ties.

        Objectives whose relative difference is below ``tol`` are tied. Several starts often
        converge to the same solution up to rounding. Rounding must not decide which run is
        selected, because the numbering of the clusters depends on the run.
        """
        margin = max(tol, _TIED_OBJECTIVES)

        def better(best: Run[Model], run: Run[Model]) -> Run[Model]:
            largest = best.objective - margin * abs(best.objective)
            if run.objective < largest:
                return run
            return best

        return reduce(better, runs)

    def refine(self, best: Run[Model]) -> Run[Model]:
        """Continue the selected run on all rows until it converges."""
        return best

    def partition(self, run: Run[Model]) -> CredalPartition:
        """Return the partition of the rows from which a second family of focal sets is selected."""
        result = self.result(run)
        return CredalPartition.unchecked(result.masses, result.model.family)

    def extend(self, run: Run[Model], family: FocalSets) -> Run[Model]:
        """Continue a run with a second family of focal sets."""
        raise NotImplementedError("several families of focal sets are not supported")

    def add_neighbor_pairs(self, run: Run[Model]) -> Run[Model]:
        """Add the pairs of neighboring clusters, and the empty set, to the focal sets.

        The empty set is added if the algorithm uses it. The fitted clusters do not change. If pairs
        were fitted, they would attract the prototypes of their clusters. If three clusters lie in a
        row, the barycenter of the outer clusters is also the center of the middle cluster. Pairs
        that are added afterwards get mass only from the rows between the two clusters.
        """
        raise NotImplementedError("several families of focal sets are not supported")

    @abstractmethod
    def result(self, run: Run[Model]) -> FitResult:
        """Return the model, the masses of the rows and the warnings for a run."""


@dataclass(frozen=True)
class Search:
    """Run an algorithm from several initial states and continue with the best run."""

    tol: float  # relative difference below which objectives are tied
    apply: Apply  # function that runs tasks in parallel
    # function that opens a progress bar, given the number of steps and their unit
    progress: Callable[[int, str], Any]
    # number of starts that run at the same time in an external pool of workers
    n_jobs: int | None = None

    def run(
        self,
        method: Method[Start, Model],
        families: Families,
        weights: np.ndarray | None = None,
    ) -> Run[Model]:
        """Return the best run, with the second family or the pairs of neighbors, if required.

        A second family contains the single clusters and the pairs of mutually nearest clusters
        (Denoeux, 2021). ``weights`` are the weights of the rows of `Method.partition`.
        """
        starts = method.draw_starts(families.first)
        method.n_starts_drawn = len(starts)
        with self.progress(len(starts), "starts") as advance:
            runs = self._run_all(method, starts, advance)
            run = method.refine(method.select_run(runs, self.tol))
        if families.select is not None:
            run = method.extend(run, families.select(method.partition(run), weights))
        if families.neighbors:
            return method.add_neighbor_pairs(run)
        return run

    def _run_all(
        self, method: Method[Start, Model], starts: list[Start], advance: Advance
    ) -> Iterable[Run[Model]]:
        """Return the runs from all starts, in parallel if the method allows it."""

        def run_start(start: Start) -> Run[Model]:
            return log(method.run_start(start))

        def log(run: Run[Model]) -> Run[Model]:
            advance(f"objective {run.objective:.6g}")
            return run

        if not method.starts_in_threads:
            return map(run_start, starts)
        tasks = [(start,) for start in starts]
        if len(tasks) > 1:
            outside = run_outside(method.run_start, tasks, self.n_jobs)
            if outside is not None:
                return map(log, outside)
        return self.apply(run_start, tasks)
