"""A studio that runs, and a small client that talks to it as the page does."""

import http.client
import json
import threading
import time
from contextlib import contextmanager

import uvicorn

from dempster.apps.studio.app import make_app
from dempster.apps.studio.guard import Guard
from dempster.apps.studio.server import _listener

PATIENCE = 120  # seconds; other programs may be running


class Answer:
    """Status, headers and content of what came back."""

    def __init__(self, response):
        self.status, self.headers, self.content = response.status, response.headers, response.read()

    def json(self):
        return json.loads(self.content)


class Client:
    """A tab without a window."""

    def __init__(self, guard):
        self.guard = guard
        self.base = ""

    def raw(self, method, path, body=None, headers=None):
        """A request exactly as it is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.guard.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    @property
    def credentials(self):
        return {"cookie": f"{self.guard.cookie}={self.guard.token}", "x-dempster-token": self.guard.token}

    def ask(self, method, path, given=None, content=None):
        headers, body = self.credentials, content
        if content is not None:
            headers["content-type"] = "application/octet-stream"
        elif given is not None:
            headers["content-type"], body = "application/json", json.dumps(given).encode()
        return self.raw(method, path if path.startswith("/api/") else self.base + path, body, headers)

    def open(self):
        """A new session."""
        opened = self.ask("POST", "/api/sessions", {}).json()
        self.base = f"/api/sessions/{opened['session']['id']}"
        return opened

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, given=None):
        return self.ask("POST", path, given or {})

    def job(self, answer):
        """Wait until work is done; its description."""
        assert answer.status == 200, answer.content
        job = answer.json()["job"]
        end = time.monotonic() + PATIENCE
        while job["state"] == "running" and time.monotonic() < end:
            time.sleep(0.03)
            job = self.get(f"/jobs/{job['id']}").json()
        return job

    def done(self, answer):
        """Wait until work is done well; what came out."""
        job = self.job(answer)
        assert job["state"] == "done", job["error"]
        return job["answer"]

    def load(self, name):
        return self.done(self.post("/example", {"name": name}))

    def upload(self, name, content):
        return self.job(self.ask("PUT", f"/file?name={name}", content=content))

    def cluster(self, source, **settings):
        columns = [column["name"] for column in source["columns"] if column["suggested"]]
        return self.done(self.post("/runs", {"columns": columns, **settings}))


@contextmanager
def running_studio(file=None):
    """A studio in a thread of this process; gives its guard."""
    listener = _listener("127.0.0.1", 0)
    guard = Guard("127.0.0.1", listener.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(make_app(guard, file), log_level="warning", lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield guard
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
