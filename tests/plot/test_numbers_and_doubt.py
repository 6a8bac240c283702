"""Displays of the number of clusters and retention curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dempster.explain import RetentionCurve, retention_curve
from dempster.model_selection import NumberOfClusters
from dempster.plot import NumberOfClustersDisplay, RetentionCurveDisplay


@pytest.fixture
def numbers():
    return NumberOfClusters(
        n_clusters=np.array([2, 3, 4]),
        silhouette=np.array([0.4, 0.6, 0.5]),
        likelihood_one_size=np.array([-3.0, -1, -2]),
        likelihood_own_sizes=np.array([-3.0, -2, -1]),
        n_peaks=3,
        n_objects=90,
    )


def test_support_and_criteria(numbers):
    _, ax = plt.subplots()
    display = numbers.plot(ax=ax, title="three")
    assert display.ax_ is ax
    assert display.best == numbers.best == 3
    assert [bar.get_height() for bar in display.bars_] == pytest.approx(numbers.support)
    strongest = max(display.bars_, key=lambda bar: bar.get_alpha())
    assert strongest.get_x() + strongest.get_width() / 2 == pytest.approx(3)
    assert [line.get_label() for line in display.criterion_lines_] == list(numbers.criteria)
    for line, values in zip(display.criterion_lines_, numbers.criteria.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["support", *numbers.criteria]
    assert display.best_text_.get_text() == "3 clusters"
    assert ax.get_title() == "three"


def test_support_alone(numbers):
    display = NumberOfClustersDisplay.from_numbers(numbers, criteria=False, mark_best=False)
    assert display.criterion_lines_ == []
    assert display.best_text_ is None
    assert display.ax_.get_legend() is None


def test_invalid_numbers():
    with pytest.raises(TypeError, match="numbers must come from number_of_clusters, got list"):
        NumberOfClustersDisplay.from_numbers([2, 3])
    good = {"n_clusters": [2, 3], "support": [0, 1]}
    for name, wrong in (("n_clusters", [3, 2]), ("support", [0, np.nan]), ("criteria", {"one": [1]})):
        with pytest.raises(ValueError, match=f"^{name}.* must"):
            NumberOfClustersDisplay(**{**good, name: wrong})


def test_retention_curves():
    y, labels = np.array([0, 0, 1, 1, 1, 0]), np.array([0, 0, 1, 1, 0, 1])
    doubt = {"wise": [0, 0, 0, 0, 1, 1]}
    display = RetentionCurveDisplay.from_partition(
        {"wise": labels, "plain": labels}, y, doubt=doubt, shares=[0.5, 1], quality="accuracy", title="two"
    )
    wise = retention_curve(labels, y, doubt=doubt["wise"], shares=[0.5, 1], quality="accuracy")
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), wise.quality)
    assert display.areas["wise"] == wise.area
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["wise", "plain"]
    assert display.ax_.get_ylabel() == "accuracy of those kept"
    alone = wise.plot()
    assert alone.ax_.get_legend() is None
    np.testing.assert_array_equal(alone.lines_[0].get_xdata(), [0.5, 1])
    one = RetentionCurveDisplay.from_partition(labels, y, doubt=doubt["wise"])
    assert list(one.curves) == ["partition"]


def test_invalid_curves():
    curve = RetentionCurve(np.array([1.0]), np.array([0.5]), "ari")
    with pytest.raises(TypeError, match="curves must map"):
        RetentionCurveDisplay(curves={})
    with pytest.raises(ValueError, match="^curves must .* got accuracy, ari"):
        RetentionCurveDisplay(curves={"a": curve, "b": RetentionCurve(curve.share, curve.quality, "accuracy")})
    with pytest.raises(TypeError, match="doubt must be a mapping"):
        RetentionCurveDisplay.from_partition({"a": [0, 1]}, [0, 1], doubt=[0, 1])
    with pytest.raises(ValueError, match="^doubt must .* got \\['b'\\]"):
        RetentionCurveDisplay.from_partition({"a": [0, 1]}, [0, 1], doubt={"b": [0, 1]})
