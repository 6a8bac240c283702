"""Numbers and names as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["counted", "quoted"]


def counted(number: int, thing: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def quoted(names: Iterable[Any], most: int = 8) -> str:
    """Names as people write a list: ``'a', 'b' and 3 more``."""
    texts = [f"'{name}'" for name in names]
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
