"""Create the web application of the studio with its page, routes and access control."""

from __future__ import annotations

import atexit
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dempster import __version__
from dempster.apps.map import STATIC_FOLDER
from dempster.apps.studio import (
    clustering,
    export,
    loading,
    reviewing,
    selection,
    teaching,
    views,
)
from dempster.apps.studio.guard import Guard, GuardMiddleware
from dempster.apps.studio.jobs import Workers
from dempster.apps.studio.opening import Sessions, default_folder
from dempster.io.tables import table_suffixes

_STATIC = Path(__file__).parent / "static"
_MODULES = (loading, clustering, views, selection, teaching, reviewing, export)
ROUTES = [route for module in _MODULES for route in module.ROUTES]


def describe_studio() -> dict[str, Any]:
    """Return the methods, the examples, and the formats of files with a table."""
    return {
        "methods": clustering.list_methods(),
        "examples": list(loading.EXAMPLES.items()),
        "table_suffixes": table_suffixes(),
        "table_formats": "CSV, TSV, Excel, Parquet, Feather or NPY",
    }


def make_app(
    guard: Guard, file: Path | None = None, folder: Path | None = None
) -> Starlette:
    """Return the web application.

    Each new browser tab loads the table ``file``. Sessions are saved in ``folder``.
    """
    page = (_STATIC / "index.html").read_text(encoding="utf-8")

    page = page.replace("{{token}}", guard.token).replace("{{version}}", __version__)

    async def index(request: Request) -> Response:
        response = HTMLResponse(page)
        response.set_cookie(
            guard.cookie, guard.token, httponly=True, samesite="strict", path="/"
        )
        return response

    async def about(request: Request) -> Response:
        return JSONResponse(describe_studio())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        # Close the sessions even if the server is not shut down properly.
        atexit.register(app.state.sessions.close)
        app.state.workers.prepare()
        yield
        app.state.sessions.close()

    routes = [
        Route("/", index),
        Route("/api/about", about),
        *ROUTES,
        Mount("/static/map", StaticFiles(directory=STATIC_FOLDER)),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(GuardMiddleware, guard=guard)],
        lifespan=lifespan,
    )
    app.state.workers = Workers()
    app.state.sessions = Sessions(app.state.workers, folder or default_folder())
    app.state.file = file
    return app
