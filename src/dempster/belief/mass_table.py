"""Rows of masses on one family of sets, with names: what `MassFunctions` keeps, before any calculus."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from dempster._arrays import Array, copied, frozen, like, same_place, to_host, zeros
from dempster._errors import InvalidInputError
from dempster._validation import is_integer, names_of_table, table
from dempster.belief._arguments import (
    checked_frame,
    checked_index,
    checked_masses,
    checked_positions,
    in_order_of_sets,
    membership_rows,
)
from dempster.belief.focal_sets import FocalSets

__all__ = ["MassTable"]


class MassTable:
    """n rows of masses; the base of `MassFunctions`, which says what the parameters are."""

    def __init__(
        self,
        masses: Any,
        focal_sets: FocalSets | None = None,
        index: Sequence[Hashable] | None = None,
        *,
        frame: Sequence[Hashable] | None = None,
    ):
        if isinstance(masses, MassTable):
            focal_sets = masses.focal_sets if focal_sets is None else focal_sets
            index = masses.index if index is None else index
            frame = masses.frame if frame is None else frame
            masses = masses.masses
        if not isinstance(focal_sets, FocalSets):
            raise InvalidInputError(f"focal_sets must be a FocalSets, got {type(focal_sets).__name__}")
        names = checked_frame(frame, focal_sets.n_clusters)
        index = names_of_table(masses)["index"] if index is None else index
        masses = in_order_of_sets(masses, focal_sets, names)
        self._set(checked_masses(masses, len(focal_sets)), focal_sets, index, names)

    def _set(self, masses, focal_sets, index, frame) -> None:
        self._masses = frozen(masses)
        self.focal_sets = focal_sets
        self.index = checked_index(index, len(masses))
        self.frame: tuple[Any, ...] = checked_frame(frame, focal_sets.n_clusters)

    @classmethod
    def unchecked(cls, masses: Array, focal_sets: FocalSets, index=None, frame=None, **more) -> Self:
        """Without checks and copies, for masses that are known to be valid; the array must not be changed after."""
        self = cls.__new__(cls)
        self._set(masses, focal_sets, index, frame, **more)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies and pickles are as immutable as what they were made of."""
        self.__dict__.update(state)
        for value in state.values():
            frozen(value)

    @property
    def masses(self) -> Array:
        """(n, f) masses, read-only; a tensor where they were given as one."""
        return self._masses

    @property
    def n_clusters(self) -> int:
        return self.focal_sets.n_clusters

    @cached_property
    def empty(self) -> Array:
        """Mass of the empty set in each row (zeros if the family does not have it)."""
        where = self.focal_sets.empty_index
        return frozen(zeros((len(self),), self._masses) if where is None else self._masses[:, where])

    def mass(self, sets: Any = None) -> Array:
        """Masses of the given sets (0 for sets outside the family); of the family when None."""
        rows, single = self.membership_rows(sets)
        where = self.focal_sets.find(rows)
        values = self._masses[:, where] * like(where >= 0, self._masses)
        return values[:, 0] if single else values

    def membership_rows(self, sets: Any) -> tuple[np.ndarray, bool]:
        """(s, c) membership of sets given by their members or names, and whether it was a single set."""
        return membership_rows(sets, self.focal_sets, self.frame)

    def to_dense(self) -> Array:
        """(n, 2^c) masses of all sets in binary order (bit k of the position tells whether answer k is in the set)."""
        if self.n_clusters > 20:
            raise InvalidInputError(f"the power set of {self.n_clusters} answers is too large for a dense array")
        out = zeros((len(self), 1 << self.n_clusters), self._masses)
        out[:, same_place(self.focal_sets.codes, out)] = self._masses
        return out

    def to_frame(self, backend: str = "pandas") -> Any:
        """A table with a column for each set.

        Parameters
        ----------
        backend : {"pandas", "polars"}
            pandas keeps the names of the rows as its index. polars has none: they are a first column, "object".

        Examples
        --------
        >>> from dempster import MassFunctions
        >>> m = MassFunctions.from_dict([{"a": 1}, {"a": 0.5, "ab": 0.5}], frame="ab", index=["x", "y"])
        >>> m.to_frame()
           {a}    Ω
        x  1.0  0.0
        y  0.5  0.5
        >>> m.to_frame(backend="polars").columns
        ['object', '{a}', 'Ω']
        """
        return table(to_host(self._masses), self.focal_sets.names(self.frame), self.index, backend)

    def to_numpy(self) -> Self:
        """The same with masses in an array of NumPy, for those that are a tensor; itself if they are an array.

        Examples
        --------
        >>> from dempster import FocalSets, MassFunctions
        >>> import torch
        >>> m = MassFunctions(torch.tensor([[0.25, 0.75]]), FocalSets.from_sets(2, [(0,), (0, 1)]))
        >>> type(m.masses).__name__, type(m.to_numpy().masses).__name__
        ('Tensor', 'ndarray')
        """
        if isinstance(self._masses, np.ndarray):
            return self
        return self._selected(to_host(self._masses), self.index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The masses: what `numpy.asarray` makes of this."""
        return np.array(to_host(self.masses), dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self._masses)

    def __getitem__(self, rows: Any) -> Self:
        """Some of the mass functions: a number, a slice, a Boolean mask or an array of positions."""
        if is_integer(rows):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"row {rows} of {len(self)} mass functions")
            rows = [int(rows)]
        elif not isinstance(rows, slice):
            rows = checked_positions(rows, len(self))
        return self._selected(copied(self._masses[rows]), None if self.index is None else self._names()[rows])

    def _names(self) -> np.ndarray:
        """(n,) names of the rows; a list of tuples, too, has one name a row."""
        if isinstance(self.index, list | tuple):
            return np.fromiter(self.index, dtype=object, count=len(self))
        return np.asarray(self.index, dtype=object)

    def _selected(self, masses: Array, index: Any) -> Self:
        return type(self).unchecked(masses, self.focal_sets, index, self.frame)
