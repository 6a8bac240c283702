"""Read square matrices of dissimilarities, including text files that contain only a lower or upper triangle."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_memory, format_value
from dempster.io.atomic import as_file, wrap_read_errors
from dempster.io.dialect import sniff
from dempster.io.numbers import MISSING_WORDS, choose_decimal, is_number, looks_like_number
from dempster.io.tables import TABLE_FORMATS, check_read_options, detect_format, parse_index, read_quietly
from dempster.io.text import BLANKS, open_text, split_cells

if TYPE_CHECKING:
    import pandas as pd


_FORMATS = {suffix: name for suffix, name in TABLE_FORMATS.items() if name != "excel"}
_FORMATS |= {".npz": "sparse", ".mtx": "market", ".mat": "matlab"}
_TRIANGLE_DELIMITERS = (",", ";", "\t", "|", BLANKS)
_CODE = re.compile(r"0\d+")
_ZERO = re.compile(r"0*[.,]?0*")
_BYTES_PER_CHARACTER = 20  # memory for text cells, per character of the file
_SAMPLE_LINES, _SAMPLE_CELLS = 8, 1000


def read_dissimilarities(
    path: str | os.PathLike[str],
    *,
    index_col: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Any:
    r"""Read a square matrix of dissimilarities from a file; its extension selects the format.

    Parameters
    ----------
    path : path
        File with the extension ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.parquet``, ``.feather``, ``.npy``,
        ``.mtx`` (MatrixMarket), ``.npz`` (sparse matrix of SciPy), or ``.mat`` (MATLAB up to version 7, with one square
        matrix or a dataset of PRTools). The first line, the first column or both of a text file may contain the names
        of the objects. A text file may contain only a lower or upper triangle, with or without the diagonal.
    index_col : str, optional
        The column with the names of the objects, if it has a heading.
    header, delimiter, decimal : optional
        Format of a text file (see `read_table`).

    Returns
    -------
    DataFrame or sparse matrix
        A table with the names of the objects as index and columns, or a sparse matrix of SciPy if the file lacks the
        dissimilarities of some pairs. If a MATLAB file contains the class of each object, ``attrs["classes"]`` is an
        array of the classes.

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
    ...     _ = path.write_text(",Lille,Paris,Lyon\nLille,0,225,690\nParis,225,0,465\nLyon,690,465,0\n")
    ...     read_dissimilarities(path)
           Lille  Paris   Lyon
    Lille    0.0  225.0  690.0
    Paris  225.0    0.0  465.0
    Lyon   690.0  465.0    0.0
    """
    path = as_file(path)
    check_read_options(index_col, header, delimiter, decimal)
    file_format = detect_format(path, _FORMATS)
    if file_format in ("market", "sparse", "matlab"):
        with wrap_read_errors(path):
            return _read_matlab(path) if file_format == "matlab" else _read_sparse(path, file_format)
    if file_format == "text" and index_col is None:
        with wrap_read_errors(path):
            triangle = _read_triangle(path, header, delimiter, decimal)
        if triangle is not None:
            return triangle
    if file_format == "text" and header is None:
        with wrap_read_errors(path):
            header = _has_header(path, delimiter, decimal)
    options: dict[str, Any] = {"header": header, "delimiter": delimiter, "decimal": decimal}
    table = read_quietly(path, index_col=index_col, **options)
    if index_col is None and _starts_with_names(table):
        table = read_quietly(path, index_col=table.columns[0], **options)
    return _to_square(table, path)


def _has_header(path: Path, delimiter: str | None, decimal: str | None) -> bool:
    """Return whether the first line contains the names of the objects, which may be numbers.

    The first line contains names if the file has more lines than columns, or if it has as many lines as columns and the
    first cell is not a number.
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
    return all(kind.kind in "iuf" for kind in table.dtypes) and not np.diagonal(table.iloc[:, 1:]).any()


def _sort_columns(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Reorder the columns to match the row names; do nothing if no column name is a row name (V1, V2, ...)."""
    rows, columns = list(map(str, table.index)), list(table.columns)
    if rows == columns or set(rows).isdisjoint(columns):
        return table
    odd = sorted(set(rows) ^ set(columns))
    if odd or len(set(rows)) < len(rows):
        problem = f"{odd[0]!r} is only in one of them" if odd else "some names are repeated"
        raise InvalidInputError(f"{path.name}: rows and columns must have the same unique names, but {problem}")
    return table[rows]


def _to_square(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    import pandas as pd

    if table.shape[0] != table.shape[1]:
        remedy = "; convert a list of pairs to a matrix or to MatrixMarket (.mtx)" if table.shape[1] == 3 else ""
        shape = f"{table.shape[0]:,} rows and {table.shape[1]:,} columns"
        raise InvalidInputError(f"{path.name} must contain a square matrix of dissimilarities, got {shape}{remedy}")
    odd = [name for name in table.columns if table[name].dtype.kind not in "iuf"]
    if odd:
        raise InvalidInputError(f"{path.name} must contain numbers only, but column {odd[0]!r} contains other values")
    has_names = not isinstance(table.index, pd.RangeIndex)
    if has_names and table.attrs.get("header", True):
        table = _sort_columns(table, path)
    index = table.index.rename(None) if has_names else pd.RangeIndex(len(table))
    matrix = pd.DataFrame(_fill_empty_half(table.to_numpy(dtype=float)), index=index)
    if not has_names and table.attrs.get("header"):  # Only the first line contains names.
        matrix.index = pd.Index(table.columns)
    matrix.columns = matrix.index.map(str)
    return matrix


def _fill_empty_half(values: np.ndarray) -> np.ndarray:
    """Fill all cells above (or below) the diagonal by symmetry if exactly these cells are empty."""
    empty = np.isnan(values)
    if not empty.any():
        return values
    for half in (np.tri(len(values), k=-1, dtype=bool).T, np.tri(len(values), k=-1, dtype=bool)):
        if len(values) > 1 and np.array_equal(empty, half):
            return np.where(half, values.T, values)
    return values


def _read_sparse(path: Path, file_format: str) -> Any:
    """Return a DataFrame if the file contains the dissimilarities of all pairs, otherwise a sparse matrix."""
    from scipy import io, sparse

    return _to_frame(io.mmread(path) if file_format == "market" else sparse.load_npz(path))


def _read_matlab(path: Path) -> Any:
    """Read the only square matrix or PRTools dataset of a MATLAB file, and the classes of the objects."""
    from scipy import io

    variables = {name: value for name, value in io.loadmat(path).items() if not name.startswith("__")}
    for value in variables.values():
        if value.dtype.names and {"data", "nlab"} <= set(value.dtype.names):  # a dataset of PRTools
            variables = {name: value[name].item() for name in ("data", "nlab")}
    matrices = [name for name, value in variables.items() if value.ndim == 2 and 1 < value.shape[0] == value.shape[1]]
    if len(matrices) != 1:
        found = ", ".join(matrices) or "none"
        raise InvalidInputError(f"the file must contain one square matrix of dissimilarities, got {found}")
    frame = _to_frame(variables[matrices[0]])
    classes = [value.ravel() for value in variables.values() if value.size == frame.shape[0]]
    if len(classes) == 1 and hasattr(frame, "attrs"):
        frame.attrs["classes"] = classes[0]
    return frame


def _to_frame(matrix: Any) -> Any:
    """Return a DataFrame of a matrix with the dissimilarities of all pairs; otherwise the sparse matrix."""
    import pandas as pd
    from scipy import sparse

    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidInputError(f"the file must contain a square matrix of dissimilarities, got shape {matrix.shape}")
    if sparse.issparse(matrix):
        n = matrix.shape[0]
        coo = sparse.coo_matrix(matrix)
        is_pair = coo.row != coo.col
        if np.unique(coo.row[is_pair].astype(np.int64) * n + coo.col[is_pair]).size < n * (n - 1):
            return sparse.csr_matrix(matrix)
        matrix = coo.toarray()
    return pd.DataFrame(np.asarray(matrix, dtype=float))


# ---- triangles ------------------------------------------------------------------------------------------------------


def _read_triangle(path: Path, header: bool | None, delimiter: str | None, decimal: str | None) -> pd.DataFrame | None:
    """Read a triangle, in which each line has one cell more (or less) than the previous line.

    Return None if the lines do not form a triangle. The first line may contain column names or the number of objects,
    and the first cell of each line may be a row name. The diagonal may be missing. Raise an error if this is ambiguous.
    """
    with open_text(path) as file:
        first = list(islice((line for line in file if line.strip()), _SAMPLE_LINES))
        if not _triangles(first, header, delimiter, decimal, whole=False):
            return None
        lines = first + [line for line in file if line.strip()]
    check_memory(_BYTES_PER_CHARACTER * sum(map(len, lines)), "reading a triangle as text", "save the matrix as .npy")
    triangles = _triangles(lines, header, delimiter, decimal, whole=True)
    if "\t" in triangles:
        triangles.pop(BLANKS, None)
    if len(triangles) > 1:
        options = " or ".join(f"delimiter={delimiter!r}" for delimiter in triangles)
        raise InvalidInputError(f"the lines of the triangle can be split in more than one way; set {options}")
    return _complete(triangles.popitem()[1], decimal) if triangles else None


@dataclass(frozen=True)
class _Rows:
    """Lines split into cells by a delimiter, with the column names (an empty list if there are none)."""

    delimiter: str
    names: list[str]
    cells: list[list[str]]


def _triangles(
    lines: Sequence[str], header: bool | None, delimiter: str | None, decimal: str | None, whole: bool
) -> dict[str, _Rows]:
    """Return a dictionary of the delimiters that split the lines into a triangle, and the resulting cells."""
    triangles: dict[str, _Rows] = {}
    for rows in _splits(lines, header, delimiter):
        first, above = [row[0] for row in rows.cells], _column_names(rows)
        is_preferred = rows.delimiter not in triangles or (first in (above, above[1:]) and _share_names(above, first))
        if is_preferred and _step(rows) and _has_numbers(rows, decimal, whole):
            triangles[rows.delimiter] = rows
    return triangles


def _splits(lines: Sequence[str], header: bool | None, delimiter: str | None) -> list[_Rows]:
    """Split the lines by each delimiter, with and without column names."""
    splits = []
    for candidate in _TRIANGLE_DELIMITERS if delimiter is None else (delimiter,):
        cells = [[cell.strip() for cell in row] for row in split_cells(lines, candidate)]
        if {len(row) for row in cells} == {1}:
            continue
        if len({len(row) for row in cells}) == 1:
            return []
        if all(row[-1] == "" for row in cells):  # Every line ends with a delimiter.
            cells = [row[:-1] for row in cells]
        splits += [_Rows(candidate, [], cells)] * (header is not True)
        splits += [_Rows(candidate, cells[0], cells[1:])] * (header is not False)
    return splits


def _step(rows: _Rows) -> int:
    """Return 1 if each line is one cell longer than the previous line, -1 if one cell shorter, and 0 otherwise."""
    sizes = [len(row) for row in rows.cells]
    steps = {after - before for before, after in pairwise(sizes)}
    return steps.pop() if steps in ({1}, {-1}) else 0


def _has_numbers(rows: _Rows, decimal: str | None, whole: bool) -> bool:
    """Return whether all cells except names are numbers or missing values.

    If ``whole`` is True, the lines are the complete file. Then the shortest line must have at most two cells, and
    numeric column names must match the row names or the number of objects.
    """
    marks = [decimal] if decimal else ["."] if rows.delimiter == "," else [".", ","]
    values = [cell for row in rows.cells for cell in row[1:] if cell.lower() not in MISSING_WORDS]
    if not any(all(is_number(cell, mark) for cell in values[:_SAMPLE_CELLS]) for mark in marks):
        return False
    if not whole:
        return True
    m, above = len(rows.cells), _column_names(rows)
    first = [row[0] for row in rows.cells]
    if any(map(looks_like_number, above)) and not _share_names(above, first) and len(above) not in (m, m + 1):
        return False
    return min(map(len, rows.cells)) <= 2


def _column_names(rows: _Rows) -> list[str]:
    """Return the column names without an empty first cell; a first line with the number of objects has no names."""
    return [] if rows.names == [str(len(rows.cells))] else rows.names[rows.names[:1] == [""] :]


def _share_names(above: Sequence[str], first: Sequence[str]) -> bool:
    """Return whether row names and column names are equal, possibly except for the first or last name."""
    if len(set(first)) < len(first) or len(set(above)) < len(above):
        return False
    return first in (above, above[1:], above[:-1]) or (len(above) > 1 and above[1:] in (first[:-1], first[1:]))


def _complete(rows: _Rows, decimal: str | None) -> pd.DataFrame:
    """Return the square matrix of a triangle; an upper triangle is first reversed to a lower triangle."""
    import pandas as pd

    upper, above = _step(rows) < 0, _column_names(rows)
    cells = rows.cells[::-1] if upper else rows.cells
    first_cells = [row[0] for row in cells]
    zeros = len(cells[0]) == 1 or all(_ZERO.fullmatch(row[1 if upper else -1]) for row in cells)
    corner = zeros and above[1:] == [row[0] for row in rows.cells]
    above = above[corner:][::-1] if upper else above[corner:]
    # Numbers with leading zeros, such as 007, are names.
    are_values = any(looks_like_number(cell) and not _CODE.fullmatch(cell) for cell in first_cells)
    has_names = len(cells[0]) > 1 or not are_values or (bool(above) and _share_names(above, first_cells))
    first = first_cells if has_names else None
    cells = [row[1:] if has_names else row for row in cells]
    numbers = [cell for row in cells for cell in row]
    has_commas = any("," in cell for cell in numbers)
    mark = decimal or (choose_decimal(rows.delimiter, [numbers]) if has_commas else ".")
    values = [[_parse_value(cell, mark) for cell in (row[::-1] if upper else row)] for row in cells]
    names, diagonal = _find_names(first, above, values, upper)
    n = len(values) + (not diagonal and len(values[0]) == 1)
    out = np.zeros((n, n))
    out[np.tril_indices(n, 0 if diagonal else -1)] = [value for row in values for value in row]
    out = np.tril(out) + np.tril(out, -1).T
    if upper:
        names, out = None if names is None else names[::-1], out[::-1, ::-1].copy()
    index = pd.RangeIndex(n) if names is None else pd.Index(parse_index(names))
    return pd.DataFrame(out, index=index, columns=index.map(str))


def _find_names(
    first: list[str] | None, above: list[str], values: Sequence[Sequence[float]], upper: bool
) -> tuple[list[str] | None, bool]:
    """Return the names of the objects (None if there are none), and whether the lines contain the diagonal."""
    m, zeros = len(values), bool(values[0]) and all(row[-1] == 0 for row in values)
    if first is not None and not values[0]:  # The line of the first object contains only its name.
        return first, False
    if first is not None and (above == first or (not above and zeros)):
        return first, True
    if first is not None and len(above) == m and above[1:] == first[:-1]:  # R prints distances in this format.
        return [above[0], *first], False
    if first is not None and len(above) == m + 1 and above[1:] == first:
        return above, False
    if first is None and len(above) in (m, m + 1):
        return above, len(above) == m
    ends = [row[-1 if upper else 0] for row in values]
    may_be_names = _are_consecutive(ends) or (upper and _are_consecutive(values[-1]))
    if first is None and not above and (zeros or not may_be_names):
        return None, zeros
    raise InvalidInputError(
        "the lines form a triangle of a square matrix, but it is ambiguous whether it includes the diagonal; add the "
        "zeros of the diagonal and the name of each object at the start of its line"
    )


def _are_consecutive(numbers: Sequence[float]) -> bool:
    """Return whether numbers are consecutive integers, so that they may be names."""
    return len(numbers) > 1 and {after - before for before, after in pairwise(numbers)} in ({1}, {-1})


def _parse_value(cell: str, decimal: str) -> float:
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        if cell.lower() in MISSING_WORDS:
            return np.nan
        raise InvalidInputError(f"cells must be numbers, got {format_value(cell)}") from None
