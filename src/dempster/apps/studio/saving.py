"""Save sessions in folders and files.

The folder of a session contains its state (``session.json``), the table, and the model and the rows
of each run. A session file is a ZIP archive of this folder. Neither contains code.

Each version of the state has a name, its *revision*. A studio may write a state only if it has read
or written the last revision, because it would otherwise overwrite the changes of another studio.
"""

from __future__ import annotations

import base64
import io
import json
import os
import secrets
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np

from dempster._text import to_plain
from dempster.apps.recipe import TableModel
from dempster.apps.studio.errors import ConflictError
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.sessions import (
    MAX_DELETIONS_IN_MEMORY,
    SAVED_STATE,
    Run,
    Session,
    Source,
)
from dempster.io.atomic import atomic_write, atomic_writes
from dempster.persistence.save_load import to_bytes

STATE_FILE = "session.json"
RUN_FIELDS = ("id", "name", "notes", "seconds", "origin", "n_left_out")
OPENED_ELSEWHERE = (
    "this session was opened elsewhere, in another tab or in another studio"
)
_LOCK_FILE = "lock"
_TABLE_FOLDER = "table"  # folder of a table in an archive

# ---- folders -------------------------------------------------------------------------------------


def save_session(session: Session) -> None:
    """Write the runs and the state of a session with work to its folder.

    What cannot be written is listed in ``session.unsaved``. The next change tries again.
    """
    with session.lock:
        has_work = session.has_work or session.revision
        if session.is_temporary or session.source is None or not has_work:
            return
        unsaved = []
        if session.source.copy_error is not None:
            unsaved.append(f"the table ({session.source.copy_error})")
        try:
            with _lock(session.folder):
                check_revision(session)
                unsaved += _save_runs(session)
                _save_state(session)
        except OSError as error:
            unsaved.append(f"answers, rules and settings ({_reason(error)})")
        else:
            for deletion in session.deletions[:-MAX_DELETIONS_IN_MEMORY]:
                deletion.state = None
        session.unsaved = unsaved


def check_revision(session: Session) -> None:
    """Raise an error if another studio has changed the state on disk."""
    revision = _read_revision(session.folder)
    if revision not in (None, session.revision):
        raise ConflictError(OPENED_ELSEWHERE)


def _read_revision(folder: Path) -> str | None:
    """Return the revision on disk, or None if no state can be read."""
    try:
        content = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        return str(content["revision"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Wait until no other studio writes to a folder."""
    with open(folder / _LOCK_FILE, "ab") as file:
        # Some file systems have no locks, and there is no module fcntl in a browser.
        with suppress(OSError, ImportError):
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _save_runs(session: Session) -> list[str]:
    """Write all runs that are not on disk; return those that cannot be written, with reasons."""
    unsaved = []
    for run in session.runs.values():
        if run.is_saved:
            continue
        files = run_files(session.folder, run.id)
        try:
            with atomic_writes(files) as temporaries:
                for temporary, content in zip(temporaries, _pack_run(run), strict=True):
                    temporary.write_bytes(content)
            run.is_saved = True
        except (OSError, TypeError, ValueError) as error:
            unsaved.append(f"run {run.id} ({_reason(error)})")
    return unsaved


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _save_state(session: Session) -> None:
    session.deletions = [one for one in session.deletions if one.is_recent]
    revision = secrets.token_hex(8)
    content = _describe_folder(session) | {"revision": revision}
    with atomic_write(session.folder / STATE_FILE) as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
    session.revision = revision


def _describe_folder(session: Session) -> Json:
    """Return the state of a session, and what can be restored, with JSON types."""

    def encode(path: str) -> str:
        return _shorten(path, session.folder)

    def encode_saved(state: Json) -> Json:
        saved = {**state}
        if "runs" in state:
            runs = state["runs"]
            saved["runs"] = {k: run for k, run in runs.items() if run.is_saved}
        return _encode_state(saved, encode)

    for deletion in session.deletions:
        if deletion.state is not None:
            deletion.saved = encode_saved(deletion.state)
    deletions = [
        {"words": one.words, "time": one.time, "state": one.saved}
        for one in session.deletions
    ]
    state = encode_saved({name: getattr(session, name) for name in SAVED_STATE})
    return state | {"n_runs": session.n_runs, "deletions": deletions}


def remove_unused(session: Session) -> None:
    """Remove the files of tables and runs that cannot be restored any more."""
    content = _describe_folder(session)
    used = {STATE_FILE, _LOCK_FILE}
    for state in (content, *(one["state"] for one in content["deletions"])):
        paths = [state["source"]["path"]] if "source" in state else []
        for run in state.get("runs", []):
            recipe = run["recipe"]
            paths += [*recipe["files"], recipe.get("constraints") or ""]
            paths += [file.name for file in run_files(session.folder, run["id"])]
        used.update(path.split("/")[0] for path in paths)
    for path in session.folder.iterdir():
        if path.is_dir() and path.name not in used:
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in used:
            path.unlink(missing_ok=True)


def run_files(folder: Path, number: str) -> tuple[Path, Path]:
    """Return the paths of the model and the rows of a run."""
    return folder / f"run{number}.dempster", folder / f"run{number}.npy"


# ---- archives ------------------------------------------------------------------------------------


def pack_session(session: Session) -> bytes:
    """Return a session as an archive, which contains its table.

    Runs are packed from memory, so that a session can be saved elsewhere if the disk is full.
    """
    files: dict[str, Path] = {}

    def encode(path: str) -> str:
        name = _shorten(path, session.folder)
        if os.path.isabs(name):
            name = f"{_TABLE_FOLDER}/{Path(name).name}"
        files[name] = Path(path)
        return name

    with session.lock:
        session.get_source().check_unchanged()
        state = {name: getattr(session, name) for name in SAVED_STATE}
        runs = {}
        members: dict[str, bytes] = {}
        for run in session.runs.values():
            with suppress(TypeError, ValueError):  # The model cannot be saved.
                names = [file.name for file in run_files(session.folder, run.id)]
                members.update(zip(names, _pack_run(run), strict=True))
                runs[run.id] = run
        content = _encode_state({**state, "runs": runs}, encode)
        content["n_runs"] = session.n_runs
        content["source"]["origin"] = None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(STATE_FILE, json.dumps(content))
        for name, member in members.items():
            archive.writestr(name, member)
        for name, path in files.items():
            archive.write(path, name)
    return packed.getvalue()


def _pack_run(run: Run) -> tuple[bytes, bytes]:
    """Return the model and the rows of a run as the content of two files."""
    rows = io.BytesIO()
    np.save(rows, run.rows)
    return to_bytes(TableModel(run.estimator, run.preparation)), rows.getvalue()


# ---- JSON ----------------------------------------------------------------------------------------


def _shorten(path: str, folder: Path) -> str:
    """Return the path relative to a folder if the file is inside."""
    file = Path(path)
    if file.is_relative_to(folder):
        return file.relative_to(folder).as_posix()
    return path


def _encode_state(state: Json, encode: Callable[[str], str]) -> Json:
    """Return attributes of a session with JSON types; ``encode`` converts the paths of files."""
    content: Json = {
        name: state[name] for name in ("rules", "settings") if name in state
    }
    if "source" in state:
        content["source"] = _encode_source(state["source"], encode)
    if "runs" in state:
        content["runs"] = [_encode_run(run, encode) for run in state["runs"].values()]
    if "pair_answers" in state:
        content["answers"] = state["pair_answers"].answers
    if "decisions" in state:
        decided = state["decisions"].items()
        content["decisions"] = [[row, asdict(decision)] for row, decision in decided]
    if state.get("selection") is not None:
        bits = np.packbits(state["selection"])
        content["selection"] = base64.b64encode(bits.tobytes()).decode()
    return to_plain(content)


def _encode_source(source: Source, encode: Callable[[str], str]) -> Json:
    return {
        "path": encode(str(source.path)),
        "name": source.name,
        "options": source.options,
        "notes": source.notes,
        "digest": source.digest,
        "origin": source.origin and str(source.origin),
    }


def _encode_run(run: Run, encode: Callable[[str], str]) -> Json:
    recipe = run.recipe.to_dict()
    recipe["files"] = [encode(file) for file in recipe["files"]]
    if "constraints" in recipe:
        recipe["constraints"] = encode(recipe["constraints"])
    fields = {name: getattr(run, name) for name in RUN_FIELDS}
    return fields | {"recipe": recipe, "labels": run.labels}
