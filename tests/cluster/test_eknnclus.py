"""EK-NNclus: reference values, monotone plausibility, starts, prediction."""

import warnings
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import LinearConstraint, milp
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.cluster import ECM, EKNNClus
from dempster.cluster import eknnclus as _method
from dempster.cluster._neighbor_graph import NeighborGraph
from dempster.cluster.eknnclus import (
    Evidence,
    nearest_stored,
    neighbor_distances,
)
from dempster.dissimilarity.neighbors import make_finder
from dempster.dissimilarity.sources import AttributeSource, MatrixSource
from dempster.optimize.blocks import block_map

CASES = ["eknnclus_fourclass", "eknnclus_fourclass_random", "eknnclus_protein_dissim"]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 3, centers=4, cluster_std=0.6, random_state=2)


def random_graph(rng, n, density=0.2):
    """Return a symmetric matrix of weights, some of them equal."""
    W = np.triu(
        rng.integers(1, 6, size=(n, n)) * (rng.random((n, n)) < density), 1
    ).astype(float)
    return W + W.T


def naive_agreement(W, labels):
    return sum(
        W[i, j] for i in range(len(W)) for j in range(i) if labels[i] == labels[j]
    )


def inline(function, arguments):
    return [function(*each) for each in arguments]


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    if "D" in case:
        source = MatrixSource(case["D"])
    else:
        source = AttributeSource(case["x"])
    neighbors = neighbor_distances(
        make_finder(source, "exact", 0, 1), len(source), p["K"]
    )
    case.assert_equal("nn_dist", neighbors.data.reshape(len(source), -1))
    case.assert_equal("nn_index", neighbors.indices.reshape(len(source), -1))
    weights = Evidence.from_neighbors(neighbors, p["q"], p["b"]).weight_graph(
        neighbors, inline
    )
    case.assert_equal("W", weights.data.reshape(len(source), -1))
    graph = NeighborGraph.from_weights(weights, "directed", inline)
    orders = iter(case["order"].astype(np.int64))
    generator = SimpleNamespace(permutation=lambda n: next(orders))
    labels, history, converged = graph.search(case["y0"], generator, 100)
    assert converged
    assert len(history) == p["passes"]
    case.assert_equal("crit", history[-1])
    np.testing.assert_allclose(
        history, case["crit_trace"][len(source) :: len(source)], rtol=1e-8
    )
    with block_map(1) as apply:
        masses = graph.masses(labels, p["clusters"], apply)
    family = FocalSets(case["F"])
    partition = CredalPartition(masses, FocalSets.simple(p["clusters"])).to_family(
        family
    )
    case.assert_equal("mass", partition.masses)
    case.assert_equal("N", CredalPartition(partition).nonspecificity_index())


def test_reference_neighbors(reference):
    case = reference("knn_dist")
    found = nearest_stored(
        sparse.csr_matrix(case["D"] + np.eye(40)),
        case.parameters["K"],
        drop_diagonal=True,
    )
    order = np.argsort(found.data.reshape(40, -1), axis=1)
    case.assert_equal(
        "nn_dist", np.take_along_axis(found.data.reshape(40, -1), order, axis=1)
    )
    case.assert_equal(
        "nn_index", np.take_along_axis(found.indices.reshape(40, -1), order, axis=1)
    )


def test_masses_are_dempsters_combination(blobs):
    """Compare the closed form with sequential combination, for new and training objects."""
    X, _ = blobs
    model = EKNNClus(n_neighbors=7, random_state=0, q=0.5).fit(X[:100])
    c = model.n_clusters_
    evidence = Evidence(model.scale_, model.power)

    def combined(d, labels):
        total = MassFunctions(np.eye(c + 2)[[c + 1]], FocalSets.simple(c))
        for support, k in zip(np.exp(-((d / model.scale_) ** 2)), labels, strict=True):
            piece = np.zeros((1, c + 2))
            piece[0, [1 + k, c + 1]] = support, 1 - support
            total = total.combine(MassFunctions(piece, FocalSets.simple(c)))
        return total.to_family(FocalSets.simple(c)).masses[0]

    assert c > 2
    D = pairwise_distances(X[100:110], X[:100])
    for new, d in zip(model.predict_mass(X[100:110]).masses, D, strict=True):
        nearest = np.argsort(d)[:7]
        np.testing.assert_allclose(
            new, combined(d[nearest], model.labels_[nearest]), atol=1e-12
        )
    D = pairwise_distances(X[:100])
    near = np.argsort(np.argsort(D, axis=1), axis=1)
    for i in (0, 50):
        who = np.flatnonzero(
            ((near[i] <= 7) | (near[:, i] <= 7)) & (np.arange(100) != i)
        )
        assert len(who) >= 7
        np.testing.assert_allclose(
            model.credal_partition_.masses[i],
            combined(D[i, who], model.labels_[who]),
            atol=1e-12,
        )
    np.testing.assert_allclose(
        evidence.weights(np.array([0.0, 1e300])), [20.723, 1e-6], rtol=1e-4
    )


@pytest.mark.parametrize("kind", ["union", "mean"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
def test_plausibility_never_decreases_and_no_move_improves(kind, seed, n):
    rng = np.random.default_rng(seed)
    W = random_graph(rng, n)
    graph = NeighborGraph.from_weights(sparse.csr_matrix(W), kind, inline)
    start = rng.integers(n, size=n)
    labels, history, converged = graph.search(start, rng, 1000)
    assert converged
    assert np.all(np.diff([naive_agreement(W, start), *history]) >= -1e-9)
    assert history[-1] == pytest.approx(naive_agreement(W, labels))
    for i in range(n):
        support = np.bincount(labels, W[i], minlength=n)
        assert support[labels[i]] == support.max()
        if support.max() > 0:
            # the lowest label on ties, as in the masses
            assert labels[i] == support.argmax()
    assert set(labels) == set(range(labels.max() + 1))


def test_skipping_rows_without_changes(blobs):
    """Rows whose neighbors have not moved are skipped in a symmetric graph, with the same result."""
    X, _ = blobs
    neighbors = neighbor_distances(
        make_finder(AttributeSource(X), "exact", 0, 1), len(X), 10
    )
    weights = Evidence.from_neighbors(neighbors, 0.9, 2).weight_graph(neighbors, inline)
    graph = NeighborGraph.from_weights(weights, "union", inline)
    complete = replace(graph, symmetric=False)
    ends = [
        g.search(np.arange(len(X)), np.random.default_rng(3), 100)
        for g in (graph, complete)
    ]
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_allclose(ends[0][1], ends[1][1])


def test_order_of_the_graph_does_not_matter(blobs):
    X, _ = blobs
    neighbors = neighbor_distances(
        make_finder(AttributeSource(X), "exact", 0, 1), len(X), 10
    )
    weights = Evidence.from_neighbors(neighbors, 0.9, 2).weight_graph(neighbors, inline)
    order = np.random.default_rng(0).permutation(len(X))
    graphs = [
        NeighborGraph.from_weights(weights, "union", inline, each)
        for each in (None, order)
    ]
    ends = [g.search(np.arange(len(X)), np.random.default_rng(3), 100) for g in graphs]
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_allclose(ends[0][1], ends[1][1])
    masses = [g.masses(ends[0][0], int(ends[0][0].max()) + 1, inline) for g in graphs]
    np.testing.assert_allclose(*masses, atol=1e-12)


# ---- quality -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_number_of_clusters_and_agreement(shared_data, seed):
    X, y = shared_data("s2", standardise=True)
    model = EKNNClus(n_neighbors=200, n_init=3, random_state=seed).fit(X)
    assert 14 <= model.n_clusters_ <= 15
    assert adjusted_rand_score(y, model.labels_) > 0.86
    X, y = shared_data("fourclass")
    model = EKNNClus(n_neighbors=60, random_state=seed).fit(X)
    assert 4 <= model.n_clusters_ <= 5
    assert adjusted_rand_score(y, model.labels_) > 0.65
    X, y = shared_data("r15", standardise=True)
    model = EKNNClus(n_neighbors=40, random_state=seed).fit(X)
    assert model.n_clusters_ == 15
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_number_of_clusters_decreases_with_neighbors_and_quantile(blobs):
    X, _ = blobs
    counts = [
        EKNNClus(n_neighbors=k, random_state=0).fit(X).n_clusters_ for k in (3, 10, 40)
    ]
    assert counts[0] > counts[1] > counts[2] >= 4
    counts = [
        EKNNClus(n_neighbors=10, q=q, random_state=0).fit(X).n_clusters_
        for q in (0.1, 0.5, 1.0)
    ]
    assert counts[0] > counts[1] > counts[2]


def test_distant_objects_have_mass_on_the_frame(blobs):
    X, _ = blobs
    model = EKNNClus(random_state=0).fit(X)
    partition = model.predict_mass(
        np.vstack([X.mean(axis=0) + 1e4, X[model.labels_ == 0].mean(axis=0)])
    )
    assert partition.masses[0, -1] > 0.99
    assert partition.masses[1].max() == partition.masses[1, 1] > 0.99
    assert (partition.empty == 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
@pytest.mark.parametrize("seed", range(3))
def test_repeated_rows_are_no_clusters(metric, seed):
    X, y = make_blobs(120, centers=[[0, 0], [6, 0], [0, 6]], random_state=seed)
    rows = np.arange(120)
    chosen = {
        "ten rows twice": np.append(rows, rows[:10]),
        "one row often": np.append(rows, np.repeat(5, 200)),
        "all rows, one row once more": np.append(np.repeat(rows, 3), 7),
    }
    tables = [(X[which], y[which]) for which in chosen.values()]
    for table, truth in [*tables, (X.round(0), y)]:
        data = pairwise_distances(table) if metric == "precomputed" else table
        model = EKNNClus(metric=metric, random_state=0).fit(data)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(truth, model.labels_) > 0.95
        np.testing.assert_allclose(
            model.predict_mass(data).masses, model.credal_partition_.masses, atol=1e-9
        )


def test_copies_are_evidence_as_often_as_they_occur():
    """Compare the masses with those of the objects, counted one by one."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [8.0], [9.0]])
    y = [0, 0, 0, 0, 1, 1]
    model = EKNNClus(n_neighbors=2, init=y, random_state=0).fit(X)
    # The neighbors of the fourth object are 1 away (three copies) and 7 away; it is also among the
    # neighbors of the last object.
    weights = Evidence(model.scale_, 2).weights(np.array([1.0, 7.0, 8.0]))
    weights *= np.array([3, 1, 1]) / (6 / 4)
    r = np.expm1([weights[0], weights[1:].sum()])
    expected = np.array([0, *r, 1]) / (1 + r.sum())
    np.testing.assert_allclose(model.credal_partition_.masses[3], expected)
    assert model.log_plausibility(X, y) < 0
    with pytest.raises(ValueError, match="labels must be the same for equal objects"):
        model.log_plausibility(X, [0, 0, 1, 1, 1, 1])


# ---- starts and restarts -------------------------------------------------------------------------


def test_given_labels_a_partition_and_a_number_of_clusters(blobs):
    X, y = blobs
    names = np.array(["a", "b", "c", "d"])[y]
    model = EKNNClus(init=names, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.n_clusters_ == 4
    assert len(model.n_clusters_found_) == 1
    np.testing.assert_array_equal(model.labels_, y)  # labels keep their order
    start = ECM(4, random_state=0).fit(X).credal_partition_
    again = EKNNClus(init=start, random_state=0).fit(X)
    assert adjusted_rand_score(again.labels_, start.labels) > 0.95
    assert EKNNClus(init=4, n_init=3, random_state=0).fit(X).n_clusters_ <= 4
    assert EKNNClus(init="distinct", n_init=3, random_state=0).fit(X).n_clusters_ >= 4


def test_objectives_are_compared_between_equal_numbers_of_clusters():
    numbers = np.array([3, 4, 4, 4, 2])
    objectives = np.array([-9.0, -7.0, -7.5, -7.5, -11.0])
    assert _method.select_search(numbers, objectives) == 2
    assert _method.select_search(numbers[:2], objectives[:2]) == 0
    assert _method.select_search(numbers[:1], objectives[:1]) == 0


def test_best_search_is_reported(blobs):
    X, _ = blobs
    model = EKNNClus(n_neighbors=12, n_init=6, random_state=1).fit(X)
    assert len(model.n_clusters_found_) == 6
    same = model.n_clusters_found_ == model.n_clusters_
    assert same.sum() == max(np.bincount(model.n_clusters_found_))
    assert np.all(np.diff(model.history_) <= 0)


def test_search_on_a_sample(monkeypatch):
    X, y = make_blobs(3000, 2, centers=6, cluster_std=0.4, random_state=5)
    monkeypatch.setattr(_method, "_SAMPLE_FROM", 2000)
    monkeypatch.setattr(_method, "_SAMPLE_SIZE", 600)
    model = EKNNClus(random_state=0).fit(X)
    assert model.n_neighbors_ == 50
    assert len(model.n_clusters_found_) == 10
    assert adjusted_rand_score(y, model.labels_) > 0.9  # two of the clusters overlap
    assert model.n_clusters_ == 6
    np.testing.assert_array_equal(
        model.labels_, EKNNClus(random_state=0, init="sample").fit(X).labels_
    )
    assert (
        len(
            EKNNClus(random_state=0, init=300, n_neighbors=60, n_init=2)
            .fit(X)
            .n_clusters_found_
        )
        == 2
    )


def test_directed_graph_of_the_published_program(blobs):
    X, y = blobs
    model = EKNNClus(neighbor_graph="directed", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert EKNNClus(neighbor_graph="mean", random_state=0).fit(X).converged_


# ---- new objects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed"])
def test_prediction_of_the_training_objects_agrees(metric):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(120, 2)).astype(float)  # many equal rows and ties
    X = np.vstack([X, -X[:5] - 0.0])
    if metric == "precomputed":
        data = pairwise_distances(X)
    else:
        data = X
    model = EKNNClus(metric=metric, n_neighbors=9, random_state=0).fit(data)
    partition = model.predict_mass(data)
    np.testing.assert_array_equal(partition.masses, model.credal_partition_.masses)
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    np.testing.assert_array_equal(model.labels_, model.credal_partition_.labels)
    some = rng.permutation(len(X))[:30]
    np.testing.assert_array_equal(model.predict(data[some]), model.labels_[some])
    if metric != "precomputed":
        for row in np.unique(X, axis=0):
            same = (row == X).all(axis=1)
            assert len(np.unique(model.credal_partition_.masses[same], axis=0)) == 1


def test_prediction_of_new_objects(blobs):
    X, y = blobs
    model = EKNNClus(n_neighbors=35, init=y[:200]).fit(X[:200])
    np.testing.assert_array_equal(y[200:], model.predict(X[200:]))
    D = EKNNClus(n_neighbors=35, init=y[:200], metric="precomputed").fit(
        pairwise_distances(X[:200])
    )
    np.testing.assert_allclose(
        D.predict_mass(pairwise_distances(X[200:], X[:200])).masses,
        model.predict_mass(X[200:]).masses,
        atol=1e-9,
    )


def test_square_matrix_and_sparse_graph_agree_with_attributes(blobs):
    X, _ = blobs
    K = 20
    plain = EKNNClus(n_neighbors=K, random_state=0).fit(X)
    square = EKNNClus(n_neighbors=K, random_state=0, metric="precomputed").fit(
        pairwise_distances(X)
    )
    without_self = kneighbors_graph(X, K, mode="distance")
    with_self = KNeighborsTransformer(n_neighbors=K, mode="distance").fit_transform(X)
    assert with_self.nnz == len(X) * (K + 1)
    graphs = [
        EKNNClus(random_state=0, metric="precomputed").fit(g)
        for g in (without_self, with_self)
    ]
    for model in (square, *graphs):
        assert adjusted_rand_score(model.labels_, plain.labels_) > 0.9
        assert model.scale_ == pytest.approx(plain.scale_)
    np.testing.assert_allclose(
        graphs[1].predict_mass(with_self).masses, graphs[1].credal_partition_.masses
    )
    fewer = EKNNClus(n_neighbors=5, random_state=0, metric="precomputed").fit(
        without_self
    )
    small = EKNNClus(n_neighbors=5, random_state=0).fit(X)
    assert fewer.scale_ == pytest.approx(small.scale_)
    new = kneighbors_graph(X, K, mode="distance")[:3]
    assert graphs[0].predict_mass(new).masses.shape == (3, graphs[0].n_clusters_ + 2)


def test_objects_without_neighbors_have_mass_on_the_frame():
    d = sparse.lil_matrix((6, 6))
    d[0, 1] = d[1, 2] = 1.0
    d[3, 4] = 1.0
    model = EKNNClus(metric="precomputed", random_state=0).fit(d.tocsr())
    assert model.n_clusters_ == 2
    np.testing.assert_allclose(model.credal_partition_.masses[5], [0, 0, 0, 1])
    assert len(set(model.labels_[:3])) == 1
    assert model.labels_[3] == model.labels_[4] != model.labels_[0]


@pytest.mark.long
def test_approximate_neighbors():
    pytest.importorskip("pynndescent")
    X, y = make_blobs(3000, 10, centers=8, random_state=0)
    near = EKNNClus(random_state=0, neighbors="approximate").fit(X)
    assert near.n_clusters_ == 8
    assert adjusted_rand_score(y, near.labels_) > 0.99


@pytest.mark.long
def test_a_million_objects():
    X, y = make_blobs(1_000_000, 2, centers=15, cluster_std=0.25, random_state=1)
    model = EKNNClus(random_state=0).fit(X)
    assert 10 <= model.n_clusters_ <= 20
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert np.all(np.diff(model.history_) <= 0)


def most_plausible_partition(weights):
    """Maximize the sum of w_ij r_ij over all equivalence relations r by integer linear programming."""
    n = len(weights)
    number = {pair: p for p, pair in enumerate(combinations(range(n), 2))}
    rows = []
    # Transitivity: if two of three pairs are together, so is the third.
    for i, j, k in combinations(range(n), 3):
        ends = number[i, j], number[j, k], number[i, k]
        for third in range(3):
            row = np.zeros(len(number))
            row[list(ends)] = 1
            row[ends[third]] = -1
            rows.append(row)
    # A small cost selects the finest solution.
    gains = np.array([weights[pair] or -1e-3 for pair in number])
    found = milp(
        -gains,
        integrality=1,
        bounds=(0, 1),
        constraints=LinearConstraint(np.array(rows), ub=1),
    )
    joined = [pair for pair, x in zip(number, found.x, strict=True) if x > 0.5]
    together = sparse.coo_matrix((np.ones(len(joined)), np.transpose(joined)), (n, n))
    return sparse.csgraph.connected_components(together, directed=False)[1]


@pytest.mark.parametrize("seed", range(3))
def test_log_plausibility_of_given_partitions(seed):
    """The most plausible partition by integer programming, and the log-plausibility of any partition by loops."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + 50])
    model = EKNNClus(n_neighbors=4, random_state=0).fit(X)
    D = pairwise_distances(X) + np.diag(np.full(10, np.inf))
    near = np.sort(D, axis=1)[:, 3:4] >= D
    w = np.where(
        near | near.T,
        -np.log1p(-np.exp(-((D / model.scale_) ** 2)).clip(1e-6, 1 - 1e-9)),
        0,
    )
    for labels in (rng.integers(3, size=10), model.labels_, np.arange(10)):
        apart = sum(
            w[i, j] for i, j in combinations(range(10), 2) if labels[i] != labels[j]
        )
        assert model.log_plausibility(X, labels) == pytest.approx(-apart)
    assert -model.objective_ - w.sum() / 2 == pytest.approx(
        model.log_plausibility(X, model.labels_), abs=1e-9
    )
    best = most_plausible_partition(w)
    # No pair of neighbors is separated.
    assert model.log_plausibility(X, best) == pytest.approx(0, abs=1e-9)
    assert adjusted_rand_score(best, model.labels_) == 1


def test_log_plausibility_matches_names_and_lengths(blobs):
    X = pd.DataFrame(blobs[0][:30], index=[f"object {i}" for i in range(30)])
    labels = pd.Series(np.arange(30) // 7, index=X.index)
    model = EKNNClus(n_neighbors=5)
    expected = model.log_plausibility(X.to_numpy(), labels.to_numpy())
    assert model.log_plausibility(X, labels[::-1]) == expected < -1
    with pytest.raises(ValueError, match="labels must contain 30 labels, got 29"):
        model.log_plausibility(X, labels.to_numpy()[1:])


def test_no_advice_for_equal_rows():
    """No parameter divides a single distinct row."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert EKNNClus(random_state=0).fit(np.ones((9, 2))).n_clusters_ == 1
