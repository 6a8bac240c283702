"""Progress of long computations, which is shown in a progress bar or reported to a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dempster._types import Advance

# Function of the task name, the number of completed units, the total number of units (None if
# unknown), the name of a unit (such as "iteration"), and a short status text.
Listener = Callable[[str, int, int | None, str, str], None]
_listener: ContextVar[Listener | None] = ContextVar("dempster_progress", default=None)


@contextmanager
def report_progress_to(listener: Listener | None) -> Iterator[None]:
    """Within the with block, report progress to ``listener`` instead of showing a progress bar."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def progress_bar(
    name: str, total: int | None, unit: str, *, shown: bool
) -> Iterator[Advance]:
    """Open a progress bar and yield a function that advances it and sets its status text."""
    listener = _listener.get()
    if listener is not None:
        done = 0
        unit = unit.strip()
        if total is not None:
            listener(name, done, total, unit, "")

        def count(note: str) -> None:
            nonlocal done
            done += 1
            listener(name, done, total, unit, note)

        yield count
        return
    if not shown:
        yield lambda note: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc=name, unit=unit) as bar:

        def advance(note: str) -> None:
            bar.set_postfix_str(note, refresh=False)
            bar.update()

        yield advance
