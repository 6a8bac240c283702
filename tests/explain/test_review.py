"""Tables of doubtful objects."""

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse

from dempster import CredalPartition, FocalSets
from dempster.explain import doubt_scores

MASSES = [[0, 1, 0, 0], [0, 0.2, 0, 0.8], [0.9, 0.1, 0, 0], [0, 0.1, 0.5, 0.4]]


def partition(**options):
    return CredalPartition(MASSES, FocalSets.full(2), **options)


def test_most_doubtful_objects_come_first():
    found = partition().review()
    assert found.index.tolist() == [2, 1, 3, 0]
    assert found.index.name == "row"
    np.testing.assert_allclose(
        found["doubt"], np.sort(doubt_scores(partition()))[::-1], atol=1e-4
    )
    assert found["cluster"].tolist() == ["0", "0", "1", "0"]
    assert found["possible clusters"].tolist() == ["outlier", "0 or 1", "1", "0"]
    assert (found[["decision", "note"]] == "").all(axis=None)
    assert partition().review(n=2).index.tolist() == [2, 1]
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got 0"):
        partition().review(n=0)


def test_names_of_objects_and_clusters():
    named = partition(index=list("abcd")).name_clusters(["oak", "elm"])
    found = named.review(n=2)
    assert found.index.tolist() == ["c", "b"]
    assert found["possible clusters"].tolist() == ["outlier", "oak or elm"]


X = np.arange(8.0).reshape(4, 2)
FRAME = pd.DataFrame(X, columns=["height", "doubt"])


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (X, ["attribute 1", "attribute 2"]),
        (X.tolist(), ["attribute 1", "attribute 2"]),
        (FRAME, ["height", "doubt_"]),
        (polars.DataFrame(X, schema=["height", "doubt"]), ["height", "doubt_"]),
        (sparse.csr_array(X), ["attribute 1", "attribute 2"]),
        ({"one": X[:, :1], "two": FRAME[["height"]]}, None),
    ],
    ids=["array", "list", "pandas", "polars", "sparse", "views"],
)
def test_columns_of_the_table(table, columns):
    found = partition().review(table, n=3)
    if columns is not None:
        assert found.columns[3:5].tolist() == columns
    assert found.shape == (3, 7)
    np.testing.assert_array_equal(
        found.iloc[:, 3:5].to_numpy(float)[:, 0], X[[2, 1, 3], 0]
    )


def test_rows_are_matched_by_name():
    table = pd.DataFrame({"age": [4, 3, 2, 1], "who": list("dcba")}, index=list("dcba"))
    found = partition(index=list("abcd")).review(table)
    assert found["who"].tolist() == found.index.tolist() == ["c", "b", "d", "a"]
    unnamed = partition().review(table.iloc[::-1])
    assert unnamed.index.tolist() == ["c", "b", "d", "a"]
    with pytest.raises(ValueError, match="must have a row for each"):
        partition().review(table.iloc[:2])
