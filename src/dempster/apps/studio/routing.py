"""Routes from requests to plain functions of a session and parameters, and from what they return to responses."""

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

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import Rule, check, is_integer, kind
from dempster.apps.map import MEDIA_TYPE
from dempster.apps.studio.errors import TooLargeError, to_response
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session

Params = dict[str, Any]
MAX_BODY_BYTES = 32 << 20  # uploaded tables have a limit of their own
MAX_DIGITS = 18

_TEXTS = Rule("a list of texts", lambda v: isinstance(v, list) and all(isinstance(one, str) for one in v))
_POSITIONS = Rule("a list of whole numbers", lambda v: isinstance(v, list) and all(map(is_integer, v)))
_RULES = {
    "columns": _TEXTS,
    "categories": _TEXTS,
    "positions": _POSITIONS,
    "start": _POSITIONS,
    "parameters": kind(dict, words="values by the names of parameters"),
}


def route(path: str, function: Callable[[Session, Params], Any], method: str = "GET") -> Route:
    """Route requests of a session to a function, which is called in a thread with the session and all parameters: those
    in the address, and the body, a JSON object (POST) or ``bytes`` (PUT)."""

    async def endpoint(request: Request) -> Response:
        try:
            session = request.app.state.sessions.get(request.path_params["session"])
            params = await _read_params(request, method) | request.path_params
            return answer(await run_in_threadpool(function, session, params))
        except Exception as error:
            return to_response(error)

    return Route(f"/api/sessions/{{session}}{path}", endpoint, methods=[method])


def run_route(path: str, function: Callable[[Run, Params], Any], method: str = "GET") -> Route:
    """Route requests about a run to a function of the run and all parameters."""
    return route(f"/runs/{{run}}{path}", lambda session, params: function(session.run(params["run"]), params), method)


def answer(content: Any) -> Response:
    """Respond with arrays as bytes, everything else as JSON."""
    if isinstance(content, Response):
        return content
    if isinstance(content, bytes):
        return Response(content, media_type=MEDIA_TYPE)
    return JSONResponse(content)


def as_file(content: bytes | str, name: str, media_type: str = MEDIA_TYPE) -> Response:
    """Respond with something to save under a name."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type=media_type, headers=headers)


async def _read_params(request: Request, method: str) -> Params:
    params: Params = dict(request.query_params)
    if method in ("POST", "PUT"):
        body = await _read_body(request)
        return _parse_body(body) if method == "POST" else params | {"bytes": body}
    return params


async def _read_body(request: Request) -> bytes:
    """Read the body; refuse it as soon as it is too large."""
    pieces, total = [], 0
    async for piece in request.stream():
        total += len(piece)
        if total > MAX_BODY_BYTES:
            raise TooLargeError(f"This is larger than {MAX_BODY_BYTES >> 20} MB, which is the most that is taken.")
        pieces.append(piece)
    return b"".join(pieces)


def _parse_body(body: bytes) -> Params:
    params = parse_json(body or b"{}", "the request")
    if not isinstance(params, dict):
        raise InvalidInputError("the request must be a JSON object")
    for name, value in params.items():
        if name in _RULES and value is not None:
            check(value, name, _RULES[name])
    return params


def parse_json(text: bytes | str, name: str) -> Any:
    """Parse JSON of finite numbers and of text that can be encoded; refuse anything else."""
    try:
        found = json.loads(text, parse_constant=_refuse_number, parse_int=_parse_int, parse_float=_parse_float)
        json.dumps(found, ensure_ascii=False).encode()  # no response could be written with lone surrogates
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not JSON of finite numbers and text that can be encoded") from error
    return found


def _refuse_number(word: str) -> Any:
    raise ValueError(word)


def _parse_int(digits: str) -> int:
    return int(digits) if len(digits) <= MAX_DIGITS else _refuse_number(digits)


def _parse_float(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse_number(digits)


def parse_integer(value: Any, name: str) -> int:
    """Return a whole number, which may be given as text."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameterError(name, "a whole number", value) from error
    if not number.is_integer():
        raise InvalidParameterError(name, "a whole number", value)
    return int(number)
