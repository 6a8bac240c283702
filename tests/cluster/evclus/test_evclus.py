import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import CredalPartition, FocalSets
from dempster.cluster import EVCLUS, BeliefPeaks
from dempster.constraints import Constraints
from dempster.datasets import load_butterfly
from dempster.dissimilarity.transform import random_pairs, to_conflict
from tests.cluster.evclus.helpers import blobs, ecoli, evclus, iris, masses_of, sampled

# ---- published results ---------------------------------------------------------------------------


def test_butterfly(reference):
    model = EVCLUS(2, focal_sets="full", d0=11, random_state=0).fit(
        load_butterfly().data
    )
    assert model.stress_ == pytest.approx(0.00478, abs=5e-6)
    assert model.loss_ == pytest.approx(0.00171, abs=5e-6)
    assert model.objective_ == pytest.approx(model.stress_, rel=1e-9)
    # Denoeux (2021), Table 1: empty set, first and second cluster, both
    table = np.array([
        [0.11, 0, 0.89, 0], [0.082, 0, 0.75, 0.17], [0, 0, 0.83, 0.17], [0.082, 0, 0.75, 0.17], [0, 0.077, 0.56, 0.36],
        [0, 0.29, 0.30, 0.42], [0, 0.55, 0.079, 0.37], [0.082, 0.73, 0, 0.18], [0, 0.81, 0, 0.19],
        [0.082, 0.73, 0, 0.18], [0.11, 0.87, 0, 0.02], [0.97, 0.030, 0, 0],
    ])  # fmt: skip
    masses = masses_of(model)
    if masses[0, 1] > 0.5:
        masses = masses[:, [0, 2, 1, 3]]
    np.testing.assert_allclose(masses, table, atol=0.005)
    assert model.credal_partition_.outliers.tolist() == [11]
    assert model.credal_partition_.ambiguous.tolist() == [5]


def test_protein(shared_data):
    D, y = shared_data("protein")
    model = EVCLUS(
        4, metric="precomputed", focal_sets="simple", d0_quantile=1.0, random_state=0
    ).fit(D)
    assert model.d0_ == D.max()
    assert model.stress_ == pytest.approx(0.00236, abs=5e-6)
    # The objective includes the equal masses of pairs at dissimilarity zero.
    assert model.objective_ == pytest.approx(model.stress_, rel=1e-12)
    np.testing.assert_array_equal(model.predict_mass(D).masses, masses_of(model))
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.9888, abs=5e-5)


def test_fourclass(shared_data):
    X, y = shared_data("fourclass")
    model = EVCLUS(
        4, focal_sets="simple", sampling="all", d0_quantile=0.9, random_state=0
    ).fit(X)
    assert model.loss_ == pytest.approx(0.01079, abs=5e-6)
    assert model.stress_ == pytest.approx(0.0240, abs=5e-5)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(0.729, abs=5e-4)
    assert model.credal_partition_.nonspecificity_index() == pytest.approx(
        0.145, abs=5e-4
    )


def test_fourclass_with_sampled_pairs(shared_data):
    X, y = shared_data("fourclass")
    pairs, count = random_pairs(400, 100, np.random.default_rng(0))
    times = count.astype(int)
    d = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    D = sparse.coo_matrix(
        (np.repeat(d, times), np.repeat(pairs, times, axis=0).T), shape=(400, 400)
    )
    model = EVCLUS(
        4,
        metric="precomputed",
        focal_sets="pairs",
        d0_quantile=0.9,
        n_init=2,
        random_state=0,
    ).fit(D)
    assert 0.0046 <= model.loss_ <= 0.0050  # over the sampled pairs
    same = EVCLUS(
        4,
        sampling="random",
        focal_sets="pairs",
        d0_quantile=0.9,
        n_init=2,
        random_state=0,
    ).fit(X)
    assert same.loss_ == pytest.approx(0.00495, abs=5e-5)  # over all pairs
    for fit in (model, same):
        assert 0.70 < adjusted_rand_score(y, fit.labels_) < 0.76


@pytest.mark.parametrize(
    ("name", "rtol", "atol"),
    [
        ("kevclus_butterfly_full_alldist", 1e-6, 1e-4),
        # The reference stopped before convergence.
        ("kevclus_protein_simple_alldist", 3e-3, None),
        ("kcevclus_bananas_full_alldist", 1e-6, 3e-4),
    ],
)
def test_published_program_from_same_start(reference, name, rtol, atol):
    case = reference(name)
    p = case.parameters
    n = len(case["D"])
    D = np.zeros((n, n))
    D[np.arange(n)[:, None], case["J"]] = case["D"]
    family = FocalSets(case["F"])
    if "ML" in case:
        constraints = Constraints(case["ML"], case["CL"])
    else:
        constraints = None
    model = EVCLUS(
        p["c"], metric="precomputed", sampling="all", focal_sets=family, d0=p["d0"], xi=p.get("xi", 0.5), tol=1e-10,
        init=CredalPartition(case["m0"], family), max_iter=5000, random_state=1, convention="program",
    ).fit(D, constraints=constraints)  # fmt: skip
    theirs = float(case["objective"] if constraints is not None else case["stress"])
    assert theirs * (1 - rtol) <= model.objective_ <= theirs * (1 + 1e-8)
    if atol is not None:
        case.assert_equal("mass", masses_of(model), atol=atol)
        case.assert_equal(
            "N", model.credal_partition_.nonspecificity_index(), atol=atol
        )
    else:
        assert adjusted_rand_score(model.labels_, case["y_pl"]) > 0.98


def test_iris():
    X, y = iris()
    pairs, simple = (
        EVCLUS(3, focal_sets=name, d0_quantile=0.8, random_state=0).fit(X)
        for name in ("pairs", "simple")
    )
    # Equal rows are merged in the objective, but their pair counts in the stress.
    assert pairs.objective_ == pytest.approx(0.005578020, abs=1e-8)
    assert simple.objective_ == pytest.approx(0.019444368, abs=1e-8)
    assert pairs.stress_ == pytest.approx(0.005583346, abs=1e-8)
    assert simple.stress_ == pytest.approx(0.019451441, abs=1e-8)
    assert pairs.d0_ == pytest.approx(4.1436699)
    assert adjusted_rand_score(y, pairs.labels_) == pytest.approx(0.743, abs=0.02)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("name", "n_clusters", "standardise", "least"),
    [
        ("wine", 3, True, 0.88),
        ("iris", 3, False, 0.73),
        ("seeds", 3, True, 0.79),
        ("heart", 2, True, 0.38),
    ],
)
def test_quality(shared_data, name, n_clusters, standardise, least, seed):
    X, y = shared_data(name, standardise)
    pairs = EVCLUS(n_clusters, focal_sets="pairs", d0_quantile=0.8, random_state=seed)
    assert adjusted_rand_score(y, pairs.fit_predict(X)) >= least
    assert (
        adjusted_rand_score(y, EVCLUS(n_clusters, random_state=seed).fit_predict(X))
        >= least - 0.01
    )


def test_quality_ecoli():
    X, y = ecoli()
    for seed in range(2):
        assert (
            adjusted_rand_score(y, EVCLUS(3, random_state=seed).fit_predict(X)) >= 0.79
        )


def test_quality_with_landmarks(shared_data):
    X, y = shared_data("s2", True)
    model = EVCLUS(15, random_state=0, n_init=3).fit(X[::2])
    assert model.sampling_ == "landmarks"
    assert len(model.landmark_indices_) == 600
    assert adjusted_rand_score(y[::2], model.labels_) >= 0.93
    assert adjusted_rand_score(y[1::2], model.predict(X[1::2])) >= 0.92
    assert len(model.shepard().delta) == 5000


# ---- properties of every fit ---------------------------------------------------------------------


@sampled
@pytest.mark.parametrize(
    "focal_sets",
    ["simple", "pairs", "full", "selected", FocalSets.simple(3, empty=False)],
)
def test_masses_objective_and_attributes(sampling, focal_sets):
    X, y = blobs()
    model = evclus(3, sampling, focal_sets=focal_sets).fit(X)
    masses = masses_of(model)
    assert masses.shape == (150, len(model.focal_sets_))
    assert masses.min() >= 0
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-9)
    assert np.diff(model.history_).max() <= 1e-12
    assert model.history_[-1] == model.objective_
    assert model.n_iter_ == len(model.history_)
    assert model.converged_
    assert model.sampling_ == sampling
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.labels_, model.credal_partition_.labels)
    assert model.credal_partition_.metadata["method"] == "EVCLUS"


def test_stress_and_loss():
    X, _ = blobs(60)
    model = evclus(3, focal_sets="pairs", d0_quantile=0.7).fit(X)
    D = pairwise_distances(X)[np.triu_indices(60, 1)]
    assert model.d0_ == pytest.approx(np.quantile(D, 0.7))
    delta = to_conflict(D, model.d0_)
    masses = masses_of(model)
    kappa = (masses @ model.focal_sets_.conflict @ masses.T)[np.triu_indices(60, 1)]
    squares = np.sum((kappa - delta) ** 2)
    assert model.stress_ == pytest.approx(squares / np.sum(delta**2))
    assert model.objective_ == pytest.approx(model.stress_, rel=1e-6)
    assert model.loss_ == pytest.approx(squares / len(D))
    shepard = model.shepard(n_pairs=10_000)
    order = np.argsort(D)
    theirs = np.argsort(shepard.dissimilarity)
    np.testing.assert_allclose(shepard.dissimilarity[theirs], D[order], atol=1e-9)
    np.testing.assert_allclose(shepard.delta[theirs], delta[order], atol=1e-9)
    np.testing.assert_allclose(shepard.conflict[theirs], kappa[order], atol=1e-9)
    few = model.shepard(n_pairs=100)
    assert len(few.delta) == 100
    assert np.isin(few.conflict, shepard.conflict).all()


def test_estimated_stress():
    X, _ = blobs(1200)
    settings = {
        "focal_sets": "pairs",
        "d0_quantile": 0.8,
        "n_init": 1,
        "random_state": 0,
    }
    random = EVCLUS(3, sampling="random", **settings)
    landmarks = EVCLUS(3, **settings)
    for model in (random.fit(X), landmarks.fit(X)):
        masses = masses_of(model)
        i, j = np.triu_indices(1200, 1)
        delta = to_conflict(pairwise_distances(X)[i, j], model.d0_)
        kappa = (masses @ model.focal_sets_.conflict @ masses.T)[i, j]
        assert model.stress_ == pytest.approx(
            np.sum((kappa - delta) ** 2) / np.sum(delta**2), rel=0.05
        )


@sampled
def test_invariant_to_scale(sampling):
    X, _ = blobs(cluster_std=2.0)
    # a power of two
    one = evclus(3, sampling).fit(X)
    kilo = evclus(3, sampling).fit(1024 * X)
    np.testing.assert_array_equal(masses_of(kilo), masses_of(one))
    assert kilo.d0_ == 1024 * one.d0_
    ten = evclus(3, sampling).fit(10 * X)
    assert ten.objective_ == pytest.approx(one.objective_, rel=1e-3)
    np.testing.assert_array_equal(ten.labels_, one.labels_)
    if sampling == "all":  # With few pairs there are several minima.
        assert ten.objective_ == pytest.approx(one.objective_, rel=1e-8)
        np.testing.assert_allclose(masses_of(ten), masses_of(one), atol=1e-3)


@sampled
def test_invariant_to_translation(sampling):
    X, y = blobs()
    near = evclus(3, sampling).fit(X)
    far = evclus(3, sampling).fit(X + 1e8)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-4)
    assert adjusted_rand_score(y, far.labels_) == 1
    assert far.d0_ == pytest.approx(near.d0_, rel=1e-6)


@sampled
def test_outlier(sampling):
    X, _ = blobs(centers=[[0, 0], [6, 0]], cluster_std=0.7)
    X = np.vstack([X, [[3, 60]]])
    model = evclus(2, sampling).fit(X)
    assert masses_of(model)[-1, 0] > 0.9
    assert 150 in model.credal_partition_.outliers
    assert masses_of(model)[:-1, 0].mean() < 0.2
    assert masses_of(model.fit(X))[:-1, 0].mean() < 0.2
    assert model.predict_mass([[60, 60]]).masses[0, 0] > 0.9


def test_more_sets_fit_better():
    X, _ = blobs(120, centers=[[0, 0], [4, 0], [0, 4], [4, 4]], cluster_std=1.3)
    simple, selected, pairs, full = (
        evclus(4, focal_sets=name, d0_quantile=0.8, n_init=4).fit(X).objective_
        for name in ("simple", "selected", "pairs", "full")
    )
    assert simple > selected > pairs > full


@sampled
def test_selected_sets_continue_simple_fit(sampling):
    X, _ = blobs(centers=[[0, 0], [4, 0], [0, 4], [4, 4]], cluster_std=1.3)
    constraints = Constraints(must_link=[(0, 1)], cannot_link=[(2, 3), (5, 6)])
    for known in (None, constraints):
        simple = evclus(4, sampling, focal_sets="simple").fit(X, constraints=known)
        selected = evclus(4, sampling, focal_sets="selected").fit(X, constraints=known)
        assert selected.objective_ <= simple.objective_ * (1 + 1e-9)
        assert selected.history_[: simple.n_iter_].tolist() == simple.history_.tolist()
        assert len(selected.focal_sets_) > len(simple.focal_sets_)
    wide = evclus(4, sampling, focal_sets="selected", n_neighbor_clusters=3).fit(X)
    assert len(wide.focal_sets_) == len(FocalSets.pairs(4))


@sampled
def test_float32_is_kept(sampling):
    X, _ = blobs(cluster_std=1.5)
    single = evclus(3, sampling).fit(X.astype(np.float32))
    double = evclus(3, sampling).fit(X)
    assert masses_of(single).dtype == np.float32
    assert masses_of(double).dtype == np.float64
    assert single.predict_mass(X.astype(np.float32)).masses.dtype == np.float32
    np.testing.assert_allclose(masses_of(single), masses_of(double), atol=2e-2)
    assert single.stress_ == pytest.approx(double.stress_, rel=1e-3)


# ---- starts --------------------------------------------------------------------------------------


@sampled
def test_warm_start(sampling):
    X, _ = blobs(cluster_std=2.5)
    settings = {"focal_sets": "pairs", "d0_quantile": 0.8}
    cold = evclus(3, sampling, n_init=5, **settings).fit(X)
    for init in (cold.credal_partition_, masses_of(cold), masses_of(cold).tolist()):
        warm = evclus(3, sampling, init=init, **settings).fit(X)
        assert warm.objective_ <= cold.objective_ * (
            1 + (1e-6 if sampling == "all" else 0.2)
        )
        assert warm.n_iter_ <= 60
        assert adjusted_rand_score(cold.labels_, warm.labels_) > 0.95
    poorer = CredalPartition.from_hard(cold.labels_)
    richer = evclus(3, sampling, init=poorer, focal_sets="full", d0_quantile=0.8).fit(X)
    assert richer.objective_ < 1.1 * cold.objective_


@sampled
def test_warm_start_with_auto_sets(sampling):
    """With focal_sets="auto", the mass of pairs in ``init`` is divided among their clusters."""
    X, _ = blobs(cluster_std=2.0)
    cold = evclus(3, sampling).fit(X)
    assert len(cold.credal_partition_.ambiguous) > 0
    warm = evclus(3, sampling, init=cold.credal_partition_).fit(X)
    assert adjusted_rand_score(cold.labels_, warm.labels_) > 0.95
    assert warm.objective_ <= 1.2 * cold.objective_
    with pytest.raises(ValueError, match="partition of 150 objects into 3 clusters"):
        evclus(3, sampling, init=CredalPartition.from_hard([0, 1])).fit(X)


def test_medoids_are_better_than_random_starts():
    X, y = blobs(400, centers=20, cluster_std=0.2, center_box=(-20, 20))
    settings = {"focal_sets": "simple", "d0_quantile": 2.5 / 20, "n_init": 1}
    medoids, chance = (
        evclus(20, init=init, **settings).fit(X) for init in ("medoids", "random")
    )
    assert adjusted_rand_score(y, medoids.labels_) > adjusted_rand_score(
        y, chance.labels_
    )
    assert adjusted_rand_score(y, medoids.labels_) > 0.9
    assert medoids.objective_ < chance.objective_


def test_n_init():
    X, _ = blobs(120, centers=6, cluster_std=1.5)
    single = [
        evclus(6, n_init=1, init="random", random_state=seed).fit(X).objective_
        for seed in range(6)
    ]
    assert max(single) > 1.01 * min(single)
    assert evclus(6, n_init=12, init="random").fit(X).objective_ <= (
        1 + 1e-9
    ) * np.median(single)


def test_max_iter_tol_and_verbose(capsys):
    X, _ = blobs(60, cluster_std=3.0)
    for max_iter in (1, 2, 5):
        for focal_sets in ("simple", "selected"):
            with pytest.warns(ConvergenceWarning, match="increase max_iter"):
                model = evclus(3, max_iter=max_iter, focal_sets=focal_sets).fit(X)
            assert model.n_iter_ == max_iter
            assert not model.converged_
    assert evclus(3, tol=1e-3).fit(X).n_iter_ < evclus(3, tol=1e-9).fit(X).n_iter_
    assert capsys.readouterr().err == ""
    evclus(3, verbose=1).fit(X)
    assert "EVCLUS" in capsys.readouterr().err


@sampled
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_belief_peaks(sampling, metric):
    """The metric of EVCLUS replaces the metric of a BeliefPeaks object."""
    X, y = blobs(cluster_std=1.5)
    if metric == "precomputed":
        data = pairwise_distances(X)
    else:
        data = X
    for init in ("belief-peaks", BeliefPeaks(n_neighbors=10)):
        model = evclus(
            3, sampling, metric=metric, init=init, focal_sets="pairs", d0_quantile=0.8
        ).fit(data)
        assert adjusted_rand_score(y, model.labels_) > 0.95
    peaks = BeliefPeaks(3, n_neighbors=10, metric=metric).fit(data)
    # The numbers of the clusters are the same.
    assert (model.labels_ == peaks.labels_).mean() > 0.9
    with pytest.raises(ValueError, match="init"):
        evclus(3, init=BeliefPeaks(5), metric=metric).fit(data)


def test_belief_peaks_of_sparse_matrix():
    with pytest.raises(
        ValueError, match="belief peaks, which need all dissimilarities"
    ):
        EVCLUS(3, metric="precomputed", init="belief-peaks").fit(
            sparse.csr_matrix(pairwise_distances(blobs(30)[0]))
        )
