"""Run tasks in worker processes, report their progress, and stop a task by ending its process.

Starting Python and importing the library takes seconds. Therefore one process is started before the
next task arrives, and a process that has finished a task is reused for another task.
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

MAX_RUNNING_JOBS = 6
MAX_IDLE_PROCESSES = 2
_numbers = count(1)
Finish = Callable[[Any, list[str]], Any]
Json = dict[str, Any]  # parameters of a request, or its answer


class Job:
    """Task that runs in a worker process; its state is "running", "done", "failed" or "stopped"."""

    def __init__(self, kind: str, process: Any, finish: Finish):
        self.id = str(next(_numbers))
        self.kind = kind
        self.state = "running"
        self.message = "starting"
        self.error: str | None = None
        # completed share of the work, None if the task does not report it
        self.share: float | None = None
        self.answer: Any = None  # return value of the function ``finish``
        self.start_time = time.time()
        self.end_time: float | None = None
        self._process = process  # None in a browser, where there are no processes
        self._finish = finish
        self._lock = Lock()

    def stop(self) -> None:
        """End the worker process and discard its result."""
        with self._lock:
            if self.state == "running":
                self.state = "stopped"
                self.end_time = time.time()
                self._process.kill()

    def describe(self) -> Json:
        """Return the state, progress and answer of the job as a dictionary for the page."""
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "words": self.message,
            "share": self.share,
            "error": self.error,
            "answer": self.answer,
            "seconds": round((self.end_time or time.time()) - self.start_time, 2),
        }

    def watch(
        self, task: tuple[str, Json], on_first_message: Callable[[], None]
    ) -> None:
        """Send the task to the worker process, and receive messages until one of them ends."""
        stdin: Any = self._process.stdin
        stdout: Any = self._process.stdout
        try:
            pickle.dump(task, stdin, protocol=5)
            stdin.flush()
            kind, content = pickle.load(stdout)
            on_first_message()
            while kind == "progress":
                self.message = content["words"]
                self.share = content["share"]
                kind, content = pickle.load(stdout)
            self.end(kind, content)
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process.kill()
            self.end(
                "failed",
                "the worker process ended unexpectedly; perhaps there was not enough memory",
            )

    def end(self, kind: str, content: Any) -> None:
        """Process the last message of the worker process."""
        if kind == "done":
            try:
                self.message = "showing"
                content = self._finish(content["result"], content["warnings"])
            # The job must end even if ``finish`` raises an error.
            except Exception as error:
                kind = "failed"
                content = describe_error(error)[1]
        with self._lock:
            if self.state == "running":
                if kind == "done":
                    self.answer = content
                else:
                    self.error = content
                self.end_time = time.time()
                self.state = kind


class Workers:
    """Worker processes that run jobs, and idle processes that have already imported the library."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._jobs: list[Job] = []
        self._is_closed = False

    def prepare(self) -> None:
        """Start a worker process if no process is idle."""
        with self._lock:
            if not self._is_closed and not self._idle:
                self._idle.append(_start_process())

    def start(self, kind: str, task: str, arguments: Json, finish: Finish) -> Job:
        """Start a task in a worker process and return its job.

        ``finish`` converts the result to the answer.
        """
        with self._lock:
            self._jobs = [job for job in self._jobs if job.state == "running"]
            if len(self._jobs) >= MAX_RUNNING_JOBS:
                raise ValueError(
                    f"{MAX_RUNNING_JOBS} jobs are running; wait until one ends, or stop one"
                )
            self._idle = [process for process in self._idle if process.poll() is None]
            process = self._idle.pop() if self._idle else _start_process()
            job = Job(kind, process, finish)
            self._jobs.append(job)
        Thread(
            target=self._watch, args=(job, process, (task, arguments)), daemon=True
        ).start()
        return job

    def _watch(
        self, job: Job, process: subprocess.Popen[bytes], task: tuple[str, Json]
    ) -> None:
        # The next process starts after this process has finished its imports, because simultaneous
        # imports are slow.
        job.watch(task, on_first_message=self.prepare)
        with self._lock:
            is_usable = process.poll() is None and job.state != "stopped"
            if (
                is_usable
                and len(self._idle) < MAX_IDLE_PROCESSES
                and not self._is_closed
            ):
                self._idle.append(process)
                return
        _end_process(process)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for job in self._jobs:
                job.stop()
            for process in self._idle:
                _end_process(process)
            self._idle.clear()


def _start_process() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dempster.apps.studio.worker"]
    # The worker runs in a new session, so that Ctrl-C interrupts only the studio, which then ends
    # its workers.
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=sys.platform != "win32",
    )


def _end_process(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    streams: Any = (process.stdin, process.stdout)
    for stream in streams:
        with suppress(OSError):
            stream.close()
