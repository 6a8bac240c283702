"""The state of each tab: its table, runs, selection and answers about pairs. Tabs share nothing."""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.apps.map import to_plain
from dempster.apps.studio.errors import GoneError
from dempster.apps.studio.jobs import Job, Workers
from dempster.apps.studio.rules import Rule
from dempster.apps.studio.runs import Run, Source
from dempster.apps.studio.worker import FOLDER_PREFIX
from dempster.constraints import Constraints

MAX_SESSIONS = 24
MAX_RUNS = 30


@dataclass
class PairAnswers:
    """Answers of a person about pairs of rows of the table; they hold for every run of a session.

    Attributes
    ----------
    answers : list of (row, row, answer)
        In the order in which they were given; the answer is "same", "different" or "unknown".
    """

    answers: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, first: int, second: int, answer: str) -> None:
        """Add an answer; it replaces an earlier one about the same pair."""
        if answer not in ("same", "different", "unknown"):
            raise InvalidParameterError("answer", "'same', 'different' or 'unknown'", answer)
        if first == second:
            raise InvalidInputError("a question is about two different objects")
        self.remove(first, second)
        self.answers.append((first, second, answer))

    def undo(self) -> None:
        """Remove the last answer."""
        if self.answers:
            self.answers.pop()

    def remove(self, first: int, second: int) -> None:
        """Remove the answer about a pair."""
        self.answers = [one for one in self.answers if {one[0], one[1]} != {first, second}]

    def __len__(self) -> int:
        return sum(answer != "unknown" for _, _, answer in self.answers)

    def between(self, rows: np.ndarray) -> list[tuple[int, int, str]]:
        """Return the answers about pairs of some rows, by their positions among these; not those that say nothing."""
        position = {int(row): k for k, row in enumerate(rows)}
        return [
            (position[a], position[b], answer)
            for a, b, answer in self.answers
            if answer != "unknown" and a in position and b in position
        ]

    def describe(self, run: Run | None, names: list[str]) -> dict[str, Any]:
        """Describe the answers, the contradictions among them, and which of them a run does not follow."""
        labels = {} if run is None else dict(zip(run.rows.tolist(), run.partition.labels.tolist(), strict=True))
        answers = []
        for a, b, answer in self.answers:
            is_broken = False
            if a in labels and b in labels and answer != "unknown":
                is_broken = (labels[a] == labels[b]) != (answer == "same")
            answers.append(
                {"first": a, "second": b, "names": [names[a], names[b]], "answer": answer, "broken": is_broken}
            )
        contradictions = [
            {"pair": list(one.cannot_link), "chain": [names[k] for k in one.chain], "rows": list(one.chain)}
            for one in to_constraints(self.answers, len(names)).contradictions()
        ]
        return to_plain({"answers": answers, "contradictions": contradictions, "n": len(self)})


def to_constraints(answers: list[tuple[int, int, str]], n_objects: int) -> Constraints:
    """Convert answers about pairs to constraints."""
    must = [(a, b) for a, b, answer in answers if answer == "same"]
    cannot = [(a, b) for a, b, answer in answers if answer == "different"]
    return Constraints(must, cannot, n_objects=n_objects)


class Session:
    """One tab; it is there as long as the studio runs, so that a page can be loaded again."""

    def __init__(self, folder: Path, workers: Workers):
        self.id = secrets.token_urlsafe(12)
        self.folder = folder
        self.seen = time.time()
        self.lock = RLock()
        self.source: Source | None = None
        self.runs: dict[str, Run] = {}
        self.pair_answers = PairAnswers()
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
            self.pair_answers, self.rules = PairAnswers(), []
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
            while len(self.runs) > MAX_RUNS:
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
                "lessons": len(self.pair_answers.answers),
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
        self._folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
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
            while len(self._sessions) > MAX_SESSIONS:
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
