"""What the clusterers of this family share: X read through the door for dissimilarities."""

from __future__ import annotations

from typing import Any, Self

from evidentia._types import ArrayLike, Metric, TableLike
from evidentia.cluster._base import EvidentialClusterer
from evidentia.dissimilarity.input import DissimilarityInput, mark_tags

__all__ = ["RelationalClusterer"]


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
            float32 is kept. A pandas table keeps its index.
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

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)
