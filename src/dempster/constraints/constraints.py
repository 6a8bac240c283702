"""Must-link and cannot-link constraints as a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_labels, check_memory, reading_labels, shown
from dempster.constraints._pairs import (
    all_pairs,
    checked_count,
    checked_pairs,
    draw_pairs,
    n_pairs_of,
    normalised_pairs,
    pair_codes,
    selected_rows,
)
from dempster.constraints.closure import Contradiction, closed, find_contradictions, pairs_between
from dempster.constraints.violations import Violations
from dempster.partition.credal_partition import as_credal_partition

__all__ = ["Constraints"]

UNLABELLED = -1


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
            raise InvalidInputError(
                f"cannot_link must hold two different objects in each pair, got {_shown(cannot[alone][0])}"
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
            raise InvalidInputError(
                f"n_constraints must be at most {most}, the number of pairs of the {len(labelled)} labelled objects, "
                f"got {wanted}"
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
            raise InvalidInputError(f"constraints must be about the same objects, got {shown(self)} and {other!r}")
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
        from dempster.constraints.expansion import expanded, neighborhoods  # needs scikit-learn

        k = checked_count(n_neighbors, "n_neighbors")
        objects = np.unique(np.concatenate([self._must_link, self._cannot_link]))
        near, n = neighborhoods(D, objects, k, metric, check=self.check)
        return Constraints(*expanded(self._must_link, self._cannot_link, near, k), n_objects=n)


def _check_range(pairs: np.ndarray, name: str, n: int) -> None:
    beyond = (pairs >= n).any(axis=1)
    if beyond.any():
        raise InvalidInputError(
            f"{name} must hold object numbers below {n} (the number of objects), got {_shown(pairs[beyond][0])}"
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
