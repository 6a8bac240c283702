"""Displays of delta-Bel graphs."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from dempster.cluster import BeliefPeaks
from dempster.plot import DeltaBelDisplay
from dempster.plot._canvas import PALETTE


@pytest.fixture(scope="module")
def X():
    return make_blobs(300, centers=5, cluster_std=0.7, random_state=3)[0]


def test_automatic_peaks(X):
    model = BeliefPeaks().fit(X)
    display = DeltaBelDisplay.from_estimator(model)
    peaks = model.peak_indices_
    others = np.setdiff1d(np.arange(300), model.peak_indices_)
    plane = np.column_stack([model.belief_, model.delta_])
    np.testing.assert_array_equal(display.peak_points_.get_offsets(), plane[peaks])
    np.testing.assert_array_equal(display.points_.get_offsets(), plane[others])
    np.testing.assert_allclose(
        display.peak_points_.get_facecolors()[1, :3], to_rgb(PALETTE[1])
    )
    assert [label.get_text() for label in display.labels_] == [
        str(k) for k in range(len(peaks))
    ]
    np.testing.assert_array_equal([label.xy for label in display.labels_], plane[peaks])
    assert display.belief_line_.get_xdata()[0] == np.median(model.belief_)
    assert display.delta_line_ is None
    curve = display.prominence_line_.get_xydata()
    np.testing.assert_allclose(curve.prod(axis=1), model.min_prominence_)
    assert display.ax_.get_ylim()[0] == 0
    assert display.ax_.get_ylim()[1] > model.delta_.max()
    assert display.ax_.get_xlabel() == "belief to be a center"
    display.figure_.canvas.draw()


def test_given_thresholds(X):
    figure, ax = plt.subplots()
    model = BeliefPeaks(min_belief=0.4, min_delta=1.0).fit(X)
    display = DeltaBelDisplay.from_estimator(model, ax=ax, title="peaks")
    assert display.ax_ is ax
    assert display.belief_line_.get_xdata()[0] == 0.4
    assert display.delta_line_.get_ydata()[0] == 1
    assert display.prominence_line_ is None
    assert ax.get_title() == "peaks"
    assert plt.get_fignums() == [figure.number]
    bare = DeltaBelDisplay.from_estimator(model, ax=plt.subplots()[1], labels=False)
    assert bare.labels_ == []


def test_many_peaks_and_objects():
    rng = np.random.default_rng(0)
    belief = rng.random(6000)
    delta = rng.random(6000)
    display = DeltaBelDisplay(belief=belief, delta=delta, peaks=np.arange(100)).plot()
    assert display.labels_ == []
    assert len(display.peak_points_.get_offsets()) == 100
    assert display.points_.get_rasterized()
    few = DeltaBelDisplay(belief=belief[:50], delta=delta[:50], peaks=range(40))
    assert len(few.plot().labels_) == 40


def test_no_peaks_and_constant_delta():
    display = DeltaBelDisplay(belief=[0.5, 0.2], delta=[0.0, 0.0]).plot()
    assert len(display.peak_points_.get_offsets()) == 0
    display.figure_.canvas.draw()
    DeltaBelDisplay.from_estimator(
        BeliefPeaks().fit(np.ones((5, 2)))
    ).figure_.canvas.draw()


def test_invalid_input(X):
    with pytest.raises(NotFittedError):
        DeltaBelDisplay.from_estimator(BeliefPeaks())
    with pytest.raises(TypeError, match=r"\bestimator\b"):
        DeltaBelDisplay.from_estimator(KMeans(2, n_init=1).fit(X))
    with pytest.raises(TypeError):
        DeltaBelDisplay.from_estimator(SimpleNamespace())
    assert plt.get_fignums() == []
