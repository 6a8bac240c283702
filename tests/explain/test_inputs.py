"""Estimators, partitions or labels with their tables: what was given, and which row is which object."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster import CredalPartition
from dempster.cluster import ECM, EVCLUS
from dempster.explain.inputs import find_object, resolve_input, row_names

X = np.repeat([[0.0, 0.0], [6.0, 0.0]], 5, axis=0) + np.random.default_rng(0).normal(size=(10, 2))
NAMES = list("abcdefghij")
TABLE = pd.DataFrame(X, index=NAMES, columns=["u", "v"])
LABELS = [0] * 5 + [1] * 5


@pytest.mark.parametrize(
    "given",
    [
        LABELS,
        pd.Series(LABELS),
        CredalPartition.from_hard(LABELS),
        KMeans(2, n_init=1, random_state=0).fit(X),
        make_pipeline(StandardScaler(), ECM(2, random_state=0)).fit(X),
    ],
    ids=["labels", "column", "partition", "k-means", "pipeline"],
)
def test_everything_has_a_partition(given):
    found = resolve_input(given)
    assert len(found.partition) == 10
    assert found.estimator is (given if hasattr(given, "fit") else None)
    assert not hasattr(found.model, "steps")
    assert not found.is_pairwise


def test_blocks_are_brought_into_memory():
    model = ECM(2, random_state=0).fit(lambda: iter([X[:5], X[5:]]))
    found = resolve_input(model)
    assert found.is_blockwise
    assert isinstance(found.partition, CredalPartition)


def test_what_holds_dissimilarities_is_known():
    D = np.linalg.norm(X[:, None] - X, axis=2)
    assert resolve_input(EVCLUS(2, metric="precomputed", random_state=0).fit(D)).is_pairwise
    assert resolve_input(LABELS, metric="precomputed").is_pairwise


@pytest.mark.parametrize("given", [7, ECM, [[0, 1]], StandardScaler().fit(X)], ids=["number", "class", "rows", "other"])
def test_other_things_are_refused_by_name(given):
    with pytest.raises(TypeError, match="^subject must be"):
        resolve_input(given, "subject")


def test_estimators_must_be_fitted():
    with pytest.raises(NotFittedError):
        resolve_input(ECM(2))


def test_rows_and_objects_are_matched_by_their_names():
    found = resolve_input(ECM(2, random_state=0).fit(TABLE))
    backwards = TABLE.iloc[::-1]
    pd.testing.assert_frame_equal(found.align_table(backwards), TABLE)
    assert list(found.align_partition(backwards, 10).index) == NAMES[::-1]
    assert found.align_table(X) is X
    views = found.align_table({"one": backwards, "two": TABLE})
    pd.testing.assert_frame_equal(views["one"], views["two"])
    with pytest.raises(ValueError, match="^attributes must have a row for each of the 10 objects"):
        found.align_table(X[:3], "attributes", of_fit=False)
    assert list(row_names(None, X, TABLE)) == NAMES


def test_dissimilarities_are_matched_by_rows_and_columns():
    D = pd.DataFrame(np.linalg.norm(X[:, None] - X, axis=2), index=NAMES, columns=NAMES)
    found = resolve_input(EVCLUS(2, metric="precomputed", random_state=0).fit(D))
    pd.testing.assert_frame_equal(found.align_table(D.iloc[::-1, ::-1]), D)


def test_an_object_is_found_by_name_position_or_pixel():
    assert find_object("c", NAMES, 10) == 2
    assert find_object(2, None, 10) == 2
    assert find_object((1, 2), None, 12, (3, 4)) == 6
    assert find_object([1.0, 2.0], None, 10) == -1
    for wrong in (None, True, "z", 10, -1):
        with pytest.raises(ValueError, match="^i must be"):
            find_object(wrong, None, 10)
