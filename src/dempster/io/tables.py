"""Read a table from the usual kinds of file."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.io.atomic import as_file, reading_file
from dempster.io.dialect import Dialect, explain_uneven_lines, has_header, sniff
from dempster.io.numbers import choose_decimal, parse_numbers, warn_of_text
from dempster.io.text import BLANKS, open_text, text_encoding

if TYPE_CHECKING:
    import pandas as pd


TABLE_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".npy": "npy",
    ".xlsx": "excel",
}
_MISSING = ["NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"]  # in sheets; in text pandas knows
_UNNAMED = "Unnamed: 0"  # the name that pandas gives to a first column without a heading
_MAY_DELIMIT = re.compile(r"""[^\w"'.+\-\x00-\x08\x0a-\x1f]""")
_REMARK = re.compile(r"\s*(#+\s.*|[-=*_~]{4,})\s*", re.DOTALL)
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    index_col: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> pd.DataFrame:
    """Read a table; the extension tells the kind of file.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv`` or ``.txt`` (also ``.gz``: the delimiter, a decimal comma and a missing header line are
        recognised, and so are UTF-16 and Windows-1252), ``.parquet``, ``.feather``, ``.npy`` (a numeric array of two
        dimensions), or ``.xlsx`` (the first sheet that is not hidden). Text such as ``12 %``, ``1 234`` or ``?`` among
        numbers is read as 12, 1234 and missing, if a whole column is written so. A warning names columns of text that
        look like numbers, such as ``CHF 5.50``.
    columns : sequence of str, optional
        The columns to keep, in this order; all by default. Columns without a name are called ``x1``, ``x2``, ...
    index_col : str, optional
        The column that names the rows. Text stays as it is written (``007`` does not become 7). By default a first
        column without a heading, if its cells differ.
    header : bool, optional
        Whether the first line of a text file or sheet names the columns. By default it does unless it is all numbers
        and words for missing values (``NA``); if only some are numbers, this must be said. So it must if all are whole
        numbers but an empty first cell, except 0, 1, 2, ..., which are names, as pandas writes them.
    delimiter, decimal : str, optional
        Of a text file: what separates the columns (``" "`` for any blanks), and the decimal mark, ``"."`` or ``","``,
        also of numbers that are text in a sheet. Where the file can be read in two ways, an error asks for one of
        these.

    Returns
    -------
    pandas.DataFrame
        Column names are text. ``attrs["header"]`` is False when a text file had no header line, ``attrs["encoding"]``
        tells one that is not UTF-8, ``attrs["unnamed_index"]`` is True where a column without a heading names the rows,
        and ``attrs["converted"]`` tells what was taken off the cells of columns to read them as numbers.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is not a table of the kind its extension says, or lacks a column asked for.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("name;length;width\\nrose;1,5;2\\ntulip;3,25;4\\n")
    ...     read_table(path, index_col="name").to_dict("index")
    {'rose': {'length': 1.5, 'width': 2}, 'tulip': {'length': 3.25, 'width': 4}}
    """
    path = as_file(path)
    table = read_quietly(path, columns, index_col, header, delimiter, decimal)
    if file_kind(path, TABLE_KINDS) in ("text", "excel"):
        warn_of_text(table[_text_columns(table)], path.name)
    return table


def read_quietly(
    path: Path,
    columns: Sequence[str] | None = None,
    index_col: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> pd.DataFrame:
    """What `read_table` reads, for those who look only, or will say themselves what is wrong with it."""
    check_reading(index_col, header, delimiter, decimal)
    index_col = None if index_col is None else index_col.strip()  # as names of columns are read
    wanted = None if columns is None else _listed_columns(columns)
    kind = file_kind(path, TABLE_KINDS)
    with reading_file(path):
        if kind == "text":
            table = _read_text(path, index_col, sniff(path, header, delimiter, decimal), decimal)
        elif kind == "npy":
            table = _read_npy(path)
        elif kind == "excel":
            table = _read_excel(path, index_col, header, decimal)
        else:
            table = _read_columnar(path, kind)
    if index_col is None and table.shape[1] > 1 and table.columns[0] == _UNNAMED and table[_UNNAMED].is_unique:
        table = _selected(table, None, _UNNAMED, path)
        table.index.name = None
        table.attrs["unnamed_index"] = True
    return _selected(table, wanted, index_col, path)


def check_reading(index_col: Any, header: Any, delimiter: Any, decimal: Any) -> None:
    """Check the arguments that tell how a file is read."""
    for value, name, allowed in (
        (header, "header", rule.choice(None) | rule.kind(bool, np.bool_, words="True or False")),
        (decimal, "decimal", rule.choice(None) | rule.choice(".", ",")),
        (index_col, "index_col", rule.choice(None) | rule.kind(str, words="the name of a column")),
    ):
        rule.check(value, name, allowed)
    if delimiter is not None and not (isinstance(delimiter, str) and _MAY_DELIMIT.fullmatch(delimiter)):
        raise InvalidParameterError("delimiter", "a single character, no letter, digit, quote or dot", delimiter)
    if delimiter is not None and delimiter == decimal:
        raise InvalidParameterError("delimiter", "another character than decimal", delimiter)


def cells_as_names(path: Path, table: pd.DataFrame, columns: Sequence[int]) -> list[list[str]]:
    """Columns of a table that was read, by their positions: their cells as names of rows, as they are written, so that
    007 is not 7 and NA is not missing."""
    header = table.attrs.get("header")
    names = [table.columns[j] for j in columns]
    return [[str(name) for name in read_quietly(path, index_col=name, header=header).index] for name in names]


def _listed_columns(columns: Any) -> list[str]:
    names = [columns] if isinstance(columns, str) else rule.listed(columns, "columns", "names of columns")
    names = [name.strip() if isinstance(name, str) else name for name in names]
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidParameterError("columns", "different names of columns, at least one", names)
    return names


def file_kind(path: Path, kinds: dict[str, str]) -> str:
    """The kind of a file by its extension; a ValueError names the known ones."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    kind = kinds.get(suffixes[-2 if zipped and len(suffixes) > 1 else -1]) if suffixes else None
    if kind is None or (zipped and kind != "text"):
        got = "".join(suffixes) if zipped else path.suffix
        raise InvalidInputError(f"{path.name}: the extension must be one of {', '.join(kinds)}, got {got or 'none'}")
    return kind


def plain_value(text: str) -> Any:
    """Return an integer or a float if the text is exactly how Python writes one, else the text itself."""
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if repr(number) == text else text


def natural_index(values: Sequence[str]) -> Any:
    """Return names of rows as integers or floats if all are written exactly as Python writes those, else as text."""
    found = [plain_value(value) for value in values]
    for kind, array in ((int, np.int64), (float, np.float64)):
        if found and all(type(value) is kind for value in found):
            try:
                return np.array(found, dtype=array)
            except OverflowError:
                break
    return list(values)


def exact_floats() -> dict[str, Any]:
    """Arguments that make ``pandas.read_csv`` read back the very floats that were written."""
    import pandas as pd

    major, minor = (int(part) for part in pd.__version__.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}  # from 3.1 on it always does


def _read_text(path: Path, index_col: str | None, dialect: Dialect, decimal: str | None) -> pd.DataFrame:
    """Read a text file; ``decimal`` is the decimal mark that the user set, if any."""
    import pandas as pd

    both = dialect.row_names and dialect.trailing
    layout: dict[str, Any] = {"index_col": False if dialect.trailing else None}
    if both:
        layout = {"index_col": 0, "names": range(len(dialect.first_line) + 2)}

    def read(**more: Any) -> pd.DataFrame:
        try:
            with open_text(path) as file:
                found = pd.read_csv(
                    file,
                    sep=r"\s+" if dialect.delimiter == BLANKS else dialect.delimiter,
                    decimal=dialect.decimal,
                    header=0 if dialect.has_header else None,
                    skipinitialspace=True,
                    low_memory=False,
                    **layout,
                    **more,
                )
        except pd.errors.ParserError as error:
            raise InvalidInputError(explain_uneven_lines(path, dialect) or str(error)) from error
        if both:
            found = found.iloc[:, :-1].set_axis(dialect.first_line, axis=1).rename_axis(None)
        names = _distinct(found.columns) if dialect.has_header else _numbered_names(found.shape[1])
        return found.set_axis(pd.Index(names), axis=1)

    table = read(**exact_floats())
    # pandas takes further cells as levels of an index; only one, the name of the row, is meant.
    has_index = table.index.nlevels > 1 or (type(table.index).__name__ != "RangeIndex" and not dialect.row_names)
    if has_index and len(table):
        raise InvalidInputError(explain_uneven_lines(path, dialect) or "some lines have more cells than the first")
    if decimal is None and dialect.decimal == "." and not _has_decimals(table):
        # The first lines may hold whole numbers only, or decimal commas in quotation marks.
        decimal = choose_decimal(dialect.delimiter, _text_cells(table))
        if decimal == ",":
            return _read_text(path, index_col, replace(dialect, decimal=decimal), decimal)
    if table.shape[1] and table.iloc[:, -1].hasnans:  # where cells of too short a line are missing
        uneven = explain_uneven_lines(path, dialect) if dialect.delimiter == BLANKS else None
        if uneven is not None:
            raise InvalidInputError(uneven)
        _refuse_remarks(table, dialect.row_names)
    unnamed = index_col is None and table.shape[1] > 1 and table.columns[0] == _UNNAMED
    names = _UNNAMED if unnamed else index_col
    if dialect.row_names or names in table.columns:
        # Names of rows stay as they are written: pandas would turn 007 into 7 and NA into nothing.
        written = read(dtype=str, keep_default_na=False)
        if dialect.row_names:
            table.index = pd.Index(natural_index(list(written.index)))
        if names in table.columns and (not unnamed or written[names].is_unique):
            table[names] = written[names]
    table.attrs["header"] = dialect.has_header
    encoding = text_encoding(path)
    if encoding != "utf-8-sig":
        table.attrs["encoding"] = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}[encoding]
    return _with_numbers(table, index_col, dialect.decimal)


def _refuse_remarks(table: pd.DataFrame, row_names: bool) -> None:
    """Refuse lines of one cell that are rules or begin with #, where all others have several."""
    rest = table if row_names else table.iloc[:, 1:]
    alone = rest.isna().all(axis=1).to_numpy() if rest.shape[1] else np.zeros(len(table), dtype=bool)
    for cell in (table.index if row_names else table.iloc[:, 0])[alone]:
        if isinstance(cell, str) and _REMARK.fullmatch(cell):
            raise InvalidInputError(f"the line {rule.shown(cell)} has no further cells: remove lines of remarks")


def _text_columns(table: pd.DataFrame) -> Any:
    return table.columns[table.dtypes.map(lambda kind: kind.kind in "OTU").to_numpy(dtype=bool)]


def _has_decimals(table: pd.DataFrame) -> bool:
    """Whether a column was read as numbers with decimals; whole numbers are floats where some are missing."""
    floats = table.select_dtypes("float")
    return any(not floats[name].hasnans or (floats[name].dropna() % 1 != 0).any() for name in floats)


def _text_cells(table: pd.DataFrame) -> list[list[str]]:
    """Return the different cells of each column that was not read as numbers."""
    return [[cell for cell in table[name].unique() if isinstance(cell, str)] for name in _text_columns(table)]


def _with_numbers(table: pd.DataFrame, index_col: str | None, decimal: str) -> pd.DataFrame:
    """Columns of numbers that are written as text, as numbers; other cells without blanks behind them."""
    converted = {}
    for name in (name for name in _text_columns(table) if name not in (index_col, _UNNAMED)):
        found = parse_numbers(table[name], decimal)
        if found is not None:
            table[name], converted[name] = found
        elif any(isinstance(cell, str) and cell.endswith(" ") for cell in table[name].unique()):
            table[name] = table[name].map(lambda cell: cell.rstrip(" ") if isinstance(cell, str) else cell)
    if converted:
        table.attrs["converted"] = converted
    return table


def _read_npy(path: Path) -> pd.DataFrame:
    import pandas as pd

    array = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray):
        array.close()
        raise InvalidInputError("this is an archive of several arrays, not one .npy array")
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"the array must be numeric with two dimensions, got {array.dtype} of shape {array.shape}"
        )
    return pd.DataFrame(array, columns=_numbered_names(array.shape[1]))


def _read_excel(path: Path, index_col: str | None, header: bool | None, decimal: str | None) -> pd.DataFrame:
    """Read the first visible sheet, without rows and columns that are empty."""
    import openpyxl
    import pandas as pd

    book = openpyxl.load_workbook(path, read_only=True)
    sheet = next((each.title for each in book.worksheets if each.sheet_state == "visible"), None)
    book.close()
    if sheet is None:
        raise InvalidInputError("it has no sheet with cells that can be seen")
    # Cells stay as they are, 007 and a column called NA too.
    as_they_are: dict[str, Any] = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
    table = pd.read_excel(path, sheet_name=sheet, engine="openpyxl", **as_they_are)
    _refuse_formulas(path, sheet, table.isna().to_numpy())
    table = table.dropna(how="all").dropna(axis="columns", how="all")
    rows = [
        ["" if pd.isna(cell) else str(cell).strip() for cell in row] for row in table.head(100).itertuples(index=False)
    ]
    first = rows[0] if rows else []
    if header is None and rows:
        header = has_header(first, rows[1:])
    if len(table) <= bool(header):
        raise InvalidInputError("its first sheet is empty")
    names = [name or f"Unnamed: {j}" for j, name in enumerate(first)] if header else _numbered_names(len(first))
    table = table.iloc[int(bool(header)) :].reset_index(drop=True).set_axis(_distinct(names), axis=1)
    table = table.mask(table.isin(_MISSING)).infer_objects()
    table.attrs["header"] = bool(header)
    return _with_numbers(table, index_col, decimal or choose_decimal("\t", _text_cells(table)))


def _refuse_formulas(path: Path, sheet: str, empty: np.ndarray) -> None:
    """Refuse formulas that a program wrote without their values: they would be read as empty cells.

    ``empty`` tells which cells seem empty. openpyxl gives a formula without a value the type of a number.
    """
    import openpyxl

    if not empty.any() or not _has_formulas(path):
        return
    written, found = (openpyxl.load_workbook(path, data_only=only)[sheet] for only in (False, True))
    for row, column in np.argwhere(empty) + 1:
        place = {"row": int(row), "column": int(column)}
        cell = written.cell(**place)
        if cell.data_type == "f" and found.cell(**place).data_type == "n":
            raise InvalidInputError(
                f"its cell {cell.coordinate} holds a formula, {str(cell.value)[:40]}, without its value: open it in a "
                "spreadsheet and save it again"
            )


def _has_formulas(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        return any(b"<f>" in data or b"<f " in data for data in map(archive.read, sheets))


def _numbered_names(n: int) -> list[str]:
    return [f"x{j + 1}" for j in range(n)]


def _read_columnar(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    table = pd.read_parquet(path) if kind == "parquet" else pd.read_feather(path)
    table.attrs = {}
    table.columns = pd.Index(_distinct(table.columns))
    for name in _text_columns(table):
        if pd.api.types.infer_dtype(table[name]) == "decimal":  # which databases call numeric
            table[name] = table[name].astype(float)
    return table


def _distinct(names: Iterable[Any]) -> list[str]:
    """Names without blanks around them; one that occurs again gets a number, as pandas does it: a, a.1."""
    found: dict[str, None] = {}
    for name in (str(given).strip() for given in names):
        again, number = name, 0
        while again in found:
            number += 1
            again = f"{name}.{number}"
        found[again] = None
    return list(found)


def _selected(table: pd.DataFrame, columns: list[str] | None, index_col: str | None, path: Path) -> pd.DataFrame:
    import pandas as pd

    attrs = dict(table.attrs)
    if index_col is not None and (index_col != table.index.name or index_col in table.columns):
        _check_known([index_col], table, "index_col", path)
        names = table.pop(index_col)
        values: Any = list(names) if names.dtype.kind not in "iufMm" else names.to_numpy()
        if all(isinstance(value, str) for value in values):
            values = natural_index(values)
        table.index = pd.Index(values, name=index_col)
    if columns is not None:
        _check_known(columns, table, "columns", path)
        table = table[columns]
    table.attrs.update(attrs)
    return table


def _check_known(names: Sequence[str], table: pd.DataFrame, argument: str, path: Path) -> None:
    unknown = [name for name in names if name not in table.columns]
    if unknown:
        known = ", ".join(table.columns[:20]) + (", ..." if table.shape[1] > 20 else "")
        raise InvalidParameterError(
            argument, message=f"{argument}: {path.name} has no column {', '.join(map(repr, unknown))}; it has {known}"
        )
