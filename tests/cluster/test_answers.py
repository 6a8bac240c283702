"""True must-links and cannot-links do not make the clusters of other objects worse."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster import cluster
from dempster.cluster import CECM, NNEVCLUS, CredalClustering
from dempster.constraints import Constraints

_ALLOWED_LOSS = 0.005
METHODS = [
    name
    for name in cluster.__all__
    if hasattr(getattr(cluster, name), "fit")
    and "constraints" in signature(getattr(cluster, name).fit).parameters
]
with_method = pytest.mark.parametrize("name", METHODS)


def test_methods_that_accept_constraints():
    assert {"CECM", "CredalClustering", "EVCLUS", "NNEVCLUS"} <= set(METHODS)


def standardize(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def uneven_clusters(seed):
    """Return overlapping clusters of different sizes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(5), [120, 60, 40, 20, 10])
    centers = rng.normal(size=(5, 4)) * 2.2
    return standardize(centers[y] + rng.normal(size=(len(y), 4))), y


def long_clusters(seed):
    """Return three parallel clusters, which compact clusters divide across."""
    rng = np.random.default_rng(seed)
    y = np.repeat(range(3), 50)
    long = 3 * rng.normal(size=len(y))
    return standardize(np.column_stack([2.6 * y + rng.normal(size=len(y)), long])), y


def draw_answers(y, n_answers, seed):
    """Return true answers about random pairs of different objects, and the other objects."""
    rng = np.random.default_rng([101, seed, n_answers])
    pairs = rng.permutation(len(y))[: 2 * n_answers].reshape(-1, 2)
    return Constraints.from_pairs(pairs, y), np.setdiff1d(np.arange(len(y)), pairs)


def mean_change(name, X, y, n_answers, n_draws):
    """Return the mean change of the adjusted Rand index of objects without an answer."""
    model = getattr(cluster, name)(len(np.unique(y)), random_state=5)
    plain = model.fit(X).labels_
    changes = []
    for seed in range(n_draws):
        known, others = draw_answers(y, n_answers, seed)
        labels = model.fit(X, constraints=known).labels_
        before = adjusted_rand_score(y[others], plain[others])
        changes.append(adjusted_rand_score(y[others], labels[others]) - before)
    return np.mean(changes)


@with_method
@pytest.mark.parametrize("make", [uneven_clusters, long_clusters])
@pytest.mark.parametrize("n_answers", [1, 20])
def test_generated_data(name, make, n_answers):
    assert mean_change(name, *make(11), n_answers, 3) >= -_ALLOWED_LOSS


@with_method
@pytest.mark.parametrize("n_answers", [1, 5])
def test_real_data(shared_data, name, n_answers):
    X, y = shared_data("ecoli", standardise=True)
    assert mean_change(name, X, y, n_answers, 2) >= -_ALLOWED_LOSS


@pytest.mark.long
@with_method
@pytest.mark.parametrize("data", ["iris", "wine", "seeds", "ecoli"])
@pytest.mark.parametrize("n_answers", [1, 5, 20, 50])
def test_many_draws(shared_data, name, data, n_answers):
    X, y = shared_data(data, standardise=True)
    assert mean_change(name, X, y, n_answers, 20) >= -_ALLOWED_LOSS


@with_method
def test_answers_hold_and_improve_their_objects(name):
    X, y = uneven_clusters(12)
    model = getattr(cluster, name)(5, random_state=5)
    plain = model.fit(X).labels_
    changes = []
    for seed in range(3):
        known, others = draw_answers(y, 30, seed)
        asked = np.setdiff1d(np.arange(len(y)), others)
        bound = model.fit(X, constraints=known)
        assert len(known.violations(bound.credal_partition_)) == 0
        before = adjusted_rand_score(y[asked], plain[asked])
        changes.append(adjusted_rand_score(y[asked], bound.labels_[asked]) - before)
    assert np.mean(changes) > 0


@with_method
def test_predictions_agree_with_the_fit(name):
    X, y = uneven_clusters(13)
    known, _ = draw_answers(y, 20, 0)
    model = getattr(cluster, name)(5, random_state=5).fit(X, constraints=known)
    masses = model.credal_partition_.masses
    np.testing.assert_allclose(model.predict_mass(X).masses, masses, atol=1e-9)


# ---- the revision --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [3, "auto"])
@pytest.mark.parametrize("form", ["array", "frame", "matrix", "gower"])
def test_credal_clustering_changes_only_linked_objects(n_clusters, form):
    X, y = make_blobs([50, 40, 30], centers=[[0, 0], [4, 0], [2, 4]], random_state=14)
    metric = {"matrix": "precomputed", "gower": "gower"}.get(form, "euclidean")
    if form == "matrix":
        X = cdist(X, X)
    elif form != "array":
        X = pd.DataFrame(X, columns=["a", "b"])
    known, others = draw_answers(y, 10, 1)
    model = CredalClustering(n_clusters, metric=metric, random_state=5)
    free = model.fit(X).credal_partition_
    bound = model.fit(X, constraints=known).credal_partition_
    assert bound.focal_sets == free.focal_sets
    np.testing.assert_array_equal(bound.masses[others], free.masses[others])
    assert len(known.violations(bound)) == 0
    np.testing.assert_array_equal(model.predict_mass(X).labels, bound.labels)


def test_separated_objects_go_to_plausible_clusters():
    X, y = uneven_clusters(15)
    model = CredalClustering(5, random_state=5)
    free = model.fit(X).credal_partition_
    plausible = np.argsort(-np.asarray(free.contour), axis=1)[:, :2]
    together = free.labels[:, None] == free.labels
    pairs = np.argwhere(np.triu(together & (y[:, None] != y)))
    rng = np.random.default_rng(0)
    for i, j in rng.choice(pairs, 4, replace=False):
        bound = model.fit(X, constraints=Constraints(cannot_link=[(i, j)]))
        assert bound.labels_[i] != bound.labels_[j]
        for k in (i, j):
            assert bound.labels_[k] in plausible[k]


def test_many_clusters():
    rng = np.random.default_rng(16)
    y = np.repeat(range(60), 6)
    X = rng.uniform(0, 40, (60, 2))[y] + 0.3 * rng.normal(size=(360, 2))
    model = CredalClustering(60, shape="compact", random_state=5)
    free = model.fit(X).credal_partition_
    i, j = 0, 1
    bound = model.fit(X, constraints=Constraints(cannot_link=[(i, j)]))
    assert free.labels[i] == free.labels[j]
    assert bound.labels_[i] != bound.labels_[j]
    same = np.delete(np.arange(360), [i, j])
    np.testing.assert_array_equal(bound.labels_[same], free.labels[same])


def test_outliers_stay_outliers():
    X, _ = uneven_clusters(17)
    X[0] = 50
    model = CredalClustering(3, random_state=5)
    bound = model.fit(X, constraints=Constraints(must_link=[(0, 1)]))
    assert bound.credal_partition_.empty[0] > 0.9
    assert np.isfinite(bound.credal_partition_.masses).all()


def test_blocks_have_no_constraints():
    X, _ = uneven_clusters(18)
    known = Constraints(must_link=[(0, 1)])
    with pytest.raises(ValueError, match="constraints must be None"):
        CredalClustering(3, random_state=5).fit([X[:100], X[100:]], constraints=known)


@pytest.mark.parametrize(
    "known",
    [
        Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)]),
        Constraints(cannot_link=[(0, 1), (1, 2), (5, 2)], must_link=[(5, 7), (7, 0)]),
    ],
)
def test_too_few_clusters_for_the_answers(known):
    X, _ = long_clusters(19)
    with pytest.warns(UserWarning, match="cannot-links to each other"):
        CredalClustering(2, random_state=5).fit(X, constraints=known)


def test_the_loss_of_a_network_is_reachable():
    X, y = long_clusters(20)
    known, _ = draw_answers(y, 40, 0)
    plain = NNEVCLUS(3, random_state=5).fit(X)
    revised = NNEVCLUS(3, random_state=5).fit(X, constraints=known)
    trained = NNEVCLUS(3, xi=0.5, random_state=5).fit(X, constraints=known)
    assert revised.objective_ == plain.objective_
    assert trained.objective_ != plain.objective_


def test_weight_of_answers_of_cecm():
    """With a small weight, the data outweigh an answer that contradicts clear clusters."""
    X = np.concatenate([np.zeros((20, 2)), np.full((20, 2), 9.0)])
    X += np.random.default_rng(21).normal(size=X.shape)
    wrong = Constraints(must_link=[(0, 39)])
    for xi, holds in ((0.05, False), (0.5, True)):
        labels = CECM(2, xi=xi, random_state=5).fit(X, constraints=wrong).labels_
        assert (labels[0] == labels[39]) == holds
