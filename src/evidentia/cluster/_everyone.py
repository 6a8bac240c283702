"""All objects of a fit, where they come in blocks: some are drawn, on which starts compete, and sums go over all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia._scale import check_scale
from evidentia._types import Seed
from evidentia.cluster._starts import SAMPLE_SIZE
from evidentia.optimize.blocks import Apply
from evidentia.stream.blocks import BlockFunction, Blocks
from evidentia.stream.door import Moments, moments_of, sample_rows

__all__ = ["Everyone"]


@dataclass(frozen=True)
class Everyone:
    """All objects, of which a method asks for sums.

    Attributes
    ----------
    source : Blocks
        As they were given.
    blocks : Blocks
        As the method reads them.
    rows : (s,) array
        Numbers of the objects that were drawn.
    drawn : (s, p) array
        These objects, as they were given.
    moments : Moments
        Of all objects, as the method reads them.
    apply : Apply
    told : function
        Is told that a pass begins, in words.
    """

    source: Blocks
    blocks: Blocks
    rows: np.ndarray
    drawn: np.ndarray
    moments: Moments
    apply: Apply
    told: Callable[[str], None]

    @classmethod
    def of(
        cls,
        source: Blocks,
        read: tuple[BlockFunction, int] | None,
        random_state: Seed,
        apply: Apply,
        told: Callable[[str], None],
        *,
        products: bool,
    ) -> Everyone:
        """Two passes over the objects: their moments, and the rows that are drawn.

        ``read`` makes of a block what the method reads, with so many columns; None leaves them as they are.
        ``products``: whether sums of products of attributes are among the moments.
        """
        blocks = source if read is None else source.map(read[0], None, read[1], source.dtype)
        told("moments")
        moments = moments_of(blocks, apply, products=products)
        ends = np.stack([moments.low, moments.high]).astype(source.dtype)
        check_scale(ends, "X")
        rows = sample_rows(moments.n, SAMPLE_SIZE, random_state)
        told(f"a sample of {len(rows):,} of {moments.n:,} objects")
        return cls(source, blocks, rows, source.take(rows), moments, apply, told)

    def __len__(self) -> int:
        return self.moments.n

    @property
    def are_drawn(self) -> bool:
        """Whether all objects are among those that were drawn."""
        return len(self.rows) == len(self)

    def sum(self, function: BlockFunction, shared: Any) -> Any:
        """One pass over all objects: the sum of what the function gives for each block."""
        self.told("sums")
        return self.blocks.reduce(function, shared, self.apply)
