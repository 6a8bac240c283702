"""Generate any number of objects in blocks: ten Gaussian clusters in eight dimensions, and a few outliers.

A block depends only on its number, so the same objects can be generated repeatedly in memory, in
files or by a function.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

__all__ = [
    "CLUSTERS",
    "WIDTH",
    "block",
    "blocks",
    "in_memory",
    "parquet_folder",
    "truth",
]

CLUSTERS = 10
WIDTH = 8
ROWS = 250_000  # rows of a block
_CENTERS = np.random.default_rng(7).normal(size=(CLUSTERS, WIDTH)) * 4
_OUTLIERS = 0.001


def block(number: int, n: int = ROWS) -> np.ndarray:
    """Return (n, 8) objects of a block in single precision."""
    rng = np.random.default_rng([11, number])
    X = rng.standard_normal((n, WIDTH), dtype=np.float32)
    X += _CENTERS.astype(np.float32)[truth(number, n)]
    X[: int(_OUTLIERS * n)] *= 10
    return X


def truth(number: int, n: int = ROWS) -> np.ndarray:
    """Return the clusters of the objects of a block."""
    return np.random.default_rng([13, number]).integers(0, CLUSTERS, n)


def blocks(n: int) -> partial[Iterator[np.ndarray]]:
    """Return a function that starts a new iteration over the blocks of n objects."""
    return partial(_blocks, n)


def _blocks(n: int) -> Iterator[np.ndarray]:
    for number in range(-(-n // ROWS)):
        yield block(number, min(ROWS, n - number * ROWS))


def in_memory(n: int) -> np.ndarray:
    """Return the same objects in one array."""
    out = np.empty((n, WIDTH), dtype=np.float32)
    start = 0
    for part in _blocks(n):
        out[start : start + len(part)] = part
        start += len(part)
    return out


def parquet_folder(n: int, folder: Path) -> Path:
    """Write the same objects to a folder of Parquet files, one for each block, unless they exist."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = folder / f"{n}"
    if target.exists():
        return target
    target.mkdir(parents=True)
    for number, part in enumerate(_blocks(n)):
        table = pa.table(
            {f"x{j}": np.ascontiguousarray(part[:, j]) for j in range(WIDTH)}
        )
        pq.write_table(
            table,
            target / f"{number:05d}.parquet",
            compression="none",
            use_dictionary=False,
        )
    return target
