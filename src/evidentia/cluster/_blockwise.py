"""What every clusterer does with objects that come in blocks: a fit to some or all of them, masses block by block."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from evidentia._scale import checked_masses
from evidentia._types import Seed, TableLike
from evidentia.cluster._everyone import Everyone
from evidentia.cluster._search import Sample, progress_bar
from evidentia.optimize.blocks import Apply
from evidentia.partition import CredalPartition, LazyCredalPartition
from evidentia.stream.blocks import BlockFunction, Blocks, comes_in_blocks
from evidentia.stream.door import blocks_of

if TYPE_CHECKING:
    from evidentia.belief import FocalSets

__all__ = ["BlockwiseClusterer", "check_alone"]

_LOG = logging.getLogger("evidentia")


class BlockwiseClusterer:
    """The part of the base of the clusterers that knows blocks.

    A clusterer says whether it takes them, and whether it goes over all of them or is fitted to a sample, after which
    all objects get their masses as new ones do.
    """

    _takes_blocks = False
    _sums_products = False  # of attributes, over all objects
    _block_reader: tuple[BlockFunction, int] | None = None  # what a method reads of a block, with so many more columns

    n_jobs: int | None
    verbose: int
    random_state: Seed
    focal_sets_: FocalSets
    credal_partition_: Any
    labels_: Any
    _model: Any
    _read: Callable[..., Any]
    _masses_of: Callable[..., np.ndarray]
    _wanted_clusters: Callable[[], int | None]
    _attributes_in_rows: tuple[str, ...] = ()  # fitted attributes that hold positions of objects

    def _comes_in_blocks(self, X: TableLike, *, new: bool = False) -> bool:
        """Whether X is read block by block; refused if the method needs all of it at once."""
        if not comes_in_blocks(X) or (isinstance(X, list | tuple) and not self._takes_blocks):
            return False
        if not (self._takes_blocks or new):
            raise ValueError(f"{type(self).__name__} needs all objects in memory, but X comes in blocks")
        if not new and getattr(self, "metric", None) == "precomputed":
            raise ValueError("X must be in memory if metric='precomputed': dissimilarities cannot be drawn from blocks")
        return True

    @contextmanager
    def _passes(self, X: TableLike) -> Iterator[Callable[[str], None]]:
        """A function that is told when a pass over blocks begins; people see it if they asked for progress."""
        shown = bool(self.verbose) and comes_in_blocks(X)
        with progress_bar(f"{type(self).__name__}, passes over X", None, " passes", shown=shown) as advance:

            def told(words: str) -> None:
                _LOG.info("%s: a pass over X begins, for %s", type(self).__name__, words)
                advance(words)

            yield told

    def _drawn_sample(self, X: TableLike, apply: Apply, told: Callable[[str], None]) -> Sample[Any]:
        """Some of the objects, read as if they were all, and the others behind them."""
        source = blocks_of(X, self.n_jobs)
        assert source.width is not None
        reader = None if self._block_reader is None else (self._block_reader[0], source.width + self._block_reader[1])
        everyone = Everyone.of(source, reader, self.random_state, apply, told, products=self._sums_products)
        wanted = self._wanted_clusters()
        if len(everyone) < (wanted or 1):
            raise ValueError(f"n_samples={len(everyone)} should be >= n_clusters={wanted}")
        return Sample(self._read(_named(everyone.drawn, source), reset=True), everyone=everyone)

    def _set_blocks(self, everyone: Everyone) -> None:
        """The result for all objects, where so far there was that of the sample."""
        of_sample = self.credal_partition_
        self.credal_partition_ = self._lazy_partition(everyone.source, of_sample.metadata)
        self.labels_ = self.credal_partition_.labels
        self.sample_indices_ = everyone.rows
        for name in self._attributes_in_rows:
            setattr(self, name, everyone.rows[getattr(self, name)])

    def _predicted_blocks(self, X: TableLike) -> LazyCredalPartition:
        source = blocks_of(X, self.n_jobs)
        assert source.width is not None
        self._read(_named(np.zeros((1, source.width), source.dtype), source), reset=False)  # checks columns and names
        return self._lazy_partition(source, None)

    def _lazy_partition(self, source: Blocks, metadata: dict[str, Any] | None) -> LazyCredalPartition:
        # blocks have no names, and what is sent to workers should be small
        light = copy.copy(self)
        for name in ("credal_partition_", "labels_", "feature_names_in_", "history_", "sample_indices_", "_online"):
            light.__dict__.pop(name, None)
        masses = source.map(_block_masses, light, len(self.focal_sets_), source.dtype)
        return LazyCredalPartition(masses, self.focal_sets_, metadata)


def _block_masses(block: np.ndarray, clusterer: BlockwiseClusterer, apply: Apply) -> np.ndarray:
    if len(block) == 0:
        return np.empty((0, len(clusterer.focal_sets_)), block.dtype)
    values = clusterer._read(block, reset=False)
    return checked_masses(clusterer._masses_of(values, apply)).astype(block.dtype, copy=False)


def _named(values: np.ndarray, source: Blocks) -> TableLike:
    """Rows of blocks as scikit-learn reads them: a table if the blocks have names."""
    if source.names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(source.names))


def check_alone(**given: Any) -> None:
    """Refuse what has a row for each object, and would have to be in memory."""
    for name, value in given.items():
        if isinstance(value, CredalPartition):
            raise ValueError(f"{name} must not be a partition if X comes in blocks; give prototypes, or a name")
        if value is not None and name != "init":
            raise ValueError(f"{name} is known only for X in memory, but X comes in blocks")
