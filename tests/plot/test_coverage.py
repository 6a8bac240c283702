"""Display of coverage and size of conformal sets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dempster import MassFunctions
from dempster._errors import InvalidInputError
from dempster.plot import CoverageDisplay


class RandomClassifier(BaseEstimator):
    """Classifier that predicts random masses."""

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_mass(self, X):
        contour = np.random.default_rng(0).random((30, 3))
        return MassFunctions.from_contour(contour, frame=["a", "b", "c"])


def test_curves_equal_a_naive_computation():
    y = np.array(["a", "b", "b"] * 10)
    model = RandomClassifier()
    masses = model.predict_mass(None)
    display = CoverageDisplay.from_estimator(model, None, y, by_class=True)
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


def test_invalid_arguments():
    for y in (["a"] * 29, ["z"] * 30):
        with pytest.raises(InvalidInputError, match="^y must contain"):
            CoverageDisplay.from_estimator(RandomClassifier(), None, y)
