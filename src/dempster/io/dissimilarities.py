"""Read a matrix of dissimilarities from the usual kinds of file."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.io.atomic import as_file
from dempster.io.failures import failure_in_words
from dempster.io.tables import check_reading, file_kind, natural_index, read_quietly
from dempster.io.written.delimited import sniff
from dempster.io.written.marks import looks_like_number
from dempster.io.written.text import open_text
from dempster.io.written.triangles import read_triangle

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_dissimilarities"]

_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "table",
    ".pq": "table",
    ".feather": "table",
    ".npy": "table",
    ".npz": "sparse",
    ".mtx": "market",
}


def read_dissimilarities(
    path: str | os.PathLike[str],
    *,
    index_col: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Any:
    """Read a square matrix of dissimilarities; the extension tells the kind of file.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.parquet``, ``.feather``, ``.npy``, MatrixMarket (``.mtx``), or
        a sparse matrix of SciPy (``.npz``). A text file may name the objects in its first line, its first column or
        both. All cells above the diagonal may be empty or left out, or all below, and so may the diagonal be.
    index_col : str, optional
        The column that names the objects, if it has a heading.
    header, delimiter, decimal : optional
        Of a text file, as in `read_table`.

    Returns
    -------
    DataFrame or sparse matrix
        A table whose rows and columns bear the names of the objects, or a sparse matrix of SciPy where only some pairs
        are given.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It holds no square matrix of numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.io import read_dissimilarities
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "towns.csv"
    ...     _ = path.write_text(",Lille,Paris,Lyon\\nLille,0,225,690\\nParis,225,0,465\\nLyon,690,465,0\\n")
    ...     read_dissimilarities(path)
           Lille  Paris   Lyon
    Lille    0.0  225.0  690.0
    Paris  225.0    0.0  465.0
    Lyon   690.0  465.0    0.0
    """
    path = as_file(path)
    check_reading(index_col, header, delimiter, decimal)
    kind = file_kind(path, _KINDS)
    if kind in ("market", "sparse"):
        with failure_in_words(path):
            return _whole_or_sparse(_read_market(path) if kind == "market" else _read_sparse(path), path)
    if kind == "text" and index_col is None:
        with failure_in_words(path):
            triangle = read_triangle(path, header, delimiter, decimal)
        if triangle is not None:
            return _named(triangle.values, triangle.names)
    if kind == "text" and header is None:
        with failure_in_words(path):
            header = _has_header(path, delimiter, decimal)
    options: dict[str, Any] = {"header": header, "delimiter": delimiter, "decimal": decimal}
    table = read_quietly(path, index_col=index_col, **options)
    if index_col is None and _begins_with_names(table):
        table = read_quietly(path, index_col=table.columns[0], **options)
    return _square(table, path)


def _has_header(path: Path, delimiter: str | None, decimal: str | None) -> bool:
    """Names of objects may be numbers, so lines are counted: n columns have a header if n + 1 lines follow each other,
    or n of which the first begins with an empty corner or a heading."""
    dialect = sniff(path, False, delimiter, decimal)
    width = len(dialect.first_line)
    with open_text(path) as file:
        lines = sum(1 for line in islice(file, width + 2) if line.strip())
    if lines != width:
        return lines > width
    return not looks_like_number(dialect.first_line[0])


def _begins_with_names(table: pd.DataFrame) -> bool:
    """Whether the first column names the objects; not if it may as well hold dissimilarities: numbers without a heading
    are names if all others are a matrix with zeros on its diagonal."""
    if table.shape[1] != len(table) + 1 or not table.iloc[:, 0].is_unique:
        return False
    if table.attrs.get("header") or table.dtypes.iloc[0].kind not in "iuf":
        return True
    return all(kind.kind in "iuf" for kind in table.dtypes) and not np.diagonal(table.iloc[:, 1:]).any()


def _in_order_of_rows(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Columns in the order of the rows, where both are named alike; other names of columns, as V1, say nothing."""
    rows, columns = list(map(str, table.index)), list(table.columns)
    if rows == columns or set(rows).isdisjoint(columns):
        return table
    odd = sorted(set(rows) ^ set(columns))
    if odd or len(set(rows)) < len(rows):
        raise InvalidInputError(
            f"{path.name}: the names of rows and columns must be the same objects, "
            + (f"but {odd[0]!r} is among one of the two only" if odd else "but some of them occur twice")
        )
    return table[rows]


def _square(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    import pandas as pd

    if table.shape[0] != table.shape[1]:
        raise InvalidInputError(
            f"{path.name} must hold a square matrix of dissimilarities, got {table.shape[0]:,} rows and "
            f"{table.shape[1]:,} columns"
            + (
                "; a list of pairs must be written as a matrix, or as MatrixMarket (.mtx)"
                if table.shape[1] == 3
                else ""
            )
        )
    odd = [name for name in table.columns if table[name].dtype.kind not in "iuf"]
    if odd:
        raise InvalidInputError(f"{path.name} must hold numbers only, but the column {odd[0]!r} holds others")
    named = not isinstance(table.index, pd.RangeIndex)
    if named and table.attrs.get("header", True):
        table = _in_order_of_rows(table, path)
    index = table.index.rename(None) if named else pd.RangeIndex(len(table))
    found = pd.DataFrame(_both_halves(table.to_numpy(dtype=float)), index=index)
    if not named and table.attrs.get("header"):  # names in the first line only
        found.index = pd.Index(table.columns)
    found.columns = found.index.map(str)
    return found


def _named(values: np.ndarray, names: list[str] | None) -> pd.DataFrame:
    import pandas as pd

    index = pd.RangeIndex(len(values)) if names is None else pd.Index(natural_index(names))
    return pd.DataFrame(values, index=index, columns=index.map(str))


def _both_halves(values: np.ndarray) -> np.ndarray:
    """The matrix; where the cells above the diagonal are all empty, or all below, they are those on its other side."""
    empty = np.isnan(values)
    if not empty.any():
        return values
    for half in (np.tri(len(values), k=-1, dtype=bool).T, np.tri(len(values), k=-1, dtype=bool)):
        if len(values) > 1 and np.array_equal(empty, half):
            return np.where(half, values.T, values)
    return values


def _read_market(path: Path) -> Any:
    from scipy.io import mmread

    return mmread(path)


def _read_sparse(path: Path) -> Any:
    from scipy.sparse import load_npz

    return load_npz(path)


def _whole_or_sparse(matrix: Any, path: Path) -> Any:
    """All pairs as a table; some pairs stay a sparse matrix."""
    import pandas as pd
    from scipy import sparse

    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"it must hold a square matrix of dissimilarities, got shape {matrix.shape}")
    if sparse.issparse(matrix):
        n = matrix.shape[0]
        coo = sparse.coo_matrix(matrix)
        off = coo.row != coo.col
        if np.unique(coo.row[off].astype(np.int64) * n + coo.col[off]).size < n * (n - 1):
            return sparse.csr_matrix(matrix)
        matrix = coo.toarray()
    return pd.DataFrame(np.asarray(matrix, dtype=float))
