"""Work on blocks of rows, in threads, with a result that does not depend on their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from dempster._validation import check
from dempster._validation import n_jobs as n_jobs_rule

Result = TypeVar("Result")

_ROWS = 4096
_MAX_BLOCKS = 64
_MAX_THREADS = 256  # more than any processor has a use for, and fewer than a system allows


class Apply(Protocol):
    """Calls a function with each of the arguments, perhaps in threads; results in order."""

    def __call__(self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], /) -> list[Result]: ...


def row_blocks(n: int, rows: int = _ROWS, most: int | None = _MAX_BLOCKS) -> list[tuple[int, int]]:
    """Cut 0..n into blocks of at least ``rows`` rows, at most ``most`` of them; the cut depends on n alone."""
    size = rows if most is None else max(rows, -(-n // most))
    if 0 < n <= size:
        return [(0, n)]
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def n_threads(n_jobs: int | None) -> int:
    """Threads to use, with scikit-learn's meaning: all processors for -1, all but k - 1 of them for -k, and for None
    one, unless `joblib.parallel_config` says otherwise. Inside a worker of joblib it is one; never more than 256."""
    from joblib import effective_n_jobs

    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0):
        check(n_jobs, "n_jobs", n_jobs_rule)
    return min(int(effective_n_jobs(n_jobs)), _MAX_THREADS)


@contextmanager
def block_map(n_jobs: int | None) -> Iterator[Apply]:
    """A function that applies a kernel to a list of arguments, results in order; threads only for several blocks.

    Kernels must release the GIL. The threads live as long as the context.
    """
    apply = _Threads(n_threads(n_jobs))
    try:
        yield apply
    finally:
        if apply.pool is not None:
            # after an error or Ctrl-C nothing that waits is begun any more
            apply.pool.shutdown(cancel_futures=True)


class _Threads:
    """An `Apply` with some threads, started when they are first needed; in another process it has one."""

    def __init__(self, n: int = 1):
        self.n = n
        self.pool: ThreadPoolExecutor | None = None

    def __call__(self, function: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], /) -> list[Result]:
        if len(arguments) == 1:
            return [function(*arguments[0])]
        if self.n == 1:
            return [function(*a) for a in arguments]
        if self.pool is None:
            self.pool = ThreadPoolExecutor(self.n)
        return [future.result() for future in [self.pool.submit(function, *a) for a in arguments]]

    def __reduce__(self) -> tuple[type[_Threads], tuple[()]]:
        return _Threads, ()


def outside_jobs(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result] | None:
    """Results in order, as they come, from the workers that `joblib.parallel_config` names (processes, a Dask cluster);
    None if it names none that are outside this process, whose threads serve as well."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):
        return None
    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(function)(*a) for a in arguments)


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
