"""Route requests to functions of a session or run, and convert their results to responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dempster._errors import InvalidParameterError
from dempster._text import to_plain
from dempster.apps.map import MEDIA_TYPE
from dempster.apps.studio.errors import to_response
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.saving import save_session
from dempster.apps.studio.sessions import Run, Session


def route(
    path: str, function: Callable[[Session, Json], Any], method: str = "GET"
) -> Route:
    """Return a route that answers requests by ``function(session, params)``, called in a thread.

    A result other than bytes or a response is converted to JSON.
    """

    async def endpoint(request: Request) -> Response:
        try:
            session = request.app.state.sessions.get(request.path_params["session"])
            params = await read_params(request, method) | request.path_params
            content = await run_in_threadpool(function, session, params)
            if method != "GET":
                await run_in_threadpool(save_session, session)
            if isinstance(content, bytes):  # packed arrays
                return Response(content, media_type=MEDIA_TYPE)
            if isinstance(content, Response):
                return content
            return JSONResponse(to_plain(content))
        except Exception as error:
            return to_response(error)

    return Route(f"/api/sessions/{{session}}{path}", endpoint, methods=[method])


def run_route(
    path: str, function: Callable[[Run, Json], Any], method: str = "GET"
) -> Route:
    """Return a route that answers requests about a run by ``function(run, params)``."""
    return route(
        f"/runs/{{run}}{path}",
        lambda session, params: function(session.get_run(params["run"]), params),
        method,
    )


def download(content: bytes | str, name: str, media_type: str = MEDIA_TYPE) -> Response:
    """Return a response that the browser saves as a file."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type=media_type, headers=headers)


async def read_params(request: Request, method: str) -> Json:
    """Return the parameters in the address or the body of a request."""
    if method not in ("POST", "PUT"):
        return dict(request.query_params)
    body = await request.body()
    if method == "PUT":
        return {**request.query_params, "bytes": body}
    return json.loads(body or b"{}")


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
