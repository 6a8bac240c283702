"""List the objects with the largest doubt, for a person who checks them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rule
from dempster._types import TableLike
from dempster.dissimilarity.views import joined_views
from dempster.explain.inputs import resolve_input, row_names, select_rows
from dempster.explain.scores import doubt_scores
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

_DOUBT_DIGITS = 4


def list_doubtful(partition: CredalPartition, X: TableLike, n: int) -> pd.DataFrame:
    """Return the table of `CredalPartition.review`."""
    import pandas as pd

    rule.check(n, "n", rule.integer(1))
    partition = partition.to_numpy()
    doubt = doubt_scores(partition)
    first = np.argsort(-doubt, kind="stable")[:n]
    index = partition.index
    columns: Any = None
    if X is not None:
        X = resolve_input(partition).align_table(joined_views(X), "X")
        index = index if index is not None else row_names(X)
        rows = select_rows(X, first)
        if hasattr(rows, "iloc"):
            columns = rows.reset_index(drop=True)
        else:
            cells = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
            names = rule.column_names(X) or rule.default_feature_names(cells.shape[1])
            columns = pd.DataFrame(cells, columns=names)
    if index is None:
        index = pd.RangeIndex(len(partition), name="row")
    table = describe_assignments(partition[first], doubt[first])
    rows = np.arange(len(first))
    if columns is not None:
        table = join_columns(table, columns, rows)
    empty = pd.DataFrame("", rows, ["decision", "note"])
    return join_columns(table, empty, rows).set_index(pd.Index(index)[first])


def describe_assignments(
    partition: CredalPartition, doubt: np.ndarray | None = None
) -> pd.DataFrame:
    """Return the cluster, the set of possible clusters and the doubt of each object as a table."""
    import pandas as pd

    if doubt is None:
        doubt = doubt_scores(partition)
    return pd.DataFrame(
        {
            "cluster": [str(partition.frame[k]) for k in partition.labels],
            "possible clusters": describe_sets(partition, partition.frame),
            "doubt": doubt.round(_DOUBT_DIGITS),
        }
    )


def describe_sets(
    partition: CredalPartition,
    names: Sequence[Hashable],
    order: Sequence[Hashable] = (),
) -> np.ndarray:
    """Return the names of the clusters in the set of each object, such as "0 or 2".

    ``order`` is the order of the names, by default that of the clusters.
    """
    texts = []
    for clusters in partition.focal_sets:
        members = {names[k] for k in clusters}
        ordered = [str(name) for name in order or names if name in members]
        texts.append(" or ".join(ordered) or "outlier")
    return np.array(texts, object)[partition.best_set]


def join_columns(
    table: pd.DataFrame, more: pd.DataFrame, rows: np.ndarray
) -> pd.DataFrame:
    """Return a table with more columns, which are empty except for some rows.

    Their names get underscores if the table has columns with these names.
    """
    joined = table.copy()
    for name in more:
        cells = more[name].set_axis(rows).reindex(range(len(table))).to_numpy()
        joined[_new_name(name, joined.columns)] = cells
    return joined


def _new_name(name: Hashable, taken: Collection[Hashable]) -> Hashable:
    while name in taken:
        name = f"{name}_"
    return name
