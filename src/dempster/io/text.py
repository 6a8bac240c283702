"""Open text files (encoding, compression) and split their lines into cells."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from dempster._errors import InvalidInputError

BLANKS = " "  # delimiter that stands for any number of spaces and tabs
MAX_LINE_CHARACTERS = 1 << 24
_SAMPLE_BYTES = 1 << 22
# Larger files with a higher compression ratio are rejected.
_MAX_SAFE_BYTES = 100 << 20
_MAX_RATIO = 200
_BLANK_SEPARATED_CELL = re.compile(
    r'"(?:[^"]|"")*"(?=[ \t\r\n]|$)|[^ \t\r\n]+|\r\n|[\r\n]'
)
_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"')
_OPENING_QUOTE = re.compile(r'(?:^|[,;\t| \r\n])"')
_NON_ASCII_LETTERS = re.compile(r"[^\W\d_\x00-\x7f]+")
# control characters, or letters of Western languages in UTF-8
_NOT_WINDOWS_1252 = re.compile(
    rb"[\x01-\x08\x0e-\x1f]|[\xc2\xc3][\x80-\xbf]|[\xe2-\xe9\xef][\x80-\xbf]{2}"
)
_SEPARATOR_LINE = re.compile(r'\s*"?sep=.?"?\s*', re.IGNORECASE)


def open_text(path: Path) -> IO[str]:
    """Open a file as text with its `text_encoding`, and decompress it if its name ends in .gz.

    Single carriage returns are converted to line feeds, because pandas does not always support
    them. Other line ends are not changed. A first line such as ``sep=;``, an instruction for
    spreadsheet programs, is skipped.
    """
    encoding = text_encoding(path)
    with _open(path, "rt", encoding=encoding, newline="") as file:
        first_line = file.readline(_SAMPLE_BYTES)
    newline: str | None = ""
    if first_line.endswith("\r"):
        newline = None
    file = _open(path, "rt", encoding=encoding, newline=newline)
    if _SEPARATOR_LINE.fullmatch(first_line):
        file.readline()
    return file


def text_encoding(path: Path) -> str:
    """Return the encoding: UTF-8, UTF-16 (with a byte order mark) or Windows-1252."""
    with _open(path, "rb") as file:
        head = file.read(_SAMPLE_BYTES)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        if _is_western(head):
            return "cp1252"
    return "utf-8-sig"


def _is_western(head: bytes) -> bool:
    """Return whether bytes may be Windows-1252 text, with few runs of non-ASCII letters."""
    runs = _NON_ASCII_LETTERS.findall(head.decode("cp1252", "replace"))
    n_letters = sum(map(len, runs))
    n_in_long_runs = sum(len(run) for run in runs if len(run) > 2)
    return 2 * n_in_long_runs <= n_letters and _NOT_WINDOWS_1252.search(head) is None


def _open(path: Path, mode: Any, **options: Any) -> Any:
    if path.suffix.lower() != ".gz":
        return open(path, mode, **options)
    file = io.BufferedReader(LimitedReader(path, gzip.open))
    if mode == "rb":
        return file
    return io.TextIOWrapper(file, **options)


class LimitedReader(io.RawIOBase):
    """Content of a compressed file, possibly of several parts; raise an error if it is too large.

    ``open_file`` is the function that opens it. The sizes that are stored in the file may be wrong.
    """

    def __init__(self, path: Path, open_file: Callable[[Path], Any]):
        self._path = path
        self._file = open_file(path)
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_bytes = self._file.readinto(buffer)
        self._n_bytes += n_bytes
        check_compression_ratio(self._path, self._n_bytes)
        return n_bytes

    def close(self) -> None:
        self._file.close()
        super().close()


def check_compression_ratio(path: Path, size: int) -> None:
    """Raise an error if the ``size`` bytes in a compressed file would fill the memory."""
    n_bytes = path.stat().st_size
    if size > _MAX_SAFE_BYTES and size > _MAX_RATIO * n_bytes:
        raise InvalidInputError(
            f"over {size >> 20:,} MB of content are implausible for a file of {n_bytes:,} bytes"
        )


def split_cells(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Return the cells of each nonempty line, without quotation marks.

    Non-breaking and thin spaces are not delimiters, because they occur inside numbers.
    """
    if delimiter == BLANKS:
        return _split_at_blanks("".join(lines))
    limit = csv.field_size_limit(MAX_LINE_CHARACTERS)
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    finally:
        csv.field_size_limit(limit)
    return [row for row in rows if row and row != [""]]


def _split_at_blanks(text: str) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    for cell in _BLANK_SEPARATED_CELL.findall(text):
        if cell in ("\n", "\r", "\r\n"):
            rows.append([])
            continue
        if _QUOTED_CELL.fullmatch(cell):
            cell = cell[1:-1].replace('""', '"')
        rows[-1].append(cell)
    return [row for row in rows if row]


def has_open_quote(text: str) -> bool:
    """Return whether the text ends inside a quoted cell."""
    return _OPENING_QUOTE.search(_QUOTED_CELL.sub("", text)) is not None
