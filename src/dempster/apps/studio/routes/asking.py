"""From a request to a plain function of a session and what was given, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dempster._errors import InvalidInputError
from dempster._validation import Rule, check, is_integer, kind
from dempster.apps.studio.errors import TooLargeError, in_words
from dempster.apps.studio.packing import MEDIA_TYPE
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session

__all__ = ["Given", "answer", "as_file", "from_json", "route", "read_body", "run_of", "whole"]

Given = dict[str, Any]
_MOST_BYTES = 32 << 20  # of a question; files have a limit of their own
_MOST_DIGITS = 18

_TEXTS = Rule("a list of texts", lambda v: isinstance(v, list) and all(isinstance(one, str) for one in v))
_POSITIONS = Rule("a list of whole numbers", lambda v: isinstance(v, list) and all(map(is_integer, v)))
# what the parts of a question must be that are more than a word or a number
_KINDS = {
    "columns": _TEXTS,
    "categories": _TEXTS,
    "positions": _POSITIONS,
    "start": _POSITIONS,
    "parameters": kind(dict, words="values by the names of parameters"),
}


def route(path: str, function: Callable[[Session, Given], Any], method: str = "GET") -> Route:
    """A question of a session: ``function`` is called in a thread with the session and all that was given, in the
    address, as a JSON object (POST) or as ``bytes`` (PUT)."""

    async def endpoint(request: Request) -> Response:
        try:
            session = request.app.state.sessions.get(request.path_params["session"])
            given = await _given(request, method) | request.path_params
            return answer(await run_in_threadpool(function, session, given))
        except Exception as error:
            return in_words(request, error)

    return Route(f"/api/sessions/{{session}}{path}", endpoint, methods=[method])


def answer(found: Any) -> Response:
    """Arrays as bytes, everything else as JSON."""
    if isinstance(found, Response):
        return found
    if isinstance(found, bytes):
        return Response(found, media_type=MEDIA_TYPE)
    return JSONResponse(found)


async def read_body(request: Request, most: int) -> bytes:
    """The body, refused as soon as it is larger than it may be."""
    pieces, total = [], 0
    async for piece in request.stream():
        total += len(piece)
        if total > most:
            raise TooLargeError(f"This is larger than {most >> 20} MB, which is the most that is taken.")
        pieces.append(piece)
    return b"".join(pieces)


async def _given(request: Request, method: str) -> Given:
    if method == "POST":
        return _parsed(await read_body(request, _MOST_BYTES))
    given: Given = dict(request.query_params)
    return given | {"bytes": await read_body(request, _MOST_BYTES)} if method == "PUT" else given


def _parsed(body: bytes) -> Given:
    found = from_json(body or b"{}", "the request")
    if not isinstance(found, dict):
        raise InvalidInputError("the request must be a JSON object")
    for name, value in found.items():
        if name in _KINDS and value is not None:
            check(value, name, _KINDS[name])
    return found


def from_json(text: bytes | str, what: str) -> Any:
    """Numbers and text that can be written again; anything else is refused."""
    try:
        found = json.loads(text, parse_constant=_no_number, parse_int=_small, parse_float=_finite)
        json.dumps(found, ensure_ascii=False).encode()  # halves of characters, which no answer could be written with
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{what} is no JSON of numbers and text that can be written again") from error
    return found


def _no_number(word: str) -> Any:
    raise InvalidInputError(f"{word} is no number of JSON")


def _small(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InvalidInputError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _no_number(digits)


def as_file(content: bytes | str, name: str, media_type: str = MEDIA_TYPE) -> Response:
    """Something to save under a name."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type=media_type, headers=headers)


def run_of(session: Session, given: Given) -> Run:
    """The run that is asked about."""
    return session.run(str(given["run"]))


def whole(given: Given, name: str) -> int:
    """A whole number among what was given."""
    try:
        return int(given[name])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be a whole number, got {given.get(name)!r}") from error
