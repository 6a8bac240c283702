"""Code that is run for the site: each piece in a process of its own, its result kept until something changes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

from sphinx.util import logging
from sphinx.util.display import status_iterator

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
ROOT = DOCS.parent
KEPT = DOCS / "_build" / "kept"

Piece = TypeVar("Piece")
logger = logging.getLogger(__name__)


@cache
def state_of_the_package() -> str:
    """Changes whenever a source of the package or of this folder does."""
    digest = hashlib.sha256()
    for file in sorted([*ROOT.glob("src/evidentia/**/*.py"), *ROOT.glob("src/evidentia/**/*.[ch]"), *HERE.glob("*.py")]):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def folder_of(name: str, text: str) -> Path:
    """Where the result of a piece of code is kept; another one after every change."""
    return KEPT / f"{name}-{hashlib.sha256((state_of_the_package() + text).encode()).hexdigest()[:16]}"


def is_done(folder: Path) -> bool:
    return (folder / "done.json").exists()


def run(arguments: list[str], folder: Path) -> dict[str, object]:
    """Run Python in an empty folder, which becomes ``folder`` with everything written there.

    ``done.json`` is written last: what it holds is what was printed, or why it failed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for old in folder.parent.glob(folder.name.rsplit("-", 1)[0] + "-*"):  # results of earlier versions of this piece
        if old != folder and len(old.name) == len(folder.name):
            for file in old.iterdir():
                file.unlink()
            old.rmdir()
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]),
        **{name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")},
    }
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=work, env=environment, capture_output=True, text=True, encoding="utf-8"
        )
        result = {"failed": done.returncode != 0, "printed": done.stdout, "error": done.stderr[-2000:]}
        folder.mkdir(exist_ok=True)
        for file in Path(work).rglob("*.*"):
            if file.suffix in (".png", ".json"):
                (folder / file.name).write_bytes(file.read_bytes())
    if not result["failed"]:
        (folder / "done.json").write_text(json.dumps(result), encoding="utf-8")
    return result


def all_of(pieces: Iterable[Piece], work: Callable[[Piece], object], title: str) -> None:
    """Do the work on all pieces, two at a time, showing how far it is."""
    pieces = list(pieces)
    with ThreadPoolExecutor(2) as pool:
        doing = pool.map(work, pieces)
        for _ in status_iterator(doing, f"{title}... ", "darkgreen", len(pieces), stringify_func=lambda _: ""):
            pass
