"""Work on blocks of rows, in threads, with a result that does not depend on their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from evidentia._parameters import check
from evidentia._parameters import n_jobs as n_jobs_rule

__all__ = ["Apply", "row_blocks", "n_threads", "block_map", "fits_in_threads"]

Result = TypeVar("Result")

_ROWS = 4096
_MOST_BLOCKS = 64


class Apply(Protocol):
    """Calls a function with each of the arguments, perhaps in threads; results in order."""

    def __call__(self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], /) -> list[Result]: ...


def row_blocks(n: int, rows: int = _ROWS, most: int | None = _MOST_BLOCKS) -> list[tuple[int, int]]:
    """Cut 0..n into blocks of at least ``rows`` rows, at most ``most`` of them; the cut depends on n alone."""
    size = rows if most is None else max(rows, -(-n // most))
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def n_threads(n_jobs: int | None) -> int:
    """Threads to use, with scikit-learn's meaning: all processors for -1, all but k - 1 of them for -k, and for None
    one, unless `joblib.parallel_config` says otherwise. Inside a worker of joblib it is one."""
    from joblib import effective_n_jobs

    check(n_jobs, "n_jobs", n_jobs_rule)
    return int(effective_n_jobs(n_jobs))


@contextmanager
def block_map(n_jobs: int | None) -> Iterator[Apply]:
    """A function that applies a kernel to a list of arguments, results in order; threads only for several blocks.

    Kernels must release the GIL. The threads live as long as the context.
    """
    threads = n_threads(n_jobs)
    pool: ThreadPoolExecutor | None = None

    def apply(function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], /) -> list[Result]:
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
            # after an error or Ctrl-C nothing that waits is begun any more
            pool.shutdown(cancel_futures=True)


def fits_in_threads(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], threads: int
) -> Iterator[Result]:
    """Results of a function that fits estimators, in order and as they come.

    Settings of scikit-learn belong to a thread and are carried into each. Its own parallel tools do so too, but they
    set the filters of warnings as well, which belong to the whole program: other threads would be left with them.
    """
    from joblib import Parallel, delayed
    from sklearn import config_context, get_config

    settings = get_config()

    def configured(*given: Any) -> Result:
        with config_context(**settings):
            return function(*given)

    return Parallel(n_jobs=threads, prefer="threads", return_as="generator")(delayed(configured)(*a) for a in arguments)
