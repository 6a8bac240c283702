"""Run the studio inside a web page, where Python has no server, no processes and no threads.

Pyodide runs this module in a web worker of the page. The scripts of the studio send their requests
to `answer` instead of a server. The page has one session, which it addresses by the name ``page``.
A task runs at once, before the request that starts it is answered. The page stops a task by ending
the worker, starts another one, and restores the session that it saved before the task.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.types import Message

from dempster.apps.studio.app import ROUTES, describe_studio
from dempster.apps.studio.jobs import Finish, Job, Json
from dempster.apps.studio.loading import EXAMPLES, write_example
from dempster.apps.studio.opening import Sessions
from dempster.apps.studio.routing import PAGE_HEADER
from dempster.apps.studio.saving import pack_session
from dempster.apps.studio.sessions import Session
from dempster.apps.studio.worker import run_task

SESSION = "page"  # identifier of the session in the requests of the page
_PATH = f"/api/sessions/{SESSION}"
_SESSION_FILE = "/api/session-file"
Answer = tuple[int, dict[str, str], bytes]  # status, headers and body


class _PageWorkers:
    """Run each task at once, in place of `jobs.Workers`."""

    def __init__(self, report: Callable[[Json], None]):
        self._report = report

    def start(self, kind: str, task: str, arguments: Json, finish: Finish) -> Job:
        """Run a task and return its job, which has ended."""
        job = Job(kind, None, finish)

        def send(_: str, content: Any) -> None:
            job.message = content["words"]
            job.share = content["share"]
            self._report(job.describe())

        job.end(*run_task(task, arguments, send))
        return job

    def close(self) -> None:
        """Do nothing: no process is running."""


class PageStudio:
    """Studio with one session.

    ``report`` is called with the description of a running job whenever it makes progress.
    """

    def __init__(self, folder: Path, report: Callable[[Json], None]):
        workers: Any = _PageWorkers(report)
        self._sessions = Sessions(workers, folder)
        self._app = Starlette(routes=ROUTES)
        self._app.state.sessions = self._sessions
        self._app.state.file = None
        self._use(self._sessions.new())

    def _use(self, session: Session) -> None:
        session.page = SESSION
        session.is_temporary = True
        self._session = session

    def save(self) -> bytes | None:
        """Return the session as a file, or None if it has no table."""
        if self._session.source is None:
            return None
        return pack_session(self._session)

    def restore(self, content: bytes) -> None:
        """Open a session that `save` returned."""
        self._use(self._sessions.unpack(content))

    async def answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        """Return the status, headers and body with which the studio answers a request."""
        path, _, query = path.partition("?")
        if path.startswith(_PATH):
            path = f"/api/sessions/{self._session.id}{path.removeprefix(_PATH)}"
        sent = {**headers, PAGE_HEADER: SESSION}
        scope = {
            "type": "http",
            "app": self._app,
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), text.encode()) for name, text in sent.items()],
        }
        messages: list[Any] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        async def send(message: Message) -> None:
            messages.append(message)

        await self._app.router(scope, receive, send)
        [start, *parts] = messages
        received = {name.decode(): text.decode() for name, text in start["headers"]}
        content = b"".join(part.get("body", b"") for part in parts)
        if path == _SESSION_FILE and start["status"] == 200:
            self._use(self._sessions.get(json.loads(content)["id"]))
        return start["status"], received, content


def describe_page() -> Json:
    """Return the answers of the studio that do not depend on a session.

    The page has them before it loads Python.
    """
    about = describe_studio()
    # Pyodide has neither pyarrow nor torch.
    about["table_formats"] = "CSV, TSV, Excel or NPY"
    about["table_suffixes"] = [
        suffix
        for suffix in about["table_suffixes"]
        if suffix not in (".parquet", ".pq", ".feather")
    ]
    about["methods"] = [one for one in about["methods"] if one["name"] != "nnevclus"]
    empty = Session(Path(SESSION), workers=None)  # type: ignore[arg-type]
    return {
        "about": about,
        "session": empty.describe(),
        "examples": {name: write_example(name) for name in EXAMPLES},
    }
