"""Read square matrices of dissimilarities."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import quote_names
from dempster._types import FilePath
from dempster.io.atomic import as_file, wrap_read_errors
from dempster.io.dialect import sniff
from dempster.io.numbers import looks_like_number
from dempster.io.tables import (
    TABLE_READERS,
    check_read_options,
    detect_format,
    parse_index,
    read_quietly,
    read_text,
)
from dempster.io.text import open_text

if TYPE_CHECKING:
    import pandas as pd


def read_dissimilarities(
    path: FilePath,
    *,
    index_col: str | bool | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Any:
    r"""Read a square matrix of dissimilarities from a file; its extension selects the format.

    Parameters
    ----------
    path : path
        File with the extension ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.parquet`` or
        ``.pq``, ``.feather``, ``.npy``, ``.mtx`` (MatrixMarket), ``.npz`` (sparse matrix of SciPy),
        or ``.mat`` (MATLAB up to version 7, with one square matrix or a dataset of PRTools). The
        first line, the first column or both of a text file may contain the names of the objects.
        The cells above or below the diagonal may be empty. Files of PHYLIP may be lower triangles.
    index_col : str, optional
        The column with the names of the objects, if it has a heading.
    header, delimiter, decimal : optional
        Format of a text file (see `read_table`).

    Returns
    -------
    DataFrame or sparse matrix
        A table with the names of the objects as index and columns, or a sparse matrix of SciPy if
        the file lacks the dissimilarities of some pairs. If a MATLAB file contains the class of
        each object, ``attrs["classes"]`` is an array of the classes.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        The file does not contain a square matrix of numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.io import read_dissimilarities
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "towns.csv"
    ...     text = ",Lille,Paris,Lyon\nLille,0,225,690\nParis,225,0,465\nLyon,690,465,0\n"
    ...     _ = path.write_text(text)
    ...     read_dissimilarities(path)
           Lille  Paris   Lyon
    Lille    0.0  225.0  690.0
    Paris  225.0    0.0  465.0
    Lyon   690.0  465.0    0.0
    """
    path = as_file(path)
    check_read_options(index_col, header, delimiter, decimal)
    readers: dict[str, Callable[..., Any]] = {**TABLE_READERS, **_MATRIX_READERS}
    del readers[".xlsx"]  # Matrices in sheets are not supported.
    read = detect_format(path, readers)
    if read in _MATRIX_READERS.values():
        with wrap_read_errors(path):
            return read(path)
    if read is read_text and header is None:
        with wrap_read_errors(path):
            triangle = _read_phylip(path)
            if triangle is not None:
                return triangle
            header = _has_header(path, delimiter, decimal)
    options: dict[str, Any] = {
        "header": header,
        "delimiter": delimiter,
        "decimal": decimal,
    }
    table = read_quietly(path, index_col=index_col, **options)
    if index_col is None and _starts_with_names(table):
        table = read_quietly(path, index_col=table.columns[0], **options)
    return _to_square(table, path)


def _has_header(path: Path, delimiter: str | None, decimal: str | None) -> bool:
    """Return whether the first line contains the names of the objects, which may be numbers.

    The first line contains names if the file has more lines than columns, or if it has as many
    lines as columns and the first cell is not a number.
    """
    dialect = sniff(path, False, delimiter, decimal)
    width = len(dialect.first_line)
    with open_text(path) as file:
        lines = sum(1 for line in islice(file, width + 2) if line.strip())
    if lines != width:
        return lines > width
    return not looks_like_number(dialect.first_line[0])


def _starts_with_names(table: pd.DataFrame) -> bool:
    """Return whether the first column contains the names of the objects.

    Numbers without a heading are names if the remaining columns form a matrix with a zero diagonal.
    """
    if table.shape[1] != len(table) + 1 or not table.iloc[:, 0].is_unique:
        return False
    if table.attrs.get("header") or table.dtypes.iloc[0].kind not in "iuf":
        return True
    return (
        all(kind.kind in "iuf" for kind in table.dtypes)
        and not np.diagonal(table.iloc[:, 1:]).any()
    )


def _to_square(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    import pandas as pd

    n_rows, n_columns = table.shape
    if n_rows != n_columns:
        problem = (
            f"{path.name} must contain a square matrix of dissimilarities, "
            f"got {n_rows:,} rows and {n_columns:,} columns"
        )
        if n_columns == 3:
            problem += "; convert a list of pairs to a matrix or to MatrixMarket (.mtx)"
        raise InvalidInputError(problem)
    odd = [name for name in table.columns if table[name].dtype.kind not in "iuf"]
    if odd:
        raise InvalidInputError(
            f"{path.name} must contain numbers only, but column {odd[0]!r} contains other values"
        )
    header = table.attrs.get("header")
    index: pd.Index = pd.RangeIndex(n_rows)
    if not isinstance(table.index, pd.RangeIndex):
        names = list(map(str, table.index))
        # Other names of columns (V1, V2, ...) have no meaning.
        if header is not False and not set(names).isdisjoint(table.columns):
            odd = sorted(set(names) ^ set(table.columns))
            if odd or len(set(names)) < len(names):
                raise InvalidInputError(
                    f"{path.name}: rows and columns must have the same unique names; names of only "
                    f"one of them: {quote_names(odd) or 'none'}"
                )
            table = table[names]
        index = table.index.rename(None)
    elif header:  # Only the first line contains names.
        index = pd.Index(table.columns)
    values = _fill_empty_half(table.to_numpy(dtype=float))
    return pd.DataFrame(values, index=index, columns=index.map(str))


def _fill_empty_half(values: np.ndarray) -> np.ndarray:
    """Fill all cells above (or below) the diagonal by symmetry if exactly these cells are empty."""
    empty = np.isnan(values)
    below = np.tri(len(values), k=-1, dtype=bool)
    for half in (below.T, below):
        if empty.any() and np.array_equal(empty, half):
            return np.where(half, values.T, values)
    return values


def _read_market(path: Path) -> Any:
    from scipy import io

    # SciPy reads beyond the end of the file in this case, which may end the process.
    if path.read_bytes().endswith((b"e", b"E", b"+", b"-")):
        raise InvalidInputError("the file is truncated: it ends within a number")
    return _to_frame(io.mmread(path))


def _read_sparse(path: Path) -> Any:
    from scipy import sparse

    return _to_frame(sparse.load_npz(path))


def _read_matlab(path: Path) -> Any:
    """Read the only square matrix or PRTools dataset of a MATLAB file, and the classes."""
    from scipy import io

    variables = {
        name: value
        for name, value in io.loadmat(path).items()
        if not name.startswith("__")
    }
    for value in variables.values():
        # a dataset of PRTools
        if value.dtype.names and {"data", "nlab"} <= set(value.dtype.names):
            variables = {name: value[name].item() for name in ("data", "nlab")}
    matrices = [
        name
        for name, value in variables.items()
        if value.ndim == 2 and 1 < value.shape[0] == value.shape[1]
    ]
    if len(matrices) != 1:
        found = ", ".join(matrices) or "none"
        raise InvalidInputError(
            f"the file must contain one square matrix of dissimilarities, got {found}"
        )
    frame = _to_frame(variables[matrices[0]])
    classes = [
        value.ravel() for value in variables.values() if value.size == frame.shape[0]
    ]
    if len(classes) == 1 and hasattr(frame, "attrs"):
        frame.attrs["classes"] = classes[0]
    return frame


_MATRIX_READERS: dict[str, Callable[[Path], Any]] = {
    ".npz": _read_sparse,
    ".mtx": _read_market,
    ".mat": _read_matlab,
}


def _to_frame(matrix: Any) -> Any:
    """Return a matrix with the dissimilarities of all pairs as a DataFrame, others as CSR."""
    import pandas as pd
    from scipy import sparse

    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(
            f"the file must contain a square matrix of dissimilarities, got shape {matrix.shape}"
        )
    if sparse.issparse(matrix):
        n = matrix.shape[0]
        coo = sparse.coo_matrix(matrix)
        is_pair = coo.row != coo.col
        if np.unique(
            coo.row[is_pair].astype(np.int64) * n + coo.col[is_pair]
        ).size < n * (n - 1):
            return sparse.csr_matrix(matrix)
        matrix = coo.toarray()
    return pd.DataFrame(np.asarray(matrix, float))


def _read_phylip(path: Path) -> pd.DataFrame | None:
    """Read a lower triangle in the format of PHYLIP, or return None if the file has another format.

    The first line contains the number of objects. Each further line contains the name of an object
    and its dissimilarities from the previous objects.
    """
    import pandas as pd

    with open_text(path) as file:
        lines = (line.split() for line in file if line.strip())
        first = next(lines, [])
        if len(first) != 1 or not first[0].isdigit():
            return None
        rows = list(lines)
    n = int(first[0])
    if n < 2 or [len(row) for row in rows] != list(range(1, n + 1)):
        return None
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n, -1)] = [float(cell) for row in rows for cell in row[1:]]
    index = pd.Index(parse_index([row[0] for row in rows]))
    return pd.DataFrame(matrix + matrix.T, index=index, columns=index.map(str))
