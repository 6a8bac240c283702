"""Objects without a label: certain of a cluster, ambiguous, or outliers."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN

from dempster import doubt
from dempster.belief import FocalSets
from dempster.dissimilarity.sources import AttributeSource, References
from dempster.labels.connection import Connection, move_unconnected
from dempster.optimize.blocks import block_map
from dempster.persistence import load, save
from dempster.posterior.neighbors import N_NEIGHBORS, NeighborShares


def draw_case(seed):
    """Return a table, the true clusters and the labels of HDBSCAN.

    HDBSCAN misses small clusters, and takes the edges of clusters for noise. Some objects are
    scattered; their number is that of no cluster.
    """
    rng = np.random.default_rng([seed, 61])
    d = [2, 2, 3, 5][seed % 4]
    sizes = rng.integers(10, 150, 7)
    y = np.repeat(np.arange(8), [*sizes, 25])
    centers = rng.uniform(-1, 1, (8, d)) * 14
    spreads = rng.uniform(0.6, 2, 8)
    X = centers[y] + rng.normal(size=(len(y), d)) * spreads[y][:, None]
    X[y == 7] = rng.uniform(X.min(axis=0), X.max(axis=0), (25, d))
    return X, y, HDBSCAN(min_cluster_size=25, copy=True).fit_predict(X)


def certain_cluster(partition):
    """Return the cluster of which each object is certain, or -1."""
    family = partition.focal_sets
    clusters = np.full(len(family), -1)
    clusters[family.singleton_index] = np.arange(family.n_clusters)
    return clusters[partition.best_set]


def test_certain_noise_is_right():
    """Of the noise that is certain of a cluster, at least 95 % are right.

    An object is right if its cluster contains most labeled objects of its class, and at least a
    tenth of the class. Scattered objects inside of a cluster cannot be distinguished from it.
    """
    found = []
    is_right = []
    is_scattered = []
    for seed in range(12):
        X, y, labels = draw_case(seed)
        counts = np.zeros((labels.max() + 1, 8))
        np.add.at(counts, (labels[labels >= 0], y[labels >= 0]), 1)
        home = counts.argmax(axis=0)
        home[counts.max(axis=0) < 0.1 * np.bincount(y, minlength=8)] = -1
        noise = labels < 0
        clusters = certain_cluster(doubt(X, labels, random_state=0))[noise]
        found.append(clusters >= 0)
        is_right.append(clusters == home[y[noise]])
        is_scattered.append(y[noise] == 7)
    certain, right, scattered = map(np.concatenate, (found, is_right, is_scattered))
    assert right[certain & ~scattered].mean() >= 0.95
    assert certain[~scattered].mean() > 0.25
    assert certain[scattered].mean() < 0.2


def fit_connection(X, labeled):
    source = AttributeSource(X, "euclidean")
    references = References.from_source(source, np.arange(len(X)))
    members = labeled[:, None].astype(float)
    neighbors = NeighborShares.fit(references, source, members, np.ones(len(X)))
    with block_map(1) as apply:
        return neighbors, Connection.fit(neighbors, X, labeled, apply)


def test_connection_is_a_probability_of_arrival():
    """The connection agrees with the solution of the linear equations of the walk."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    labeled = X[:, 0] > 0.3
    D = cdist(X, X)
    order = np.argsort(D, axis=1)
    scale = D[np.arange(60), order[:, 7]]
    W = np.exp(-(D**2) / np.outer(scale, scale))
    is_near = np.zeros_like(D, bool)
    np.put_along_axis(is_near, order[:, 1 : N_NEIGHBORS + 1], values=True, axis=1)
    W = np.where(is_near | is_near.T, W, 0)
    # An object is its own neighbor with the similarity 1.
    moves = W / (1 + W.sum(axis=1, keepdims=True))
    free = ~labeled
    inside = np.eye(free.sum()) - moves[np.ix_(free, free)]
    reached = np.ones(60)
    reached[free] = np.linalg.solve(inside, moves[free][:, labeled].sum(axis=1))
    expected = (W @ reached) / W.sum(axis=1)
    expected[labeled] = 1
    neighbors, connection = fit_connection(X, labeled)
    np.testing.assert_allclose(connection.reached, reached, atol=1e-6)
    np.testing.assert_allclose(connection.connected, expected, atol=1e-6)
    known = connection.probabilities(neighbors, X)
    np.testing.assert_array_equal(known, connection.connected)


def test_connection_decreases_with_the_distance_to_labels():
    X = np.arange(40.0)[:, None]
    _, connection = fit_connection(X, np.arange(40) < 20)
    far = connection.connected[20:]
    assert far[0] > 0.6
    assert far[-1] < 0.05
    assert (np.diff(far) < 0).all()


def test_doubt_is_half_of_the_failures():
    """A certain object becomes an outlier at a doubt of .1."""
    family = FocalSets.simple(2, omega=False)
    certain = np.zeros((4, len(family)))
    certain[:, family.singleton_index[0]] = 1
    masses = move_unconnected(
        certain, family.empty_index, 1 - np.array([0.0, 0.19, 0.21, 1.0])
    )
    np.testing.assert_allclose(masses.sum(axis=1), 1)
    outlying = masses[:, family.empty_index]
    np.testing.assert_array_equal(outlying > 0.5, [False, False, True, True])
    assert outlying[0] == 0
    assert outlying[3] == 1


def test_a_missed_cluster_is_not_certain_of_another():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(180, 2)) + np.repeat([[0, 0], [12, 0], [5, 4]], 60, axis=0)
    labels = np.repeat([0, 1, -1], 60)
    partition = doubt(X, labels, random_state=0)
    assert (certain_cluster(partition)[120:] < 0).mean() > 0.95
    assert (certain_cluster(partition)[:120] == labels[:120]).mean() > 0.95


@pytest.mark.parametrize("kind", ["table", "equal rows", "precomputed", "many"])
def test_new_objects_are_treated_as_noise(kind, tmp_path):
    X, _, labels = draw_case(1)
    values = X
    metric = "euclidean"
    if kind == "equal rows":
        values = np.round(X)
    if kind == "precomputed":
        values = cdist(X, X)
        metric = "precomputed"
    if kind == "many":
        rng = np.random.default_rng(6)
        centers = rng.uniform(-60, 60, (60, 2))
        labels = np.repeat(np.arange(-1, 60), [40, *[20] * 60])
        values = centers[labels] + rng.normal(size=(1240, 2))
        values[:20] = rng.uniform(-60, 60, (20, 2))
    partition = doubt(values, labels, metric=metric, random_state=0)
    noise = np.flatnonzero(labels < 0)
    assert len(np.intersect1d(partition.outliers, noise)) > 0.1 * len(noise)
    save(partition, tmp_path / "p.dempster")
    for model in (partition, load(tmp_path / "p.dempster")):
        again = model.predict_mass(values)
        np.testing.assert_allclose(again.pignistic(), partition.pignistic(), atol=1e-12)
        np.testing.assert_array_equal(again.best_set, partition.best_set)


def test_labels_without_noise_need_no_connection():
    X, y, _ = draw_case(2)
    assert doubt(X, y, random_state=0).model.connection is None


def test_a_single_position():
    """All objects are equal, and some have no label."""
    partition = doubt(np.zeros((6, 2)), [0, 0, 0, -1, -1, -1], random_state=0)
    assert partition.labels.tolist() == [0] * 6
