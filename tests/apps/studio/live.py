"""A running studio and a client that sends the requests of the page."""

import http.client
import json
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

from dempster.apps.studio.app import make_app
from dempster.apps.studio.guard import Guard
from dempster.apps.studio.server import bind_socket, make_config

TIMEOUT_SECONDS = 120


class Answer:
    """A response."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.content = response.read()

    def json(self):
        return json.loads(self.content)


class Client:
    """A tab without a browser."""

    def __init__(self, guard):
        self.guard = guard
        self.base = ""
        self.page = ""

    def raw(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.guard.port, timeout=TIMEOUT_SECONDS
        )
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    @property
    def credentials(self):
        return {
            "cookie": f"{self.guard.cookie}={self.guard.token}",
            "x-dempster-token": self.guard.token,
            "x-dempster-page": self.page,
        }

    def ask(self, method, path, params=None, content=None):
        headers = self.credentials
        body = content
        if content is not None:
            headers["content-type"] = "application/octet-stream"
        elif params is not None:
            headers["content-type"] = "application/json"
            body = json.dumps(params).encode()
        return self.raw(
            method,
            path if path.startswith("/api/") else self.base + path,
            body,
            headers,
        )

    def open(self, **params):
        answer = self.post("/api/sessions", params)
        assert answer.status == 200, answer.content
        opened = answer.json()
        self.base = f"/api/sessions/{opened['session']['id']}"
        self.page = opened["page"]
        return opened

    @property
    def number(self):
        return self.base.rpartition("/")[2]

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, params=None):
        return self.ask("POST", path, params or {})

    def job(self, answer):
        """Wait until a job ends and return its description."""
        assert answer.status == 200, answer.content
        return self.wait(answer.json()["job"])

    def wait(self, job):
        """Wait until a job ends and return its description."""
        end = time.monotonic() + TIMEOUT_SECONDS
        while job["state"] == "running" and time.monotonic() < end:
            time.sleep(0.03)
            job = self.get(f"/jobs/{job['id']}").json()
        return job

    def done(self, answer):
        """Wait until a job succeeds and return its answer."""
        job = self.job(answer)
        assert job["state"] == "done", job["error"]
        return job["answer"]

    def load(self, name):
        return self.done(self.post("/example", {"name": name}))

    def upload(self, name, content):
        return self.job(self.ask("PUT", f"/file?name={name}", content=content))

    def cluster(self, source, **settings):
        columns = [
            column["name"] for column in source["columns"] if column["suggested"]
        ]
        return self.done(self.post("/runs", {"columns": columns, **settings}))


@contextmanager
def limited_file_size(n_bytes):
    """Let this process write no files of more than some bytes."""
    resource = pytest.importorskip("resource")
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def running_studio(file=None, folder=None):
    """Run a studio in a thread of this process; yield its guard."""
    with (
        tempfile.TemporaryDirectory(prefix="dempster-studio-") as temporary,
        _running_studio(file, Path(folder or temporary)) as guard,
    ):
        yield guard


@contextmanager
def _running_studio(file, folder):
    listener = bind_socket("127.0.0.1", 0)
    guard = Guard("127.0.0.1", listener.getsockname()[1])
    server = uvicorn.Server(make_config(make_app(guard, file, folder)))
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, daemon=True
    )
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield guard
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
