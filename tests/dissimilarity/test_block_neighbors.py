"""Neighbors in blocks, neighbors of new objects, and invalid metrics, compared with sorting."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from dempster.dissimilarity import neighbors
from dempster.dissimilarity.gower import GowerEncoder, gower_block
from dempster.dissimilarity.input import DissimilarityInput
from dempster.dissimilarity.neighbors import (
    BlockFinder,
    Neighbors,
    ReferenceFinder,
    check_neighbors,
    make_finder,
    nearest_columns,
)
from dempster.dissimilarity.sources import (
    AttributeSource,
    GowerSource,
    MatrixSource,
    References,
)
from dempster.optimize.blocks import block_map
from tests.inputs import fitted_encoder

X = np.random.default_rng(0).normal(size=(60, 3))
NEW = np.random.default_rng(2).normal(size=(23, 3))


def mixed_table(n, seed=0):
    """Return numbers, categories and missing values, with many ties."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"a": rng.integers(0, 5, n).astype(float), "b": rng.choice(list("xyz"), n)}
    )
    table.loc[rng.random(n) < 0.2, "a"] = np.nan
    return table


def sorted_neighbors(D, k):
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


@pytest.mark.parametrize("k", [1, 2, 7, 30])
def test_nearest_columns_are_those_of_a_stable_sort(k):
    D = np.random.default_rng(k).integers(0, 6, size=(40, 30)).astype(float)
    for found, expected in zip(
        nearest_columns(D, k), sorted_neighbors(D, k), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_gower(monkeypatch, n_jobs):
    monkeypatch.setattr(neighbors, "_MAX_CELLS", 400)
    data = GowerEncoder().fit_transform(mixed_table(80))
    D = gower_block(data, data)
    find = make_finder(GowerSource(data), n_jobs=n_jobs)
    assert (type(find), find.kind) == (BlockFinder, "exact")
    rows = np.array([5, 0, 41])
    for found, expected in zip(
        find(rows, 9), sorted_neighbors(D[rows], 9), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    np.fill_diagonal(D, np.inf)
    found = Neighbors.find_all(find, 80, 6)
    expected = sorted_neighbors(D, 6)
    np.testing.assert_array_equal(found.index, expected[0])
    np.testing.assert_array_equal(found.distance, expected[1])
    with pytest.raises(ValueError, match="neighbors="):
        make_finder(GowerSource(data), "approximate")


def test_function_without_triangle_inequality():
    """A tree, which relies on it, would miss neighbors."""

    def squared(a, b):
        return float(np.sum((a - b) ** 2) ** 2)

    D = cdist(X, X) ** 4
    index, distance = make_finder(AttributeSource(X, squared))(np.arange(60), 5)
    np.testing.assert_array_equal(index, sorted_neighbors(D, 5)[0])
    np.testing.assert_allclose(distance, sorted_neighbors(D, 5)[1], rtol=1e-12)


# ---- new objects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis", "callable"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_new_objects(monkeypatch, metric, n_jobs):
    monkeypatch.setattr("dempster.dissimilarity.neighbors._QUERY_ROWS", 8)
    own = {"mahalanobis": {"VI": np.linalg.inv(np.cov(X.T))}}.get(metric, {})
    D = cdist(NEW, X, "chebyshev" if metric == "callable" else metric, **own)
    if metric == "callable":

        def function(a, b):
            return np.abs(a - b).max()
    else:
        function = metric
    which = np.arange(3, 60, 2)
    references = References.from_source(AttributeSource(X, function), which)
    with block_map(n_jobs) as apply:
        index, distance = ReferenceFinder(references)(NEW, 4, apply)
    np.testing.assert_array_equal(index, sorted_neighbors(D[:, which], 4)[0])
    np.testing.assert_allclose(distance, sorted_neighbors(D[:, which], 4)[1], rtol=1e-9)


def test_new_objects_of_a_matrix_and_of_a_table():
    D = cdist(NEW, X).round(1)
    matrix = MatrixSource(cdist(X, X))
    data = fitted_encoder(mixed_table(50))
    table = data.transform(mixed_table(50))
    new = data.transform(mixed_table(20, seed=1))
    with block_map(2) as apply:
        found = ReferenceFinder(References.from_source(matrix, np.arange(60)))(
            D, 6, apply
        )
        mixed = ReferenceFinder(
            References.from_source(GowerSource(table), np.arange(50))
        )(new, 6, apply)
    for side in (0, 1):
        np.testing.assert_array_equal(found[side], sorted_neighbors(D, 6)[side])
        np.testing.assert_array_equal(
            mixed[side], sorted_neighbors(gower_block(new, table), 6)[side]
        )


# ---- metrics that cannot be used -----------------------------------------------------------------


def test_metric_that_gives_nan():
    """A constant attribute has no variance.

    The trees of scikit-learn then return unset neighbors.
    """
    flat = np.column_stack([X, np.ones(60)])
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="metric must"),
    ):
        Neighbors.find_all(make_finder(AttributeSource(flat, "seuclidean")), 60, 5)


@pytest.mark.parametrize("index", [[[0, 60]], [[-1, 3]]])
def test_unset_neighbors(index):
    with pytest.raises(ValueError, match="metric must"):
        check_neighbors(np.array(index), np.ones((1, 2)), 60)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (lambda a, b: abs(a - b).sum() * (1 + (a[0] > b[0])), "metric must"),
        (lambda a, b: 5 + a @ b, "metric must"),
        (lambda a, b: np.nan, "metric must"),
        (lambda a, b: -1.0, "Negative values in data"),
    ],
)
def test_invalid_functions(metric, message):
    with pytest.raises(ValueError, match=message):
        DissimilarityInput(metric).training(BaseEstimator(), np.abs(X))


def test_attributes_are_not_changed():
    reader = DissimilarityInput("euclidean", centered=True)
    estimator = BaseEstimator()
    table = pd.DataFrame(X + 0.1)
    assert reader.training(estimator, table).objects.mean() == pytest.approx(0)
    np.testing.assert_array_equal(
        reader.attributes(estimator, table, np.array([4, 2])), table.to_numpy()[[4, 2]]
    )
