"""What the medoid methods share: dissimilarities, starts, restarts on a sample, masses of new objects.

A method is a `Problem`: the dissimilarities of one set of objects with the steps that lower its objective. Up to
5,000 objects the whole matrix is kept; above, attributes are compared block by block with few candidates only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.utils.validation import validate_data

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster._medoid_starts import medoid_starts
from evidentia.cluster.prototypes._method import check_partition, require_singletons
from evidentia.cluster.prototypes._model import masses_from_costs
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource, check_square, check_values
from evidentia.optimize.blocks import block_map, row_blocks
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["MedoidClusterer", "Problem", "Table", "MEDOID_RULES", "few_dissimilarities"]

WHOLE_MATRIX = 5_000  # objects up to which the matrix of dissimilarities is kept: 200 MB
SAMPLE_SIZE = 2_000  # objects on which starts compete
MANY_CANDIDATES = 500  # for each cluster, of more objects than that
_QUANTILE = 0.95  # of the dissimilarities: delta="auto"
_CELLS = 4_000_000  # dissimilarities computed at once

Model = TypeVar("Model")

MEDOID_RULES = {
    **COMMON_RULES,
    "metric": rule.Rule("the name of a metric or a callable", lambda v: isinstance(v, str) or callable(v)),
    "alpha": rule.real(0),
    "beta": rule.real(1, open_low=True),
    "delta": rule.choice("auto") | rule.real(0, open_low=True),
    "n_candidates": rule.choice("auto") | rule.choice(None) | rule.integer(1),
    "init": rule.choice("medoids", "random", "belief-peaks") | rule.kind(CredalPartition) | rule.array,
    "symmetrize": rule.flag,
}


# ---- masses from costs ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Penalties:
    """From costs to masses: alpha, beta, the cost of the empty set, and the cost that counts as zero."""

    alpha: float
    beta: float
    delta2: float
    zero: float

    def masses(self, costs: np.ndarray, family: FocalSets, apply: Callable) -> tuple[np.ndarray, float]:
        """(n, f) masses for the costs of the nonempty sets, and the objective they reach."""
        columns = np.flatnonzero(family.cardinality > 0)
        size = family.cardinality[columns].astype(np.int64)
        has_empty = family.empty_index is not None
        arguments = (size**self.alpha * 1.0, size, self.delta2 if has_empty else np.inf, float(self.beta), self.zero)
        masses, empty = np.empty_like(costs), np.empty(len(costs))
        none = np.empty(0)
        blocks = row_blocks(len(costs))
        parts = apply(masses_from_costs, [(costs[a:b], none, *arguments, masses[a:b], empty[a:b]) for a, b in blocks])
        out = np.zeros((len(costs), len(family)))
        out[:, columns] = masses
        if has_empty:
            out[:, family.empty_index] = empty
        return out, float(sum(parts))


# ---- dissimilarities ------------------------------------------------------------------------------------------------


def few_dissimilarities(source: AttributeSource, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Dissimilarities of objects to a few others, exactly zero for Euclidean twins; computed in blocks."""
    from scipy.spatial.distance import cdist

    out = np.empty((len(A), len(B)))
    for start, stop in row_blocks(len(A), max(1, _CELLS // max(1, len(B))), most=None):
        if source.metric == "euclidean":
            out[start:stop] = cdist(A[start:stop], B)
        else:
            out[start:stop] = source.between(A[start:stop], B)
    return out


def raised(values: np.ndarray, power: float) -> np.ndarray:
    """Dissimilarities to a power, in double precision."""
    values = np.asarray(values, dtype=float)
    return values if power == 1 else values**power


class Table:
    """Dissimilarities, to some power, between n objects: a matrix, or attributes that are compared when asked."""

    def __init__(self, source: AttributeSource | MatrixSource, power: float):
        self.source, self.power = source, power
        self.n = len(source)

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """All dissimilarities, unless there are too many."""
        if isinstance(self.source, MatrixSource):
            return raised(self.source.D, self.power)
        if self.n > WHOLE_MATRIX:
            return None
        D = np.asarray(self.source.block(slice(None), slice(None)), dtype=float)
        D = raised((D + D.T) / 2, self.power)
        np.fill_diagonal(D, 0)
        return D

    def columns(self, objects: np.ndarray) -> np.ndarray:
        """(n, k) dissimilarities to a few objects."""
        if isinstance(self.source, MatrixSource):
            return np.ascontiguousarray(raised(self.source.D[objects].T, self.power))
        return raised(few_dissimilarities(self.source, self.source.X, self.source.X[objects]), self.power)

    def block(self, rows: Any, columns: np.ndarray | None = None) -> np.ndarray:
        """Dissimilarities of some objects to some (None: all); no more at once than `blocks_of` says."""
        if columns is not None and len(columns) == self.n:
            columns = None
        if self.matrix is not None:
            return self.matrix[rows] if columns is None else self.matrix[rows][:, columns]
        return raised(self.source.block(rows, slice(None) if columns is None else columns), self.power)

    def blocks_of(self, k: int) -> list[tuple[int, int]]:
        """Cut k objects into blocks whose dissimilarities to all fit in memory."""
        return row_blocks(k, max(1, _CELLS // max(1, self.n)), most=None)

    def sums(self, weights: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
        """(c, k) sum over i of weights[i] d(i, o) for every candidate o (None: all objects)."""
        if candidates is None and self.matrix is not None:
            return weights.T @ self.matrix
        who = np.arange(self.n) if candidates is None else candidates
        parts = [self.block(who[a:b]) @ weights for a, b in self.blocks_of(len(who))]
        return np.concatenate(parts).T


# ---- one fit --------------------------------------------------------------------------------------------------------


class Problem(ABC, Generic[Model]):
    """The dissimilarities of some objects, the parameters of a method, and its steps."""

    costs_power = 1  # costs are dissimilarities to this power

    def __init__(self, estimator: MedoidClusterer, table: Table, penalties: Penalties, apply: Callable):
        self.estimator, self.table, self.penalties, self.apply = estimator, table, penalties, apply

    @abstractmethod
    def start(self, family: FocalSets, medoids: np.ndarray) -> Model:
        """A model from one object for each cluster."""

    @abstractmethod
    def step(self, model: Model) -> tuple[float, Model]:
        """The objective, and the next model."""

    @abstractmethod
    def masses(self, model: Model) -> np.ndarray:
        """(n, f) masses of the objects."""

    @abstractmethod
    def enlarged(self, model: Model, positions: np.ndarray, whole: Any) -> Model:
        """The same model for the objects of another problem, in which those of this one are at ``positions``."""

    @abstractmethod
    def with_family(self, model: Model, family: FocalSets) -> Model:
        """The same model with other sets of clusters."""

    def run(self, start: Model) -> Run[Model]:
        return descend(self.step, start, max_iter=self.estimator.max_iter, tol=self.estimator.tol)

    def candidates(self, scores: np.ndarray) -> np.ndarray | None:
        """Objects that may become the medoid of a cluster: all (None), or those of largest score."""
        wanted = self.estimator.n_candidates
        if wanted == "auto":
            wanted = None if self.table.matrix is not None else MANY_CANDIDATES
        if wanted is None or wanted >= self.table.n:
            return None
        return np.sort(np.argsort(-scores, kind="stable")[:wanted])

    def central(self, weights: np.ndarray) -> np.ndarray:
        """For each column of (n, c) weights the object with the least weighted sum of dissimilarities.

        Two clusters cannot have the same object, nor twins: the second takes its next best.
        """
        limited = [self.candidates(column) for column in weights.T]
        everyone = self.table.sums(weights, None) if limited[0] is None else None
        medoids = np.empty(weights.shape[1], dtype=np.intp)
        for k, objects in enumerate(limited):
            totals = everyone[k] if everyone is not None else self.table.sums(weights[:, [k]], objects)[0]
            totals = np.array(totals, dtype=float)
            if k > 0:
                taken = self.taken(medoids[:k])
                totals[taken if objects is None else taken[objects]] = np.inf
            best = totals.argmin()
            medoids[k] = best if objects is None else objects[best]
        return medoids

    def taken(self, medoids: np.ndarray) -> np.ndarray:
        """Whether each object is one of the medoids, or a twin of one."""
        taken = self.table.columns(medoids).min(axis=1) <= 0
        taken[medoids] = True
        return taken


class _Solver:
    """The data of one fit, and how to descend for one family of focal sets."""

    def __init__(self, estimator: MedoidClusterer, source: AttributeSource | MatrixSource, rng, apply: Callable):
        self.estimator, self.rng = estimator, rng
        power = getattr(estimator, "power", 1)
        table = Table(source, power)
        self.positions = np.arange(table.n)
        part = table
        if table.n > SAMPLE_SIZE:
            self.positions = np.sort(rng.choice(table.n, SAMPLE_SIZE, replace=False))
            part = Table(source.subset(self.positions), power)
        self.sample = np.ascontiguousarray(part.matrix, dtype=float)
        different = int((~(np.tril(self.sample <= 0, -1)).any(axis=1)).sum())
        if different < estimator.n_clusters:
            raise ValueError(f"n_clusters={estimator.n_clusters} is more than the {different} different objects in X")
        between = self.sample[np.triu_indices(len(self.sample), 1)]
        between = between if between.any() else np.ones(1)  # one object, or twins only
        method = estimator._problem
        costs = between**method.costs_power
        delta2 = float(np.quantile(costs, _QUANTILE)) if estimator.delta == "auto" else float(estimator.delta) ** 2
        self.delta = float(np.sqrt(delta2))
        penalties = Penalties(estimator.alpha, estimator.beta, delta2, 1e-12 * float(costs.mean()))
        self.whole = method(estimator, table, penalties, apply)
        self.part = self.whole if part is table else method(estimator, part, penalties, apply)

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        """Best run for a family, from several starts or from the model of the run before."""
        require_singletons(family)
        if previous is not None:
            return self.whole.run(self.whole.with_family(previous.model, family))
        e = self.estimator
        if not isinstance(e.init, str) or e.init == "belief-peaks":
            return self.whole.run(self.whole.start(family, self._given_medoids()))
        starts = self._drawn_medoids()
        best = e._best_of(starts, len(starts), lambda medoids: self.part.run(self.part.start(family, medoids)))
        if self.part is self.whole:
            return best
        return self.whole.run(self.part.enlarged(best.model, self.positions, self.whole))

    def partition_of(self, run: Run) -> CredalPartition:
        return CredalPartition.unchecked(self.whole.masses(run.model), run.model.family)

    def _drawn_medoids(self) -> list[np.ndarray]:
        """Positions in the sample."""
        e = self.estimator
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if e.init == "medoids":
            return medoid_starts(self.sample, e.n_clusters, e.n_init, rng)
        return [rng.permutation(len(self.sample))[: e.n_clusters] for _ in range(e.n_init)]

    def _given_medoids(self) -> np.ndarray:
        e, n = self.estimator, self.whole.table.n
        if isinstance(e.init, str):
            source = self.whole.table.source
            data = source.D if isinstance(source, MatrixSource) else source.X
            return _starts.belief_peaks(e.init, data, e.n_clusters, e, e.metric).peaks_
        if isinstance(e.init, CredalPartition):
            check_partition(e.init, n, e.n_clusters)
            return self.whole.central(e.init.pignistic() ** e.beta)
        medoids = np.asarray(e.init)
        if medoids.shape != (e.n_clusters,) or medoids.dtype.kind not in "iu":
            raise ValueError(
                f"init must hold the positions of {e.n_clusters} objects, got an array of {medoids.dtype} "
                f"of shape {medoids.shape}"
            )
        if len(np.unique(medoids)) < len(medoids) or medoids.min() < 0 or medoids.max() >= n:
            raise ValueError(f"init must hold different positions from 0 to {n - 1}, got {medoids.tolist()}")
        between = self.whole.table.columns(medoids)[medoids]
        twins = np.argwhere(np.tril(between <= 0, -1))
        if len(twins):
            a, b = medoids[twins[0]]
            raise ValueError(f"init must hold different objects, got {b} and {a}, which do not differ at all")
        return medoids.astype(np.intp)


class MedoidClusterer(EvidentialClusterer):
    """Base of the medoid methods. A method supplies its problem, and what it remembers for new objects."""

    _rules = MEDOID_RULES
    _problem: type[Problem]

    def fit(self, X: Any, y: Any = None) -> Any:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
        y : ignored
        """
        self._check_parameters()
        source = self._source(X)
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, source, as_random_state(self.random_state), apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
        self.delta_ = solver.delta
        self._penalties = solver.whole.penalties
        self.focal_sets_ = run.model.family
        references = self._remember(solver.whole, run.model)
        # what new objects are compared with: their attributes, or their columns in a matrix
        if isinstance(source, AttributeSource):
            self.cluster_centers_ = source.X[self.medoid_indices_]
            self._references, self._metric_parameters = source.X[references], source.parameters
            masses = self._masses(source.X)
        else:
            self._references = references
            masses = self._masses(source.D)
        self._set_result(run, masses, run.model.family, object_index(X))
        return self

    # ---- what a method supplies -----------------------------------------------------------------------------------

    def _remember(self, problem: Any, model: Any) -> np.ndarray:
        """Set the fitted attributes; give the positions of the objects that new ones are compared with."""
        raise NotImplementedError

    def _costs(self, to_references: np.ndarray) -> np.ndarray:
        """Costs of the nonempty sets for objects with these dissimilarities to the references."""
        raise NotImplementedError

    # ---- new objects ----------------------------------------------------------------------------------------------

    def _masses(self, X: np.ndarray) -> np.ndarray:
        if not self._takes_attributes:
            X = check_values(X, "X")
        n_references = len(self._references)
        blocks = row_blocks(len(X), max(1, _CELLS // n_references), most=None)
        costs = np.concatenate([self._costs(self._to_references(X[a:b])) for a, b in blocks])
        with block_map(self.n_jobs) as apply:
            masses, _ = self._penalties.masses(costs, self.focal_sets_, apply)
        return masses.astype(X.dtype, copy=False)

    def _to_references(self, X: np.ndarray) -> np.ndarray:
        """Dissimilarities, to the power, of objects to those remembered."""
        if self._takes_attributes:
            near = few_dissimilarities(
                AttributeSource(self._references, self.metric, self._metric_parameters), X, self._references
            )
        else:
            near = X[:, self._references]
        return raised(near, getattr(self, "power", 1))

    # ---- data -----------------------------------------------------------------------------------------------------

    @property
    def _takes_attributes(self) -> bool:
        return not (isinstance(self.metric, str) and self.metric == "precomputed")

    def _source(self, X: Any) -> AttributeSource | MatrixSource:
        data = validate_data(self, X, reset=True, dtype=[np.float64, np.float32], order="C")
        if not self._takes_attributes:
            data = check_square(data, symmetrize=bool(self.symmetrize))
        if len(data) < self.n_clusters:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}")
        return AttributeSource(data, self.metric) if self._takes_attributes else MatrixSource(data)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = not self._takes_attributes
        return tags
