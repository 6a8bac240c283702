"""Must-link and cannot-link constraints in EVCLUS (CEVCLUS, k-CEVCLUS)."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster.cluster.evclus import _fitted_pairs
from dempster.constraints import Constraints
from tests.cluster.evclus.helpers import (
    SAMPLINGS,
    blobs,
    evclus,
    iris,
    masses_of,
    sampled,
)


@sampled
@pytest.mark.parametrize("kind", ["must_link", "cannot_link", "both"])
@pytest.mark.parametrize("focal_sets", ["simple", "pairs"])
def test_constraints_reduce_violations(sampling, kind, focal_sets):
    X, y = iris()
    known = Constraints.from_labels(y, 60, random_state=1)
    if kind != "both":
        known = Constraints(**{kind: getattr(known, kind)})
    model = evclus(3, sampling, focal_sets=focal_sets, d0_quantile=0.8)
    free = clone(model).fit(X)
    bound = model.fit(X, constraints=known)
    before = known.violations(free.credal_partition_)
    after = known.violations(bound.credal_partition_)
    assert len(before) > 0
    assert len(after) <= len(before) / 2
    assert after.degree.mean() < 0.5 * before.degree.mean()
    assert np.diff(bound.history_).max() <= 1e-12
    if kind == "both":
        assert (
            adjusted_rand_score(y, bound.labels_)
            > adjusted_rand_score(y, free.labels_) - 0.02
        )
    np.testing.assert_allclose(masses_of(bound).sum(axis=1), 1, atol=1e-9)


@sampled
def test_constraints_without_weight(sampling):
    X, y = iris()
    known = Constraints.from_labels(y, 20, random_state=1)
    free = evclus(3, sampling).fit(X)
    for constraints, xi in ((known, 0), (Constraints(), 0.5)):
        bound = evclus(3, sampling, xi=xi).fit(X, constraints=constraints)
        np.testing.assert_array_equal(masses_of(bound), masses_of(free))


def test_weight_of_constraints():
    X, y = iris()
    known = Constraints.from_labels(y, 60, random_state=1)
    degrees = [
        known.violations(
            evclus(3, xi=xi).fit(X, constraints=known).credal_partition_
        ).degree.mean()
        for xi in (0, 0.01, 0.05, 0.5)
    ]
    assert np.all(np.diff(degrees) < 0)
    program = evclus(3, xi=0.02, tol=1e-9).fit(X, constraints=known)
    paper = evclus(3, xi=0.08, convention="paper", tol=1e-9).fit(X, constraints=known)
    assert program.objective_ == pytest.approx(paper.objective_, rel=1e-6)


def test_predict_agrees_with_constrained_fit():
    X, y = blobs(cluster_std=2.5)
    known = Constraints.from_labels(y, 40, random_state=0)
    for sampling in SAMPLINGS:
        model = evclus(3, sampling).fit(X, constraints=known)
        np.testing.assert_array_equal(model.predict_mass(X).masses, masses_of(model))


@sampled
def test_constraints_separate_equal_objects(sampling):
    X, _ = blobs(100, centers=[[0, 0], [5, 0]])
    X[90] = X[10]
    model = evclus(2, sampling, xi=50).fit(
        X, constraints=Constraints(cannot_link=[(10, 90)])
    )
    assert model.labels_[10] != model.labels_[90]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
@pytest.mark.parametrize("kind", ["must_link", "cannot_link", "both"])
@pytest.mark.parametrize(
    "settings", [{}, {"focal_sets": "pairs", "d0_quantile": 0.8}], ids=["auto", "pairs"]
)
def test_more_constrained_objects_than_landmarks(monkeypatch, settings, kind, metric):
    monkeypatch.setattr(_fitted_pairs, "MAX_REFERENCES", 20)
    X, y = iris()
    known = Constraints.from_labels(y, 60, random_state=1)
    if kind != "both":
        known = Constraints(**{kind: getattr(known, kind)})
    if metric == "precomputed":
        data = pairwise_distances(X)
    else:
        data = X
    free = evclus(3, "landmarks", metric=metric, **settings).fit(data)
    bound = evclus(3, "landmarks", metric=metric, **settings).fit(
        data, constraints=known
    )
    constrained = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    assert len(np.setdiff1d(constrained, bound.landmark_indices_)) > 0
    before = known.violations(free.credal_partition_)
    after = known.violations(bound.credal_partition_)
    assert len(after) < len(before) or (settings == {} and len(before) == 0)
    assert after.degree.mean() < before.degree.mean()
    np.testing.assert_allclose(masses_of(bound).sum(axis=1), 1, atol=1e-9)
