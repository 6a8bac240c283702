import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster._errors import InvalidParameterError
from dempster.cluster import MECM
from dempster.datasets import load_butterfly


def cost(D, i, own, gamma, eta):
    """Return the cost of a set of medoids for object i."""
    near = D[i, own]
    if len(own) == 1:
        return near[0] ** 2
    gaps = sum(abs(a - b) for a, b in itertools.permutations(near, 2))
    apart = sum(D[a, b] for a, b in itertools.permutations(own, 2))
    rho = gaps / (eta * apart)
    return (gamma * np.mean(near**2) + rho * np.min(near**2)) / (1 + gamma)


def naive_objective(model, D, medoids=None, masses=None):
    if masses is None:
        masses = model.credal_partition_.masses
    if medoids is None:
        medoids = model.medoid_indices_
    total = 0.0
    for i in range(len(D)):
        for clusters, mass in zip(model.focal_sets_, masses[i], strict=True):
            if not clusters:
                total += model.delta_**2 * mass**model.beta
            elif mass > 0:
                own = np.array([medoids[k] for k in clusters])
                total += (
                    len(own) ** model.alpha
                    * mass**model.beta
                    * cost(D, i, own, model.gamma, model.eta)
                )
    return total


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full"]),
    st.sampled_from([1.3, 2.0, 3.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from([0.1, 0.5, 2.0]),
)
def test_objective_never_increases(seed, family, beta, alpha, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 3 * rng.integers(0, 3, (40, 1))
    D = pairwise_distances(X)
    model = MECM(
        3, metric="precomputed", focal_sets=family, beta=beta, alpha=alpha, gamma=gamma, eta=0.7,
        init=rng.choice(40, 3, replace=False),
        n_init=1, max_iter=20, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(D)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])
    assert model.objective_ == pytest.approx(naive_objective(model, D), rel=1e-7)
    assert len(set(model.medoid_indices_)) == 3


@pytest.mark.parametrize(
    "family",
    [FocalSets.pairs(3), pytest.param(FocalSets.full(4), marks=pytest.mark.long)],
)
def test_result_is_a_minimum(family):
    c = family.n_clusters
    X, _ = make_blobs(25, 2, centers=c, random_state=1)
    D = pairwise_distances(X)
    model = MECM(
        c, metric="precomputed", focal_sets=family, eta=0.8, tol=0, random_state=0
    ).fit(D)
    assert model.converged_
    best = naive_objective(model, D)
    for k in range(c):
        for other in set(range(25)) - set(model.medoid_indices_):
            medoids = model.medoid_indices_.copy()
            medoids[k] = other
            assert naive_objective(model, D, medoids=medoids) >= best - 1e-9
    rng = np.random.default_rng(0)
    for _ in range(10):
        masses = np.clip(
            model.credal_partition_.masses + 1e-3 * rng.normal(size=(25, len(family))),
            0,
            None,
        )
        masses /= masses.sum(axis=1, keepdims=True)
        assert naive_objective(model, D, masses=masses) >= best - 1e-9


def test_limited_candidates():
    X, _ = make_blobs(300, 2, centers=4, random_state=0)
    every = MECM(4, random_state=0).fit(X)
    some = MECM(4, n_candidates=30, random_state=0).fit(X)
    assert some.objective_ <= every.objective_ * 1.02
    assert np.all(np.diff(some.history_) <= 1e-9 * some.history_[:-1])


def test_butterfly_and_proteins(shared_data):
    model = MECM(2, delta=5, random_state=0).fit(load_butterfly().data)
    assert sorted(model.medoid_indices_.tolist()) == [2, 8]
    assert model.credal_partition_.ambiguous.tolist() == [5]
    D, y = shared_data("protein")
    assert (
        adjusted_rand_score(
            y, MECM(4, metric="precomputed", random_state=0).fit(D).labels_
        )
        > 0.5
    )


def test_medoids_are_never_equal():
    """Equal medoids would make their set cheap for all objects."""
    X = np.repeat([[0.0, 0], [1, 0], [0, 1], [5, 5]], 8, axis=0)
    model = MECM(3, focal_sets="full", init=[0, 8, 16]).fit(X)
    assert len(np.unique(X[model.medoid_indices_], axis=0)) == 3


@pytest.mark.parametrize("invalid", [{"gamma": -1}, {"eta": 0}])
def test_invalid_parameters(invalid):
    with pytest.raises(InvalidParameterError, match=next(iter(invalid))):
        MECM(2, **invalid).fit(np.random.default_rng(0).normal(size=(20, 2)))
