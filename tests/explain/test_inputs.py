"""Resolution of estimators, partitions and labels, and of the rows of their tables."""

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

X = np.repeat([[0.0, 0.0], [6.0, 0.0]], 5, axis=0) + np.random.default_rng(0).normal(
    size=(10, 2)
)
NAMES = list("abcdefghij")
TABLE = pd.DataFrame(X, index=NAMES, columns=["u", "v"])
LABELS = [0] * 5 + [1] * 5


@pytest.mark.parametrize(
    "subject",
    [
        LABELS,
        pd.Series(LABELS),
        CredalPartition.from_hard(LABELS),
        KMeans(2, n_init=1, random_state=0).fit(X),
        make_pipeline(StandardScaler(), ECM(2, random_state=0)).fit(X),
    ],
    ids=["labels", "column", "partition", "k-means", "pipeline"],
)
def test_kinds_of_input(subject):
    resolved = resolve_input(subject)
    assert len(resolved.partition) == 10
    assert resolved.estimator is (subject if hasattr(subject, "fit") else None)
    assert not hasattr(resolved.model, "steps")
    assert not resolved.is_pairwise


def test_blockwise_partition():
    model = ECM(2, random_state=0).fit(lambda: iter([X[:5], X[5:]]))
    resolved = resolve_input(model)
    assert resolved.is_blockwise
    assert isinstance(resolved.partition, CredalPartition)


def test_is_pairwise():
    D = np.linalg.norm(X[:, None] - X, axis=2)
    assert resolve_input(
        EVCLUS(2, metric="precomputed", random_state=0).fit(D)
    ).is_pairwise
    assert resolve_input(LABELS, metric="precomputed").is_pairwise


@pytest.mark.parametrize(
    "subject",
    [7, ECM, [[0, 1]], StandardScaler().fit(X)],
    ids=["number", "class", "rows", "other"],
)
def test_invalid_subjects(subject):
    with pytest.raises(TypeError, match="^subject must be"):
        resolve_input(subject, "subject")


def test_unfitted_estimator():
    with pytest.raises(NotFittedError):
        resolve_input(ECM(2))


def test_rows_are_matched_by_name():
    resolved = resolve_input(ECM(2, random_state=0).fit(TABLE))
    backwards = TABLE.iloc[::-1]
    pd.testing.assert_frame_equal(resolved.align_table(backwards), TABLE)
    assert list(resolved.align_partition(backwards, 10).index) == NAMES[::-1]
    assert resolved.align_table(X) is X
    views = resolved.align_table({"one": backwards, "two": TABLE})
    pd.testing.assert_frame_equal(views["one"], views["two"])
    with pytest.raises(ValueError, match=r"\battributes\b"):
        resolved.align_table(X[:3], "attributes", of_fit=False)
    assert list(row_names(None, X, TABLE)) == NAMES


def test_dissimilarities_are_matched_by_name():
    D = pd.DataFrame(np.linalg.norm(X[:, None] - X, axis=2), index=NAMES, columns=NAMES)
    resolved = resolve_input(EVCLUS(2, metric="precomputed", random_state=0).fit(D))
    pd.testing.assert_frame_equal(resolved.align_table(D.iloc[::-1, ::-1]), D)


def test_find_object():
    assert find_object("c", NAMES, 10) == 2
    assert find_object(2, None, 10) == 2
    assert find_object((1, 2), None, 12, (3, 4)) == 6
    assert find_object([1.0, 2.0], None, 10) == -1
    for wrong in (None, True, "z", 10, -1):
        with pytest.raises(ValueError, match="^i must be"):
            find_object(wrong, None, 10)
