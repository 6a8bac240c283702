"""Must-link and cannot-link constraints in EVCLUS (CEVCLUS, k-CEVCLUS)."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import (
    adjusted_rand_score,
    confusion_matrix,
    pairwise_distances,
)

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
    program = evclus(3, xi=0.02, convention="program", tol=1e-9)
    program.fit(X, constraints=known)
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


# ---- constraints that revise plausibilities ------------------------------------------------------


def standardized(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def random_answers(y, n, seed):
    """Return pairs of distinct objects and the true answers."""
    pairs = np.random.default_rng(seed).permutation(len(y))[: 2 * n].reshape(-1, 2)
    return Constraints.from_pairs(pairs, y), np.setdiff1d(np.arange(len(y)), pairs)


def test_separated_object_goes_to_plausible_cluster():
    X, y = standardized(load_iris)
    free = evclus(3).fit(X)
    plausible = np.argsort(-np.asarray(free.credal_partition_.contour), axis=1)[:, :2]
    rng = np.random.default_rng(0)
    n_tried = 0
    while n_tried < 6:
        i, j = rng.integers(0, len(y), 2)
        if y[i] == y[j] or free.labels_[i] != free.labels_[j]:
            continue
        n_tried += 1
        bound = evclus(3).fit(X, constraints=Constraints(cannot_link=[(i, j)]))
        assert bound.labels_[i] != bound.labels_[j]
        match = confusion_matrix(bound.labels_, free.labels_).argmax(axis=1)
        for k in (i, j):
            assert match[bound.labels_[k]] in plausible[k]


@pytest.mark.parametrize(
    ("load", "n", "least"), [(load_iris, 20, 0.1), (load_wine, 10, -1e-9)]
)
def test_answers_inform_other_objects(load, n, least):
    X, y = standardized(load)
    free = evclus(3).fit(X)
    gains = []
    for seed in range(4):
        known, others = random_answers(y, n, seed)
        bound = evclus(3).fit(X, constraints=known)
        assert len(known.violations(bound.credal_partition_)) == 0
        gains.append(
            adjusted_rand_score(y[others], bound.labels_[others])
            - adjusted_rand_score(y[others], free.labels_[others])
        )
    assert np.mean(gains) >= least


def test_answers_that_hold_do_not_move_other_objects():
    X, y = standardized(load_wine)
    free = evclus(3).fit(X)
    known, others = random_answers(y, 20, 1)
    holds = ~known.violations(free.credal_partition_).violated
    pairs = np.concatenate([known.must_link, known.cannot_link])[holds]
    bound = evclus(3).fit(X, constraints=Constraints.from_pairs(pairs, y))
    np.testing.assert_array_equal(masses_of(bound)[others], masses_of(free)[others])
    np.testing.assert_array_equal(bound.labels_, free.labels_)


def test_wrong_answers_do_not_harm_other_objects():
    X, y = standardized(load_iris)
    free = evclus(3).fit(X)
    known, others = random_answers(y, 20, 2)
    wrong = Constraints(
        np.concatenate([known.must_link[1:], known.cannot_link[:1]]),
        np.concatenate([known.cannot_link[1:], known.must_link[:1]]),
    )
    bound = evclus(3).fit(X, constraints=wrong)
    score = adjusted_rand_score(y[others], bound.labels_[others])
    assert score >= adjusted_rand_score(y[others], free.labels_[others]) - 0.005


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_learned_metric(dtype):
    X, y = standardized(load_iris)
    X = X.astype(dtype)
    known, _ = random_answers(y, 20, 0)
    model = evclus(3).fit(X, constraints=known)
    assert "mahalanobis" in model.credal_partition_.metadata["choices"]["metric"]
    masses = masses_of(model)
    np.testing.assert_array_equal(model.predict_mass(X).masses, masses)
    near = model.predict_mass(X + dtype(0.001)).labels
    assert adjusted_rand_score(near, model.labels_) > 0.9


def test_must_links_show_which_direction_matters():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = np.column_stack([rng.normal(3 * y, 0.5), rng.uniform(-4, 4, 120)])
    known, others = random_answers(y, 20, 0)
    free = evclus(2).fit(X)
    assert adjusted_rand_score(y[others], free.labels_[others]) < 0.5
    bound = evclus(2).fit(X, constraints=known)
    assert adjusted_rand_score(y[others], bound.labels_[others]) > 0.9


def test_penalty_of_few_constraints_does_not_depend_on_their_number():
    X, y = iris()
    known = Constraints.from_labels(y, 3, random_state=0)
    settings = {"focal_sets": "simple", "d0_quantile": 0.8, "tol": 1e-10}
    scaled = evclus(3, **settings).fit(X, constraints=known)
    program = evclus(3, convention="program", xi=0.5 * 3 / 150, **settings)
    program.fit(X, constraints=known)
    assert scaled.objective_ == pytest.approx(program.objective_, rel=1e-6)
