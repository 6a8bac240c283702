"""Sample weights in EVCLUS."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster.cluster import EVCLUS
from dempster.cluster.evclus._pairs import AllPairs, SomePairs
from dempster.constraints import Constraints
from dempster.dissimilarity.transform import scale_at, to_conflict
from tests.cluster.evclus.helpers import blobs, evclus, masses_of, sampled

X, Y = blobs(cluster_std=1.8)
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)


def test_stress_and_scale_with_weights():
    model = evclus(3, focal_sets="pairs", d0_quantile=0.7).fit(X, sample_weight=WEIGHTS)
    i, j = np.triu_indices(len(X), 1)
    d = pairwise_distances(X)[i, j]
    w = WEIGHTS[i] * WEIGHTS[j]
    order = np.argsort(d)
    share = np.cumsum(w[order]) / w.sum()
    assert model.d0_ == pytest.approx(d[order][np.searchsorted(share, 0.7)], rel=1e-12)
    delta = to_conflict(d, model.d0_)
    kappa = (masses_of(model) @ model.focal_sets_.conflict @ masses_of(model).T)[i, j]
    squares = np.sum(w * (kappa - delta) ** 2)
    assert model.stress_ == pytest.approx(squares / np.sum(w * delta**2), rel=1e-9)
    assert model.loss_ == pytest.approx(squares / np.sum(w), rel=1e-9)
    assert model.objective_ == pytest.approx(model.stress_, rel=1e-9)
    assert np.diff(model.history_).max() <= 1e-12


def test_weighted_quantiles():
    values = np.array([3.0, 1.0, 2.0, 4.0])
    for q in (0.1, 0.3, 0.5, 0.8, 1.0):
        weighted = scale_at(values, q, np.array([1.0, 3.0, 2.0, 2.0]))
        assert weighted == np.quantile(
            [3.0, 1, 1, 1, 2, 2, 4, 4], q, method="inverted_cdf"
        )
    assert scale_at(values, 0.5, np.full(4, 0.1)) == 2


@sampled
def test_invariant_to_scale_of_weights(sampling):
    plain = evclus(3, sampling).fit(X)
    ones = evclus(3, sampling).fit(X, sample_weight=np.full(len(X), 0.3))
    np.testing.assert_array_equal(masses_of(plain), masses_of(ones))
    one, large = (
        evclus(3, sampling).fit(X, sample_weight=scale * WEIGHTS)
        for scale in (1, 2.0**200)
    )
    np.testing.assert_array_equal(masses_of(one), masses_of(large))


@sampled
def test_weight_zero(sampling):
    counted = WEIGHTS > 0
    model = evclus(3, sampling).fit(X, sample_weight=counted.astype(float))
    without = evclus(3, sampling).fit(X[counted])
    assert model.objective_ == without.objective_
    assert model.stress_ == without.stress_
    np.testing.assert_array_equal(masses_of(model), without.predict_mass(X).masses)
    assert counted[model.landmark_indices_].all()


@sampled
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed", "gower"])
def test_predict_agrees_with_weighted_fit(sampling, metric):
    if metric == "precomputed":
        data = pairwise_distances(X)
    else:
        data = X
    model = evclus(3, sampling, metric=metric).fit(data, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.predict_mass(data).masses, masses_of(model))
    assert (WEIGHTS[model.landmark_indices_] > 0).all()


def test_landmarks_follow_weights():
    heavy = np.where(np.arange(1200) < 600, 1.0, 3.0)
    data = np.random.default_rng(1).normal(size=(1200, 2))
    model = EVCLUS(2, n_landmarks=100, n_init=1, random_state=0).fit(
        data, sample_weight=heavy
    )
    assert model.sampling_ == "landmarks"
    assert len(model.landmark_indices_) == 100
    assert 70 <= (model.landmark_indices_ >= 600).sum() <= 80
    one = np.where(np.arange(1200) == 7, 400.0, 1.0)  # a quarter of the total weight
    model = EVCLUS(2, n_landmarks=100, n_init=1, random_state=0).fit(
        data, sample_weight=one
    )
    assert 7 in model.landmark_indices_
    # It is drawn once, with a larger weight.
    assert 74 <= len(model.landmark_indices_) <= 77


def test_weights_of_references():
    """The masses of a new object minimise the weighted error."""
    model = evclus(3, focal_sets="pairs", d0_quantile=0.8).fit(X, sample_weight=WEIGHTS)
    new = X[:20] + 0.3
    found = model.predict_mass(new).masses
    counted = WEIGHTS > 0
    delta = to_conflict(pairwise_distances(new, X[counted]), model.d0_)
    image = masses_of(model)[counted] @ model.focal_sets_.conflict

    def error(masses):
        return (WEIGHTS[counted] * (masses @ image.T - delta) ** 2).sum(axis=1)

    rng = np.random.default_rng(0)
    for _ in range(50):
        other = rng.dirichlet(np.ones(found.shape[1]), size=20)
        assert (error(found) <= error(0.99 * found + 0.01 * other) + 1e-9).all()


def test_weights_with_sparse_matrices_and_constraints():
    D = pairwise_distances(X)
    i, j = np.nonzero(np.triu(np.random.default_rng(5).random(D.shape) < 0.4, 1))
    some = sparse.csr_matrix((D[i, j], (i, j)), D.shape)
    model = EVCLUS(3, metric="precomputed", random_state=0).fit(
        some, sample_weight=WEIGHTS
    )
    assert adjusted_rand_score(Y, model.labels_) > 0.7
    assert model.objective_ == pytest.approx(model.stress_, rel=1e-9)
    known = Constraints.from_labels(Y, 40, random_state=1)
    for sampling in ("all", "landmarks"):
        free, bound = (
            evclus(3, sampling)
            .fit(X, sample_weight=WEIGHTS, constraints=given)
            .credal_partition_
            for given in (None, known)
        )
        assert (
            known.violations(bound).degree.mean()
            < 0.5 * known.violations(free).degree.mean()
        )
    with pytest.raises(ValueError, match="sample_weight 0"):
        model.fit(some, sample_weight=WEIGHTS, constraints=known)


def test_too_few_positive_weights():
    with pytest.raises(ValueError, match=r"\bsample_weight\b"):
        EVCLUS(3).fit(X, sample_weight=np.arange(len(X)) < 2)


def test_squares_of_many_rows():
    """Compare all pairs, in blocks of rows, with a list of pairs."""
    rng = np.random.default_rng(0)
    family = FocalSets.pairs(3)
    masses = rng.dirichlet(np.ones(len(family)), size=1500)
    delta = to_conflict(pairwise_distances(rng.normal(size=(1500, 2))), 2.0)
    pairs = np.column_stack(np.triu_indices(1500, 1))
    listed = SomePairs(
        1500, pairs, np.ones(len(pairs)), delta[pairs[:, 0], pairs[:, 1]]
    )
    assert AllPairs(delta).squares(masses, family) == pytest.approx(
        listed.squares(masses, family), rel=1e-12
    )
