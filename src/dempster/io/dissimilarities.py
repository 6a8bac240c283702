"""Read a matrix of dissimilarities from the usual kinds of file.

A text file may hold a triangle of the matrix only: lines of 1, 2, 3, ... cells, or of as many as are left.
"""

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
from dempster._validation import check_memory, shown
from dempster.io.atomic import as_file, reading_file
from dempster.io.dialect import sniff
from dempster.io.numbers import MISSING_WORDS, choose_decimal, is_number, looks_like_number
from dempster.io.tables import check_reading, file_kind, natural_index, read_quietly
from dempster.io.text import BLANKS, open_text, split_cells

if TYPE_CHECKING:
    import pandas as pd


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
_TRIANGLE_DELIMITERS = (",", ";", "\t", "|", BLANKS)
_CODE = re.compile(r"0\d+")
_ZERO = re.compile(r"0*[.,]?0*")
_BYTES_PER_CHARACTER = 20  # while cells are text
_SAMPLE_LINES, _SAMPLE_CELLS = 8, 1000


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
        with reading_file(path):
            return _read_sparse(path, kind)
    if kind == "text" and index_col is None:
        with reading_file(path):
            triangle = _read_triangle(path, header, delimiter, decimal)
        if triangle is not None:
            return triangle
    if kind == "text" and header is None:
        with reading_file(path):
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


def _both_halves(values: np.ndarray) -> np.ndarray:
    """The matrix; where the cells above the diagonal are all empty, or all below, they are those on its other side."""
    empty = np.isnan(values)
    if not empty.any():
        return values
    for half in (np.tri(len(values), k=-1, dtype=bool).T, np.tri(len(values), k=-1, dtype=bool)):
        if len(values) > 1 and np.array_equal(empty, half):
            return np.where(half, values.T, values)
    return values


def _read_sparse(path: Path, kind: str) -> Any:
    """Read a table if the file has all pairs, else a sparse matrix."""
    import pandas as pd
    from scipy import io, sparse

    matrix = io.mmread(path) if kind == "market" else sparse.load_npz(path)
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


# ---- triangles ------------------------------------------------------------------------------------------------------


def _read_triangle(
    path: str | os.PathLike[str], header: bool | None = None, delimiter: str | None = None, decimal: str | None = None
) -> pd.DataFrame | None:
    """Read a matrix if each line has one cell more than the one before, or each one less; return None otherwise.

    The first line may name the columns, or tell how many objects there are, and the first cells may name the rows. The
    diagonal may be left out; a triangle is refused where nobody can tell whether it is.
    """
    with open_text(path) as file:
        first = list(islice((line for line in file if line.strip()), _SAMPLE_LINES))
        if not _triangles(first, header, delimiter, decimal, whole=False):
            return None
        lines = first + [line for line in file if line.strip()]
    check_memory(_BYTES_PER_CHARACTER * sum(map(len, lines)), "reading a triangle as text", "save the matrix as .npy")
    found = _triangles(lines, header, delimiter, decimal, whole=True)
    if "\t" in found:
        found.pop(BLANKS, None)
    if len(found) > 1:
        options = " or ".join(f"delimiter={delimiter!r}" for delimiter in found)
        raise InvalidInputError(f"its lines, those of a triangle, can be split in more than one way: set {options}")
    return _complete(found.popitem()[1], decimal) if found else None


@dataclass(frozen=True)
class _Rows:
    """A reading of the lines: the names of columns, none if there are none, and the cells below them."""

    delimiter: str
    names: list[str]
    cells: list[list[str]]


def _triangles(
    lines: Sequence[str], header: bool | None, delimiter: str | None, decimal: str | None, whole: bool
) -> dict[str, _Rows]:
    """Return the readings of the lines as a triangle, by delimiter.

    The first line names the columns if there is no reading without names, or if its cells are the names of the rows.
    """
    found: dict[str, _Rows] = {}
    for rows in _readings(lines, header, delimiter):
        first, above = [row[0] for row in rows.cells], _above(rows)
        preferred = rows.delimiter not in found or (first in (above, above[1:]) and _share_names(above, first))
        if preferred and _steps(rows) and _holds_numbers(rows, decimal, whole):
            found[rows.delimiter] = rows
    return found


def _readings(lines: Sequence[str], header: bool | None, delimiter: str | None) -> list[_Rows]:
    """Split the lines by each delimiter, with names of columns and without; none if a delimiter splits all alike."""
    found = []
    for candidate in _TRIANGLE_DELIMITERS if delimiter is None else (delimiter,):
        cells = [[cell.strip() for cell in row] for row in split_cells(lines, candidate)]
        if {len(row) for row in cells} == {1}:
            continue
        if len({len(row) for row in cells}) == 1:
            return []
        if all(row[-1] == "" for row in cells):  # every line ends with a delimiter
            cells = [row[:-1] for row in cells]
        found += [_Rows(candidate, [], cells)] * (header is not True)
        found += [_Rows(candidate, cells[0], cells[1:])] * (header is not False)
    return found


def _steps(rows: _Rows) -> int:
    """Return 1 if the lines become longer by a cell each, -1 if shorter, else 0."""
    sizes = [len(row) for row in rows.cells]
    steps = {after - before for before, after in pairwise(sizes)}
    return steps.pop() if steps in ({1}, {-1}) else 0


def _holds_numbers(rows: _Rows, decimal: str | None, whole: bool) -> bool:
    """Whether all cells but names are numbers or missing values.

    In a ``whole`` file the shortest line must have one cell, or a name and a cell, and names of columns that are
    numbers must be as many as the objects.
    """
    marks = [decimal] if decimal else ["."] if rows.delimiter == "," else [".", ","]
    known = [cell for row in rows.cells for cell in row[1:] if cell.lower() not in MISSING_WORDS]
    if not any(all(is_number(cell, mark) for cell in known[:_SAMPLE_CELLS]) for mark in marks):
        return False
    if not whole:
        return True
    m, above = len(rows.cells), _above(rows)
    first = [row[0] for row in rows.cells]
    if any(map(looks_like_number, above)) and not _share_names(above, first) and len(above) not in (m, m + 1):
        return False
    return min(map(len, rows.cells)) <= 2


def _above(rows: _Rows) -> list[str]:
    """Return the names in the first line without an empty corner; the number of objects is not a name."""
    return [] if rows.names == [str(len(rows.cells))] else rows.names[rows.names[:1] == [""] :]


def _share_names(above: Sequence[str], first: Sequence[str]) -> bool:
    """Whether lines begin with the names above them: all, all but a corner, or but one at either end."""
    if len(set(first)) < len(first) or len(set(above)) < len(above):
        return False
    return first in (above, above[1:], above[:-1]) or (len(above) > 1 and above[1:] in (first[:-1], first[1:]))


def _complete(rows: _Rows, decimal: str | None) -> pd.DataFrame:
    """Fill in the other half; an upper triangle is a lower one with the objects in the opposite order."""
    import pandas as pd

    upper, above = _steps(rows) < 0, _above(rows)
    cells = rows.cells[::-1] if upper else rows.cells
    begun = [row[0] for row in cells]
    zeros = len(cells[0]) == 1 or all(_ZERO.fullmatch(row[1 if upper else -1]) for row in cells)
    corner = zeros and above[1:] == [row[0] for row in rows.cells]
    above = above[corner:][::-1] if upper else above[corner:]
    named = len(cells[0]) > 1 or not any(map(_is_value, begun)) or (bool(above) and _share_names(above, begun))
    first = begun if named else None
    cells = [row if first is None else row[1:] for row in cells]
    numbers = [cell for row in cells for cell in row]
    has_commas = any("," in cell for cell in numbers)
    mark = decimal or (choose_decimal(rows.delimiter, [numbers]) if has_commas else ".")
    values = [[_value(cell, mark) for cell in (row[::-1] if upper else row)] for row in cells]
    names, diagonal = _objects(first, above, values, upper)
    n = len(values) + (not diagonal and len(values[0]) == 1)
    out = np.zeros((n, n))
    out[np.tril_indices(n, 0 if diagonal else -1)] = [value for row in values for value in row]
    out = np.tril(out) + np.tril(out, -1).T
    if upper:
        names, out = None if names is None else names[::-1], out[::-1, ::-1].copy()
    index = pd.RangeIndex(n) if names is None else pd.Index(natural_index(names))
    return pd.DataFrame(out, index=index, columns=index.map(str))


def _is_value(cell: str) -> bool:
    """Whether a cell is a number; one that begins with zeros, as 007, is a name."""
    return looks_like_number(cell) and not _CODE.fullmatch(cell)


def _objects(
    first: list[str] | None, above: list[str], values: Sequence[Sequence[float]], upper: bool
) -> tuple[list[str] | None, bool]:
    """Return the names of the objects, and whether the lines hold the diagonal."""
    m, zeros = len(values), bool(values[0]) and all(row[-1] == 0 for row in values)
    if first is not None and not values[0]:  # the first object has a name and no cell
        return first, False
    if first is not None and (above == first or (not above and zeros)):
        return first, True
    if first is not None and len(above) == m and above[1:] == first[:-1]:  # as R prints distances
        return [above[0], *first], False
    if first is not None and len(above) == m + 1 and above[1:] == first:
        return above, False
    if first is None and len(above) in (m, m + 1):
        return above, len(above) == m
    ends = [row[-1 if upper else 0] for row in values]
    counted = _are_counted(ends) or (upper and _are_counted(values[-1]))
    if first is None and not above and (zeros or not counted):
        return None, zeros
    raise InvalidInputError(
        "its lines have a cell more each, or less, as those of a triangle of a square matrix, but do not tell which "
        "objects they are: write the zeros of its diagonal, and the name of each object before its line"
    )


def _are_counted(numbers: Sequence[float]) -> bool:
    """Whether numbers follow each other as those of objects do, so that they may be names."""
    return len(numbers) > 1 and {after - before for before, after in pairwise(numbers)} in ({1}, {-1})


def _value(cell: str, decimal: str) -> float:
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        if cell.lower() in MISSING_WORDS:
            return np.nan
        raise InvalidInputError(f"{shown(cell)} stands where a number must be") from None
