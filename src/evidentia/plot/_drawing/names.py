"""Names that fit."""

from __future__ import annotations

__all__ = ["shortened"]


def shortened(name: str, most: int) -> str:
    """A name of at most so many letters: the middle goes, as the ends tell more."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 3
    return f"{name[: most - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"
