"""Threads that process blocks of rows. The results do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Protocol, Self, TypeVar

from dempster._native import HAS_THREADS
from dempster._validation import check
from dempster._validation import n_jobs as n_jobs_rule

Result = TypeVar("Result")

_ROWS = 4096
_MAX_BLOCKS = 64
_MAX_THREADS = 256


class Apply(Protocol):
    """Callable that returns the results of a function for each tuple of arguments."""

    def __call__(
        self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], /
    ) -> list[Result]: ...


def row_blocks(
    n: int, rows: int = _ROWS, most: int | None = _MAX_BLOCKS
) -> list[tuple[int, int]]:
    """Divide n rows into at most ``most`` blocks of ``rows`` or more rows.

    Return the start and end of each block.
    """
    size = rows if most is None else max(rows, -(-n // most))
    return [(start, min(start + size, n)) for start in range(0, n, size)]


@dataclass(frozen=True)
class Sums:
    """Sums over rows; the sums over several blocks of rows can be added."""

    def __add__(self, other: Self) -> Self:
        return type(self)(
            **{name: value + vars(other)[name] for name, value in vars(self).items()}
        )

    def scaled(self, factor: float) -> Self:
        return type(self)(
            **{name: factor * value for name, value in vars(self).items()}
        )


def sum_blocks(
    function: Callable[[int, int], Any], n: int, rows: int, apply: Apply
) -> Any:
    """Return the sum of ``function(start, stop)`` over blocks of n rows.

    A thread adds the results of many blocks, so that few results are in memory at the same time.
    """

    def add_blocks(start: int, stop: int) -> Any:
        blocks = row_blocks(stop - start, rows, None)
        return reduce(add, (function(start + a, start + b) for a, b in blocks))

    return reduce(add, apply(add_blocks, row_blocks(n)))


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``, at most 256, and 1 inside a worker of joblib."""
    check(n_jobs, "n_jobs", n_jobs_rule)
    if not HAS_THREADS:
        return 1
    from joblib import effective_n_jobs

    return min(int(effective_n_jobs(n_jobs)), _MAX_THREADS)


@contextmanager
def block_map(n_jobs: int | None) -> Iterator[Apply]:
    """Return a context with an `Apply` object, which runs functions in threads."""
    apply = _Threads(n_threads(n_jobs))
    try:
        yield apply
    finally:
        if apply.pool is not None:
            # Pending calls are canceled after an error or an interrupt.
            apply.pool.shutdown(cancel_futures=True)


class _Threads:
    """`Apply` that starts its threads on the first use.

    A copy in another process uses one thread.
    """

    def __init__(self, n: int = 1):
        self.n = n
        self.pool: ThreadPoolExecutor | None = None

    def __call__(
        self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], /
    ) -> list[Result]:
        if self.n == 1 or len(arguments) == 1:
            return [function(*a) for a in arguments]
        if self.pool is None:
            self.pool = ThreadPoolExecutor(self.n)
        return [
            future.result()
            for future in [self.pool.submit(function, *a) for a in arguments]
        ]

    def __reduce__(self) -> tuple[type[_Threads], tuple[()]]:
        return _Threads, ()


def run_outside(
    function: Callable[..., Result],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
) -> Iterator[Result] | None:
    """Return the results of the workers of `joblib.parallel_config`, or None for threads."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):
        return None
    return Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(*a) for a in arguments
    )


def run_fits_in_threads(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], threads: int
) -> Iterator[Result]:
    """Run a function that fits estimators in threads, and return an iterator of the results.

    scikit-learn has a separate configuration for each thread, so the configuration is copied to
    each thread. ``sklearn.utils.parallel`` is not used, because it changes the warning filters of
    the whole process.
    """
    from joblib import Parallel, delayed
    from sklearn import config_context, get_config

    settings = get_config()

    def run_configured(*args: Any) -> Result:
        with config_context(**settings):
            return function(*args)

    return Parallel(n_jobs=threads, prefer="threads", return_as="generator")(
        delayed(run_configured)(*a) for a in arguments
    )
