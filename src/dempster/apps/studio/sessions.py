"""What each tab has: its table, its runs, its selection, what it was taught. Tabs share nothing."""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.studio.answers.rules import Rule
from dempster.apps.studio.answers.teaching import Lessons
from dempster.apps.studio.errors import GoneError
from dempster.apps.studio.folders import PREFIX
from dempster.apps.studio.jobs import Job, Workers
from dempster.apps.studio.runs import Run
from dempster.apps.studio.tables import Source

__all__ = ["Session", "Sessions"]

_MOST_SESSIONS = 24
_MOST_RUNS = 30


class Session:
    """One tab; it is there as long as the studio runs, so that a page can be loaded again."""

    def __init__(self, folder: Path, workers: Workers):
        self.id = secrets.token_urlsafe(12)
        self.folder = folder
        self.seen = time.time()
        self.lock = RLock()
        self.source: Source | None = None
        self.runs: dict[str, Run] = {}
        self.lessons = Lessons()
        self.rules: list[Rule] = []
        self.selection: np.ndarray | None = None  # rows of the table
        self.peaks: dict[str, Any] | None = None
        self.settings: dict[str, Any] = {}
        self.number: dict[str, Any] | None = None
        self._jobs: dict[str, Job] = {}
        self._workers = workers
        self._run_numbers = count(1)
        self._file_numbers = count(1)

    # ---- files ------------------------------------------------------------------------------------------------------

    def new_file(self, name: str) -> Path:
        """A path of this session for a file of a given name, in a folder of its own."""
        folder = self.folder / f"{next(self._file_numbers)}"
        folder.mkdir(parents=True)
        return folder / safe_name(name)

    def take(self, source: Source) -> None:
        """A new table: what belonged to the old one goes."""
        with self.lock:
            self.source = source
            self.runs.clear()
            self.lessons, self.rules = Lessons(), []
            self.selection = self.peaks = self.number = None
            self.settings = {}

    def table(self) -> Source:
        """The table, or an error that says that there is none."""
        if self.source is None:
            raise InvalidInputError("load a table first")
        return self.source

    # ---- runs -------------------------------------------------------------------------------------------------------

    def next_run(self) -> str:
        return str(next(self._run_numbers))

    def keep(self, run: Run) -> None:
        """Add a run; the oldest goes when there are too many."""
        with self.lock:
            self.runs[run.id] = run
            while len(self.runs) > _MOST_RUNS:
                del self.runs[next(iter(self.runs))]

    def run(self, number: str) -> Run:
        if number not in self.runs:
            raise GoneError("this run is not there any more")
        return self.runs[number]

    # ---- work -------------------------------------------------------------------------------------------------------

    def start(self, kind: str, task: str, arguments: dict[str, Any], finish: Callable[[Any, list[str]], Any]) -> Job:
        """Start long work; what was being done of the same kind is stopped. What is found of a table that was replaced
        meanwhile is not taken for one of the new table."""
        source = self.source

        def finish_here(found: Any, warnings: list[str]) -> Any:
            with self.lock:
                if self.source is not source and kind != "load":
                    raise GoneError("another table was loaded while this was done")
                return finish(found, warnings)

        with self.lock:
            before = next((job for job in self._jobs.values() if job.kind == kind and job.state == "running"), None)
            if before is not None:
                before.stop()
            ended = [key for key, job in self._jobs.items() if job.state != "running"]
            for key in ended[:-20]:
                del self._jobs[key]
            job = self._workers.start(kind, task, arguments, finish_here)
            self._jobs[job.id] = job
            return job

    def job(self, number: str) -> Job:
        if number not in self._jobs:
            raise GoneError("this work is not there any more")
        return self._jobs[number]

    def running(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.state == "running"]

    def describe(self) -> dict[str, Any]:
        """For the page, when it is opened or loaded again."""
        with self.lock:
            return {
                "id": self.id,
                "source": None if self.source is None else self.source.describe(),
                "runs": [run.describe() for run in self.runs.values()],
                "rules": [rule.describe() for rule in self.rules],
                "lessons": len(self.lessons.answers),
                "settings": self.settings,
                "jobs": [job.describe() for job in self.running()],
                "number": self.number,
                "has_peaks": self.peaks is not None,
            }

    def close(self) -> None:
        for job in self.running():
            job.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sessions:
    """All tabs of one studio; the one that was not seen for longest goes when there are too many."""

    def __init__(self, workers: Workers):
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._workers = workers
        self._sessions: dict[str, Session] = {}
        self._lock = RLock()

    def close_on_exit(self) -> None:
        """Files go even if the studio is ended in a way that leaves no time to close."""
        atexit.register(self.close)

    def new(self) -> Session:
        with self._lock:
            session = Session(self._folder / secrets.token_hex(8), self._workers)
            session.folder.mkdir()
            self._sessions[session.id] = session
            while len(self._sessions) > _MOST_SESSIONS:
                oldest = min(self._sessions.values(), key=lambda one: one.seen)
                del self._sessions[oldest.id]
                oldest.close()
            return session

    def get(self, number: str) -> Session:
        with self._lock:
            if number not in self._sessions:
                raise GoneError("this session has ended")
            session = self._sessions[number]
            session.seen = time.time()
            return session

    def close(self) -> None:
        """End all work and remove all files."""
        with self._lock:
            for session in self._sessions.values():
                session.close()
            self._sessions.clear()
        self._workers.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def safe_name(name: str) -> str:
    """The last part of a name, with nothing in it that means something to a file system."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(c if c.isalnum() or c in "._- ()+=" else "_" for c in last).strip(" .")
    return kept[-120:] or "table.csv"
