"""Route requests to functions of a session or run, and convert their results to responses."""

from __future__ import annotations

import json
from asyncio import wait_for
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote

from starlette import concurrency
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dempster._errors import InvalidParameterError
from dempster._native import HAS_THREADS
from dempster._text import to_plain
from dempster.apps.map import MEDIA_TYPE
from dempster.apps.studio.errors import BadRequestError, ConflictError, to_response
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.saving import (
    OPENED_ELSEWHERE,
    check_revision,
    save_session,
)
from dempster.apps.studio.sessions import Run, Session

Result = TypeVar("Result")

CSV = "text/csv; charset=utf-8"
PAGE_HEADER = "x-dempster-page"  # identifier of the page that sends the request
MAX_PAUSE_SECONDS = 30  # maximum time between two chunks of a request
# types of the elements of lists in a request
_ELEMENTS = {
    "columns": str,
    "categories": str,
    "positions": int,
    "start": int,
    "labels": dict,
    "conditions": dict,
}


def async_route(
    path: str, function: Callable[[Request], Awaitable[Any]], method: str = "GET"
) -> Route:
    """Return a route that answers requests by ``await function(request)``.

    A result other than bytes or a response is converted to JSON.
    """

    async def endpoint(request: Request) -> Response:
        try:
            content = await function(request)
            if isinstance(content, bytes):  # packed arrays
                return Response(content, media_type=MEDIA_TYPE)
            if isinstance(content, Response):
                return content
            return JSONResponse(to_plain(content))
        except Exception as error:
            return to_response(error)

    return Route(path, endpoint, methods=[method])


def route(
    path: str, function: Callable[[Session, Json], Any], method: str = "GET"
) -> Route:
    """Return a route that answers requests by ``function(session, params)``, called in a thread.

    Requests other than GET may change the session, which is saved afterwards.
    """

    def change(session: Session, params: Json, request: Request) -> Any:
        check_page(session, request)
        content = function(session, params)
        save_session(session)
        return content

    def read(session: Session, params: Json, request: Request) -> Any:
        return function(session, params)

    return _session_route(path, read if method == "GET" else change, method)


def _session_route(
    path: str, function: Callable[[Session, Json, Request], Any], method: str
) -> Route:
    async def answer(request: Request) -> Any:
        session = request.app.state.sessions.get(request.path_params["session"])
        params = await read_params(request)
        params.update(request.path_params)
        return await run_in_thread(function, session, params, request)

    return async_route(f"/api/sessions/{{session}}{path}", answer, method)


async def run_in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a thread, so that other requests are answered in the meantime."""
    if not HAS_THREADS:
        return function(*arguments)
    return await concurrency.run_in_threadpool(function, *arguments)


def check_page(session: Session, request: Request) -> None:
    """Raise an error if another page or another studio has opened or changed the session."""
    if request.headers.get(PAGE_HEADER) != session.page:
        raise ConflictError(OPENED_ELSEWHERE)
    check_revision(session)


def run_route(
    path: str, function: Callable[[Run, Json], Any], method: str = "GET"
) -> Route:
    """Return a route that answers requests about a run by ``function(run, params)``."""

    def read(session: Session, params: Json, request: Request) -> Any:
        return function(session.get_run(params["run"]), params)

    return _session_route(f"/runs/{{run}}{path}", read, method)


def download(content: bytes | str, name: str, media_type: str = MEDIA_TYPE) -> Response:
    """Return a response that the browser saves as a file."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type=media_type, headers=headers)


class Params(Json):
    """Parameters of a request; a missing one raises an error."""

    def __missing__(self, name: str) -> NoReturn:
        raise BadRequestError(f"the parameter {name} is missing")


async def read_params(request: Request) -> Params:
    """Return the parameters in the address or the body of a request."""
    body = b"".join([chunk async for chunk in read_chunks(request)])
    if request.method != "POST":
        return Params({**request.query_params, "bytes": body})
    try:
        params = json.loads(body or b"{}")
    except ValueError as error:
        raise BadRequestError("the parameters are not JSON") from error
    if not isinstance(params, dict):
        raise BadRequestError("the parameters must be a JSON object")
    for name, kind in _ELEMENTS.items():
        value = params.get(name, [])
        if not isinstance(value, list) or not all(
            isinstance(one, kind) for one in value
        ):
            raise BadRequestError(f"{name} must be a list of {kind.__name__}")
    if not isinstance(params.get("parameters") or {}, dict):
        raise BadRequestError("parameters must be an object")
    return Params(params)


async def read_chunks(request: Request) -> AsyncIterator[bytes]:
    """Yield the chunks of the body of a request; raise an error if one takes too long."""
    chunks = request.stream()
    while True:
        try:
            yield await wait_for(anext(chunks), MAX_PAUSE_SECONDS)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise BadRequestError("the request is too slow") from error


def parse_integer(
    params: Json, name: str, bounds: tuple[int, int] | None = None
) -> int:
    """Return an integer parameter given as a number or text.

    It must be in ``range(*bounds)`` if bounds are given.
    """
    value: Any = params.get(name)
    expected = "an integer"
    if bounds is not None:
        expected += f" from {bounds[0]} to {bounds[1] - 1}"
    try:
        number = int(value)
        is_valid = number == float(value) and (
            bounds is None or number in range(*bounds)
        )
    except (TypeError, ValueError, OverflowError):
        is_valid = False
    if not is_valid:
        raise InvalidParameterError(name, expected, value)
    return number


def parse_positions(params: Json, name: str, n: int) -> list[int]:
    """Return a parameter that contains positions of n objects."""
    positions = params[name]
    if not all(0 <= i < n for i in positions):
        raise InvalidParameterError(name, f"integers from 0 to {n - 1}", positions)
    return positions
