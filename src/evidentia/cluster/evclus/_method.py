"""How EVCLUS descends: which objects and pairs, from which starts, in which stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster import _medoid_starts
from evidentia.cluster.evclus._conflict_problems import AllPairs, ConflictProblem, Links, SomePairs, link_form
from evidentia.cluster.evclus._data import (
    TrainingData,
    conflicts_with,
    settled_links,
    shared_masses,
    twins_at_zero,
)
from evidentia.dissimilarity.sampling import choose_landmarks, random_pairs
from evidentia.dissimilarity.sources import AttributeSource, GowerSource
from evidentia.dissimilarity.transform import default_quantile, to_conflict
from evidentia.optimize.descent import Run
from evidentia.optimize.projection import project, projection_hessian, settle_links
from evidentia.partition import CredalPartition

if TYPE_CHECKING:
    from evidentia.cluster.evclus.evclus import EVCLUS

__all__ = ["Solver", "State"]

_ALL_PAIRS_UP_TO = 1000  # objects, for sampling="auto"
_MOST_REFERENCES = 5000  # landmarks that constrained objects may add up to; references of k-EVCLUS
_FEWEST_LANDMARKS = 600
_LANDMARKS_PER_CLUSTER = 30
_REFINE_ON = 2000  # objects that the landmarks are fitted to a second time
_ASSESSED_PAIRS = 50_000
_LANDMARK_TOLERANCE = 1e-5  # finer than what landmarks say about the other objects
_FIRST_TOLERANCE = 1e-5  # of the papers, at which starts compete
_FIRST_TOLERANCE_OF_LANDMARKS = 1e-3
_FIRST_XI = 0.05  # second of the three stages of the constraints


@dataclass
class State:
    """Masses of the objects that are fitted, and their family."""

    family: FocalSets
    masses: np.ndarray


class Solver:
    """One fit: the scale of the dissimilarities, the pairs, and the descents."""

    def __init__(self, estimator: EVCLUS, data: TrainingData, links: Links, rng: np.random.Generator, apply: Callable):
        self.estimator, self.data, self.links, self.rng, self.apply = estimator, data, links, rng, apply
        self.n = len(data)
        self.sampling = self._chosen_sampling()
        coarse = self.sampling == "landmarks"
        self.tol = max(estimator.tol, _LANDMARK_TOLERANCE) if coarse else estimator.tol
        if self.sampling == "landmarks":
            self.fitted = self._landmarks()
        else:
            self.fitted = np.arange(self.n)
        self.references = self.fitted
        if self.sampling == "random" and data.sampled is None and self.n > _MOST_REFERENCES:
            self.references = choose_landmarks(self.n, _MOST_REFERENCES, rng)
        self.problem = self._problem()
        self.fitted_links = links if len(self.fitted) == self.n else links.among(self.fitted)

    # ---- pairs ----------------------------------------------------------------------------------------------------

    def _chosen_sampling(self) -> str:
        sampling = self.estimator.sampling
        if self.data.sampled is not None:
            if sampling not in ("auto", "random"):
                raise ValueError(f"sampling={sampling!r} needs all dissimilarities, but X is a sparse matrix of some")
            return "random"
        if sampling != "auto":
            return sampling
        return "all" if self.n <= _ALL_PAIRS_UP_TO else "landmarks"

    def _landmarks(self) -> np.ndarray:
        """Constrained objects first, then others at random."""
        c = self.estimator.n_clusters
        asked = self.estimator.n_landmarks
        p = max(_FEWEST_LANDMARKS, _LANDMARKS_PER_CLUSTER * c) if asked == "auto" else int(asked)
        if p < c:
            raise ValueError(f"n_landmarks={p} must be at least n_clusters={c}")
        linked = settled_links(self.links, np.empty(0, dtype=int))
        if len(linked) > _MOST_REFERENCES:
            linked = np.sort(self.rng.choice(linked, _MOST_REFERENCES, replace=False))
        others = np.setdiff1d(np.arange(self.n), linked) if len(linked) else np.arange(self.n)
        more = others[choose_landmarks(len(others), max(p - len(linked), p // 2), self.rng)]
        return np.sort(np.concatenate([linked, more]))

    def _problem(self) -> ConflictProblem:
        if self.data.sampled is not None:
            pairs, count, d = self.data.sampled
            self.d0 = self._scale(d)
            problem: ConflictProblem = SomePairs(self.n, pairs, count, self.to_conflict(d))
        elif self.sampling == "random":
            pairs, count = random_pairs(self.n, self.estimator.n_pairs, self.rng)
            d = self.data.source.pairs(pairs[:, 0], pairs[:, 1])  # type: ignore[union-attr]
            self.d0 = self._scale(d)
            problem = SomePairs(self.n, pairs, count, self.to_conflict(d))
        else:
            D = self.data.source.block(self.fitted, self.fitted).astype(float)  # type: ignore[union-attr]
            np.fill_diagonal(D, 0)
            D = (D + D.T) / 2  # to the last bit
            self.d0 = self._scale(self._sample_of_dissimilarities(D))
            problem = AllPairs(self.to_conflict(D))
        if not problem.total > 0:
            raise ValueError("all dissimilarities are zero: there is nothing to tell the objects apart")
        return problem

    def _sample_of_dissimilarities(self, D: np.ndarray) -> np.ndarray:
        source = self.data.source
        if len(D) < self.n and isinstance(source, AttributeSource) and source.metric == "euclidean":
            i, j = self._random_pairs_of_all(_ASSESSED_PAIRS)
            return source.pairs(i, j)
        return D[np.triu_indices(len(D), 1)]

    def _random_pairs_of_all(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        i = self.rng.integers(0, self.n, count)
        j = self.rng.integers(0, self.n - 1, count)
        return i, j + (j >= i)

    def _scale(self, dissimilarities: np.ndarray) -> float:
        e = self.estimator
        if e.d0 is not None:
            return float(e.d0)
        q = default_quantile(e.n_clusters) if e.d0_quantile == "auto" else float(e.d0_quantile)
        d0 = float(np.quantile(dissimilarities, q))
        if not d0 > 0:
            if np.any(dissimilarities > 0):
                raise ValueError(
                    f"the {q:g} quantile of the dissimilarities is 0, which cannot serve as d0: "
                    "give d0, or a larger d0_quantile"
                )
            raise ValueError("all dissimilarities are zero: there is nothing to tell the objects apart")
        return d0

    def to_conflict(self, dissimilarities: np.ndarray) -> np.ndarray:
        return to_conflict(dissimilarities, self.d0)

    # ---- descents -------------------------------------------------------------------------------------------------

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        """Best run for a family, from several starts or from the run before."""
        if previous is not None:
            padded = CredalPartition.unchecked(previous.model.masses, previous.model.family).on(family)
            xi = (self._stages or [0.0])[-1]
            return self._descend(padded.masses, family, previous.history, self.tol, xi=xi)
        init = self.estimator.init
        if not isinstance(init, str):
            return self._constrained(self._descend(self._given_masses(init, family), family, [], self.tol))
        starts = self._starts(init, family)
        seeds = self.rng.integers(0, 2**63, len(starts))
        first = max(self.tol, _FIRST_TOLERANCE_OF_LANDMARKS if self.sampling == "landmarks" else _FIRST_TOLERANCE)
        with self.estimator._progress(len(starts), "starts") as advance:

            def run(start: np.ndarray, seed: int) -> Run:
                result = self._descend(start, family, [], first, np.random.default_rng(seed))
                advance(f"objective {result.objective:.6g}")
                return result

            runs = self.apply(run, list(zip(starts, seeds, strict=True)))
        margin = max(self.estimator.tol, 1e-9)
        best = runs[0]
        for candidate in runs[1:]:
            if candidate.objective < best.objective * (1 - margin):
                best = candidate
        return self._constrained(self._descend(best.model.masses, family, best.history, self.tol))

    def _descend(self, masses, family: FocalSets, history: list[float], tol: float, rng=None, xi: float = 0.0) -> Run:
        """Go on from masses; ``history`` is what has been before."""
        rng = self.rng if rng is None else rng
        left = self.estimator.max_iter - len(history)
        if left <= 0:
            return Run(State(family, masses), list(history), False)
        order = rng.permutation(self.problem.n)
        masses, trace, converged = self.problem.descend(masses, family, order, left, tol, self.fitted_links, xi)
        return Run(State(family, masses), list(history) + trace.tolist(), converged)

    def _constrained(self, run: Run) -> Run:
        """Let the constraints in, in two further stages (Li, Li and Denoeux, 2018, section 3.2)."""
        for xi in self._stages:
            run = self._descend(run.model.masses, run.model.family, [], self.tol, xi=xi)
        return run

    @property
    def _stages(self) -> list[float]:
        """Weights of the constraints in the stages after the first."""
        if len(self.fitted_links) == 0:
            return []
        # landmarks stand for all objects: their constraints weigh against as many more pairs
        share = self._factor * (self.n / len(self.fitted)) * len(self.fitted_links) / len(self.links)
        xi = self.estimator.xi
        return [share * _FIRST_XI, share * xi] if xi > _FIRST_XI else [share * xi]

    @property
    def _factor(self) -> float:
        """Times the weight of the published formula."""
        return 4.0 if self.estimator.xi_convention == "program" else 1.0

    # ---- starts ---------------------------------------------------------------------------------------------------

    def _starts(self, init: str, family: FocalSets) -> list[np.ndarray]:
        if init == "random" or self.data.sampled is not None:
            return [
                _medoid_starts.random_masses(self.problem.n, family, self.rng) for _ in range(self.estimator.n_init)
            ]
        c, n_init = self.estimator.n_clusters, self.estimator.n_init
        if isinstance(self.problem, AllPairs):
            sets = _medoid_starts.medoid_starts(self.problem.delta, c, n_init, self.rng)
            labels = [self.problem.delta[medoids].argmin(axis=0) for medoids in sets]
        else:
            some = choose_landmarks(self.n, _ALL_PAIRS_UP_TO, self.rng)
            source = self.data.source
            assert source is not None
            sets = _medoid_starts.medoid_starts(self.to_conflict(source.block(some, some)), c, n_init, self.rng)
            labels = [self._nearest(some[medoids]) for medoids in sets]
        return [_medoid_starts.masses_of_labels(y, family) for y in labels]

    def _nearest(self, medoids: np.ndarray) -> np.ndarray:
        """Number of the nearest medoid, for every object."""
        source = self.data.source
        assert source is not None
        blocks = [np.arange(s, min(s + 4096, self.n)) for s in range(0, self.n, 4096)]
        return np.concatenate([source.block(rows, medoids).argmin(axis=1) for rows in blocks])

    def _given_masses(self, init, family: FocalSets) -> np.ndarray:
        if not isinstance(init, CredalPartition):
            init = np.asarray(init, dtype=float)
            if init.shape != (self.n, len(family)):
                raise ValueError(f"init must hold masses of shape {(self.n, len(family))}, got {init.shape}")
            init = CredalPartition(init, family)
        if len(init) != self.n or init.n_clusters != self.estimator.n_clusters:
            raise ValueError(
                f"init must be a partition of {self.n} objects into {self.estimator.n_clusters} clusters, "
                f"got {len(init)} objects and {init.n_clusters} clusters"
            )
        if np.any(init.masses[:, family.find(init.focal_sets.membership) < 0] > 0):
            raise ValueError("init has masses on sets that focal_sets lacks")
        return np.asarray(init.on(family).masses[self.fitted], dtype=float)

    # ---- everybody ------------------------------------------------------------------------------------------------

    def partition_of(self, run: Run) -> CredalPartition:
        """The objects that are fitted (landmarks stand for all of them)."""
        return CredalPartition.unchecked(run.model.masses, run.model.family)

    def masses_of_all(self, run: Run) -> np.ndarray:
        """(n, f) masses of all objects; landmarks are refined first, and the run is left with what they are then."""
        if len(self.fitted) == self.n:
            masses = run.model.masses
            if len(self.links) == 0:
                masses = shared_masses(self.data, masses, run.model.family.conflict, self.d0)
            if len(self.references) < self.n:
                run.model = State(run.model.family, run.model.masses[self.references])
            return masses.astype(self.data.dtype)
        if len(self.links) == 0:
            self._refine(run.model)
        masses = self._projected(np.arange(self.n), self.fitted, run.model)
        if len(self.links):
            masses[self.fitted] = run.model.masses  # constraints may tell apart what the attributes do not
            self._settle(masses, run.model)
        return masses

    def _refine(self, state: State) -> None:
        """Fit the landmarks once more, to a larger sample projected on them: it makes up for their small number."""
        sample = choose_landmarks(self.n, _REFINE_ON, self.rng)
        masses = self._projected(sample, self.fitted, state)
        wider = State(state.family, masses.astype(float))
        state.masses = self._projected(self.fitted, sample, wider, coincide=False).astype(float)

    def _projected(
        self, rows: np.ndarray, references: np.ndarray, state: State, *, coincide: bool = True
    ) -> np.ndarray:
        conflicts = self._conflicts(rows, references, state)
        if not coincide:
            inner = conflicts

            def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
                delta, same = inner(start, stop)
                return delta, np.full(len(same), -1)

        conflict = np.array(state.family.conflict)
        source = self.data.source
        if self.estimator.device != "cpu" and coincide and len(rows) == self.n:
            from evidentia.dissimilarity.transform import decay
            from evidentia.optimize.projection_torch import project_euclidean

            if not (isinstance(source, AttributeSource) and source.metric == "euclidean"):
                raise ValueError(f"device={self.estimator.device!r} works with metric='euclidean' only")
            return project_euclidean(
                source.X, source.X[references], state.masses, conflict, decay(self.d0), self.estimator.device
            )
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return project(conflicts, len(rows), state.masses, conflict, self.data.dtype, self.apply)

    def _conflicts(self, rows: np.ndarray, references: np.ndarray, state: State) -> Callable:
        source = self.data.source
        assert source is not None
        if isinstance(source, AttributeSource | GowerSource):
            objects = source.objects if len(rows) == self.n else source.objects[rows]
            return conflicts_with(objects, source.subset(references), self.d0)

        def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            D = source.block(rows[start:stop], references)
            return to_conflict(D, self.d0), twins_at_zero(D, self.d0, state.masses, state.family.conflict)

        return conflicts

    def _settle(self, masses: np.ndarray, state: State) -> None:
        """Constraints of objects that are not landmarks (more of them than landmarks allowed)."""
        outside = settled_links(self.links, self.fitted)
        if len(outside) == 0:
            return
        conflict = np.array(state.family.conflict)
        H = projection_hessian(state.masses, conflict)
        image = -2 * state.masses @ conflict
        conflicts = self._conflicts(outside, self.fitted, state)
        linear = np.concatenate(
            [conflicts(s, min(s + 1024, len(outside)))[0] @ image for s in range(0, len(outside), 1024)]
        )
        weight = self.problem.total * (self.n / len(self.fitted)) * self.estimator.xi / (2 * len(self.links))
        weight *= self._factor
        everyone = masses.astype(float)
        settle_links(
            H, linear, outside, everyone, self.links.indptr, self.links.indices, weight * self.links.signs,
            link_form(state.family), 50, 1e-6,
        )  # fmt: skip
        masses[outside] = everyone[outside]

    # ---- assessment -----------------------------------------------------------------------------------------------

    def pairs_to_assess(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Pairs i, j with their dissimilarities and weights: all of them, or a random sample."""
        if self.data.sampled is not None:
            pairs, count, d = self.data.sampled
            return pairs[:, 0], pairs[:, 1], d, count
        source = self.data.source
        assert source is not None
        if self.n <= _ALL_PAIRS_UP_TO:
            i, j = np.triu_indices(self.n, 1)
            return i, j, source.block(np.arange(self.n), np.arange(self.n))[i, j], np.ones(len(i))
        fast = not (isinstance(source, AttributeSource) and source.metric != "euclidean")
        i, j = self._random_pairs_of_all(_ASSESSED_PAIRS if fast else 5000)
        return i, j, source.pairs(i, j), np.ones(len(i))
