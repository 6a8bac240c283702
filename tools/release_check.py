"""Check whether the built wheel and sdist can be released.

`make release-check` calls it with their folder.

The wheel must be small and contain no tests, both files must have the version of the package, and
the program must run with only the wheel installed in an empty environment.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_WHEEL_BYTES = 2_000_000
# Run in the empty environment, outside of the source tree.
TRIAL = """
import dempster, pathlib, tempfile
from dempster.persistence import load, save
assert "site-packages" in dempster.__file__, dempster.__file__
X = dempster.datasets.load_butterfly().data
model = dempster.cluster.EVCLUS(2, random_state=0).fit(X)
with tempfile.TemporaryDirectory() as folder:
    save(model, pathlib.Path(folder) / "model.dempster")
    assert (load(pathlib.Path(folder) / "model.dempster").labels_ == model.labels_).all()
print("dempster", dempster.__version__)
"""


def main(folder: Path) -> None:
    wheel = _only(folder, "*.whl")
    sdist = _only(folder, "*.tar.gz")
    _check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as place:
        _try(wheel, Path(place))
    print(
        f"{wheel.name} ({wheel.stat().st_size / 1000:,.0f} kB) and {sdist.name} can be released"
    )


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} must contain exactly one {pattern}, got {len(found)}")
    return found[0]


def _check_contents(wheel: Path, sdist: Path) -> None:
    match = re.search(
        r'^__version__ = "(.+)"$',
        (ROOT / "src/dempster/__init__.py").read_text(),
        flags=re.MULTILINE,
    )
    if match:
        version = match.group(1)
    else:
        version = "?"
    for file in (wheel, sdist):
        if f"dempster-{version}" not in file.name:
            sys.exit(f"{file.name} must have version {version}")
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        sys.exit(
            f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {MAX_WHEEL_BYTES:,}"
        )
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        description = archive.read(f"dempster-{version}.dist-info/METADATA").decode()
    unexpected = [
        name
        for name in names
        if not name.startswith(("dempster/", f"dempster-{version}.dist-info/"))
    ]
    unexpected += [
        n
        for n in names
        if "test" in Path(n).stem.split("_") or n.endswith((".c", ".h", ".pyc"))
    ]
    if unexpected:
        sys.exit(f"{wheel.name} must not contain {unexpected[0]}")
    relative = re.findall(r"\]\((?!https:|#)([^)]*)\)", description)
    if "](https:" not in description or relative:
        sys.exit(f"{wheel.name} must have absolute links, got {relative[:1]}")
    if not any(name.startswith("dempster/_native/kernels") for name in names):
        sys.exit(f"{wheel.name} does not contain the kernels")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "pyproject.toml",
        "hatch_build.py",
        "build_kernels.py",
        "LICENSE",
        "README.md",
        "src/dempster/_native/library.c",
    ):
        if needed not in inside:
            sys.exit(f"{sdist.name} does not contain {needed}")


def _try(wheel: Path, place: Path) -> None:
    venv.create(place / "empty", with_pip=True)
    programs = place / "empty" / ("Scripts" if sys.platform == "win32" else "bin")
    steps = [
        [programs / "python", "-m", "pip", "install", "--quiet", "--no-compile", wheel],
        [programs / "python", "-I", "-c", TRIAL],
        [programs / "dempster", "example", "flowers.csv"],
        [programs / "dempster", "cluster", "flowers.csv", "--plot", "flowers.png"],
    ]
    for step in steps:
        if subprocess.run([*map(str, step)], cwd=place).returncode:
            sys.exit(f"failed in an empty environment: {' '.join(map(str, step[:4]))}")
    for name in ("flowers.partition.csv", "flowers.png"):
        if not (place / name).is_file():
            sys.exit(f"dempster cluster did not write {name}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/release_check.py FOLDER")
    main(Path(sys.argv[1]).resolve())
