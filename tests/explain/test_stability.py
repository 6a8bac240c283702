"""Stability under resampling compared with loops."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster import CredalPartition
from dempster.cluster import CECM, ECM, EVCLUS, RECM
from dempster.constraints import Constraints
from dempster.explain import resamples, stability
from dempster.partition import credal_rand_index

pytestmark = pytest.mark.filterwarnings("ignore")
X, y = make_blobs(60, 2, centers=[[0, 0], [3, 0], [0, 12]], random_state=0)


class Recorder(ClusterMixin, BaseEstimator):
    """Split the first column at a random threshold, and record the arguments of fit."""

    seen: list = []

    def __init__(self, random_state=None, init=None):
        self.random_state = random_state
        self.init = init

    def fit(
        self,
        X,
        y=None,
        sample_weight=None,
        constraints=None,
        dissimilarities=None,
        depth=3,
    ):
        Recorder.seen.append(
            (
                np.asarray(X),
                y,
                sample_weight,
                constraints,
                dissimilarities,
                depth,
                self.init,
            )
        )
        where = 1.2 * np.random.RandomState(self.random_state).rand() + 0.9
        flip = np.random.RandomState(self.random_state).rand() < 0.5
        self.labels_ = ((np.asarray(X)[:, 0] > where) ^ flip).astype(int)
        return self


def test_counts_agree_with_loops(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    points = np.random.default_rng(0).uniform(0, 3, size=(40, 1))
    result = stability(Recorder(random_state=0), points, 6, random_state=3, n_jobs=1)
    fits = Recorder.seen[1:]
    assert len(fits) == 6
    place = {value: i for i, value in enumerate(points[:, 0])}
    reference = result.partition.labels
    kept = np.zeros(40)
    drawn = np.zeros(40)
    seeds = [np.random.default_rng(np.random.SeedSequence([3, b])) for b in range(6)]
    for b, (sample, *_) in enumerate(fits):
        rows = np.array([place[value] for value in sample[:, 0]])
        assert len(rows) == len(set(rows)) == 32
        np.testing.assert_array_equal(
            rows, np.sort(seeds[b].choice(40, 32, replace=False))
        )
        labels = (
            Recorder(random_state=int(seeds[b].integers(2**31 - 1))).fit(sample).labels_
        )
        best = max((labels, 1 - labels), key=lambda one: (one == reference[rows]).sum())
        kept[rows] += best == reference[rows]
        drawn[rows] += 1
        for k in range(2):
            own = set(np.flatnonzero(reference[rows] == k))
            theirs = [set(np.flatnonzero(labels == m)) for m in range(2)]
            assert result.jaccard[b, k] == pytest.approx(
                max(len(own & t) / len(own | t) for t in theirs)
            )
        expected = credal_rand_index(labels, reference[rows])
        assert result.rand[b] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_array_equal(result.drawn, drawn)
    np.testing.assert_allclose(result.objects, kept / drawn)
    assert 0 < len(result.changing) < 40
    assert result.objects[result.changing[0]] == result.objects.min()


def test_certain_objects_are_stable():
    result = stability(ECM(3, random_state=0), X, 8, random_state=0)
    assert result.clusters[result.partition.labels[y == 2][0]] == 1
    assert result.objects[y == 2].min() == 1
    assert result.objects[result.partition.ambiguous].mean() < result.mean
    assert 0.8 < result.rand.mean() <= 1
    perfect = stability(ECM(2, random_state=0), X[y != 1], 4, random_state=0)
    assert perfect.mean == 1


def test_threads():
    one, two = (
        stability(EVCLUS(3), X, 4, random_state=5, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    for name in ("objects", "jaccard", "rand"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_fit_params_are_sampled(monkeypatch):
    monkeypatch.setattr(Recorder, "seen", [])
    points = np.arange(20.0)[:, None]
    D = np.abs(points - points.T)
    init = CredalPartition.from_hard(np.arange(20) % 2)
    constraints = Constraints([(i, i + 1) for i in range(19)])
    result = stability(
        Recorder(init=init),
        points,
        3,
        random_state=0,
        sample_weight=np.arange(20.0),
        y=list(range(20)),
        constraints=constraints,
        dissimilarities=D,
        depth=7,
    )
    for sample, labels, weights, constraints, part, depth, start in Recorder.seen[1:]:
        rows = sample[:, 0].astype(int)
        assert len(rows) == 16
        np.testing.assert_array_equal(weights, rows)
        np.testing.assert_array_equal(labels, rows)
        np.testing.assert_array_equal(part, D[np.ix_(rows, rows)])
        np.testing.assert_array_equal(start.labels, rows % 2)
        assert depth == 7
        assert constraints.n_objects == 16
        for i, j in constraints.must_link:
            assert abs(rows[i] - rows[j]) == 1
    assert (result.drawn <= 3).all()


def test_constraints_and_weights():
    constraints = Constraints.from_labels(y, 20, random_state=0)
    assert (
        stability(CECM(3, n_init=1), X, 3, random_state=0, constraints=constraints).mean
        > 0.8
    )
    assert stability(ECM(3), X, 3, random_state=0, sample_weight=np.ones(60)).mean > 0.8


def test_dissimilarities():
    D = np.linalg.norm(X[:, None] - X, axis=2)
    plain = stability(EVCLUS(3, metric="precomputed"), D, 3, random_state=0)
    named = stability(
        EVCLUS(3, metric="precomputed"), pd.DataFrame(D), 3, random_state=0
    )
    np.testing.assert_array_equal(plain.objects, named.objects)
    assert stability(RECM(3), D**2, 3, random_state=0).mean > 0.8
    some = sparse.csr_matrix(D * (np.add.outer(np.arange(60), np.arange(60)) % 2))
    assert (
        len(stability(EVCLUS(2, metric="precomputed"), some, 2, random_state=0)) == 60
    )


def test_tables_pipelines_and_other_methods():
    table = pd.DataFrame(X, index=[f"o{i}" for i in range(60)], columns=["a", "b"])
    result = stability(ECM(3), table, 3, random_state=0)
    assert result.to_frame().index[0] == "o0"
    assert list(result.to_frame().columns) == ["set", "doubt", "drawn", "stability"]
    assert len(stability(KMeans(3, n_init=1), pl.DataFrame(X), 2, random_state=0)) == 60
    assert (
        len(
            stability(
                make_pipeline(StandardScaler(), EVCLUS(3)),
                X.tolist(),
                2,
                random_state=0,
            )
        )
        == 60
    )
    noise = stability(DBSCAN(1.0), X, 3, random_state=0)
    assert noise.jaccard.shape == (3, noise.partition.n_clusters)
    same, again = (
        stability(make_pipeline(StandardScaler(), ECM(3)), X, 2, random_state=0)
        for _ in range(2)
    )
    np.testing.assert_array_equal(same.objects, again.objects)


def test_all_objects_and_sampled_pairs(monkeypatch):
    whole = stability(ECM(3), X, 3, fraction=1, random_state=0)
    assert (whole.drawn == 3).all()
    monkeypatch.setattr(resamples, "MAX_PAIRS", 500)
    sampled = stability(ECM(3), X, 3, fraction=1, random_state=0)
    np.testing.assert_array_equal(sampled.objects, whole.objects)
    assert not np.array_equal(sampled.rand, whole.rand)
    np.testing.assert_allclose(sampled.rand, whole.rand, atol=0.05)


def test_text():
    result = stability(ECM(3, random_state=0), X, 5, random_state=0)
    text = result.to_text()
    assert text == str(result)
    assert "5 resamples" in text
    assert text == repr(result)
    assert result.per_cluster()["recovered"].max() == 5
    assert len(result) == 60


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("n_resamples", 1),
            ("fraction", 0),
            ("fraction", 1.5),
            ("random_state", "a"),
        ),
        *(("estimator", "ECM"), ("estimator", StandardScaler()), ("X", X[:1])),
        ("X", np.where(np.arange(60)[:, None] == 5, np.nan, X)),
    ],
)
def test_invalid_arguments(name, value):
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        stability(**{"estimator": ECM(3), "X": X, "n_resamples": 2, name: value})


def test_error_names_the_resample():
    with pytest.raises(ValueError, match="n_clusters") as caught:
        stability(KMeans(50), X, 2, fraction=0.5, random_state=0, n_jobs=1)
    assert caught.value.__notes__ == ["in resample 0: 30 of 60 objects"]


def test_objects_that_only_convert_to_arrays():
    X = make_blobs(40, centers=2, random_state=0)[0]

    class Convertible:
        def __array__(self, dtype=None, copy=None):
            return X

    method = ECM(2, random_state=0)
    found = stability(method, Convertible(), 3, random_state=0)
    expected = stability(method, X, 3, random_state=0)
    np.testing.assert_array_equal(found.clusters, expected.clusters)
