"""Displays of profiles and trees."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from dempster import CredalPartition
from dempster._text import shorten, shorten_all
from dempster.cluster import ECM
from dempster.datasets import load_iris
from dempster.explain import CautiousTree, profile
from dempster.plot._canvas import PALETTE


@pytest.fixture(scope="module")
def iris():
    X = load_iris(as_frame=True).data
    return X, ECM(3, n_init=2, random_state=0).fit(X).credal_partition_


@pytest.fixture(scope="module")
def crowd():
    """Return fifteen clusters with long names, many attributes, ambiguous objects and outliers."""
    rng = np.random.default_rng(0)
    upper = np.eye(15, dtype=bool)[np.arange(300) % 15]
    upper[:30, 3] = True
    upper[30:33] = False
    names = [
        f"people of the {k}th quarter who never come (50 %, $x$)" for k in range(15)
    ]
    table = pd.DataFrame(
        rng.normal(size=(300, 40)),
        columns=[f"a long name of attribute number {j}" for j in range(40)],
    )
    return table, CredalPartition.from_rough(upper, frame=names)


# ---- profile -------------------------------------------------------------------------------------


def test_heat_map(iris):
    X, partition = iris
    found = profile(partition, X)
    display = found.plot()
    np.testing.assert_allclose(display.image_.get_array(), found.statistics["delta"].T)
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert labels == [f"{group.name} ({len(group)})" for group in found.groups]
    numbers = [text.get_text() for text in display.ax_.texts]
    assert len(numbers) == found.statistics["delta"].size
    assert numbers[1] == f"{found.statistics['delta'][1, 0]:+.1f}"
    display.figure_.canvas.draw()


@pytest.mark.long
def test_many_clusters_attributes_and_long_names(crowd):
    table, partition = crowd
    display = profile(partition, table).plot(title="many")
    assert len(display.groups_) == 20
    assert len(display.features_) == 30
    assert (display.groups_ < 15).sum() == 15  # Clusters come first.
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert len(set(labels)) == len(labels)
    display.figure_.canvas.draw()


def test_degenerate_profiles():
    for partition, X in (
        (([0]), [[1.0]]),
        ([0, 1, 0], np.full((3, 2), np.nan)),
        ([0, 1, -1], np.zeros((3, 1))),
    ):
        profile(partition, X).plot().figure_.canvas.draw()


def test_axes_of_profiles(iris):
    X, partition = iris
    _, ax = plt.subplots()
    assert profile(partition, X).plot(ax=ax).ax_ is ax


# ---- tree ----------------------------------------------------------------------------------------


def test_conditions_and_answers(iris):
    X, partition = iris
    tree = CautiousTree().fit(X, partition)
    display = tree.plot()
    texts = [text.get_text() for text in display.texts_]
    inner = [node for node in tree.nodes_ if not node.is_leaf]
    for node in inner:
        assert node.condition(True) in texts
        assert node.condition(False) in texts
    assert texts[2 * len(inner) :] == tree.to_frame()["answer"].tolist()
    display.figure_.canvas.draw()


def test_colors_of_answers():
    X = np.arange(60.0)[:, None]
    upper = np.zeros((60, 2), dtype=bool)
    upper[:20, 0] = upper[20:40] = upper[40:55, 1] = True
    display = CautiousTree().fit(X, CredalPartition.from_rough(upper)).plot()
    marks = [
        p
        for p in display.ax_.patches
        if isinstance(p, Rectangle) and p.get_height() > 0.2 and p.get_fill()
    ]
    found = [
        tuple(np.round(mark.get_facecolor()[:3], 6))
        for mark in marks
        if mark.get_facecolor()[3] > 0
    ]
    blue, orange = (tuple(np.round(to_rgb(color), 6)) for color in PALETTE[:2])
    assert found == [blue, blue, orange, orange]


@pytest.mark.long
def test_texts_of_a_large_tree_do_not_overlap(crowd):
    table, partition = crowd
    table = table.assign(code=np.arange(300) % 15)
    tree = CautiousTree().fit(table, partition)
    assert len(tree.leaves_) >= 15
    display = tree.plot(title="large")
    display.figure_.canvas.draw()
    renderer = display.figure_.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in display.texts_]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_tree_of_one_leaf():
    display = CautiousTree().fit([[1.0], [1.0]], [0, 0]).plot()
    assert [text.get_text() for text in display.texts_] == ["cluster 0"]
    display.figure_.canvas.draw()


def test_axes_of_a_tree(iris):
    figure, ax = plt.subplots()
    display = CautiousTree(3).fit(*iris).plot(ax=ax)
    assert (display.ax_, display.figure_) == (ax, figure)


# ---- names ---------------------------------------------------------------------------------------


def test_short_names_are_different():
    names = [f"customers of region {k} who come rarely" for k in range(3)]
    assert len({shorten(name, 20) for name in names}) == 1
    short = shorten_all([*names, "short"], 20)
    assert len(set(short)) == 4
    assert max(map(len, short)) <= 20
    assert short[-1] == "short"
    assert shorten_all(["same"] * 2 + ["x" * 50] * 2, 20)[:2] == ["same", "same"]
