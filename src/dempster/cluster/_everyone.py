"""All objects of a fit, where they come in blocks: some are drawn, on which starts compete, and sums go over all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import Seed
from dempster._validation import check_scale, printable
from dempster.data.blocks import BlockFunction, Blocks
from dempster.data.door import moments_of, sample_rows, weighted_sample
from dempster.data.journal import NoJournal
from dempster.data.moments import Moments
from dempster.data.notes import PassNotes
from dempster.data.sampling import SAMPLE_SIZE
from dempster.optimize.blocks import Apply

__all__ = ["Everyone", "Passes", "WeightedBlockFunction"]

WeightedBlockFunction = Callable[[np.ndarray, np.ndarray, Any, Apply], Any]
"""A pure function of a block, of the weights of its rows (empty if all count alike), of what all blocks share, and of
threads to work with."""


@dataclass(frozen=True)
class Passes:
    """How passes over the objects are made.

    Attributes
    ----------
    apply : Apply
    told : PassNotes
        Is told that a pass begins, in words.
    journal : NoJournal or Journal
        Keeps what each pass gave.
    """

    apply: Apply
    told: PassNotes
    journal: NoJournal

    def made(self, words: str, compute: Callable[[], Any]) -> Any:
        """One pass, told in words."""
        self.told(words)
        found = compute()
        self.told.done()
        return found


@dataclass(frozen=True)
class Everyone:
    """All objects, of which a method asks for sums.

    Attributes
    ----------
    source : Blocks
        As they were given.
    blocks : Blocks
        As the method reads them, with their weights as a last column if they have any.
    weighted : bool
    rows : (s,) array
        Numbers of the objects that were drawn.
    drawn : (s, p) array
        These objects, as they were given.
    weights : (s,) array or None
        How much each of them counts; None if all count alike.
    moments : Moments
        Of all objects, as the method reads them.
    passes : Passes
    """

    source: Blocks
    blocks: Blocks
    weighted: bool
    rows: np.ndarray
    drawn: np.ndarray
    weights: np.ndarray | None
    moments: Moments
    passes: Passes

    @classmethod
    def of(
        cls,
        source: Blocks,
        read: tuple[BlockFunction, int] | None,
        sample_weight: Any,
        random_state: Seed,
        passes: Passes,
        *,
        products: bool,
        least: int = 0,
    ) -> Everyone:
        """Two passes over the objects: their moments, and the rows that are drawn; three with weights.

        ``read`` makes of a block what the method reads, with so many columns; None leaves them as they are.
        ``products``: whether sums of products of attributes are among the moments. ``least``: how many objects are
        drawn, if the usual number is not enough.
        """
        blocks = source if read is None else source.map(read[0], None, read[1], source.dtype)
        weighted = sample_weight is not None
        given = source.beside(sample_weight) if weighted else source
        if weighted:
            blocks = blocks.beside(sample_weight)
        moments = passes.journal.compared(
            Moments,
            lambda: passes.made(
                "moments", lambda: moments_of(blocks, passes.apply, products=products, weighted=weighted)
            ),
        )
        passes.told.n_rows = moments.n
        _check_moments(moments, source)
        size = max(SAMPLE_SIZE, least)
        words = f"a sample of {min(size, moments.n):,} of {moments.n:,} objects"
        rows, drawn, weights = passes.journal.recalled(
            tuple, lambda: passes.made(words, lambda: _drawn(given, moments.n, size, random_state, weighted=weighted))
        )
        if not weighted:
            weights = None
        return cls(source, blocks, weighted, rows, drawn.astype(source.dtype, copy=False), weights, moments, passes)

    def __len__(self) -> int:
        return self.moments.n

    @property
    def are_drawn(self) -> bool:
        """Whether all objects are among those that were drawn."""
        return len(self.rows) == len(self)

    def take(self, rows: np.ndarray, words: str) -> np.ndarray:
        """One pass, for some objects by their increasing numbers, as they were given; ``words`` tell what for."""
        return self.passes.made(words, lambda: self.source.take(rows))

    def sum(self, function: WeightedBlockFunction, shared: Any, kind: type) -> Any:
        """One pass over all objects: the sum, of a kind, of what the function gives for each block."""
        told = function, shared, self.source.dtype, self.weighted
        return self.passes.journal.recalled(
            kind, lambda: self.passes.made("sums", lambda: self.blocks.reduce(_weighed, told, self.passes.apply))
        )


def _check_moments(moments: Moments, source: Blocks) -> None:
    nowhere = np.flatnonzero(np.isnan(moments.low))
    if len(nowhere):
        name = nowhere[0] if source.names is None else printable(source.names[nowhere[0]])
        raise InvalidInputError(f"X has no value at all (all NaN) in column {name}: leave it out")
    if moments.weight <= 0:
        raise InvalidInputError("sample_weight must hold at least one non-zero weight")
    check_scale(np.stack([moments.low, moments.high]).astype(source.dtype), "X")


def _drawn(
    given: Blocks, n: int, size: int, random_state: Seed, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of rows, the rows, and how much each counts (nothing if all count alike). Rows with weights, of which
    there are more than can be drawn, are drawn in proportion to these."""
    if not weighted:
        rows = sample_rows(n, size, random_state)
        return rows, given.take(rows), np.empty(0)
    if n <= size:
        rows = np.arange(n)
        found = given.take(rows)
        return rows, found[:, :-1], found[:, -1]
    rows, times = weighted_sample(given, size, random_state)
    return rows, given.take(rows)[:, :-1], times


def _weighed(block: np.ndarray, told: tuple[WeightedBlockFunction, Any, np.dtype, bool], apply: Apply) -> Any:
    function, shared, dtype, weighted = told
    if not weighted:
        return function(block, np.empty(0), shared, apply)
    values = np.ascontiguousarray(block[:, :-1], dtype=dtype)
    return function(values, np.ascontiguousarray(block[:, -1]), shared, apply)
