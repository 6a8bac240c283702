"""Columns that identify the rows of a table."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, make_blobs

from dempster import cluster
from dempster.cluster import ECM, EVCLUS, BeliefPeaks, CredalClustering
from dempster.data.identifiers import find_identifier, find_identifiers
from dempster.model_selection import number_of_clusters

RNG = np.random.default_rng(3)


def is_strong(name, values, **options):
    found = find_identifier(name, np.asarray(values), **options)
    return None if found is None else found.is_strong


@pytest.mark.parametrize("name", ["id", "customer_id", "customerId", "ZIP", "row no"])
def test_a_name_and_different_values_are_strong_evidence(name):
    values = RNG.choice(100_000, 200, replace=False)
    assert is_strong(name, values) is True
    assert is_strong("size", values) is None
    repeated = np.append(values, values[:20])
    assert is_strong(name, repeated) is True
    assert is_strong(name, np.append(repeated, repeated[:60])) is False
    assert is_strong(name, values + 0.5) is None


def test_a_range_of_integers_is_strong_evidence():
    values = RNG.permutation(100)
    assert is_strong("x", values) is True
    assert is_strong("x", values.astype(float)) is True
    assert is_strong("x", np.append(values, np.nan)) is True
    # 9 % of the range are absent
    assert is_strong("x", values[values % 11 > 0]) is True
    assert is_strong("x", values[values % 8 > 0]) is not True  # 12 %
    assert is_strong("x", np.append(values, values[:9])) is True  # 8 % are repeated
    assert is_strong("x", np.append(values, values[:14])) is None  # 12 %
    assert is_strong("x", RNG.integers(0, 100, 100)) is None


def test_few_rows_are_no_evidence():
    assert is_strong("x", RNG.permutation(17)) is True
    assert is_strong("x", RNG.permutation(16)) is False
    assert is_strong("x", np.arange(5), is_first=True) is True
    assert is_strong("x", np.arange(3), is_first=True) is None


def test_different_integers_are_weak_evidence():
    # 190 pairs of 20 values; the expected number of repeated values is 190 / range.
    assert is_strong("x", np.append(np.arange(18), [20, 25])) is False  # 7.3
    assert is_strong("x", np.append(np.arange(18), [20, 28])) is None  # 6.6


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("year", [2007, 2008, 2009] * 10, False),
        ("year", [1, 2, 3] * 10, None),
        ("code", [1, 2, 3] * 10, False),
        ("income", RNG.lognormal(10, 0.5, 2000).round(), None),
        ("id", ["a", "b", "c"], None),
        ("id", [4.0], None),
        ("id", [4, 4], None),
    ],
)
def test_other_columns(name, values, expected):
    assert is_strong(name, values) is expected


# ---- warnings of clusterers ----------------------------------------------------------------------

X, _ = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
TABLE = pd.DataFrame(X, columns=["a", "b"]).assign(number=RNG.permutation(100) + 500)


def messages(fit, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments)
    return [
        (str(one.message), one.filename)
        for one in caught
        if "identifier" in str(one.message) or "dissimilarities" in str(one.message)
    ]


@pytest.mark.parametrize(
    "clusterer",
    [
        CredalClustering(2, random_state=0),
        ECM(2, random_state=0),
        EVCLUS(2, random_state=0),
        BeliefPeaks(2),
        cluster.EKNNClus(random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_clusterers_warn_about_identifiers(clusterer):
    [(message, file)] = messages(clusterer.fit, TABLE)
    name = type(clusterer).__name__
    assert message.startswith(f"{name}: column 'number' looks like an identifier")
    assert file == __file__
    assert messages(clusterer.fit, TABLE.drop(columns="number")) == []
    assert messages(clusterer.fit, TABLE.to_numpy()) == []


def test_other_tables():
    clusterer = ECM(2, random_state=0)
    assert len(messages(clusterer.fit, pl.from_pandas(TABLE))) == 1
    assert len(messages(clusterer.fit, [TABLE])) == 1
    front_door = CredalClustering(2, random_state=0)
    assert len(messages(front_door.fit, [TABLE])) == 1
    assert len(messages(front_door.fit, [X])) == 0
    first_block = ECM(2, random_state=0)
    assert len(messages(first_block.partial_fit, TABLE)) == 1
    assert find_identifiers(load_iris(as_frame=True).frame) == []


def test_a_matrix_of_dissimilarities_as_rows():
    distances = np.linalg.norm(X[:40, None] - X[:40], axis=2)
    for clusterer in (CredalClustering(2, random_state=0), EVCLUS(2, random_state=0)):
        [(message, _)] = messages(clusterer.fit, distances)
        assert "square and symmetric with a diagonal of zeros" in message
        assert "metric='precomputed'" in message
        assert messages(clusterer.set_params(metric="precomputed").fit, distances) == []
    [(message, _)] = messages(ECM(2, random_state=0).fit, pd.DataFrame(distances))
    assert "metric='precomputed' of CredalClustering, EVCLUS or RECM" in message
    assert messages(ECM(2, random_state=0).fit, distances + np.eye(40)) == []
    [(message, file)] = messages(number_of_clusters, distances)
    assert message.startswith("number_of_clusters: X is square and symmetric")
    assert file == __file__
    [(message, _)] = messages(number_of_clusters, TABLE)
    assert message.startswith("number_of_clusters: column 'number' looks like")
    asymmetric = distances + np.triu(distances)
    assert messages(ECM(2, random_state=0).fit, asymmetric) == []
