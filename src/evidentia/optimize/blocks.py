"""Work on blocks of rows, in threads, with a result that does not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["row_blocks", "n_threads", "block_map"]

Result = TypeVar("Result")

_ROWS = 4096
_MOST_BLOCKS = 64


def row_blocks(n: int, rows: int = _ROWS, most: int | None = _MOST_BLOCKS) -> list[tuple[int, int]]:
    """Cut 0..n into blocks of at least ``rows`` rows, at most ``most`` of them; the cut depends on n alone."""
    size = rows if most is None else max(rows, -(-n // most))
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def n_threads(n_jobs: int | None) -> int:
    """Threads to use: all processors for None and -1, all but k - 1 of them for -k."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if n_jobs is None:
        return available
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0")
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


@contextmanager
def block_map(n_jobs: int | None) -> Iterator[Callable[[Callable[..., Result], list[tuple[Any, ...]]], list[Result]]]:
    """A function that applies a kernel to a list of arguments, results in order; threads only for several blocks.

    Kernels must release the GIL. The threads live as long as the context.
    """
    threads = n_threads(n_jobs)
    pool = None

    def apply(function: Callable[..., Result], arguments: list[tuple[Any, ...]]) -> list[Result]:
        nonlocal pool
        if threads == 1 or len(arguments) == 1:
            return [function(*a) for a in arguments]
        if pool is None:
            pool = ThreadPoolExecutor(threads)
        return [future.result() for future in [pool.submit(function, *a) for a in arguments]]

    try:
        yield apply
    finally:
        if pool is not None:
            pool.shutdown()
