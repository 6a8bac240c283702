import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.cluster import ECM, RECM, BeliefPeaks, recm
from dempster.cluster._mass_step import MassStep
from dempster.cluster._medoids import pair_quantile
from dempster.cluster._starts import draw_distant_objects
from dempster.cluster.recm import RelationalObjects, WeightedMeans, smallest_eigenvalue
from dempster.partition import credal_rand_index


def squared(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def non_euclidean(n, seed=0):
    D = np.random.default_rng(seed).random((n, n))
    D += D.T
    np.fill_diagonal(D, 0)
    return D


def blobs(n=120, seed=1, centers=3):
    return make_blobs(n, 3, centers=centers, random_state=seed)


@pytest.mark.parametrize(
    "name", ["recm_butterfly_full", "recm_protein_pairs_noomega", "recm_protein_simple"]
)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    model = RECM(
        p["c"], focal_sets=FocalSets(case["F"]), metric="precomputed", alpha=p["alpha"], beta=p["beta"],
        delta=p["delta"], init=case["m0"], max_iter=5000, tol=1e-15,
    ).fit(case["D"])  # fmt: skip
    assert model.shift_ == 0
    case.assert_equal("mass", model.credal_partition_.masses)
    case.assert_equal("N", model.credal_partition_.nonspecificity_index())
    case.assert_equal("crit", model.objective_)
    same = case["y_pl_tied"] == 0
    case.assert_equal("y_pl", model.labels_, where=same)
    length = min(len(model.history_), len(case["crit_trace"]))
    np.testing.assert_allclose(
        model.history_[:length], case["crit_trace"][:length], rtol=1e-9
    )


@pytest.mark.parametrize("family", ["simple", "pairs", "full"])
@pytest.mark.parametrize(("alpha", "beta"), [(1, 2), (0.5, 1.3)])
def test_equals_ecm_on_squared_euclidean_distances(family, alpha, beta):
    X, _ = blobs()
    settings_ = {
        "focal_sets": family,
        "alpha": alpha,
        "beta": beta,
        "delta": 4,
        "max_iter": 5000,
        "tol": 1e-14,
    }
    start = [0, 40, 80]
    ecm = ECM(3, init=X[start], **settings_).fit(X)
    for data, metric in (
        (squared(X), "precomputed"),
        (X, "euclidean"),
        (X, "sqeuclidean"),
    ):
        relational = RECM(3, metric=metric, init=start, **settings_).fit(data)
        np.testing.assert_allclose(
            relational.credal_partition_.masses, ecm.credal_partition_.masses, atol=1e-5
        )
        length = min(len(relational.history_), len(ecm.history_))
        np.testing.assert_allclose(
            relational.history_[:length], ecm.history_[:length], rtol=1e-8
        )
        np.testing.assert_allclose(
            relational.prototype_weights_ @ X, ecm.cluster_centers_, atol=1e-5
        )
        assert relational.shift_ == 0


def test_default_starts_reach_the_objective_of_ecm():
    X = load_iris().data
    for seed in range(3):
        ecm = ECM(3, beta=1.5, delta=3, random_state=seed).fit(X)
        relational = RECM(3, delta=3, random_state=seed).fit(X)
        assert relational.objective_ == pytest.approx(ecm.objective_, rel=1e-4)
        assert (
            credal_rand_index(relational.credal_partition_, ecm.credal_partition_)
            > 0.99
        )


def inline(function, arguments):
    return [function(*each) for each in arguments]


def test_distances_equal_those_of_double_centering():
    """The paper computes the distances from the Gram matrix."""
    rng = np.random.default_rng(0)
    D = non_euclidean(20)
    family = FocalSets.full(3)
    P = rng.random((3, 20))
    P /= P.sum(axis=1, keepdims=True)
    for shift in (0.0, 0.7):
        means = WeightedMeans(MassStep(family, 1.0, 2.0, 1.0, 0.0), P, shift=shift)
        costs, _ = means.costs(D, P.T, inline)
        Q = np.eye(20) - 1 / 20
        G = -0.5 * Q @ (D + shift * (1 - np.eye(20))) @ Q
        for j, members in enumerate(s for s in family if s):
            p = P[list(members)].mean(axis=0)
            np.testing.assert_allclose(
                costs[:, j], np.diag(G) - 2 * G @ p + p @ G @ p, atol=1e-12
            )


@pytest.mark.parametrize("n", [60, 700])
def test_shift_by_the_smallest_eigenvalue_is_euclidean(n):
    D = non_euclidean(n)
    smallest = smallest_eigenvalue(D)
    Q = np.eye(n) - 1 / n
    values = np.linalg.eigvalsh(-0.5 * Q @ D @ Q)
    assert smallest == pytest.approx(values[0], rel=1e-5)
    shifted = np.linalg.eigvalsh(-0.5 * Q @ (D - 2 * smallest * (1 - np.eye(n))) @ Q)
    assert shifted[0] > -1e-8
    X = np.random.default_rng(0).normal(size=(n, 3))
    assert smallest_eigenvalue(squared(X)) == 0
    assert smallest_eigenvalue(squared(X).astype(np.float32)) == 0


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full", "selected"]),
    st.sampled_from([1.1, 1.5, 2.0, 3.0]),
    st.sampled_from([0.0, 1.0, 2.0]),
    st.sampled_from(["points", "non_euclidean", "cityblock"]),
)
def test_objective_never_increases_and_masses_are_valid(
    seed, family, beta, alpha, kind
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 3 * rng.integers(0, 3, (40, 1))
    D = {
        "points": squared(X),
        "non_euclidean": non_euclidean(40, seed),
        "cityblock": pairwise_distances(X, metric="cityblock") ** 2,
    }
    for correction in ("auto", "shift", "clip"):
        model = RECM(
            3, focal_sets=family, metric="precomputed", beta=beta, alpha=alpha, correction=correction, n_init=2,
            max_iter=30, tol=0, random_state=seed,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(D[kind])
        if correction != "clip":
            assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))
        masses = model.credal_partition_.masses
        assert masses.min() >= 0
        assert masses.max() <= 1
        np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


def test_corrections_of_non_euclidean_dissimilarities():
    D = non_euclidean(50)
    shift = RECM(3, metric="precomputed", correction="shift", random_state=0).fit(D)
    assert shift.shift_ == pytest.approx(-2 * smallest_eigenvalue(D))
    auto = RECM(3, metric="precomputed", random_state=0).fit(D)
    assert 0 < auto.shift_ <= shift.shift_
    assert (
        RECM(3, metric="precomputed", correction="clip", random_state=0).fit(D).shift_
        == 0
    )
    given = RECM(
        3, metric="precomputed", correction="shift", delta=2, random_state=0
    ).fit(D)
    assert given.delta_**2 == pytest.approx(4 + given.shift_ / 2)


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", "canberra"])
def test_other_metrics_find_the_clusters(metric):
    X, y = make_blobs(150, 4, centers=3, random_state=1)
    model = RECM(3, metric=metric, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_allclose(
        model.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-9
    )
    given = RECM(3, metric="precomputed", square=True, random_state=0).fit(
        pairwise_distances(X, metric=metric)
    )
    np.testing.assert_allclose(
        given.credal_partition_.masses, model.credal_partition_.masses, atol=1e-6
    )


def test_callable_metric_and_mixed_tables():
    X, y = blobs(60)
    a = RECM(3, metric=lambda u, v: float(np.abs(u - v).sum()), random_state=0).fit(X)
    b = RECM(3, metric="cityblock", random_state=0).fit(X)
    np.testing.assert_allclose(
        a.credal_partition_.masses, b.credal_partition_.masses, atol=1e-6
    )
    table = pd.DataFrame(
        {"size": X[:, 0], "colour": np.array(["red", "green", "blue"])[y]},
        index=list(range(5, 65)),
    )
    table.loc[7, "size"] = np.nan
    model = RECM(3, metric="gower", random_state=0).fit(table)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_allclose(
        model.predict_mass(table).masses, model.credal_partition_.masses, atol=1e-9
    )
    assert model.credal_partition_.index[2] == 7


def test_new_objects():
    X, _ = blobs(150)
    old = X[:120]
    new = X[120:]
    start = [0, 40, 80]
    model = RECM(
        3, metric="precomputed", delta=4, init=start, tol=1e-14, max_iter=5000
    ).fit(squared(old))
    rows = ((new[:, None] - old[None]) ** 2).sum(axis=2)
    ecm = ECM(3, beta=1.5, delta=4, init=old[start], tol=1e-14, max_iter=5000).fit(old)
    np.testing.assert_allclose(
        model.predict_mass(rows).masses, ecm.predict_mass(new).masses, atol=1e-5
    )
    np.testing.assert_array_equal(model.predict(rows), ecm.predict(new))
    assert model.predict_mass(rows + 1e6).outliers.tolist() == list(range(30))
    for invalid in (rows[:, :7], -rows):
        with pytest.raises(ValueError, match="X"):
            model.predict(invalid)


@pytest.mark.parametrize("correction", ["auto", "shift", "clip"])
def test_predicting_the_training_objects_gives_their_masses(correction):
    # the second has equal objects
    for D in (non_euclidean(40), np.kron(non_euclidean(20), np.ones((2, 2)))):
        model = RECM(
            3, metric="precomputed", correction=correction, random_state=0
        ).fit(D)
        np.testing.assert_allclose(
            model.predict_mass(D).masses, model.credal_partition_.masses, atol=1e-12
        )
        np.testing.assert_array_equal(model.predict(D), model.labels_)


@pytest.mark.parametrize("kind", ["points", "non_euclidean"])
def test_permuting_the_objects_permutes_the_result(kind):
    if kind == "points":
        D = squared(blobs(90)[0])
    else:
        D = non_euclidean(90)
    order = np.random.default_rng(0).permutation(90)
    a = (
        RECM(3, metric="precomputed", random_state=0, tol=1e-10)
        .fit(D)
        .credal_partition_
    )
    b = (
        RECM(3, metric="precomputed", random_state=0, tol=1e-10)
        .fit(D[np.ix_(order, order)])
        .credal_partition_
    )
    np.testing.assert_allclose(b.masses, a.masses[order], atol=1e-5)


def test_quantile_of_pairs():
    D = squared(np.arange(8.0)[:, None])
    off = np.sort(D[~np.eye(8, dtype=bool)])
    assert pair_quantile(D, np.ones(8), 0.95) == off[int(np.ceil(0.95 * 56)) - 1]
    assert pair_quantile(np.zeros((3, 3)), np.ones(3), 0.95) == 0


def test_far_objects():
    X, y = make_blobs(90, 2, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    for seed in range(10):
        chosen = draw_distant_objects(
            squared(X).__getitem__,
            np.ones(90),
            np.arange(90),
            3,
            np.random.RandomState(seed),
        )
        assert sorted(y[chosen].tolist()) == [0, 1, 2]


def test_new_objects_in_blocks(monkeypatch):
    X, _ = blobs(150)
    model = RECM(3, random_state=0).fit(X[:120])
    together = model.predict_mass(X[120:]).masses
    monkeypatch.setattr(recm, "MAX_BLOCK_CELLS", 1000)
    np.testing.assert_allclose(model.predict_mass(X[120:]).masses, together, atol=1e-12)


def test_starts_on_a_sample(monkeypatch):
    monkeypatch.setattr(recm, "MAX_UNSAMPLED_ROWS", 200)
    monkeypatch.setattr(recm, "SAMPLE_SIZE", 200)
    X, y = make_blobs(600, 3, centers=4, random_state=3)
    D = squared(X)
    model = RECM(4, metric="precomputed", random_state=0).fit(D)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    single = RECM(4, metric="precomputed", random_state=0).fit(D.astype(np.float32))
    assert single.credal_partition_.masses.dtype == np.float32
    np.testing.assert_allclose(
        single.credal_partition_.masses, model.credal_partition_.masses, atol=1e-2
    )
    weighted = RECM(4, metric="precomputed", random_state=0).fit(
        D, sample_weight=np.arange(600) % 3
    )
    assert adjusted_rand_score(y, weighted.labels_) > 0.95


@pytest.mark.parametrize(
    "family",
    ["auto", "simple", "pairs", "full", "selected", FocalSets.full(4, omega=False)],
)
def test_all_families(family):
    X, y = make_blobs(
        150, 2, centers=[[0, 0], [9, 1], [1, 10], [20, 12]], random_state=1
    )
    model = RECM(4, focal_sets=family, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    if isinstance(family, FocalSets):
        assert model.focal_sets_ == family


def test_starts():
    X, y = blobs(90)
    D = squared(X)
    random = RECM(3, metric="precomputed", init="random", random_state=0).fit(D)
    assert adjusted_rand_score(y, random.labels_) > 0.9
    partition = CredalPartition.from_hard(y)
    for family in ("auto", "pairs"):
        warm = RECM(3, focal_sets=family, metric="precomputed", init=partition).fit(D)
        np.testing.assert_array_equal(warm.labels_, y)
    for init in ("belief-peaks", BeliefPeaks()):
        peaks = RECM(3, metric="precomputed", init=init).fit(D)
        assert adjusted_rand_score(y, peaks.labels_) > 0.9
    again = RECM(
        3, focal_sets="pairs", metric="precomputed", init=warm.credal_partition_.masses
    ).fit(D)
    assert again.n_iter_ <= 3
    np.testing.assert_allclose(
        again.credal_partition_.masses, warm.credal_partition_.masses, atol=1e-3
    )
    first = RECM(3, metric="precomputed", init=partition).fit(D)
    again = RECM(3, metric="precomputed", init=first.credal_partition_).fit(D)
    np.testing.assert_array_equal(again.labels_, first.labels_)


@pytest.mark.parametrize(
    "invalid",
    [
        {"focal_sets": "some"},
        {"focal_sets": FocalSets.full(3)},
        {"focal_sets": FocalSets([[0, 0], [1, 0], [1, 1]])},
        {"square": "yes"},
        {"correction": "none"},
        {"init": "medoids"},
        {"init": [0, 30]},
        {"init": np.zeros((3, 2)), "focal_sets": "pairs"},
        {"init": CredalPartition.from_hard([0, 1])},
        {"n_clusters": 0},
        {"n_clusters": 31},
        {"alpha": -1},
        {"beta": 1},
        {"delta": 0},
        {"metric": 3},
    ],
)
def test_invalid_parameters(invalid):
    D = squared(blobs(30)[0])
    with pytest.raises(InvalidInputError, match=next(iter(invalid))):
        RECM(**{"n_clusters": 2, "metric": "precomputed", **invalid}).fit(D)


def test_invalid_dissimilarities():
    D = squared(blobs(30)[0])
    infinite = D.copy()
    asymmetric = D.copy()
    infinite[1, 2] = infinite[2, 1] = np.inf
    asymmetric[0, 1] += 9
    for X, match in (
        (D[:, :5], "square matrix"),
        (-D, "Negative values"),
        (np.where(D > 2, np.nan, D), "NaN"),
        (infinite, "infinity"),
        (asymmetric, r"X\[0, 1\]"),
        (D + 1, "zero diagonal"),
        (np.zeros((5, 5)), "n_clusters=2"),
        (D * 1e200, "^X must"),
    ):
        with pytest.raises(ValueError, match=match):
            RECM(2, metric="precomputed", square=True).fit(X)
    assert (
        RECM(2, metric="precomputed", symmetrize=True, random_state=0)
        .fit(asymmetric)
        .converged_
    )


def test_small_and_degenerate_data():
    assert (RECM(1, random_state=0).fit(np.zeros((4, 2))).labels_ == 0).all()
    few = RECM(3, random_state=0).fit([[0.0, 0], [5, 5], [9, 0]])
    assert sorted(few.labels_.tolist()) == [0, 1, 2]
    repeated = RECM(3, random_state=0).fit(
        np.repeat([[0.0, 0], [5, 5], [9, 0]], 10, axis=0)
    )
    assert len(np.unique(repeated.labels_)) == 3
    assert np.isfinite(repeated.credal_partition_.masses).all()
    with pytest.raises(InvalidInputError, match="n_clusters=3"):
        RECM(3).fit(np.repeat([[0.0, 0], [1, 1]], 10, axis=0))


def test_default_beta_depends_on_the_number_of_dimensions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 40))
    D = squared(X)
    weights = np.where(np.arange(150) < 30, 2.0, 1.0)
    order = np.arange(150)
    Q = np.eye(150) - 1 / 150
    values = np.linalg.eigvalsh(-0.5 * Q @ D @ Q)
    assert RelationalObjects(D, np.ones(len(D)), order).dimension == pytest.approx(
        values.sum() ** 2 / (values**2).sum()
    )
    twice = np.r_[0:150, 0:30]
    repeated = RelationalObjects(D[np.ix_(twice, twice)], np.ones(180), np.arange(180))
    assert RelationalObjects(D, weights, order).dimension == pytest.approx(
        repeated.dimension
    )
    assert RECM(2, random_state=0).fit(X[:, :2]).beta_ == 1.5
    assert RECM(2, random_state=0).fit(X).beta_ < 1.1


def test_defaults_on_protein(reference):
    case = reference("recm_protein_simple")
    model = RECM(4, metric="precomputed", random_state=0).fit(case["D"])
    # With beta=1.5, prototypes coincide, and two clusters are empty.
    assert len(np.unique(model.labels_)) == 4
