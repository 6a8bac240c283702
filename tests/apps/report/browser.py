"""Chromium or Chrome for tests in a browser."""

import shutil

import pytest

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)


def find_browser():
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def launch_browser(playwright):
    return playwright.chromium.launch(
        executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
    )


def needs_browser():
    """Skip the test if playwright or a browser is missing."""
    playwright = pytest.importorskip(
        "playwright.sync_api",
        reason="playwright is not installed: pip install playwright",
    )
    if find_browser() is None:
        pytest.skip(f"no browser was found: none of {', '.join(_NAMES)} is installed")
    return playwright
