"""The law of doubt: probabilities, intervals, ambiguous objects and outliers."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import softmax
from scipy.stats import t as student
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons

from dempster import CredalPartition, FocalSets
from dempster.dissimilarity.sources import AttributeSource, MatrixSource
from dempster.optimize.blocks import block_map
from dempster.persistence import load, save
from dempster.posterior import PosteriorModel
from dempster.posterior.comparison import compare
from dempster.posterior.folds import draw_folds
from dempster.posterior.masses import to_masses


def two_clusters(d, apart, n, seed):
    """Return rows of two normal clusters, the k-means labels, and the probabilities."""
    rng = np.random.default_rng([d, seed])
    X = rng.normal(size=(n, d))
    X[:, 0] += apart * rng.integers(0, 2, n)
    right = 1 / (1 + np.exp(-apart * (X[:, 0] - apart / 2)))
    labels = KMeans(2, n_init=3, random_state=0).fit_predict(X)
    if np.corrcoef(labels, right)[0, 1] < 0:
        labels = 1 - labels
    return X, labels, np.column_stack([1 - right, right])


def fit(X, labels, weights=None, metric="euclidean"):
    source = MatrixSource(X) if metric == "precomputed" else AttributeSource(X, metric)
    with block_map(1) as apply:
        model = PosteriorModel.fit(source, labels, weights, random_state=0, apply=apply)
        masses = model.training_masses(X, apply)
    return model, CredalPartition(masses, model.family)


def predict(model, X):
    with block_map(1) as apply:
        return CredalPartition(model.masses(X, apply), model.family)


# ---- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 60, 200])
def test_ambiguous_objects_lie_in_the_overlap_in_any_dimension(d):
    shares = []
    for seed in range(3):
        X, labels, P = two_clusters(d, 3, 600, seed)
        _, partition = fit(X, labels)
        shares.append(len(partition.ambiguous) / 600)
    assert 0.14 < np.mean(shares) < 0.27  # true share .21
    X, labels, P = two_clusters(d, 6, 600, 0)
    model, partition = fit(X, labels)
    assert len(partition.ambiguous) <= 0.02 * 600
    assert np.abs(model.probabilities(X, training=True) - P).mean() < 0.01


@pytest.mark.parametrize(("d", "largest"), [(2, 0.035), (20, 0.05), (60, 0.06)])
def test_probabilities_are_near_the_true_ones(d, largest):
    errors = []
    held = []
    for seed in range(3):
        X, labels, P = two_clusters(d, 3.2, 600, seed)
        _, partition = fit(X, labels)
        errors.append(np.abs(partition.pignistic() - P).mean())
        rows = np.arange(600)
        best = P.argmax(axis=1)
        low = partition.singleton_belief[rows, best]
        high = partition.contour[rows, best]
        true = P[rows, best]
        held.append(np.mean((low <= true + 1e-9) & (true <= high + 1e-9)))
    assert np.mean(errors) < largest
    assert np.mean(held) > 0.75


@pytest.mark.parametrize(("n_clusters", "least"), [(2, 0.97), (3, 0.97), (17, 0.91)])
def test_covariances_that_differ_in_many_dimensions(n_clusters, least):
    """With 17 clusters, there are as many discriminant axes as attributes."""
    rng = np.random.default_rng(5)
    d = 16
    y = np.arange(120 * n_clusters) % n_clusters
    roots = np.eye(d) + 0.9 * rng.normal(size=(n_clusters, d, d)) / np.sqrt(d)
    X = np.einsum("ij,ijk->ik", rng.normal(size=(len(y), d)), roots[y])
    X += 0.8 * rng.normal(size=(n_clusters, d))[y]
    labels = np.where(rng.random(len(y)) < 0.15, rng.integers(0, n_clusters, len(y)), y)
    _, partition = fit(X, labels)
    assert np.mean(partition.labels == y) > least


def test_clusters_of_equal_covariance_share_it():
    """In ten dimensions, three own covariances would have 165 parameters."""
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.arange(600) % 3
        centers = 2.1 * np.eye(3, 10)
        X = rng.normal(size=(600, 10)) + centers[y]
        P = softmax(X @ centers.T, axis=1)
        model, _ = fit(X, P.argmax(axis=1))
        errors.append(np.abs(model.probabilities(X, training=True) - P).mean())
    assert np.mean(errors) < 0.046


def test_tails_are_estimated():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 800)
    X = rng.standard_t(4, size=(800, 2))
    X[:, 0] += 5 * y
    logs = student.logpdf(X[:, :1] - [0, 5], 4)
    P = softmax(logs, axis=1)
    model, partition = fit(X, y)
    assert np.abs(model.probabilities(X, training=True) - P).mean() < 0.02
    assert len(partition.outliers) < 0.01 * 800


def test_more_rows_leave_less_ignorance():
    widths = []
    for n in (60, 4000):
        X, labels, _ = two_clusters(10, 4, n, 0)
        model, partition = fit(X, labels)
        rows = np.arange(n)
        doubt = 1 - model.probabilities(X, training=True).max(axis=1)
        belief = partition.singleton_belief[rows, partition.labels]
        certain = doubt < 0.01
        widths.append(np.mean((1 - belief - doubt)[certain]))
    assert widths[1] < widths[0] / 3


@pytest.mark.parametrize("shape", ["moons", "rings", "sticks", "spirals"])
def test_right_clusters_that_are_not_convex_stay(shape):
    rng = np.random.default_rng(0)
    if shape == "moons":
        X, y = make_moons(600, noise=0.08, random_state=0)
    elif shape == "rings":
        X, y = make_circles(600, noise=0.06, factor=0.5, random_state=0)
    elif shape == "sticks":
        y = np.arange(600) % 2
        X = np.column_stack([rng.uniform(0, 20, 600), 3 * y + rng.normal(0, 0.4, 600)])
    else:
        y = np.arange(600) % 2
        angle = rng.uniform(3, 12, 600)
        turned = angle + np.pi * y
        X = angle[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
        X += rng.normal(0, 0.25, X.shape)
    _, partition = fit(X, y)
    assert np.mean(partition.labels == y) > 0.99
    assert len(partition.ambiguous) < 0.05 * 600


def test_labels_near_the_boundary_improve():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [500, 100])
    X = rng.normal(size=(600, 2))
    X[:, 0] += 3.5 * y
    labels = (X[:, 0] > 1.5).astype(int)  # The optimal boundary is at 2.2.
    _, partition = fit(X, labels)
    assert np.mean(partition.labels != y) < np.mean(labels != y) - 0.005


@pytest.mark.parametrize("seed", [1, 3])
def test_wrong_labels_do_not_reject_a_mixture_that_fits(seed):
    """k-means cuts the large cluster, which several components could follow."""
    rng = np.random.default_rng([25, seed])
    y = rng.choice(2, 500, p=[8 / 9, 1 / 9])
    X = rng.normal(size=(500, 25))
    X[:, 0] += 4.2 * y
    odds = 4.2 * (X[:, 0] - 2.1) - np.log(8)
    labels = KMeans(2, n_init=3, random_state=0).fit_predict(X)
    if labels[odds.argmax()] == 0:
        labels = 1 - labels
    assert np.mean(labels != (odds > 0)) > 0.05
    model, _ = fit(X, labels)
    assert model.power < 0.05
    P = model.probabilities(X, training=True)[:, 1]
    assert np.abs(P - 1 / (1 + np.exp(-odds))).mean() < 0.035


def test_trust_depends_on_how_wrong_single_components_are():
    """Not on how many rows show it."""
    powers = []
    for n in (800, 3200):
        X, y = make_moons(n, noise=0.15, random_state=1)
        model, _ = fit(X, y)
        powers.append(model.power)
    assert abs(powers[1] - powers[0]) < 0.15
    rng = np.random.RandomState(0)
    members = np.eye(2)[y]
    weights = np.ones(n)
    comparison = compare(X, members, weights, draw_folds(members, rng), rng)
    assert 0.1 < comparison.gain < 0.5
    odds_of_five = np.exp(-5 * comparison.gain)
    assert comparison.trust == pytest.approx(odds_of_five)
    divided = comparison.mixtures()[-1]
    assert divided.weight == pytest.approx(1 - odds_of_five)


# ---- memberships and weights ---------------------------------------------------------------------


def test_partitions_that_disagree_make_objects_ambiguous():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(400, 2))
    first = (X[:, 0] > 0.4).astype(int)
    second = (X[:, 0] > 0.6).astype(int)
    memberships = (np.eye(2)[first] + np.eye(2)[second]) / 2
    _, partition = fit(X, memberships)
    is_ambiguous = np.isin(np.arange(400), partition.ambiguous)
    assert is_ambiguous[first != second].mean() > 0.7
    assert is_ambiguous[np.abs(X[:, 0] - 0.5) > 0.35].mean() < 0.1


def test_unknown_labels():
    X, labels, P = two_clusters(3, 6, 300, 1)
    labels[::3] = -1
    _, partition = fit(X, labels)
    assert np.mean(partition.labels == P.argmax(axis=1)) > 0.99


def test_weights_are_repetitions():
    X, labels, _ = two_clusters(2, 3, 150, 2)
    counts = 1 + np.arange(150) % 3
    _, weighted = fit(X, labels, counts.astype(float))
    _, repeated = fit(np.repeat(X, counts, axis=0), np.repeat(labels, counts))
    first = np.append(0, np.cumsum(counts)[:-1])
    np.testing.assert_allclose(weighted.masses, repeated.masses[first], atol=1e-9)


def test_order_of_rows_does_not_matter():
    X, labels, _ = two_clusters(12, 3, 200, 3)
    order = np.random.default_rng(0).permutation(200)
    _, one = fit(X, labels)
    _, other = fit(X[order], labels[order])
    np.testing.assert_allclose(one.masses[order], other.masses, atol=1e-6)


def test_units_do_not_matter():
    X, labels, _ = two_clusters(20, 4, 300, 0)
    model, _ = fit(X, labels)
    scaled, _ = fit(0.25 * X, labels)
    P = model.probabilities(X)
    np.testing.assert_allclose(scaled.probabilities(0.25 * X), P, atol=1e-6)


# ---- outliers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 30])
def test_far_objects_are_outliers_and_others_are_not(d):
    X, labels, _ = two_clusters(d, 5, 1000, 0)
    _, clean = fit(X, labels)
    assert len(clean.outliers) < 10
    rng = np.random.default_rng(1)
    far = rng.normal(size=(20, d))
    far *= 30 / np.linalg.norm(far, axis=1, keepdims=True)
    _, partition = fit(np.concatenate([X, far]), np.append(labels, np.repeat(0, 20)))
    assert np.isin(np.arange(1000, 1020), partition.outliers).all()
    assert len(partition.outliers) < 30


@pytest.mark.parametrize(("d", "n_noise"), [(2, 400), (8, 257)])
def test_background_has_its_probability(d, n_noise):
    """The clusters of the scattered objects are those of the nearest centers."""
    rng = np.random.default_rng(3)
    centers = 7 * np.eye(3, d)
    X = centers.repeat(200, axis=0) + rng.normal(size=(600, d))
    low, high = X.min(axis=0) - 3, X.max(axis=0) + 3
    X = np.vstack([X, rng.uniform(low, high, (n_noise, d))])
    squares = cdist(X, centers, "sqeuclidean")
    density = np.exp(-squares / 2).sum(axis=1) * 200 / (2 * np.pi) ** (d / 2)
    scattered = n_noise / np.prod(high - low)
    model, partition = fit(X, squares.argmin(axis=1))
    empty = partition.masses[:, model.family.empty_index]
    assert np.abs(empty - scattered / (scattered + density)).mean() < 0.04
    assert np.mean(partition.labels[:600] == np.repeat(range(3), 200)) > 0.99


def test_heavy_tails_and_curves_are_no_background():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    tails = rng.standard_t(3, size=(600, 2)) + 9 * np.eye(3, 2)[y]
    moons, crescent = make_moons(600, noise=0.08, random_state=0)
    for X, labels in ((tails, y), (moons, crescent)):
        _, partition = fit(X, labels)
        assert len(partition.outliers) < 0.02 * 600


# ---- new rows, dissimilarities, many clusters ----------------------------------------------------


def test_new_rows():
    X, labels, _ = two_clusters(5, 5, 800, 0)
    new, _, P = two_clusters(5, 5, 300, 7)
    model, _ = fit(X, labels)
    partition = predict(model, new)
    assert np.abs(partition.pignistic() - P).mean() < 0.02
    moved = predict(model, new + 1e-10)
    assert np.abs(moved.masses - partition.masses).max() < 1e-3


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "precomputed"])
def test_dissimilarities(metric):
    X, labels, _ = two_clusters(4, 6, 250, 0)
    X = X + 3
    if metric == "precomputed":
        X = cdist(X, X)
    if metric == "cosine":
        labels = KMeans(2, n_init=3, random_state=0).fit_predict(
            X / np.linalg.norm(X, axis=1, keepdims=True)
        )
    model, partition = fit(X, labels, metric=metric)
    assert np.mean(partition.labels == labels) > 0.9
    assert np.mean(predict(model, X).labels == partition.labels) > 0.99


def test_many_clusters():
    rng = np.random.default_rng(0)
    centers = 12 * np.array(np.meshgrid(range(8), range(8))).reshape(2, -1).T
    y = np.repeat(np.arange(64), 15)
    X = centers[y] + rng.normal(size=(len(y), 2))
    _, partition = fit(X, y)
    assert np.mean(partition.labels == y) > 0.99


def test_one_cluster_and_empty_clusters():
    X = np.random.default_rng(0).normal(size=(100, 3))
    _, one = fit(X, np.zeros(100, int))
    assert len(one.focal_sets) == 2
    assert (one.labels == 0).all()
    _, gap = fit(X, 2 * (X[:, 0] > 0).astype(int))
    assert gap.focal_sets.n_clusters == 3
    assert not (gap.labels == 1).any()


def test_evidence_sums_to_the_logarithm_of_the_probability():
    for d in (3, 15):
        X, labels, _ = two_clusters(d, 4, 300, 0)
        model, _ = fit(X, labels)
        evidence = model.evidence(X[5:6], 5)
        P = model.probabilities(X, training=True)[5]
        np.testing.assert_allclose(np.exp(evidence.total), P, atol=1e-9)
        assert evidence.parts.shape == (d, 2)


def test_save_and_load(tmp_path):
    for d, metric in ((3, "euclidean"), (15, "euclidean"), (3, "cityblock")):
        X, labels, _ = two_clusters(d, 4, 200, 0)
        model, _ = fit(X, labels, metric=metric)
        save(model, tmp_path / "model.dempster")
        loaded = load(tmp_path / "model.dempster")
        np.testing.assert_array_equal(
            predict(loaded, X).masses, predict(model, X).masses
        )


# ---- masses --------------------------------------------------------------------------------------


def masses_of(P, bound=0.0):
    P = np.atleast_2d(P)
    family = FocalSets.pairs(P.shape[1], omega=False)
    n = len(P)
    sets, masses = to_masses(P, np.full(n, bound), np.zeros(n), family)
    out = np.zeros((n, len(family)))
    np.add.at(out, (np.arange(n)[:, None], sets), masses)
    return CredalPartition(out, family)


def test_an_object_is_ambiguous_if_its_doubt_exceeds_a_tenth():
    assert len(masses_of([0.91, 0.09]).ambiguous) == 0
    assert len(masses_of([0.89, 0.11]).ambiguous) == 1
    assert len(masses_of([0.91, 0.06, 0.03]).ambiguous) == 0
    assert len(masses_of([0.89, 0.055, 0.055]).ambiguous) == 1


def test_masses_change_continuously_and_stay_near_the_probabilities():
    doubt = np.linspace(0, 0.5, 2001)
    P = np.column_stack([1 - doubt, doubt])
    partition = masses_of(P)
    assert np.abs(np.diff(partition.masses, axis=0)).max() < 0.004
    gap = np.abs(partition.pignistic() - P)[:, 1]
    assert gap[doubt < 0.05].max() < 0.02
    assert gap.max() < 0.151
    assert gap[doubt > 0.31].max() < 1e-9


def test_the_bound_is_the_smallest_mass_outside_of_the_cluster():
    partition = masses_of([0.999, 0.001], 0.2)
    assert partition.singleton_belief[0, 0] == pytest.approx(0.8)
