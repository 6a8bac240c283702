"""Load a table: from a file of the person, an example, or the one that the studio was started with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dempster._errors import InvalidInputError
from dempster.apps.studio.errors import TooLargeError, to_response
from dempster.apps.studio.routing import Params, answer, route
from dempster.apps.studio.runs import Source
from dempster.apps.studio.sessions import Session, safe_name

MAX_UPLOAD_BYTES = 1 << 30  # bytes
_READING = ("header", "delimiter", "decimal", "index_col")

EXAMPLES = {
    "iris": "150 flowers, 4 measurements, 3 species",
    "wine": "178 wines, 13 chemical measurements, 3 growers",
    "fourclass": "400 objects in the plane, four clusters that overlap",
    "bananas": "2,000 objects in the plane, two bent clusters",
    "butterfly": "12 objects: two wings, one in between, one far away",
}


def load_file(session: Session, path: Path, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Read a table in a process of its own; the session takes it when it is there."""

    def finish(table: Any, warnings: list[str]) -> dict[str, Any]:
        source = Source(path, name, options, table, warnings)
        about = source.describe()
        session.take(source)
        return about

    return {"job": session.start("load", "load", {"path": str(path), "options": options}, finish).describe()}


async def _upload(request: Request) -> Response:
    """A file of the person, written as it comes; never more of it in memory than a piece."""
    try:
        session = request.app.state.sessions.get(request.path_params["session"])
        name = safe_name(request.query_params.get("name", "table.csv"))
        path = session.new_file(name)
        total = 0
        with open(path, "wb") as file:
            async for piece in request.stream():
                total += len(piece)
                if total > MAX_UPLOAD_BYTES:
                    raise TooLargeError(
                        f"The file is larger than {MAX_UPLOAD_BYTES >> 20:,} MB. Start the studio with its path "
                        "instead: dempster studio FILE"
                    )
                await run_in_threadpool(file.write, piece)
        return JSONResponse(load_file(session, path, name, {}))
    except Exception as error:
        return to_response(error)


def _example(session: Session, params: Params) -> dict[str, Any]:
    name = str(params.get("name"))
    if name not in EXAMPLES:
        raise InvalidInputError(f"there is no example {name!r}; there are {', '.join(EXAMPLES)}")
    path = session.new_file(f"{name}.csv")
    _example_table(name).to_csv(path, index=False)
    return load_file(session, path, path.name, {})


def _example_table(name: str) -> Any:
    from dempster import datasets

    if name == "bananas":
        import pandas as pd

        X, y = datasets.make_bananas(2000, random_state=0)
        return pd.DataFrame(X, columns=["x1", "x2"]).assign(banana=[f"banana {k + 1}" for k in y])
    load = {"fourclass": datasets.load_example, "iris": datasets.load_iris, "wine": datasets.load_wine}
    if name == "butterfly":
        return datasets.load_butterfly(as_frame=True).data
    bunch = load[name](as_frame=True)
    classes = {"iris": "species", "wine": "grower", "fourclass": "quarter"}[name]
    names = [str(one) for one in bunch.target_names]
    return bunch.data.assign(**{classes: [names[int(k)] for k in bunch.target]})


def _reload(session: Session, params: Params) -> dict[str, Any]:
    """The same file, read in another way."""
    source = session.table()
    options = {name: params[name] for name in _READING if params.get(name) not in (None, "")}
    return load_file(session, source.path, source.name, options)


def _describe(session: Session, params: Params) -> dict[str, Any]:
    return session.describe()


def _job(session: Session, params: Params) -> dict[str, Any]:
    return session.job(params["job"]).describe()


def _stop(session: Session, params: Params) -> dict[str, Any]:
    job = session.job(params["job"])
    job.stop()
    return job.describe()


async def _open(request: Request) -> Response:
    """A new tab, with the file that the studio was started with."""
    try:
        session = request.app.state.sessions.new()
        started = {}
        if request.app.state.file is not None:
            file: Path = request.app.state.file
            started = await run_in_threadpool(load_file, session, file.absolute(), file.name, {})
        return answer({"session": session.describe(), **started})
    except Exception as error:
        return to_response(error)


def _keep_settings(session: Session, params: Params) -> dict[str, Any]:
    """What was chosen on the page, so that it is there when it is loaded again."""
    session.settings = {key: value for key, value in params.items() if key not in ("session",)}
    return {}


ROUTES = [
    Route("/api/sessions", _open, methods=["POST"]),
    Route("/api/sessions/{session}/file", _upload, methods=["PUT"]),
    route("", _describe),
    route("/example", _example, "POST"),
    route("/reload", _reload, "POST"),
    route("/settings", _keep_settings, "POST"),
    route("/jobs/{job}", _job),
    route("/jobs/{job}", _stop, "DELETE"),
]
