"""What is explained: a partition and the attributes of its objects, matched row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import to_host, with_shape
from dempster._errors import InvalidInputError
from dempster._validation import numbered_attributes, object_index, order_of_names, reading_labels, reading_table
from dempster.dissimilarity.columns import Column, read_columns
from dempster.dissimilarity.views import joined_views, split_views
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import as_credal_partition

__all__ = ["matched_partition", "partition_of", "read_attributes", "joined_attributes"]


def joined_attributes(X: Any, partition: Any = None, name: str = "partition") -> Any:
    """Attributes of several views as one table, anything else as it is; dissimilarities that an estimator was fitted
    to are refused, which would be taken for attributes."""
    from sklearn.utils import get_tags

    joined = joined_views(with_shape(X))
    if hasattr(partition, "fit") and hasattr(partition, "__sklearn_tags__"):
        n, tables = len(partition_of(partition, name)), (split_views(X) or ([], [X]))[1]
        if get_tags(partition).input_tags.pairwise and all(np.shape(table) == (n, n) for table in tables):
            raise InvalidInputError(
                "X must hold attributes of the objects, any that are known, but it has the shape of the "
                f"dissimilarities that {type(partition).__name__} was fitted to"
            )
    return joined


def partition_of(partition: Any, name: str = "partition") -> CredalPartition:
    """The partition itself, that of a fitted estimator, or one made of labels; ``name`` is that of the argument."""
    if hasattr(partition, "fit") and not isinstance(partition, type):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(partition)
        while hasattr(partition, "steps"):  # a pipeline: its last step has clustered
            partition = partition.steps[-1][1]
        found = getattr(partition, "credal_partition_", None)
        if found is None:
            found = getattr(partition, "labels_", None)
        if found is None:
            raise InvalidInputError(
                f"{name} must be a CredalPartition, an estimator that has one, or labels, got "
                f"{type(partition).__name__} without credal_partition_ or labels_"
            )
        partition = found
    elif not hasattr(partition, "focal_sets"):
        with reading_labels(partition, name):
            labels = np.asarray(partition)
        if labels.ndim != 1:
            raise InvalidInputError(
                f"{name} must be a CredalPartition, an estimator that has one, or a sequence of labels, got "
                f"{type(partition).__name__} of shape {labels.shape}; masses need their sets: "
                "CredalPartition(masses, focal_sets)"
            )
        partition = partition if hasattr(partition, "iloc") else labels  # a column has names
    return as_credal_partition(partition, name)


def matched_partition(partition: Any, X: Any, n_rows: int, name: str = "partition") -> CredalPartition:
    """The partition with its objects in the order of the rows of X, by their names where both have some."""
    credal = partition_of(partition, name)
    if len(credal) != n_rows:
        raise InvalidInputError(
            f"X must have a row for each of the {len(credal)} objects of the partition, got {n_rows} rows; the "
            "partition of other objects is estimator.predict_mass(X)"
        )
    order = order_of_names(credal.index, object_index(X))
    return credal if order is None else credal[order]


def read_attributes(X: Any, *, dates: bool = False) -> list[Column]:
    """The columns of a table of any kind; those of an array are called attribute 1, attribute 2, ..."""
    from scipy.sparse import issparse

    if issparse(X):
        raise InvalidInputError("X must be a dense table, got a sparse matrix; use X.toarray(), or fewer columns")
    with reading_table(X, "X"):
        return _attributes(X, dates)


def _attributes(X: Any, dates: bool) -> list[Column]:
    if hasattr(X, "collect"):
        X = X.collect()  # lazily evaluated
    if hasattr(X, "to_frame") and not hasattr(X, "columns"):
        X = X.to_frame()  # a series
    named = hasattr(X, "columns")
    if named:
        names = [str(name) for name in X.columns]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise InvalidInputError(
                f"X must have different names of columns, got {', '.join(map(repr, twice))} more than once"
            )
    else:
        X = X if isinstance(X, list | tuple) else np.asarray(to_host(X))
        shape = np.shape(X)
        if len(shape) != 2:
            raise InvalidInputError(
                f"X must have two dimensions, objects and attributes, got shape {shape}. Reshape your data: "
                "X.reshape(-1, 1) is one attribute"
            )
        if np.iscomplexobj(X):
            raise InvalidInputError("Complex data not supported: X must hold real numbers, text or categories")
        names = numbered_attributes(shape[1])
    for number, what in zip(np.shape(X), ("sample(s)", "feature(s)"), strict=True):
        if number == 0:
            raise InvalidInputError(f"X has 0 {what} (shape={tuple(np.shape(X))}) while a minimum of 1 is required.")
    columns = read_columns(X, dates=dates).values()
    return [Column(name, column.series, column.described) for name, column in zip(names, columns, strict=True)]
