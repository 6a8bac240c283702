"""Progress of long work: a bar for people, or a function that is told how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dempster._types import Advance

# name of the work, units done, units in all (None if nobody knows), what a unit is, a word on the state
Listener = Callable[[str, int, int | None, str, str], None]
_listener: ContextVar[Listener | None] = ContextVar("dempster_progress", default=None)


@contextmanager
def heard_by(listener: Listener | None) -> Iterator[None]:
    """Whatever works inside the block tells this function how far it is, instead of showing a bar."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def progress_bar(name: str, total: int | None, unit: str, *, shown: bool) -> Iterator[Advance]:
    """A progress bar, if it is to be shown; call what it gives after each unit, with a word on the state."""
    listener = _listener.get()
    if listener is not None:
        yield _told_to(listener, name, total, unit.strip())
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


def _told_to(listener: Listener, name: str, total: int | None, unit: str) -> Advance:
    done = 0
    if total is not None:
        listener(name, done, total, unit, "")

    def advance(note: str) -> None:
        nonlocal done
        done += 1
        listener(name, done, total, unit, note)

    return advance
