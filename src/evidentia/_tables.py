"""What is read off a table of objects besides its numbers."""

from __future__ import annotations

from typing import Any

__all__ = ["object_index"]


def object_index(X: Any) -> Any:
    """Names of the rows of a pandas table, None for anything else (a plain 0..n-1 index says nothing)."""
    if not hasattr(X, "iloc"):
        return None
    index = X.index
    plain = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if plain else index
