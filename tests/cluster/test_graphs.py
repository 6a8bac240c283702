"""Communities of graphs: EKNNClus on networkx and igraph graphs and on adjacency matrices."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM, EKNNClus
from dempster.cluster import communities as _method
from dempster.cluster.communities import Edges, sum_by_cluster
from dempster.dissimilarity.graphs import read_graph
from dempster.explain import explain_object
from dempster.partition import LazyCredalPartition
from dempster.persistence import load, save

networkx = pytest.importorskip("networkx")


def planted(sizes=(20, 20, 20), inside=0.5, between=0.02, seed=0):
    """Return an adjacency matrix with random weights, and the community of each node."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(y[:, None] == y, inside, between)
    A = np.triu(rng.random(chance.shape) < chance, 1) * rng.integers(1, 4, chance.shape)
    return sparse.csr_array((A + A.T).astype(float)), y


def bridge():
    """Return two cliques of five nodes, and the node "between", which has two edges to each."""
    graph = networkx.Graph()
    for side in ("left", "right"):
        nodes = [f"{side} {i}" for i in range(5)]
        graph.add_edges_from(networkx.complete_graph(nodes).edges)
        graph.add_edges_from(("between", node) for node in nodes[:2])
    return graph


# ---- communities ---------------------------------------------------------------------------------


def test_communities_and_the_node_between_them():
    graph = bridge()
    graph.add_node("alone")
    partition = EKNNClus(random_state=0).fit(graph).credal_partition_
    assert partition.n_clusters == 2
    assert [partition.index[i] for i in partition.ambiguous] == ["between", "alone"]
    table = partition.to_frame()
    assert list(table.index) == list(graph)
    assert table.loc["alone", "Ω"] == 1
    assert table.loc["left 4", ["{0}", "{1}"]].max() > 0.95
    assert len(set(partition.labels[:5])) == len(set(partition.labels[6:11])) == 1


@pytest.mark.parametrize("rename", [int, str, lambda i: (i, "node")])
def test_labels_are_indexed_by_node(rename, tmp_path):
    graph = networkx.relabel_nodes(networkx.barbell_graph(5, 1), rename)
    model = EKNNClus(random_state=0).fit(graph)
    networkx.set_node_attributes(graph, model.labels_.to_dict(), "community")
    for node, label in zip(graph, model.credal_partition_.labels, strict=True):
        assert graph.nodes[node]["community"] == model.labels_[node] == label
    save(model, tmp_path / "model.zip")
    pandas.testing.assert_series_equal(
        load(tmp_path / "model.zip").labels_, model.labels_
    )
    matrix = networkx.to_scipy_sparse_array(graph, dtype=float)
    labels = EKNNClus(random_state=0).fit(matrix).labels_
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, model.labels_)


def test_sums_of_weights_between_clusters():
    A, _ = planted()
    labels = np.random.default_rng(0).integers(0, 7, A.shape[0]).astype(np.int32)
    indicators = np.eye(7)[labels]
    found = sum_by_cluster(A.indptr, A.indices, A.data, labels)
    np.testing.assert_allclose(found.toarray(), indicators.T @ A.toarray() @ indicators)


@pytest.mark.parametrize("seed", range(3))
def test_planted_communities(seed):
    A, y = planted(sizes=(10, 30, 20, 15), seed=seed)
    model = EKNNClus(random_state=seed).fit(A)
    assert model.credal_partition_.summary().is_separated
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.labels_, model.credal_partition_.labels)
    assert (np.diff(model.history_) <= 1e-9).all()


def test_few_pairs_of_communities_are_focal_sets():
    A, _ = planted(between=0.01)
    A = A.toarray()
    A[0, 20:60] = A[20:60, 0] = 0
    A[0, 25:30] = A[25:30, 0] = A[0, 1:20].sum() / 5
    partition = EKNNClus(random_state=0).fit(sparse.csr_array(A)).credal_partition_
    first, second = sorted((partition.labels[1], partition.labels[25]))
    assert partition.ambiguous.tolist() == [0]
    assert (first, second) in list(partition.focal_sets)
    assert len(partition.focal_sets) == 5


def test_chance_is_not_structure():
    graph = networkx.gnp_random_graph(150, 0.1, seed=0)
    model = EKNNClus(random_state=0, n_init=2).fit(graph)
    assert "not separated" in str(model.credal_partition_.summary())
    with pytest.warns(UserWarning, match="single cluster; increase the resolution"):
        EKNNClus().fit(networkx.complete_graph(8))


def test_resolution():
    ring = networkx.ring_of_cliques(12, 5)
    fine = EKNNClus(random_state=0).fit(ring)
    coarse = EKNNClus(random_state=0, resolution=0.4).fit(ring)
    assert fine.n_clusters_ == 12 > coarse.n_clusters_ > 1
    assert coarse.resolution_ == 0.4


def test_objective_is_the_modularity():
    """With resolution 1 the log-plausibility is proportional to the modularity."""
    A, y = planted()
    model = EKNNClus(random_state=0, resolution=1.0)
    graph = networkx.from_scipy_sparse_array(A)

    def modularity(labels):
        parts = [np.flatnonzero(labels == k).tolist() for k in np.unique(labels)]
        return networkx.community.modularity(graph, parts)

    rng = np.random.default_rng(0)
    labelings = [y, np.zeros_like(y), *rng.integers(0, 4, (3, len(y)))]
    plausibilities = [model.log_plausibility(A, labels) for labels in labelings]
    differences = [modularity(labels) - modularity(0 * y) for labels in labelings]
    ratio = plausibilities[0] / differences[0]
    assert ratio > 0
    np.testing.assert_allclose(plausibilities, ratio * np.array(differences), atol=1e-9)


def test_no_move_of_a_node_or_merger_increases_the_agreement():
    A, _ = planted(inside=0.3, between=0.1, seed=4)
    edges = Edges.from_source(read_graph(A), np.full(A.shape[0], -1))
    graph = edges.graph(replace(edges.evidence, resolution=1.2))
    rng = np.random.default_rng(0)
    labels, history, _ = graph.search(edges.distinct_labels(), rng, 100)
    c = labels.max() + 1
    assert 1 < c < len(labels)
    assert history[-1] == pytest.approx(graph.agreement(labels))
    for i in range(len(labels)):
        for k in range(c):
            moved = labels.copy()
            moved[i] = k
            assert graph.agreement(moved) <= history[-1] + 1e-9
    for k in range(c):
        for other in range(k):
            merged = np.where(labels == k, other, labels).astype(labels.dtype)
            assert graph.agreement(merged) <= history[-1] + 1e-9


def test_masses_against_the_formula():
    A, _ = planted(sizes=(15, 15, 15), between=0.15, seed=1)
    model = EKNNClus(random_state=0, resolution=1.5).fit(A)
    labels = model.labels_
    c = model.n_clusters_
    assert c >= 3
    W = A.toarray() / A.data.mean()
    k = W.sum(axis=1)
    evidence = model._model.evidence
    for i in range(len(W)):
        others = np.arange(len(W)) != i
        expected = 1.5 * k[i] * k / k.sum()
        parts = [(labels == j) & others for j in range(c)]
        u = np.array([evidence.scale * (W[i] - expected)[part].sum() for part in parts])
        u = np.sort(np.maximum(u, 0))[::-1]
        plausible = (2 * u / (u[0] + u))[:3]
        certain = 1 - np.exp(-u[0])
        found = model.credal_partition_.masses[i]
        assert found[labels[i]] == pytest.approx(certain * (1 - plausible[1]))
        pair = certain * (plausible[1] - plausible[2])
        assert found[c:-1].sum() == pytest.approx(pair) or not found[c:-1].any()
        assert found.sum() == pytest.approx(1)


def test_many_masses_are_lazy(monkeypatch):
    A, y = planted()
    dense = EKNNClus(random_state=0).fit(A, np.where(y == 0, "a", None))
    monkeypatch.setattr("dempster.cluster.eknnclus.MAX_DENSE_MASSES", 10)
    model = EKNNClus(random_state=0).fit(A, np.where(y == 0, "a", None))
    assert isinstance(model.credal_partition_, LazyCredalPartition)
    np.testing.assert_array_equal(
        model.credal_partition_.masses.compute(), dense.credal_partition_.masses
    )
    np.testing.assert_array_equal(model.labels_, dense.labels_)


def test_number_of_pairs_is_limited(monkeypatch):
    nested = _method.NestedMasses(
        np.array([[2.0, 2.0, 0.0]] * 3), np.array([[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    )
    assert nested.pairs(4).tolist() == [[0, 1], [1, 2]]
    monkeypatch.setattr(_method, "_MAX_FAMILY_CELLS", 20)
    assert nested.pairs(4).tolist() == [[1, 2]]


# ---- input ---------------------------------------------------------------------------------------


def fake_igraph(A, names=None, *, weighted=True):
    """Return a graph with the interface of igraph that is used."""
    upper = sparse.triu(A, 1).tocoo()

    class Graph:
        vs = SimpleNamespace()
        es = {"weight": upper.data.tolist()}

        def vcount(self):
            return A.shape[0]

        def vertex_attributes(self):
            return [] if names is None else ["name"]

        def get_edgelist(self):
            return list(zip(upper.row.tolist(), upper.col.tolist(), strict=True))

        def is_weighted(self):
            return weighted

        def is_directed(self):
            return False

    Graph.vs = {"name": names}
    return Graph


def test_igraph(monkeypatch):
    A, _ = planted()
    names = [f"n{i}" for i in range(A.shape[0])]
    kind = fake_igraph(A, names)
    monkeypatch.setitem(
        __import__("sys").modules, "igraph", SimpleNamespace(Graph=kind)
    )
    model = EKNNClus(random_state=0).fit(kind())
    assert list(model.credal_partition_.index) == names
    reference = EKNNClus(random_state=0).fit(A)
    np.testing.assert_array_equal(
        model.credal_partition_.masses, reference.credal_partition_.masses
    )
    kind.vs = {"name": ["same"] * len(names)}
    with pytest.raises(ValueError, match="different name for each node"):
        EKNNClus().fit(kind())


def test_kinds_of_graphs_agree():
    A, _ = planted()
    masses = EKNNClus(random_state=0).fit(A).credal_partition_.masses
    loops = A + 3 * sparse.eye_array(A.shape[0])
    doubled = networkx.MultiGraph()
    doubled.add_nodes_from(range(A.shape[0]))
    directed = networkx.DiGraph()
    directed.add_nodes_from(range(A.shape[0]))
    for i, j in zip(*sparse.triu(A).nonzero(), strict=True):
        doubled.add_edge(int(i), int(j), weight=A[i, j] / 4)
        doubled.add_edge(int(i), int(j), weight=3 * A[i, j] / 4)
        directed.add_edge(int(i), int(j), weight=2 * A[i, j])
    for other in (loops, sparse.coo_matrix(7.0 * A), doubled):
        found = EKNNClus(random_state=0).fit(other).credal_partition_
        np.testing.assert_allclose(found.masses, masses, atol=1e-9)
        assert found.index is None
    with pytest.raises(ValueError, match="X must be undirected; use the mean"):
        EKNNClus().fit(directed)
    found = EKNNClus(random_state=0, symmetrize=True).fit(directed).credal_partition_
    np.testing.assert_allclose(found.masses, masses, atol=1e-9)


def weighted(weight):
    graph = networkx.path_graph(4)
    graph.edges[1, 2]["weight"] = weight
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (networkx.empty_graph(5), "an edge between different nodes"),
        (networkx.Graph([(0, 0)]), "an edge between different nodes"),
        (networkx.Graph(), "an edge between different nodes"),
        (weighted(-1.5), r"nonnegative weights of edges, got -1\.5"),
        (weighted(np.nan), "finite weights"),
        (weighted(np.inf), "finite weights"),
        (weighted(None), "finite weights"),
        (weighted("heavy"), "numbers as the attribute 'weight'"),
        (sparse.csr_array(np.ones((3, 2))), r"square matrix .* if it is sparse"),
        (networkx.DiGraph([(0, 1), (1, 2)]), "undirected"),
        (weighted(1j), "numbers as the attribute 'weight'"),
        (sparse.csr_array(np.array([[0, 1j], [1j, 0]])), "real numbers"),
    ],
)
def test_invalid_graphs(graph, message):
    with pytest.raises(ValueError, match=message):
        EKNNClus().fit(graph)


def test_a_graph_is_not_a_table():
    graph = bridge()
    with pytest.raises(ValueError, match="got a graph; EKNNClus clusters its nodes"):
        ECM(2).fit(graph)
    model = EKNNClus(random_state=0).fit(graph)
    with pytest.raises(ValueError, match="X must be an array or a table, not a graph"):
        explain_object(model, graph, 0)


def test_tuples_are_names(tmp_path):
    grid = networkx.grid_2d_graph(5, 5)
    model = EKNNClus(random_state=0).fit(grid)
    assert list(model.credal_partition_.index) == list(grid)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert list(again.credal_partition_.index) == list(grid)


def test_init():
    A, y = planted()
    model = EKNNClus(init=y % 2 * 7).fit(A)
    assert len(model.n_clusters_found_) == 1
    assert EKNNClus(init=5, n_init=3, random_state=0).fit(A).n_clusters_ == 3
    with pytest.raises(ValueError, match="init='sample' needs attributes"):
        EKNNClus(init="sample").fit(A)


# ---- known labels --------------------------------------------------------------------------------


def test_known_labels_are_kept():
    graph = bridge()
    known = {"left 0": "b", "right 0": "a", "left 3": "a"}
    model = EKNNClus(random_state=0).fit(graph, known)
    partition = model.credal_partition_
    found = dict(zip(graph, model.labels_, strict=True))
    assert [found[name] for name in known] == [1, 0, 0]
    table = partition.to_frame()
    assert table.loc["left 3", "{0}"] == 1
    assert found["left 4"] == 1
    assert found["right 4"] == 0


def test_known_labels_are_never_merged():
    A, y = planted(sizes=(30, 30), inside=0.4)
    known = np.full(60, -1)
    known[:2] = [4, 7]  # two labels in the first community
    model = EKNNClus(random_state=0).fit(A, known)
    assert model.labels_[:2].tolist() == [0, 1]
    assert len(np.unique(model.labels_[30:])) == 1
    from_array = EKNNClus(random_state=0, init=y).fit(A, known)
    assert from_array.labels_[:2].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("y", "message"),
    [({"nobody": 1}, "nodes of the graph, got 'nobody'"), ([1, 2], "11 labels")],
)
def test_invalid_known_labels(y, message):
    with pytest.raises(ValueError, match=message):
        EKNNClus().fit(bridge(), y)


# ---- new nodes -----------------------------------------------------------------------------------


def test_new_nodes(tmp_path):
    graph = bridge()
    model = EKNNClus(random_state=0).fit(graph)
    new = networkx.Graph()
    new.add_edges_from([("friend", "left 0"), ("friend", "left 1"), ("friend", "x")])
    new.add_edges_from([("broker", "left 2"), ("broker", "right 2")])
    found = model.predict_mass(new)
    assert list(found.index) == ["friend", "x", "broker"]
    table = found.to_frame()
    left = model.labels_["left 0"]
    assert table.loc["friend", f"{{{left}}}"] > 0.8
    assert table.loc["broker", "Ω"] > 0.6
    assert table.loc["x", "Ω"] == 1
    columns = np.array([[name in ("left 0", "left 1") for name in graph]], dtype=float)
    for rows in (columns, sparse.csr_array(columns)):
        np.testing.assert_array_equal(model.predict_mass(rows).masses, found.masses[:1])
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_mass(new).masses, found.masses)
    pandas.testing.assert_series_equal(again.labels_, model.labels_)


def test_invalid_new_nodes():
    graph = bridge()
    model = EKNNClus(random_state=0).fit(graph)
    with pytest.raises(ValueError, match="nodes that were not in fit"):
        model.predict(graph)
    with pytest.raises(ValueError, match="a column for each of the 11 nodes"):
        model.predict(np.ones((1, 3)))
    with pytest.raises(ValueError, match="nonnegative weights"):
        model.predict(-np.ones((1, 11)))
