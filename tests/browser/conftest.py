"""Fixtures: the page with its files, and scripts that run in Pyodide. `make test-wasm` runs these tests."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from tools.browser import (
    CACHE,
    UnavailableError,
    build_page,
    download,
    find_node,
)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def site():
    """Return the folder of the page and its files."""
    folder = CACHE / "site"
    try:
        build_page(folder)
    except UnavailableError as error:
        pytest.skip(f"tests in the browser are skipped: {error}")
    return folder


@pytest.fixture(scope="session")
def pyodide(site):
    """Return a function that runs a script in Pyodide and returns its output."""

    def run(script, *parameters):
        command = [
            find_node(),
            HERE / "run.mjs",
            download() / "pyodide",
            site / "try" / "runtime",
            HERE / script,
            *parameters,
        ]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done.stdout

    return run


@pytest.fixture(scope="session")
def test_packages():
    """Return a folder with pytest and hypothesis in pure Python."""
    folder = download(HERE / "requirements.txt")
    packages = folder / "packages"
    if not packages.exists():
        for wheel in (folder / "wheels").glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(packages)
    return packages
