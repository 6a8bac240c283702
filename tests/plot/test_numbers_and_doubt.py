"""Pictures of numbers of clusters and of what doubt is worth: they show the values they are given."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

from dempster.explain import RetentionCurve, retention_curve
from dempster.model_selection import NumberOfClusters
from dempster.plot import NumberOfClustersDisplay, RetentionCurveDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


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


def test_bars_are_the_support_and_lines_the_witnesses(numbers):
    _, ax = plt.subplots()
    display = numbers.plot(ax=ax, title="three")
    assert display.ax_ is ax
    assert display.best == numbers.best == 3
    assert [bar.get_height() for bar in display.bars_] == pytest.approx(numbers.support)
    strongest = max(display.bars_, key=lambda bar: bar.get_alpha())
    assert strongest.get_x() + strongest.get_width() / 2 == pytest.approx(3)
    assert [line.get_label() for line in display.witness_lines_] == list(numbers.witnesses)
    for line, values in zip(display.witness_lines_, numbers.witnesses.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["support", *numbers.witnesses]
    assert display.best_text_.get_text() == "3 clusters"
    assert ax.get_title() == "three"


def test_support_alone(numbers):
    display = NumberOfClustersDisplay.from_numbers(numbers, witnesses=False, mark_best=False)
    assert display.witness_lines_ == []
    assert display.best_text_ is None
    assert display.ax_.get_legend() is None


def test_numbers_that_are_refused(numbers):
    with pytest.raises(TypeError, match="numbers must come from number_of_clusters, got list"):
        NumberOfClustersDisplay.from_numbers([2, 3])
    with pytest.raises(ValueError, match="increasing"):
        NumberOfClustersDisplay(n_clusters=[3, 2], support=[0, 1])
    with pytest.raises(ValueError, match="support must hold 2 finite numbers"):
        NumberOfClustersDisplay(n_clusters=[2, 3], support=[0, np.nan])
    with pytest.raises(ValueError, match="witnesses.*one.*must hold 2 finite numbers"):
        NumberOfClustersDisplay(n_clusters=[2, 3], support=[0, 1], witnesses={"one": [1]})


def test_curves_are_drawn_as_they_are():
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


def test_curves_that_are_refused():
    curve = RetentionCurve(np.array([1.0]), np.array([0.5]), "ari")
    with pytest.raises(TypeError, match="curves must map"):
        RetentionCurveDisplay(curves={})
    with pytest.raises(ValueError, match="one quality, got accuracy, ari"):
        RetentionCurveDisplay(curves={"a": curve, "b": RetentionCurve(curve.share, curve.quality, "accuracy")})
    with pytest.raises(TypeError, match="doubt must be a mapping"):
        RetentionCurveDisplay.from_partition({"a": [0, 1]}, [0, 1], doubt=[0, 1])
    with pytest.raises(ValueError, match="doubt must have names of partitions \\(a\\), got \\['b'\\]"):
        RetentionCurveDisplay.from_partition({"a": [0, 1]}, [0, 1], doubt={"b": [0, 1]})
