"""Nearest neighbors of all sources, compared with sorting, and the choice of the algorithm."""

import sys
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from dempster.dissimilarity import neighbors
from dempster.dissimilarity.neighbors import Neighbors, exact_index, make_finder
from dempster.dissimilarity.sources import AttributeSource, MatrixSource

X = np.random.default_rng(0).normal(size=(60, 3))
WIDE = np.random.default_rng(1).normal(size=(210, 7))


def every_source():
    own = {
        "seuclidean": {"V": X.var(axis=0, ddof=1)},
        "mahalanobis": {"VI": np.linalg.inv(np.cov(X.T))},
    }
    for metric in ("euclidean", "cityblock", "cosine", "seuclidean", "mahalanobis"):
        yield AttributeSource(X, metric), cdist(X, X, metric, **own.get(metric, {}))
    yield AttributeSource(X, lambda a, b: np.abs(a - b).max()), cdist(X, X, "chebyshev")
    yield AttributeSource(WIDE), cdist(WIDE, WIDE)
    yield MatrixSource(cdist(X, X)), cdist(X, X)


# ---- exact ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "D"), list(every_source()))
def test_exact_neighbors_against_sorting(source, D):
    rows = np.array([5, 0, 41])
    index, distance = make_finder(source)(rows, 6)
    np.testing.assert_array_equal(index, np.argsort(D[rows], axis=1)[:, :6])
    np.testing.assert_allclose(distance, np.sort(D[rows], axis=1)[:, :6], atol=1e-7)
    assert (index[:, 0] == rows).all()
    found = Neighbors.find_all(make_finder(source, "exact", n_jobs=2), len(source), 5)
    np.testing.assert_array_equal(found.index, np.argsort(D, axis=1)[:, 1:6])
    np.testing.assert_allclose(found.distance, np.sort(D, axis=1)[:, 1:6], atol=1e-12)


def test_reference(reference):
    case = reference("knn_dist")
    found = Neighbors.find_all(
        make_finder(MatrixSource(case["D"]), "exact"),
        len(case["D"]),
        case.parameters["K"],
    )
    case.assert_equal("nn_dist", found.distance)
    case.assert_equal("nn_index", found.index)


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis", "seuclidean"])
def test_number_of_threads_has_no_effect(metric):
    """scikit-learn's trees give wrong Mahalanobis distances in several threads."""
    source = AttributeSource(np.random.default_rng(0).normal(size=(900, 8)), metric)
    one, two = (
        Neighbors.find_all(make_finder(source, n_jobs=n_jobs), 900, 30)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.index, two.index)
    np.testing.assert_array_equal(one.distance, two.distance)


def test_blocks_have_no_effect(monkeypatch):
    find = make_finder(AttributeSource(X))
    whole = Neighbors.find_all(find, len(X), 4)
    sizes = []
    monkeypatch.setattr(neighbors, "_QUERY_ROWS", 16)
    others = find.others
    monkeypatch.setattr(
        find, "others", lambda rows, k: sizes.append(len(rows)) or others(rows, k)
    )
    cut = Neighbors.find_all(find, len(X), 4)
    assert sizes == [16, 16, 16, 12]
    np.testing.assert_array_equal(cut.index, whole.index)
    np.testing.assert_array_equal(cut.distance, whole.distance)


def test_object_is_not_its_own_neighbor_among_equal_rows():
    twins = np.repeat([[0.0], [9.0]], [6, 3], axis=0)
    found = Neighbors.find_all(make_finder(AttributeSource(twins)), 9, 2)
    assert (found.distance == 0).all()
    assert (found.index != np.arange(9)[:, None]).all()
    assert ((found.index < 6) == (np.arange(9) < 6)[:, None]).all()
    assert all(len(set(row)) == 2 for row in found.index.tolist())


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
@pytest.mark.parametrize("n_features", [2, 11])
def test_ties_are_broken_by_position(metric, n_features):
    # twins and ties everywhere
    few = np.random.default_rng(5).integers(0, 3, size=(150, n_features)).astype(float)
    D = cdist(few, few, metric)
    np.fill_diagonal(D, np.inf)
    found = Neighbors.find_all(make_finder(AttributeSource(few, metric)), 150, 6)
    np.testing.assert_array_equal(
        found.index, np.argsort(D, axis=1, kind="stable")[:, :6]
    )


def test_brute_force_for_many_attributes(monkeypatch):
    monkeypatch.setattr(neighbors, "_MAX_CACHED_CELLS", 100)
    wide = np.random.default_rng(1).normal(size=(80, 11))
    assert isinstance(exact_index(AttributeSource(wide)), NearestNeighbors)
    assert not isinstance(exact_index(AttributeSource(wide[:9])), NearestNeighbors)
    assert not isinstance(exact_index(AttributeSource(wide[:, :10])), NearestNeighbors)
    found = Neighbors.find_all(make_finder(AttributeSource(wide)), 80, 5)
    np.testing.assert_array_equal(
        found.index, np.argsort(cdist(wide, wide), axis=1)[:, 1:6]
    )


@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_quantile(q):
    found = Neighbors.find_all(make_finder(AttributeSource(X)), len(X), 7)
    np.testing.assert_allclose(
        found.quantile(q), np.quantile(found.distance, q, axis=1), rtol=1e-14
    )
    alone = Neighbors.find_all(make_finder(AttributeSource(X)), len(X), 1)
    np.testing.assert_array_equal(alone.quantile(q), alone.distance[:, 0])


def test_index_for_other_objects():
    new = np.random.default_rng(2).normal(size=(9, 3))
    distance, index = exact_index(AttributeSource(X, "cityblock")).kneighbors(
        new, n_neighbors=3
    )
    D = cdist(new, X, "cityblock")
    np.testing.assert_array_equal(index, np.argsort(D, axis=1)[:, :3])
    np.testing.assert_allclose(distance, np.sort(D, axis=1)[:, :3])


# ---- approximate ---------------------------------------------------------------------------------


class Descent:
    """Replace pynndescent, whose compilation takes a minute: exact, except for every tenth object."""

    def __init__(self, data, metric, n_neighbors, **options):
        self.index = NearestNeighbors(metric=metric).fit(data)
        Descent.options = options | {"n_neighbors": n_neighbors}

    def query(self, rows, k):
        distance, index = self.index.kneighbors(rows, n_neighbors=k)
        index[::10, -2:] = -1
        distance[::10, -2:] = np.inf
        return index.astype(np.int32), distance.astype(np.float32)


@pytest.fixture
def descent(monkeypatch):
    fake = ModuleType("pynndescent")
    fake.NNDescent = Descent
    monkeypatch.setitem(sys.modules, "pynndescent", fake)
    monkeypatch.setattr(neighbors, "find_spec", lambda name: fake)


def test_incomplete_approximate_neighbors_are_completed(descent):
    source = AttributeSource(X, "cityblock")
    find = make_finder(source, "approximate", 7, n_jobs=2)
    assert find.kind == "approximate"
    assert Descent.options.pop("random_state").randint(1000) == np.random.RandomState(
        7
    ).randint(1000)
    assert Descent.options == {
        "n_jobs": 2,
        "parallel_batch_queries": True,
        "n_neighbors": 30,
    }
    found = Neighbors.find_all(find, 60, 8)
    exact = Neighbors.find_all(make_finder(source, "exact"), 60, 8)
    np.testing.assert_array_equal(found.index, exact.index)
    np.testing.assert_allclose(found.distance, exact.distance, rtol=1e-6)


def test_random_states(descent):
    """A Generator is converted to a RandomState for pynndescent.

    Exact neighbors use no random numbers.
    """
    state = np.random.RandomState(3)
    given = np.random.default_rng(3)
    make_finder(AttributeSource(X), "exact", given)
    assert given.bit_generator.state == np.random.default_rng(3).bit_generator.state
    make_finder(AttributeSource(X), "approximate", given)
    expected = np.random.RandomState(int(np.random.default_rng(3).integers(2**31)))
    assert Descent.options["random_state"].randint(1000) == expected.randint(1000)
    make_finder(AttributeSource(X), "approximate", state)
    assert Descent.options["random_state"] is state


def test_automatic_choice(monkeypatch, descent):
    monkeypatch.setattr(neighbors, "_MIN_APPROXIMATE", (200, 6))
    assert make_finder(AttributeSource(WIDE)).kind == "approximate"
    assert make_finder(AttributeSource(WIDE), "exact").kind == "exact"
    assert make_finder(AttributeSource(WIDE[:200])).kind == "exact"
    assert make_finder(AttributeSource(WIDE[:, :6])).kind == "exact"
    assert make_finder(AttributeSource(WIDE, "cityblock")).kind == "exact"
    assert make_finder(MatrixSource(cdist(WIDE, WIDE))).kind == "exact"
    monkeypatch.setattr(neighbors, "find_spec", lambda name: None)
    assert make_finder(AttributeSource(WIDE)).kind == "exact"


@pytest.mark.parametrize(
    "source",
    [MatrixSource(cdist(X, X)), AttributeSource(X, lambda a, b: abs(a - b).sum())],
)
def test_approximate_neighbors_need_attributes_and_a_metric_by_name(descent, source):
    with pytest.raises(ValueError, match="neighbors="):
        make_finder(source, "approximate")


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match="dempster\\[neighbors\\]"):
        make_finder(AttributeSource(X), "approximate")
