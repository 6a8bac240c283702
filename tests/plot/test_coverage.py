"""Display of coverage and size of conformal sets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dempster import MassFunctions
from dempster._errors import InvalidInputError
from dempster.plot import CoverageDisplay


@pytest.fixture
def masses():
    contour = np.random.default_rng(0).random((30, 3))
    return MassFunctions.from_contour(contour, frame=["a", "b", "c"])


def test_curves_equal_a_naive_computation(masses):
    y = np.array(["a", "b", "b"] * 10)
    display = CoverageDisplay.from_masses(masses, y, by_class=True)
    assert list(display.coverage) == ["all", "a", "b"]
    own = masses.contour[np.arange(30), (y == "b").astype(int)]
    for t, confidence in enumerate(display.confidence):
        assert display.coverage["all"][t] == pytest.approx(
            np.mean(own > 1 - confidence)
        )
        assert display.coverage["b"][t] == pytest.approx(
            np.mean(own[y == "b"] > 1 - confidence)
        )
        assert display.size["a"][t] == pytest.approx(
            np.mean((masses.contour[y == "a"] > 1 - confidence).sum(axis=1))
        )
    assert len(display.lines_) == 6
    plt.close("all")


def test_invalid_arguments(masses):
    for y in (["a"] * 29, ["z"] * 30):
        with pytest.raises(InvalidInputError, match="^y must contain"):
            CoverageDisplay.from_masses(masses, y)
    with pytest.raises(InvalidInputError, match="same names"):
        CoverageDisplay(confidence=[0.9], coverage={"a": [0.9]}, size={"b": [1.0]})
