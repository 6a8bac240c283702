"""Build the page on which dempster runs in the browser, "Try it in the browser".

    python -m tools.browser FOLDER

writes ``try.html`` and the folder ``try`` into FOLDER, which any web server can serve. The page
contains Python and its libraries for WebAssembly: a distribution of Pyodide, pure Python packages,
and a wheel of this package for Pyodide. They are downloaded once by pip and kept in
``build/browser``. Python files are compiled to bytecode, because a browser would compile them at
each start.

`docs/try` contains the sources of the page. It needs node, which the Python package playwright
contains, too.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "docs" / "try"
STUDIO = ROOT / "src" / "dempster" / "apps" / "studio" / "static"
MAP = ROOT / "src" / "dempster" / "apps" / "map" / "static"
CACHE = ROOT / "build" / "browser"
TARGET = "pyemscripten_2025_0_wasm32"

# Folders of the file system of Pyodide.
SITE = "lib/python3.13/site-packages"
LIBRARIES = "usr/lib"

# Packages of the distribution, in the archive that the page loads, and in that for figures.
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "pandas"),
    *("python-dateutil", "pytz", "six", "typing-extensions", "libopenblas"),
)
PLOTS = (
    *("matplotlib", "contourpy", "cycler", "fonttools", "kiwisolver", "packaging"),
    *("pillow", "pyparsing"),
)
# Files of packages that Python does not need.
_UNUSED_SUFFIXES = (".pyi", ".pxd", ".pyx", ".pxi", ".h", ".c", ".cpp", ".f", ".f90")
_UNUSED_FOLDERS = ("tests", "testing/data", "sample_data", "_pyinstaller")

# Two changes of the script of Pyodide make loading of its 150 libraries faster.
CHANGES = {
    # For each library, it searches all tens of thousands of symbols for undefined ones. Symbols
    # that have a value need not be searched again.
    "for(var[symName,entry]of Object.entries(GOT)){if(entry.value==0){": (
        "globalThis.definedSymbols??=new Set();"
        "for(var symName in GOT){if(definedSymbols.has(symName))continue;"
        "var entry=GOT[symName];if(entry.value!=0)definedSymbols.add(symName);else{"
    ),
    # For each function, it enlarges the table of functions by one, which copies the table.
    "return freeTableIndexes.pop()}try{wasmTable.grow(1)}": (
        "return freeTableIndexes.pop()}try{"
        "for(var first=wasmTable.grow(1024),slot=first+1024;--slot>=first;)"
        "freeTableIndexes.push(slot);return freeTableIndexes.pop()}"
    ),
}

POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
    "connect-src 'self'; style-src 'self'; img-src 'self' data: blob:; form-action 'none'; "
    "base-uri 'none'"
)
NOTE = (
    "The first table or example loads Python, about {megabytes} MB, which the browser keeps. "
    "Then the page closes all connections: your table stays in this tab."
)


class UnavailableError(Exception):
    """Raised if the distribution of Pyodide or node cannot be had on this machine."""


# ---- downloads -----------------------------------------------------------------------------------


def download(requirements: Path = SOURCE / "requirements.txt") -> Path:
    """Return a folder with the wheels of a requirements file, downloaded once.

    The distribution of Pyodide is extracted from the wheel that contains it.
    """
    folder = CACHE / _digest(requirements.read_bytes(), repr(CHANGES).encode())
    if folder.exists():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        partial = Path(place, "files")
        wheels = partial / "wheels"
        command = [*_PIP, "download", "--quiet", "--no-deps", "--dest", str(wheels)]
        # The wheels are pure Python; open-webui refuses the latest versions of Python.
        command += ["--only-binary", ":all:", "--python-version", "3.12"]
        command += ["--requirement", str(requirements)]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
            reason = f"pip cannot download the packages in {requirements.name}"
            raise UnavailableError(reason)
        for wheel in wheels.glob("open_webui-*.whl"):
            _extract_pyodide(wheel, partial / "pyodide")
            wheel.unlink()
        partial.rename(folder)
    return folder


_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


def _extract_pyodide(wheel: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    start = "open_webui/frontend/pyodide/"
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(start) and not name.endswith((".map", ".d.ts", "/")):
                (folder / name.removeprefix(start)).write_bytes(archive.read(name))
    script = folder / "pyodide.asm.js"
    text = script.read_text(encoding="utf-8")
    script.write_text(_replace(text, CHANGES), encoding="utf-8")


@cache
def find_node() -> str:
    """Return the path of node."""
    found = shutil.which("node")
    if found:
        return found
    spec = find_spec("playwright")
    if spec is not None and spec.origin is not None:
        node = Path(spec.origin).parent / "driver" / "node"
        if node.exists():
            return str(node)
    raise UnavailableError("node is missing: pip install playwright")


def build_wheel() -> Path:
    """Return the wheel of this package for Pyodide, built if the sources have changed."""
    sources = sorted(
        file
        for pattern in ("src/dempster/**/*", "*.py", "pyproject.toml")
        for file in ROOT.glob(pattern)
        if file.is_file() and "__pycache__" not in file.parts
        if not file.name.startswith("kernels")
    )
    folder = CACHE / "wheel" / _digest(*(file.read_bytes() for file in sources))
    if not folder.exists():
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.parent.mkdir(parents=True)
        command = [*_PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir"]
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            environment = {**os.environ, "DEMPSTER_TARGET": TARGET}
            subprocess.run([*command, place, str(ROOT)], check=True, env=environment)
            shutil.copytree(place, folder)
    [wheel] = folder.iterdir()
    return wheel


def _digest(*contents: bytes) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:12]


# ---- archives ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runtime:
    """Files of Pyodide and archives of packages, compiled to bytecode."""

    folder: Path
    lock: dict[str, Any]

    @property
    def files(self) -> dict[str, Path]:
        """Files by name, as in the manifest of the page."""
        return {file.name.partition(".")[0]: file for file in self.folder.iterdir()}


def build_runtime() -> Runtime:
    """Return everything that does not depend on this package, built if it is not there."""
    downloads = download()
    pyodide = downloads / "pyodide"
    lock = json.loads((pyodide / "pyodide-lock.json").read_text())
    info = {"info": lock["info"], "packages": {}}
    key = _digest(Path(__file__).read_bytes(), (SOURCE / "compile.mjs").read_bytes())
    folder = downloads / f"runtime-{key}"
    if folder.exists():
        return Runtime(folder, info)
    for old in downloads.glob("runtime-*"):
        shutil.rmtree(old)
    with tempfile.TemporaryDirectory(dir=downloads) as place:
        trees = {name: Path(place, name) for name in ("stdlib", "packages", "plots")}
        with zipfile.ZipFile(pyodide / "python_stdlib.zip") as archive:
            archive.extractall(trees["stdlib"])
        for name, chosen in (("packages", PACKAGES), ("plots", PLOTS)):
            for package in chosen:
                file = pyodide / lock["packages"][package]["file_name"]
                _unpack(file, trees[name], is_library=file.suffix == ".zip")
        for wheel in (downloads / "wheels").glob("*.whl"):
            _unpack(wheel, trees["packages"])
        _compile(pyodide, *trees.values())
        built = Path(place, "built")
        built.mkdir()
        _write_zip(built / "stdlib.zip", trees["stdlib"])
        for name in ("packages", "plots"):
            (built / f"{name}.tar.gz").write_bytes(_pack(trees[name]))
        wasm = (pyodide / "pyodide.asm.wasm").read_bytes()
        (built / "wasm.gz").write_bytes(_gzip(wasm))
        built.rename(folder)
    return Runtime(folder, info)


def _unpack(wheel: Path, tree: Path, *, is_library: bool = False) -> None:
    folder = tree / (LIBRARIES if is_library else SITE)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and _is_used(name):
                archive.extract(name, folder)


def _is_used(name: str) -> bool:
    return not name.endswith(_UNUSED_SUFFIXES) and not any(
        f"/{folder}/" in name for folder in _UNUSED_FOLDERS
    )


def _compile(pyodide: Path, *trees: Path) -> None:
    """Replace the Python files in folders by bytecode."""
    script = SOURCE / "compile.mjs"
    command = [find_node(), str(script), str(pyodide), *map(str, trees)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _write_zip(path: Path, tree: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files_in(tree):
            name = zipfile.ZipInfo(file.relative_to(tree).as_posix())
            archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED)


def _pack(tree: Path) -> bytes:
    """Return a compressed archive, which is the same for the same files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for file in _files_in(tree):
            member = tarfile.TarInfo(file.relative_to(tree).as_posix())
            member.size = file.stat().st_size
            tar.addfile(member, io.BytesIO(file.read_bytes()))
    return _gzip(content.getvalue())


def _files_in(tree: Path) -> Iterable[Path]:
    return sorted(file for file in tree.rglob("*") if file.is_file())


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _pack_package() -> bytes:
    """Return the archive of this package and of the module of the page."""
    pyodide = download() / "pyodide"
    wheel = build_wheel()
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        tree = Path(place)
        _unpack(wheel, tree)
        shutil.copy(SOURCE / "dempster_page.py", tree / SITE)
        _compile(pyodide, tree)
        return _pack(tree)


# ---- the page ------------------------------------------------------------------------------------


def build_page(folder: Path) -> None:
    """Write the page and its files into a folder."""
    from dempster.apps.studio.in_page import describe_page

    runtime = build_runtime()
    place = folder / "try"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in ("engine.js", "page.js", "cells.js", "page.css", "cells.css"):
        shutil.copy(SOURCE / name, place)
    shutil.copytree(STUDIO, place / "studio")
    shutil.copytree(MAP, place / "studio" / "map")
    (place / "studio" / "index.html").unlink()
    files = {name: (file, file.read_bytes()) for name, file in runtime.files.items()}
    files["worker"] = Path("worker.js"), _join_worker()
    files["dempster"] = Path("dempster.tar.gz"), _pack_package()
    (place / "runtime").mkdir()
    listed = {}
    for name, (file, content) in files.items():
        path = f"runtime/{name}-{_digest(content)}{''.join(file.suffixes)}"
        (place / path).write_bytes(content)
        listed[name] = {"path": path, "bytes": len(content)}
    manifest = {"files": listed, "lock": runtime.lock, "page": describe_page()}
    (place / "manifest.json").write_text(_to_json(manifest), encoding="utf-8")
    loaded = [listed[name]["bytes"] for name in listed if name != "plots"]
    note = NOTE.format(megabytes=round(sum(loaded) / 1e6))
    (folder / "try.html").write_text(_write_html(note), encoding="utf-8")
    _write_service_worker(folder)


def _to_json(content: Any) -> str:
    from dempster._text import to_plain

    return json.dumps(to_plain(content), ensure_ascii=False)


def _join_worker() -> bytes:
    """Return the script of the web worker, which begins with those of Pyodide."""
    pyodide = download() / "pyodide"
    files = (pyodide / "pyodide.asm.js", pyodide / "pyodide.js", SOURCE / "worker.js")
    return b"\n".join(file.read_bytes() for file in files)


def _write_html(note: str) -> str:
    """Return the page of the studio with the additions of docs/try."""
    html = (STUDIO / "index.html").read_text(encoding="utf-8")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    own = (
        '<link rel="stylesheet" href="try/page.css">\n'
        '<script type="module" src="try/page.js"></script>\n'
    )
    main = '<script type="module" src="/static/main.js"></script>'
    return _replace(
        html,
        {
            '<meta charset="utf-8">': f'<meta charset="utf-8">\n{policy}',
            "<title>dempster studio</title>": "<title>Try dempster in the browser</title>",
            main: own + main,
            '<div id="banners"></div>': f'<p id="page-note" class="page-note" role="status" data-before="{note}">{note}</p>\n<div id="banners"></div>',
            '<h1><img src="/static/icon.svg" alt="" width="22" height="22"> dempster <span>studio</span></h1>': '<h1><a href="index.html"><img src="/static/icon.svg" alt="" width="22" height="22"> dempster <span>in the browser</span></a></h1>',
            "The studio needs JavaScript, which this machine serves.": "This page needs JavaScript.",
            "{{token}}": "",
        },
    ).replace("/static/", "try/studio/")


def _replace(text: str, replacements: dict[str, str]) -> str:
    for old, new in replacements.items():
        if text.count(old) != 1:
            raise ValueError(f"expected once, found {text.count(old)} times: {old}")
        text = text.replace(old, new)
    return text


def _write_service_worker(folder: Path) -> None:
    """Write the script that keeps the page, with its files and their hash."""
    place = folder / "try"
    kept = [
        file
        for file in _files_in(place)
        if "runtime" not in file.parts and file.name != "manifest.json"
    ]
    kept.append(folder / "try.html")
    script = (SOURCE / "service_worker.js").read_text(encoding="utf-8")
    names = [file.relative_to(folder).as_posix() for file in kept]
    version = _digest(*(file.read_bytes() for file in kept))
    script = _replace(script, {"{{version}}": version, "{{files}}": json.dumps(names)})
    (folder / "service_worker.js").write_text(script, encoding="utf-8")


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    try:
        build_page(folder)
    except UnavailableError as error:
        sys.exit(f"the page was not built: {error}")
    print(f"built {folder / 'try.html'}")


if __name__ == "__main__":
    main()
