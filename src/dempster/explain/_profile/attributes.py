"""Attributes of any kind, ready to be described: numbers, dates, Booleans and categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dempster._text import format_number, printable
from dempster.dissimilarity.columns import Column

__all__ = ["Attribute", "Feature", "attributes_of", "features_of"]

_OTHERS = "other"


@dataclass(eq=False)
class Attribute:
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "boolean", "category"}
    values : (n,) array
        Numbers (dates as days since 1970), or positions among the categories; NaN for missing cells.
    categories : list of str
    clustered : bool or None
        Whether the clusters were made of it; None if nobody knows.
    """

    name: str
    kind: str
    values: np.ndarray
    categories: list[str] = field(default_factory=list)
    clustered: bool | None = None

    @property
    def is_number(self) -> bool:
        return self.kind in ("number", "date")

    @cached_property
    def present(self) -> np.ndarray:
        return ~np.isnan(self.values)

    @cached_property
    def n_missing(self) -> int:
        return int((~self.present).sum())

    def text(self, value: float) -> str:
        """A value, or a mean of values, for people."""
        if np.isnan(value):
            return "-"
        if self.kind == "date":
            return str(self.moment(value).astype("datetime64[D]"))
        return format_number(value) if self.kind == "number" else f"{value:.0%}"

    def moment(self, value: float) -> np.datetime64:
        """The date of a number of days."""
        if np.isnan(value):
            return np.datetime64("NaT")
        return np.datetime64(0, "us") + np.timedelta64(round(value * 86_400e6), "us")


@dataclass(frozen=True, eq=False)
class Feature:
    """What has a mean: a number, or whether the cells are of a category (then the mean is a share)."""

    attribute: Attribute
    category: int = -1

    @property
    def label(self) -> str:
        name = printable(self.attribute.name)
        if self.attribute.kind != "category":
            return name
        return f"{name} = {printable(self.attribute.categories[self.category])}"

    @property
    def values(self) -> np.ndarray:
        """(n,) numbers, or 1 where the cell is of the category and 0 where it is not."""
        attribute = self.attribute
        if attribute.is_number:
            return attribute.values
        return np.where(attribute.present, attribute.values == self.category, np.nan)


def attributes_of(table: list[Column], max_categories: int) -> list[Attribute]:
    """Read columns; of a column of more categories than allowed the rarest are put together."""
    return [_attribute(column, max_categories) for column in table]


def features_of(attributes: list[Attribute]) -> list[Feature]:
    """Numbers as they are, Booleans by their share of True, categories one by one."""
    features = []
    for attribute in attributes:
        if attribute.is_number:
            features.append(Feature(attribute))
        elif attribute.kind == "boolean":
            features.append(Feature(attribute, 1))
        else:
            features += [Feature(attribute, k) for k in range(len(attribute.categories))]
    return features


def _attribute(column: Column, max_categories: int) -> Attribute:
    name = str(column.name)
    if column.is_empty:
        return Attribute(name, "number", np.full(len(column), np.nan))
    if column.is_numeric or column.is_date:
        return Attribute(name, "date" if column.is_date else "number", column.numbers())
    if column.is_boolean:
        both: Any = np.empty(2, dtype=object)
        both[:] = [False, True]
        return Attribute(name, "boolean", _positions(column, both), ["False", "True"])
    categories = column.categories()
    values = _positions(column, categories)
    names = [printable(category) for category in categories]
    if len(names) > max_categories:
        counts = np.bincount(values[~np.isnan(values)].astype(int), minlength=len(names))
        kept = np.sort(np.argsort(-counts, kind="stable")[: max_categories - 1])
        position = np.full(len(names) + 1, float(len(kept)))
        position[kept] = np.arange(len(kept))
        position[-1] = np.nan
        values = position[np.where(np.isnan(values), len(names), values).astype(int)]
        names = [*(names[k] for k in kept), f"{_OTHERS} ({len(names) - len(kept)})"]
    return Attribute(name, "category", values, names)


def _positions(column: Column, categories: np.ndarray) -> np.ndarray:
    codes = column.codes(categories, missing=-1, unseen=-1)
    return np.where(codes < 0, np.nan, codes)
