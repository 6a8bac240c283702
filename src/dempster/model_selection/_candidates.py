"""Numbers of clusters that a user wants to compare, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dempster._errors import InvalidInputError
from dempster._validation import is_integer, listed, shown

__all__ = ["checked_candidates"]

_MOST = 100_000


def checked_candidates(given: Any, name: str) -> list[int]:
    """Different integers of at least 2, increasing; ``name`` is what the user calls them."""
    if not isinstance(given, Iterable):
        raise InvalidInputError(f"{name} must be a range or a sequence of integers, got {shown(given)}")
    values = listed(given, name, "integers")
    if len(values) > _MOST:
        raise InvalidInputError(f"{name} must hold at most {_MOST:,} numbers, got {shown(given)}")
    if not values:
        raise InvalidInputError(f"{name} must hold at least one number, got {shown(given)}")
    if not all(map(is_integer, values)):
        raise InvalidInputError(f"{name} must hold integers, got {shown(values)}")
    candidates = sorted(int(c) for c in values)
    if len(set(candidates)) < len(candidates):
        raise InvalidInputError(f"{name} must hold different numbers, got {shown(values)}")
    if candidates[0] < 2:
        raise InvalidInputError(f"{name} must be at least 2 (a single cluster cannot be compared), got {candidates[0]}")
    return candidates
