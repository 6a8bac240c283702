"""Fixtures of the tests of displays."""

import matplotlib
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
