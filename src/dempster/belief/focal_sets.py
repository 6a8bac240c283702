"""Which sets of clusters may carry mass."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from dempster._arrays import frozen
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_reals, as_truth, check_flags, check_memory, is_integer, listed, shown, texts

_ROUNDING = 1e-9


def gabriel_pairs(squared_distances: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (k, l), k < l, of points such that the ball between the two holds no third point.

    The ball over the segment from k to l as its diameter holds the point j if |j - k|^2 + |j - l|^2 < |k - l|^2, so
    squared distances are all that is needed (Gabriel and Sokal, 1969). Of points in a row, those next to each other
    are the pairs.
    """
    S = np.asarray(squared_distances, dtype=float)
    pairs = []
    for k in range(len(S)):
        for m in range(k + 1, len(S)):
            through = S[k] + S[m]
            through[[k, m]] = np.inf
            if through.min() >= S[k, m] * (1 - _ROUNDING):
                pairs.append((k, m))
    return pairs


_FEW_SETS = 1000  # up to which sets are listed one by one
_MAX_POWER_SET = 20  # beyond, 2^c sets do not fit in memory with any useful number of objects
_MAX_SETS = 1 << _MAX_POWER_SET
_MAX_CLUSTERS = 1 << 20


class FocalSets:
    """An ordered, immutable family of subsets of a frame of ``n_clusters`` elements.

    A mass matrix has one column per set of the family. The named families (`simple`, `pairs`, `full`, ...) are
    ordered by cardinality, then lexicographically, so that the empty set comes first and the whole frame last;
    `from_sets` and the constructor keep the order given, because it is the order of somebody's columns.

    Parameters
    ----------
    membership : array-like of shape (f, c)
        One row per set, true where the cluster belongs to the set. Rows must differ.

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
        rows = as_truth(membership, "membership")
        if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] == 0:
            raise InvalidParameterError(
                "membership", must=f"be a 2-D array with at least one set and one cluster, got {rows.shape}"
            )
        rows = np.array(rows, order="C")
        if len(unique_sets(rows)[0]) < len(rows):
            raise InvalidParameterError(
                "membership", message="membership has the same set twice; the sets of a family must differ"
            )
        rows.flags.writeable = False
        self._membership = rows

    @classmethod
    def _unchecked(cls, rows: np.ndarray) -> FocalSets:
        """Return the family of membership rows that are known to differ."""
        family = cls.__new__(cls)
        rows.flags.writeable = False
        family._membership = rows
        return family

    # ---- families -------------------------------------------------------------------------------------------------

    @classmethod
    def simple(cls, n_clusters: int, *, empty: bool = True, omega: bool = True) -> FocalSets:
        """The empty set, the singletons and the whole frame."""
        is_plain = type(n_clusters) is int and 1 <= n_clusters <= _FEW_SETS
        c = n_clusters if is_plain else _check_n_clusters(n_clusters)
        if not (isinstance(empty, bool) and isinstance(omega, bool)):
            check_flags(empty=empty, omega=omega)
        if c > _FEW_SETS:
            _check_family_fits(c, c)
        rows = np.zeros((bool(empty) + c + (bool(omega) and c > 1), c), dtype=bool)
        rows[bool(empty) + c :] = True
        np.fill_diagonal(rows[bool(empty) :], True)
        return cls._unchecked(rows)

    @classmethod
    def pairs(cls, n_clusters: int, *, empty: bool = True, omega: bool = True) -> FocalSets:
        """The empty set, the singletons, all pairs and the whole frame."""
        return cls.max_cardinality(n_clusters, 2, empty=empty, omega=omega)

    @classmethod
    def full(cls, n_clusters: int, *, empty: bool = True, omega: bool = True) -> FocalSets:
        """All subsets of the frame."""
        c = _check_n_clusters(n_clusters)
        if c > _MAX_POWER_SET:
            raise InvalidInputError(
                f"all subsets of {c} clusters are 2^{c} sets; use FocalSets.pairs or FocalSets.simple "
                f"(FocalSets.full takes at most {_MAX_POWER_SET} clusters)"
            )
        check_flags(empty=empty, omega=omega)
        largest = c if omega or c == 1 else c - 1
        return cls.max_cardinality(c, largest, empty=empty, omega=omega)

    @classmethod
    def max_cardinality(cls, n_clusters: int, size: int, *, empty: bool = True, omega: bool = True) -> FocalSets:
        """All subsets of at most ``size`` clusters, with or without the empty set and the whole frame."""
        c = _check_n_clusters(n_clusters)
        size = _checked_integer(size, "size")
        count = 0
        for k in range(1, min(size, c) + 1):
            count += comb(c, k)
            if count > _MAX_SETS:
                raise InvalidInputError(
                    f"the sets of at most {size} of {c} clusters are {count:,} or more, at most {_MAX_SETS:,} are "
                    "taken: take smaller sets"
                )
        _check_family_fits(count, c)
        check_flags(empty=empty, omega=omega)
        if count < _FEW_SETS or c > _MAX_POWER_SET:
            return cls._unchecked(_sets_by_size(c, min(size, c), count, bool(empty), bool(omega)))
        rows = (np.arange(1 << c)[:, None] >> np.arange(c)) & 1 == 1
        many = rows.sum(axis=1)
        kept = ((many >= 1) & (many <= size)) | (empty & (many == 0)) | (omega & (many == c))
        return cls(rows[kept]).sorted()

    @classmethod
    def with_pairs(
        cls, n_clusters: int, pairs: Iterable[Sequence[int]], *, empty: bool = True, omega: bool = True
    ) -> FocalSets:
        """The empty set, the singletons, the given pairs and the whole frame."""
        c = _check_n_clusters(n_clusters)
        _check_family_fits(c, c)
        chosen = _listed_sets(pairs, "pairs")
        _membership_rows(c, chosen, "pairs")  # refuses what is no cluster
        for pair in chosen:
            if len(pair) != 2 or pair[0] == pair[1]:
                raise InvalidParameterError("pairs", must="hold two different clusters each", value=pair)
        return cls._canonical(c, [(k,) for k in range(c)] + chosen, empty=empty, omega=omega)

    @classmethod
    def neighbors(
        cls, centers: Any = None, *, squared_distances: Any = None, empty: bool = True, omega: bool = False
    ) -> FocalSets:
        """The empty set, the singletons and the pairs of neighboring clusters: those with no third one between them.

        Give the centers (c, p) of the clusters, or the squared distances (c, c) between them. Two clusters are
        neighbors if the ball over the segment between their centers holds no third center (the Gabriel graph); of
        clusters in a row, those next to each other.

        Examples
        --------
        >>> from dempster import FocalSets
        >>> FocalSets.neighbors([[0.0], [1.0], [2.5]]).names()
        ['∅', '{0}', '{1}', '{2}', '{0,1}', '{1,2}']
        """
        squares = _squared_distances(centers, squared_distances)
        pairs = gabriel_pairs(squares)
        # with two clusters the frame is their pair, with one it is the cluster
        single = cls.simple(len(squares), empty=empty, omega=omega and len(squares) > 2)._membership
        rows = np.zeros((len(single) + len(pairs), len(squares)), dtype=bool)
        place = len(single) - (bool(omega) and len(squares) > 2)
        rows[:place], rows[place + len(pairs) :] = single[:place], single[place:]
        for row, pair in zip(rows[place:], pairs, strict=False):
            row[list(pair)] = True
        return cls._unchecked(rows)

    @classmethod
    def intervals(cls, n_clusters: int, *, max_length: int | None = None, empty: bool = True) -> FocalSets:
        """The empty set and all sets of consecutive clusters, for clusters that are ordered (grades, ages, tissue).

        The whole frame is the longest interval, unless ``max_length`` is smaller.
        """
        c = _check_n_clusters(n_clusters)
        longest = min(c, c if max_length is None else _checked_integer(max_length, "max_length"))
        _check_family_fits(longest * (2 * c - longest + 1) // 2, c)
        sets = [tuple(range(k, k + size)) for size in range(1, longest + 1) for k in range(c - size + 1)]
        return cls._canonical(c, sets, empty=empty, omega=False)

    @classmethod
    def from_sets(cls, n_clusters: int, sets: Iterable[Iterable[int]]) -> FocalSets:
        """The given sets, in the order given; a set is any iterable of cluster numbers 0..c-1."""
        c = _check_n_clusters(n_clusters)
        return cls(_membership_rows(c, _listed_sets(sets, "sets")))

    @classmethod
    def _canonical(cls, c: int, sets: list[tuple[int, ...]], *, empty: bool, omega: bool) -> FocalSets:
        check_flags(empty=empty, omega=omega)
        unique = {frozenset(s) for s in sets}
        if empty:
            unique.add(frozenset())
        if omega:
            unique.add(frozenset(range(c)))
        ordered = sorted((tuple(sorted(s)) for s in unique), key=lambda s: (len(s), s))
        return cls(_membership_rows(c, ordered))

    def sorted(self) -> FocalSets:
        """The same sets by cardinality, then lexicographically."""
        # of two sets of the same size the one that has the first cluster in which they differ comes first
        keys = [~self._membership[:, k] for k in range(self.n_clusters - 1, -1, -1)]
        return FocalSets(self._membership[np.lexsort([*keys, self.cardinality])])

    # ---- reading --------------------------------------------------------------------------------------------------

    @property
    def membership(self) -> np.ndarray:
        """(f, c) Boolean matrix, read-only."""
        return self._membership

    @property
    def n_clusters(self) -> int:
        return int(self._membership.shape[1])

    @cached_property
    def cardinality(self) -> np.ndarray:
        """Number of clusters in each set."""
        return frozen(self._membership.sum(axis=1))

    @cached_property
    def conflict(self) -> np.ndarray:
        """(f, f) matrix, 1 where two sets have no cluster in common (the empty set conflicts with all, itself too)."""
        self._check_square("the conflict of all pairs of")
        rows = self._membership.astype(float)
        return frozen((rows @ rows.T == 0).astype(float))

    @cached_property
    def jaccard(self) -> np.ndarray:
        """(f, f) matrix |A n B| / |A u B|, with 1 for the empty set and itself."""
        self._check_square("the Jaccard index of all pairs of")
        rows = self._membership.astype(float)
        common = rows @ rows.T
        union = self.cardinality[:, None] + self.cardinality[None, :] - common
        return frozen(np.divide(common, union, out=np.ones_like(common), where=union > 0))

    @cached_property
    def empty_index(self) -> int | None:
        """Position of the empty set, None if the family does not have it."""
        places = np.flatnonzero(self.cardinality == 0)
        return int(places[0]) if len(places) else None

    @cached_property
    def omega_index(self) -> int | None:
        """Position of the whole frame, None if the family does not have it."""
        places = np.flatnonzero(self.cardinality == self.n_clusters)
        return int(places[0]) if len(places) else None

    @cached_property
    def singleton_index(self) -> np.ndarray:
        """Position of each singleton {k}, -1 where the family does not have it."""
        where = np.full(self.n_clusters, -1)
        singles = np.flatnonzero(self.cardinality == 1)
        where[self._membership[singles].argmax(axis=1)] = singles
        return frozen(where)

    @cached_property
    def is_full(self) -> bool:
        """Whether the family is the whole power set."""
        return self.n_clusters <= 62 and len(self) == 2**self.n_clusters

    @cached_property
    def codes(self) -> np.ndarray:
        """Each set as the integer with bit k set when cluster k belongs to it (at most 62 clusters)."""
        if self.n_clusters > 62:
            raise InvalidInputError(f"sets of {self.n_clusters} clusters have no 64-bit code; use membership instead")
        return frozen(self._membership @ (np.int64(1) << np.arange(self.n_clusters, dtype=np.int64)))

    @cached_property
    def _lookup(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(self._membership)}

    def _check_square(self, what: str) -> None:
        f = len(self)
        check_memory(3 * 8 * f * f, f"{what} {f:,} sets", "take a family of fewer sets, such as FocalSets.pairs")

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Copies and pickles are as immutable as what they were made of."""
        self.__dict__.update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def find(self, membership: np.ndarray) -> np.ndarray:
        """Position of each row of a membership matrix in this family, -1 where it is absent."""
        rows = np.ascontiguousarray(as_truth(membership, "membership"))
        if rows.ndim != 2 or rows.shape[1] != self.n_clusters:
            raise InvalidParameterError("membership", must=f"have shape (s, {self.n_clusters}), got {rows.shape}")
        return np.array([self._lookup.get(row.tobytes(), -1) for row in rows], dtype=np.intp)

    def index(self, clusters: Iterable[int]) -> int:
        """Position of a set of clusters; ValueError if the family does not have it."""
        wanted = tuple(listed(clusters, "clusters", "numbers of clusters"))
        where = int(self.find(_membership_rows(self.n_clusters, [wanted], "clusters"))[0])
        if where < 0:
            raise InvalidInputError(f"the set {set(wanted) or '∅'} is not in this family of {len(self)} sets")
        return where

    def names(self, cluster_names: Sequence[Hashable] | None = None) -> list[str]:
        """Readable names of the sets, for tables."""
        given = range(self.n_clusters) if cluster_names is None else cluster_names
        labels = [*given] if isinstance(given, str) else texts(given, "cluster_names", "names")
        if len(labels) != self.n_clusters:
            raise InvalidParameterError("cluster_names", must=f"hold {self.n_clusters} names, got {len(labels)}")

        def name(row: np.ndarray) -> str:
            if row.all() and len(row) > 1:
                return "Ω"
            return "{" + ",".join(labels[k] for k in np.flatnonzero(row)) + "}" if row.any() else "∅"

        return [name(row) for row in self._membership]

    def union(self, other: FocalSets) -> FocalSets:
        """The sets of both families, by cardinality, then lexicographically."""
        checked_family(other, "other")
        if other.n_clusters != self.n_clusters:
            raise InvalidInputError(f"the two families have {self.n_clusters} and {other.n_clusters} clusters")
        if other == self:
            return self
        return FocalSets._canonical(self.n_clusters, list(self) + list(other), empty=False, omega=False)

    def __len__(self) -> int:
        return len(self._membership)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (tuple(int(k) for k in np.flatnonzero(row)) for row in self._membership)

    def __contains__(self, clusters: Iterable[int]) -> bool:
        wanted = tuple(listed(clusters, "clusters", "numbers of clusters"))
        return int(self.find(_membership_rows(self.n_clusters, [wanted], "clusters"))[0]) >= 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FocalSets) and np.array_equal(self._membership, other._membership)

    def __hash__(self) -> int:
        return hash((self._membership.shape, self._membership.tobytes()))

    def __repr__(self) -> str:
        shown = self.names()
        if len(shown) > 12:
            shown = shown[:8] + ["..."] + shown[-2:]
        return f"FocalSets({self.n_clusters} clusters, {len(self)} sets: {', '.join(shown)})"


def inside(inner: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """(a, b) true where row a of a membership matrix is a subset of row b of another."""
    return inner.astype(float) @ (~outer).T == 0


def unique_sets(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of a Boolean matrix, in an order of their own, and for each row which of them it is."""
    c = rows.shape[1]
    if c > 62:
        keys = [row.tobytes() for row in np.packbits(rows, axis=1)]
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        number = {key: k for k, key in enumerate(sorted(first))}
        return rows[[first[key] for key in number]], np.array([number[key] for key in keys], dtype=np.intp)
    packed = np.packbits(rows, axis=1, bitorder="little")
    padded = np.zeros((len(rows), 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    codes, target = np.unique(padded.view("<i8").ravel(), return_inverse=True)
    return (codes[:, None] >> np.arange(c)) % 2 == 1, target.reshape(-1)


def checked_family(family: Any, name: str) -> FocalSets:
    """The family itself, if it is one."""
    if not isinstance(family, FocalSets):
        raise InvalidParameterError(name, "a FocalSets", family)
    return family


def _listed_sets(sets: Any, name: str) -> list[tuple[Any, ...]]:
    return [tuple(listed(s, name, "sets of cluster numbers")) for s in listed(sets, name, "sets of cluster numbers")]


def _check_n_clusters(n_clusters: Any) -> int:
    if not is_integer(n_clusters) or not 1 <= n_clusters <= _MAX_CLUSTERS:
        expected = f"an integer of at least 1 and at most {_MAX_CLUSTERS:,}"
        raise InvalidParameterError("n_clusters", expected, n_clusters)
    return int(n_clusters)


def _checked_integer(number: Any, name: str) -> int:
    if not is_integer(number) or number < 1:
        raise InvalidParameterError(name, "an integer of at least 1", number)
    return int(number)


def _check_family_fits(n_sets: int, c: int) -> None:
    check_memory(n_sets * c, f"a family of {n_sets:,} sets of {c:,} clusters", "take fewer clusters")


def _membership_rows(c: int, sets: Sequence[tuple[int, ...]], name: str = "sets") -> np.ndarray:
    _check_family_fits(len(sets), c)
    rows = np.zeros((len(sets), c), dtype=bool)
    for i, clusters in enumerate(sets):
        for k in clusters:
            if not is_integer(k) or not 0 <= k < c:
                raise InvalidParameterError(
                    name, must=f"hold cluster numbers from 0 to {c - 1}, got {shown(k)} in {shown(clusters)}"
                )
        rows[i, list(clusters)] = True
    return rows


def _sets_by_size(c: int, size: int, count: int, empty: bool, omega: bool) -> np.ndarray:
    """Membership of all sets of at most ``size`` clusters, in their order: the smaller ones first."""
    rows = np.zeros((empty + count + (omega and size < c), c), dtype=bool)
    rows[empty + count :] = True
    start = int(empty)
    for k in range(1, size + 1):
        members = np.array(list(combinations(range(c), k)))
        np.put_along_axis(rows[start : start + len(members)], members, True, axis=1)
        start += len(members)
    return rows


def _squared_distances(centers: Any, squared_distances: Any) -> np.ndarray:
    if (centers is None) == (squared_distances is None):
        raise InvalidInputError("give either centers or squared_distances")
    if centers is not None:
        points = centers
        if not (type(centers) is np.ndarray and centers.dtype == np.float64):
            points = as_reals(centers, "centers").astype(float, copy=False)
        if points.ndim != 2 or points.size == 0 or not np.isfinite(points).all():
            raise InvalidParameterError(
                "centers", must=f"be a finite array of shape (n_clusters, n_features), got {points.shape}"
            )
        gap = points[:, None] - points[None]
        return np.einsum("kld,kld->kl", gap, gap)
    squares = as_reals(squared_distances, "squared_distances").astype(float, copy=False)
    square = squares.ndim == 2 and squares.shape[0] == squares.shape[1] and len(squares) > 0
    if not square or not ((squares >= 0) & (squares < np.inf)).all():
        raise InvalidParameterError(
            "squared_distances", must=f"be a square matrix of nonnegative numbers, got shape {squares.shape}"
        )
    return squares
