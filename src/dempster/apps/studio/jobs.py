"""Long work, each in a process of its own: it can be watched, and stopped at any moment by ending the process.

Starting Python and importing the library takes seconds, so one process waits ahead of the next task, and one that has
done its work waits for more.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import Lock, Thread
from typing import Any

from dempster.apps.studio.errors import describe_error

_MOST = 6  # processes that work at a time
_MAX_IDLE = 2
_numbers = count(1)


class TooBusyError(ValueError):
    """More work than the studio does at a time."""


class Job:
    """A task in a process.

    Attributes
    ----------
    id, kind : str
    state : {"running", "done", "failed", "stopped"}
    words, share : what the process says of how far it is
    error : str or None
    """

    def __init__(self, kind: str, process: subprocess.Popen[bytes], finish: Callable[[Any, list[str]], Any]):
        self.id, self.kind = str(next(_numbers)), kind
        self.state, self.words = "running", "starting"
        self.error: str | None = None
        self.share: float | None = None
        self.answer: Any = None
        self.started = time.time()
        self.ended: float | None = None
        self._process, self._finish = process, finish
        self._lock = Lock()

    def stop(self) -> None:
        """End the process; what it had done is lost."""
        with self._lock:
            if self.state == "running":
                self.state, self.ended = "stopped", time.time()
                self._process.kill()

    def describe(self) -> dict[str, Any]:
        """For the page."""
        seconds = (self.ended or time.time()) - self.started
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "words": self.words,
            "share": self.share,
            "error": self.error,
            "answer": self.answer,
            "seconds": round(seconds, 2),
        }

    def watch(self, task: tuple[str, dict[str, Any]], begun: Callable[[], None]) -> None:
        """Hand over the task and listen until it is done, or the process ends; ``begun`` is called when it works."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            pickle.dump(task, stdin, protocol=5)
            stdin.flush()
            kind, content = pickle.load(stdout)
            begun()
            while kind == "progress":
                self.words, self.share = content["words"], content["share"]
                kind, content = pickle.load(stdout)
            self._end(kind, content)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process.kill()
            self._end("failed", "the process that did the work ended; perhaps there was not enough memory")

    def _end(self, kind: str, content: Any) -> None:
        answer, error, state = None, None, kind
        if kind == "done":
            try:
                self.words = "showing"
                answer = self._finish(content["result"], content["warnings"])
            except Exception as problem:  # whatever it is, the work is over
                state, error = "failed", describe_error(problem)[1]
        else:
            error = content
        with self._lock:
            if self.state == "running":
                self.answer, self.error, self.ended = answer, error, time.time()
                self.state = state


class Workers:
    """Processes: those that work, and one or two that wait with everything imported."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._jobs: list[Job] = []
        self._closed = False

    def prepare(self) -> None:
        """Have a process ready."""
        with self._lock:
            self._idle = [process for process in self._idle if process.poll() is None]
            if not self._closed and not self._idle:
                self._idle.append(_process())

    def start(self, kind: str, task: str, arguments: dict[str, Any], finish: Callable[[Any, list[str]], Any]) -> Job:
        """Give a task to a process; ``finish`` takes its result and warnings, and returns what the page is told."""
        with self._lock:
            self._jobs = [job for job in self._jobs if job.state == "running"]
            if len(self._jobs) >= _MOST:
                raise TooBusyError(f"{_MOST} things are being computed already: wait for one of them, or stop it")
            self._idle = [process for process in self._idle if process.poll() is None]
            process = self._idle.pop() if self._idle else _process()
            job = Job(kind, process, finish)
            self._jobs.append(job)
        Thread(target=self._watch, args=(job, process, (task, arguments)), daemon=True).start()
        return job

    def _watch(self, job: Job, process: subprocess.Popen[bytes], task: tuple[str, dict[str, Any]]) -> None:
        job.watch(task, begun=self.prepare)  # for whoever comes next; not before, as imports would slow each other down
        with self._lock:
            keep = process.poll() is None and job.state != "stopped" and len(self._idle) < _MAX_IDLE
            if keep and not self._closed:
                self._idle.append(process)
                return
        _end(process)

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            for job in self._jobs:
                job.stop()
            for process in self._idle:
                _end(process)
            self._idle.clear()


def _process() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dempster.apps.studio.worker"]
    # in a group of its own: Ctrl-C in the terminal is for the studio, which then ends its processes itself
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=sys.platform != "win32"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
