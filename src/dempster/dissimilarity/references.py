"""Objects of a fit that new objects are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import has_missing
from dempster.dissimilarity.sources import DissimilaritySource, Twins

__all__ = ["References"]


@dataclass(frozen=True)
class References:
    """Some of the objects of a fit: their attributes or, for precomputed dissimilarities, only where they were.

    Attributes
    ----------
    positions : (r,) int array
        Among the objects of the fit.
    n_training : int
        How many objects there were.
    source : DissimilaritySource or None
        Of the references alone; None for precomputed dissimilarities.
    """

    positions: np.ndarray
    n_training: int
    source: DissimilaritySource | None

    def __post_init__(self) -> None:
        if self.source is not None and len(self.source) != len(self.positions):
            raise InvalidInputError(
                f"source must hold the {len(self.positions)} references, got {len(self.source)} objects"
            )

    @classmethod
    def of(cls, source: DissimilaritySource, positions: np.ndarray) -> References:
        """Some of the objects of a source."""
        kept = None if source.objects is None else source.subset(positions)
        return cls(np.asarray(positions), len(source), kept)

    def __len__(self) -> int:
        return len(self.positions)

    def some(self, which: np.ndarray) -> References:
        """Some of them, by their numbers."""
        source = None if self.source is None else self.source.subset(which)
        return References(self.positions[which], self.n_training, source)

    def astype(self, dtype: np.dtype) -> References:
        """The same in another precision, where that makes a difference."""
        return self if self.source is None else replace(self, source=self.source.astype(dtype))

    def dissimilarities(
        self, values: Any, start: int = 0, stop: int | None = None, *, exact: bool = False
    ) -> np.ndarray:
        """(b, r) dissimilarities of the new objects start..stop, read by `DissimilarityInput.new`; ``exact``: as in
        `DissimilaritySource.between`."""
        block = values[start : len(values) if stop is None else stop]
        if self.source is None:
            return self._columns(block)
        return self.source.between(block, self.source.objects, exact=exact)

    def are_points(self, values: Any) -> bool:
        """Whether the references and these new objects are points, all coordinates of which are there, compared by
        Euclidean distances."""
        if self.source is None or not self.source.is_euclidean:
            return False
        return getattr(self.source, "within", None) is None or not has_missing(values)

    def _columns(self, D: np.ndarray) -> np.ndarray:
        """Rows of dissimilarities to all objects of the fit, or to the references only."""
        if D.shape[1] == self.n_training:
            return D if self._are_all else D[:, self.positions]
        if D.shape[1] == len(self):
            return D
        raise InvalidInputError(
            f"X has {D.shape[1]} columns, but must hold the dissimilarities of each new object to the "
            f"{self.n_training} objects of the fit"
            + (f", or to the {len(self)} references" * (len(self) < self.n_training))
        )

    @cached_property
    def _are_all(self) -> bool:
        """Whether they are all objects of the fit, in order: a large matrix is then not copied."""
        return np.array_equal(self.positions, np.arange(self.n_training))

    def equals(self, values: Any, start: int = 0, stop: int | None = None) -> np.ndarray:
        """For each of the new objects start..stop the first reference with the same attributes, -1 if there is none.

        Attributes of different precision are compared in the lower one.
        """
        if self.source is None:
            raise InvalidInputError("precomputed dissimilarities have no attributes to compare")
        block = values[start : len(values) if stop is None else stop]
        if isinstance(block, np.ndarray) and block.dtype != self.source.dtype:
            block = block.astype(np.float32, copy=False)
            return self._rounded_twins.find(self.source.keys(block))
        return self._twins.find(self.source.keys(block))

    @cached_property
    def _twins(self) -> Twins:
        assert self.source is not None
        return Twins(self.source.keys(self.source.objects))

    @cached_property
    def _rounded_twins(self) -> Twins:
        assert self.source is not None
        return Twins(self.source.keys(self.source.objects.astype(np.float32, copy=False)))
