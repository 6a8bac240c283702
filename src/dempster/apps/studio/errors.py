"""Define the errors of the studio, and convert errors to HTTP responses."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from dempster.apps.hints import rewrite_message

FOLDER_PREFIX = "dempster-studio-"
# The path of a folder of a session, such as ~/.cache/dempster/dempster-studio-sessions/0f/1/, is
# removed from messages.
_FOLDER = re.compile(rf"[^\s'\"]*{FOLDER_PREFIX}[^\s/\\'\"]+[/\\](?:[0-9a-f]+[/\\])*")


class GoneError(ValueError):
    """Raised if the requested session, run or job no longer exists."""

    status = 404


class ConflictError(ValueError):
    """Raised if another page or another studio has opened or changed the session."""

    status = 409


class TooLargeError(ValueError):
    """Raised if a request or file is larger than the limit."""

    status = 413


class BadRequestError(ValueError):
    """Raised if the parameters of a request are missing, slow to arrive, or of a wrong type."""

    status = 400


def to_response(error: Exception) -> Response:
    """Return a JSON response with the message and the status of an error."""
    status, message = describe_error(error)
    headers = None
    if status == 400:
        headers = {"connection": "close"}
    return JSONResponse({"error": message}, status, headers)


def describe_error(error: Exception) -> tuple[int, str]:
    """Return the HTTP status and the message of an error.

    Print the traceback of an unexpected error.
    """
    status = getattr(error, "status", 422)
    message = " ".join(str(error).split())
    if isinstance(error, ClientDisconnect):
        status = 400
        message = "The connection was closed before the request was complete."
    elif isinstance(error, MemoryError):
        message = "There is not enough memory."
    elif isinstance(error, OSError):
        message = error.strerror or str(error)
        if error.filename is not None:
            message = f"{Path(str(error.filename)).name}: {message}"
    elif not isinstance(error, ValueError | ImportError):
        traceback.print_exception(error, file=sys.stderr)
        status = 500
        message = "Internal error; see the terminal in which the studio was started."
    message = rewrite_for_page(_FOLDER.sub("", message))
    return status, message.encode("utf-8", "replace").decode()


def rewrite_for_page(message: str) -> str:
    """Replace arguments in a message of the library by the labels of fields."""

    def render(name: str, value: Any) -> str | None:
        if value is None:
            return name.replace("_", " ")
        return None

    return rewrite_message(" ".join(message.split()), render)
