"""Read tables from text files, spreadsheets, Parquet, Feather and NPY files."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import dempster._validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import quote_names
from dempster._types import FilePath
from dempster._validation import check_memory
from dempster.io.atomic import as_file, wrap_read_errors
from dempster.io.dialect import Dialect, explain_uneven_lines, has_header, sniff
from dempster.io.numbers import (
    MAX_SAMPLE_CELLS,
    choose_decimal,
    looks_like_number,
    may_be_thousands,
    read_column,
    warn_about_text,
)
from dempster.io.text import BLANKS, check_compression_ratio, open_text, text_encoding

if TYPE_CHECKING:
    import pandas as pd


Format = TypeVar("Format")
_TEXT_SUFFIXES = (".csv", ".tsv", ".txt")  # Files may also be compressed (.gz).
# missing values in sheets
_MISSING = ["NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"]
_UNNAMED = "Unnamed: 0"  # name that pandas gives to a first column without a heading
_DELIMITER = re.compile(r"""[^\w"'.+\-\x00-\x08\x0a-\x1f]""")
# end of a formula without a value, in the XML of a sheet
_EMPTY_FORMULA = re.compile(rb"(</(\w+:)?f>|<(\w+:)?f\b[^>]*/>)(?!<(\w+:)?v>[^<])")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_CELL_REFERENCE = re.compile(
    rb"""<(?:\w+:)?c\s[^>]*?\br=["']([A-Z]{1,3})([0-9]{1,7})["']"""
)
_ENCODINGS = {"utf-16": "UTF-16", "cp1252": "Windows-1252"}
_SHEET_CELL_BYTES = 64  # memory that a cell of a sheet takes while it is read
# rule for ``index_col``
INDEX_COL = (
    rule.none
    | rule.kind(str, words="the name of a column")
    | rule.Rule("False", lambda value: value is False)
)


@dataclass(frozen=True)
class ReadOptions:
    """Arguments of `read_table` for a reader; ``missing`` contains ``na_values``."""

    index_col: str | bool | None
    header: bool | None
    delimiter: str | None
    decimal: str | None
    sheet: str | None
    missing: list[str]


def read_table(
    path: FilePath,
    *,
    index_col: str | bool | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    na_values: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Read a table from a file; its extension selects the format.

    Parameters
    ----------
    path : path
        File with the extension ``.csv``, ``.tsv`` or ``.txt`` (also ``.gz``), ``.parquet`` or
        ``.pq``, ``.feather``, ``.npy`` (a numeric 2-D array), or ``.xlsx``; "-" reads text from the
        standard input. Delimiter, decimal mark, header line and encoding (UTF-8, UTF-16 or
        Windows-1252) of a text file are detected. A text column is converted to numbers if all its
        cells are missing values (``?``) or numbers with the same unit (``12 %``); thousands
        separators (``1 234``) are allowed. A warning lists text columns that look like numbers but
        are not converted (``CHF 5.50``).
    index_col : str or False, optional
        Name of the column with the names of the rows, which are not converted (``007`` remains
        text). The default is the first column if it has no heading and its cells are unique. False:
        the rows have no names.
    header : bool, optional
        Whether the first line of a text file or sheet contains column names. The default is True
        unless the line contains only numbers and missing values. Set ``header`` if only some cells
        of the line are numbers.
    delimiter, decimal : str, optional
        Delimiter (``" "`` for any number of spaces) and decimal mark (``"."`` or ``","``) of a text
        file. Set them if the file is ambiguous. ``decimal`` also applies to numbers stored as text
        in a sheet.
    sheet : str, optional
        Name of the sheet of an Excel file. The default is the first visible sheet. Titles above the
        column names (text in a single cell of a row) are skipped.
    na_values : sequence of str, optional
        Cells that mean a missing value, such as ``"n.d."`` or ``"-999"``, in addition to empty
        cells, ``NA``, ``?`` and similar ones.

    Returns
    -------
    pandas.DataFrame
        Column names are text; columns without a name are named ``x1``, ``x2``, ...
        ``attrs["header"]`` is False if a text file or sheet has no header line. ``attrs["notes"]``
        lists what was detected: a missing header line, an encoding other than UTF-8, other sheets,
        a column without a heading that names the rows, and columns of text that were converted to
        numbers.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        The content does not match the extension, or a requested column does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "flowers.csv"
    ...     _ = path.write_text("name;length;width\nrose;1,5;2\ntulip;3,25;4\n")
    ...     read_table(path, index_col="name").to_dict("index")
    {'rose': {'length': 1.5, 'width': 2}, 'tulip': {'length': 3.25, 'width': 4}}
    """
    path = as_file(path)
    table = read_quietly(path, index_col, header, delimiter, decimal, sheet, na_values)
    if detect_format(path, TABLE_READERS) in (read_text, read_excel):
        warn_about_text(table[_text_columns(table)], path.name)
    return table


def read_quietly(
    path: Path,
    index_col: str | bool | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    na_values: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a table like `read_table`, without warnings."""
    check_read_options(index_col, header, delimiter, decimal)
    if isinstance(index_col, str):
        index_col = index_col.strip()  # Spaces around column names are removed, too.
    rule.check(sheet, "sheet", rule.none | rule.kind(str, words="the name of a sheet"))
    missing = list(rule.as_names(na_values, "na_values", "a list of texts"))
    options = ReadOptions(index_col, header, delimiter, decimal, sheet, missing)
    read = detect_format(path, TABLE_READERS)
    with wrap_read_errors(path):
        table = read(path, options)
    if header is None and table.attrs.get("header") is False:
        table.attrs["notes"].append(
            "the file has no header line; its columns are named x1, ..."
        )
    is_unnamed = (
        index_col is None and table.shape[1] > 1 and table.columns[0] == _UNNAMED
    )
    if is_unnamed and table[_UNNAMED].is_unique:
        _set_index(table, _UNNAMED, path)
        table.index.name = None
        table.attrs.setdefault("notes", []).append(
            "the first column has no heading; it is used as the names of the rows"
        )
    if isinstance(index_col, str) and (
        index_col in table.columns or index_col != table.index.name
    ):
        _set_index(table, index_col, path)
    return table


def check_read_options(
    index_col: Any, header: Any, delimiter: Any, decimal: Any
) -> None:
    """Raise InvalidParameterError if an option for reading files is invalid."""
    none = rule.none
    rule.check(
        header, "header", none | rule.kind(bool, np.bool_, words="True or False")
    )
    rule.check(decimal, "decimal", none | rule.choice(".", ","))
    rule.check(index_col, "index_col", INDEX_COL)
    if delimiter is None:
        return
    if not isinstance(delimiter, str) or not _DELIMITER.fullmatch(delimiter):
        raise InvalidParameterError(
            "delimiter",
            "one character other than a letter, digit, quote or dot",
            delimiter,
        )
    if delimiter == decimal:
        raise InvalidParameterError("delimiter", "different from decimal", delimiter)


def read_names(
    path: Path, table: pd.DataFrame, columns: Sequence[int]
) -> list[list[str]]:
    """Read the columns at the given positions as text, so that 007 and NA are not changed."""
    header = table.attrs.get("header")
    names = []
    for name in table.columns[list(columns)]:
        index = read_quietly(path, index_col=name, header=header).index
        names.append(list(map(str, index)))
    return names


def detect_format(path: Path, formats: dict[str, Format]) -> Format:
    """Return the format for the extension of a file.

    Raise an error if ``formats`` does not contain the extension.
    """
    is_compressed = path.suffix.lower() == ".gz"
    name = path.stem if is_compressed else path.name
    suffix = Path(name).suffix.lower()
    if suffix not in formats or (is_compressed and suffix not in _TEXT_SUFFIXES):
        raise InvalidInputError(
            f"{path.name}: the extension must be one of {', '.join(formats)}, "
            f"got {path.suffix or 'none'}"
        )
    return formats[suffix]


def parse_scalar(text: str) -> Any:
    """Convert a text to the number that Python prints as the same text, if there is one."""
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    if repr(number) == text:
        return number
    return text


def parse_index(values: Sequence[str]) -> Any:
    """Return row names as integers or floats if all of them can be converted, otherwise as text."""
    scalars = [parse_scalar(value) for value in values]
    for kind, array in ((int, np.int64), (float, np.float64)):
        if scalars and all(type(value) is kind for value in scalars):
            try:
                return np.array(scalars, array)
            except OverflowError:
                break
    return list(values)


def exact_float_options() -> dict[str, Any]:
    """Return the options for which ``pandas.read_csv`` parses floats exactly."""
    import pandas as pd

    version = tuple(map(int, pd.__version__.split(".")[:2]))
    if version >= (3, 1):  # This is then the default.
        return {}
    return {"float_precision": "round_trip"}


def _is_any_of(table: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    """Return which cells are equal to one of the texts, or to the number in one of them."""
    # A text that is not a number is parsed as itself.
    return table.isin([*texts, *map(parse_scalar, texts)])


def read_text(path: Path, options: ReadOptions) -> pd.DataFrame:
    """Read a text file."""
    dialect = sniff(path, options.header, options.delimiter, options.decimal)
    return _read_lines(
        path, options.index_col, dialect, options.decimal, options.missing
    )


def _read_lines(
    path: Path,
    index_col: str | bool | None,
    dialect: Dialect,
    decimal: str | None,
    missing: list[str],
) -> pd.DataFrame:
    """Read a text file with the given layout.

    ``decimal`` is the decimal mark set by the user, or None.
    """
    import pandas as pd

    table = _parse_text(path, dialect, **exact_float_options(), na_values=missing)
    if decimal is None and dialect.decimal == "." and not _has_decimals(table):
        # The lines used to detect the decimal mark may contain only integers or quoted decimal
        # commas.
        decimal = choose_decimal(dialect.delimiter, _text_cells(table))
        if decimal == ",":
            return _read_lines(
                path, index_col, replace(dialect, decimal=decimal), decimal, missing
            )
    unnamed = index_col is None and table.shape[1] > 1 and table.columns[0] == _UNNAMED
    names = _UNNAMED if unnamed else index_col
    if dialect.row_names or names in table.columns:
        # Row names are read as text, because pandas would convert 007 to 7 and NA to a missing
        # value.
        texts = _parse_text(path, dialect, dtype=str, keep_default_na=False)
        if dialect.row_names:
            table.index = pd.Index(parse_index(list(texts.index)))
        if names in table.columns and (not unnamed or texts[names].is_unique):
            table[names] = texts[names]
    table.attrs = {"header": dialect.has_header, "notes": []}
    encoding = text_encoding(path)
    if decimal is None:
        table.attrs["notes"] += _note_decimal_commas(path, dialect)
    if dialect.has_header:
        first = _parse_text(
            path, replace(dialect, has_header=False), dtype=str, nrows=1
        )
        table.attrs["notes"] += _note_repeated_names(first.iloc[0].dropna())
    if encoding != "utf-8-sig":
        note = f"the file is not UTF-8; it was read as {_ENCODINGS[encoding]}"
        table.attrs["notes"].append(note)
    return _convert_numbers(table, index_col, dialect.decimal)


def _note_decimal_commas(path: Path, dialect: Dialect) -> list[str]:
    """Return a note if all commas of a file with semicolons may separate thousands."""
    if dialect.decimal != "," or dialect.delimiter != ";":
        return []
    some = _parse_text(path, dialect, dtype=str, nrows=MAX_SAMPLE_CELLS)
    cells = [cell for cells in _text_cells(some) for cell in cells if "," in cell]
    if not cells or not all(map(may_be_thousands, cells)):
        return []
    value = cells[0].replace(",", ".")
    thousands = "if the comma separates thousands, set decimal='.'"
    return [f"read {cells[0]} as {value}; {thousands}"]


def _note_repeated_names(names: Iterable[str]) -> list[str]:
    """Return a note if several columns have the same name, and the names under which they are."""
    counts = Counter(str(name).strip() for name in names)
    repeated = [name for name, count in counts.items() if count > 1]
    return [
        f"{counts[name]} columns are named '{name}'; the second one is now '{name}.1'"
        for name in repeated
    ]


def _parse_text(path: Path, dialect: Dialect, **options: Any) -> pd.DataFrame:
    """Return the cells of a text file; raise an error if its lines have too many or too few."""
    import pandas as pd

    try:
        with open_text(path) as file:
            table = pd.read_csv(
                file,
                sep=r"\s+" if dialect.delimiter == BLANKS else dialect.delimiter,
                decimal=dialect.decimal,
                header=0 if dialect.has_header else None,
                skipinitialspace=True,
                low_memory=False,
                index_col=False if dialect.trailing else None,
                **options,
            )
    except pd.errors.ParserError as error:
        raise InvalidInputError(
            explain_uneven_lines(path, dialect) or str(error)
        ) from error
    # pandas puts additional cells of a line into the index, which should contain only the row name.
    has_index = not isinstance(table.index, pd.RangeIndex)
    is_longer = table.index.nlevels > 1 or (has_index and not dialect.row_names)
    # A line with missing values at its end may be too short.
    is_shorter = (
        dialect.delimiter == BLANKS and table.iloc[:, -1:].isna().to_numpy().any()
    )
    if len(table) and (is_longer or is_shorter):
        problem = explain_uneven_lines(path, dialect)
        if is_longer and problem is None:
            problem = "some lines have more cells than the first one"
        if problem is not None:
            raise InvalidInputError(problem)
    if dialect.has_header:
        names = _make_unique(table.columns)
    else:
        names = _numbered_names(table.shape[1])
    return table.set_axis(pd.Index(names), axis=1)


def _text_columns(table: pd.DataFrame) -> list[Any]:
    return [name for name, dtype in table.dtypes.items() if dtype.kind in "OTU"]


def _has_decimals(table: pd.DataFrame) -> bool:
    """Return whether a column contains fractions, or floats without missing values."""
    floats = table.select_dtypes("float")
    return any(
        not floats[name].hasnans or (floats[name].dropna() % 1 != 0).any()
        for name in floats
    )


def _text_cells(table: pd.DataFrame) -> list[list[str]]:
    return [
        [cell for cell in table[name].unique() if isinstance(cell, str)]
        for name in _text_columns(table)
    ]


def _convert_numbers(
    table: pd.DataFrame, index_col: str | bool | None, decimal: str
) -> pd.DataFrame:
    """Convert text columns to numbers where possible, and remove trailing spaces from others."""
    if table.attrs["header"]:
        _check_second_header(table)
    for name in _text_columns(table):
        if name in (index_col, _UNNAMED):
            continue
        note = read_column(table, name, decimal)
        if note is not None:
            table.attrs["notes"].append(note)
        else:
            table[name] = table[name].map(
                lambda cell: cell.rstrip(" ") if isinstance(cell, str) else cell
            )
    return table


def read_npy(path: Path, options: ReadOptions) -> pd.DataFrame:
    """Read a numeric 2-D array."""
    import pandas as pd

    array = np.asarray(np.load(path, allow_pickle=False))
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"the array must be numeric and 2-D, got {array.dtype} of shape {array.shape}"
        )
    table = pd.DataFrame(array, columns=_numbered_names(array.shape[1]))
    return _mark_missing(table, options)


def read_excel(path: Path, options: ReadOptions) -> pd.DataFrame:
    """Read a sheet without empty rows and columns and titles above the header."""
    import openpyxl
    import pandas as pd

    sheet = options.sheet
    header = options.header

    with zipfile.ZipFile(path) as archive:
        check_compression_ratio(
            path, sum(part.file_size for part in archive.infolist())
        )
        may_be_empty = False
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                content = archive.read(name)
                _check_extent(content)
                may_be_empty |= _EMPTY_FORMULA.search(content) is not None
    book = openpyxl.load_workbook(path, read_only=True)
    states = {each.title: each.sheet_state for each in book.worksheets}
    book.close()
    sheets = [
        name for name, state in states.items() if state == "visible" or name == sheet
    ]
    if not sheets:
        raise InvalidInputError("the file has no visible sheet")
    if sheet is None:
        sheet = sheets[0]
    if sheet not in sheets:
        raise InvalidParameterError("sheet", f"one of {quote_names(sheets, 20)}", sheet)
    if may_be_empty:
        _check_formulas(path, sheet)
    # Cells are read without conversion, so that 007 and a column named NA are not changed.
    table = pd.read_excel(
        path,
        sheet_name=sheet,
        engine="openpyxl",
        header=None,
        dtype=object,
        keep_default_na=False,
        na_values=[""],
    )
    table = table.dropna(how="all").dropna(axis="columns", how="all")
    if header is None and len(table):
        table = _drop_titles(table)
    first_rows = table.head(100).itertuples(index=False)
    rows = [
        ["" if pd.isna(cell) else str(cell).strip() for cell in row]
        for row in first_rows
    ]
    if header is None and rows:
        header = has_header(rows[0], rows[1:])
    if len(table) <= bool(header):
        raise InvalidInputError(f"the sheet {sheet!r} is empty")
    if header:
        names = [name or f"Unnamed: {j}" for j, name in enumerate(rows[0])]
        table = table.iloc[1:]
    else:
        names = _numbered_names(table.shape[1])
    table = table.reset_index(drop=True).set_axis(_make_unique(names), axis=1)
    missing = _is_any_of(table, _MISSING + options.missing)
    table = table.mask(missing).infer_objects()
    table.attrs = {"header": bool(header), "notes": _note_repeated_names(names)}
    if len(sheets) > 1:
        others = quote_names(other for other in sheets if other != sheet)
        note = f"read the sheet {sheet!r}; the file also has {others}"
        table.attrs["notes"].append(note)
    decimal = options.decimal or choose_decimal("\t", _text_cells(table))
    return _convert_numbers(table, options.index_col, decimal)


def _check_extent(content: bytes) -> None:
    """Raise an error if a cell of a sheet is too far from the first one."""
    from openpyxl.utils import column_index_from_string

    places = _CELL_REFERENCE.findall(content)
    columns = {letters.decode() for letters, _ in places}
    n_columns = max(map(column_index_from_string, columns), default=1)
    n_rows = max((int(row) for _, row in places), default=1)
    check_memory(
        _SHEET_CELL_BYTES * n_rows * n_columns,
        f"a sheet of {n_rows:,} rows and {n_columns:,} columns",
        "delete cells that are far from the table, or save the table as CSV",
    )


def _check_second_header(table: pd.DataFrame) -> None:
    """Raise an error if the first row contains headings, so that no column would be numeric.

    This is so if all its cells are text, and at least two columns are numeric without this row.
    """
    if len(table) < 4 or len(_text_columns(table)) < table.shape[1]:
        return
    first = table.iloc[0].dropna()
    if any(looks_like_number(str(cell)) for cell in first):
        return
    below = table.iloc[1:].infer_objects()
    headings = [
        cell
        for name, cell in first.items()
        if below[name].notna().any()
        and all(looks_like_number(str(one)) for one in below[name].dropna().unique())
    ]
    if len(headings) > 1:
        raise InvalidInputError(
            f"the line below the column names contains headings, too ({quote_names(headings, 5)}); "
            "delete one of the two lines"
        )


def _check_formulas(path: Path, sheet: str) -> None:
    """Raise an error if a formula has no stored value, because its cell would be read as empty.

    openpyxl reports the type of such a cell as numeric.
    """
    import openpyxl

    books = [
        openpyxl.load_workbook(path, read_only=True, data_only=flag)
        for flag in (False, True)
    ]
    rows = zip(*(book[sheet].iter_rows() for book in books), strict=True)
    cells = [
        pair for formulas, values in rows for pair in zip(formulas, values, strict=True)
    ]
    for book in books:
        book.close()
    for formula, value in cells:
        if formula.data_type == "f" and value.value is None and value.data_type == "n":
            raise InvalidInputError(
                f"cell {formula.coordinate} contains a formula without a value; "
                "open the file in a spreadsheet program and save it again"
            )


def _drop_titles(table: pd.DataFrame) -> pd.DataFrame:
    """Drop first rows with a single text cell if rows below them have several cells."""
    n_cells = table.notna().sum(axis=1).to_numpy()
    n_titles = int((n_cells > 1).argmax())
    if any(
        looks_like_number(str(cell))
        for cell in table.iloc[:n_titles].to_numpy().ravel()
    ):
        return table
    return table.iloc[n_titles:].dropna(axis="columns", how="all")


def _numbered_names(n: int) -> list[str]:
    return [f"x{j + 1}" for j in range(n)]


def read_parquet(path: Path, options: ReadOptions) -> pd.DataFrame:
    """Read a Parquet file."""
    import pandas as pd

    _check_size(path, "parquet")
    return _clean_columns(pd.read_parquet(path), options)


def read_feather(path: Path, options: ReadOptions) -> pd.DataFrame:
    """Read a Feather file."""
    import pandas as pd

    _check_size(path, "feather")
    return _clean_columns(pd.read_feather(path), options)


def _check_size(path: Path, file_format: str) -> None:
    """Raise an error if the table does not fit into memory."""
    from pyarrow.dataset import dataset

    content = dataset(path, format=file_format)
    check_memory(
        8 * content.count_rows() * len(content.schema),
        "the table",
        "select columns or rows, or cluster the file in blocks",
    )


def _clean_columns(table: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    """Make names unique, convert decimal numbers to floats and mark missing values."""
    import pandas as pd

    table.attrs = {}
    table.columns = pd.Index(_make_unique(table.columns))
    for name in _text_columns(table):
        if pd.api.types.infer_dtype(table[name]) == "decimal":  # SQL type NUMERIC
            table[name] = table[name].astype(float)
    return _mark_missing(table, options)


def _mark_missing(table: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    if options.missing:
        return table.mask(_is_any_of(table, options.missing))
    return table


# The formats of tables by the extensions of files. The program and the studio also read this table.
TABLE_READERS: dict[str, Callable[[Path, ReadOptions], pd.DataFrame]] = {
    **dict.fromkeys(_TEXT_SUFFIXES, read_text),
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".feather": read_feather,
    ".npy": read_npy,
    ".xlsx": read_excel,
}


def table_suffixes() -> list[str]:
    """Return the extensions of all files that `read_table` reads."""
    return [*TABLE_READERS, ".gz"]


def _make_unique(names: Iterable[Any]) -> list[str]:
    """Strip spaces from names, and number repeated names like pandas (a, a.1, a.2)."""
    unique: dict[str, None] = {}
    for name in (str(one).strip() for one in names):
        candidate = name
        number = 0
        while candidate in unique:
            number += 1
            candidate = f"{name}.{number}"
        unique[candidate] = None
    return list(unique)


def _set_index(table: pd.DataFrame, name: str, path: Path) -> None:
    """Make a column the index; numbers stored as text are converted if all cells are numbers."""
    import pandas as pd

    check_columns_exist(table, "index_col", [name], path.name)
    values: Any = table.pop(name).to_numpy()
    if all(isinstance(value, str) for value in values):
        values = parse_index(values)
    table.index = pd.Index(values, name=name)


def check_columns_exist(
    table: pd.DataFrame, argument: str, names: Iterable[Any], what: str = "the table"
) -> None:
    """Raise an error about an argument if a table lacks one of the columns.

    ``what`` names the table in the message.
    """
    unknown = [
        name for name in names if not rule.hashable.test(name) or name not in table
    ]
    if unknown:
        message = (
            f"{argument}: {what} has no column {quote_names(unknown)}; "
            f"it has {quote_names(table.columns, 20) or 'none'}"
        )
        raise InvalidParameterError(argument, message=message)
