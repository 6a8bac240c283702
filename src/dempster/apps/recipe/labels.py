"""Read labels of rows from a column of the table or from another file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count
from dempster._types import ArrayLike, Seed
from dempster._validation import as_labels, check, kind, validating_labels
from dempster.apps.recipe.attributes import check_table
from dempster.constraints import Constraints
from dempster.io.atomic import as_file, as_path
from dempster.io.numbers import looks_like_number
from dempster.io.tables import (
    check_columns_exist,
    read_names,
    read_quietly,
    table_suffixes,
)
from dempster.io.text import open_text

UNLABELLED = -1
# Fewer labels may all be different, such as one known object of each class.
_FEW_LABELS = 20
# maximum number of labeled objects for which every pair is a constraint
_MAX_ALL_PAIRS = 300
_MAX_CONSTRAINTS = 50_000  # number of random pairs if there are more labeled objects


def is_file_name(source: str) -> bool:
    """Return whether a name has the extension of a table, so that it denotes a file."""
    return Path(source).suffix.lower() in table_suffixes()


def read_labels(source: str | os.PathLike[str], table: pd.DataFrame) -> pd.Series:
    """Read the labels of the rows of a table.

    Parameters
    ----------
    source : str or path
        Name of a column, or a file with the extension of a table, such as ``.csv``. The file has
        either one column with the labels of all rows in their order, or two columns with names of
        rows and labels. Empty cells are unknown labels.
    table : DataFrame
        Table whose rows are labeled.

    Returns
    -------
    Series
        Labels with the index of the table; unknown labels are missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import read_labels
    >>> table = pd.DataFrame({"height": [1, 2], "kind": ["tree", None]})
    >>> read_labels("kind", table).notna().tolist()
    [True, False]
    """
    return find_labels("source", source, table)


def find_labels(
    name: str, source: str | os.PathLike[str], table: pd.DataFrame
) -> pd.Series:
    """Read labels like `read_labels`; ``name`` is the name of the argument in error messages."""
    check_table(table)
    path = as_path(source, name)
    column = os.fspath(source)
    if not is_file_name(column):
        check_columns_exist(table, name, [column])
        return _restore_integers(table[column])
    content = read_quietly(as_file(path), header=_has_header(path, table))
    if content.shape[1] == 1 and isinstance(content.index, pd.RangeIndex):
        content = _restore_empty_lines(path, content, len(table))
        if len(content) != len(table):
            rows = format_count(len(table), "row")
            raise InvalidInputError(
                f"{path.name} must have one label for each of the {rows}, got {len(content):,}; "
                "or two columns, names of rows and labels"
            )
        return _restore_integers(
            pd.Series(content.iloc[:, 0].to_numpy(), index=table.index)
        )
    if content.shape[1] not in (1, 2):
        raise InvalidInputError(
            f"{path.name} must have one column of labels, or two columns, names and labels; "
            f"got {content.shape[1]}"
        )
    names = list(map(str, content.index))
    if content.shape[1] == 2:
        names = read_names(path, content, [0])[0]
    by_name = dict(zip(names, _restore_integers(content.iloc[:, -1]), strict=True))
    if len(by_name) < len(names):
        raise InvalidInputError(f"{path.name} must name each row once")
    unknown = set(by_name) - set(map(str, table.index))
    if unknown:
        raise InvalidInputError(f"{path.name}: the table has no row {min(unknown)!r}")
    cells = [by_name.get(str(name)) for name in table.index]
    return pd.Series(cells, index=table.index, dtype=object)


def _has_header(path: Path, table: pd.DataFrame) -> bool | None:
    """Return whether the first line of a file of labels is a header, or None to detect it.

    The line is not a header if it contains the name of a row of the table. It is not a header
    either if its label occurs again and the file would otherwise have fewer labels than the table
    has rows.
    """
    try:
        content = read_quietly(path, header=False)
    except ValueError:
        return None  # The caller reads the file again and raises the error.
    n_columns = content.shape[1]
    if content.attrs.get("header") is None or not len(content) or n_columns > 2:
        return None
    rows = [list(map(str, row)) for row in content.itertuples(index=False)]
    if n_columns == 2 and rows[0][0] in set(map(str, table.index)):
        return False
    is_repeated = rows[0][-1] in {row[-1] for row in rows[1:]}
    if is_repeated and n_columns == 1 and len(rows) == len(table):
        return False
    if is_repeated and not any(map(looks_like_number, rows[0])):
        return True
    return None


def _restore_empty_lines(path: Path, labels: pd.DataFrame, n_rows: int) -> pd.DataFrame:
    """Insert a missing label for each empty line if the file then has one label for each row."""
    if (
        len(labels) >= n_rows
        or "header" not in labels.attrs
        or path.suffix.lower() == ".xlsx"
    ):
        return labels
    with open_text(path) as file:
        lines = file.read().strip("\r\n").splitlines()[int(labels.attrs["header"]) :]
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(lines) != n_rows or len(filled) != len(labels):
        return labels
    return labels.set_axis(filled).reindex(range(n_rows))


def _restore_integers(labels: pd.Series) -> pd.Series:
    """Convert labels that became floats because of missing labels back to integers."""
    if (
        labels.dtype.kind != "f"
        or not labels.isna().any()
        or not (labels.dropna() % 1 == 0).all()
    ):
        return labels
    return labels.astype("Int64").astype(object).where(labels.notna(), None)


def check_repeated(name: str, labels: pd.Series) -> None:
    """Raise an error if most of the known labels are different, so that they are no classes.

    ``name`` is the name of the argument in the message.
    """
    n_known = int(labels.notna().sum())
    n_different = labels.nunique()
    if n_known > _FEW_LABELS and 2 * n_different > n_known:
        found = f"{n_different:,} of {n_known:,} known labels are different"
        advice = "use a column whose values occur in several rows"
        raise InvalidParameterError(name, message=f"{name}: {found}; {advice}")


def encode_labels(labels: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Encode labels as integers.

    Parameters
    ----------
    labels : pandas Series
        Labels of types that can be sorted. Unknown labels are missing values.

    Returns
    -------
    codes : (n,) int array
        Code 0, 1, ... of each label, or -1 for unknown labels.
    names : list
        Label of each code.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import encode_labels
    >>> encode_labels(pd.Series(["oak", None, "elm"]))
    (array([ 1, -1,  0]), ['elm', 'oak'])
    """
    check(labels, "labels", kind(pd.Series, words="a pandas Series"))
    with validating_labels(labels, "labels"):
        # The code of missing values is -1.
        codes, names = pd.factorize(labels, sort=True)
    return codes.astype(np.int64), list(names)


def constraints_from_labels(y: ArrayLike, random_state: Seed = 0) -> Constraints:
    """Return must-link and cannot-link constraints between labeled objects.

    All pairs are used if at most 300 objects are labeled, otherwise at most 50,000 pairs drawn at
    random.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, with -1 for unknown labels.
    random_state : int, RandomState, Generator or None, default=0
        Random numbers for the selection of pairs.

    Returns
    -------
    Constraints

    Examples
    --------
    >>> from dempster.apps.recipe import constraints_from_labels
    >>> constraints_from_labels([0, 0, 1, -1])
    Constraints(1 must-link, 2 cannot-link, 4 objects)
    """
    n_labeled = int(np.count_nonzero(as_labels(y, "y") != UNLABELLED))
    if n_labeled <= _MAX_ALL_PAIRS:
        return Constraints.from_partial_labels(y)
    n_pairs = min(_MAX_CONSTRAINTS, n_labeled * (n_labeled - 1) // 2)
    return Constraints.from_labels(y, n_pairs, random_state)
