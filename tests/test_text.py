"""Formatting of names, lists, numbers and clusters."""

import math

import numpy as np
import pytest

from dempster import _text


@pytest.mark.parametrize(
    ("words", "expected"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_join_words(words, expected):
    assert _text.join_words(words) == expected


def test_join_some():
    assert _text.join_some(["a", "b", "c"], 2) == "a, b and 1 more"
    assert _text.join_some(["a", "b"], 2) == "a, b"
    assert _text.join_some(["a", "b"], 2, total=5_002) == "a, b and 5,000 more"
    assert _text.quote_names(range(4), 3) == "'0', '1', '2' and 1 more"


def test_control_characters_are_escaped():
    assert _text.printable("a\x1b[31m") == "a\\x1b[31m"
    assert _text.one_line("a\n b") == "a b"
    assert _text.one_line(" \n") == "(no name)"


def test_unique_names():
    names = [
        "a very long name of a column, the first",
        "a very long name of a column, the second",
        "b",
        "b",
    ]
    short = _text.unique_names(names, 20)
    assert len(set(short)) == 4
    assert max(map(len, short)) <= 20
    assert short[2:] == ["b", "b (2)"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1234.5, "1,234"),
        (0.123456, "0.1235"),
        (2.0, "2"),
        (1e12, "1e+12"),
        (math.nan, "-"),
        (-math.inf, "-inf"),
    ],
)
def test_format_number(value, expected):
    assert _text.format_number(value) == expected


def test_format_cells_counts_and_shares():
    cells = [
        None,
        math.nan,
        np.float32("nan"),
        np.float32(0.5),
        1.23456,
        12345,
        True,
        "red",
    ]
    assert [_text.format_cell(cell) for cell in cells] == [
        *("unknown", "unknown", "unknown", "0.5", "1.235", "12345", "True", "red")
    ]
    assert _text.format_count(1) == "1 object"
    assert _text.format_count(12_345, "row") == "12,345 rows"
    assert [_text.format_share(k, 1000) for k in (0, 1, 500, 999, 1000)] == [
        "0%",
        "<1%",
        "50%",
        ">99%",
        "100%",
    ]


def test_format_clusters():
    frame = (0, 1, 2, 3, 4, "x")
    assert [_text.format_cluster(name) for name in (2, "2", "x")] == [
        "cluster 2",
        "cluster 2",
        "x",
    ]
    assert [_text.format_clusters(c) for c in [(1,), (1, 2), (1, "x")]] == [
        *("cluster 1", "clusters 1 and 2", "cluster 1 and x")
    ]
    assert [
        _text.format_group(c, frame)
        for c in [(), (1,), (5,), (0, 1, 5), range(5), range(6)]
    ] == [
        *(
            "outliers",
            "cluster 1",
            "x",
            "between cluster 0, cluster 1 and x",
            "between 5 clusters",
            "between all 6 clusters",
        )
    ]
    assert [_text.format_answer(c, frame) for c in [(), (1,), (0, 1, 5), range(6)]] == [
        *(
            "no cluster (outlier)",
            "cluster 1",
            "cluster 0, cluster 1 or x",
            "any of all 6 clusters",
        )
    ]
