"""One thread for linear algebra, while small products are made in loops or blocks go through threads of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any


class _OneThread:
    """One BLAS thread as long as some fit wants it. The number is that of the whole process: of fits that run at the
    same time the last gives back what the first has found."""

    def __init__(self) -> None:
        self._lock, self._fits = Lock(), 0
        self._limits: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._fits += 1
            if self._fits == 1:
                self._limits = _libraries(len(sys.modules)).limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._fits -= 1
                if self._fits == 0 and self._limits is not None:
                    self._limits.restore_original_limits()
                    self._limits = None


@lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> Any:
    """The libraries of the process, which takes milliseconds to find; looked for again when modules were imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_blas_thread = _OneThread()
