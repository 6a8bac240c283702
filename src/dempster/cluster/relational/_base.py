"""What the clusterers of this family share: X read through the door for dissimilarities, medoids as a result."""

from __future__ import annotations

from typing import Any, Self

from dempster import _parameters as rule
from dempster._types import ArrayLike, Metric, TableLike
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, Task
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.partition import CredalPartition

__all__ = ["RELATIONAL_RULES", "MEDOID_RULES", "RelationalClusterer", "MedoidClusterer"]

RELATIONAL_RULES = {
    **COMMON_RULES,
    "metric": METRIC_RULE,
    "symmetrize": rule.flag,
    "alpha": rule.real(0),
    "beta": rule.real(1, 50, open_low=True),
    "delta": rule.choice("auto") | rule.real(0, open_low=True),
    "missing": MISSING_RULE,
}
MEDOID_RULES = {
    **RELATIONAL_RULES,
    "n_candidates": rule.choice("auto") | rule.choice(None) | rule.integer(1),
    "init": rule.choice("medoids", "random") | rule.kind(CredalPartition) | rule.array,
}


class RelationalClusterer(EvidentialClusterer):
    """Base of the clusterers that know objects by their dissimilarities only."""

    metric: Metric
    symmetrize: bool
    _input: DissimilarityInput

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
            For ``metric="gower"`` a table with any columns. float32 is kept. A pandas table keeps its index.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        return self._fit(X, sample_weight=sample_weight)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """The objects of a fit as a source of dissimilarities, new ones as their references take them."""
        if not reset:
            return self._input.new(self, X)
        self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize)
        return self._input.training(self, X)

    def _compared(self, values: DissimilaritySource) -> DissimilaritySource:
        return values

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


class MedoidClusterer(RelationalClusterer):
    """Base of the clusterers that represent clusters by objects."""

    alpha: float
    beta: float
    delta: float | str
    n_candidates: int | str | None
    n_init: int
    max_iter: int

    def _shared_settings(self, task: Task, init: str | ArrayLike | CredalPartition) -> dict[str, Any]:
        """What all medoid methods are set by; ``init`` without belief peaks."""
        return {
            "n_clusters": task.n_clusters,
            "alpha": self.alpha,
            "beta": self.beta,
            "delta": None if self.delta == "auto" else float(self.delta),
            "n_candidates": self.n_candidates,
            "init": init,
            "n_init": self.n_init,
            "max_iter": self.max_iter,
            "tol": self.tol,
        }

    def _attributes(self, method: Any, model: Any) -> dict[str, Any]:
        medoids = model.medoid_positions
        found = {"medoid_indices_": medoids, "delta_": method.delta}
        centers = method.attributes_of(medoids)
        return found if centers is None else {**found, "cluster_centers_": centers}
