"""Open new and saved sessions, and close them."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import sys
import time
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
from dempster.apps.studio.errors import FOLDER_PREFIX, ConflictError, GoneError
from dempster.apps.studio.jobs import Json, Workers
from dempster.apps.studio.saving import (
    RUN_FIELDS,
    STATE_FILE,
    check_revision,
    remove_unused,
    run_files,
    save_session,
)
from dempster.apps.studio.sessions import (
    MAX_BIN_SECONDS,
    Decision,
    Deletion,
    PairAnswers,
    Run,
    Session,
    Source,
)
from dempster.io.atomic import as_file, compute_digest
from dempster.io.tables import read_quietly
from dempster.io.text import check_compression_ratio
from dempster.persistence import load

MAX_OPEN_SESSIONS = 24
_REQUIRED = ("source", "runs", "answers", "rules", "settings")  # in a state


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
        _remove_empty(folder)

    def new(self) -> Session:
        """Open a new session."""
        return self._add(Session(self._new_folder(), self._workers))

    def open(self, number: str) -> Session:
        """Return an open or saved session by its id."""
        with self._lock:
            session = self._sessions.get(number)
            if session is None or not _is_current(session):
                if number not in [one["id"] for one in self.list_saved()]:
                    raise GoneError("this session does not exist")
                if session is not None:
                    session.stop_jobs()
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

    def delete(self, number: str) -> None:
        """Delete a saved session for good."""
        with self._lock:
            if number not in [one["id"] for one in self.list_saved()]:
                raise GoneError("this session does not exist")
            if number in self._sessions:
                self._sessions.pop(number).stop_jobs()
            shutil.rmtree(self._folder / number)

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
                    "answers": len(content["answers"]),
                    "decisions": len(content.get("decisions", [])),
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
        """Add a session, and close the oldest sessions if there are too many.

        A session that cannot be saved remains open.
        """
        with self._lock:
            self._sessions[session.id] = session
            n_surplus = max(0, len(self._sessions) - MAX_OPEN_SESSIONS)
            for oldest in list(self._sessions.values())[:n_surplus]:
                if not oldest.unsaved:
                    _close(self._sessions.pop(oldest.id))
            return session


def _is_current(session: Session) -> bool:
    """Return whether no other studio has changed a session."""
    try:
        check_revision(session)
    except ConflictError:
        return False
    return True


def _close(session: Session) -> None:
    session.stop_jobs()
    if not session.folder.exists() or not _is_current(session):
        return
    if not session.has_work:
        shutil.rmtree(session.folder, ignore_errors=True)
        return
    save_session(session)
    if session.unsaved:
        name = session.get_source().name
        words = ", ".join(session.unsaved)
        print(f"The session of {name} is not saved: {words}", file=sys.stderr)
    else:
        remove_unused(session)


def _remove_empty(folder: Path) -> None:
    """Remove the folders of old sessions without work, which a studio left when it was killed."""
    oldest = time.time() - MAX_BIN_SECONDS
    for path in folder.iterdir():
        state = path / STATE_FILE
        if state.exists():
            is_empty = _is_empty(state, oldest)
        else:
            is_empty = path.stat().st_mtime < oldest
        if is_empty:
            shutil.rmtree(path, ignore_errors=True)


def _is_empty(state: Path, oldest: float) -> bool:
    """Return whether a saved session contains neither work nor recent deletions."""
    try:
        content = json.loads(state.read_text(encoding="utf-8"))
        work = ("runs", "answers", "decisions", "rules")
        if any(content.get(name) for name in work):
            return False
        return all(one["time"] < oldest for one in content["deletions"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


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

    Only own sessions may name files outside the folder, and contain deletions.
    """

    def decode(name: str) -> str:
        path = folder / name
        if not is_own and not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidInputError("the session names a file outside its folder")
        return str(path)

    try:
        content = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        session = Session(folder, workers)
        state = {name: content[name] for name in _REQUIRED}
        state["selection"] = content.get("selection")
        state["decisions"] = content.get("decisions", [])
        for name, value in _decode_state(session, state, decode).items():
            setattr(session, name, value)
        session.n_runs = int(content["n_runs"])
        if is_own:
            session.revision = content["revision"]
            session.deletions = [
                Deletion(one["words"], one["time"], None, one["state"])
                for one in content["deletions"]
            ]
            session.deletions = [one for one in session.deletions if one.is_recent]
        else:
            session.get_source().origin = None
        return session
    except (OSError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InvalidInputError(f"the session cannot be opened: {error}") from error


def restore_state(session: Session, saved: Json) -> Json:
    """Return attributes of a session that were saved with a deletion."""
    return _decode_state(session, saved, lambda name: str(session.folder / name))


def _decode_state(session: Session, saved: Json, decode: Callable[[str], str]) -> Json:
    """Return attributes of a session from JSON types; ``decode`` converts the paths of files."""
    state: Json = {}
    source = session.source
    if "source" in saved:
        source = state["source"] = _decode_source(saved["source"], decode)
        state["selection"] = _decode_selection(
            saved.get("selection"), len(source.table)
        )
    assert source is not None
    if "runs" in saved:
        runs = [
            _decode_run(one, session.folder, source, decode) for one in saved["runs"]
        ]
        state["runs"] = {run.id: run for run in runs}
    if "answers" in saved:
        state["pair_answers"] = PairAnswers(
            [(int(a), int(b), str(answer)) for a, b, answer in saved["answers"]]
        )
    if "decisions" in saved:
        state["decisions"] = {
            int(row): _decode_decision(one) for row, one in saved["decisions"]
        }
    if "rules" in saved:
        state["rules"] = list(saved["rules"])
    if "settings" in saved:
        state["settings"] = dict(saved["settings"])
    return state


def _decode_source(saved: Json, decode: Callable[[str], str]) -> Source:
    path = as_file(decode(saved["path"]))
    if compute_digest(path) != saved["digest"]:
        raise InvalidInputError(
            f"{saved['name']} has changed since the session was saved, and the session has no "
            f"copy of it; restore the former file to open the session"
        )
    origin = saved["origin"]
    return Source(
        path=path,
        name=saved["name"],
        options=saved["options"],
        table=read_quietly(path, **saved["options"]),
        notes=saved["notes"],
        digest=saved["digest"],
        origin=origin and Path(origin),
    )


def _decode_decision(saved: Json) -> Decision:
    rows = {name: tuple(map(int, saved[name])) for name in ("same", "different")}
    cluster = saved["cluster"]
    return Decision(
        str(saved["kind"]),
        None if cluster is None else int(cluster),
        str(saved["note"]),
        **rows,
    )


def _decode_selection(saved: str | None, n_rows: int) -> np.ndarray | None:
    if saved is None:
        return None
    bits = np.frombuffer(base64.b64decode(saved), dtype=np.uint8)
    return np.unpackbits(bits, count=n_rows).astype(bool)


def _decode_run(
    saved: Json, folder: Path, source: Source, decode: Callable[[str], str]
) -> Run:
    recipe = Recipe.from_dict(saved["recipe"])
    recipe = replace(recipe, files=tuple(map(decode, recipe.files)))
    if recipe.constraints is not None:
        recipe = replace(recipe, constraints=decode(recipe.constraints))
    number = str(int(saved["id"]))
    model_file, rows_file = run_files(folder, number)
    model: Any = load(model_file)
    rows = np.load(rows_file, allow_pickle=False)
    table = source.table.iloc[rows]
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
        labels={
            int(number): (str(name), str(text))
            for number, (name, text) in saved.get("labels", {}).items()
        },
        is_saved=True,
        **{name: saved[name] for name in RUN_FIELDS},
    )
