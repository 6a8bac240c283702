"""Matching of two labelings."""

import numpy as np
import pytest

from dempster import doubt, match_clusters
from dempster._errors import InvalidParameterError


def test_permutations_are_found():
    rng = np.random.default_rng(17)
    old = rng.integers(0, 6, 200)
    order = rng.permutation(6)
    matching = match_clusters(old, order[old])
    assert list(matching.values()) == order.tolist()
    found = matching.splits, matching.merges, matching.births, matching.deaths
    assert found == ({}, {}, [], [])


def test_as_many_objects_as_possible_agree():
    """The largest overlap of the first cluster is not its partner."""
    old = ["a"] * 9 + ["b"] * 8
    new = [1] * 5 + [2] * 4 + [1] * 8
    assert match_clusters(old, new) == {"a": 2, "b": 1}


def test_splits_merges_births_and_deaths():
    old = [0] * 6 + [1] * 4 + [2] * 4 + [-1] * 3 + [3] * 2
    new = ["a"] * 3 + ["b"] * 3 + ["c"] * 8 + ["d"] * 3 + [None] * 2
    matching = match_clusters(old, new)
    assert matching == {0: "a", 1: "c", 2: None, 3: None}
    assert matching.splits == {0: ["a", "b"]}
    assert matching.merges == {"c": [1, 2]}
    assert matching.births == ["d"]
    assert matching.deaths == [3]
    for text in ("0 was divided into a and b", "1 and 2 were merged into c"):
        assert text in str(matching)
    assert "d is new" in str(matching)
    assert "3 disappeared" in str(matching)


def test_partitions():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) + 9 * y[:, None]
    partition = doubt(X, np.array(["low", "high"])[y], random_state=0)
    assert match_clusters(partition, y) == {"high": 1, "low": 0}


def test_lengths_must_agree():
    with pytest.raises(InvalidParameterError, match="new must contain one label"):
        match_clusters([0, 1, 1], [0, 1])
