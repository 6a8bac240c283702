"""What every clusterer shares: parameters, restarts, convergence, the two-step strategy, the final partition."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.constraints import Constraints
from evidentia.optimize.descent import Run
from evidentia.partition import CredalPartition, nearest_pairs

__all__ = ["EvidentialClusterer", "COMMON_RULES", "checked_constraints"]

FAMILIES = ("auto", "simple", "pairs", "full", "selected")

COMMON_RULES: Mapping[str, rule.Rule] = {
    "n_clusters": rule.integer(1),
    "focal_sets": rule.choice(*FAMILIES) | rule.kind(FocalSets),
    "n_neighbors": rule.integer(1),
    "n_init": rule.integer(1),
    "max_iter": rule.integer(1),
    "tol": rule.real(0),
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
    "verbose": rule.flag,
}


class EvidentialClusterer(ClusterMixin, BaseEstimator):
    """Base of the clusterers. A method supplies its parameters, a solver for one family of sets, and a mass step."""

    _rules: Mapping[str, rule.Rule] = COMMON_RULES

    # ---- what a method supplies -----------------------------------------------------------------------------------

    def _masses(self, X: np.ndarray) -> np.ndarray:
        """(n, f) masses of validated objects under the fitted model."""
        raise NotImplementedError

    @property
    def _c(self) -> int:
        """Number of clusters; methods that can find it give what they found."""
        return self.n_clusters

    # ---- checking -------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        rule.check_parameters(self, self._rules)
        if isinstance(self.focal_sets, FocalSets) and self.n_clusters not in (None, self.focal_sets.n_clusters):
            raise ValueError(
                f"focal_sets is a family on {self.focal_sets.n_clusters} clusters, but n_clusters={self.n_clusters}"
            )

    def _checked_objects(self, X: Any, *, reset: bool) -> np.ndarray:
        """Attributes as a C-contiguous float array, float32 kept; enough objects for the clusters."""
        data = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], order="C")
        if reset and len(data) < (self.n_clusters or 1):
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}")
        return data

    # ---- families of focal sets -----------------------------------------------------------------------------------

    def _family(self) -> FocalSets:
        """The family to fit (for the two-step strategy, that of the first step)."""
        c = self._c
        if isinstance(self.focal_sets, FocalSets):
            return self.focal_sets
        if self.focal_sets == "full":
            return FocalSets.full(c)
        if self.focal_sets == "pairs" or (self.focal_sets == "auto" and c <= 4):
            return FocalSets.pairs(c)
        return FocalSets.simple(c)

    def _one_or_two_steps(
        self,
        solve: Callable[[FocalSets, Run | None], Run],
        partition_of: Callable[[Run], CredalPartition],
    ) -> Run:
        """Solve for the family; with ``focal_sets="selected"`` solve for single clusters first, then add the pairs
        of mutually nearest clusters and continue from there (Denoeux, 2021)."""
        first = solve(self._family(), None)
        if self.focal_sets != "selected":
            return first
        pairs = nearest_pairs(partition_of(first), self.n_neighbors)
        return solve(FocalSets.with_pairs(self._c, pairs), first)

    # ---- restarts -------------------------------------------------------------------------------------------------

    def _best_of(self, starts: Iterable[Any], total: int, run: Callable[[Any], Run]) -> Run:
        """Run from every start and keep the smallest objective, the earliest on ties.

        Objectives closer than the tolerance are tied: several starts often end at the same place up to rounding,
        and which of them wins (and so the numbering of the clusters) must not hang on the last digits.
        """
        margin = max(self.tol, 1e-9)
        best: Run | None = None
        with self._progress(total, "starts") as advance:
            for start in starts:
                candidate = run(start)
                if best is None or candidate.objective < best.objective - margin * abs(best.objective):
                    best = candidate
                advance(f"objective {best.objective:.6g}")
        assert best is not None
        return best

    @contextmanager
    def _progress(self, total: int, unit: str) -> Iterator[Callable[[str], None]]:
        """A progress bar when ``verbose``; call what it gives after each unit, with a word on the state."""
        if not self.verbose:
            yield lambda note: None
            return
        from tqdm.auto import tqdm

        with tqdm(total=total, desc=type(self).__name__, unit=unit) as bar:

            def advance(note: str) -> None:
                bar.set_postfix_str(note, refresh=False)
                bar.update()

            yield advance

    # ---- the result -----------------------------------------------------------------------------------------------

    def _set_result(self, run: Run, masses: np.ndarray, family: FocalSets, index: Any) -> None:
        self.focal_sets_ = family
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history)
        self.converged_ = run.converged
        self.credal_partition_ = CredalPartition._trusted(masses, family, index, metadata=self._metadata())
        self.labels_ = self.credal_partition_.labels
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; "
                "increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _metadata(self) -> dict[str, Any]:
        return {
            "method": type(self).__name__,
            "parameters": {
                name: value
                for name, value in self.get_params(deep=False).items()
                if value is None or isinstance(value, bool | int | float | str)
            },
            "objective": self.objective_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "random_state": self.random_state,
        }

    # ---- new objects ----------------------------------------------------------------------------------------------

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects under the fitted model."""
        check_is_fitted(self, "credal_partition_")
        data = self._checked_objects(X, reset=False)
        return CredalPartition._trusted(self._masses(data), self.focal_sets_, object_index(X))

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of largest plausibility of new objects."""
        return self.predict_mass(X).labels


def checked_constraints(constraints: Any, n: int) -> Constraints:
    """Constraints between n objects, none if None. A pair that is both: an error; a longer contradiction: a warning."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(f"constraints must be a Constraints object, got {type(constraints).__name__}")
    constraints.check(n)
    contradictions = constraints.contradictions()
    direct = [c for c in contradictions if len(c.chain) == 2]
    if direct:
        raise ValueError(f"constraints contradict each other: {direct[0]!r}")
    if contradictions:
        warnings.warn(
            f"constraints contradict each other in {len(contradictions)} places, so they cannot all be met: "
            f"{contradictions[0]!r}",
            stacklevel=3,
        )
    return constraints
