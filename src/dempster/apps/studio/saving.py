"""Save sessions in folders and files.

The folder of a session contains its state (``session.json``), the uploaded table, and the model and
the rows of each run. A session file is a ZIP archive of this folder. Neither contains code.
"""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dempster._text import to_plain
from dempster.apps.recipe import TableModel
from dempster.apps.studio.jobs import Json
from dempster.io.atomic import atomic_write
from dempster.persistence import save

if TYPE_CHECKING:
    from dempster.apps.studio.sessions import Run, Session

STATE_FILE = "session.json"
RUN_FIELDS = ("id", "name", "notes", "seconds", "origin", "n_left_out")
_TABLE_FOLDER = "table"  # folder of a table in an archive


def save_run(session: Session, run: Run) -> None:
    """Save the model and the rows of a run; note on the run if its model cannot be saved."""
    model = TableModel(run.estimator, run.preparation)
    try:
        save(model, run_file(session.folder, run.id, ".dempster"))
        np.save(run_file(session.folder, run.id, ".npy"), run.rows)
    except (OSError, TypeError, ValueError) as error:
        run.notes.append(f"this run is not saved with the session: {error}")


def save_session(session: Session) -> None:
    """Write the state of a session with a table to its folder."""
    with session.lock:
        if session.source is None:
            return
        content = _describe(session, lambda path: _shorten(path, session.folder))
        with atomic_write(session.folder / STATE_FILE) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")


def pack_session(session: Session) -> bytes:
    """Return a session as an archive, which contains its table."""
    files: dict[str, Path] = {}

    def encode(path: str) -> str:
        name = _shorten(path, session.folder)
        if os.path.isabs(name):
            name = f"{_TABLE_FOLDER}/{Path(name).name}"
        files[name] = Path(path)
        return name

    session.get_source()  # This raises an error if there is no table.
    content = _describe(session, encode)
    for run in content["runs"]:
        for extension in (".dempster", ".npy"):
            path = run_file(session.folder, run["id"], extension)
            files[path.name] = path
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(STATE_FILE, json.dumps(content))
        for name, path in files.items():
            archive.write(path, name)
    return packed.getvalue()


def remove_unused(session: Session) -> None:
    """Remove the files of tables and runs that are no longer part of a session."""
    used = {STATE_FILE}

    def encode(path: str) -> str:
        name = _shorten(path, session.folder)
        used.add(name.split("/")[0])
        return name

    for run in _describe(session, encode)["runs"]:
        for extension in (".dempster", ".npy"):
            used.add(run_file(session.folder, run["id"], extension).name)
    for path in session.folder.iterdir():
        if path.is_dir() and path.name not in used:
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in used:
            path.unlink(missing_ok=True)


def run_file(folder: Path, number: str, extension: str) -> Path:
    """Return the path of the model or the rows of a run."""
    return folder / f"run{number}{extension}"


def _shorten(path: str, folder: Path) -> str:
    """Return the path relative to a folder if the file is inside."""
    file = Path(path)
    if file.is_relative_to(folder):
        return file.relative_to(folder).as_posix()
    return path


def _describe(session: Session, encode: Callable[[str], str]) -> Json:
    """Return the state of a session with JSON types; ``encode`` converts the paths of files."""
    source = session.get_source()
    runs = []
    for run in session.runs.values():
        if not run_file(session.folder, run.id, ".npy").exists():
            continue
        recipe = run.recipe.to_dict()
        recipe["files"] = [encode(file) for file in recipe["files"]]
        if "constraints" in recipe:
            recipe["constraints"] = encode(recipe["constraints"])
        runs.append(
            {name: getattr(run, name) for name in RUN_FIELDS} | {"recipe": recipe}
        )
    selection = None
    if session.selection is not None:
        selection = base64.b64encode(np.packbits(session.selection).tobytes()).decode()
    content = {
        "source": {
            "path": encode(str(source.path)),
            "name": source.name,
            "options": source.options,
            "notes": source.notes,
            "shape": source.table.shape,
        },
        "runs": runs,
        "n_runs": session.n_runs,
        "answers": session.pair_answers.answers,
        "rules": session.rules,
        "settings": session.settings,
        "selection": selection,
    }
    return to_plain(content)
