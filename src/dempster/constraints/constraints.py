"""Must-link and cannot-link constraints as a value: what follows from them, and what a partition makes of them.

Must-links make the objects of a connected component one cluster; a cannot-link between two objects then holds between
their two components, and contradicts the must-links if both are in the same component.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import generator
from dempster._validation import as_labels, check_memory, is_integer, listed, reading, reading_labels, shown
from dempster.optimize.row_fit import symmetric_pairs
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import as_credal_partition

UNLABELLED = -1
_READ_AS_THEY_ARE = (list, tuple, str, memoryview)
_MAX_OBJECT = np.iinfo(np.int32).max  # object numbers are int32 in the kernels; codes i * n + j then fit in int64


# ---- pairs of objects as arrays -------------------------------------------------------------------------------------


def checked_pairs(pairs: Any, name: str) -> np.ndarray:
    """Pairs in any reasonable form (list of tuples, set, array, two-column table) as a (p, 2) int64 array."""
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    if isinstance(pairs, set | frozenset):
        pairs = sorted(pairs)  # sets have no order of their own, and the result must not depend on chance
    elif isinstance(pairs, Iterable) and not (isinstance(pairs, _READ_AS_THEY_ARE) or hasattr(pairs, "__array__")):
        pairs = listed(pairs, name, "pairs of object numbers")
    if isinstance(pairs, Mapping) or np.ma.is_masked(pairs):
        raise InvalidParameterError(name, must="hold pairs of object numbers, shape (p, 2)", value=pairs)
    try:
        array = np.asarray(pairs)
    except Exception as error:  # rows of different lengths, and what is no array
        raise InvalidParameterError(name, must="hold pairs of object numbers, shape (p, 2)", value=pairs) from error
    if array.size == 0 and (array.ndim < 2 or array.shape[1] in (0, 2)):
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidParameterError(name, must=f"hold pairs of object numbers, shape (p, 2), got shape {array.shape}")
    if array.dtype == object and all(map(is_integer, array.flat)):
        array = np.array([[int(i), int(j)] for i, j in array])  # too large a number stays an object and is refused
    if array.dtype.kind not in "iu":
        raise InvalidParameterError(
            name, must=f"hold integers (object numbers), got {shown(pairs)} of type {array.dtype}"
        )
    for bad, words in ((array < 0, "nonnegative"), (array > _MAX_OBJECT, f"at most {_MAX_OBJECT}")):
        if bad.any():
            i, j = array[bad.any(axis=1)][0]
            raise InvalidParameterError(name, must=f"hold object numbers that are {words}, got the pair ({i}, {j})")
    return array.astype(np.int64)


def normalised_pairs(pairs: np.ndarray) -> np.ndarray:
    """Each pair once, smaller number first, in the order of first appearance; read-only."""
    pairs = np.sort(pairs, axis=1)
    first = np.unique(pair_codes(pairs), return_index=True)[1]
    pairs = np.ascontiguousarray(pairs[np.sort(first)])
    pairs.flags.writeable = False
    return pairs


def pair_codes(pairs: np.ndarray, n: int = _MAX_OBJECT + 1) -> np.ndarray:
    """One number for each unordered pair of numbers below n."""
    return pairs.min(axis=1) * n + pairs.max(axis=1) if len(pairs) else np.empty(0, dtype=np.int64)


def n_pairs_of(n: int) -> int:
    return n * (n - 1) // 2


def pairs_at(positions: np.ndarray, n: int) -> np.ndarray:
    """(p, 2) pairs at the given positions of the list (0, 1), (0, 2), ..., (0, n - 1), (1, 2), ..."""
    positions = np.asarray(positions, dtype=np.int64)

    def start(i: np.ndarray) -> np.ndarray:  # position of (i, i + 1)
        return i * (2 * n - i - 1) // 2

    from_end = n_pairs_of(n) - 1 - positions
    first = n - 2 - ((np.sqrt(8.0 * from_end + 1) - 1) // 2).astype(np.int64)
    # the square root of a number above 2^53 may be off by one
    first = np.clip(first, 0, max(n - 2, 0))
    first -= start(first) > positions
    first += start(first + 1) <= positions
    return np.column_stack([first, positions - start(first) + first + 1])


def all_pairs(objects: np.ndarray) -> np.ndarray:
    """All pairs among the given objects."""
    return np.column_stack([objects[side] for side in np.triu_indices(len(objects), 1)])


def draw_pairs(objects: np.ndarray, n_pairs: int, random_state: Any) -> np.ndarray:
    """Different pairs of the given objects, drawn uniformly; memory in proportion to their number only."""
    positions = generator(random_state).choice(n_pairs_of(len(objects)), size=n_pairs, replace=False)
    return objects[pairs_at(positions, len(objects))]


def checked_count(value: Any, name: str) -> int:
    if not is_integer(value):
        raise InvalidParameterError(name, "an integer", value)
    if not 0 <= value <= _MAX_OBJECT:
        raise InvalidParameterError(name, f"at least 0 and at most {_MAX_OBJECT}", value)
    return int(value)


def selected_rows(rows: Any, n: int) -> np.ndarray:
    """(r,) positions, of n, that a slice, a Boolean mask or an array of positions stands for."""
    if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # how scikit-learn takes rows of arrays
        rows = rows[0]
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    with reading(rows, "rows"):
        chosen = np.asarray(rows)
    if chosen.ndim != 1 or chosen.dtype.kind not in ("biu" if chosen.size else "biuf"):
        raise InvalidParameterError("rows", "a slice, a Boolean mask or an array of positions", rows)
    if chosen.dtype == bool:
        if len(chosen) != n:
            raise IndexError(f"rows must be a mask of {n} values, one for each object, got {len(chosen)}")
        return np.flatnonzero(chosen)
    chosen = chosen.astype(np.int64)
    if chosen.size and not (-n <= chosen.min() <= chosen.max() < n):
        raise IndexError(f"rows must be positions below {n}, the number of objects, got {shown(rows)}")
    return chosen % n if n else chosen


# ---- closure and contradictions -------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Contradiction:
    """A cannot-link between two objects that a chain of must-links connects.

    Attributes
    ----------
    cannot_link : (int, int)
    chain : tuple of int
        Objects from the first of the pair to the second; each must link with the next. No chain is shorter.

    Examples
    --------
    >>> from dempster.constraints import Contradiction
    >>> Contradiction((0, 5), (0, 3, 5))
    0 and 5 must not link, but 0 - 3 - 5 are must-linked
    """

    cannot_link: tuple[int, int]
    chain: tuple[int, ...]

    def __repr__(self) -> str:
        i, j = self.cannot_link
        return f"{i} and {j} must not link, but {' - '.join(map(str, self.chain))} are must-linked"


class ContradictionError(InvalidInputError):
    """Constraints that contradict each other have no closure, and a pair that must and must not link fits no method."""


class ContradictionWarning(UserWarning):
    """Constraints that contradict each other through a chain: a method weighs them, and cannot meet them all."""


class _Graph:
    """The must-links as a graph of the constrained objects, renumbered from 0."""

    def __init__(self, must_link: np.ndarray, cannot_link: np.ndarray):
        self.objects, numbers = np.unique(np.concatenate([must_link, cannot_link]), return_inverse=True)
        numbers = numbers.reshape(-1, 2)
        self.must_link, self.cannot_link = numbers[: len(must_link)], numbers[len(must_link) :]
        self.component = must_link_components(self.must_link, len(self.objects))
        self.broken = self.component[self.cannot_link[:, 0]] == self.component[self.cannot_link[:, 1]]

    def contradictions(self, which: np.ndarray) -> list[Contradiction]:
        """The chains of the given broken cannot-links, by a breadth-first search from each first object."""
        adjacency = _adjacency(self.must_link, len(self.objects))
        pairs = self.cannot_link[which]
        found: list[Contradiction | None] = [None] * len(pairs)
        for source in np.unique(pairs[:, 0]):
            before = breadth_first_order(adjacency, source, return_predecessors=True)[1]
            for place in np.flatnonzero(pairs[:, 0] == source):
                walk = [pairs[place, 1]]
                while walk[-1] != source:
                    walk.append(before[walk[-1]])
                chain = tuple(self.objects[walk[::-1]].tolist())
                found[place] = Contradiction((chain[0], chain[-1]), chain)
        return [contradiction for contradiction in found if contradiction is not None]


def must_link_components(must_link: np.ndarray, n: int) -> np.ndarray:
    """(n,) number of the connected component of every object."""
    return connected_components(_adjacency(must_link, n), directed=False)[1].astype(np.int64)


def find_contradictions(must_link: np.ndarray, cannot_link: np.ndarray) -> list[Contradiction]:
    """All cannot-links inside a component, in their order."""
    graph = _Graph(must_link, cannot_link)
    return graph.contradictions(np.flatnonzero(graph.broken))


def closed(must_link: np.ndarray, cannot_link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The given pairs, then all implied ones (the given among them), must-links and cannot-links."""
    if len(must_link) == 0:
        return must_link, cannot_link
    graph = _Graph(must_link, cannot_link)
    if graph.broken.any():
        broken = np.flatnonzero(graph.broken)
        more = "" if len(broken) == 1 else f" ({len(broken)} contradictions in all, see .contradictions())"
        raise ContradictionError(f"constraints contradict each other: {graph.contradictions(broken[:1])[0]}{more}")
    apart = np.unique(np.sort(graph.component[graph.cannot_link], axis=1), axis=0)
    sizes = np.bincount(graph.component).astype(object)  # products of Python's integers do not overflow
    pairs = sum(sizes * (sizes - 1)) // 2 + sum(sizes[apart[:, 0]] * sizes[apart[:, 1]])
    check_memory(8 * 16 * int(pairs), f"the closure, {int(pairs):,} pairs,", "use the constraints as they are")
    within = graph.objects[_pairs_within(graph.component)]
    between = graph.objects[pairs_between(graph.component, apart)]
    return np.concatenate([must_link, within]), np.concatenate([cannot_link, between])


def _adjacency(pairs: np.ndarray, n: int) -> csr_array:
    """Symmetric adjacency, neighbours in increasing order so that searches find the same chain every time."""
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
    graph = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n, n))
    graph.sort_indices()
    return graph


def _by_component(component: np.ndarray, n_components: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Objects ordered by component, and where each component starts and how many it has."""
    sizes = np.bincount(component, minlength=n_components)
    return np.argsort(component, kind="stable"), np.cumsum(sizes) - sizes, sizes


def _runs(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For runs of the given lengths laid end to end: the run of every place and its position in the run."""
    run = np.repeat(np.arange(len(lengths)), lengths)
    return run, np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _pairs_within(component: np.ndarray) -> np.ndarray:
    """(p, 2) all pairs of objects of the same component."""
    members, start, size = _by_component(component)
    place = np.arange(len(members))
    first, step = _runs((start + size)[component[members]] - place - 1)  # each with those that follow it
    return np.column_stack([members[first], members[first + 1 + step]])


def pairs_between(component: np.ndarray, components: np.ndarray, n_components: int = 0) -> np.ndarray:
    """(p, 2) all pairs of an object of the first and one of the second of two components, for (q, 2) of these."""
    members, start, size = _by_component(component, n_components)
    left, right = components.T
    run, step = _runs(size[left] * size[right])
    i = members[start[left][run] + step // size[right][run]]
    j = members[start[right][run] + step % size[right][run]]
    return np.column_stack([i, j])


# ---- which constraints a partition breaks ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Violations:
    """Every constraint with what a partition makes of it; made by `Constraints.violations`. Its length is the number
    of violated constraints, so that an obeyed set of constraints is false.

    Attributes
    ----------
    pairs : (p, 2) array
        All constraints, the must-links first.
    is_must_link : (p,) Boolean array
    violated : (p,) Boolean array
        Whether the most plausible clusters break the constraint.
    degree : (p,) array
        How far the partition admits the contrary, 0 to 1: the plausibility that the objects of a must-link are in
        different clusters, that those of a cannot-link are in the same.

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

    @classmethod
    def of(cls, must_link: np.ndarray, cannot_link: np.ndarray, credal: CredalPartition) -> Violations:
        """What a partition makes of (p, 2) pairs of both kinds."""
        pairs = np.concatenate([must_link, cannot_link])
        must = np.arange(len(pairs)) < len(must_link)
        somewhere = np.asarray(credal.contour.max(axis=1) > 0)
        i, j = pairs.T
        together = (credal.labels[i] == credal.labels[j]) & somewhere[i] & somewhere[j]
        same, different, unknown = credal.relational(pairs).masses[:, 1:].T
        degree = np.clip(np.where(must, different, same) + unknown, 0, 1)
        return cls(pairs, must, together != must, degree)

    @property
    def must_link(self) -> np.ndarray:
        """(p, 2) must-links that are put apart."""
        return self.pairs[self.violated & self.is_must_link]

    @property
    def cannot_link(self) -> np.ndarray:
        """(p, 2) cannot-links that are put together."""
        return self.pairs[self.violated & ~self.is_must_link]

    @property
    def proportion(self) -> float:
        """Share of the constraints that are violated, 0 if there are none."""
        return float(self.violated.mean()) if len(self.pairs) else 0.0

    @property
    def mean_degree(self) -> float:
        """Mean of `degree`, 0 if there are no constraints."""
        return float(self.degree.mean(dtype=float)) if len(self.pairs) else 0.0

    def to_frame(self, *, only_violated: bool = False):
        """A pandas table with a row for each constraint, or for each violated one."""
        import pandas as pd

        table = pd.DataFrame(
            {
                "i": self.pairs[:, 0],
                "j": self.pairs[:, 1],
                "constraint": np.where(self.is_must_link, "must-link", "cannot-link"),
                "violated": self.violated,
                "degree": self.degree,
            }
        )
        return table[self.violated].reset_index(drop=True) if only_violated else table

    def __len__(self) -> int:
        """Number of violated constraints."""
        return int(self.violated.sum())

    def __repr__(self) -> str:
        musts = int(self.is_must_link.sum())
        return (
            f"Violations({len(self.must_link)} of {musts} must-links put apart, {len(self.cannot_link)} of "
            f"{len(self.pairs) - musts} cannot-links put together, mean degree {self.mean_degree:.2f})"
        )


# ---- the constraints ------------------------------------------------------------------------------------------------


class Constraints:
    """Pairs of objects known to be in the same cluster (must-link) or in different ones (cannot-link).

    A value: it never changes, every operation gives a new one. Pairs are unordered; each is kept once, smaller number
    first, in the order of first appearance.

    Contradictory constraints can be held (an expert may give them) and looked at with `contradictions`. Every method
    that takes constraints refuses a pair that both must and must not link with a `ContradictionError`, and tells of
    contradictions through a chain with a `ContradictionWarning`: constraints are weighed, and need not all be met. To
    refuse these too: ``warnings.simplefilter("error", ContradictionWarning)``.

    Parameters
    ----------
    must_link, cannot_link : array-like of shape (p, 2)
        Object numbers from 0: a list of tuples, an array, a table with two columns. Either may be left out. A
        must-link of an object with itself says nothing and is dropped; a cannot-link is an error.
    n_objects : int, optional
        How many objects there are. The pairs are then checked against it, so is the number of rows in every ``fit``,
        and the constraints among some of the rows can be taken (``known[rows]``), which is what scikit-learn does in
        cross-validation. Without it scikit-learn is refused, as it would leave the numbers of the objects as they are.

    Attributes
    ----------
    must_link, cannot_link : (p, 2) int64 arrays, read-only
    n_objects : int or None
    shape : (n_objects,)
        For scikit-learn: there is something to be said of each of so many objects.

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential c-means algorithm.
    Computational Statistics and Data Analysis 56.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> known = Constraints(must_link=[(0, 3), (3, 5)], cannot_link=[(5, 1)])
    >>> known
    Constraints(2 must-link, 1 cannot-link)
    >>> known.closure().must_link.tolist(), known.closure().cannot_link.tolist()
    ([[0, 3], [3, 5], [0, 5]], [[1, 5], [0, 1], [1, 3]])
    >>> (known | Constraints(cannot_link=[(0, 5)])).contradictions()
    [0 and 5 must not link, but 0 - 3 - 5 are must-linked]
    >>> Constraints([(0, 3), (3, 5)], n_objects=6)[3:].must_link.tolist()  # among the last three, renumbered
    [[0, 2]]
    """

    __slots__ = ("_cannot_link", "_must_link", "_n_objects")

    def __init__(self, must_link: Any = (), cannot_link: Any = (), n_objects: int | None = None):
        must, cannot = checked_pairs(must_link, "must_link"), checked_pairs(cannot_link, "cannot_link")
        alone = cannot[:, 0] == cannot[:, 1]
        if alone.any():
            raise InvalidParameterError(
                "cannot_link", must=f"hold two different objects in each pair, got {_shown(cannot[alone][0])}"
            )
        self._must_link = normalised_pairs(must[must[:, 0] != must[:, 1]])
        self._cannot_link = normalised_pairs(cannot)
        self._n_objects = None if n_objects is None else checked_count(n_objects, "n_objects")
        if self._n_objects is not None:
            self.check(self._n_objects)

    # ---- other ways to make them ----------------------------------------------------------------------------------

    @classmethod
    def from_labels(cls, y: Any, n_constraints: int, random_state: Any = None) -> Self:
        """Draw pairs of labelled objects uniformly and say of each what the labels say.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of any kind; objects marked -1 are unlabelled and never drawn.
        n_constraints : int
            How many different pairs to draw. How many of them are must-links is left to chance.
        random_state : int, numpy Generator or RandomState, optional

        Examples
        --------
        >>> from dempster.constraints import Constraints
        >>> Constraints.from_labels(["a", "a", "b", "b"], 6, random_state=0)  # all there are
        Constraints(2 must-link, 4 cannot-link, 4 objects)
        """
        codes = _label_codes(y)
        labelled = np.flatnonzero(codes != UNLABELLED)
        wanted, most = checked_count(n_constraints, "n_constraints"), n_pairs_of(len(labelled))
        if wanted > most:
            raise InvalidParameterError(
                "n_constraints", f"at most {most}, the number of pairs of the {len(labelled)} labelled objects", wanted
            )
        return cls._labelled(draw_pairs(labelled, wanted, random_state), codes)

    @classmethod
    def from_partial_labels(cls, y: Any) -> Self:
        """All that labels of some of the objects say: a constraint for every pair of labelled ones (-1: unlabelled).

        That is q (q - 1) / 2 constraints for q labelled objects.
        """
        codes = _label_codes(y)
        labelled = np.flatnonzero(codes != UNLABELLED)
        pairs = n_pairs_of(len(labelled))
        advice = "draw some of them with Constraints.from_labels"
        check_memory(8 * 16 * pairs, f"all {pairs:,} pairs of {len(labelled):,} labelled objects", advice)
        return cls._labelled(all_pairs(labelled), codes)

    @classmethod
    def from_pairs(cls, pairs: Any, y: Any) -> Self:
        """Say of given pairs what the labels say, as an expert who knows the labels would answer.

        Pairs with an unlabelled object (-1) are left out.
        """
        codes = _label_codes(y)
        pairs = checked_pairs(pairs, "pairs")
        _check_range(pairs, "pairs", len(codes))
        return cls._labelled(pairs[(codes[pairs] != UNLABELLED).all(axis=1)], codes)

    @classmethod
    def _labelled(cls, pairs: np.ndarray, codes: np.ndarray) -> Self:
        same = codes[pairs[:, 0]] == codes[pairs[:, 1]]
        return cls(pairs[same], pairs[~same], n_objects=len(codes))

    # ---- reading --------------------------------------------------------------------------------------------------

    @property
    def must_link(self) -> np.ndarray:
        """(p, 2) pairs in the same cluster, read-only."""
        return self._must_link

    @property
    def cannot_link(self) -> np.ndarray:
        """(p, 2) pairs in different clusters, read-only."""
        return self._cannot_link

    @property
    def n_objects(self) -> int | None:
        """Number of objects, None if it was not given."""
        return self._n_objects

    @property
    def shape(self) -> tuple[int]:
        """Number of objects, in the form in which scikit-learn asks whether to take the rows of a fold."""
        if self._n_objects is None:
            raise InvalidInputError(
                "these constraints do not say among how many objects they hold, so those among some of the rows cannot "
                "be taken; give n_objects: Constraints(must_link, cannot_link, n_objects=len(X))"
            )
        return (self._n_objects,)

    def __getitem__(self, rows: Any) -> Constraints:
        """The constraints among some of the objects, numbered as those are.

        Parameters
        ----------
        rows : slice, Boolean mask or array of positions
            A position that comes twice is two objects, each with the constraints of the original. What follows from
            the constraints through an object that is left out is lost; `closure` keeps it.
        """
        n = self.shape[0]
        chosen = selected_rows(rows, n)
        must, cannot = (pairs_between(chosen, pairs, n) for pairs in (self._must_link, self._cannot_link))
        return Constraints(must, cannot, n_objects=len(chosen))

    __iter__ = None  # a sequence of objects to take from, not of things to go through

    def __len__(self) -> int:
        """Number of constraints of both kinds."""
        return len(self._must_link) + len(self._cannot_link)

    def __repr__(self) -> str:
        objects = "" if self._n_objects is None else f", {self._n_objects} objects"
        return f"Constraints({len(self._must_link)} must-link, {len(self._cannot_link)} cannot-link{objects})"

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Constraints) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[bytes, bytes, int | None]:
        """The same for the same pairs of as many objects, whatever their order."""
        must, cannot = (np.sort(pair_codes(pairs)).tobytes() for pairs in (self._must_link, self._cannot_link))
        return must, cannot, self._n_objects

    def __or__(self, other: object) -> Constraints:
        """All constraints of the two."""
        if not isinstance(other, Constraints):
            return NotImplemented
        sizes = {n for n in (self._n_objects, other._n_objects) if n is not None}
        if len(sizes) > 1:
            raise InvalidParameterError(
                "constraints", must=f"be about the same objects, got {shown(self)} and {other!r}"
            )
        return Constraints(
            np.concatenate([self._must_link, other._must_link]),
            np.concatenate([self._cannot_link, other._cannot_link]),
            n_objects=next(iter(sizes), None),
        )

    def __reduce__(self):
        return type(self), (self._must_link, self._cannot_link, self._n_objects)

    def check(self, n: int) -> None:
        """Raise a ValueError that names the first pair with an object number beyond n - 1, or another n_objects."""
        n = checked_count(n, "n")
        _check_range(self._must_link, "must_link", n)
        _check_range(self._cannot_link, "cannot_link", n)
        if self._n_objects is not None and self._n_objects != n:
            raise InvalidInputError(
                f"constraints are about {self._n_objects} objects, but there are {n}; take those among the rows that "
                "are used: constraints[rows]"
            )

    # ---- logic ----------------------------------------------------------------------------------------------------

    def closure(self) -> Constraints:
        """These constraints and all that follow from them.

        If a and b, and b and c, must link, so must a and c; if a and b must link and b and c must not, then neither
        must a and c. The given pairs come first. Chains of must-links through q objects have q (q - 1) / 2 pairs.

        Raises
        ------
        ContradictionError
            If the constraints contradict each other; `contradictions` shows all the places.
        """
        return Constraints(*closed(self._must_link, self._cannot_link), n_objects=self._n_objects)

    def contradictions(self) -> list[Contradiction]:
        """Cannot-links whose two objects are must-linked through a chain, each with the shortest such chain."""
        return find_contradictions(self._must_link, self._cannot_link)

    def violations(self, partition: Any) -> Violations:
        """Which constraints a partition breaks, and to what degree it speaks against each.

        Parameters
        ----------
        partition : CredalPartition or hard labels
            A must-link is violated if the most plausible clusters of its objects differ, a cannot-link if they are
            the same. An object that no cluster is plausible for (noise, -1 in hard labels) is with nobody.

        Examples
        --------
        >>> from dempster.constraints import Constraints
        >>> Constraints([(0, 1), (1, 2)], [(0, 3)]).violations([0, 0, 1, 1])
        Violations(1 of 2 must-links put apart, 0 of 1 cannot-links put together, mean degree 0.33)
        """
        credal = as_credal_partition(partition)
        self.check(len(credal))
        return Violations.of(self._must_link, self._cannot_link, credal)

    # ---- neighbours -----------------------------------------------------------------------------------------------

    def expand(
        self,
        D: Any,
        n_neighbors: int = 5,
        *,
        metric: str | Callable = "precomputed",
    ) -> Constraints:
        """Add to each constraint those of the most similar pairs of neighbours of its two objects.

        Let N(i) hold object i and its K nearest neighbours. For each given constraint (i, j), the must-links first,
        the candidates are the pairs (r, s) with r in N(i) but not in N(j), s in N(j) but not in N(i), that are not
        constrained yet; the K with the smallest d(i, r) + d(j, s) become constraints of the same kind. At most
        (K + 1) times as many constraints result. Ties go to the lowest object numbers.

        What is added is a guess: near the border of two clusters it may be wrong, and a warning tells when the
        neighbours of a must-link and of a cannot-link are the same pair (which then keeps its first kind).

        Parameters
        ----------
        D : array-like of shape (n, n) or (n, d)
            Symmetric dissimilarities, or attributes if ``metric`` is not "precomputed". Only the rows of constrained
            objects are read; nothing of size n x n is made from attributes.
        n_neighbors : int, default 5
            K. Beyond 10 nothing is gained; 0 adds nothing.
        metric : str or callable, default "precomputed"
            Any metric of `sklearn.neighbors.NearestNeighbors`, for attributes.

        References
        ----------
        F. Li, S. Li and T. Denoeux (2018). k-CEVCLUS: constrained evidential clustering of large dissimilarity data.
        Knowledge-Based Systems 142, Algorithm 2.

        Examples
        --------
        >>> from dempster.constraints import Constraints
        >>> X = [[0.0], [0.1], [0.3], [5.0], [5.2], [5.5]]
        >>> Constraints(cannot_link=[(0, 3)]).expand(X, n_neighbors=2, metric="euclidean").cannot_link.tolist()
        [[0, 3], [1, 3], [0, 4]]
        """
        k = checked_count(n_neighbors, "n_neighbors")
        objects = np.unique(np.concatenate([self._must_link, self._cannot_link]))
        near, n = neighborhoods(D, objects, k, metric, check=self.check)
        return Constraints(*expanded(self._must_link, self._cannot_link, near, k), n_objects=n)


def _check_range(pairs: np.ndarray, name: str, n: int) -> None:
    beyond = (pairs >= n).any(axis=1)
    if beyond.any():
        raise InvalidParameterError(
            name, must=f"hold object numbers below {n} (the number of objects), got {_shown(pairs[beyond][0])}"
        )


def _label_codes(y: Any) -> np.ndarray:
    """(n,) numbers of the labels; -1 where y is -1 (or "-1", which is what it becomes in an array of names)."""
    labels = as_labels(y, "y")
    if labels.dtype == object:
        numbers: dict[Any, int] = {}
        with reading_labels(y, "y"):
            for label in labels:
                numbers.setdefault(label, len(numbers))
        codes = np.array([numbers[label] for label in labels], dtype=np.int64)
        names: list = list(numbers)
    else:
        unique, codes = np.unique(labels, return_inverse=True)
        codes, names = codes.reshape(-1).astype(np.int64), unique.tolist()
    unlabelled = [k for k, name in enumerate(names) if name in (UNLABELLED, str(UNLABELLED))]
    codes[np.isin(codes, unlabelled)] = UNLABELLED
    return codes


def _shown(pair: np.ndarray) -> str:
    return f"the pair ({pair[0]}, {pair[1]})"


# ---- neighbours of constrained objects ------------------------------------------------------------------------------

Neighborhoods = dict[int, dict[int, float]]  # of each constrained object: itself and its neighbours, with distances

_TIE = 1e-9  # relative; neighbours as far as the farthest one found may have rivals that were not found
_ROWS_PER_BLOCK = 128  # of a dissimilarity matrix
_QUERIES_PER_BLOCK = 4096


def neighborhoods(
    data: Any, objects: np.ndarray, k: int, metric: str | Callable, *, check: Callable[[int], None]
) -> tuple[Neighborhoods, int]:
    """The given objects with their k nearest neighbours (ties: lowest numbers), and the number of objects.

    ``check`` is called with the number of objects as soon as it is known.
    """
    from sklearn.utils import check_array

    precomputed = isinstance(metric, str) and metric == "precomputed"
    if precomputed:
        # not converted and not looked through: it may be large, or lie in a file
        with reading(data, "D"):
            D = check_array(data, dtype="numeric", ensure_all_finite=False, input_name="D")
        if D.shape[0] != D.shape[1]:
            raise InvalidParameterError(
                "D",
                must=f"be a square dissimilarity matrix, got shape {D.shape}; give attributes with a metric, "
                'for example metric="euclidean"',
            )
        check(len(D))
        with reading(data, "D"):
            return {i: _nearest(row, i, k) for i, row in _rows_of(D, objects)}, len(D)
    with reading(data, "D"):
        X = check_array(data, dtype=float, copy=callable(metric), input_name="D")  # which might change what it is given
    check(len(X))
    try:
        return _neighborhoods_in_space(X, objects, k, metric), len(X)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"metric={shown(metric)} cannot be computed for these objects: {error}") from error


def _rows_of(D: np.ndarray, objects: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of the given objects in a dissimilarity matrix, checked; in blocks, as columns are slow to read."""
    for start in range(0, len(objects), _ROWS_PER_BLOCK):
        block = objects[start : start + _ROWS_PER_BLOCK]
        rows, columns = D[block].astype(float), D[:, block].T.astype(float)
        bad = ~np.isfinite(rows) | (rows < 0)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise InvalidParameterError(
                "D", must=f"hold finite nonnegative dissimilarities, D[{block[i]}, {j}] is {rows[i, j]:g}"
            )
        gap = np.abs(rows - columns)
        bad = ~(gap <= 1e-6 * rows + 1e-8 * rows.max())
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise InvalidParameterError(
                "D",
                must=f"be symmetric, but D[{block[i]}, {j}] is {rows[i, j]:g} and D[{j}, {block[i]}] is "
                f"{columns[i, j]:g}",
            )
        yield from zip(block.tolist(), rows, strict=True)


def _nearest(distances: np.ndarray, i: int, k: int) -> dict[int, float]:
    """Object i and its k nearest others given its distances to all."""
    others = distances.copy()
    others[i] = np.inf
    k = min(k, len(others) - 1)
    if k == 0:
        return {i: 0.0}
    near = np.flatnonzero(others <= np.partition(others, k - 1)[k - 1])
    return _chosen(i, near, others[near], k)


def _chosen(i: int, candidates: np.ndarray, distances: np.ndarray, k: int) -> dict[int, float]:
    """Object i and the k nearest candidates, ties to the lowest numbers."""
    best = np.lexsort((candidates, distances))[:k]
    return {i: 0.0} | dict(zip(candidates[best].tolist(), distances[best].tolist(), strict=True))


def _neighborhoods_in_space(X: np.ndarray, objects: np.ndarray, k: int, metric: str | Callable) -> Neighborhoods:
    from sklearn.neighbors import NearestNeighbors

    n = len(X)
    if len(objects) == 0 or k == 0:
        return {i: {i: 0.0} for i in objects.tolist()}
    if isinstance(metric, str) and metric == "euclidean":
        X = X - X.mean(axis=0)  # fast Euclidean distances lose digits far from the origin
    asked = min(n, 2 * k + 2)  # more than needed, to see ties at the border
    index = NearestNeighbors(n_neighbors=asked, metric=metric).fit(X)
    out: Neighborhoods = {}
    for start in range(0, len(objects), _QUERIES_PER_BLOCK):
        rows = objects[start : start + _QUERIES_PER_BLOCK]
        found = index.kneighbors(X[rows])
        for i, distances, candidates in zip(rows.tolist(), *found, strict=True):
            if isinstance(metric, str) and metric == "euclidean":
                distances = _euclidean(X[candidates], X[i])  # exact, so that ties are ties
            others = candidates != i
            near = _chosen(i, candidates[others], distances[others], k)
            if asked < n and max(near.values()) >= float(distances.max()) * (1 - _TIE):
                near = _nearest(_distances_from(X, i, metric), i, k)
            out[i] = near
    return out


def _distances_from(X: np.ndarray, i: int, metric: str | Callable) -> np.ndarray:
    from sklearn.metrics import pairwise_distances

    if isinstance(metric, str) and metric == "euclidean":
        return _euclidean(X, X[i])
    return pairwise_distances(X[i : i + 1], X, metric=metric)[0]


def _euclidean(X: np.ndarray, x: np.ndarray) -> np.ndarray:
    difference = X - x
    return np.sqrt(np.einsum("ij,ij->i", difference, difference))


def expanded(
    must_link: np.ndarray, cannot_link: np.ndarray, near: Neighborhoods, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Given and new must-links and cannot-links (Li, Li and Denoeux, 2018, k-CEVCLUS, Algorithm 2)."""
    kinds = [[(i, j) for i, j in pairs.tolist()] for pairs in (must_link, cannot_link)]
    known = [set(pairs) for pairs in kinds]
    clashes = known[0] & known[1]
    for kind, given in enumerate([list(pairs) for pairs in kinds]):
        for i, j in given:
            added = 0
            for _, pair in _candidates(near[i], near[j]):
                if added == k:
                    break
                if pair in known[1 - kind]:
                    clashes.add(pair)
                elif pair not in known[kind]:
                    known[kind].add(pair)
                    kinds[kind].append(pair)
                    added += 1
    if clashes:
        warnings.warn(
            f"must-links and cannot-links clash at {len(clashes)} pair(s), {min(clashes)} for example: such a pair has "
            "one kind and is a neighbour of constraints of the other, or was given as both; it stays what it was",
            stacklevel=3,
        )
    return np.array(kinds[0], dtype=np.int64).reshape(-1, 2), np.array(kinds[1], dtype=np.int64).reshape(-1, 2)


def _candidates(near_i: dict[int, float], near_j: dict[int, float]) -> list[tuple[float, tuple[int, int]]]:
    """Pairs of a neighbour of i alone and one of j alone, by cost, then by number."""
    only_j = [(s, d) for s, d in near_j.items() if s not in near_i]
    return sorted(
        (d_ir + d_js, (r, s) if r < s else (s, r))
        for r, d_ir in near_i.items()
        if r not in near_j
        for s, d_js in only_j
    )


# ---- for methods and compiled code ----------------------------------------------------------------------------------


def links(constraints: Constraints | None, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Symmetric sparse adjacency of the constraints, as plain arrays for compiled code.

    The objects linked to object i are ``indices[indptr[i]:indptr[i + 1]]``, in increasing order, with ``sign`` +1 for
    must-links and -1 for cannot-links.

    Parameters
    ----------
    constraints : Constraints or None
    n : int
        Number of objects.

    Returns
    -------
    indptr : (n + 1,) int64
    indices : (2 * len(constraints),) int32
    sign : (2 * len(constraints),) float64

    Examples
    --------
    >>> from dempster.constraints import Constraints, links
    >>> links(Constraints(must_link=[(0, 2)], cannot_link=[(1, 2)]), 3)
    (array([0, 1, 2, 4]), array([2, 2, 0, 1], dtype=int32), array([ 1., -1.,  1., -1.]))
    """
    constraints = Constraints() if constraints is None else constraints
    if not isinstance(constraints, Constraints):
        raise InvalidParameterError("constraints", "a Constraints object or None", constraints)
    constraints.check(n)
    check_memory(8 * n, f"the links of n={n:,} objects", "give the number of objects that there are")
    must, cannot = constraints.must_link, constraints.cannot_link
    both = np.intersect1d(pair_codes(must), pair_codes(cannot))
    if both.size:
        pair = must[pair_codes(must) == both[0]][0].tolist()
        raise ContradictionError(f"constraints contradict each other: {pair[0]} and {pair[1]} must and must not link")
    sign = np.repeat([1.0, -1.0], [len(must), len(cannot)])
    return symmetric_pairs(n, np.concatenate([must, cannot]), sign)[:3]


def checked_constraints(constraints: Any, n: int, *, stacklevel: int = 5) -> Constraints:
    """Constraints between n objects, none if None: the one rule for all methods.

    A pair that both must and must not link is an error, as it can only be a mistake. A contradiction through a chain is
    a warning: answers of experts are noisy and `Constraints.expand` guesses, which the methods are made for, as they
    weigh constraints and none of them must hold.
    """
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise InvalidParameterError("constraints", "a Constraints object", constraints)
    constraints.check(n)
    contradictions = constraints.contradictions()
    direct = [c for c in contradictions if len(c.chain) == 2]
    if direct:
        raise ContradictionError(f"constraints contradict each other: {direct[0]!r}")
    if contradictions:
        warnings.warn(
            f"constraints contradict each other in {len(contradictions)} places, so they cannot all be met: "
            f"{contradictions[0]!r}",
            ContradictionWarning,
            stacklevel=stacklevel,
        )
    return constraints
