"""Files as text: their encoding, and whether they are compressed."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from pathlib import Path
from typing import IO

from dempster._errors import InvalidInputError

__all__ = ["open_text", "text_encoding"]

_BEYOND_ASCII = re.compile(r"[^\W\d_\x00-\x7f]+")
# letters of the west in UTF-8, and the mark that files begin with
_UTF_8 = re.compile(rb"^\xef\xbb\xbf|[\xc2\xc3][\x80-\xbf]|[\xe2-\xe9][\x80-\xbf]{2}")
_LOOKED_AT = 1 << 22  # bytes that tell the encoding
_LARGE_TEXT, _LARGEST_RATIO = 100 << 20, 200  # a table never shrinks as much as this when it is compressed


def open_text(path: str | os.PathLike[str]) -> IO[str]:
    """The file as text (see `text_encoding`), decompressed if its name ends in .gz. Lines end as they are written; if
    the first ends with a carriage return alone, which readers understand in part, all end with a line feed."""
    encoding = text_encoding(path)
    zipped = Path(path).suffix.lower() == ".gz"
    if zipped:
        _check_ratio(Path(path))

    def opened(newline: str | None) -> IO[str]:
        if zipped:
            return gzip.open(path, "rt", encoding=encoding, newline=newline)
        return open(path, encoding=encoding, newline=newline)

    file = opened("")
    try:
        alone = file.readline(_LOOKED_AT).endswith("\r")
    except (UnicodeError, OSError, EOFError, zlib.error):
        alone = False  # the reader will say what is wrong with the file
    file.close()
    return opened(None if alone else "")


def text_encoding(path: str | os.PathLike[str]) -> str:
    """UTF-8, with or without byte order mark; UTF-16 with one; or Windows-1252, which spreadsheets write in the west,
    where the beginning is not UTF-8 but would be plain text so."""
    unpacked = gzip.open if Path(path).suffix.lower() == ".gz" else open
    with unpacked(path, "rb") as file:
        try:
            head = file.read(_LOOKED_AT)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return "utf-8-sig"  # the reader will say what is wrong with the file
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252" if _is_western(head) else "utf-8-sig"
    return "utf-8-sig"


def _is_western(head: bytes) -> bool:
    """Whether bytes are text of Windows-1252: none that no text has, and letters beyond ASCII mostly among others, as
    those of other alphabets are not."""
    try:
        text = head.decode("cp1252")
    except UnicodeDecodeError:
        return False
    strange = sum(not (c.isprintable() or c in "\t\r\n\xa0") for c in text)
    runs = [len(run) for run in _BEYOND_ASCII.findall(text)]
    return strange == 0 and _UTF_8.search(head) is None and 2 * sum(n for n in runs if n > 2) <= sum(runs)


def _check_ratio(path: Path) -> None:
    """A file made to fill the memory of those who open it says so in its last four bytes."""
    packed = path.stat().st_size
    with open(path, "rb") as file:
        file.seek(max(0, packed - 4))
        size = int.from_bytes(file.read(4), "little")
    if size > _LARGE_TEXT and size > _LARGEST_RATIO * packed:
        raise InvalidInputError(
            f"it would take {size / (1 << 30):.1f} GB of text from {packed:,} bytes: this is not a table"
        )
