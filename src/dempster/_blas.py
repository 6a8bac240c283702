"""Limit BLAS to one thread during loops over small products and computations in threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

_lock = Lock()
_fits: set[object] = set()
_limits: list[Any] = []  # the limit, if it is set


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread.

    The limit applies to the whole process. If several fits run at the same time, the first fit to
    start sets the limit, and the last fit to end restores the previous number of threads.
    """
    fit = object()
    try:  # An interrupt may arrive at any time.
        with _lock:
            _fits.add(fit)
            if not _limits:
                libraries = _libraries(len(sys.modules))
                _limits.append(libraries.limit(limits=1, user_api="blas"))
        yield
    finally:
        with _lock:
            _fits.discard(fit)
            if not _fits and _limits:
                _limits.pop().restore_original_limits()


@lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> Any:
    """Return the BLAS libraries of the process.

    The result is cached until the number of imported modules changes.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
