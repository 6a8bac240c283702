"""Default parameters: clusters in a row, doubt between neighboring clusters, and outliers."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets
from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    RECM,
    BootClus,
    ECMdd,
    WECMdd,
)

SIZES = {"equal": (80,) * 6, "unequal": (160, 40, 100, 30, 140, 60)}


def row(n_clusters, n_features, sizes, seed=0):
    """Return Gaussian clusters along a line, four standard deviations apart, and their positions."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_clusters), SIZES[sizes][:n_clusters])
    X = rng.normal(size=(len(y), n_features))
    X[:, 0] += 4 * y
    return X, y


def order_of_clusters(model, X):
    """Return the position of each cluster along the line."""
    c = model.n_clusters_
    return np.argsort(np.argsort([X[model.labels_ == k, 0].mean() for k in range(c)]))


ROWS = [(3, 1), (3, 2), (4, 1), (4, 2), (5, 2), (6, 1), (6, 2)]
QUICK = [(method, *row) for method in (ECM, EVCLUS) for row in ROWS[1::2]]
QUICK += [(method, 4, 2) for method in (CCM, RECM, EGMM)]
EVERY = [(method, *row) for method in (ECM, CCM, RECM, EVCLUS, EGMM) for row in ROWS]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    ("method", "n_clusters", "n_features"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.long)
        for case in EVERY
    ],
)
def test_clusters_in_a_row(method, n_clusters, n_features, sizes):
    X, y = row(n_clusters, n_features, sizes)
    auto = method(n_clusters, random_state=0).fit(X)
    if method is EVCLUS:
        alone = "simple"
    else:
        alone = FocalSets.simple(n_clusters, empty=False, omega=False)
    simple = method(n_clusters, focal_sets=alone, random_state=0).fit(X)
    assert (
        adjusted_rand_score(y, auto.labels_)
        >= adjusted_rand_score(y, simple.labels_) - 0.02
    )
    partition = auto.credal_partition_
    place = order_of_clusters(auto, X)
    neighbors = {(k, k + 1) for k in range(n_clusters - 1)}
    sets = [s for s in auto.focal_sets_ if len(s) > 1]
    assert {tuple(sorted(place[list(s)].tolist())) for s in sets} == neighbors
    assert len(partition.ambiguous) > 0
    middle = np.sort([X[auto.labels_ == k, 0].mean() for k in range(n_clusters)])
    for i in partition.ambiguous:
        low, high = sorted(
            place[np.flatnonzero(auto.focal_sets_.membership[partition.best_set[i]])]
        )
        assert middle[low] < X[i, 0] < middle[high]


@pytest.mark.parametrize(
    "method", [ECM, CCM, BPEC, CECM, RECM, MECM, ECMdd, WECMdd, EVCLUS, EGMM, BootClus]
)
def test_pairs_with_mass_are_neighbors(method):
    """Test all methods with focal sets, for any number of clusters."""
    X, y = row(5, 2, "equal")
    if method is BootClus:
        options = {"n_bootstraps": 20, "mixture": "EII"}
    else:
        options = {}
    if method is not BPEC:
        model = method(5, random_state=0, **options).fit(X)
    else:
        model = BPEC(5).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    place = order_of_clusters(model, X)
    pairs = {
        tuple(sorted(place[list(s)].tolist())) for s in model.focal_sets_ if len(s) == 2
    }
    assert pairs == {(k, k + 1) for k in range(4)}
    assert max(model.focal_sets_.cardinality) == 2


def with_outliers(seed, n_features):
    """Return three clusters and ten distant objects."""
    rng = np.random.default_rng(seed)
    centers = 8 * np.eye(3, n_features)
    X = np.repeat(centers, 100, axis=0) + rng.normal(size=(300, n_features))
    direction = rng.normal(size=(10, n_features))
    far = 35 * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    return X, np.vstack([X, centers.mean(axis=0) + far])


@pytest.mark.parametrize("method", [ECM, EVCLUS])
@pytest.mark.parametrize("n_features", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_planted_outliers_are_found(method, n_features, seed):
    clean, planted = with_outliers(seed, n_features)
    assert (
        len(method(3, random_state=0).fit(clean).credal_partition_.outliers)
        <= 0.03 * 300
    )
    found = method(3, random_state=0).fit(planted).credal_partition_.outliers
    assert np.isin(np.arange(300, 310), found).mean() >= 0.8


@pytest.mark.parametrize("method", [ECM, CCM, CECM, RECM, ECMdd, EVCLUS])
def test_units_and_order_have_no_effect(method):
    X, _ = row(4, 2, "unequal")
    one = method(4, random_state=0).fit(X)
    kilo = method(4, random_state=0).fit(1024 * X)  # the same digits
    np.testing.assert_array_equal(
        kilo.credal_partition_.masses, one.credal_partition_.masses
    )
    shuffled = np.random.default_rng(1).permutation(len(X))
    other = method(4, random_state=0).fit(X[shuffled])
    np.testing.assert_allclose(
        other.credal_partition_.masses,
        one.credal_partition_.masses[shuffled],
        atol=1e-6,
    )


@pytest.mark.parametrize("method", [ECM, CCM, CECM, RECM, ECMdd, EVCLUS])
def test_weights_equal_repetitions(method):
    X, _ = row(3, 2, "unequal")
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    if method is ECMdd:
        exactly = {"random_state": 0}
    else:
        exactly = {"random_state": 0, "tol": 1e-14, "max_iter": 5000}
    weighted = method(3, **exactly).fit(X, sample_weight=weights)
    repeated = method(3, **exactly).fit(np.repeat(X, weights, axis=0))
    masses = np.repeat(weighted.credal_partition_.masses, weights, axis=0)
    np.testing.assert_allclose(repeated.credal_partition_.masses, masses, atol=1e-5)
    assert repeated.focal_sets_ == weighted.focal_sets_


@pytest.mark.parametrize(
    "method", [ECM, CCM, CECM, RECM, MECM, ECMdd, WECMdd, EVCLUS, EGMM]
)
def test_neighbor_pairs_do_not_change_the_fit(method):
    """History and objective are those of the fit with single clusters."""
    X, _ = row(4, 2, "equal")
    model = method(4, random_state=0).fit(X)
    assert model.history_[-1] == model.objective_
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))
    if method is not EVCLUS:  # which also fits the empty set and the frame
        alone = FocalSets.simple(4, empty=False, omega=False)
        assert (
            method(4, focal_sets=alone, random_state=0).fit(X).objective_
            == model.objective_
        )


@pytest.mark.parametrize("method", [ECM, RECM, ECMdd, EVCLUS])
def test_number_of_clusters_of_few_objects(method):
    """One cluster if nothing indicates more; errors name the missing objects."""
    two = np.array([[0.0, 1.0], [3.0, 1.0]])
    for data in (two, np.vstack([two, two]), np.arange(3.0)[:, None]):
        model = method("auto", random_state=0).fit(data)
        assert model.number_.best == model.n_clusters_ == 1
        assert set(model.labels_) == {0}
    assert method("auto", random_state=0).fit(np.ones((8, 2))).n_clusters_ == 1
    if method is not EVCLUS:  # which needs two objects
        assert method("auto", random_state=0).fit(two[:1]).n_clusters_ == 1


@pytest.mark.parametrize(
    "method",
    [
        ECM,
        EVCLUS,
        pytest.param(RECM, marks=pytest.mark.long),
        pytest.param(ECMdd, marks=pytest.mark.long),
    ],
)
def test_number_of_clusters_with_weights_and_matrices(method):
    X, y = row(3, 2, "equal")
    X[:, 0] += 4 * y
    model = method("auto", random_state=0).fit(X)
    assert model.number_.best == model.n_clusters_ == 3
    assert model.number_.reasons().startswith("3; expected agreement")
    weights = (y < 2).astype(float)  # without the last cluster
    assert method("auto", random_state=0).fit(X, sample_weight=weights).n_clusters_ == 2
    if method is not ECM:
        D = np.linalg.norm(X[:, None] - X[None], axis=2)
        assert (
            method("auto", metric="precomputed", random_state=0).fit(D).n_clusters_ == 3
        )
    assert not hasattr(method(3, random_state=0).fit(X), "number_")


@pytest.mark.parametrize(
    ("method", "n_outliers"), [(ECM, 1), (CCM, 1), (RECM, 1), (ECM, 10), (CCM, 10)]
)
def test_distant_outliers_are_not_clusters(method, n_outliers):
    """Without the empty set in the first step, a prototype would move to an outlier."""
    rng = np.random.default_rng(n_outliers)
    X = np.concatenate(
        [rng.normal(center, 1, (60, 2)) for center in ((0, 0), (6, 0), (3, 5))]
    )
    direction = rng.normal(size=(n_outliers, 2))
    far = 100 * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    everyone = np.concatenate([X, far])
    if method is RECM:
        values = squareform(pdist(everyone))
    else:
        values = everyone
    model = method(3, random_state=0).fit(values)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 60), model.labels_[:180]) > 0.9
    assert set(range(180, 180 + n_outliers)) <= set(model.credal_partition_.outliers)


@pytest.mark.parametrize("method", [ECM, CCM])
def test_sparse_clusters_are_not_outliers(method):
    """Three dense clusters are far from five sparse ones, whose objects are far from each other."""
    rng = np.random.default_rng(0)
    dense = [rng.normal((0, 10 * k), 0.3, (600, 2)) for k in range(3)]
    thin = [
        rng.normal((60 + 15 * (k % 3), 15 * (k // 3)), 2, (30, 2)) for k in range(5)
    ]
    model = method(8, random_state=0).fit(np.concatenate([*dense, *thin]))
    assert (
        adjusted_rand_score(
            np.repeat(np.arange(8), [600] * 3 + [30] * 5), model.labels_
        )
        > 0.95
    )
