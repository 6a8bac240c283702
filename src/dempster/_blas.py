"""Limit BLAS to one thread during loops over small products and computations in threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any


class _OneThread:
    """Context manager that limits BLAS to one thread.

    The limit applies to the whole process. If several fits run at the same time, the first fit to
    start sets the limit, and the last fit to end restores the previous number of threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._fits: set[object] = set()
        self._limits: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        fit = object()
        try:  # An interrupt may arrive at any time.
            with self._lock:
                self._fits.add(fit)
                if self._limits is None:
                    self._limits = _libraries(len(sys.modules)).limit(
                        limits=1, user_api="blas"
                    )
            yield
        finally:
            with self._lock:
                self._fits.discard(fit)
                if not self._fits and self._limits is not None:
                    self._limits.restore_original_limits()
                    self._limits = None


@lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> Any:
    """Return the BLAS libraries of the process.

    The result is cached until the number of imported modules changes.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_blas_thread = _OneThread()
