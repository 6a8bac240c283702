"""What all hostile tests share."""

import pytest

from dempster import _validation as _parameters


@pytest.fixture(autouse=True)
def endless_is_soon_too_long(monkeypatch):
    """An iterator that never ends is given up after a hundredth of the usual number."""
    monkeypatch.setattr(_parameters, "_MOST_LISTED", 100_000)
