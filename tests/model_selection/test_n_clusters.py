"""Nonspecificity against the number of clusters."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM
from dempster.model_selection import NClustersCurve, n_clusters_curve
from dempster.model_selection.n_clusters import _clone_for_candidates


def ring(n_clusters, n=30, spread=0.8, seed=0):
    """Return separated clusters on a circle."""
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters
    centers = 8 * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.repeat(centers, n, axis=0) + spread * np.random.default_rng(seed).normal(
        size=(n * n_clusters, 2)
    )


@pytest.mark.parametrize("n_clusters", [3, 4, 5])
def test_minimum_is_at_the_true_number(n_clusters):
    X = ring(n_clusters)
    curve = n_clusters_curve(ECM(n_init=3, random_state=0), X, range(2, 8))
    assert curve.best == n_clusters
    assert curve.n_clusters.tolist() == [2, 3, 4, 5, 6, 7]
    partition = curve.partitions[n_clusters - 2]
    assert partition.n_clusters == n_clusters
    assert (
        len(set(zip(partition.labels, np.repeat(range(n_clusters), 30), strict=True)))
        == n_clusters
    )
    assert curve.nonspecificity.min() >= 0
    assert curve.nonspecificity.max() <= 1
    assert (np.diff(curve.objective) < 0).all()


def test_result_does_not_depend_on_the_threads():
    X = pd.DataFrame(ring(3), index=[f"row {i}" for i in range(90)])
    model = ECM(n_init=2, random_state=7, n_jobs=2)
    alone = n_clusters_curve(model, X, [2, 3, 4], n_jobs=1)
    together = n_clusters_curve(model, X, [2, 3, 4], n_jobs=2)
    np.testing.assert_array_equal(alone.nonspecificity, together.nonspecificity)
    np.testing.assert_array_equal(alone.objective, together.objective)
    for a, b in zip(alone.partitions, together.partitions, strict=True):
        np.testing.assert_array_equal(a.masses, b.masses)
        assert list(b.index) == list(X.index)
    assert model.n_jobs == 2


def test_each_candidate_has_its_own_seed():
    X = ring(3, spread=4)
    model = ECM(n_init=1, init="random", random_state=3)
    few = n_clusters_curve(model, X, [4])
    many = n_clusters_curve(model, X, [5, 4, 2])
    np.testing.assert_array_equal(few.partitions[0].masses, many.partitions[1].masses)
    seeds = [one.random_state for one in _clone_for_candidates(model, [5, 4, 2])]
    assert len(set(seeds)) == 3
    [other] = _clone_for_candidates(ECM(n_init=1, random_state=4), [2])
    assert other.random_state not in seeds


def test_random_state_objects():
    X = ring(2)
    seeds = [
        _clone_for_candidates(ECM(random_state=np.random.RandomState(s)), [2])[
            0
        ].random_state
        for s in (0, 0, 1)
    ]
    assert seeds[0] == seeds[1] != seeds[2]
    n_clusters_curve(ECM(n_init=1), X, [2])


@pytest.mark.parametrize(
    ("given", "candidates", "used"),
    [
        ("auto", [2, 3], "pairs"),
        ("auto", [2, 6], "pairs"),
        ("auto", [2, 11], "simple"),
        ("simple", [2, 6], "simple"),
        ("full", [2, 5], "full"),
    ],
)
def test_kind_of_focal_sets(given, candidates, used):
    curve = n_clusters_curve(
        ECM(focal_sets=given, n_init=1, max_iter=5, tol=1, random_state=0),
        ring(3),
        candidates,
    )
    for c, partition in zip(candidates, curve.partitions, strict=True):
        assert partition.focal_sets == getattr(FocalSets, used)(c)


def test_estimator_is_not_changed():
    model = ECM(2, random_state=0, n_init=1)
    before = dict(model.get_params())
    n_clusters_curve(model, ring(2), [2, 3])
    assert model.get_params() == before
    assert not hasattr(model, "credal_partition_")


def test_fit_parameters_are_passed():
    X = ring(2)
    weight = np.where(np.arange(60) < 30, 1.0, 5.0)
    curve = n_clusters_curve(
        ECM(n_init=1, delta=5, random_state=0), X, [3], sample_weight=weight
    )
    plain = n_clusters_curve(ECM(n_init=1, delta=5, random_state=0), X, [3])
    assert curve.objective[0] > 1.5 * plain.objective[0]
    with pytest.raises(TypeError, match="colour"):
        n_clusters_curve(ECM(n_init=1), X, [2], colour="red")


class Precomputed(BaseEstimator):
    """Clusterer of dissimilarities without an objective."""

    def __init__(self, n_clusters=2, metric="precomputed"):
        self.n_clusters = n_clusters
        self.metric = metric

    def fit(self, X, y=None):
        assert X.shape[0] == X.shape[1]
        self.credal_partition_ = CredalPartition.from_hard(
            np.arange(len(X)) % self.n_clusters
        )
        return self


def test_other_clusterers():
    D = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    curve = n_clusters_curve(Precomputed(), D, [2, 3])
    assert np.isnan(curve.objective).all()
    assert curve.converged.all()
    assert curve.best == 2  # both are precise; the smaller number on ties


def test_table_and_text():
    curve = NClustersCurve(
        n_clusters=np.array([2, 3]),
        nonspecificity=np.array([0.2, 0.12345]),
        objective=np.array([5.0, 4.0]),
        converged=np.array([True, False]),
        partitions=[None, None],
    )
    table = curve.to_frame()
    assert table.index.name == "n_clusters"
    assert table.loc[3].to_dict() == {
        "nonspecificity": 0.12345,
        "objective": 4.0,
        "converged": False,
    }
    assert repr(curve) == "NClustersCurve(nonspecificity={2: 0.200, 3: 0.123}, best=3)"
    assert len(curve) == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_convergence():
    curve = n_clusters_curve(ECM(n_init=1, max_iter=1, random_state=0), ring(2), [2, 3])
    assert not curve.converged.any()


@pytest.mark.parametrize(
    ("candidates", "error", "words"),
    [
        (5, TypeError, "n_clusters must .* got 5"),
        (range(5, 2), ValueError, "n_clusters .* got range"),
        ([2, 2.5], TypeError, "n_clusters .* integers"),
        ([True, 2], TypeError, "n_clusters .* integers"),
        ([2, 3, 2], ValueError, "n_clusters"),
        (range(1, 4), ValueError, "n_clusters"),
        ([2, 61], ValueError, "n_clusters .* 60, got 61"),
    ],
)
def test_invalid_candidates(candidates, error, words):
    with pytest.raises(error, match=words):
        n_clusters_curve(ECM(n_init=1), ring(2), candidates)


def test_invalid_estimators():
    X = ring(2)
    with pytest.raises(ValueError, match="a name as focal_sets"):
        n_clusters_curve(ECM(focal_sets=FocalSets.full(2)), X, [2, 3])
    with pytest.raises(TypeError, match=r"\bestimator\b"):
        n_clusters_curve("ECM", X)
    with pytest.raises(TypeError, match="estimator .* KMeans"):
        n_clusters_curve(KMeans(n_init=1), X, [2])
    with pytest.raises(ValueError, match="random_state|seed|Seed"):
        n_clusters_curve(ECM(random_state=-1), X, [2])
