"""What people are told of passes over blocks: that one begins and what for, how fast they are, how much memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

__all__ = ["PassNotes", "peak_memory"]


def peak_memory() -> int | None:
    """Most bytes of memory that this process has had so far; None where the system does not tell."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most  # kilobytes everywhere else


class PassNotes:
    """Is told when a pass begins, in words, and tells it on with what is known of the one before.

    Attributes
    ----------
    passes : int
        How many have begun.
    n_rows : int or None
        Rows of a pass; None before they have been counted.
    """

    def __init__(self, *listeners: Callable[[str], None]):
        self._listeners, self._began = listeners, 0.0
        self._seconds: float | None = None  # of the last pass
        self.passes = 0
        self.n_rows: int | None = None

    def __call__(self, words: str) -> None:
        state = [words]
        if self._seconds is not None and self.n_rows is not None:
            state.append(f"{self.n_rows / max(self._seconds, 1e-9):,.0f} rows a second")
        memory = peak_memory()
        if memory is not None:
            state.append(f"{memory / 2**20:,.0f} MB at most")
        self._began, self.passes = time.perf_counter(), self.passes + 1
        for listener in self._listeners:
            listener(", ".join(state))

    def done(self) -> None:
        """The pass is over."""
        self._seconds = time.perf_counter() - self._began
