"""One cluster as an answer, isolated objects, ties, weights and empty clusters."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    RECM,
    WMVEC,
    BootClus,
    CatECM,
    CredalClustering,
    ECMdd,
    FuzzyCMeans,
    NoiseClustering,
    PossibilisticCMeans,
    RoughKMeans,
    WECMdd,
)
from dempster.cluster import number_of_clusters as number_of_clusters_module
from dempster.cluster._separation import is_separated
from dempster.cluster.number_of_clusters import find_isolated
from dempster.dissimilarity.sources import AttributeSource
from dempster.model_selection import number_of_clusters
from dempster.optimize.blocks import block_map
from dempster.persistence import load, save

NOISE = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "correlated": lambda rng, shape: (
        rng.normal(size=shape) @ rng.normal(size=(shape[1],) * 2)
    ),
    "uniform": lambda rng, shape: rng.uniform(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "t": lambda rng, shape: (
        rng.normal(size=shape) / np.sqrt(rng.chisquare(3, (shape[0], 1)) / 3)
    ),
    "integers": lambda rng, shape: rng.integers(0, 6, shape).astype(float),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_is_one_cluster(name):
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = NOISE[name](rng, [(300, 4), (200, 2), (400, 8)][seed])
        found.append(is_separated(X, np.random.RandomState(seed)))
    assert sum(found) <= 1


@pytest.mark.parametrize("n_features", [2, 5, 30])
def test_two_clusters_are_separated(n_features):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shift = rng.normal(size=n_features)
        shift *= 6 / np.linalg.norm(shift)
        X = rng.normal(size=(150, n_features)) + np.outer(
            np.arange(150) % 3 == 0, shift
        )
        assert is_separated(X, np.random.RandomState(seed))


def test_front_door_answers_one_for_noise():
    X = np.random.default_rng(1).normal(size=(300, 4))
    model = CredalClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert "do not form several clusters" in model.reason()
    assert len(model.credal_partition_.outliers) <= 9


@pytest.mark.parametrize(
    "method",
    [
        BootClus,
        BPEC,
        CCM,
        CECM,
        CredalClustering,
        ECM,
        ECMdd,
        EGMM,
        EVCLUS,
        FuzzyCMeans,
        MECM,
        NNEVCLUS,
        NoiseClustering,
        PossibilisticCMeans,
        RECM,
        RoughKMeans,
        WECMdd,
        WMVEC,
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_summary_says_that_clusters_are_not_separated(method):
    text = "clusters are not separated"
    noise = np.random.default_rng(2).uniform(size=(100, 2))
    summary = method(3, random_state=0).fit(noise).credal_partition_.summary()
    assert text in str(summary)
    assert text in summary._repr_html_()
    blobs = make_blobs(100, centers=3, cluster_std=0.4, random_state=0)[0]
    summary = method(3, random_state=0).fit(blobs).credal_partition_.summary()
    assert text not in str(summary)


@pytest.mark.parametrize("n_features", [3, 8])
def test_random_categories_are_not_separated(n_features):
    text = "clusters are not separated"
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (120, n_features))
    model = CatECM(3, random_state=0).fit(X)
    assert text in str(model.credal_partition_.summary())
    assert CatECM("auto", random_state=0).fit(X).n_clusters_ == 1
    is_noise = rng.random(X.shape) < 0.3
    X = np.where(is_noise, X, rng.integers(0, 2, (120, 1)))
    model = CatECM(2, random_state=0).fit(X)
    assert text not in str(model.credal_partition_.summary())


def test_separation_is_examined_once_when_it_is_first_read(monkeypatch, tmp_path):
    calls = []

    def count(X, rng):
        calls.append(len(X))
        return False

    monkeypatch.setattr(number_of_clusters_module, "is_separated", count)
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = ECM(3, random_state=0).fit(X, sample_weight=np.arange(60) % 2)
    part = model.credal_partition_[:10]
    assert calls == []
    assert not model.credal_partition_.summary().is_separated
    assert not part.summary().is_separated
    assert not model.credal_partition_.summary().is_separated
    assert calls == [30]
    saved = ECM(3, random_state=0).fit(X)
    save(saved, tmp_path / "model.zip")
    for other in (load(tmp_path / "model.zip"), pickle.loads(pickle.dumps(saved))):
        assert not other.credal_partition_.summary().is_separated
    assert len(calls) == 2


def test_connected_clusters_are_separated():
    rings = make_circles(300, noise=0.05, factor=0.4, random_state=1)[0]
    model = CredalClustering(2, random_state=0).fit(rings)
    assert model.selected_ == "connected"
    assert model.credal_partition_.summary().is_separated


@pytest.mark.parametrize("n_different", [2, 3, 5])
@pytest.mark.parametrize(
    "method", [ECM, EVCLUS, EGMM, RECM, FuzzyCMeans, CredalClustering]
)
def test_repeated_points_are_clusters(method, n_different):
    points = np.random.default_rng(n_different).normal(size=(n_different, 2)) * 9
    X = np.repeat(points, 20, axis=0)
    assert method("auto", random_state=0).fit(X).n_clusters_ == n_different


def test_repeated_categories_are_clusters():
    X = np.repeat([["a", "x"], ["b", "y"], ["c", "z"]], 30, axis=0)
    assert CatECM("auto", random_state=0).fit(X).n_clusters_ == 3


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_small_integers(seed):
    rng = np.random.default_rng([2, seed])
    shape = [(60, 3), (50, 4), (60, 2)][seed % 3]
    X = rng.integers(0, 2 + seed % 2, shape).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        model = CredalClustering(random_state=0).fit(X)
    is_full = len(np.unique(model.labels_)) == model.n_clusters_
    assert is_full or "contain no object" in str(caught[-1].message)


def test_equal_rows_are_not_counted_twice():
    """Computed distances of equal rows are up to 1.5e-8."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (101, 6)).astype(float) * 1e3 + 1 / 3
    n_different = len(np.unique(X, axis=0))
    numbers = number_of_clusters(X, random_state=0)
    assert numbers.n_clusters.max() <= n_different // 3


def test_equal_rows_are_not_isolated():
    """The computed distances of equal rows differ from zero, and the fence must be larger."""
    points = np.random.default_rng(20).normal(size=(20, 7)) * 1e3 + 1 / 3
    source = AttributeSource(np.repeat(points, 10, axis=0))
    with block_map(1) as apply:
        assert not find_isolated(source, None, 0, apply).any()


@pytest.mark.parametrize("distance", [8, 50, 1000])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_isolated_objects_do_not_change_the_clusters(load, distance):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    n = len(X)
    clean = CredalClustering(3, random_state=0).fit(X)
    directions = np.random.default_rng(1).choice([-1, 1], size=(3, X.shape[1]))
    model = CredalClustering(3, random_state=0).fit(
        np.vstack([X, distance * directions])
    )
    before = adjusted_rand_score(y, clean.labels_)
    after = adjusted_rand_score(y, model.labels_[:n])
    assert after >= before - 0.02
    assert set(range(n, n + 3)) <= set(model.credal_partition_.outliers)


def test_weights_are_repetitions_with_automatic_number():
    X = StandardScaler().fit_transform(load_wine().data)[:, :6]
    weights = np.random.default_rng(321).integers(1, 4, len(X))
    weighted = CredalClustering(random_state=3).fit(X, sample_weight=weights)
    repeated = CredalClustering(random_state=3).fit(np.repeat(X, weights, axis=0))
    assert weighted.n_clusters_ == repeated.n_clusters_
    np.testing.assert_array_equal(
        np.repeat(weighted.labels_, weights), repeated.labels_
    )


@pytest.mark.parametrize("n_clusters", [5, 8])
def test_requested_clusters_have_objects(n_clusters):
    for data in (load_iris().data, StandardScaler().fit_transform(load_wine().data)):
        model = CredalClustering(n_clusters, random_state=0).fit(data)
        assert len(np.unique(model.labels_)) == n_clusters


def test_warning_about_empty_clusters():
    X = make_blobs(500, centers=8, n_features=4, cluster_std=2.5, random_state=4242)[0]
    with pytest.warns(UserWarning, match="clusters contain no object"):
        EVCLUS(12, random_state=101).fit(X)
