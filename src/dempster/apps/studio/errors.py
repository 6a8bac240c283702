"""What goes wrong, and how the page is told."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from dempster.apps.studio.folders import without_folders

__all__ = ["GoneError", "TooLargeError", "in_words", "words_for"]

_INSIDE = "Something went wrong inside. The terminal in which the studio was started shows where."


class GoneError(Exception):
    """A session, a run or a piece of work that is not there any more."""


class TooLargeError(Exception):
    """More bytes than are taken."""


def in_words(request: Request, error: Exception) -> Response:
    """One line for the page."""
    status, words = words_for(error)
    return JSONResponse({"error": words}, status)


def words_for(error: Exception) -> tuple[int, str]:
    """Status and words; what is no fault of the person goes to the terminal, with its place."""
    if isinstance(error, GoneError):
        status, words = 404, str(error)
    elif isinstance(error, TooLargeError):
        status, words = 413, str(error)
    elif isinstance(error, ValueError | ImportError):
        status, words = 422, without_folders(" ".join(str(error).split()))
    elif isinstance(error, ClientDisconnect):
        status, words = 400, "The request ended before all of it had come."
    elif isinstance(error, OSError):
        status, words = 422, _of_the_system(error)
    elif isinstance(error, MemoryError):
        status, words = 422, "There is not enough memory for this."
    else:
        traceback.print_exception(error, file=sys.stderr)
        status, words = 500, _INSIDE
    return status, words.encode("utf-8", "replace").decode()


def _of_the_system(error: OSError) -> str:
    """A file that was moved, a disk that is full: the file by its name alone, and why."""
    reason = error.strerror or str(error)
    return without_folders(reason if error.filename is None else f"{Path(str(error.filename)).name}: {reason}")
