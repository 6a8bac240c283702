"""Long calls that Ctrl-C ends at once.

Python hears a signal between two steps of its main thread. A call into C or LAPACK is one step, however long it
takes. Made in a thread of its own, while the main one waits, it does not stand in the way: the interrupt is raised at
once, and what the call still computes belongs to nobody any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["interruptible"]

Result = TypeVar("Result")


def interruptible(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function that takes long and releases the GIL; in a thread of its own if this is the main one.

    >>> interruptible(max, 2, 3)
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    results: list[Result] = []
    errors: list[BaseException] = []

    def call() -> None:
        try:
            results.append(function(*arguments))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
