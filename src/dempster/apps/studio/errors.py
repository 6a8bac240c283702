"""Define the errors of the studio, and convert errors to HTTP responses with a status for each type of error."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

FOLDER_PREFIX = "dempster-studio-"
# The path of the temporary folder, such as /tmp/dempster-studio-x1/0f/1/, is removed from messages.
_FOLDER = re.compile(rf"[^\s'\"]*{FOLDER_PREFIX}[^\s/\\'\"]+[/\\](?:[0-9a-f]+[/\\])*")


class GoneError(Exception):
    """Raised if the requested session, run or job no longer exists."""


class TooLargeError(Exception):
    """Raised if a request or file is larger than the limit."""


def to_response(error: Exception) -> Response:
    """Return a JSON response with the message and the status of an error."""
    status, message = describe_error(error)
    return JSONResponse({"error": message}, status)


def describe_error(error: Exception) -> tuple[int, str]:
    """Return the HTTP status and the message of an error; print the traceback of an unexpected error."""
    if isinstance(error, GoneError):
        status, message = 404, str(error)
    elif isinstance(error, TooLargeError):
        status, message = 413, str(error)
    elif isinstance(error, ValueError | ImportError):
        status, message = 422, " ".join(str(error).split())
    elif isinstance(error, ClientDisconnect):
        status, message = 400, "The connection was closed before the request was complete."
    elif isinstance(error, OSError):
        reason = error.strerror or str(error)
        status = 422
        message = reason if error.filename is None else f"{Path(str(error.filename)).name}: {reason}"
    elif isinstance(error, MemoryError):
        status, message = 422, "There is not enough memory."
    else:
        traceback.print_exception(error, file=sys.stderr)
        status, message = 500, "Internal error; see the terminal in which the studio was started."
    return status, _FOLDER.sub("", message).encode("utf-8", "replace").decode()
