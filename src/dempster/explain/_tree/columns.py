"""Attributes of any kind as columns of numbers that a tree can split, and the splits in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._text import printable
from dempster.dissimilarity.columns import Column

__all__ = ["SplitColumn", "split_columns", "column_values", "round_between", "threshold_text"]


@dataclass(frozen=True)
class SplitColumn:
    """A column of numbers as it is, or whether the cells of another one are a certain category.

    Thresholds on whole numbers beyond 2^53, which floating-point numbers do not tell apart, are measured from
    ``origin``, the smallest of them.
    """

    name: str
    source: int  # which column of the table
    is_category: bool = False
    category: Any = None
    origin: int = 0

    def condition(self, threshold: float, left: bool) -> str:
        """In words, which objects go to a side of a split."""
        name = printable(self.name)
        if self.is_category:
            return f"{name} is {'not ' * left}{printable(self.category)}"
        return f"{name} {'<=' if left else '>'} {self.shown(threshold)}"

    def shown(self, threshold: float) -> str:
        """A threshold in the units of the column."""
        return str(self.origin + math.floor(threshold)) if self.origin else threshold_text(threshold)


def threshold_text(threshold: float) -> str:
    """As short as it may be without becoming another number."""
    short = f"{threshold + 0.0:.12g}"
    return short if float(short) == threshold else repr(float(threshold))


def split_columns(table: list[Column], least: int) -> list[SplitColumn]:
    """What to split on. A category that fewer than ``least`` objects have, or all but so few, cannot make a leaf."""
    found = []
    for source, column in enumerate(table):
        name = str(column.name)
        if column.is_numeric:
            found.append(SplitColumn(name, source, origin=column.whole_origin()))
            continue
        if column.is_empty:
            continue
        categories = column.categories()
        codes = column.codes(categories, missing=-1, unseen=-1)
        counts = np.bincount(codes[codes >= 0], minlength=len(categories))
        chosen = [c for c, n in zip(categories, counts, strict=True) if least <= n <= len(codes) - least]
        if len(categories) == 2:  # the one is what the other is not
            chosen = chosen[-1:]
        found += [SplitColumn(name, source, True, category) for category in chosen]
    return found


def column_values(table: list[Column], columns: list[SplitColumn]) -> np.ndarray:
    """(n, q) numbers to compare with thresholds, NaN for missing cells."""
    values = np.empty((len(table[0]), len(columns)))
    for j, column in enumerate(columns):
        source = table[column.source]
        if not column.is_category:
            values[:, j] = source.numbers_from(column.origin)
            continue
        only = np.empty(1, dtype=object)
        only[0] = column.category
        codes = source.codes(only, missing=-1, unseen=1)
        values[:, j] = np.where(codes < 0, np.nan, codes == 0)
    return values


def round_between(low: float, high: float) -> float:
    """The roundest number in the middle half between two, so that rules are short and still exact."""
    middle, width = low / 2 + high / 2, high / 2 - low / 2
    if not (width > 0 and np.isfinite(width)):
        return low
    first = -int(np.floor(np.log10(width))) - 1
    for digits in range(first, first + 4):
        if abs(digits) > 300:
            break
        candidate = float(round(middle, digits))
        if low <= middle - width / 2 <= candidate <= middle + width / 2 < high:
            return candidate
    return middle if low <= middle < high else low
