"""A browser for the tests: Chromium or Chrome as the system has it."""

import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser():
    """The program; None if there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def launched(playwright):
    """A browser without a window."""
    return playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])


def needs_browser():
    """Skip where a browser, or what drives it, is missing."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if find_browser() is None:
        pytest.skip(f"no browser was found: none of {', '.join(_NAMES)} is installed")
    return playwright
