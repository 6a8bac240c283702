"""Names that fit."""

from __future__ import annotations

from typing import Any

from dempster._errors import InvalidInputError
from dempster._text import printable
from dempster._validation import listed

__all__ = ["shown_names"]


def shown_names(names: Any, argument: str, number: int) -> list[str]:
    """As many names as asked for, as text that can be drawn."""
    if isinstance(names, str):
        raise InvalidInputError(f"{argument} must be a sequence of {number} names, got the text {names!r}")
    given = [printable(name) for name in listed(names, argument, f"{number} names")]
    if len(given) != number:
        raise InvalidInputError(f"{argument} must hold {number} names, got {len(given)}")
    return given
