"""Load a table from an uploaded file, an example, or the file with which the studio was started."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from starlette.requests import Request
from starlette.responses import Response

from dempster import datasets
from dempster._errors import InvalidInputError
from dempster.apps.studio.errors import BadRequestError, TooLargeError
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.routing import (
    async_route,
    check_page,
    download,
    read_chunks,
    read_params,
    route,
    run_in_thread,
)
from dempster.apps.studio.saving import pack_session, save_session
from dempster.apps.studio.sessions import Session, Source, safe_name

MAX_UPLOAD_BYTES = 1 << 30

EXAMPLES = {
    "iris": "150 flowers, 4 measurements, 3 species",
    "wine": "178 wines, 13 chemical measurements, 3 growers",
    "fourclass": "400 objects in the plane, four clusters that overlap",
    "bananas": "2,000 objects in the plane, two banana-shaped clusters",
    "butterfly": "12 objects: two clusters, one object between them, one outlier",
}


def _load_file(
    session: Session,
    path: Path,
    name: str,
    options: Json,
    origin: Path | None = None,
    show: Callable[[Source], None] | None = None,
) -> Json:
    """Start a job that reads a file and makes it the table of the session, or calls ``show``.

    ``origin`` is the file that the user opened by its path. If it is not larger than an upload, it
    is copied to the folder of the session, so that later changes of the file have no effect.
    """
    copy = None
    if path == origin:
        copy = str(session.new_folder() / path.name)

    def finish(result: Any, warnings: list[str]) -> Json:
        source = Source(name=name, notes=warnings, origin=origin, **result)
        (show or session.set_source)(source)
        save_session(session)
        return source.description

    arguments = {
        "path": str(path),
        "options": options,
        "copy": copy,
        "max_copy_bytes": MAX_UPLOAD_BYTES,
    }
    return session.start_job("load", "load", arguments, finish)


async def _upload(request: Request) -> Json:
    """Write an uploaded file to disk in chunks, and start a job that reads it."""
    session = request.app.state.sessions.get(request.path_params["session"])
    name = safe_name(request.query_params.get("name", "table.csv"))
    await run_in_thread(check_page, session, request)
    path = session.new_file(name)
    total = 0
    with open(path, "wb") as file:
        async for chunk in read_chunks(request):
            total += len(chunk)
            if total > MAX_UPLOAD_BYTES:
                raise TooLargeError(
                    f"The file is larger than {MAX_UPLOAD_BYTES >> 20:,} MB. "
                    "Start the studio with its path instead: dempster studio FILE"
                )
            await run_in_thread(file.write, chunk)
    return _load_file(session, path, name, {})


def _load_example(session: Session, params: Json) -> Json:
    name = str(params["name"])
    if name not in EXAMPLES:
        raise BadRequestError(f"there is no example '{name}'")
    path = session.new_file(f"{name}.csv")
    path.write_text(write_example(name), encoding="utf-8")
    return _load_file(session, path, path.name, {})


def write_example(name: str) -> str:
    """Return the table of an example as CSV."""
    return _example_table(name).to_csv(index=False, lineterminator="\n")


def _example_table(name: str) -> Any:
    if name == "bananas":
        X, y = datasets.make_bananas(2000, random_state=0)
        return pd.DataFrame(X, columns=["x1", "x2"]).assign(
            banana=[f"banana {k + 1}" for k in y]
        )
    if name == "butterfly":
        return datasets.load_butterfly(as_frame=True).data
    load, class_column = {
        "iris": (datasets.load_iris, "species"),
        "wine": (datasets.load_wine, "grower"),
        "fourclass": (datasets.load_example, "quarter"),
    }[name]
    bunch = load(as_frame=True)
    classes = [str(bunch.target_names[int(k)]) for k in bunch.target]
    return bunch.data.assign(**{class_column: classes})


def _name_rows(session: Session, params: Json) -> Json:
    """Start a job that reads the table again, with another column of row names or with none."""
    source = session.get_source()
    source.check_unchanged()
    column = params.get("index_col") or False
    for run in session.runs.values():
        if column in run.values.columns:
            raise InvalidInputError(
                f"'{column}' was clustered in the run {run.id}, so it cannot name the rows"
            )
    options = {**source.options, "index_col": column}
    return _load_file(
        session, source.path, source.name, options, source.origin, session.name_rows
    )


def _load_changed(session: Session, params: Json) -> Json:
    """Start a job that reads the file that the user opened, which has changed since."""
    source = session.get_source()
    if source.origin is None:
        raise InvalidInputError(f"{source.name} was not opened by its path")
    return _load_file(
        session, source.origin, source.name, source.options, source.origin
    )


def _keep_copy(session: Session, params: Json) -> Json:
    """Use the copy of the table from now on, whatever happens to the file."""
    source = session.get_source()
    if source.path == source.origin:
        raise InvalidInputError(f"{source.name} is too large for a copy")
    source.origin = None
    return session.describe()


def _stop_job(session: Session, params: Json) -> Json:
    job = session.get_job(params["job"])
    job.stop()
    return job.describe()


async def _open_session(request: Request) -> Json:
    """Open a session for a browser tab, which may change it until another tab opens it.

    The session is that of the parameter ``open``, or a new one with the file with which the studio
    was started.
    """
    sessions = request.app.state.sessions
    params = await read_params(request)
    response = {}
    if "open" in params:
        session = await run_in_thread(sessions.open, str(params["open"]))
    else:
        session = sessions.new()
    if session.source is None and request.app.state.file is not None:
        file: Path = request.app.state.file
        path = file.absolute()
        response = await run_in_thread(_load_file, session, path, file.name, {}, path)
    session.page = secrets.token_hex(8)
    return {"session": session.describe(), "page": session.page, **response}


async def _list_sessions(request: Request) -> Json:
    listed = await run_in_thread(request.app.state.sessions.list_saved)
    return {"sessions": listed}


async def _delete_session(request: Request) -> Json:
    number = request.path_params["session"]
    await run_in_thread(request.app.state.sessions.delete, number)
    return await _list_sessions(request)


async def _open_file(request: Request) -> Json:
    """Open a session file."""
    content = (await read_params(request))["bytes"]
    session = await run_in_thread(request.app.state.sessions.unpack, content)
    return {"id": session.id}


def _save_file(session: Session, params: Json) -> Response:
    """Return the session as a file."""
    name = Path(session.get_source().name).name.split(".")[0]
    return download(pack_session(session), f"{name}.studio.zip")


def _store_settings(session: Session, params: Json) -> Json:
    """Store the settings of the page, so that they can be restored after a reload."""
    session.settings = {key: value for key, value in params.items() if key != "session"}
    return {}


ROUTES = [
    async_route("/api/sessions", _open_session, "POST"),
    async_route("/api/sessions", _list_sessions),
    async_route("/api/sessions/{session}", _delete_session, "DELETE"),
    async_route("/api/session-file", _open_file, "PUT"),
    async_route("/api/sessions/{session}/file", _upload, "PUT"),
    route("/saved", _save_file),
    route("", lambda session, params: session.describe()),
    route("/example", _load_example, "POST"),
    route("/names", _name_rows, "POST"),
    route("/table/changed", _load_changed, "POST"),
    route("/table/copy", _keep_copy, "POST"),
    route("/settings", _store_settings, "POST"),
    route(
        "/jobs/{job}", lambda session, params: session.get_job(params["job"]).describe()
    ),
    route("/jobs/{job}", _stop_job, "DELETE"),
]
