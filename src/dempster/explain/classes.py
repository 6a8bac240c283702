"""Known classes beside the clusters of a partition: read, checked, and matched with them."""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import ArrayLike
from dempster._validation import as_labels, object_index, order_of_names
from dempster.partition import CredalPartition

__all__ = ["checked_classes", "numbered", "shared_objects", "one_to_one", "cluster_of_class", "class_of_cluster"]


def checked_classes(y: ArrayLike, partition: CredalPartition) -> np.ndarray:
    """(n,) classes of the objects of a partition, in their order: by their names if both have some."""
    classes = as_labels(y, "y")
    if classes.shape != (len(partition),) or len(partition) == 0:
        raise InvalidInputError(f"y must hold the classes of {len(partition)} objects, got shape {classes.shape}")
    order = order_of_names(object_index(y), partition.index)
    return classes if order is None else classes[order]


def numbered(classes: np.ndarray) -> tuple[list, np.ndarray]:
    """The different classes in order, and the number of each object's."""
    try:
        names, codes = np.unique(classes, return_inverse=True)
    except TypeError as error:
        raise InvalidInputError(f"y must hold classes of one kind, names or numbers: {error}") from error
    return names.tolist(), codes


def shared_objects(a: np.ndarray, b: np.ndarray, n_a: int | None = None, n_b: int | None = None) -> np.ndarray:
    """(n_a, n_b) how many objects have each pair of numbers; objects with a negative number count nowhere."""
    known = (a >= 0) & (b >= 0)
    n_a = int(a.max(initial=-1)) + 1 if n_a is None else n_a
    n_b = int(b.max(initial=-1)) + 1 if n_b is None else n_b
    return np.bincount(a[known] * n_b + b[known], minlength=n_a * n_b).reshape(n_a, n_b)


def one_to_one(shared: np.ndarray) -> np.ndarray:
    """The column that stands for each row, -1 for none: as many objects as possible agree (Kuhn, 1955)."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(shared, maximize=True)
    partner = np.full(len(shared), -1)
    partner[rows] = columns
    return partner


def cluster_of_class(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The cluster that stands for each class, -1 for none, matched one to one; both are numbers from 0."""
    return one_to_one(shared_objects(classes, labels))


def class_of_cluster(shared: np.ndarray, rule: str) -> np.ndarray:
    """The class that each cluster stands for, -1 for none, from the (clusters, classes) numbers of shared objects.

    ``"one_to_one"``: no two clusters for a class. ``"majority"``: the class of most of its objects, the first on ties.
    """
    if rule == "one_to_one":
        return one_to_one(shared)
    return np.where(shared.any(axis=1), shared.argmax(axis=1), -1)
