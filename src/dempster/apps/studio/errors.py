"""Errors of the studio, and what the page is told of any error: the type decides the status."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from dempster.apps.studio.worker import without_folders

_INSIDE = "Something went wrong inside. The terminal in which the studio was started shows where."


class GoneError(Exception):
    """A session, a run or a job that does not exist any more."""


class TooLargeError(Exception):
    """A request of more bytes than are taken."""


def to_response(error: Exception) -> Response:
    """Respond with one line for the page."""
    status, words = describe_error(error)
    return JSONResponse({"error": words}, status)


def describe_error(error: Exception) -> tuple[int, str]:
    """Return status and words; errors that are no fault of the person go to the terminal, with their place."""
    if isinstance(error, GoneError):
        status, words = 404, str(error)
    elif isinstance(error, TooLargeError):
        status, words = 413, str(error)
    elif isinstance(error, ValueError | ImportError):
        status, words = 422, without_folders(" ".join(str(error).split()))
    elif isinstance(error, ClientDisconnect):
        status, words = 400, "The request ended before all of it had come."
    elif isinstance(error, OSError):
        reason = error.strerror or str(error)
        status = 422
        words = without_folders(reason if error.filename is None else f"{Path(str(error.filename)).name}: {reason}")
    elif isinstance(error, MemoryError):
        status, words = 422, "There is not enough memory for this."
    else:
        traceback.print_exception(error, file=sys.stderr)
        status, words = 500, _INSIDE
    return status, words.encode("utf-8", "replace").decode()
