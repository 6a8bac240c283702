"""Open new and saved sessions, and close them."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pandas as pd

from dempster._errors import InvalidInputError
from dempster.apps.recipe import Recipe
from dempster.apps.studio.errors import FOLDER_PREFIX, GoneError
from dempster.apps.studio.jobs import Json, Workers
from dempster.apps.studio.saving import (
    RUN_FIELDS,
    STATE_FILE,
    remove_unused,
    run_file,
    save_session,
)
from dempster.apps.studio.sessions import PairAnswers, Run, Session, Source
from dempster.io.atomic import as_file
from dempster.io.tables import read_quietly
from dempster.io.text import check_compression_ratio
from dempster.persistence import load

MAX_OPEN_SESSIONS = 24
MAX_SAVED_SESSIONS = 100


def default_folder() -> Path:
    """Return the folder of saved sessions, in the folder of the user for cached files."""
    cache = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    return (
        Path(cache or Path.home() / ".cache") / "dempster" / f"{FOLDER_PREFIX}sessions"
    )


class Sessions:
    """Open sessions of all browser tabs, and saved sessions in a folder."""

    def __init__(self, workers: Workers, folder: Path):
        self._folder = folder
        self._workers = workers
        self._sessions: dict[str, Session] = {}
        self._lock = RLock()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def new(self) -> Session:
        """Open a new session."""
        return self._add(Session(self._new_folder(), self._workers))

    def open(self, number: str) -> Session:
        """Return an open or saved session by its id."""
        with self._lock:
            if number not in self._sessions:
                if number not in [one["id"] for one in self.list_saved()]:
                    raise GoneError("this session does not exist")
                self._add(_open_session(self._folder / number, self._workers))
            return self.get(number)

    def unpack(self, content: bytes) -> Session:
        """Open a session file, see `saving.pack_session`."""
        folder = self._new_folder()
        try:
            _unpack(content, folder)
            session = _open_session(folder, self._workers, is_own=False)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        save_session(session)
        return self._add(session)

    def list_saved(self) -> list[Json]:
        """Return descriptions of the saved sessions, the latest first."""
        listed = []
        for path in self._folder.glob(f"*/{STATE_FILE}"):
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                one = {
                    "id": path.parent.name,
                    "name": content["source"]["name"],
                    "runs": len(content["runs"]),
                    "time": path.stat().st_mtime,
                }
            except (OSError, ValueError, KeyError, TypeError):
                continue
            listed.append(one)
        return sorted(listed, key=lambda one: -one["time"])

    def get(self, number: str) -> Session:
        """Return an open session by its id; raise an error if it was closed."""
        with self._lock:
            if number not in self._sessions:
                raise GoneError("this session has ended")
            # The sessions are in the order of their last requests.
            self._sessions[number] = self._sessions.pop(number)
            return self._sessions[number]

    def close(self) -> None:
        """Close all sessions and end all worker processes."""
        with self._lock:
            for session in self._sessions.values():
                _close(session)
            self._sessions.clear()
        self._workers.close()

    def _new_folder(self) -> Path:
        folder = self._folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def _add(self, session: Session) -> Session:
        """Add a session, and close or remove the oldest sessions if there are too many."""
        with self._lock:
            sessions = self._sessions
            sessions[session.id] = session
            while len(sessions) > MAX_OPEN_SESSIONS:
                oldest = next(iter(sessions))
                _close(sessions.pop(oldest))
            for saved in self.list_saved()[MAX_SAVED_SESSIONS:]:
                if saved["id"] not in sessions:
                    shutil.rmtree(self._folder / saved["id"], ignore_errors=True)
            return session


def _close(session: Session) -> None:
    session.stop_jobs()
    if session.source is None:
        shutil.rmtree(session.folder, ignore_errors=True)
    elif session.folder.exists():
        save_session(session)
        remove_unused(session)


def _unpack(content: bytes, folder: Path) -> None:
    """Unpack an archive of `saving.pack_session` into a new folder."""
    path = folder / "session.zip"
    path.write_bytes(content)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
            check_compression_ratio(path, size)
            archive.extractall(folder)
    except (zipfile.BadZipFile, OSError) as error:
        raise InvalidInputError("the file is not a session of the studio") from error
    path.unlink()


def _open_session(folder: Path, workers: Workers, *, is_own: bool = True) -> Session:
    """Return the session in a folder.

    Only own sessions may name a table outside the folder.
    """
    try:
        content = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        return _restore(content, folder, workers, is_own)
    except (OSError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InvalidInputError(f"the session cannot be opened: {error}") from error


def _restore(content: Json, folder: Path, workers: Workers, is_own: bool) -> Session:
    def decode(name: str) -> str:
        path = (folder / name).resolve()
        if not is_own and not path.is_relative_to(folder.resolve()):
            raise InvalidInputError("the session names a file outside its folder")
        return str(path)

    saved = content["source"]
    path = as_file(decode(saved["path"]))
    table = read_quietly(path, **saved["options"])
    if list(table.shape) != saved["shape"]:
        raise InvalidInputError(
            f"{saved['name']} has changed since the session was saved"
        )
    session = Session(folder, workers)
    session.source = Source(
        path, saved["name"], saved["options"], table, saved["notes"]
    )
    session.n_runs = int(content["n_runs"])
    answers = [(int(a), int(b), str(answer)) for a, b, answer in content["answers"]]
    session.pair_answers = PairAnswers(answers)
    session.rules = list(content["rules"])
    session.settings = dict(content["settings"])
    if content["selection"] is not None:
        bits = np.frombuffer(base64.b64decode(content["selection"]), dtype=np.uint8)
        session.selection = np.unpackbits(bits, count=len(table)).astype(bool)
    for one in content["runs"]:
        run = _restore_run(one, session, decode)
        session.runs[run.id] = run
    return session


def _restore_run(saved: Json, session: Session, decode: Callable[[str], str]) -> Run:
    recipe = Recipe.from_dict(saved["recipe"])
    recipe = replace(recipe, files=tuple(map(decode, recipe.files)))
    if recipe.constraints is not None:
        recipe = replace(recipe, constraints=decode(recipe.constraints))
    number = str(int(saved["id"]))
    model: Any = load(run_file(session.folder, number, ".dempster"))
    rows = np.load(run_file(session.folder, number, ".npy"), allow_pickle=False)
    table = session.get_source().table.iloc[rows]
    attributes = model.preparation.select(table)
    # A run of a selection has its own names of rows.
    names = model.estimator.credal_partition_.index
    if names is None:
        names = pd.RangeIndex(len(rows))
    attributes = attributes.set_axis(names, axis=0)
    return Run(
        recipe=recipe,
        estimator=model.estimator,
        table=table,
        attributes=attributes,
        values=model.preparation.standardize(attributes),
        preparation=model.preparation,
        rows=rows,
        **{name: saved[name] for name in RUN_FIELDS},
    )
