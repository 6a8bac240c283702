"""What every clusterer does with objects that come in blocks: a fit to some or all of them, masses block by block."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._progress import progress_bar
from dempster._types import ArrayLike, Seed, TableLike
from dempster._validation import checked_masses, remedy
from dempster.belief import FocalSets
from dempster.cluster._everyone import Everyone, Passes
from dempster.cluster._search import Sample
from dempster.data.blocks import BlockFunction, Blocks, comes_in_blocks
from dempster.data.door import blocks_of
from dempster.data.journal import Journal, NoJournal
from dempster.data.notes import PassNotes
from dempster.optimize.blocks import Apply
from dempster.partition import CredalPartition, LazyCredalPartition

__all__ = ["BlockwiseClusterer", "check_alone", "named_rows"]

_SENT = ("_model", "_input", "focal_sets_", "n_features_in_")  # fitted attributes that masses of new objects need
_STAYS = ("_online", "_shepard", "_evclus", "_peaks", "_fits")  # what may be large and is not needed
_LOG = logging.getLogger("dempster")


class BlockwiseClusterer:
    """The part of the base of the clusterers that knows blocks.

    A clusterer says whether it takes them, and whether it goes over all of them or is fitted to a sample, after which
    all objects get their masses as new ones do.
    """

    checkpoint: str | Path | None = None

    _takes_blocks = False
    _weighs_blocks = False  # whether weights of objects in blocks are taken
    _keeps_passes = False  # whether `checkpoint` keeps what passes gave
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
    get_params: Callable[..., dict[str, Any]]

    def _comes_in_blocks(self, X: TableLike, *, new: bool = False) -> bool:
        """Whether X is read block by block; refused if the method needs all of it at once."""
        if not comes_in_blocks(X) or (isinstance(X, list | tuple) and not self._takes_blocks):
            return False
        if not (self._takes_blocks or new):
            raise InvalidInputError(
                f"{type(self).__name__} needs all objects in memory, but X comes in blocks ({type(X).__name__}): give "
                "an array, or a table of pandas or polars"
            )
        if not new and getattr(self, "metric", None) == "precomputed":
            raise InvalidInputError(
                "X must be in memory if metric='precomputed': dissimilarities cannot be drawn from blocks"
            )
        return True

    def _check_in_memory(self) -> None:
        """Refuse what is only for X that comes in blocks."""
        if self.checkpoint is not None and self._keeps_passes:
            raise InvalidInputError(
                f"checkpoint must be None if X is in memory, got {str(self.checkpoint)!r}: it keeps what passes over "
                "blocks gave (give [X] to fit X in one block)"
            )

    @contextmanager
    def _passes(self, X: TableLike) -> Iterator[PassNotes]:
        """What is told when a pass over blocks begins; people see it if they asked for progress."""
        name, shown = type(self).__name__, bool(self.verbose) and comes_in_blocks(X)
        with progress_bar(f"{name}, passes over X", None, " passes", shown=shown) as advance:
            yield PassNotes(lambda words: _LOG.info("%s: a pass over X begins, for %s", name, words), advance)

    def _drawn_sample(self, X: TableLike, sample_weight: ArrayLike, apply: Apply, told: PassNotes) -> Sample[Any]:
        """Some of the objects, read as if they were all, and the others behind them."""
        source = self._source(X)
        assert source.width is not None
        reader = None if self._block_reader is None else (self._block_reader[0], source.width + self._block_reader[1])
        passes = Passes(apply, told, self._journal(source, weighted=sample_weight is not None))
        everyone = Everyone.of(
            source,
            reader,
            sample_weight,
            self.random_state,
            passes,
            products=self._sums_products,
            least=self._fewest_drawn(),
        )
        wanted = self._wanted_clusters()
        if len(everyone) < (wanted or 1):
            raise InvalidInputError(f"n_samples={len(everyone)} should be >= n_clusters={wanted}")
        values = self._read(named_rows(everyone.drawn, source), reset=True)
        return Sample(values, everyone.weights, everyone=everyone)

    def _source(self, X: TableLike) -> Blocks:
        """The objects as they come; cells may be missing where the method takes that."""
        return blocks_of(X, self.n_jobs, missing=remedy(self, getattr(self, "metric", "euclidean")) is None)

    def _fewest_drawn(self) -> int:
        """How many objects must be drawn at least."""
        return 0

    def _journal(self, source: Blocks, *, weighted: bool) -> NoJournal:
        """Where results of passes are kept, if they are to be."""
        if self.checkpoint is None or not self._keeps_passes:
            return NoJournal()
        if not isinstance(self.random_state, int | np.integer):
            raise InvalidInputError(
                f"checkpoint needs random_state to be an integer, got {self.random_state!r}: a fit that goes on must "
                "draw the same objects"
            )
        from dempster import __version__  # the package itself is there when a fit begins

        # what does not change the result is left out
        named = {k: v for k, v in self.get_params().items() if k not in ("checkpoint", "n_jobs", "verbose")}
        settings = {name: _in_words(value) for name, value in named.items()}
        columns = f"{source.width} {source.dtype} {source.names} weighted={weighted}"
        about = {"class": type(self).__name__, "version": __version__, "columns": columns}
        return Journal(self.checkpoint, {**settings, **about})

    def _set_blocks(self, everyone: Everyone) -> None:
        """The result for all objects, where so far there was that of the sample."""
        of_sample = self.credal_partition_
        self.credal_partition_ = self._lazy_partition(everyone.source, of_sample.metadata)
        self.labels_ = self.credal_partition_.labels
        self.sample_indices_ = everyone.rows
        for name in self._attributes_in_rows:
            setattr(self, name, everyone.rows[getattr(self, name)])

    def _predicted_blocks(self, X: TableLike) -> LazyCredalPartition:
        source = self._source(X)
        assert source.width is not None
        # one row tells whether columns and their names are those of the fit
        self._read(named_rows(np.zeros((1, source.width), source.dtype), source), reset=False)
        return self._lazy_partition(source, None)

    def _lazy_partition(self, source: Blocks, metadata: dict[str, Any] | None) -> LazyCredalPartition:
        light = copy.copy(self)
        # blocks have no names, and what is sent to workers should be small
        light.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if name in _SENT or not (name.endswith("_") or name in _STAYS)
        }
        if hasattr(self, "init"):
            light.__dict__["init"] = None  # it may be a partition of all objects
        masses = source.map(_block_masses, light, len(self.focal_sets_), source.dtype)
        return LazyCredalPartition(masses, self.focal_sets_, metadata)


def _block_masses(block: np.ndarray, clusterer: BlockwiseClusterer, apply: Apply) -> np.ndarray:
    if len(block) == 0:
        return np.empty((0, len(clusterer.focal_sets_)), block.dtype)
    values = clusterer._read(block, reset=False)
    return checked_masses(clusterer._masses_of(values, apply)).astype(block.dtype, copy=False)


def _in_words(value: Any) -> str:
    """A parameter as text that differs where it does; arrays are told in full."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tolist()}"
    return repr(list(value)) if isinstance(value, FocalSets) else repr(value)


def named_rows(values: np.ndarray, source: Blocks) -> TableLike:
    """Rows of blocks as scikit-learn reads them: a table if the blocks have names."""
    if source.names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(source.names))


def check_alone(**given: Any) -> None:
    """Refuse what has a row for each object, and would have to be in memory."""
    for name, value in given.items():
        if isinstance(value, CredalPartition):
            raise InvalidInputError(f"{name} must not be a partition if X comes in blocks; give prototypes, or a name")
        if value is not None and name != "init":
            raise InvalidInputError(f"{name} is known only for X in memory, but X comes in blocks")
