"""Selection of d0 from candidate scales."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster.cluster import EVCLUS
from dempster.cluster.evclus._pairs import WeightedPairs
from dempster.cluster.evclus._scale import (
    SCALES,
    Scale,
    ScaleTrial,
    likelihood_of_clusters,
)
from tests.cluster.evclus.helpers import blobs, evclus, masses_of, sampled


def scale_of(*likelihoods):
    return Scale(
        tuple(
            ScaleTrial(q, 10 * q, v) for q, v in zip(SCALES, likelihoods, strict=False)
        )
    )


def test_best_scale():
    assert scale_of(-3, -1, -2).best.quantile == SCALES[1]
    assert scale_of(-3, -1, -1, -1, -2).best.quantile == SCALES[2]
    assert scale_of(-1, -1).best.quantile == SCALES[1]
    assert scale_of(-1.0, -1.0 - 1e-12, -2).best.quantile == SCALES[1]
    # equal objects in each cluster
    assert scale_of(np.inf, np.inf, -1).best.quantile == SCALES[1]
    assert scale_of(np.inf, -1, -1).best.quantile == SCALES[0]


def test_reasons():
    words = scale_of(-3, -1, -2.5).reasons()
    assert f"{SCALES[1]:g}" in words
    assert f"{SCALES[0]:g} (-2.00)" in words
    assert f"{SCALES[2]:g} (-1.50)" in words
    everywhere = scale_of(np.inf, np.inf, -1).reasons()
    assert f"{SCALES[0]:g} (+0.00)" in everywhere
    assert "nan" not in everywhere


def naive_likelihood(D, labels, dimension, weights):
    """Return the classification likelihood of spherical Gaussians."""
    clusters = np.unique(labels)
    total = weights.sum()
    part = []
    within = []
    for k in clusters:
        members = np.flatnonzero(labels == k)
        w = weights[members].sum()
        part.append(w / total)
        within.append(
            sum(
                weights[i] * weights[j] * D[i, j] ** 2 for i in members for j in members
            )
            / (2 * w**2)
        )
    mean = np.dot(part, within)
    return sum(
        p * (np.log(p) - dimension / 2 * np.log(v + 0.02 * mean))
        for p, v in zip(part, within, strict=True)
    )


def test_likelihood_against_loops():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    labels = rng.integers(0, 4, 30)
    weights = rng.integers(1, 4, 30).astype(float)
    D = pairwise_distances(X)
    assert likelihood_of_clusters(D, labels, 3) == pytest.approx(
        naive_likelihood(D, labels, 3, np.ones(30))
    )
    found = likelihood_of_clusters(D, labels, 2.5, weights)
    assert found == pytest.approx(naive_likelihood(D, labels, 2.5, weights))
    i, j = np.triu_indices(30, 1)
    pairs = WeightedPairs(i, j, D[i, j], weights[i] * weights[j])
    assert likelihood_of_clusters(pairs, labels, 2.5, weights) == pytest.approx(found)
    repeated = np.repeat(np.arange(30), weights.astype(int))
    again = likelihood_of_clusters(D[np.ix_(repeated, repeated)], labels[repeated], 2.5)
    assert again == pytest.approx(found)
    assert likelihood_of_clusters(np.zeros((4, 4)), np.arange(4), 1) == np.inf


@sampled
def test_trials(sampling):
    X, _ = blobs(cluster_std=1.5)
    model = evclus(3, sampling).fit(X)
    trials = model.scale_.trials
    assert [trial.quantile for trial in trials] == list(SCALES)
    assert np.all(np.diff([trial.d0 for trial in trials]) > 0)
    assert model.d0_ == model.scale_.best.d0
    assert model.scale_.best.log_likelihood == max(
        trial.log_likelihood for trial in trials
    )
    for settings in ({"d0": 2.0}, {"d0_quantile": 0.5}):
        assert evclus(3, sampling, **settings).fit(X).scale_ is None


@sampled
def test_invariant_to_rows_units_and_repetitions(sampling):
    X, _ = blobs(cluster_std=1.5)
    one = evclus(3, sampling).fit(X).scale_
    kilo = evclus(3, sampling).fit(1024 * X).scale_
    turned = evclus(3, sampling).fit(X[::-1]).scale_
    thrice = evclus(3, sampling).fit(np.tile(X, (3, 1))).scale_
    for trial, large, other, repeated in zip(
        one.trials, kilo.trials, turned.trials, thrice.trials, strict=True
    ):
        assert large.d0 == 1024 * trial.d0
        assert other.d0 == pytest.approx(trial.d0)
        assert repeated.d0 == pytest.approx(trial.d0)
        assert repeated.log_likelihood == pytest.approx(trial.log_likelihood)
    assert len({scale.best.quantile for scale in (one, kilo, turned, thrice)}) == 1


def test_scales_of_sparse_matrices_and_equal_objects():
    X, _ = blobs()
    D = pairwise_distances(X)
    D[np.random.default_rng(0).random(D.shape) < 0.6] = 0
    some = sparse.csr_matrix(np.maximum(D, D.T))
    model = EVCLUS(3, metric="precomputed", n_init=2, random_state=0).fit(some)
    assert [trial.quantile for trial in model.scale_.trials] == list(SCALES)
    places = EVCLUS(2, random_state=0).fit(np.repeat([[0.0], [1.0]], 5, axis=0))
    assert len(set(places.labels_)) == 2
    assert np.isfinite(masses_of(places)).all()
    # Quantiles of zero are no candidates.
    repeated_rows = np.vstack([np.zeros((30, 2)), np.eye(2)])
    tried = EVCLUS(2, metric="precomputed", random_state=0).fit(
        pairwise_distances(repeated_rows)
    )
    assert tried.d0_ > 0


@pytest.mark.parametrize("size", [600, 1600])
def test_small_distant_cluster(size):
    """At some scales, the objective prefers two halves of the large cluster."""
    for seed in (11, 12, 13):
        X, y = make_blobs(
            [size, size // 80], centers=[[0, 0], [9, 9]], random_state=seed
        )
        assert adjusted_rand_score(y, EVCLUS(2, random_state=0).fit(X).labels_) > 0.9


def test_outliers_are_no_clusters():
    y = np.repeat(range(4), (50, 25, 30, 20))
    centers = np.array([[0, 0], [5, 0], [9, 1], [3, 6]])
    for seed in range(20, 26):
        X = centers[y] + np.random.default_rng(seed).normal(size=(125, 2))
        plain = EVCLUS(4, random_state=0).fit(X).labels_
        X = np.concatenate([X, [[22.0, 18.0], [-12.0, 9.0], [-15.0, -12.0]]])
        labels = EVCLUS(4, random_state=0).fit(X).labels_[:125]
        assert adjusted_rand_score(plain, labels) > 0.85


def test_likely_clusters_are_kept_to_the_final_tolerance():
    X, y = make_blobs([2000, 200], centers=[[0, 0], [8, 0]], random_state=0)
    assert adjusted_rand_score(y, EVCLUS(2, random_state=0).fit(X).labels_) > 0.95
