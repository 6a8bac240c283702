"""What the learners know: labels of some objects, or pairs said to be alike or different."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from dempster._errors import InvalidInputError
from dempster._validation import is_missing, object_index, ordered_like, plain_text, reading_labels, shown
from dempster.constraints import Constraints
from dempster.constraints.constraints import checked_constraints

__all__ = ["Classes", "Pairs", "known_classes", "known_pairs", "labels_for"]

UNLABELLED = -1


class Classes(NamedTuple):
    """The labelled objects: their positions, their classes as numbers 0..c-1, and the names of the classes."""

    positions: np.ndarray
    codes: np.ndarray
    names: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))


class Pairs(NamedTuple):
    """(N, 2) positions of the two objects of each pair, and +1 for a must-link, -1 for a cannot-link."""

    ends: np.ndarray
    signs: np.ndarray

    def differences(self, data: np.ndarray, sign: int) -> np.ndarray:
        """Difference vectors of the pairs of one kind."""
        first, second = self.ends[self.signs == sign].T
        return data[first] - data[second]


def labels_for(X: Any, y: Any) -> Any:
    """The labels in the order of the objects, where both are pandas tables with the same names."""
    return ordered_like(y, object_index(X))


def known_classes(learner: str, data: np.ndarray, y: Any, constraints: Any = None) -> Classes:
    """The classes that labels give, for a method that learns from labels alone."""
    if constraints is not None or isinstance(y, Constraints):
        raise InvalidInputError(
            f"{learner} learns from labels, fit(X, y), not from constraints; "
            "PCCA, KPCCA, MMC and DMLEig learn from constraints"
        )
    if y is None:
        raise InvalidInputError(
            f"{learner} requires y to be passed, but the target y is None; mark unlabelled objects by -1"
        )
    return _classes(data, y)


def known_pairs(
    learner: str, data: np.ndarray, y: Any, constraints: Any, max_pairs: int, rng: np.random.Generator
) -> Pairs:
    """The pairs that constraints hold, or that labels imply: all of them up to ``max_pairs``, else a random sample.

    Sorted, so that a result never hangs on the order in which the pairs were given.
    """
    if isinstance(y, Constraints):
        raise InvalidInputError("y must hold labels, got Constraints; pass them by name: fit(X, constraints=...)")
    if constraints is None:
        if y is None:
            raise InvalidInputError(
                f"{learner} requires y to be passed, but the target y is None, and so is constraints; "
                "give labels, fit(X, y), or pairs, fit(X, constraints=Constraints(must_link, cannot_link))"
            )
        constraints = _implied(_classes(data, y), len(data), max_pairs, rng)
    elif y is not None:
        raise InvalidInputError("y and constraints must not both be given: labels imply pairs of their own")
    constraints = checked_constraints(constraints, len(data))
    if len(constraints) == 0:
        raise InvalidInputError(
            f"constraints must hold at least one pair for {learner} to learn from, got {shown(constraints)}"
        )
    must, cannot = (ends[np.lexsort(ends.T[::-1])] for ends in (constraints.must_link, constraints.cannot_link))
    return Pairs(np.concatenate([must, cannot]), np.repeat([1.0, -1.0], [len(must), len(cannot)]))


def _implied(classes: Classes, n: int, max_pairs: int, rng: np.random.Generator) -> Constraints:
    y = np.full(n, UNLABELLED)
    y[classes.positions] = classes.codes
    labelled = len(classes.positions)
    if labelled * (labelled - 1) // 2 <= max_pairs:
        return Constraints.from_partial_labels(y)
    return Constraints.from_labels(y, max_pairs, random_state=rng)


def _classes(data: np.ndarray, y: Any) -> Classes:
    with reading_labels(y, "y"):
        labels = column_or_1d(plain_text(y), warn=True)
        check_consistent_length(data, labels)
    if labels.dtype.kind == "V":
        raise InvalidInputError(f"y must hold one label for each object, got records ({labels.dtype})")
    if any(map(is_missing, labels.tolist())):
        raise InvalidInputError("y must hold labels without missing values; mark unlabelled objects by -1")
    # an array of names turns -1 into "-1"
    unlabelled = labels == str(UNLABELLED) if labels.dtype.kind == "U" else labels == UNLABELLED
    if labels.dtype == object:
        unlabelled = unlabelled | (labels == str(UNLABELLED))
    positions = np.flatnonzero(~unlabelled)
    known = labels[positions]
    with reading_labels(y, "y"):
        if len(known):
            check_classification_targets(known)
        names, codes = np.unique(known, return_inverse=True)
    if len(names) < 2:
        raise InvalidInputError(
            f"y must hold at least two classes besides the unlabelled objects (-1), got {len(names)} class"
            f"{'' if len(names) == 1 else 'es'} and {len(labels) - len(known)} unlabelled"
        )
    return Classes(positions, codes.reshape(-1), names)
