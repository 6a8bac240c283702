"""What readers and writers of files raise, in words that name the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dempster._errors import InvalidInputError

__all__ = ["OTHERWISE", "failure_in_words", "missing_openpyxl", "missing_pyarrow", "unwritable"]

OTHERWISE = "set delimiter if something else separates the columns (delimiter=';' for a single one)"
_IN_WORDS = {  # what pandas says, and what it means
    "^could not convert string to float: (.*)": r"\1 stands where a number must be",
    r"^Error tokenizing data. C error: Expected (\d+) fields in line (\d+), saw (\d+)": (
        rf"line \2 has \3 cells, those before have \1: {OTHERWISE}"
    ),
    r"^Error tokenizing data. C error: EOF inside string starting at row (\d+)": (
        r"a quotation mark that is opened in the object after the first \1 is never closed"
    ),
}


@contextmanager
def failure_in_words(path: Path) -> Iterator[None]:
    """Turn what readers raise on damaged files into a ValueError of one line that names the file."""
    try:
        yield
    except ImportError as error:
        raise (missing_openpyxl(path) if path.suffix.lower() == ".xlsx" else missing_pyarrow(path)) from error
    except UnicodeError as error:
        raise InvalidInputError(f"cannot read {path.name}: this is not UTF-8 text; save it as UTF-8") from error
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # the file system failed, not the content
        words = " ".join(str(error).split()) or type(error).__name__
        for pattern, told in _IN_WORDS.items():
            words = re.sub(pattern, told, words)
        raise InvalidInputError(f"cannot read {path.name}: {words}") from error


def unwritable(path: Path, error: UnicodeEncodeError) -> ValueError:
    lacking = error.object[error.start : error.end].encode("unicode_escape").decode()
    return ValueError(f"cannot write {path.name}: a name holds a character that UTF-8 lacks, {lacking}")


def missing_pyarrow(path: Path) -> ImportError:
    return ImportError(f"{path.name}: files of this kind need pyarrow (pip install 'dempster[parquet]')")


def missing_openpyxl(path: Path) -> ImportError:
    return ImportError(f"{path.name}: spreadsheets need openpyxl (pip install 'dempster[excel]'), or save it as CSV")
