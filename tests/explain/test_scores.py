"""Scores of set-valued predictions."""

import numpy as np
import pandas as pd
import pytest

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.explain import set_scores
from tests.strategies import random_masses


def rough(sets, c):
    return CredalPartition.from_rough([[k in s for k in range(c)] for s in sets])


def test_example():
    sets = [(0,), (0,), (1,), (1,), (2,), (2,), (0, 1), (0, 1), (0, 1, 2), ()]
    y = list("aabbcc") + ["a", "c", "b", "a"]
    scores = set_scores(rough(sets, 3), y)
    assert scores.class_of == {0: "a", 1: "b", 2: "c"}
    assert scores.held == pytest.approx(8 / 9)
    assert scores.size == pytest.approx((6 + 2 + 2 + 3) / 9)
    assert scores.discounted == pytest.approx((6 + 1 / 2 + 1 / 3) / 10)
    assert scores.u65 == pytest.approx((6 + 0.65 + (1.6 / 3 - 0.6 / 9)) / 10)
    assert scores.u80 == pytest.approx((6 + 0.80 + (2.2 / 3 - 1.2 / 9)) / 10)
    assert (scores.certain, scores.certain_accuracy, scores.outliers) == (0.6, 1, 0.1)
    every = scores.baselines["all classes"]
    assert (every.held, every.size, every.u65) == (
        1,
        3,
        pytest.approx(1.6 / 3 - 0.6 / 9),
    )
    assert scores.baselines["largest class"].accuracy == pytest.approx(0.4)
    alone = scores.baselines["labels alone"]
    assert alone.held == alone.u65 == alone.u80 == alone.accuracy == scores.accuracy


def test_scores_agree_with_loops():
    rng = np.random.default_rng(0)
    family = FocalSets.pairs(4)
    partition = CredalPartition(random_masses(rng, 200, len(family)), family)
    y = rng.permutation(np.arange(200) % 4)
    scores = set_scores(partition, y)
    u65 = held = size = answered = 0.0
    for assigned, truth in zip(
        partition.assignment(keep_outliers=False), y, strict=True
    ):
        classes = {scores.class_of[k] for k in np.flatnonzero(assigned)}
        if not classes:
            continue
        answered += 1
        size += len(classes)
        if truth in classes:
            held += 1
            u65 += 1.6 / len(classes) - 0.6 / len(classes) ** 2
    assert scores.u65 == pytest.approx(u65 / 200)
    assert (scores.held, scores.size) == (
        pytest.approx(held / answered),
        pytest.approx(size / answered),
    )
    assert len(set(scores.class_of.values())) == 4


def test_hard_partition():
    y = np.repeat([0, 1, 2], 20)
    labels = np.where(np.arange(60) % 5 == 0, (y + 1) % 3, y)
    scores = set_scores(labels, y)
    assert (
        scores.held
        == scores.u65
        == scores.u80
        == scores.discounted
        == scores.accuracy
        == 0.8
    )
    assert (scores.size, scores.certain, scores.outliers) == (1, 1, 0)


def test_more_clusters_than_classes():
    sets = [(0,), (1,), (0, 1), (2,), (1, 2)]
    y = list("aaabb")
    most = set_scores(rough(sets, 3), y)
    assert most.class_of == {0: "a", 1: "a", 2: "b"} or most.class_of[0] == "a"
    assert most.size < 1.5  # {0, 1} is one class


def test_fewer_clusters_than_classes():
    scores = set_scores([0, 0, 0, 1, 1], list("aabcc"))
    assert scores.class_of == {0: "a", 1: "c"}
    assert scores.accuracy == pytest.approx(0.8)  # b has no cluster


def test_degenerate_partitions():
    outliers = CredalPartition(np.tile([1.0, 0, 0, 0], (4, 1)), FocalSets.full(2))
    scores = set_scores(outliers, [0, 0, 1, 1])
    assert (scores.outliers, scores.u65) == (1, 0)
    assert np.isnan(scores.held)
    assert "-" in scores.to_text()
    assert set_scores([0, 0], ["a", "a"]).held == 1
    assert set_scores([5], ["a"]).class_of == {5: "a"}


def test_names_and_text():
    partition = CredalPartition.from_hard(["u", "u", "v"], index=["x", "y", "z"])
    y = pd.Series(["b", "a", "a"], index=["z", "x", "y"])
    scores = set_scores(partition, y)
    assert scores.accuracy == 1
    assert list(scores.to_frame().columns) == [
        "partition",
        "labels alone",
        "all classes",
        "largest class",
    ]
    assert "u = a, v = b" in str(scores)
    assert repr(scores) == scores.to_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("y", [0, 1]), ("y", [0, 1, np.nan, 1]), ("y", ["a", None, "b", "b"])),
        ("y", np.array(["a", 1, "b", 2], dtype=object)),
    ],
)
def test_invalid_arguments(name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        set_scores([0, 0, 1, 1], **{"y": [0, 0, 1, 1], name: value})
