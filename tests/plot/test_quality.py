"""Displays of silhouettes, stability and retention curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from dempster import CredalPartition, FocalSets
from dempster.explain import credal_silhouette, retention_curve, stability
from dempster.plot._canvas import cluster_colors
from dempster.plot.quality import RetentionCurveDisplay
from tests.strategies import random_masses

X, y = make_blobs(80, 2, centers=3, cluster_std=2.0, random_state=0)


def soft(c, names=None):
    family = FocalSets.pairs(c)
    return CredalPartition(
        random_masses(np.random.default_rng(0), 80, len(family)), family, frame=names
    )


@pytest.mark.parametrize("c", [1, 2, 15])
def test_silhouettes(c):
    partition = soft(
        c, [f"$a_{k}$ and a long name, much too long for the picture" for k in range(c)]
    )
    found = credal_silhouette(partition, X)
    display = found.plot(title="t")
    drawn = [area.get_paths()[0].vertices for area in display.bars_]
    heights = sum(float(points[:, 1].max() - points[:, 1].min()) for points in drawn)
    # One bar for each object except outliers.
    assert heights == (found.sizes > 0).sum()
    assert len(display.ax_.get_yticks()) == c
    assert display.lines_[0].get_xdata()[0] == found.mean
    display.figure_.canvas.draw()
    assert all(len(text.get_text()) <= 22 for text in display.ax_.get_yticklabels())


def test_order_and_colors_of_bars():
    silhouette = credal_silhouette(y, X)
    display = silhouette.plot()
    assert len(display.bars_) == 3
    for k, area in enumerate(display.bars_):
        vertices = area.get_paths()[0].vertices
        values = np.unique(vertices[vertices[:, 0] != 0][:, 0])
        expected = np.unique(silhouette.values[y == k])
        np.testing.assert_allclose(values, expected)
    np.testing.assert_allclose(
        display.bars_[0].get_facecolor()[0, :3], cluster_colors(3)[0]
    )


def test_only_outliers():
    outliers = CredalPartition(np.tile([1.0, 0, 0, 0], (80, 1)), FocalSets.full(2))
    display = credal_silhouette(outliers, X).plot()
    assert display.bars_ == []
    assert (
        "80 outliers not shown" in display.ax_.get_legend().get_texts()[-1].get_text()
    )


@pytest.mark.parametrize("c", [2, 15])
def test_stability(c):
    found = stability(KMeans(c, n_init=1), X, 3, random_state=0)
    display = found.plot(title="t")
    points = display.cluster_points_.get_offsets()
    assert len(points) == (~np.isnan(found.jaccard)).sum()
    assert len(display.object_points_.get_offsets()) == 80
    assert display.axes_[0].get_title() == "t"
    _, axes = plt.subplots(1, 2)
    again = found.plot(axes=axes)
    assert again.axes_ == list(axes)
    # All objects have doubt 0, so there is one mean.
    assert display.mean_line_.get_ydata() == pytest.approx([1 - found.mean], abs=0.02)


def test_invalid_input():
    with pytest.raises(ValueError, match=r"\baxes\b"):
        stability(KMeans(2, n_init=1), X, 2, random_state=0).plot(axes=[plt.gca()])


def test_retention_curves():
    y = np.array([0, 0, 1, 1, 1, 0])
    labels = np.array([0, 0, 1, 1, 0, 1])
    options = {"shares": [0.5, 1]}
    wise = retention_curve(labels, y, doubt=[0, 0, 0, 0, 1, 1], **options)
    alone = wise.plot(title="one")
    assert alone.ax_.get_legend() is None
    assert alone.ax_.get_ylabel() == "adjusted Rand index of retained objects"
    np.testing.assert_array_equal(alone.lines_[0].get_xdata(), [0.5, 1])
    np.testing.assert_array_equal(alone.lines_[0].get_ydata(), wise.quality)
    both = RetentionCurveDisplay(
        curves={"wise": wise, "plain": retention_curve(labels, y, **options)}
    ).plot(colors=["red", "blue"])
    assert [text.get_text() for text in both.ax_.get_legend().get_texts()] == [
        "wise",
        "plain",
    ]
    assert both.lines_[0].get_color().tolist() == [1, 0, 0]
