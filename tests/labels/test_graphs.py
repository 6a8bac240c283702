"""Doubt and evaluation for labels of the nodes of graphs."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from dempster import doubt, evaluate
from dempster._errors import InvalidParameterError
from dempster.cluster.communities import EdgeEvidence
from dempster.dissimilarity.graphs import GraphInput, read_graph
from dempster.labels.graphs import GraphModel, diffusion_coordinates
from dempster.persistence import load, save


def planted(seed, mixing=0.2, sizes=(60, 50, 40), degree=10):
    """Return the edges of a graph with planted communities, and the communities."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    n = len(y)
    inside = degree * (1 - mixing) / np.array(sizes)[y]
    P = np.where(y[:, None] == y, inside[:, None], degree * mixing / n)
    upper = np.triu(rng.random((n, n)) < P, 1)
    return sparse.csr_array((upper | upper.T).astype(float)), y


@pytest.fixture(scope="module")
def club():
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    return graph, {node: data["club"] for node, data in graph.nodes(data=True)}


def test_nodes_of_a_graph(club):
    graph, label = club
    partition = doubt(graph, label)
    assert list(partition.index) == list(graph)
    assert partition.frame == ("Mr. Hi", "Officer")
    found = np.array(partition.frame)[partition.labels]
    wrong = [node for node in graph if found[node] != label[node]]
    assert wrong == [8]  # This member joined the other club after the split.
    matrix = sparse.csr_array(partition_weights(graph))
    labels = [label[node] for node in graph]
    same = doubt(matrix, labels, metric="graph")
    np.testing.assert_allclose(same.masses, partition.masses, atol=1e-12)
    assert same.index is None


def partition_weights(graph):
    import networkx

    return networkx.to_scipy_sparse_array(graph)


def test_support_is_evidence_for_less_evidence_against():
    """Masses agree with the formula in the docstring, computed by loops."""
    A, y = planted(1, sizes=(12, 8, 10), degree=5)
    model, masses = GraphModel.fit(read_graph(A), np.eye(3)[y])
    evidence = model.evidence
    D = A.toarray() / evidence.mean
    degrees = D.sum(axis=1)
    m = evidence.n_edges
    n = len(y)
    u = np.zeros((n, 3))
    for i in range(n):
        for j in range(n):
            if i != j:
                expected = evidence.resolution * degrees[i] * degrees[j] / (2 * m)
                u[i, y[j]] += evidence.scale * (D[i, j] - expected)
    u = np.maximum(u, 0)
    first = u.max(axis=1)
    supported = first > 0
    plausible = 2 * u / (first[:, None] + u)
    contour = np.zeros((n, 3))
    for i in np.flatnonzero(supported):
        contour[i] = plausible[i] * -np.expm1(-first[i]) + np.exp(-first[i])
    singles = masses[:, : model.family.n_clusters]
    order = np.sort(plausible, axis=1)
    expected = (order[:, -1] - order[:, -2]) * -np.expm1(-first)
    np.testing.assert_allclose(
        singles.max(axis=1)[supported], expected[supported], atol=1e-9
    )
    sets = model.family.membership.astype(float)
    # Rare pairs are replaced by the frame, so that plausibilities may be larger.
    assert (masses @ sets >= contour - 1e-9)[supported].all()


def test_wrong_labels_are_found():
    """The AUC is at least that of the share of edges to the own community."""
    ours = []
    shares = []
    for seed in range(5):
        A, y = planted(seed, mixing=0.3)
        rng = np.random.default_rng(seed)
        wrong = rng.random(len(y)) < 0.1
        labels = np.where(wrong, (y + rng.integers(1, 3, len(y))) % 3, y)
        rows = np.arange(len(y))
        P = doubt(A, labels, metric="graph").pignistic()
        ours.append(roc_auc_score(wrong, 1 - P[rows, labels]))
        share = (A @ np.eye(3)[labels])[rows, labels] / A.sum(axis=1).clip(1)
        shares.append(roc_auc_score(wrong, -share))
    assert np.mean(ours) >= np.mean(shares)
    assert np.mean(ours) > 0.97


def test_nodes_without_a_label():
    A, y = planted(4, mixing=0.1, sizes=(60, 50, 40, 30))
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(len(y)) < 0.1, -1, y)
    labels[y == 3] = -1  # The program missed this community.
    partition = doubt(A, labels, metric="graph")
    family = partition.focal_sets
    size = family.cardinality[partition.best_set]
    known = (labels < 0) & (y < 3)
    assert (partition.labels[known] == y[known]).mean() > 0.95
    assert (size[known] == 1).mean() > 0.8
    assert (size[y == 3] == 3).mean() > 0.95  # The frame: nothing is known.


def test_runs_that_disagree():
    A, y = planted(6)
    other = y.copy()
    other[:30] = 1
    agree = doubt(A, runs=[y] * 4, metric="graph").pignistic()
    differ = doubt(A, runs=[y, y, y, other], metric="graph").pignistic()
    assert differ[:30, 0].mean() < agree[:30, 0].mean()
    assert (differ.argmax(axis=1) == y).mean() > 0.95


def test_new_nodes_and_files(club, tmp_path):
    networkx = pytest.importorskip("networkx")
    graph, label = club
    partition = doubt(graph, label)
    new = networkx.Graph(
        [("new", 0), ("new", 1), ("new", 3), ("other", 0), ("other", 33)]
    )
    found = partition.predict_mass(new)
    assert list(found.index) == ["new", "other"]
    assert found.labels[0] == 0
    assert found.best_set[1] == len(found.focal_sets) - 1
    save(partition, tmp_path / "p.dempster")
    again = load(tmp_path / "p.dempster").predict_mass(new)
    np.testing.assert_array_equal(again.masses, found.masses)


def test_one_cluster(club):
    graph, _ = club
    partition = doubt(graph, ["all"] * len(graph))
    np.testing.assert_allclose(partition.pignistic(), 1)


def test_evaluation():
    A, y = planted(9, mixing=0.15)
    right = evaluate(A, y, metric="graph", random_state=0)
    assert right.expected_agreement > 0.7
    assert right.best.with_labels > 0.9
    rng = np.random.default_rng(1)
    random = evaluate(A, rng.integers(0, 3, len(y)), metric="graph", random_state=0)
    assert random.expected_agreement < 0.1
    merged = evaluate(A, np.minimum(y, 1), metric="graph", random_state=0)
    assert merged.expected_agreement < right.expected_agreement - 0.1


def test_diffusion_coordinates_give_diffusion_distances():
    """They agree with the transition probabilities of three steps, computed by powers."""
    A, _ = planted(2, sizes=(20, 20), degree=6)
    walk = A.toarray() + np.diag(
        A.sum(axis=1) + 1
    )  # lazy: all eigenvalues are positive
    degrees = walk.sum(axis=1)
    steps = np.linalg.matrix_power(walk / degrees[:, None], 3)
    source = read_graph(A)
    Z = diffusion_coordinates(replace(source, adjacency=sparse.csr_array(walk)))
    i, j = np.array([0, 1, 5, 30]), np.array([3, 25, 38, 31])
    expected = (np.square(steps[i] - steps[j]) / degrees).sum(axis=1)
    np.testing.assert_allclose(np.square(Z[i] - Z[j]).sum(axis=1), expected, rtol=0.01)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"labels": {0: "a", 99: "b"}}, "labels must contain nodes of the graph"),
        ({"labels": ["a"]}, "one label for each of the 34 rows"),
        (
            {"labels": {0: "a", 9: "b"}},
            "X must contain an edge between different nodes",
        ),
    ],
)
def test_errors(club, arguments, text):
    with pytest.raises(InvalidParameterError, match=text):
        doubt(club[0], **arguments)
    with pytest.raises(InvalidParameterError, match="be a graph or a sparse matrix"):
        doubt(np.eye(4), [0, 0, 1, 1], metric="graph")


def test_model_fields():
    A, y = planted(3)
    model, _ = GraphModel.fit(read_graph(A), np.eye(3)[y])
    assert isinstance(model.nodes, GraphInput)
    assert isinstance(model.evidence, EdgeEvidence)
