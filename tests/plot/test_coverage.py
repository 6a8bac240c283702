"""Display of coverage and size of conformal sets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from dempster import CredalPartition, MassFunctions
from dempster._errors import InvalidInputError
from dempster.plot import CalibrationDisplay, CoverageDisplay


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


# ---- reliability of the probabilities of clusters ------------------------------------------------


def test_reliability_of_true_posteriors():
    """Of the pairs with a posterior probability of about p, a share of p belongs to the cluster."""
    for seed, centers in enumerate(([0.0, 2.0], [0.0, 2.5, 6.0])):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, len(centers), 20_000)
        x = np.array(centers)[y] + rng.normal(size=len(y))
        density = np.exp(-((x[:, None] - centers) ** 2) / 2)
        posterior = density / density.sum(axis=1, keepdims=True)
        partition = CredalPartition.from_fuzzy(posterior)
        # names in another order than the clusters
        order = rng.permutation(len(centers))
        display = CalibrationDisplay.from_partition(partition, order[y])
        np.testing.assert_allclose(display.frequency, display.probability, atol=0.06)
        assert display.error < 0.01
        assert display.counts.sum() == len(y) * len(centers)
        sharp = posterior**3 / (posterior**3).sum(axis=1, keepdims=True)
        sharp = CalibrationDisplay.from_partition(
            CredalPartition.from_fuzzy(sharp), order[y]
        )
        assert sharp.error > 3 * display.error
        assert sharp.frequency[-2] < sharp.probability[-2]


def test_reliability_bins():
    partition = CredalPartition.from_fuzzy(
        [[1.0, 0.0], [0.7, 0.3], [0.7, 0.3], [0.1, 0.9]]
    )
    display = CalibrationDisplay.from_partition(
        partition, ["a", "a", "b", "b"], n_bins=4
    )
    np.testing.assert_array_equal(display.counts, [2, 2, 2, 2])
    np.testing.assert_allclose(display.probability, [0.05, 0.3, 0.7, 0.95])
    np.testing.assert_allclose(display.frequency, [0, 0.5, 0.5, 1])
    assert display.error == pytest.approx((0.05 + 0.2 + 0.2 + 0.05) / 4)
    assert [bar.get_height() for bar in display.bars_] == [2, 2, 2, 2]
    # a cluster without a class, and a class without a cluster
    alone = CalibrationDisplay.from_partition(partition, list("aaaa"), n_bins=1)
    assert alone.frequency[0] == 0.5
    more = CalibrationDisplay.from_partition(partition, list("abcd"), n_bins=1)
    assert more.frequency[0] == 0.25
    with pytest.raises(InvalidInputError, match="^y must"):
        CalibrationDisplay.from_partition(partition, [0, 1])
    with pytest.raises(InvalidInputError, match="^n_bins must"):
        CalibrationDisplay.from_partition(partition, [0, 1, 0, 1], n_bins=0)
