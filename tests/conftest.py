"""Fixtures shared by all tests."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_iris, load_wine

from dempster.datasets import load_butterfly

# A busy machine must not fail a test.
settings.register_profile("any machine", deadline=None, max_examples=40)
settings.load_profile("any machine")


# Files that take longest, first, so that all processes end at about the same time.
LONGEST = [
    "apps/studio/test_page.py",
    "apps/report/test_in_browser.py",
    "cluster/test_input.py",
    "test_examples.py",
    "cluster/test_auto.py",
]


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture
def default_interrupts():
    """Raise KeyboardInterrupt on SIGINT, which processes in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def skip_fsync():
    """Do not wait until files are on disk, which takes longer than many tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


# Reference results for data that are generated, or that scikit-learn or this package contains.
REFERENCE = Path(__file__).parent / "reference"
BUNDLED = {"butterfly": load_butterfly, "iris": load_iris, "wine": load_wine}


def find_shared_folder() -> Path:
    """Return the folder with the data sets of other packages, or skip the test if it is absent."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("DEMPSTER_SHARED", beside))
    if not (folder / "reference").is_dir():
        pytest.skip(f"reference data not found in {folder} (set DEMPSTER_SHARED)")
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of reference results and data sets next to the checkout.

    Tests that need it are skipped without it.
    """
    return find_shared_folder()


class ReferenceCase:
    """Inputs and outputs of one run of an established R package, with tolerances."""

    def __init__(self, folder: Path, name: str):
        self.name = name
        self.about = json.loads((folder / f"{name}.json").read_text())
        self.parameters = self.about["hyper_parameters"]
        with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
            self._arrays = {key: arrays[key] for key in arrays.files}

    def __getitem__(self, key: str) -> np.ndarray:
        return self._arrays[key]

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    @property
    def names(self) -> list[str]:
        return list(self._arrays)

    def assert_equal(self, key: str, value, *, where=..., rtol=None, atol=None) -> None:
        """Compare with the stored array at the tolerance of the case or at the given one."""
        stated = self.about["tolerance"].get(key, self.about["tolerance"]["default"])
        np.testing.assert_allclose(
            np.asarray(value, float)[where],
            np.asarray(self[key], float)[where],
            rtol=stated["rtol"] if rtol is None else rtol,
            atol=stated["atol"] if atol is None else atol,
            err_msg=f"{self.name}: {key}",
        )


@pytest.fixture(scope="session")
def reference():
    """Open a reference case by name."""

    def read(name):
        folder = REFERENCE
        if not (folder / f"{name}.json").is_file():
            folder = find_shared_folder() / "reference"
        return ReferenceCase(folder, name)

    return read


@pytest.fixture(scope="session")
def shared_data():
    """Read a real data set by name: (attributes or dissimilarities, labels or None)."""

    def read(name, standardise=False):
        if name in BUNDLED:
            X, y = BUNDLED[name](return_X_y=True)
        else:
            file = find_shared_folder() / "data" / f"{name}.npz"
            with np.load(file, allow_pickle=False) as z:
                X = z["D"] if "D" in z else z["X"].astype(float)
                y = z.get("y")
        if standardise:
            scale = X.std(0)
            X = (X - X.mean(0)) / np.where(scale > 0, scale, 1)
        return X, y

    return read


@pytest.fixture(scope="session")
def playwright():
    """Driver of a browser, once in a process.

    Tests that need it are skipped if there is no browser.
    """
    from tests.apps.report.browser import needs_browser

    with needs_browser().sync_playwright() as driver:
        yield driver
