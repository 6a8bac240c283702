"""The judge: what to expect of a partition from its measures, learned from generated data.

Two sums of regression trees (Friedman, 2001) were learned from the measures of all candidates of
random data sets, whose true clusters are known (``benchmarks/choice``). They predict the adjusted
Rand index with the truth, and the log odds that the number of clusters is right. No real data were
used. The file ``judge.npz`` contains the trees as plain arrays, and the calibration: the agreement
that the chosen candidates of other random data sets reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

_FILE = "judge.npz"


@dataclass(frozen=True, eq=False)
class Trees:
    """Sum of regression trees; the children of a node are ``child`` and ``child + 1``."""

    base: float
    roots: np.ndarray  # (trees,), indices of the first nodes
    measure: np.ndarray  # (nodes,), index of the measure that decides, -1 in a leaf
    threshold: (
        np.ndarray
    )  # (nodes,), larger measures go to the second child; value of a leaf
    child: np.ndarray  # (nodes,)

    def predict(self, measures: np.ndarray) -> np.ndarray:
        """Return the sums of the values of the leaves, shape (n,)."""
        node = np.repeat(self.roots[:, None], len(measures), axis=1)
        column = np.arange(len(measures))
        while True:
            decides = self.measure[node]
            inside = decides >= 0
            if not inside.any():
                return self.base + self.threshold[node].sum(axis=0)
            is_larger = measures[column, np.maximum(decides, 0)] > self.threshold[node]
            node = np.where(inside, self.child[node] + is_larger, node)


@dataclass(frozen=True, eq=False)
class Judge:
    """Expectations from measures."""

    agreement: Trees
    right_number: Trees
    # predicted agreement of chosen candidates; mean and lowest tenth of the true agreement there
    knots: np.ndarray
    means: np.ndarray
    lows: np.ndarray

    def expect(self, predicted: np.ndarray) -> np.ndarray:
        """Return the mean true agreement of partitions with these predictions."""
        return np.interp(predicted, self.knots, self.means)

    def expect_at_least(self, predicted: float) -> float:
        """Return the true agreement that nine of ten partitions with this prediction exceed."""
        return float(np.interp(predicted, self.knots, self.lows))

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays, as they are stored."""
        arrays = {name: getattr(self, name) for name in ("knots", "means", "lows")}
        for name in ("agreement", "right_number"):
            trees = getattr(self, name)
            arrays |= {f"{name}_{field}": value for field, value in vars(trees).items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Judge:
        """Create the judge from the stored arrays."""

        def trees(name: str) -> Trees:
            start = f"{name}_"
            fields = {
                key.removeprefix(start): value
                for key, value in arrays.items()
                if key.startswith(start)
            }
            return Trees(base=float(fields.pop("base")), **fields)

        calibration = (arrays[name] for name in ("knots", "means", "lows"))
        return cls(trees("agreement"), trees("right_number"), *calibration)


@lru_cache
def load_judge() -> Judge:
    """Read the judge when it is first used."""
    path = files(__package__).joinpath(_FILE)
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Judge.from_arrays(dict(arrays))
