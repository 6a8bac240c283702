"""Run code for the site in separate processes and cache its results."""

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
CACHE = DOCS / "_build" / "kept"
MAX_PROCESSES = 2

Item = TypeVar("Item")


@cache
def package_hash() -> str:
    """Return a hash of the code of the package, without comments and docstrings."""
    digest = hashlib.sha256()
    for file in sorted([*ROOT.glob("src/dempster/**/*.py"), HERE / "blocks.py"]):
        # no docstrings
        code = compile(
            file.read_text(encoding="utf-8"), "", "exec", dont_inherit=True, optimize=2
        )
        for part in code_parts(code):
            digest.update(part)
    for file in sorted(ROOT.glob("src/dempster/**/*.[ch]")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def code_parts(code: CodeType) -> Iterator[bytes]:
    """Yield the content of compiled code without line numbers."""
    yield code.co_code
    yield repr(
        (
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_argcount,
            code.co_kwonlyargcount,
        )
    ).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from code_parts(constant)
        elif isinstance(constant, frozenset):
            # The order of a set differs between processes.
            yield repr(sorted(map(repr, constant))).encode()
        else:
            yield repr(constant).encode()


def folder_of(name: str, text: str) -> Path:
    """Return the folder for the results of some code, which changes with the code.

    Remove older folders.
    """
    folder = (
        CACHE / name / hashlib.sha256((package_hash() + text).encode()).hexdigest()[:16]
    )
    for old in (CACHE / name).glob("*"):
        if old != folder:
            # Another build may remove it at the same time.
            shutil.rmtree(old, ignore_errors=True)
    return folder


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        ),
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    }


def python(
    *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def is_done(folder: Path) -> bool:
    return (folder / "results.json").exists()


def results_in(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def run_script(script: Path, folder: Path) -> str | None:
    """Run a script in an empty folder and keep its output and figures.

    Return the error message if it fails.
    """
    with tempfile.TemporaryDirectory() as work:
        done = python(str(script), folder=Path(work))
        if done.returncode:
            return done.stderr[-2000:]
        folder.mkdir(parents=True, exist_ok=True)
        for picture in Path(work).glob("*.png"):
            shutil.copy(picture, folder)
    (folder / "results.json").write_text(json.dumps(done.stdout), encoding="utf-8")
    return None


def run_parallel(
    items: Iterable[Item], work: Callable[[Item], object], title: str
) -> None:
    """Call ``work`` for all items, several at a time, and show the progress."""
    items = list(items)
    with ThreadPoolExecutor(MAX_PROCESSES) as pool:
        results = pool.map(work, items)
        for _ in status_iterator(
            results,
            f"{title}... ",
            "darkgreen",
            len(items),
            stringify_func=lambda _: "",
        ):
            pass
