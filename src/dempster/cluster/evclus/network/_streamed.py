"""Mini-batches of objects that come in blocks: some epochs are read in one pass, in any order of the rows.

Which objects an epoch sees depends on the seed and on their number alone. Those of several epochs are read in one pass
over the blocks and then dealt out, so that every batch is drawn from all objects, however these are sorted, and memory
holds the objects of a few epochs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dempster.cluster._everyone import Everyone
from dempster.cluster.evclus.network._objective import GivenBatch, batches_of_epoch
from dempster.cluster.evclus.network._preparation import Preparation

__all__ = ["StreamedBatches"]

_CELLS = 1 << 24  # that are read at once


class StreamedBatches:
    """The batches of every epoch of a training.

    Parameters
    ----------
    everyone : Everyone
    preparation : Preparation
    batch_size : int
    epochs : int
        Of the training.
    """

    def __init__(self, everyone: Everyone, preparation: Preparation, batch_size: int, epochs: int):
        self.everyone, self.preparation, self.batch_size, self.epochs = everyone, preparation, batch_size, epochs
        self._read: dict[int, list[np.ndarray]] = {}
        self._seed: int | None = None

    def epoch(self, seed: int, number: int) -> Iterator[GivenBatch]:
        """The batches of one epoch of the training with a seed."""
        if seed != self._seed or number not in self._read:
            self._seed, self._read = seed, self._several(seed, number)
        for objects in self._read.pop(number):
            inputs = self.preparation.inputs(objects)
            yield GivenBatch(objects, inputs, self.preparation.decision(inputs))

    def _several(self, seed: int, first: int) -> dict[int, list[np.ndarray]]:
        """The objects of this epoch and of some that follow, by their numbers."""
        n, width = len(self.everyone), self.everyone.drawn.shape[1]
        drawn: dict[int, list[np.ndarray]] = {}
        cells = 0
        for number in range(first, self.epochs):
            rows = list(batches_of_epoch(n, self.batch_size, np.random.default_rng([seed, number])))
            cells += width * sum(map(len, rows))
            if drawn and cells > _CELLS:
                break
            drawn[number] = rows
        wanted = np.unique(np.concatenate([rows for batches in drawn.values() for rows in batches]))
        objects = self.everyone.take(wanted, f"the objects of epochs {first + 1} to {first + len(drawn)}")
        return {
            number: [objects[np.searchsorted(wanted, rows)] for rows in batches] for number, batches in drawn.items()
        }
