"""Neighbors by the tree of points, compared with sorting, including ties and equal points."""

import numpy as np
import pytest

from dempster.dissimilarity.neighbors import PointTree, minkowski_power

RNG = np.random.default_rng(0)
GRID = np.stack(np.meshgrid(np.arange(12.0), np.arange(11.0)), axis=-1).reshape(-1, 2)
POINTS = {
    "plain": RNG.normal(size=(300, 3)),
    "one attribute": RNG.normal(size=(100, 1)),
    "many attributes": RNG.normal(size=(90, 20)),
    "grid": RNG.permutation(GRID),
    "few values": RNG.integers(0, 3, size=(200, 4)).astype(float),
    "twins": RNG.permutation(np.repeat(RNG.normal(size=(9, 2)), 25, axis=0)),
    "all the same": np.ones((70, 2)),
    "one leaf": RNG.normal(size=(5, 2)),
    "one point": np.zeros((1, 2)),
    "beyond overflow": RNG.normal(size=(60, 2)) * 1e200,
}
POWERS = [1.0, 2.0, 3.5, np.inf]


def distances_before_the_root(A, B, p):
    """Return squared distances summed in the order of the tree, so that the ties are the same."""
    out = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        gap = np.abs(a[:, None] - b)
        with np.errstate(over="ignore"):
            if p == np.inf:
                out = np.maximum(out, gap)
            else:
                out = out + (gap * gap if p == 2 else gap**p)
    return out


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("name", POINTS)
def test_against_sorting(name, p):
    X = POINTS[name]
    queries = np.concatenate([X[:40], RNG.normal(size=(20, X.shape[1]))])
    D = distances_before_the_root(queries, X, p)
    order = np.argsort(D, axis=1, kind="stable")
    root = {1.0: lambda d: d, 2.0: np.sqrt, np.inf: lambda d: d}.get(
        p, lambda d: d ** (1 / p)
    )
    tree = PointTree(X, p)
    for k in {1, min(7, len(X)), len(X)}:
        distance, index = tree.kneighbors(queries, k)
        np.testing.assert_array_equal(index, order[:, :k])
        np.testing.assert_allclose(
            distance, root(np.take_along_axis(D, order[:, :k], axis=1)), rtol=1e-15
        )


@pytest.mark.parametrize("name", [name for name in POINTS if name != "one point"])
def test_neighbors_without_the_point_itself(name):
    X = POINTS[name]
    D = distances_before_the_root(X, X, 2.0)
    np.fill_diagonal(D, np.nan)  # sorted to the end
    k = min(6, len(X) - 1)
    _, index = PointTree(X).kneighbors(n_neighbors=k)
    np.testing.assert_array_equal(index, np.argsort(D, axis=1, kind="stable")[:, :k])


def test_many_equal_points():
    """Every query has thousands of neighbors at distance zero and returns the first few."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]], 20_000, axis=0)
    _, index = PointTree(X).kneighbors(n_neighbors=3)
    np.testing.assert_array_equal(
        index[[0, 1, 2, 3, 59_999]],
        [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [*range(40_000, 40_003)]],
    )


def test_threads_and_precision_have_no_effect():
    X = RNG.normal(size=(2000, 3)).astype(np.float32)
    one = PointTree(X, n_jobs=1).kneighbors(X, 9)
    two = PointTree(X.astype(float), n_jobs=2).kneighbors(X, 9)
    np.testing.assert_array_equal(one, two)


def test_order_is_a_permutation_of_nearby_points():
    X = RNG.uniform(size=(4096, 2))
    order = PointTree(X).order
    np.testing.assert_array_equal(np.sort(order), np.arange(4096))
    steps = np.linalg.norm(np.diff(X[order], axis=0), axis=1)
    assert steps.mean() < 0.1 * np.linalg.norm(np.diff(X, axis=0), axis=1).mean()


def test_not_enough_points():
    tree = PointTree(np.zeros((4, 1)))
    assert tree.kneighbors(np.zeros((2, 1)), 4)[1].tolist() == [[0, 1, 2, 3]] * 2
    with pytest.raises(ValueError, match="n_neighbors must"):
        tree.kneighbors(n_neighbors=4)
    with pytest.raises(ValueError, match="n_neighbors must"):
        tree.kneighbors(np.zeros((2, 1)), 5)


@pytest.mark.parametrize(
    ("metric", "power"),
    [
        ("euclidean", 2.0),
        ("manhattan", 1.0),
        ("l1", 1.0),
        ("chebyshev", np.inf),
        ("minkowski", 2.0),
        ("cosine", None),
        ("seuclidean", None),
        (max, None),
    ],
)
def test_powers_of_metrics(metric, power):
    assert minkowski_power(metric) == power
