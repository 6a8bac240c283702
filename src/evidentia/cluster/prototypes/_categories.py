"""Tables of categories as numbers, and prototypes that are the most frequent categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from evidentia.belief import FocalSets
from evidentia.cluster.prototypes._model import masses_of_row
from evidentia.dissimilarity.gower import GowerEncoder
from evidentia.optimize.blocks import row_blocks

__all__ = ["CategoryEncoder", "CategoricalModel", "different_rows", "mismatches", "ABSENT"]

ABSENT = -1  # a category that no prototype has
_MISSING, _UNSEEN = -1, -2  # codes of the encoder
_TIE = 1e-12


class CategoryEncoder:
    """Every category of every column has a number of its own; those of a column follow each other, in order."""

    def __init__(self, names: list, *, missing: str):
        self.names, self.missing = names, missing

    def fit_encode(self, table: Any) -> np.ndarray:
        """Learn the categories of a table; returns (n, p) numbers of its categories."""
        self._encoder = GowerEncoder(categorical=self.names)
        codes = self._encoder.fit_transform(table).codes
        self.levels: list[np.ndarray] = []
        self._ranks: list[np.ndarray] = []
        for column, categories in enumerate(self._encoder.categories_):
            order = [place for _, place in sorted((_sort_key(value), t) for t, value in enumerate(categories))]
            values = list(categories[order])
            if self.missing == "category" and (codes[:, column] == _MISSING).any():
                values.append(None)
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            level = np.empty(len(values), dtype=object)
            level[:] = values
            self.levels.append(level)
            self._ranks.append(rank)
        self.offsets = np.concatenate([[0], np.cumsum([len(level) for level in self.levels])]).astype(np.int64)
        return self._numbered(table, codes, "error")

    def encode(self, table: Any, *, unknown: str = "error") -> np.ndarray:
        """(n, p) numbers of the categories; those unknown are refused, or `ABSENT` if they are to be ignored."""
        return self._numbered(table, self._encoder.transform(table).codes, unknown)

    def _numbered(self, table: Any, codes: np.ndarray, unknown: str) -> np.ndarray:
        out = np.empty(codes.shape, dtype=np.int64)
        for column, level in enumerate(self.levels):
            code = codes[:, column]
            has_missing = len(level) > 0 and level[-1] is None
            if self.missing == "error" and (code == _MISSING).any():
                row = int((code == _MISSING).argmax())
                raise ValueError(
                    f"X contains missing values (NaN, None) in column {self.names[column]!r}, the first in row {row}; "
                    "fill them in, or set missing='category' to make them a category of their own"
                )
            rank = np.append(self._ranks[column], ABSENT)  # codes below zero come last
            value = rank[np.where(code < 0, len(rank) - 1, code)]
            if has_missing:
                value[code == _MISSING] = len(level) - 1
            if unknown == "error" and (value == ABSENT).any():
                raise self._unknown(table, column, int((value == ABSENT).argmax()))
            out[:, column] = np.where(value == ABSENT, ABSENT, value + self.offsets[column])
        return out

    def _unknown(self, table: Any, column: int, row: int) -> ValueError:
        cell = table.iloc[row, column] if hasattr(table, "iloc") else np.asarray(table, dtype=object)[row, column]
        return ValueError(
            f"X holds a category in column {self.names[column]!r} that fit has not seen: {cell!r} in row {row}; "
            "set handle_unknown='ignore' to treat such categories as different from all others"
        )

    def decode(self, modes: np.ndarray) -> np.ndarray:
        """(c, p) categories with the given numbers."""
        out = np.empty(modes.shape, dtype=object)
        for column, level in enumerate(self.levels):
            out[:, column] = level[modes[:, column] - self.offsets[column]]
        return out


def _sort_key(value: Any) -> tuple:
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return ("", float(value), "")
    return (type(value).__name__, 0.0, str(value))


@njit(cache=True, nogil=True, error_model="numpy")
def _set_mismatches(row, table, costs):
    """Number of attributes in which an object differs from the prototype of each set (the mean of its members)."""
    for j in range(costs.shape[0]):
        costs[j] = 0.0
    for d in range(row.shape[0]):
        if row[d] < 0:
            for j in range(costs.shape[0]):
                costs[j] += 1.0
        else:
            level = table[row[d]]
            for j in range(costs.shape[0]):
                costs[j] += level[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _accumulate(codes, weights, start, stop, table, share, factor, size, delta2, beta, zero):
    """Objective, and for every category and cluster the sum of the weights with which it would lower the cost."""
    g, c = share.shape
    costs = np.empty(g)
    masses = np.empty(g)
    pull = np.empty(c)
    counts = np.zeros((table.shape[0], c))
    objective = 0.0
    for i in range(start, stop):
        _set_mismatches(codes[i], table, costs)
        _, value = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
        objective += weights[i] * value
        pull[:] = 0.0
        for j in range(g):
            if masses[j] > 0:
                power = weights[i] * masses[j] ** beta
                for k in range(c):
                    pull[k] += share[j, k] * power
        for d in range(codes.shape[1]):
            row = counts[codes[i, d]]
            for k in range(c):
                row[k] += pull[k]
    return objective, counts


@njit(cache=True, nogil=True, error_model="numpy")
def _write_masses(codes, start, stop, table, factor, size, delta2, beta, zero, columns, empty_column, out):
    g = table.shape[1]
    costs = np.empty(g)
    masses = np.empty(g)
    for i in range(start, stop):
        _set_mismatches(codes[i], table, costs)
        empty, _ = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
        for j in range(g):
            out[i, columns[j]] = masses[j]
        if empty_column >= 0:
            out[i, empty_column] = empty


def different_rows(codes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of encoded objects in lexicographic order, and for each object which one it is."""
    sizes = np.diff(offsets)
    if np.log2(sizes.astype(float)).sum() >= 62:
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        return rows, inverse.reshape(-1)
    keys = np.zeros(len(codes), dtype=np.int64)  # the row as digits of one number: much faster to sort
    for column, size in enumerate(sizes):
        keys = keys * size + (codes[:, column] - offsets[column])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return codes[first], inverse.reshape(-1)


def mismatches(codes: np.ndarray, row: np.ndarray) -> np.ndarray:
    """(n,) number of attributes in which objects differ from one."""
    return (codes != row).sum(axis=1).astype(float)


@dataclass(frozen=True)
class CategoricalModel:
    """Prototypes: one category of each attribute for each cluster.

    Attributes
    ----------
    family : FocalSets
    modes : (c, p) numbers of categories
    offsets : (p + 1,) where the categories of each attribute begin
    alpha, beta, delta : float
    """

    family: FocalSets
    modes: np.ndarray
    offsets: np.ndarray
    alpha: float
    beta: float
    delta: float

    @property
    def sets(self) -> np.ndarray:
        return self.family.membership[self.family.cardinality > 0].astype(float)

    def _arguments(self) -> tuple:
        """Mismatch of each category with each set, factors, sizes, delta^2, beta, zero: as the kernels take them."""
        sets = self.sets
        size = sets.sum(axis=1)
        # members are counted, then divided: a sum of fractions would not give exactly zero
        agree = np.zeros((int(self.offsets[-1]), len(sets)))
        for k, modes in enumerate(self.modes):
            agree[modes] += sets[:, k]
        table = 1 - agree / size
        delta2 = self.delta**2 if self.family.empty_index is not None else np.inf
        return table, size**self.alpha, size.astype(np.int64), delta2, float(self.beta), 1e-9

    def masses(self, codes: np.ndarray, apply: Callable) -> np.ndarray:
        """(n, f) masses of encoded objects."""
        out = np.zeros((len(codes), len(self.family)))
        columns = np.flatnonzero(self.family.cardinality > 0)
        empty = -1 if self.family.empty_index is None else self.family.empty_index
        arguments = self._arguments()
        apply(_write_masses, [(codes, a, b, *arguments, columns, empty, out) for a, b in row_blocks(len(codes))])
        return out

    def step(self, codes: np.ndarray, weights: np.ndarray, apply: Callable) -> tuple[float, CategoricalModel]:
        """The objective, and the prototypes that minimise it given the masses."""
        table, *others = self._arguments()
        share = self._share()
        blocks = row_blocks(len(codes))
        parts = apply(_accumulate, [(codes, weights, a, b, table, share, *others) for a, b in blocks])
        return float(sum(part[0] for part in parts)), self.updated(np.sum([part[1] for part in parts], axis=0))

    def updated(self, counts: np.ndarray) -> CategoricalModel:
        """The objective is linear in the prototypes: the best is the category with the largest sum of weights.

        Of equal ones the present category is kept, or else the first taken.
        """
        modes = self.modes.copy()
        for d in range(modes.shape[1]):
            segment = counts[self.offsets[d] : self.offsets[d + 1]]
            best = segment.max(axis=0)
            first = (segment >= best * (1 - _TIE)).argmax(axis=0) + self.offsets[d]
            present = counts[modes[:, d], np.arange(len(modes))]
            modes[:, d] = np.where(present >= best * (1 - _TIE), modes[:, d], first)
        return replace(self, modes=modes)

    def from_masses(self, codes: np.ndarray, masses: np.ndarray, weights: np.ndarray) -> CategoricalModel:
        """The prototypes that minimise the objective for given (n, g) masses of the nonempty sets."""
        pull = (weights[:, None] * masses**self.beta) @ self._share()
        counts = np.zeros((int(self.offsets[-1]), len(self.modes)))
        for column in codes.T:
            np.add.at(counts, column, pull)
        return self.updated(counts)

    def _share(self) -> np.ndarray:
        sets = self.sets
        size = sets.sum(axis=1)
        return sets * (size ** (self.alpha - 1))[:, None]
