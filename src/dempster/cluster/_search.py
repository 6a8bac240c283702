"""How the starts of a method are compared, in one step or two.

Every fit follows the same path::

    Sample -> Method -> Search -> Run[model] -> model.masses(values) -> CredalPartition

A `Method` is one algorithm with its parameters on one sample of rows. `Search` asks it for starts, compares their runs
and continues with the best. The result is a model, which gives masses to any rows that were read in the same way
(`MassModel`), those of the fit as well as new ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dempster._arrays import is_tensor
from dempster._errors import InvalidInputError
from dempster._types import Advance, Index
from dempster.belief import FocalSets
from dempster.data.rows import BlockRows, Rows, open_rows
from dempster.optimize.blocks import Apply, outside_jobs
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition, nearest_pairs

NAMES = ("auto", "simple", "pairs", "full", "selected")


@dataclass(frozen=True)
class Families:
    """The family to fit, and what follows.

    Attributes
    ----------
    first : FocalSets
        The family to fit.
    select : function or None
        How to find, from the partition that the first family gave and the weights of its objects, a second one to go
        on with.
    neighbors : bool
        Whether pairs of neighboring clusters are read off at the end, without moving what was found.
    """

    first: FocalSets
    select: Callable[[CredalPartition, np.ndarray | None], FocalSets] | None = None
    neighbors: bool = False


def families_of(
    focal_sets: str | FocalSets, n_clusters: int, n_neighbor_clusters: int, *, empty: bool = True
) -> Families:
    """What the parameter of an estimator stands for; ``empty``: whether named families hold the empty set.

    With "auto" single clusters alone are fitted. The empty set would take small clusters for outliers; like the pairs,
    it is read off.
    """
    if isinstance(focal_sets, FocalSets):
        return Families(focal_sets)
    if focal_sets == "auto":
        return Families(FocalSets.simple(n_clusters, empty=False, omega=False), neighbors=True)
    first = named_family(focal_sets, n_clusters, empty=empty)
    if focal_sets != "selected":
        return Families(first)
    return Families(first, partial(_selected, n_clusters, n_neighbor_clusters, empty))


def named_family(name: str, n_clusters: int, *, empty: bool = True, omega: bool = True) -> FocalSets:
    """ "full": all sets; "pairs": single clusters and all pairs; else single clusters.

    ``omega``: whether a family of pairs holds the frame.
    """
    if name == "full":
        return FocalSets.full(n_clusters, empty=empty)
    if name == "pairs":
        return FocalSets.pairs(n_clusters, empty=empty, omega=omega)
    return FocalSets.simple(n_clusters, empty=empty)


def _selected(
    n_clusters: int, n_neighbors: int, empty: bool, partition: CredalPartition, weights: np.ndarray | None
) -> FocalSets:
    return FocalSets.with_pairs(n_clusters, nearest_pairs(partition, n_neighbors, weights), empty=empty)


def require_singletons(family: FocalSets, why: str = "each has a prototype of its own") -> None:
    """Refuse a family that lacks a single cluster."""
    if (family.singleton_index < 0).any():
        raise InvalidInputError(f"focal_sets must hold every single cluster: {why}")


Values = TypeVar("Values")
ModelValues = TypeVar("ModelValues", contravariant=True)
Start = TypeVar("Start")
Model = TypeVar("Model")

_SAME_OBJECTIVE = 1e-9  # relative difference below which two objectives are tied, whatever the tolerance


@dataclass(frozen=True)
class Sample(Generic[Values]):
    """The objects of one fit.

    Attributes
    ----------
    values : what the method reads: attributes, dissimilarities, categories
    weights : (n,) array, or None if all objects count alike
    index : names of the objects, or None
    within : (p,) variances of the attributes within clusters, for which missing ones count; None if there are none
    blocks : all rows, where they come in blocks and ``values`` are a sample of them; None if they are all there
    device : where the rows were given, if they are a tensor; None for all else
    """

    values: Values
    weights: np.ndarray | None = None
    index: Index = None
    within: np.ndarray | None = None
    blocks: BlockRows | None = None
    device: Any = None

    @property
    def kernel_weights(self) -> np.ndarray:
        """Weights as kernels take them: an empty array if all rows count alike."""
        return np.empty(0) if self.weights is None else self.weights

    def rows(self, apply: Apply, device: str = "cpu", *, explicit_weights: bool = False) -> Rows:
        """Return all rows, wherever they are, for methods that go over all of them.

        ``explicit_weights``: rows in memory that count alike get the weight one.
        """
        values: Any = self.values
        if self.blocks is not None:
            return self.blocks.with_values(values, device, apply)
        weights = np.empty(0) if self.weights is None else self.weights
        if explicit_weights and self.weights is None and device == "cpu" and not is_tensor(values):
            weights = np.ones(len(values))
        return open_rows(values, weights, apply, device)

    def original_positions(self, positions: np.ndarray) -> np.ndarray:
        """Return the positions of rows of the sample among all rows."""
        return positions if self.blocks is None else self.blocks.indices[positions]


class MassModel(Protocol[ModelValues]):
    """What a fit leaves behind: it gives masses to objects."""

    @property
    def family(self) -> FocalSets: ...

    def masses(self, values: ModelValues, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects, in the columns of the family."""
        ...


class Method(ABC, Generic[Start, Model]):
    """One algorithm on one sample of objects, for any family of focal sets.

    A method says where it starts, how it goes on from there, and what it leaves behind.
    """

    starts_in_threads = False  # whether several starts run at the same time (their steps then do not use threads)

    def user_start(self, family: FocalSets) -> Start | None:
        """The start that was asked for; None if starts are to be drawn."""
        return None

    @abstractmethod
    def draw_starts(self, family: FocalSets) -> tuple[Iterable[Start], int]:
        """Starts that compete, and how many they are."""

    @abstractmethod
    def descend(self, start: Start) -> Run[Model]:
        """From a start to the end, with all objects."""

    def run_start(self, start: Start) -> Run[Model]:
        """From a start as far as is needed to compare it with others, perhaps with some of the objects only."""
        return self.descend(start)

    def refine(self, best: Run[Model]) -> Run[Model]:
        """The best of the competing runs, brought to the end with all objects."""
        return best

    def select_run(self, runs: Iterable[Run[Model]], tol: float) -> Run[Model]:
        """Which of the competing runs is kept: the smallest objective, the earliest on ties.

        Objectives closer than the tolerance are tied: several starts often end at the same place up to rounding,
        and which of them wins (and so the numbering of the clusters) must not hang on the last digits.
        """
        margin = max(tol, _SAME_OBJECTIVE)
        best: Run[Model] | None = None
        for run in runs:
            if best is None or run.objective < best.objective - margin * abs(best.objective):
                best = run
        assert best is not None
        return best

    def extend(self, run: Run[Model], family: FocalSets) -> Run[Model]:
        """Second step: the run goes on with another family of sets."""
        raise NotImplementedError(f"{type(self).__name__} fits one family")

    def add_neighbor_pairs(self, run: Run[Model]) -> Run[Model]:
        """The same run with the pairs of neighboring clusters, and the empty set if the method has one, added to its
        family; nothing that was found moves.

        A pair that took part in the descent would pull the clusters towards each other, and of three clusters in a
        row, that of the outer two lies on the one in the middle. Read off afterwards, only between neighbors, pairs
        say which objects lie between two clusters and change nothing else.
        """
        raise NotImplementedError(f"{type(self).__name__} fits one family")

    def finalize(self, run: Run[Model]) -> Run[Model]:
        """The run of the last family, with what is left to do when all descents are over."""
        return run

    def partition(self, run: Run[Model]) -> CredalPartition:
        """Return the partition of a run, from which the second family is selected."""
        model, masses = self.result(run)
        return CredalPartition.unchecked(masses, model.family)

    def partition_weights(self, weights: np.ndarray | None) -> np.ndarray | None:
        """How much the objects of that partition count (None: all alike); ``weights`` are those of all objects."""
        return weights

    @abstractmethod
    def result(self, run: Run[Model]) -> tuple[MassModel[Any], np.ndarray]:
        """What is left for new objects, and the masses of the objects of the fit."""

    def fit_warnings(self, model: MassModel[Any]) -> list[str]:
        """What the user should be warned of."""
        return []


@dataclass(frozen=True)
class Search:
    """Lets the starts of a method compete, in one step or two.

    Attributes
    ----------
    tol : float
        Relative difference of objectives that counts as none.
    apply : Apply
    progress : function of a total and a unit
        Opens a progress bar.
    n_jobs : int or None
        How many starts that go to workers outside this process run at the same time.
    """

    tol: float
    apply: Apply
    progress: Callable[[int, str], Any]
    n_jobs: int | None = None

    def run(self, method: Method[Start, Model], families: Families, weights: np.ndarray | None = None) -> Run[Model]:
        """The best run; with a second family (Denoeux, 2021: pairs of mutually nearest clusters added to the single
        ones), it goes on from that of the first; then pairs of neighbors are read off, if they are wanted."""
        given = method.user_start(families.first)
        if given is not None:
            run = method.descend(given)
        else:
            starts, total = method.draw_starts(families.first)
            with self.progress(total, "starts") as advance:
                runs = self._in_threads if method.starts_in_threads else self._one_by_one
                run = method.refine(method.select_run(runs(method, starts, advance), self.tol))
        if families.select is not None:
            run = method.extend(run, families.select(method.partition(run), method.partition_weights(weights)))
        run = method.finalize(run)
        return method.add_neighbor_pairs(run) if families.neighbors else run

    def _one_by_one(
        self, method: Method[Start, Model], starts: Iterable[Start], advance: Advance
    ) -> Iterator[Run[Model]]:
        for start in starts:
            run = method.run_start(start)
            advance(f"objective {run.objective:.6g}")
            yield run

    def _in_threads(
        self, method: Method[Start, Model], starts: Iterable[Start], advance: Advance
    ) -> Iterator[Run[Model]]:
        def compete(start: Start) -> Run[Model]:
            run = method.run_start(start)
            advance(f"objective {run.objective:.6g}")
            return run

        each = [(start,) for start in starts]
        outside = outside_jobs(method.run_start, each, self.n_jobs) if len(each) > 1 else None
        if outside is None:
            yield from self.apply(compete, each)
            return
        for run in outside:
            advance(f"objective {run.objective:.6g}")
            yield run
