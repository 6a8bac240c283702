"""Code that is run for the site: in processes of its own, its results kept until something changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from sphinx.util.display import status_iterator

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
ROOT = DOCS.parent
KEPT = DOCS / "_build" / "kept"
AT_ONCE = 2

Piece = TypeVar("Piece")


@cache
def state_of_the_package() -> str:
    """Changes whenever the code of the package does; comments and docstrings are no code."""
    digest = hashlib.sha256()
    for file in sorted([*ROOT.glob("src/dempster/**/*.py"), HERE / "blocks.py"]):
        code = compile(file.read_text(encoding="utf-8"), "", "exec", dont_inherit=True, optimize=2)  # no docstrings
        for part in parts_of(code):
            digest.update(part)
    for file in sorted(ROOT.glob("src/dempster/**/*.[ch]")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def parts_of(code: CodeType) -> Iterator[bytes]:
    """What a compiled piece of code does, without the lines where it stands."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from parts_of(constant)
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, constant))).encode()  # its order is not that of another process
        else:
            yield repr(constant).encode()


def folder_of(name: str, text: str) -> Path:
    """Where the results of a piece of code are kept: another folder after every change. Those before are removed."""
    folder = KEPT / name / hashlib.sha256((state_of_the_package() + text).encode()).hexdigest()[:16]
    for old in (KEPT / name).glob("*"):
        if old != folder:
            shutil.rmtree(old, ignore_errors=True)  # another build may have been here
    return folder


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    }


def python(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, encoding="utf-8"
    )


def is_done(folder: Path) -> bool:
    return (folder / "results.json").exists()


def results_in(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def run_script(script: Path, folder: Path) -> str | None:
    """Run a script in an empty folder and keep what it prints and the pictures it writes; the error if it fails."""
    with tempfile.TemporaryDirectory() as work:
        done = python(str(script), folder=Path(work))
        if done.returncode:
            return done.stderr[-2000:]
        folder.mkdir(parents=True, exist_ok=True)
        for picture in Path(work).glob("*.png"):
            shutil.copy(picture, folder)
    (folder / "results.json").write_text(json.dumps(done.stdout), encoding="utf-8")
    return None


def all_of(pieces: Iterable[Piece], work: Callable[[Piece], object], title: str) -> None:
    """Do the work on all pieces, some at a time, showing how far it is."""
    pieces = list(pieces)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        doing = pool.map(work, pieces)
        for _ in status_iterator(doing, f"{title}... ", "darkgreen", len(pieces), stringify_func=lambda _: ""):
            pass
