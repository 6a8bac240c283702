import copy
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import CCM, ECM
from dempster.cluster.ecm import Statistics
from dempster.datasets import load_butterfly
from dempster.partition import (
    consistency_index,
    credal_rand_index,
    pairwise_nonspecificity,
)
from tests.cluster.models import one_thread, prototypes

CASES = [
    "ecm_butterfly_full_a15_b11_d3",
    "ecm_butterfly_full_a1_b2_d10",
    "ecm_butterfly_simple_noomega_b2_d10",
    "ecm_fourclass_full_a1_b2_d10",
    "ecm_fourclass_pairs_noomega_a15_b2_d3",
    "ecm_fourclass_simple_a1_b2_d10",
    "ecm_iris_full_a15_b2_d10",
    "ecm_iris_givenpairs_a1_b2_d3",
    "ecm_iris_pairs_a1_b11_d1",
    "ecm_s2_simple_noomega_c15",
]


def exact(n_clusters, beta=2.0, **keywords):
    return ECM(n_clusters, beta=beta, max_iter=20_000, tol=1e-14, **keywords)


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    model = ECM(
        p["c"], focal_sets=family, alpha=p["alpha"], beta=p["beta"], delta=p["delta"], init=case["g0"],
        max_iter=20_000, tol=1e-13,
    ).fit(case["x"])  # fmt: skip
    case.assert_equal("mass", model.credal_partition_.masses)
    case.assert_equal("g", model.cluster_centers_)
    case.assert_equal("N", model.credal_partition_.nonspecificity_index())
    case.assert_equal("crit", model.objective_, rtol=1e-9)
    # the same iterations, not only the same end
    shared_length = min(len(model.history_), len(case["crit_trace"]))
    np.testing.assert_allclose(
        model.history_[:shared_length], case["crit_trace"][:shared_length], rtol=1e-12
    )


@pytest.mark.parametrize("name", ["ecm_predict_fourclass", "ecm_predict_iris"])
def test_masses_of_new_objects_agree_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    model = prototypes(
        FocalSets(case["F"]), case["g"], p["alpha"], p["beta"], p["delta"]
    )
    case.assert_equal("mass", model.masses(case["xnew"], one_thread))


def test_published_results_of_butterfly():
    X = load_butterfly().data
    model = exact(2, focal_sets="full", delta=5, random_state=0).fit(X)
    assert model.objective_ == pytest.approx(35.16001, abs=1e-5)
    cp = model.credal_partition_
    assert cp.masses[5, cp.focal_sets.index({0, 1})] == pytest.approx(0.9983, abs=1e-4)
    assert cp.masses[11, 0] == pytest.approx(0.7512, abs=1e-4)
    centers = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
    np.testing.assert_allclose(
        centers, [[-3.526843, 0.005658], [3.636537, 0.068879]], atol=1e-4
    )
    assert exact(2, focal_sets="full", delta=10, random_state=0).fit(
        X
    ).objective_ == pytest.approx(60.02538, abs=1e-5)
    truth = np.repeat([0, 1], 6)
    assert consistency_index(cp, truth) == pytest.approx(0.7274, abs=1e-4)
    assert credal_rand_index(cp, truth) == pytest.approx(0.5783, abs=1e-4)
    assert credal_rand_index(cp, truth, distance="belief") == pytest.approx(
        0.5846, abs=1e-4
    )
    assert pairwise_nonspecificity(cp) == pytest.approx(0.5097, abs=1e-4)


def test_published_results_of_fourclass(shared_data):
    X, y = shared_data("fourclass")
    family = FocalSets.pairs(4, omega=False)
    model = exact(4, focal_sets=family, delta=3.5, random_state=0).fit(X)
    assert model.objective_ == pytest.approx(301.900, abs=1e-3)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.728, abs=1e-3)
    cp = model.credal_partition_
    assert cp.nonspecificity_index() == pytest.approx(0.2515, abs=1e-4)
    assert consistency_index(cp, y) == pytest.approx(0.7949, abs=1e-3)
    assert credal_rand_index(cp, y) == pytest.approx(0.6229, abs=1e-3)
    assert credal_rand_index(cp, y, distance="belief") == pytest.approx(
        0.6292, abs=1e-3
    )
    assert pairwise_nonspecificity(cp) == pytest.approx(0.4508, abs=1e-3)
    model = exact(4, focal_sets="full", delta=np.sqrt(20), random_state=0).fit(X)
    assert model.objective_ == pytest.approx(265.379, abs=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
def test_iris_from_given_prototypes(metric):
    """Compare with earlier results of this implementation, on data of scikit-learn."""
    X = load_iris().data
    model = exact(
        3, focal_sets="full", delta=10, init=X[[8, 79, 113]], metric=metric
    ).fit(X)
    assert model.objective_ == pytest.approx(naive_objective(model, X), rel=1e-9)
    assert model.objective_ == pytest.approx(
        {"euclidean": 38.96437, "adaptive": 22.83348}[metric], abs=1e-4
    )


def naive_objective(model, X):
    """Return the published criterion, computed by loops."""
    cp = model.credal_partition_
    total = 0.0
    matrices = getattr(model, "metric_matrices_", None)
    for i, x in enumerate(X):
        for clusters, mass in zip(cp.focal_sets, cp.masses[i], strict=True):
            if not clusters:
                total += model.delta_**2 * mass**model.beta_
                continue
            gap = x - model.cluster_centers_[list(clusters)].mean(axis=0)
            if matrices is None:
                metric = np.eye(len(x))
            else:
                metric = matrices[list(clusters)].mean(axis=0)
            total += (
                len(clusters) ** model.alpha * mass**model.beta_ * (gap @ metric @ gap)
            )
    return total


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full"]),
    st.sampled_from(["euclidean", "adaptive"]),
    st.sampled_from([1.1, 1.5, 2.0, 3.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
)
def test_objective_never_increases_and_masses_are_valid(
    seed, family, metric, beta, alpha
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 3 * rng.integers(0, 3, (40, 1))
    model = ECM(
        3,
        focal_sets=family,
        metric=metric,
        beta=beta,
        alpha=alpha,
        n_init=1,
        max_iter=30,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    history = model.history_
    assert np.all(np.diff(history) <= 1e-9 * history[:-1])
    masses = model.credal_partition_.masses
    assert masses.min() >= 0
    assert masses.max() <= 1
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("beta", [1.5, pytest.param(2.0, marks=pytest.mark.long)])
def test_result_is_a_local_minimum(metric, beta):
    """The result is a stationary point of the published criterion in masses and prototypes."""
    X, _ = make_blobs(60, 2, centers=3, random_state=1)
    model = exact(
        3, focal_sets="full", metric=metric, beta=beta, n_init=1, random_state=0
    ).fit(X)
    best = naive_objective(model, X)
    rng = np.random.default_rng(0)
    moved = copy.copy(model)
    for _ in range(20):
        moved.cluster_centers_ = model.cluster_centers_ + 1e-3 * rng.normal(size=(3, 2))
        assert naive_objective(moved, X) >= best - 1e-9
    for _ in range(20):
        shifted = model.credal_partition_.masses + 1e-3 * rng.normal(
            size=model.credal_partition_.masses.shape
        )
        shifted = np.clip(shifted, 0, None)
        moved.cluster_centers_ = model.cluster_centers_
        moved.credal_partition_ = CredalPartition(
            shifted / shifted.sum(axis=1, keepdims=True), model.focal_sets_
        )
        assert naive_objective(moved, X) >= best - 1e-9


def test_translation_rotation_and_scale_have_no_effect():
    X, _ = make_blobs(120, 2, centers=3, random_state=4)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    start = X[[0, 40, 80]]
    a = exact(3, init=start, random_state=0).fit(X).credal_partition_
    b = (
        exact(3, init=100 * start @ turn + 1000, random_state=0)
        .fit(100 * X @ turn + 1000)
        .credal_partition_
    )
    assert credal_rand_index(a, b) > 1 - 1e-4
    np.testing.assert_allclose(a.masses, b.masses, atol=1e-3)


def test_selected_pairs_are_mutual_neighbors():
    centers = np.array([[0, 0], [4, 0], [30, 0], [34, 0], [0, 50]])
    X, _ = make_blobs(600, 2, centers=centers, random_state=0)
    model = ECM(5, focal_sets="selected", random_state=0).fit(X)
    pairs = [s for s in model.focal_sets_ if len(s) == 2]
    near = {
        tuple(
            sorted(
                np.argsort(((model.cluster_centers_ - c) ** 2).sum(axis=1))[:2].tolist()
            )
        )
        for c in centers[:4]
    }
    assert near <= set(pairs)
    assert len(pairs) <= 2
    simple = ECM(5, focal_sets="simple", random_state=0, delta=model.delta_).fit(X)
    assert model.objective_ <= simple.objective_ + 1e-9  # more sets can only help


@pytest.mark.parametrize(
    "family",
    ["auto", "simple", "pairs", "full", "selected", FocalSets.full(4, omega=False)],
)
def test_all_families(family):
    X, y = make_blobs(
        200, 2, centers=[[0, 0], [9, 1], [1, 10], [20, 12]], random_state=1
    )
    model = ECM(4, focal_sets=family, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    if isinstance(family, FocalSets):
        assert model.focal_sets_ == family


@pytest.mark.parametrize(
    "n_clusters", [1, 2, 4, pytest.param(7, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
def test_auto_adds_neighbor_pairs_to_the_fit_of_single_clusters(n_clusters, metric):
    """The empty set and the pairs of neighbors are added.

    Prototypes, metrics and objective do not change.
    """
    X, _ = make_blobs(200, 2, centers=5, random_state=1)
    auto = ECM(n_clusters, metric=metric, n_init=1, random_state=0).fit(X)
    alone = FocalSets.simple(n_clusters, empty=False, omega=False)
    single = ECM(
        n_clusters, metric=metric, focal_sets=alone, n_init=1, random_state=0
    ).fit(X)
    assert auto.focal_sets_.empty_index == 0
    assert (auto.focal_sets_.cardinality == 2).any() == (n_clusters > 1)
    np.testing.assert_array_equal(auto.cluster_centers_, single.cluster_centers_)
    np.testing.assert_array_equal(auto.history_, single.history_)
    assert auto.objective_ == single.objective_
    fixed = prototypes(
        auto.focal_sets_, auto.cluster_centers_, auto.alpha, auto.beta_, auto.delta_,
        getattr(auto, "metric_matrices_", None),
    )  # fmt: skip
    np.testing.assert_allclose(
        fixed.masses(X, one_thread), auto.credal_partition_.masses, atol=1e-9
    )


def test_adaptive_metric_finds_elongated_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [
            rng.normal(size=(150, 2)) * [6, 0.4],
            rng.normal(size=(150, 2)) * [6, 0.4] + [0, 4],
        ]
    )
    y = np.repeat([0, 1], 150)
    adaptive = ECM(2, metric="adaptive", random_state=0).fit(X)
    assert adjusted_rand_score(y, adaptive.labels_) > 0.95
    np.testing.assert_allclose(np.linalg.det(adaptive.metric_matrices_), 1, rtol=1e-6)
    assert adjusted_rand_score(y, ECM(2, random_state=0).fit(X).labels_) < 0.5


def test_adaptive_metric_with_a_constant_column():
    X, y = make_blobs(100, 2, centers=[[0, 0], [6, 6]], random_state=0)
    model = ECM(2, metric="adaptive", random_state=0).fit(
        np.column_stack([X, np.zeros(100)])
    )
    assert np.isfinite(model.credal_partition_.masses).all()
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_starting_partition():
    X, y = make_blobs(90, 2, centers=3, random_state=0)
    start = CredalPartition.from_hard(y)
    for family in ("auto", "pairs"):
        model = ECM(3, focal_sets=family, init=start, random_state=0).fit(X)
        assert (model.labels_ == y).mean() > 0.8  # keeps the numbering of the start
    continued = ECM(
        3, focal_sets="pairs", init=model.credal_partition_, delta=model.delta_
    ).fit(X)
    assert continued.n_iter_ <= 3
    with pytest.raises(ValueError, match="partition of 90 objects into 3 clusters"):
        ECM(3, init=start[:50]).fit(X)


def test_restarts_improve_random_starts():
    X, _ = make_blobs(300, 2, centers=6, random_state=3)
    one = ECM(6, init="random", n_init=1, delta=10, random_state=0).fit(X)
    many = ECM(6, init="random", n_init=10, delta=10, random_state=0).fit(X)
    assert many.objective_ <= one.objective_


def test_large_data_start_on_a_sample():
    X, y = make_blobs(50_000, 3, centers=5, random_state=0)
    model = ECM(5, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert len(model.credal_partition_) == 50_000


def test_progress_bar_only_if_verbose(capsys):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    ECM(2, n_init=2, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")
    ECM(2, n_init=2, random_state=0, verbose=1).fit(X)
    assert "ECM" in capsys.readouterr().err


def test_metadata_describe_the_fit():
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    about = ECM(2, beta=2.0, random_state=7).fit(X).credal_partition_.metadata
    assert about["method"] == "ECM"
    assert about["random_state"] == 7
    assert about["converged"]
    assert about["parameters"]["beta"] == 2.0
    assert about["parameters"]["delta"] == "auto"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must"),
        ({"n_clusters": 2.0}, "n_clusters must"),
        ({"alpha": -1}, "alpha must"),
        ({"beta": 1}, "beta must"),
        ({"delta": 0}, "delta must"),
        ({"delta": np.nan}, "delta must"),
        ({"metric": "manhattan"}, "metric must"),
        ({"focal_sets": "all"}, "focal_sets must"),
        ({"focal_sets": FocalSets.simple(3)}, "focal_sets must"),
        (
            {"focal_sets": FocalSets.from_sets(2, [(), (0,), (0, 1)])},
            "every single cluster",
        ),
        ({"init": "middle"}, "init must"),
        ({"init": np.zeros((3, 2))}, r"init must"),
        ({"init": np.full((2, 2), np.nan)}, "init must"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
    ],
)
def test_invalid_parameters(change, message):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    with pytest.raises(ValueError, match=message):
        ECM(**{"n_clusters": 2, **change}).fit(X)


def test_invalid_data():
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    for value in (np.nan, np.inf):
        broken = X.copy()
        broken[3, 1] = value
        with pytest.raises(ValueError, match="NaN|infinity"):
            ECM(2).fit(broken)
    with pytest.raises(
        ValueError, match="n_clusters=3 is more than the 2 different objects"
    ):
        ECM(3).fit(np.repeat([[0.0, 0], [1, 1]], 10, axis=0))
    with pytest.raises(
        ValueError, match="n_clusters=2 is more than the 1 different objects"
    ):
        ECM(2).fit([[0.0], [1.0], [0.0]], sample_weight=[1, 0, 2])


def test_duplicates_and_as_many_clusters_as_objects():
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], 10, axis=0)
    model = ECM(3, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert np.isfinite(model.credal_partition_.masses).all()
    few = ECM(3, random_state=0).fit(X[[0, 10, 20]])
    assert sorted(few.labels_.tolist()) == [0, 1, 2]
    one = ECM(1, random_state=0).fit(X)
    assert (one.labels_ == 0).all()


@pytest.mark.parametrize("method", [ECM, CCM])
def test_large_cluster_is_not_divided(method):
    """The objective is smaller if the large cluster is divided and small clusters are merged."""
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(6), [900, 250, 150, 80, 40, 30])
    X = rng.uniform(-11, 11, (6, 2))[y] + rng.normal(size=(len(y), 2))
    model = method(6, random_state=0).fit(X)
    smallest = method(
        6, focal_sets=FocalSets.simple(6, empty=False, omega=False), random_state=0
    ).fit(X)
    assert smallest.objective_ < model.objective_
    assert (
        adjusted_rand_score(y, model.labels_)
        > 0.95
        > adjusted_rand_score(y, smallest.labels_)
    )


def test_prototype_of_a_cluster_without_mass_does_not_move():
    X = np.array([[0.0, 1.0], [2.0, 1.0], [9.0, 9.0], [11.0, 9.0]])
    family = FocalSets.simple(3, empty=False, omega=False)
    centers = np.array([[1.0, 0.0], [5.0, -7.0], [10.0, 8.0]])
    model = prototypes(family, centers, 1.0, 2.0, 1.0)
    powers = np.array([[1.0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]])
    sums = Statistics(0.0, powers.sum(axis=0), X.T @ powers, np.empty((0, 0, 3)))
    moved = model.update(sums).centers
    np.testing.assert_allclose(moved, [[1, 1], [5, -7], [10, 9]])


# ---- cosine --------------------------------------------------------------------------------------

DIRECTIONS = np.array([[1.0, 0, 0, 0], [0, 1, 1, 0], [0, 0, -1, 2]])


def rows_on_rays(seed=0):
    """Return rows of very different lengths around three directions, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 50)
    units = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1)[:, None]
    rows = units[y] + 0.1 * rng.normal(size=(150, 4))
    return rows * rng.uniform(0.01, 100, size=(150, 1)), y


def test_cosine_agrees_with_a_naive_implementation():
    X, y = rows_on_rays()
    model = ECM(3, metric="cosine", tol=1e-12, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert adjusted_rand_score(y, ECM(3, random_state=0).fit(X).labels_) < 0.9
    U = X / np.linalg.norm(X, axis=1)[:, None]
    V = U[[0, 50, 100]] + 0.01
    for _ in range(100):
        squares = ((U[:, None] - V) ** 2).sum(axis=2)
        masses = squares ** (-1 / (model.beta_ - 1))
        masses /= masses.sum(axis=1, keepdims=True)
        V = (masses**model.beta_).T @ U
        V /= np.linalg.norm(V, axis=1)[:, None]
    order = model.labels_[[0, 50, 100]]
    np.testing.assert_allclose(model.cluster_centers_[order], V, atol=1e-6)


def test_cosine_does_not_depend_on_the_lengths_of_rows():
    X, _ = rows_on_rays(1)
    model = ECM(3, metric="cosine", focal_sets="full", random_state=0).fit(X)
    lengths = np.geomspace(1e-70, 1e70, len(X))[:, None]
    other = ECM(3, metric="cosine", focal_sets="full", random_state=0).fit(X * lengths)
    np.testing.assert_allclose(
        other.cluster_centers_, model.cluster_centers_, atol=1e-9
    )
    expected = model.credal_partition_.masses
    np.testing.assert_allclose(
        model.predict_mass(X * lengths).masses, expected, atol=1e-9
    )
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    blocks = [X[:70], X[70:] * lengths[70:]]
    lazy = ECM(3, metric="cosine", focal_sets="full", random_state=0).fit(blocks)
    np.testing.assert_allclose(
        lazy.credal_partition_.compute().masses, expected, atol=1e-6
    )


def test_cosine_of_a_stream():
    X, y = rows_on_rays(2)
    order = np.random.default_rng(0).permutation(len(X))
    model = ECM(3, metric="cosine", random_state=0)
    for rows in np.array_split(order, 3):
        model.partial_fit(X[rows])
    assert adjusted_rand_score(y, model.predict(X)) == 1
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)


@pytest.mark.parametrize("as_blocks", [False, True])
def test_cosine_of_rows_of_zeros(as_blocks):
    X, _ = rows_on_rays()
    bad = X.copy()
    bad[7] = 0
    model = ECM(3, metric="cosine", n_init=1, random_state=0)
    with pytest.raises(ValueError, match="rows of zeros if metric='cosine', got row 7"):
        model.fit([bad] if as_blocks else bad)
    with pytest.raises(ValueError, match="got row 0"):
        model.fit(X).predict(bad[7:9])


def test_cosine_of_few_directions():
    rays = np.outer(np.arange(1, 9), [1.0, 2.0])
    with pytest.raises(ValueError, match="different objects"):
        ECM(2, metric="cosine").fit(rays)
