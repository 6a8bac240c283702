"""Belief peaks: reference values, naive loops, and the number of clusters."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster._errors import InvalidParameterError
from dempster.cluster import BeliefPeaks, _peaks
from dempster.dissimilarity import neighbors


def expected_failures(estimator):
    if estimator.metric == "precomputed":
        return {
            "check_clustering": "the check passes attributes instead of dissimilarities"
        }
    return {}


@parametrize_with_checks(
    [BeliefPeaks(), BeliefPeaks(metric="precomputed")],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 3, centers=5, cluster_std=0.8, random_state=3)


def naive(D, n_neighbors, q):
    """Compute belief, delta and the nearest object of higher belief by definition."""
    n = len(D)
    neighbors = [
        sorted((D[i, j], j) for j in range(n) if j != i)[:n_neighbors] for i in range(n)
    ]
    scale = [np.quantile([d for d, _ in row], q) for row in neighbors]
    belief = np.empty(n)
    for i in range(n):
        belief[i] = 1 - np.prod(
            [1 - np.exp(-((d / scale[j]) ** 2)) / n_neighbors for d, j in neighbors[i]]
        )
    delta = np.zeros(n)
    nearest = np.full(n, -1)
    for i in range(n):
        higher = [
            (D[i, j], j)
            for j in range(n)
            if belief[j] > belief[i] or (belief[j] == belief[i] and j < i)
        ]
        if higher:
            delta[i], nearest[i] = min(higher)
    delta[nearest == -1] = delta.max()
    return belief, delta, nearest


def count_centers(X, y, peaks):
    """Count class means with a peak nearer than half the distance to the next class mean."""
    means = np.array([X[y == k].mean(axis=0) for k in np.unique(y)])
    apart = pairwise_distances(means) + np.diag(np.full(len(means), np.inf))
    return int(
        (pairwise_distances(means, X[peaks]).min(axis=1) < apart.min(axis=1) / 2).sum()
    )


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["delta_bel_fourclass", "delta_bel_s2"])
def test_reference(reference, name):
    case = reference(name)
    model = BeliefPeaks(n_neighbors=case.parameters["K"], q=case.parameters["q"]).fit(
        case["x"]
    )
    case.assert_equal("BelC", model.belief_)
    case.assert_equal("delta", model.delta_)


def test_published_peaks_of_fourclass(shared_data):
    X, _ = shared_data("fourclass")
    model = BeliefPeaks(n_neighbors=50, q=0.9).fit(X)
    assert (model.peak_indices_ + 1).tolist() == [132, 386, 252, 57]
    np.testing.assert_allclose(
        model.belief_[model.peak_indices_], [0.5151, 0.5136, 0.5089, 0.5085], atol=5e-5
    )
    np.testing.assert_allclose(
        model.delta_[model.peak_indices_], [4.460, 4.460, 4.127, 3.000], atol=5e-4
    )
    assert (
        model.prominence_[model.peak_indices_].min()
        > 3 * np.sort(model.prominence_)[-5]
    )
    np.testing.assert_array_equal(model.cluster_centers_, X[model.peak_indices_])


@pytest.mark.parametrize(
    "metric",
    ["euclidean", "cityblock", "cosine", "seuclidean", "mahalanobis", "callable"],
)
@pytest.mark.parametrize(("n_neighbors", "q"), [(1, 0.9), (7, 0.5), (39, 1.0)])
def test_naive_loops(metric, n_neighbors, q):
    X = np.random.default_rng(0).normal(size=(40, 3))
    D = pairwise_distances(X, metric="chebyshev" if metric == "callable" else metric)
    np.fill_diagonal(D, 0)
    if metric == "callable":

        def metric(a, b):
            return np.abs(a - b).max()

    expected = naive(D, n_neighbors, q)
    for model in (BeliefPeaks(metric=metric), BeliefPeaks(metric="precomputed")):
        model.set_params(n_neighbors=n_neighbors, q=q, n_clusters=3).fit(
            D if model.metric == "precomputed" else X
        )
        np.testing.assert_allclose(model.belief_, expected[0], rtol=1e-10)
        np.testing.assert_allclose(model.delta_, expected[1], rtol=1e-7, atol=1e-12)
        np.testing.assert_array_equal(model.nearest_higher_, expected[2])


def test_search_in_growing_neighborhoods_and_in_blocks(monkeypatch, blobs):
    X, _ = blobs
    expected = BeliefPeaks(n_neighbors=2, n_clusters=5).fit(X)
    n_isolated = len(
        {*range(len(X))} - {*np.flatnonzero(expected.delta_ <= _kth_distance(X, 2))}
    )
    assert n_isolated > 20
    queries = []

    def record_queries(name):
        find = getattr(neighbors.ExactFinder, name)

        def spy(finder, rows, k):
            queries.append((len(rows), k))
            return find(finder, rows, k)

        monkeypatch.setattr(neighbors.ExactFinder, name, spy)

    record_queries("__call__")
    record_queries("others")
    monkeypatch.setattr(neighbors, "_QUERY_ROWS", 64)
    monkeypatch.setattr(_peaks, "_MAX_DISSIMILARITIES", 300)
    model = BeliefPeaks(n_neighbors=2, n_clusters=5).fit(X)
    assert {k for _, k in queries} >= {2, 8, 32}
    assert max(rows for rows, k in queries if k == 2) == 64
    np.testing.assert_allclose(model.delta_, expected.delta_, rtol=1e-13)
    for name in ("belief_", "nearest_higher_", "labels_", "peak_indices_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))


def _kth_distance(X, k):
    return NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]


# ---- number of clusters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_clusters"),
    [
        ("fourclass", 4),
        ("r15", 15),
        ("d31", 31),
        ("s1", 15),
        ("s2", 15),
        ("s3", 15),
        ("s4", 15),
        ("unbalance", 8),
    ]
    + [("a1", 20), ("a2", 35), ("a3", 50), ("iris", 3)],
)
def test_automatic_number_of_clusters(shared_data, name, n_clusters):
    X, y = shared_data(name)
    model = BeliefPeaks().fit(X)
    assert model.n_clusters_ == len(model.peak_indices_) == n_clusters
    assert count_centers(X, y, model.peak_indices_) == n_clusters


@pytest.mark.parametrize("n_neighbors", [30, 40, 50, 60, 70])
def test_automatic_number_hardly_depends_on_the_neighbors(shared_data, n_neighbors):
    assert (
        BeliefPeaks(n_neighbors=n_neighbors)
        .fit(shared_data("fourclass")[0])
        .n_clusters_
        == 4
    )
    assert (
        BeliefPeaks(n_neighbors=n_neighbors + 20).fit(shared_data("d31")[0]).n_clusters_
        == 31
    )


@pytest.mark.long
def test_hundred_thousand_objects(shared_data):
    X, y = shared_data("birch1")
    model = BeliefPeaks().fit(X)
    assert abs(model.n_clusters_ - 100) <= 3
    assert count_centers(X, y, model.peak_indices_) >= 97
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_given_number_of_clusters(blobs):
    X, y = blobs
    model = BeliefPeaks().fit(X)
    assert model.n_clusters_ == 5
    for n_clusters in (1, 3, 5, 8, 300):
        other = BeliefPeaks(n_clusters).fit(X)
        assert len(other.peak_indices_) == other.n_clusters_ == n_clusters
        assert set(other.labels_) == set(range(n_clusters))
        np.testing.assert_array_equal(
            other.peak_indices_[:5], model.peak_indices_[:n_clusters]
        )
    assert adjusted_rand_score(y, model.labels_) > 0.95
    last, following = np.sort(model.prominence_)[::-1][4:6]
    assert following < model.min_prominence_ < last


def test_thresholds(blobs):
    X, _ = blobs
    model = BeliefPeaks(min_belief=0.3, min_delta=1.0).fit(X)
    expected = np.flatnonzero((model.belief_ >= 0.3) & (model.delta_ >= 1))
    assert len(expected) >= 5
    assert set(model.peak_indices_) == set(expected)
    assert (np.diff(model.prominence_[model.peak_indices_]) <= 0).all()
    assert (model.min_belief_, model.min_delta_, model.min_prominence_) == (
        0.3,
        1.0,
        None,
    )
    few = BeliefPeaks(2, min_belief=0.3, min_delta=1.0).fit(X)
    np.testing.assert_array_equal(few.peak_indices_, model.peak_indices_[:2])
    only_delta = BeliefPeaks(min_delta=1.0).fit(X)
    assert only_delta.min_belief_ == np.median(model.belief_)


def test_outliers_are_no_peaks(blobs):
    X = np.vstack([blobs[0], [[300.0, 300, 300]]])
    model = BeliefPeaks(6).fit(X)
    assert 300 not in model.peak_indices_
    assert model.delta_[300] > 300
    assert model.belief_[300] < 0.01


def test_one_cluster():
    X = np.linspace(-1, 1, 41)[:, None] ** 3  # belief is highest in the middle
    model = BeliefPeaks(n_neighbors=20).fit(X)
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()


# ---- labels --------------------------------------------------------------------------------------


def test_labels_follow_the_nearest_object_of_higher_belief(blobs):
    model = BeliefPeaks().fit(blobs[0])
    np.testing.assert_array_equal(model.labels_[model.peak_indices_], np.arange(5))
    others = np.setdiff1d(np.arange(300), model.peak_indices_)
    np.testing.assert_array_equal(
        model.labels_[others], model.labels_[model.nearest_higher_[others]]
    )
    (top,) = np.flatnonzero(model.nearest_higher_ == -1)
    assert top == model.belief_.argmax() == model.peak_indices_[0]
    assert model.delta_[top] == np.delete(model.delta_, top).max()


def test_predict(blobs):
    X, _ = blobs
    model = BeliefPeaks().fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    rng = np.random.default_rng(0)
    new = X[:20] + 1e-6 * rng.normal(size=(20, 3))
    np.testing.assert_array_equal(model.predict(new), model.labels_[:20])
    relational = BeliefPeaks(metric="precomputed").fit(pairwise_distances(X))
    np.testing.assert_array_equal(relational.labels_, model.labels_)
    np.testing.assert_array_equal(
        relational.predict(pairwise_distances(new, X)), model.labels_[:20]
    )
    assert not hasattr(relational, "cluster_centers_")


def test_equal_rows_and_ties():
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], 20, axis=0)
    model = BeliefPeaks().fit(X)
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(
        model.labels_.reshape(3, 20), np.repeat(model.labels_[::20, None], 20, axis=1)
    )
    assert model.peak_indices_.tolist() == [0, 20, 40]  # equal beliefs: the first row
    one = BeliefPeaks().fit(np.ones((10, 2)))
    assert one.n_clusters_ == 1
    assert np.isfinite(one.belief_).all()
    assert (one.delta_ == 0).all()
    with pytest.raises(InvalidParameterError, match="more than the 1 different"):
        BeliefPeaks(2).fit(np.ones((10, 2)))


@pytest.mark.parametrize("n_features", [3, 10])  # with trees, and without
def test_far_from_the_origin_and_float32(n_features):
    X, _ = make_blobs(300, n_features, centers=5, random_state=3)
    model = BeliefPeaks().fit(X)
    far = BeliefPeaks().fit(X + 1e7)
    np.testing.assert_allclose(far.belief_, model.belief_, rtol=1e-6)
    np.testing.assert_array_equal(far.labels_, model.labels_)
    np.testing.assert_array_equal(far.predict(X + 1e7), model.labels_)
    single = BeliefPeaks().fit(X.astype(np.float32))
    assert single.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(single.belief_, model.belief_, rtol=1e-4)


# ---- approximate neighbors -----------------------------------------------------------------------


def test_approximate_neighbors(monkeypatch, blobs):
    seeds = []

    class FakeFinder(neighbors.ExactFinder):
        """Replace pynndescent, whose compilation takes a minute."""

        kind = "approximate"

        def __init__(self, source, random_state, n_jobs):
            super().__init__(source, n_jobs)
            seeds.append(random_state.randint(1000))

    monkeypatch.setattr(neighbors, "ApproximateFinder", FakeFinder)
    X, _ = blobs
    exact = BeliefPeaks(neighbors="exact", metric="cityblock").fit(X)
    model = BeliefPeaks(
        neighbors="approximate", metric="cityblock", random_state=7
    ).fit(X)
    assert (exact.neighbors_, model.neighbors_) == ("exact", "approximate")
    assert seeds == [np.random.RandomState(7).randint(1000)]
    np.testing.assert_array_equal(model.belief_, exact.belief_)
    np.testing.assert_array_equal(model.labels_, exact.labels_)
    monkeypatch.setattr(neighbors, "_pays_to_approximate", lambda source: True)
    assert BeliefPeaks().fit(X).neighbors_ == "approximate"


@pytest.mark.long
def test_real_approximate_neighbors():
    pytest.importorskip("pynndescent")
    X, y = make_blobs(5000, 10, centers=10, random_state=0)
    exact = BeliefPeaks().fit(X)
    a, b = (
        BeliefPeaks(neighbors="approximate", random_state=0, n_jobs=n_jobs).fit(X)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(a.belief_, b.belief_)
    np.testing.assert_allclose(a.belief_, exact.belief_, atol=0.02)
    assert a.n_clusters_ == exact.n_clusters_ == 10
    assert adjusted_rand_score(y, a.labels_) > 0.99


# ---- parameters ----------------------------------------------------------------------------------


def test_automatic_number_of_neighbors():
    X = np.random.default_rng(0).normal(size=(2500, 2))
    for n, expected in ((2, 1), (20, 5), (100, 20), (150, 30), (900, 30), (2500, 50)):
        assert BeliefPeaks(1).fit(X[:n]).n_neighbors_ == expected


def test_a_fit_in_memory_forgets_the_sample_of_blocks():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat(
        [[0], [9], [18]], 20, axis=0
    )
    model = BeliefPeaks(3).fit([X[:30], X[30:]])
    model.fit(X[::-1].copy())
    np.testing.assert_array_equal(model.predict(X[::-1]), model.labels_)
