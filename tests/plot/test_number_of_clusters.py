"""Displays of the number of clusters and of the nonspecificity."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dempster.model_selection import NClustersCurve, NumberOfClusters


@pytest.fixture
def numbers():
    return NumberOfClusters(
        n_clusters=np.array([1, 2, 3, 4]),
        plausibility=np.array([0.05, 0.3, 1.0, 0.6]),
        expected_agreement=np.array([0.1, 0.5, 0.8, 0.7]),
        best=3,
        low_agreement=0.6,
        n_objects=90,
    )


def test_plausibility_and_expected_agreement(numbers):
    _, ax = plt.subplots()
    display = numbers.plot(ax=ax, title="three")
    assert display.ax_ is ax
    heights = [bar.get_height() for bar in display.bars_]
    assert heights == pytest.approx(numbers.plausibility)
    strongest = max(display.bars_, key=lambda bar: bar.get_alpha())
    assert strongest.get_x() + strongest.get_width() / 2 == pytest.approx(3)
    np.testing.assert_array_equal(
        display.line_.get_xydata(),
        np.column_stack([numbers.n_clusters, numbers.expected_agreement]),
    )
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["plausibility", "expected agreement"]
    assert display.best_text_.get_text() == "3 clusters"
    assert ax.get_title() == "three"


def test_one_cluster_is_written_in_the_singular(numbers):
    display = replace(numbers, best=1).plot()
    assert display.best_text_.get_text() == "1 cluster"


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
