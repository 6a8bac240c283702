"""Clusters, sets of clusters and numbers in words."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dempster._validation import printable

__all__ = ["cluster_name", "group_name", "answer_words", "short_number", "numbered"]

_NAMED = 4  # clusters of a set that are named; of larger sets their number is told


def cluster_name(name: Hashable) -> str:
    """``cluster 2``, or the name alone if it is one."""
    text = printable(name)
    return f"cluster {text}" if text.lstrip("-").isdigit() else text


def group_name(clusters: Sequence[int], frame: Sequence[Hashable]) -> str:
    """Of the objects of one answer: ``cluster 2``, ``between 2 and 3``, ``outliers``."""
    if not len(clusters):
        return "outliers"
    if len(clusters) == 1:
        return cluster_name(frame[clusters[0]])
    if len(clusters) > _NAMED:
        return f"between {'all' if len(clusters) == len(frame) else ''} {len(clusters)} clusters".replace("  ", " ")
    names = [printable(frame[k]) for k in clusters]
    return f"between {', '.join(names[:-1])} and {names[-1]}"


def answer_words(clusters: Sequence[int], frame: Sequence[Hashable]) -> str:
    """What a rule answers: ``cluster 2``, ``cluster 2 or 3``, ``no cluster``."""
    if not len(clusters):
        return "no cluster (outlier)"
    if len(clusters) > _NAMED:
        return f"any of {'all ' if len(clusters) == len(frame) else ''}{len(clusters)} clusters"
    first, *others = [printable(frame[k]) for k in clusters]
    first = cluster_name(frame[clusters[0]])
    return first if not others else f"{', '.join([first, *others[:-1]])} or {others[-1]}"


def short_number(value: Any, digits: int = 4) -> str:
    """A number for people: four digits, no needless zeros, large ones with commas."""
    number = float(value)
    if not np.isfinite(number):
        return "-" if np.isnan(number) else str(number)
    if abs(number) >= 10 ** (digits - 1) and abs(number) < 1e9:
        return f"{number:,.0f}"
    return f"{number:.{digits}g}"


def numbered(count: int, what: str = "object") -> str:
    """``1 object``, ``12,345 objects``."""
    return f"{count:,} {what}{'s' * (count != 1)}"
