"""Refusals of what would take too much memory or time, in the same words everywhere."""

from __future__ import annotations

from dempster._errors import InvalidInputError

__all__ = ["MOST_BYTES", "check_memory"]

MOST_BYTES = 4 << 30  # what one result, or one table that is needed on the way, may take


def check_memory(n_bytes: int, what: str, advice: str) -> None:
    """Refuse a table that does not fit, saying how much it would take and what to do instead."""
    if n_bytes > MOST_BYTES:
        raise InvalidInputError(f"{what} would take {n_bytes / (1 << 30):,.1f} GB of memory; {advice}")
