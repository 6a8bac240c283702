"""Displays of the number of clusters and of the nonspecificity."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dempster.model_selection import NClustersCurve, NumberOfClusters


@pytest.fixture
def numbers():
    return NumberOfClusters(
        n_clusters=np.array([2, 3, 4]),
        silhouette=np.array([0.4, 0.6, 0.5]),
        likelihood_round=np.array([-3.0, -1, -2]),
        likelihood_elongated=np.array([-3.0, -2, -1]),
        n_peaks=3,
        n_objects=90,
    )


def test_support_and_criteria(numbers):
    _, ax = plt.subplots()
    display = numbers.plot(ax=ax, title="three")
    assert display.ax_ is ax
    assert numbers.best == 3
    assert [bar.get_height() for bar in display.bars_] == pytest.approx(numbers.support)
    strongest = max(display.bars_, key=lambda bar: bar.get_alpha())
    assert strongest.get_x() + strongest.get_width() / 2 == pytest.approx(3)
    assert [line.get_label() for line in display.criterion_lines_] == list(
        numbers.criteria
    )
    for line, values in zip(
        display.criterion_lines_, numbers.criteria.values(), strict=True
    ):
        np.testing.assert_array_equal(line.get_ydata(), values)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["support", *numbers.criteria]
    assert display.best_text_.get_text() == "3 clusters"
    assert ax.get_title() == "three"


# ---- nonspecificity ------------------------------------------------------------------------------


def curve(values, converged=None):
    k = len(values)
    return NClustersCurve(
        n_clusters=np.arange(2, k + 2),
        nonspecificity=np.array(values),
        objective=np.zeros(k),
        converged=np.ones(k, dtype=bool) if converged is None else np.array(converged),
        partitions=[],
    )


def test_nonspecificity_of_a_curve():
    values = [0.3, 0.08, 0.2, 0.25]
    display = curve(values).plot()
    np.testing.assert_array_equal(
        display.line_.get_xydata(), np.column_stack([[2, 3, 4, 5], values])
    )
    np.testing.assert_array_equal(display.best_artist_.get_xydata(), [[3, 0.08]])
    assert display.best_text_.get_text() == "3 clusters"
    assert display.open_artist_ is None
    assert display.ax_.get_ylim()[0] == 0
    assert [tick for tick in display.ax_.get_xticks() if tick % 1] == []
    assert display.ax_.get_xlabel() == "number of clusters"
    display.figure_.canvas.draw()


def test_open_circles_if_not_converged():
    display = curve([0.3, 0.1, 0.2], [True, False, True]).plot()
    np.testing.assert_array_equal(display.open_artist_.get_xydata(), [[3, 0.1]])
    assert display.open_artist_.get_markerfacecolor() == "white"


def test_two_curves_on_one_axes():
    figure, ax = plt.subplots()
    first = curve([0.3, 0.1, 0.2]).plot(ax=ax)
    second = curve([0.2, 0.1, 0.1]).plot(ax=ax)
    assert first.ax_ is second.ax_ is ax
    assert second.best_artist_.get_xdata() == [3]  # The smallest number on ties.
    assert second.best_text_.get_text() == "3 clusters"
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()


def test_precise_partitions_and_a_single_candidate():
    display = curve([0.0, 0.0]).plot()
    assert display.best_text_.get_text() == "2 clusters"
    display.figure_.canvas.draw()
    curve([0.1]).plot().figure_.canvas.draw()
