import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from dempster.dissimilarity.gower import GowerEncoder
from dempster.dissimilarity.sources import (
    AttributeSource,
    GowerSource,
    MatrixSource,
    References,
    check_square,
    check_values,
    rounding,
    separations,
)
from tests.inputs import fitted_encoder, gower_matrix

X = np.random.default_rng(0).normal(size=(30, 3))
METRICS = [
    "euclidean",
    "manhattan",
    "cosine",
    "sqeuclidean",
    "chebyshev",
    "seuclidean",
    "mahalanobis",
    "correlation",
]


def mixed_table():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    table["c"] = rng.choice(["red", "blue", None], 30)
    table.loc[3, "a"] = np.nan
    return table


def every_source():
    yield AttributeSource(X), cdist(X, X)
    yield AttributeSource(X.astype(np.float32)), cdist(X, X)
    own = {
        "seuclidean": {"V": X.var(axis=0, ddof=1)},
        "mahalanobis": {"VI": np.linalg.inv(np.cov(X.T))},
    }
    for metric in METRICS:
        name = {"manhattan": "cityblock"}.get(metric, metric)
        yield AttributeSource(X, metric), cdist(X, X, name, **own.get(metric, {}))
    yield AttributeSource(X, lambda a, b: np.abs(a - b).max()), cdist(X, X, "chebyshev")
    yield MatrixSource(cdist(X, X)), cdist(X, X)
    table = mixed_table()
    yield GowerSource(GowerEncoder().fit_transform(table)), gower_matrix(table)


@pytest.mark.parametrize(("source", "D"), list(every_source()))
def test_blocks_pairs_and_subsets_are_parts_of_one_matrix(source, D):
    # cosine and the like lose half of the digits near zero
    if source.dtype == np.float32:
        tolerance = 1e-5
    else:
        tolerance = 1e-7
    assert len(source) == 30
    rows = np.array([4, 0, 29])
    columns = np.array([7, 4, 1, 2])
    np.testing.assert_allclose(
        source.block(rows, columns), D[np.ix_(rows, columns)], atol=tolerance
    )
    rng = np.random.default_rng(0)
    i = rng.integers(0, 30, 200)
    j = rng.integers(0, 30, 200)
    found = source.pairs(i, j)
    np.testing.assert_allclose(found, D[i, j], atol=tolerance)
    assert found.dtype == source.dtype
    which = np.array([2, 11, 5, 29])
    part = source.subset(which)
    assert len(part) == 4
    everybody = np.arange(4)
    np.testing.assert_allclose(
        part.block(everybody, everybody), D[np.ix_(which, which)], atol=tolerance
    )
    assert part.dtype == source.dtype


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "l2"])
def test_distances_do_not_change_far_from_the_origin(metric):
    """The formula |a|^2 - 2 ab + |b|^2 would lose all digits."""
    everybody = np.arange(30)
    near, far = (
        AttributeSource(X + shift, metric).block(everybody, everybody)
        for shift in (0, 1e8)
    )
    np.testing.assert_allclose(near, far, atol=1e-6)


def test_parameters_of_a_metric_belong_to_the_whole_table():
    """scikit-learn would require them or compute them from each block."""
    which = np.array([1, 2, 3])
    D = cdist(X, X, "mahalanobis", VI=np.linalg.inv(np.cov(X.T)))
    part = AttributeSource(X, "mahalanobis").subset(which).astype(np.dtype(float))
    np.testing.assert_allclose(
        part.between(X[:5], part.objects), D[:5, which], atol=1e-9
    )
    one_column = AttributeSource(X[:, :1], "mahalanobis").block(which, which)
    np.testing.assert_allclose(
        one_column, cdist(X[which, :1], X[which, :1]) / X[:, 0].std(ddof=1), atol=1e-9
    )


def test_metrics_that_are_not_dissimilarities():
    everybody = np.arange(30)
    with pytest.raises(ValueError, match="metric must"):
        AttributeSource(X, lambda a, b: np.nan).block(everybody, everybody)
    with pytest.raises(ValueError, match="metric must"):
        AttributeSource(X, lambda a, b: -1.0).block(everybody, everybody)
    with pytest.raises(
        ValueError, match="'pth' is not a metric of .*; clusterers also accept 'path'"
    ):
        AttributeSource(X, "pth").block(everybody, everybody)


# ---- objects that are the same -------------------------------------------------------------------


def test_equal_rows():
    A = np.array([[1.0, 2], [0.0, 5], [1.0, 2], [3.0, 4]])
    B = np.array([[-0.0, 5], [1, 2], [1, 2.5], [3, 4]])
    for metric in ("euclidean", "l2", "manhattan"):
        source = AttributeSource(A, metric)
        references = References.from_source(source, np.arange(4))
        for D in (None, references.dissimilarities(B)):
            nearest, distance = references.nearest(B, D)
            assert nearest.tolist() == [1, 0, 0, 3]  # the first of several
            assert distance.tolist() == [0, 0, 0.5, 0]
        assert references.nearest(A[:0])[0].tolist() == []
        D = source.between(A, A, exact=True)
        least = np.where(D > 1e-6, D, np.inf).min(axis=1)
        np.testing.assert_allclose(separations(source), least)
        part = separations(source, np.array([3, 1]))
        np.testing.assert_allclose(part, least[[3, 1]])


def test_equal_rows_with_missing_values():
    table = pd.DataFrame({"a": [1.0, np.nan, 1.0, np.nan], "b": ["x", "x", None, "x"]})
    encoder = fitted_encoder(table)
    data = encoder.transform(table)
    source = GowerSource(data)
    # no difference where both are known,
    assert source.block(np.array([0]), np.array([1, 2])).tolist() == [[0, 0]]
    references = References.from_source(source, np.arange(4))
    nearest, distance = references.nearest(data)
    assert nearest.tolist() == [0, 1, 2, 1]  # but not the same objects
    assert distance.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(separations(source), [0.5] * 4)
    unseen = encoder.transform(pd.DataFrame({"a": [1.0], "b": ["y"]}))
    assert references.nearest(unseen)[1] > 0


# ---- checks --------------------------------------------------------------------------------------


def test_square_matrices():
    D = cdist(X, X)
    np.testing.assert_array_equal(check_square(D, symmetrize=False), D)
    with pytest.raises(ValueError, match=r"square.*\(30, 4\)"):
        check_square(D[:, :4], symmetrize=False)
    crooked = D.copy()
    crooked[2, 5] += 0.75
    with pytest.raises(ValueError, match="X must"):
        check_square(crooked, symmetrize=False)
    np.testing.assert_allclose(
        check_square(crooked, symmetrize=True), (crooked + crooked.T) / 2
    )
    with pytest.raises(ValueError, match="zero diagonal.*up to 3"):
        check_square(D + np.diag([3] + [0] * 29), symmetrize=False)
    with pytest.raises(ValueError, match="Negative values in data: X"):
        check_square(np.where(np.eye(30) > 0, 0, -2.0), symmetrize=False)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-14), (np.float32, 3e-7)])
def test_rounding_errors_are_accepted(dtype, error):
    noise = np.random.default_rng(0).uniform(-error, error, (30, 30))
    D = (cdist(X, X) * (1 + noise) + np.diag(np.full(30, error))).astype(dtype)
    assert np.abs(D - D.T).max() > 0
    check_square(D, symmetrize=False)


def test_negative_rounding_errors_become_zero():
    assert check_values(np.array([[0.0, 2], [2, -1e-13]]), "X").tolist() == [
        [0, 2],
        [2, 0],
    ]
    assert rounding(np.float64) < rounding(np.float32) < 1e-5
