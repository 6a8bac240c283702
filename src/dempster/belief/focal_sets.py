"""Families of sets of clusters that may have mass."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from dempster._arrays import divide, freeze, set_frozen_state
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import (
    as_boolean,
    as_list,
    as_texts,
    check,
    check_flags,
    check_memory,
    integer,
    is_integer,
    kind,
)

_MAX_POWER_SET = 20  # Maximum number of clusters whose power set fits in memory.
_MAX_SETS = 1 << _MAX_POWER_SET
_MAX_CLUSTERS = 1 << 20


class FocalSets:
    """Ordered, immutable family of subsets of a frame of ``n_clusters`` elements.

    A mass matrix has one column per set of the family. The named families (`simple`, `pairs`,
    `full`, ...) are sorted by cardinality, then lexicographically, so that the empty set is first
    and the whole frame last. `from_sets` and the constructor keep the given order.

    Parameters
    ----------
    membership : array-like of shape (f, c)
        Boolean array with one row per set. The value is true if the cluster belongs to the set. The
        rows must differ.

    Examples
    --------
    >>> from dempster import FocalSets
    >>> sets = FocalSets.pairs(3)
    >>> len(sets), sets.names()
    (8, ['∅', '{0}', '{1}', '{2}', '{0,1}', '{0,2}', '{1,2}', 'Ω'])
    >>> sets.index({0, 2})
    5
    """

    def __init__(self, membership: Any):
        rows = as_boolean(membership, "membership")
        if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
            raise InvalidParameterError(
                "membership",
                must=f"be a 2-D array with at least one set and one cluster, got {rows.shape}",
            )
        rows = np.array(rows, order="C")
        if len(unique_sets(rows)[0]) < len(rows):
            raise InvalidParameterError(
                "membership", must="contain different sets, but one occurs twice"
            )
        rows.flags.writeable = False
        self._membership = rows

    @classmethod
    def _unchecked(cls, rows: np.ndarray) -> FocalSets:
        """Create a family from distinct membership rows without validation."""
        family = cls.__new__(cls)
        rows.flags.writeable = False
        family._membership = rows
        return family

    # ---- families --------------------------------------------------------------------------------

    @classmethod
    def simple(
        cls, n_clusters: int, *, empty: bool = True, omega: bool = True
    ) -> FocalSets:
        """Return the empty set, the singletons and the whole frame.

        Parameters
        ----------
        n_clusters : int
            Number c of clusters.
        empty, omega : bool, default=True
            Whether to include the empty set and the whole frame.

        Returns
        -------
        FocalSets
        """
        return cls.max_cardinality(n_clusters, 1, empty=empty, omega=omega)

    @classmethod
    def pairs(
        cls, n_clusters: int, *, empty: bool = True, omega: bool = True
    ) -> FocalSets:
        """Return the empty set, the singletons, all pairs and the whole frame.

        Parameters
        ----------
        n_clusters : int
            Number c of clusters.
        empty, omega : bool, default=True
            Whether to include the empty set and the whole frame.

        Returns
        -------
        FocalSets
        """
        return cls.max_cardinality(n_clusters, 2, empty=empty, omega=omega)

    @classmethod
    def full(
        cls, n_clusters: int, *, empty: bool = True, omega: bool = True
    ) -> FocalSets:
        """Return all subsets of the frame.

        Parameters
        ----------
        n_clusters : int
            Number c of clusters, at most 20. The family has up to 2^c sets.
        empty, omega : bool, default=True
            Whether to include the empty set and the whole frame.

        Returns
        -------
        FocalSets
        """
        check(n_clusters, "n_clusters", integer(1, _MAX_POWER_SET))
        check_flags(omega=omega)
        largest = n_clusters if omega or n_clusters == 1 else n_clusters - 1
        return cls.max_cardinality(n_clusters, largest, empty=empty, omega=omega)

    @classmethod
    def max_cardinality(
        cls, n_clusters: int, size: int, *, empty: bool = True, omega: bool = True
    ) -> FocalSets:
        """Return all sets of 1 to ``size`` clusters, the empty set and the whole frame.

        Parameters
        ----------
        n_clusters : int
            Number c of clusters.
        size : int
            Maximum number of clusters of a set, except for the whole frame.
        empty, omega : bool, default=True
            Whether to include the empty set and the whole frame.

        Returns
        -------
        FocalSets
        """
        c = _check_n_clusters(n_clusters)
        check(size, "size", integer(1))
        sizes = range(1, min(int(size), c) + 1)
        count = 0
        for k in sizes:
            count += comb(c, k)
            if count > _MAX_SETS:
                raise InvalidParameterError(
                    "size",
                    must=f"be smaller than {size}, which gives {count:,} or more sets of {c} "
                    f"clusters; the limit is {_MAX_SETS:,}",
                )
        _check_family_fits(count, c)
        check_flags(empty=empty, omega=omega)
        parts = [np.zeros((int(empty), c), bool)]
        for k in sizes:
            members = np.array(list(combinations(range(c), k)))
            sets = np.zeros((len(members), c), bool)
            np.put_along_axis(sets, members, True, axis=1)
            parts.append(sets)
        if omega and size < c:
            parts.append(np.ones((1, c), bool))
        return cls._unchecked(np.concatenate(parts))

    @classmethod
    def with_pairs(
        cls,
        n_clusters: int,
        pairs: Iterable[Sequence[int]],
        *,
        empty: bool = True,
        omega: bool = True,
    ) -> FocalSets:
        """Return the empty set, the singletons, the given pairs and the whole frame.

        Parameters
        ----------
        n_clusters : int
            Number c of clusters.
        pairs : iterable of pairs of int
            Pairs of different clusters, numbered from 0.
        empty, omega : bool, default=True
            Whether to include the empty set and the whole frame.

        Returns
        -------
        FocalSets
        """
        c = _check_n_clusters(n_clusters)
        _check_family_fits(c, c)
        rows = _membership_rows(c, pairs, "pairs")
        if (rows.sum(axis=1) != 2).any():
            raise InvalidParameterError(
                "pairs", must="contain two different clusters in each pair", value=pairs
            )
        rows = np.concatenate([np.eye(c, dtype=bool), rows])
        return cls._canonical(rows, empty=empty, omega=omega)

    @classmethod
    def from_sets(cls, n_clusters: int, sets: Iterable[Iterable[int]]) -> FocalSets:
        """Return the family of the given sets in the given order.

        Parameters
        ----------
        n_clusters : int
            Number c of clusters.
        sets : iterable of iterables of int
            Different sets of clusters, numbered from 0. ``()`` is the empty set.

        Returns
        -------
        FocalSets
        """
        c = _check_n_clusters(n_clusters)
        return cls(_membership_rows(c, sets, "sets"))

    @classmethod
    def _canonical(cls, rows: np.ndarray, *, empty: bool, omega: bool) -> FocalSets:
        """Return the different rows, and possibly the empty set and the frame, sorted."""
        check_flags(empty=empty, omega=omega)
        c = rows.shape[1]
        if empty:
            rows = np.concatenate([rows, np.zeros((1, c), bool)])
        if omega:
            rows = np.concatenate([rows, np.ones((1, c), bool)])
        return cls._unchecked(unique_sets(rows)[0]).sorted()

    def sorted(self) -> FocalSets:
        """Return the same sets sorted by cardinality, then lexicographically.

        Returns
        -------
        FocalSets
        """
        # If two sets have the same size, the set that contains the first cluster in which they
        # differ comes first.
        order = np.lexsort((_sort_keys(~self._membership), self.cardinality))
        return FocalSets._unchecked(self._membership[order])

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def membership(self) -> np.ndarray:
        """Read-only Boolean array of shape (f, c), true if the cluster belongs to the set."""
        return self._membership

    @property
    def n_clusters(self) -> int:
        """Number of elements of the frame."""
        return int(self._membership.shape[1])

    @cached_property
    def cardinality(self) -> np.ndarray:
        """Number of clusters in each set."""
        return freeze(self._membership.sum(axis=1))

    @cached_property
    def conflict(self) -> np.ndarray:
        """Array of shape (f, f), 1 if two sets are disjoint.

        The empty set is disjoint from all sets, even itself.
        """
        self._check_square("the conflict")
        rows = self._membership.astype(float)
        return freeze((rows @ rows.T == 0).astype(float))

    @cached_property
    def jaccard(self) -> np.ndarray:
        """Jaccard indices |A ∩ B| / |A ∪ B| of all pairs of sets, shape (f, f).

        1 if both sets are empty.
        """
        self._check_square("the Jaccard index")
        rows = self._membership.astype(float)
        common = rows @ rows.T
        union = self.cardinality[:, None] + self.cardinality - common
        return freeze(divide(common, union, 1))

    @cached_property
    def empty_index(self) -> int | None:
        """Index of the empty set, or None if it is not in the family."""
        return self._first_of_size(0)

    @cached_property
    def omega_index(self) -> int | None:
        """Index of the whole frame, or None if it is not in the family."""
        return self._first_of_size(self.n_clusters)

    def _first_of_size(self, size: int) -> int | None:
        return next(iter(np.flatnonzero(self.cardinality == size).tolist()), None)

    @cached_property
    def singleton_index(self) -> np.ndarray:
        """Index of each singleton {k}, shape (c,); -1 if it is not in the family."""
        where = np.full(self.n_clusters, -1)
        singles = np.flatnonzero(self.cardinality == 1)
        where[self._membership[singles].argmax(axis=1)] = singles
        return freeze(where)

    @cached_property
    def pair_index(self) -> np.ndarray:
        """Index of each pair of clusters {k, m}, shape (c, c); -1 if it is not in the family."""
        where = np.full((self.n_clusters, self.n_clusters), -1)
        pairs = np.flatnonzero(self.cardinality == 2)
        k, m = np.nonzero(self._membership[pairs])[1].reshape(-1, 2).T
        where[k, m] = pairs
        where[m, k] = pairs
        return freeze(where)

    @cached_property
    def codes(self) -> np.ndarray:
        """Sets as integers.

        Bit k is 1 if cluster k belongs to the set (for at most 62 clusters).
        """
        if self.n_clusters > 62:
            raise InvalidInputError(
                f"sets of {self.n_clusters} clusters have no 64-bit code; use membership instead"
            )
        return freeze(self._membership @ (1 << np.arange(self.n_clusters)))

    @cached_property
    def _lookup(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(self._membership)}

    def _check_square(self, what: str) -> None:
        check_memory(
            3 * 8 * len(self) ** 2,
            f"{what} of all pairs of {len(self):,} sets",
            "use a family of fewer sets, such as FocalSets.pairs",
        )

    __setstate__ = set_frozen_state

    def find(self, membership: np.ndarray) -> np.ndarray:
        """Return the index of each row of a membership array, or -1 for a set outside the family.

        Parameters
        ----------
        membership : Boolean array of shape (s, c)
            Entry (j, k) is true if set j contains cluster k.

        Returns
        -------
        integer array of shape (s,)
        """
        rows = np.ascontiguousarray(as_boolean(membership, "membership"))
        if rows.ndim != 2 or rows.shape[1] != self.n_clusters:
            raise InvalidParameterError(
                "membership",
                must=f"have shape (s, {self.n_clusters}), got {rows.shape}",
            )
        return np.array([self._lookup.get(row.tobytes(), -1) for row in rows], np.intp)

    def index(self, clusters: Iterable[int]) -> int:
        """Return the index of a set of clusters; raise ValueError if it is not in the family.

        Parameters
        ----------
        clusters : iterable of int
            Clusters of the set, numbered from 0, in any order.

        Returns
        -------
        int
        """
        where = self._find_set(clusters)
        if where < 0:
            raise InvalidParameterError(
                "clusters",
                must=f"be one of the {len(self)} sets of the family",
                value=clusters,
            )
        return where

    def _find_set(self, clusters: Iterable[int]) -> int:
        rows = _membership_rows(self.n_clusters, [clusters], "clusters")
        return int(self.find(rows)[0])

    def names(self, cluster_names: Sequence[Hashable] | None = None) -> list[str]:
        """Return the names of the sets, such as '{0,1}', '∅' (empty set) and 'Ω' (whole frame).

        If two sets would have the same name, such as {a,b} and the set of the single cluster "a,b",
        the names of the clusters are quoted.

        Parameters
        ----------
        cluster_names : sequence of length c, optional
            Names of the clusters; 0, ..., c-1 by default.

        Returns
        -------
        list of str
        """
        names = range(self.n_clusters) if cluster_names is None else cluster_names
        if isinstance(names, str):
            labels = [*names]
        else:
            labels = as_texts(names, "cluster_names", "names")
        if len(labels) != self.n_clusters:
            raise InvalidParameterError(
                "cluster_names",
                must=f"contain {self.n_clusters} names, got {len(labels)}",
            )
        found = [_set_name(row, labels) for row in self._membership]
        if len(set(found)) < len(found):
            quoted = list(map(repr, names))
            return [_set_name(row, quoted) for row in self._membership]
        return found

    def union(self, other: FocalSets) -> FocalSets:
        """Return the sets of both families, sorted by cardinality, then lexicographically.

        Parameters
        ----------
        other : FocalSets
            Family of sets of the same number of clusters.

        Returns
        -------
        FocalSets
        """
        validate_family(other, "other")
        if other.n_clusters != self.n_clusters:
            raise InvalidParameterError(
                "other", must=f"have {self.n_clusters} clusters, got {other.n_clusters}"
            )
        if other == self:
            return self
        rows = np.concatenate([self._membership, other._membership])
        return FocalSets._canonical(rows, empty=False, omega=False)

    def __len__(self) -> int:
        return len(self._membership)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (tuple(int(k) for k in np.flatnonzero(row)) for row in self._membership)

    def __contains__(self, clusters: Iterable[int]) -> bool:
        return self._find_set(clusters) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FocalSets) and np.array_equal(
            self._membership, other._membership
        )

    def __hash__(self) -> int:
        return hash((self._membership.shape, self._membership.tobytes()))

    def __repr__(self) -> str:
        shown = self
        if len(self) > 12:
            shown = FocalSets(self._membership[[*range(8), -2, -1]])
        sets = shown.names()
        if len(self) > 12:
            sets.insert(8, "...")
        return f"FocalSets({self.n_clusters} clusters, {len(self)} sets: {', '.join(sets)})"


def _set_name(row: np.ndarray, labels: list[str]) -> str:
    if row.all() and len(row) > 1:
        return "Ω"
    if row.any():
        return "{" + ",".join(labels[k] for k in np.flatnonzero(row)) + "}"
    return "∅"


def is_subset(inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Return whether row i of ``inner`` is a subset of row j of ``outer``, shape (a, b)."""
    return inner.astype(float) @ (~outer).T == 0


def unique_sets(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a Boolean array, in any order, and the index of each row."""
    if rows.shape[1] > 62:
        _, first, target = np.unique(
            _sort_keys(rows), return_index=True, return_inverse=True
        )
        return rows[first], target
    bits = np.arange(rows.shape[1])
    codes, target = np.unique(rows @ (1 << bits), return_inverse=True)
    return (codes[:, None] >> bits) % 2 == 1, target


def _sort_keys(rows: np.ndarray) -> np.ndarray:
    """Return a text for each row; the texts are ordered like the rows."""
    packed = np.packbits(rows, axis=1)
    return packed.view(f"S{packed.shape[1]}").ravel()


def validate_family(family: Any, name: str) -> FocalSets:
    """Return the family, or raise an error if it is not a `FocalSets` object."""
    check(family, name, kind(FocalSets))
    return family


def _check_n_clusters(n_clusters: Any) -> int:
    check(n_clusters, "n_clusters", integer(1, _MAX_CLUSTERS))
    return int(n_clusters)


def _check_family_fits(n_sets: int, c: int) -> None:
    check_memory(
        n_sets * c,
        f"a family of {n_sets:,} sets of {c:,} clusters",
        "use fewer clusters",
    )


def _membership_rows(c: int, sets: Any, name: str) -> np.ndarray:
    what = "sets of cluster numbers"
    listed = as_list(sets, name, what)
    _check_family_fits(len(listed), c)
    rows = np.zeros((len(listed), c), bool)
    for row, clusters in zip(rows, listed, strict=True):
        for k in as_list(clusters, name, what):
            if not is_integer(k) or not 0 <= k < c:
                raise InvalidParameterError(
                    name, must=f"contain clusters from 0 to {c - 1}", value=k
                )
            row[k] = True
    return rows


# number of clusters above which masses are stored as compressed rows
MAX_DENSE_CLUSTERS = 50


def has_many_clusters(family: FocalSets) -> bool:
    """Return whether an object can have mass only on its nearest clusters and their pairs."""
    is_large = family.n_clusters > MAX_DENSE_CLUSTERS
    return is_large and int(family.cardinality.max()) <= 2
