"""Must-link and cannot-link constraints: closure, contradictions and violations.

The objects of a connected component of must-links are in the same cluster. A cannot-link between
two objects holds between their components, and contradicts the must-links if both objects are in
the same component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import warn_user
from dempster._random import as_generator
from dempster._text import format_count, quote_names
from dempster._validation import (
    as_list,
    check,
    check_memory,
    integer,
    kind,
    row_positions,
)
from dempster.constraints._expansion import expand_pairs, find_neighborhoods
from dempster.optimize.row_fit import symmetric_pairs
from dempster.partition.credal_partition import as_credal_partition, encode_labels
from dempster.partition.relational import read_pairs

UNLABELLED = -1
# The kernels use int32 indices, and the codes i * n + j of pairs fit in int64.
_MAX_OBJECT = np.iinfo(np.int32).max
_MAX_STARTS = 1000  # objects from which sets of mutual cannot-links are searched


# ---- pairs of objects as arrays ------------------------------------------------------------------


def validate_pairs(pairs: Any, name: str) -> np.ndarray:
    """Return pairs of object indices (in any common format) as an int64 array of shape (p, 2)."""
    if pairs is None:
        pairs = ()
    elif isinstance(pairs, set | frozenset):
        pairs = sorted(pairs)  # The order of a set is arbitrary.
    elif not hasattr(pairs, "__array__"):
        pairs = as_list(pairs, name, "pairs of object indices")
    array = read_pairs(pairs, name)
    is_invalid = ((array < 0) | (array > _MAX_OBJECT)).any(axis=1)
    _check_pairs(array, is_invalid, name, f"contain indices from 0 to {_MAX_OBJECT}")
    return array.astype(np.int64)


def _check_pairs(
    pairs: np.ndarray, is_invalid: Any, name: str, requirement: str
) -> None:
    """Raise an error that shows the first invalid pair."""
    if is_invalid.any():
        i, j = pairs[is_invalid][0]
        raise InvalidParameterError(
            name, must=f"{requirement}, got the pair ({i}, {j})"
        )


def normalize_pairs(pairs: np.ndarray) -> np.ndarray:
    """Return the distinct pairs, with sorted indices, in the order of first appearance.

    The array is read-only.
    """
    pairs = np.sort(pairs)
    first = np.unique(pair_codes(pairs), return_index=True)[1]
    pairs = np.ascontiguousarray(pairs[np.sort(first)])
    pairs.flags.writeable = False
    return pairs


def pair_codes(pairs: np.ndarray, n: int = _MAX_OBJECT + 1) -> np.ndarray:
    """Return a unique number for each unordered pair of indices below n."""
    return pairs.min(axis=1) * n + pairs.max(axis=1)


def count_pairs(n: int) -> int:
    """Return the number of pairs of n objects."""
    return n * (n - 1) // 2


def pairs_at(positions: np.ndarray, n: int) -> np.ndarray:
    """Return the pairs, shape (p, 2), at positions in the list (0, 1), (0, 2), ..., (1, 2), ..."""
    positions = np.asarray(positions, np.int64)

    i = np.arange(n)
    start = i * (2 * n - i - 1) // 2  # position of the pair (i, i + 1)
    first = np.searchsorted(start[: n - 1], positions, "right") - 1
    return np.column_stack([first, positions - start[first] + first + 1])


def validate_count(value: Any, name: str) -> int:
    """Return ``value`` as an int; raise an error if it is not a nonnegative integer."""
    check(value, name, integer(0, _MAX_OBJECT))
    return int(value)


# ---- closure and contradictions ------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Contradiction:
    """A cannot-link between two objects that a chain of must-links connects.

    Attributes
    ----------
    cannot_link : (int, int)
        Indices of the two objects of the cannot-link.
    chain : tuple of int
        Shortest chain of must-linked objects from the first object of the cannot-link to the
        second.

    Examples
    --------
    >>> from dempster.constraints import Contradiction
    >>> Contradiction((0, 5), (0, 3, 5))
    0 and 5 are in different clusters, but 0 - 3 - 5 are in the same cluster
    """

    cannot_link: tuple[int, int]
    chain: tuple[int, ...]

    def describe(self, names: Sequence[Any] | None = None) -> str:
        """Return a sentence about the objects.

        Parameters
        ----------
        names : sequence, optional
            Names of all objects. By default, the objects are named by their indices.

        Returns
        -------
        str
        """
        chain = list(map(str, self.chain))
        if names is not None:
            chain = [str(names[k]) for k in self.chain]
        return (
            f"{chain[0]} and {chain[-1]} are in different clusters, "
            f"but {' - '.join(chain)} are in the same cluster"
        )

    __repr__ = describe


class ContradictionError(InvalidInputError):
    """Constraints contradict each other, or a pair is both a must-link and a cannot-link."""


class ContradictionWarning(UserWarning):
    """Warning that a chain of must-links contradicts a cannot-link.

    The constraints cannot all be satisfied.
    """


class _Graph:
    """Graph of the must-links between the constrained objects, which are renumbered from 0."""

    def __init__(self, must_link: np.ndarray, cannot_link: np.ndarray):
        self.objects, numbers = np.unique(
            np.concatenate([must_link, cannot_link]), return_inverse=True
        )
        numbers = numbers.reshape(-1, 2)
        self.must_link = numbers[: len(must_link)]
        self.cannot_link = numbers[len(must_link) :]
        self.component = must_link_components(self.must_link, len(self.objects))
        self.broken = (
            self.component[self.cannot_link[:, 0]]
            == self.component[self.cannot_link[:, 1]]
        )

    def contradictions(self, which: np.ndarray) -> list[Contradiction]:
        """Find the contradictions of the given cannot-links by breadth-first search."""
        adjacency = _adjacency(self.must_link, len(self.objects))
        pairs = self.cannot_link[which]
        found: dict[int, Contradiction] = {}
        for source in np.unique(pairs[:, 0]):
            before = breadth_first_order(adjacency, source, return_predecessors=True)[1]
            for place in np.flatnonzero(pairs[:, 0] == source).tolist():
                walk = [pairs[place, 1]]
                while walk[-1] != source:
                    walk.append(before[walk[-1]])
                chain = tuple(self.objects[walk[::-1]].tolist())
                found[place] = Contradiction((chain[0], chain[-1]), chain)
        return [found[place] for place in range(len(pairs))]


def must_link_components(must_link: np.ndarray, n: int) -> np.ndarray:
    """Return the connected component of each object in the graph of the must-links."""
    return connected_components(_adjacency(must_link, n), directed=False)[1].astype(
        np.int64
    )


def _adjacency(pairs: np.ndarray, n: int) -> csr_array:
    """Return the symmetric adjacency matrix.

    Its sorted indices make the breadth-first search deterministic.
    """
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
    graph = csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n))
    graph.sort_indices()
    return graph


def _by_component(
    component: np.ndarray, n_components: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the objects sorted by component, and the start and size of each component."""
    sizes = np.bincount(component, minlength=n_components)
    return np.argsort(component, kind="stable"), np.cumsum(sizes) - sizes, sizes


def _runs(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``repeat(arange(k), lengths)`` and the position of each element in its run."""
    run = np.repeat(np.arange(len(lengths)), lengths)
    return run, np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _pairs_within(component: np.ndarray) -> np.ndarray:
    members, start, size = _by_component(component)
    place = np.arange(len(members))
    # Pair each object with the objects after it.
    first, step = _runs((start + size)[component[members]] - place - 1)
    return np.column_stack([members[first], members[first + 1 + step]])


def pairs_between(
    component: np.ndarray, components: np.ndarray, n_components: int = 0
) -> np.ndarray:
    """Return the pairs of objects between the two components in each row of ``components``."""
    members, start, size = _by_component(component, n_components)
    left, right = components.T
    run, step = _runs(size[left] * size[right])
    i = members[start[left][run] + step // size[right][run]]
    j = members[start[right][run] + step % size[right][run]]
    return np.column_stack([i, j])


# ---- violations ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Violations:
    """Violations of constraints by a partition, computed by `Constraints.violations`.

    ``len()`` is the number of violated constraints, so ``bool()`` is False if all constraints are
    satisfied.

    Attributes
    ----------
    pairs : (p, 2) array
        Object indices of all constraints, the must-links first.
    is_must_link : (p,) Boolean array
        Whether the constraint is a must-link.
    violated : (p,) Boolean array
        Whether the most plausible clusters of the two objects violate the constraint.
    degree : (p,) array
        Plausibility, from 0 to 1, that the objects of a must-link are in different clusters, or
        that the objects of a cannot-link are in the same cluster.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.constraints import Constraints
    >>> cp = CredalPartition([[0, 1, 0, 0], [0, 0, 0.6, 0.4], [0, 0, 1, 0]], FocalSets.full(2))
    >>> found = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)]).violations(cp)
    >>> found.must_link, found.cannot_link
    (array([[0, 1]]), array([], shape=(0, 2), dtype=int64))
    >>> found.to_frame()
       i  j   constraint  violated  degree
    0  0  1    must-link      True     1.0
    1  0  2  cannot-link     False     0.0
    """

    pairs: np.ndarray
    is_must_link: np.ndarray
    violated: np.ndarray
    degree: np.ndarray

    @property
    def must_link(self) -> np.ndarray:
        """Violated must-links, of shape (p, 2)."""
        return self.pairs[self.violated & self.is_must_link]

    @property
    def cannot_link(self) -> np.ndarray:
        """Violated cannot-links, of shape (p, 2)."""
        return self.pairs[self.violated & ~self.is_must_link]

    @property
    def proportion(self) -> float:
        """Proportion of violated constraints, 0 if there are no constraints."""
        if len(self.pairs):
            return float(self.violated.mean())
        return 0.0

    def to_frame(self):
        """Return a pandas table with a row for each constraint.

        Returns
        -------
        pandas.DataFrame
            Columns ``i``, ``j``, ``constraint``, ``violated`` and ``degree``.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "i": self.pairs[:, 0],
                "j": self.pairs[:, 1],
                "constraint": np.where(self.is_must_link, "must-link", "cannot-link"),
                "violated": self.violated,
                "degree": self.degree,
            }
        )

    def __len__(self) -> int:
        return int(self.violated.sum())

    def __repr__(self) -> str:
        musts = int(self.is_must_link.sum())
        return (
            f"Violations({len(self.must_link)} of {musts} must-links, {len(self.cannot_link)} of "
            f"{len(self.pairs) - musts} cannot-links violated)"
        )


# ---- constraints ---------------------------------------------------------------------------------


class Constraints:
    """Pairs of objects known to be in the same (must-link) or in different clusters (cannot-link).

    The object is immutable; every operation returns a new object. Pairs are unordered. Each pair is
    stored once, smaller index first, in the order of first appearance.

    `contradictions` lists constraints that contradict each other. Every clustering method raises a
    `ContradictionError` for a pair that is both a must-link and a cannot-link. For a contradiction
    through a chain of must-links it only issues a `ContradictionWarning`, because clustering
    methods need not satisfy all constraints. Use ``warnings.simplefilter("error",
    ContradictionWarning)`` to raise an error instead.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (p, 2)
        Pairs of object indices, starting at 0, as a list of tuples, an array, or a table with two
        columns. A must-link of an object with itself is ignored; a cannot-link of an object with
        itself raises an error.
    n_objects : int, optional
        Number of objects. If given, the indices and the number of rows of X in every ``fit`` are
        checked against it. It is required to select the constraints between a subset of the objects
        by ``constraints[rows]``, which scikit-learn does in cross-validation.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) int64 arrays, read-only
        Distinct pairs of object indices.
    n_objects : int or None
        Number of objects, if given.
    shape : tuple
        ``(n_objects,)``, which scikit-learn uses to select rows.

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential c-means
    algorithm. Computational Statistics and Data Analysis 56.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> constraints = Constraints(must_link=[(0, 3), (3, 5)], cannot_link=[(5, 1)])
    >>> constraints
    Constraints(2 must-link, 1 cannot-link)
    >>> constraints.closure().must_link.tolist(), constraints.closure().cannot_link.tolist()
    ([[0, 3], [3, 5], [0, 5]], [[1, 5], [0, 1], [1, 3]])
    >>> (constraints | Constraints(cannot_link=[(0, 5)])).contradictions()
    [0 and 5 are in different clusters, but 0 - 3 - 5 are in the same cluster]
    >>> selected = Constraints([(0, 3), (3, 5)], n_objects=6)[3:]
    >>> selected.must_link.tolist()  # the last three objects, renumbered
    [[0, 2]]
    """

    __slots__ = ("_cannot_link", "_must_link", "_n_objects")

    def __init__(
        self, must_link: Any = (), cannot_link: Any = (), n_objects: int | None = None
    ):
        must = validate_pairs(must_link, "must_link")
        cannot = validate_pairs(cannot_link, "cannot_link")
        is_invalid = cannot[:, 0] == cannot[:, 1]
        requirement = "contain two different objects in each pair"
        _check_pairs(cannot, is_invalid, "cannot_link", requirement)
        self._must_link = normalize_pairs(must[must[:, 0] != must[:, 1]])
        self._cannot_link = normalize_pairs(cannot)
        self._n_objects = None
        if n_objects is not None:
            self._n_objects = validate_count(n_objects, "n_objects")
            self.check(self._n_objects)

    # ---- alternative constructors ----------------------------------------------------------------

    @classmethod
    def from_labels(cls, y: Any, n_constraints: int, random_state: Any = None) -> Self:
        """Draw random pairs of labeled objects.

        Equal labels give a must-link, different labels a cannot-link.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of any type; -1 means unlabeled.
        n_constraints : int
            Number of distinct pairs. The number of must-links among them is random.
        random_state : int, numpy Generator or RandomState, optional
            Seed for the random pairs.

        Returns
        -------
        Constraints

        Examples
        --------
        >>> from dempster.constraints import Constraints
        >>> Constraints.from_labels(["a", "a", "b", "b"], 6, random_state=0)  # all pairs
        Constraints(2 must-link, 4 cannot-link, 4 objects)
        """
        codes = _label_codes(y)
        labelled = np.flatnonzero(codes != UNLABELLED)
        wanted = validate_count(n_constraints, "n_constraints")
        most = count_pairs(len(labelled))
        if wanted > most:
            raise InvalidParameterError(
                "n_constraints",
                f"at most {most}, the number of pairs of the {len(labelled)} labeled objects",
                wanted,
            )
        positions = as_generator(random_state).choice(most, size=wanted, replace=False)
        return cls._from_codes(labelled[pairs_at(positions, len(labelled))], codes)

    @classmethod
    def from_partial_labels(cls, y: Any) -> Self:
        """Return a must-link or a cannot-link for every pair of labeled objects.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of any type; -1 means unlabeled.

        Returns
        -------
        Constraints
        """
        codes = _label_codes(y)
        labelled = np.flatnonzero(codes != UNLABELLED)
        pairs = count_pairs(len(labelled))
        advice = "draw a random subset of the pairs with Constraints.from_labels"
        check_memory(
            8 * 16 * pairs,
            f"all {pairs:,} pairs of {len(labelled):,} labeled objects",
            advice,
        )
        return cls._from_codes(
            labelled[np.column_stack(np.triu_indices(len(labelled), 1))], codes
        )

    @classmethod
    def from_pairs(cls, pairs: Any, y: Any) -> Self:
        """Return a must-link for each pair with equal labels, and a cannot-link for the others.

        Parameters
        ----------
        pairs : array-like of shape (p, 2)
            Pairs of object indices.
        y : array-like of shape (n,)
            Labels of any type; pairs with an object of label -1 (unlabeled) are ignored.

        Returns
        -------
        Constraints
        """
        codes = _label_codes(y)
        pairs = validate_pairs(pairs, "pairs")
        _check_range(pairs, "pairs", len(codes))
        return cls._from_codes(pairs[(codes[pairs] != UNLABELLED).all(axis=1)], codes)

    @classmethod
    def _from_codes(cls, pairs: np.ndarray, codes: np.ndarray) -> Self:
        same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        return cls(pairs[same], pairs[~same], n_objects=len(codes))

    # ---- properties ------------------------------------------------------------------------------

    @property
    def must_link(self) -> np.ndarray:
        """Pairs in the same cluster, a read-only array of shape (p, 2)."""
        return self._must_link

    @property
    def cannot_link(self) -> np.ndarray:
        """Pairs in different clusters, a read-only array of shape (p, 2)."""
        return self._cannot_link

    @property
    def n_objects(self) -> int | None:
        """Number of objects, or None if it is not set."""
        return self._n_objects

    @property
    def shape(self) -> tuple[int]:
        """Shape (n_objects,), which scikit-learn uses to select the rows of a fold."""
        if self._n_objects is None:
            advice = "Constraints(must_link, cannot_link, n_objects=len(X))"
            raise InvalidParameterError(
                "n_objects", must=f"be set to select rows: {advice}"
            )
        return (self._n_objects,)

    def __getitem__(self, rows: Any) -> Constraints:
        """Return the constraints between the selected objects, which are renumbered from 0.

        Parameters
        ----------
        rows : slice, Boolean mask or array of indices
            Objects to select. A repeated index gives several objects with the same constraints.
            Constraints that are only implied by an object outside the selection are lost; call
            `closure` first to keep them.
        """
        n = self.shape[0]
        # scikit-learn uses the index (rows, ...).
        if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:
            rows = rows[0]
        indices = row_positions(rows, n)
        must = pairs_between(indices, self._must_link, n)
        cannot = pairs_between(indices, self._cannot_link, n)
        return Constraints(must, cannot, n_objects=len(indices))

    # Indexing selects objects, so an iteration would not yield constraints.
    __iter__ = None

    def __len__(self) -> int:
        return len(self._must_link) + len(self._cannot_link)

    def __repr__(self) -> str:
        text = f"{len(self._must_link)} must-link, {len(self._cannot_link)} cannot-link"
        if self._n_objects is not None:
            text += f", {self._n_objects} objects"
        return f"Constraints({text})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Constraints):
            return self._key() == other._key()
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[bytes, bytes, int | None]:
        must = np.sort(pair_codes(self._must_link))
        cannot = np.sort(pair_codes(self._cannot_link))
        return must.tobytes(), cannot.tobytes(), self._n_objects

    def __or__(self, other: object) -> Constraints:
        if not isinstance(other, Constraints):
            return NotImplemented
        sizes = {n for n in (self._n_objects, other._n_objects) if n is not None}
        if len(sizes) > 1:
            raise InvalidParameterError(
                "constraints",
                must=f"have the same n_objects, got {self!r} and {other!r}",
            )
        return Constraints(
            np.concatenate([self._must_link, other._must_link]),
            np.concatenate([self._cannot_link, other._cannot_link]),
            n_objects=max(sizes, default=None),
        )

    def __reduce__(self):
        return type(self), (self._must_link, self._cannot_link, self._n_objects)

    def check(self, n: int) -> None:
        """Raise a ValueError if an index is n or more, or if n_objects is set and differs from n.

        Parameters
        ----------
        n : int
            Number of objects.
        """
        n = validate_count(n, "n")
        _check_range(self._must_link, "must_link", n)
        _check_range(self._cannot_link, "cannot_link", n)
        if self._n_objects is not None and self._n_objects != n:
            advice = "use constraints[rows] to select the rows of X"
            raise InvalidParameterError(
                "constraints",
                must=f"have n_objects={n}, got {self._n_objects}; {advice}",
            )

    # ---- closure and violations ------------------------------------------------------------------

    def closure(self) -> Constraints:
        """Return the constraints together with all constraints that they imply.

        Must-links (a, b) and (b, c) imply the must-link (a, c). A must-link (a, b) and a
        cannot-link (b, c) imply the cannot-link (a, c). The given pairs come first. A component of
        q must-linked objects has q (q - 1) / 2 pairs.

        Returns
        -------
        Constraints

        Raises
        ------
        ContradictionError
            If the constraints contradict each other; see `contradictions`.
        """
        must = self._must_link
        cannot = self._cannot_link
        if len(must) == 0:
            return self
        graph = _Graph(must, cannot)
        if graph.broken.any():
            broken = np.flatnonzero(graph.broken)
            message = f"constraints contradict each other: {graph.contradictions(broken[:1])[0]}"
            if len(broken) > 1:
                message += (
                    f" ({len(broken)} contradictions in total; see contradictions())"
                )
            raise ContradictionError(message)
        apart = np.unique(np.sort(graph.component[graph.cannot_link]), axis=0)
        # Python integers do not overflow.
        sizes = np.bincount(graph.component).astype(object)
        between = sum(sizes[apart[:, 0]] * sizes[apart[:, 1]])
        n_pairs = int(sum(sizes * (sizes - 1)) // 2 + between)
        check_memory(
            8 * 16 * n_pairs,
            f"the closure, {n_pairs:,} pairs,",
            "use the constraints as they are",
        )
        implied = graph.objects[_pairs_within(graph.component)]
        implied_apart = graph.objects[pairs_between(graph.component, apart)]
        return Constraints(
            np.concatenate([must, implied]),
            np.concatenate([cannot, implied_apart]),
            n_objects=self._n_objects,
        )

    def contradictions(self) -> list[Contradiction]:
        """Return the cannot-links that a chain of must-links contradicts, with the shortest chains.

        Returns
        -------
        list of Contradiction
        """
        graph = _Graph(self._must_link, self._cannot_link)
        return graph.contradictions(np.flatnonzero(graph.broken))

    def violations(self, partition: Any) -> Violations:
        """Compute which constraints a partition violates, and to what degree.

        Parameters
        ----------
        partition : CredalPartition or hard labels
            A must-link is violated if the most plausible clusters of its objects differ, a
            cannot-link if they are equal. An object without a plausible cluster (noise, -1 in hard
            labels) shares its cluster with no object.

        Returns
        -------
        Violations

        Examples
        --------
        >>> from dempster.constraints import Constraints
        >>> Constraints([(0, 1), (1, 2)], [(0, 3)]).violations([0, 0, 1, 1])
        Violations(1 of 2 must-links, 0 of 1 cannot-links violated)
        """
        credal = as_credal_partition(partition)
        self.check(len(credal))
        pairs = np.concatenate([self._must_link, self._cannot_link])
        is_must_link = np.arange(len(pairs)) < len(self._must_link)
        somewhere = np.asarray(credal.contour.max(axis=1) > 0)
        i, j = pairs.T
        together = (credal.labels[i] == credal.labels[j]) & somewhere[i] & somewhere[j]
        same, different, unknown = credal.relational(pairs).masses[:, 1:].T
        degree = np.clip(np.where(is_must_link, different, same) + unknown, 0, 1)
        return Violations(pairs, is_must_link, together != is_must_link, degree)

    # ---- neighbors -------------------------------------------------------------------------------

    def expand(
        self, D: Any, n_neighbors: int = 5, *, metric: str | Callable = "precomputed"
    ) -> Constraints:
        """Add constraints between neighbors of the objects of each constraint.

        Let N(i) contain object i and its K nearest neighbors. For each constraint (i, j),
        must-links first, the candidates are the pairs (r, s) without a constraint, with r in N(i)
        but not in N(j) and s in N(j) but not in N(i). The K candidates with the smallest d(i, r) +
        d(j, s) become constraints of the same type as (i, j). The result has at most (K + 1) times
        the number of constraints. Ties are resolved by the lowest indices.

        The added constraints may be wrong near the border of two clusters. A warning is issued if
        the neighbors imply the opposite of an existing constraint; the existing constraint is kept.

        Parameters
        ----------
        D : array-like of shape (n, n) or (n, d)
            Symmetric dissimilarities, or attributes if ``metric`` is not "precomputed". No n x n
            matrix is computed from attributes.
        n_neighbors : int, default 5
            Number K of neighbors. Values above 10 give no improvement; 0 adds no constraints.
        metric : str or callable, default "precomputed"
            "precomputed" if D is a matrix of dissimilarities, or a metric of
            `sklearn.neighbors.NearestNeighbors`.

        Returns
        -------
        Constraints
            The given and the added constraints.

        References
        ----------
        F. Li, S. Li and T. Denoeux (2018). k-CEVCLUS: constrained evidential clustering of large
        dissimilarity data. Knowledge-Based Systems 142, Algorithm 2.

        Examples
        --------
        >>> from dempster.constraints import Constraints
        >>> X = [[0.0], [0.1], [0.3], [5.0], [5.2], [5.5]]
        >>> given = Constraints(cannot_link=[(0, 3)])
        >>> given.expand(X, n_neighbors=2, metric="euclidean").cannot_link.tolist()
        [[0, 3], [1, 3], [0, 4]]
        """
        k = validate_count(n_neighbors, "n_neighbors")
        objects = np.unique(np.concatenate([self._must_link, self._cannot_link]))
        near, n = find_neighborhoods(D, objects, k, metric, check=self.check)
        must, cannot = expand_pairs(self._must_link, self._cannot_link, near, k)
        return Constraints(must, cannot, n_objects=n)


def _check_range(pairs: np.ndarray, name: str, n: int) -> None:
    requirement = f"contain indices below {n}, the number of objects"
    _check_pairs(pairs, (pairs >= n).any(axis=1), name, requirement)


def _label_codes(y: Any) -> np.ndarray:
    """Return an integer code for each label, shape (n,); the code is -1 where y is -1 or "-1"."""
    return encode_labels(y, "y", UNLABELLED)[1]


# ---- interface for methods -----------------------------------------------------------------------


def links(
    constraints: Constraints, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return constraints as a symmetric sparse matrix ``indptr``, ``indices``, ``sign`` (CSR).

    The objects linked to object i are ``indices[indptr[i]:indptr[i + 1]]``, in increasing order.
    The sign is +1 for must-links and -1 for cannot-links.
    """
    must = constraints.must_link
    cannot = constraints.cannot_link
    sign = np.repeat([1.0, -1.0], [len(must), len(cannot)])
    return symmetric_pairs(n, np.concatenate([must, cannot]), sign)[:3]


def validate_constraints(
    constraints: Any, n: int, names: Sequence[Any] | None = None
) -> Constraints:
    """Return validated constraints between n objects. None stands for no constraints.

    A pair that is both a must-link and a cannot-link raises an error. A contradiction through a
    chain of must-links only issues a warning, because answers of experts and pairs added by
    `Constraints.expand` may be wrong, and clustering methods do not have to satisfy all
    constraints.
    """
    if constraints is None:
        return Constraints()
    check(constraints, "constraints", kind(Constraints))
    constraints.check(n)
    contradictions = constraints.contradictions()
    direct = [c for c in contradictions if len(c.chain) == 2]
    if direct:
        raise ContradictionError(
            f"constraints contradict each other: {direct[0].describe(names)}"
        )
    if contradictions:
        warn_user(
            f"constraints contradict each other in {format_count(len(contradictions), 'case')}: "
            f"{contradictions[0].describe(names)}",
            ContradictionWarning,
        )
    return constraints


def warn_about_number(
    constraints: Constraints, n_clusters: int, names: Sequence[Any] | None = None
) -> None:
    """Warn if more objects than clusters have cannot-links to each other.

    An object has the cannot-links of all objects that must-links join to it. Such objects are
    searched greedily, beginning with the objects with the most cannot-links.
    """
    graph = _Graph(constraints.must_link, constraints.cannot_link)
    # The first object of each component represents it.
    first = np.unique(graph.component, return_index=True)[1][graph.component]
    pairs = graph.objects[first[graph.cannot_link[~graph.broken]]]
    neighbors: dict[int, set[int]] = {}
    for i, j in pairs.tolist():
        neighbors.setdefault(i, set()).add(j)
        neighbors.setdefault(j, set()).add(i)
    starts = [i for i in neighbors if len(neighbors[i]) >= n_clusters]
    starts.sort(key=lambda i: -len(neighbors[i]))
    for start in starts[:_MAX_STARTS]:
        apart = [start]
        others = neighbors[start]
        while others and len(apart) <= n_clusters:
            apart.append(max(others, key=lambda i: len(neighbors[i] & others)))
            others = others & neighbors[apart[-1]]
        if len(apart) > n_clusters:
            found = quote_names(apart if names is None else [names[i] for i in apart])
            message = f"the objects {found} have cannot-links to each other"
            warn_user(
                f"{message}, but n_clusters={n_clusters}; some constraints cannot be satisfied",
                ContradictionWarning,
            )
            return
