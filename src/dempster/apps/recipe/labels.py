"""Labels of some objects, from a column or from a file of their own."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count, quote_names
from dempster._types import ArrayLike, Seed
from dempster._validation import as_labels, reading_labels
from dempster.apps.recipe.attributes import check_table
from dempster.io.atomic import as_file, as_path
from dempster.io.numbers import looks_like_number
from dempster.io.tables import read_names, read_quietly
from dempster.io.text import open_text

if TYPE_CHECKING:
    import pandas as pd

    from dempster.constraints import Constraints


UNLABELLED = -1
_MAX_ALL_PAIRS = 300  # labelled objects up to which every pair of them is a constraint
_MAX_CONSTRAINTS = 50_000  # drawn at random beyond
_TABLES = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".feather", ".xlsx")


def is_file_name(source: str) -> bool:
    """Whether labels come from a file, not from a column: the name ends as that of a table does."""
    return Path(source).suffix.lower() in _TABLES


def read_labels(source: str | os.PathLike[str], table: pd.DataFrame) -> pd.Series:
    """Labels of the rows of a table.

    Parameters
    ----------
    source : str or path
        A column of the table or, if the name ends as that of a table does (``.csv``), a file: a table with one column,
        a label for each row in the same order, or with two, the names of rows and their labels. Empty cells mean that
        the label is not known.
    table : DataFrame

    Returns
    -------
    Series
        With the index of the table; missing where nothing is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import read_labels
    >>> read_labels("kind", pd.DataFrame({"height": [1, 2], "kind": ["tree", None]})).notna().tolist()
    [True, False]
    """
    return find_labels("source", source, table)


def find_labels(name: str, source: str | os.PathLike[str], table: pd.DataFrame) -> pd.Series:
    """Read labels as `read_labels` does, for an argument that the caller has under another name."""
    import pandas as pd

    check_table(table)
    path = as_path(source, name)
    check_labels(name, source, table)
    if not is_file_name(os.fspath(source)):
        return _restore_integers(table[os.fspath(source)])
    found = read_quietly(as_file(path), header=_has_header(path, table))
    if found.shape[1] == 1 and isinstance(found.index, pd.RangeIndex):
        found = _with_empty_lines(path, found, len(table))
        if len(found) != len(table):
            raise InvalidInputError(
                f"{path.name} must have a label for each of the {format_count(len(table), 'row')}, got {len(found):,}; "
                "or two columns, names of rows and labels"
            )
        return _restore_integers(pd.Series(found.iloc[:, 0].to_numpy(), index=table.index))
    names = list(map(str, found.index))
    if found.shape[1] == 2:
        names = read_names(path, found, [0])[0]
    elif found.shape[1] != 1:
        raise InvalidInputError(
            f"{path.name} must have one column, labels, or two, names and labels; got {found.shape[1]}"
        )
    by_name = dict(zip(names, _restore_integers(found.iloc[:, -1]), strict=True))
    if len(by_name) < len(names):
        often = Counter(names).most_common(1)[0][0]
        raise InvalidInputError(f"{path.name} must name each row once, got {often!r} several times")
    strange = set(by_name) - set(map(str, table.index))
    if strange:
        raise InvalidInputError(f"{path.name}: there is no row {min(strange)!r} in the table")
    cells = [by_name.get(str(name)) for name in table.index]
    return pd.Series(cells, index=table.index, dtype=object)


def _has_header(path: Path, table: pd.DataFrame) -> bool | None:
    """Whether the first line of a file is a header: not if it is a row that is named as the table's are, or a label
    without which there are too few, and that occurs below; None if the file shows it otherwise."""
    try:
        found = read_quietly(path, header=False)
    except ValueError:
        return None  # the reader will say what is wrong with it
    if found.attrs.get("header") is None or not len(found) or found.shape[1] > 2:
        return None
    rows = [list(map(str, row)) for row in found.itertuples(index=False)]
    if found.shape[1] == 2 and rows[0][0] in set(map(str, table.index)):
        return False
    again = rows[0][-1] in {row[-1] for row in rows[1:]}
    if again and found.shape[1] == 1 and len(rows) == len(table):
        return False
    return True if again and not any(map(looks_like_number, rows[0])) else None


def _with_empty_lines(path: Path, found: pd.DataFrame, n_rows: int) -> pd.DataFrame:
    """Labels in a single column, with those that are empty lines in the file, if they are as many as the rows then."""
    if len(found) >= n_rows or "header" not in found.attrs or path.suffix.lower() == ".xlsx":
        return found
    with open_text(path) as file:
        lines = file.read().strip("\r\n").splitlines()[int(found.attrs["header"]) :]
    filled = [place for place, line in enumerate(lines) if line.strip()]
    if len(lines) != n_rows or len(filled) != len(found):
        return found
    return found.set_axis(filled).reindex(range(n_rows))


def check_labels(name: str, source: str | os.PathLike[str], table: pd.DataFrame) -> None:
    """Refuse labels of a column that the table does not have."""
    column = os.fspath(source)
    if not is_file_name(column) and column not in table.columns:
        there = (
            f"there are {quote_names(table.columns, 20)}"
            if len(table.columns)
            else "labels need a file of their own here"
        )
        raise InvalidParameterError(name, message=f"{name}: there is no column {column!r}; {there}")


def _restore_integers(labels: pd.Series) -> pd.Series:
    """Whole numbers that became 1.0, 2.0 beside empty cells are 1, 2 again."""
    if labels.dtype.kind != "f" or not labels.isna().any() or not (labels.dropna() % 1 == 0).all():
        return labels
    return labels.astype("Int64").astype(object).where(labels.notna(), None)


def encode_labels(labels: pd.Series) -> tuple[np.ndarray, list[Any]]:
    """Labels as 0, 1, ... (-1 where nothing is known), and what these stand for.

    Parameters
    ----------
    labels : pandas Series
        Anything that can be sorted; missing where nothing is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import encode_labels
    >>> encode_labels(pd.Series(["oak", None, "elm"]))
    (array([ 1, -1,  0]), ['elm', 'oak'])
    """
    import pandas as pd

    if not isinstance(labels, pd.Series):
        message = f"labels must be a Series of pandas, got {type(labels).__name__}"
        raise InvalidParameterError("labels", message=message)
    with reading_labels(labels, "labels"):
        codes, names = pd.factorize(labels, sort=True)
    return np.where(codes < 0, UNLABELLED, codes).astype(np.int64), list(names)


def constraints_from_labels(y: ArrayLike, random_state: Seed = 0) -> Constraints:
    """What labels of some objects say of pairs: of all, or of many drawn at random where they are too many.

    Parameters
    ----------
    y : array-like of shape (n,)
        -1 where nothing is known.
    random_state : int, RandomState, Generator or None, default=0

    Examples
    --------
    >>> from dempster.apps.recipe import constraints_from_labels
    >>> constraints_from_labels([0, 0, 1, -1])
    Constraints(1 must-link, 2 cannot-link, 4 objects)
    """
    from dempster.constraints import Constraints  # with scipy, which help and completion do without

    labelled = int(np.count_nonzero(as_labels(y, "y") != UNLABELLED))
    if labelled <= _MAX_ALL_PAIRS:
        return Constraints.from_partial_labels(y)
    return Constraints.from_labels(y, min(_MAX_CONSTRAINTS, labelled * (labelled - 1) // 2), random_state)
