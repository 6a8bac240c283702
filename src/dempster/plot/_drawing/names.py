"""Names that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dempster._errors import InvalidInputError
from dempster._validation import listed, printable

__all__ = ["shown_names", "shortened", "short_names"]


def shown_names(names: Any, argument: str, number: int) -> list[str]:
    """As many names as asked for, as text that can be drawn."""
    if isinstance(names, str):
        raise InvalidInputError(f"{argument} must be a sequence of {number} names, got the text {names!r}")
    given = [printable(name) for name in listed(names, argument, f"{number} names")]
    if len(given) != number:
        raise InvalidInputError(f"{argument} must hold {number} names, got {len(given)}")
    return given


def shortened(name: str, most: int) -> str:
    """A name of at most so many letters: the middle goes, as the ends tell more."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return f"{name[: most - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"


def short_names(names: Sequence[str], most: int) -> list[str]:
    """Names of at most so many letters that stay different where the names are: of those that would become equal
    what they begin with in common goes."""
    short = [shortened(name, most) for name in names]
    for text in {text for text in short if short.count(text) > 1}:
        alike = [k for k, other in enumerate(short) if other == text]
        if len({names[k] for k in alike}) == 1:
            continue
        letters = zip(*(names[k] for k in alike), strict=False)
        start = next((at for at, these in enumerate(letters) if len(set(these)) > 1), 0)
        head = names[alike[0]][: min(start, most // 3)].rstrip()
        for k in alike:
            short[k] = f"{head}…{shortened(names[k][start:], most - len(head) - 1)}"
    return short
