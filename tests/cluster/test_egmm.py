"""Evidential Gaussian mixture: densities of SciPy, EM steps, starts, errors."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from dempster import CredalPartition, FocalSets
from dempster.cluster import EGMM, BeliefPeaks
from dempster.persistence import load, save


def joint_densities(model, X):
    """Return weight times density (n, f) of every component."""
    out = np.zeros((len(X), len(model.focal_sets_)))
    for j, clusters in enumerate(model.focal_sets_):
        if clusters:
            mean = model.means_[list(clusters)].mean(axis=0)
            out[:, j] = model.weights_[j] * multivariate_normal(
                mean, model.covariance_
            ).pdf(X)
    return out


def em_step(model, X, ridge):
    """Compute one EM step with loops."""
    masses = joint_densities(model, X)
    masses /= masses.sum(axis=1, keepdims=True)
    sets = list(model.focal_sets_)
    c = model.n_clusters
    H = np.zeros((c, c))
    R = np.zeros((c, X.shape[1]))
    for j, clusters in enumerate(sets):
        for k in clusters:
            R[k] += masses[:, j] @ X / len(clusters)
            for m in clusters:
                H[k, m] += masses[:, j].sum() / len(clusters) ** 2
    means = np.linalg.solve(H, R)
    covariance = ridge * np.eye(X.shape[1])
    for j, clusters in enumerate(sets):
        gap = X - means[list(clusters)].mean(axis=0)
        covariance += (gap * masses[:, [j]]).T @ gap / len(X)
    return masses.mean(axis=0), means, covariance


@pytest.mark.parametrize("family", ["simple", "pairs", "full"])
def test_masses_and_densities(family):
    X = load_iris().data
    model = EGMM(3, focal_sets=family, random_state=0).fit(X)
    joint = joint_densities(model, X)
    np.testing.assert_allclose(
        model.score_samples(X), np.log(joint.sum(axis=1)), atol=1e-9
    )
    np.testing.assert_allclose(
        model.credal_partition_.masses,
        joint / joint.sum(axis=1, keepdims=True),
        atol=1e-9,
    )
    assert model.log_likelihood_ == pytest.approx(np.log(joint.sum(axis=1)).sum())
    assert model.score(X) == pytest.approx(model.log_likelihood_ / len(X))
    g = len(model.focal_sets_)
    assert model.ebic_ == pytest.approx(
        model.log_likelihood_ - (g - 1 + 3 * 4 + 10) * np.log(150) / 2
    )


def test_em_steps():
    X, _ = make_blobs(80, 2, centers=3, random_state=1)
    ridge = 1e-3 * X.var(axis=0).mean()
    model = EGMM(
        3, focal_sets="full", reg_covar=1e-3, tol=1e-15, max_iter=20_000, random_state=0
    ).fit(X)
    weights, means, covariance = em_step(model, X, ridge)
    np.testing.assert_allclose(weights, model.weights_, atol=1e-4)
    np.testing.assert_allclose(means, model.means_, atol=1e-3)
    np.testing.assert_allclose(covariance, model.covariance_, atol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first, second = (
            EGMM(3, init=X[:3], max_iter=k, tol=0, reg_covar=1e-3).fit(X)
            for k in (1, 2)
        )
    weights, means, covariance = em_step(first, X, ridge)
    np.testing.assert_allclose(second.weights_, weights, atol=1e-9)
    np.testing.assert_allclose(second.means_, means, atol=1e-9)
    np.testing.assert_allclose(second.covariance_, covariance, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full"]),
    st.sampled_from([1e-6, 1e-2, 0.5]),
)
def test_likelihood_never_decreases(seed, family, ridge):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 3 * rng.integers(0, 3, (40, 1))
    model = EGMM(
        3,
        focal_sets=family,
        reg_covar=ridge,
        n_init=1,
        max_iter=40,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))
    penalty = (
        ridge
        * X.var(axis=0).mean()
        * len(X)
        / 2
        * np.trace(np.linalg.inv(model.covariance_))
    )
    assert model.objective_ == pytest.approx(penalty - model.log_likelihood_, rel=1e-7)
    np.testing.assert_allclose(
        model.credal_partition_.masses.sum(axis=1), 1, atol=1e-12
    )
    assert model.weights_.sum() == pytest.approx(1)


def test_recovers_the_mixture():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0], [8, 0], [0, 8]])
    sets = [(0,), (1,), (2,), (0, 1)]
    which = rng.choice(4, 6000, p=[0.3, 0.3, 0.3, 0.1])
    covariance = np.array([[1.0, 0.4], [0.4, 0.7]])
    X = np.stack([means[list(s)].mean(axis=0) for s in sets])[
        which
    ] + rng.multivariate_normal([0, 0], covariance, 6000)
    model = EGMM(3, focal_sets="full", random_state=0).fit(X)
    order = [int(np.argmin(((model.means_ - m) ** 2).sum(axis=1))) for m in means]
    np.testing.assert_allclose(model.means_[order], means, atol=0.1)
    np.testing.assert_allclose(model.covariance_, covariance, atol=0.1)
    pair = model.focal_sets_.index({order[0], order[1]})
    assert model.weights_[pair] == pytest.approx(0.1, abs=0.02)
    best = model.credal_partition_.best_set
    assert (best[which == 3] == pair).mean() > 0.9


def test_ambiguous_objects_are_those_of_the_true_mixture():
    centers = np.array([[0, 0], [3, 0], [1.5, 2.6]])
    X, _ = make_blobs(2000, centers=centers, random_state=0)
    partition = EGMM(3, random_state=0).fit(X).credal_partition_
    densities = np.stack([multivariate_normal(mean).pdf(X) for mean in centers])
    second, first = np.sort(densities, axis=0)[-2:]
    expected = np.flatnonzero(second > first / 2)
    common = np.intersect1d(partition.ambiguous, expected)
    assert len(common) > 0.8 * len(np.union1d(partition.ambiguous, expected))


def test_number_of_clusters_by_ebic():
    X, _ = make_blobs(
        500, 2, centers=[[0, 0], [9, 1], [1, 10], [11, 12]], random_state=1
    )
    scores = [
        EGMM(c, focal_sets="simple", random_state=0).fit(X).ebic_ for c in range(1, 7)
    ]
    assert int(np.argmax(scores)) + 1 == 4


def test_empty_set():
    X, y = make_blobs(100, 2, centers=2, random_state=1)
    assert EGMM(2, random_state=0).fit(X).focal_sets_.empty_index is None
    assert (
        EGMM(2, focal_sets="selected", random_state=0).fit(X).focal_sets_.empty_index
        is None
    )
    given_sets = EGMM(2, focal_sets=FocalSets.full(2), random_state=0).fit(X)
    assert given_sets.focal_sets_ == FocalSets.full(2)
    assert (given_sets.credal_partition_.masses[:, 0] == 0).all()
    assert adjusted_rand_score(y, given_sets.labels_) > 0.95


def test_far_from_the_origin_and_outliers():
    X, y = make_blobs(12_000, 3, centers=3, random_state=0)
    near, far = (EGMM(3, n_init=2, random_state=0).fit(X + shift) for shift in (0, 1e6))
    assert adjusted_rand_score(y, near.labels_) > 0.95
    np.testing.assert_allclose(far.covariance_, near.covariance_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        near.predict_mass(X[:7]).masses, near.credal_partition_.masses[:7], atol=1e-12
    )
    assert near.score_samples(X[:1] + 100)[0] < near.score_samples(X).min()
    single = EGMM(3, n_init=2, random_state=0).fit(X[:500].astype(np.float32))
    assert single.means_.dtype == np.float32


def test_large_data_start_on_a_sample():
    X, y = make_blobs(50_000, 3, centers=5, random_state=0)
    assert (
        adjusted_rand_score(y, EGMM(5, n_init=3, random_state=0).fit(X).labels_) > 0.95
    )


@pytest.mark.parametrize("covariance", ["tied", "own"])
@pytest.mark.parametrize("distribution", ["gaussian", "t"])
def test_single_precision(distribution, covariance):
    rng = np.random.default_rng(2)
    centers = 4 * rng.normal(size=(4, 5))
    X = centers[rng.integers(0, 4, 3000)] + rng.normal(size=(3000, 5)) + 30
    X = X.astype(np.float32)
    init = centers + 30
    options = {"distribution": distribution, "covariance": covariance, "init": init}
    single = EGMM(4, **options).fit(X)
    double = EGMM(4, **options).fit(X.astype(float))
    assert single.credal_partition_.dtype == np.float32
    np.testing.assert_allclose(single.means_, double.means_, atol=1e-3)
    np.testing.assert_allclose(single.covariance_, double.covariance_, atol=1e-3)
    assert single.log_likelihood_ == pytest.approx(double.log_likelihood_, rel=1e-6)
    gaps = single.credal_partition_.masses - double.credal_partition_.masses
    assert np.abs(gaps).mean() < 1e-4


def test_starting_partition_means_and_peaks():
    X, y = make_blobs(90, 2, centers=3, random_state=0)
    assert (EGMM(3, init=CredalPartition.from_hard(y)).fit(X).labels_ == y).mean() > 0.8
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    assert (EGMM(3, init=means).fit(X).labels_ == y).mean() > 0.8
    peaks = BeliefPeaks(3, n_neighbors=20).fit(X)
    by_name, by_finder, given = (
        EGMM(3, init=init).fit(X).means_
        for init in (
            "belief-peaks",
            BeliefPeaks(n_neighbors=20),
            peaks.cluster_centers_,
        )
    )
    np.testing.assert_array_equal(by_finder, given)
    np.testing.assert_allclose(
        np.sort(by_name, axis=0), np.sort(given, axis=0), atol=1e-3
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be .* got 0"),
        ({"reg_covar": -1}, "reg_covar must be .* got -1"),
        ({"focal_sets": FocalSets.simple(3)}, "focal_sets .* n_clusters=2"),
        ({"focal_sets": FocalSets.from_sets(2, [(0,), (0, 1)])}, "focal_sets"),
        (
            {"focal_sets": "pairs", "covariance": "own"},
            "focal_sets must .* covariance='own', got 'pairs'",
        ),
        ({"focal_sets": "selected", "covariance": "own"}, "focal_sets must"),
        ({"covariance": "full"}, "covariance must be"),
        ({"distribution": "cauchy"}, "distribution must be"),
        ({"degrees_of_freedom": 0}, "degrees_of_freedom must be .* got 0"),
        ({"init": "middle"}, "init must be"),
        ({"init": np.zeros((3, 2))}, r"init must have shape \(2, 2\)"),
        ({"init": CredalPartition.from_hard([0, 1])}, "init"),
        ({"n_clusters": 31}, "n_clusters=31"),
    ],
)
def test_invalid_parameters(change, message):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    with pytest.raises(ValueError, match=message):
        EGMM(**{"n_clusters": 2, **change}).fit(X)


def test_flat_and_few_data():
    X, y = make_blobs(100, 2, centers=[[0, 0], [6, 6]], random_state=0)
    for reg_covar in (1e-6, 0.0):
        model = EGMM(2, reg_covar=reg_covar, random_state=0).fit(
            np.column_stack([X, np.zeros(100)])
        )
        assert np.isfinite(model.credal_partition_.masses).all()
        assert adjusted_rand_score(y, model.labels_) > 0.9
    few = EGMM(3, random_state=0).fit([[0.0, 0], [5, 5], [9, 0]])
    assert sorted(few.labels_.tolist()) == [0, 1, 2]
    assert (EGMM(1).fit(X).labels_ == 0).all()
    with pytest.raises(ValueError, match="n_clusters=3"):
        EGMM(3).fit(np.repeat([[0.0, 0], [1, 1]], 10, axis=0))


# ---- one covariance for each cluster -------------------------------------------------------------

CROSS = np.random.default_rng(0).normal(size=(400, 2)) * np.repeat(
    [[4, 0.4], [0.4, 4]], [250, 150], axis=0
)
STARTS = np.array([[3.0, 0.0], [0.0, 3.0]])


def own(c=2, **more):
    return EGMM(
        c,
        covariance="own",
        **{"init": STARTS, "tol": 1e-12, "max_iter": 5000, "random_state": 0, **more},
    )


def test_own_covariances_agree_with_scikit_learn():
    X = load_iris().data
    start = X[[0, 60, 120]]
    gap = X - start[((X[:, None] - start) ** 2).sum(axis=2).argmin(axis=1)]
    initial = {"means_init": start, "weights_init": np.full(3, 1 / 3)}
    initial["precisions_init"] = np.repeat(
        np.linalg.inv(gap.T @ gap / 150)[None], 3, axis=0
    )
    expected = GaussianMixture(
        3, reg_covar=1e-12, tol=1e-12, max_iter=5000, **initial
    ).fit(X)
    # The components are in another order than the clusters.
    model = own(
        3,
        init=start,
        reg_covar=1e-12,
        focal_sets=FocalSets.from_sets(3, [(2,), (0,), (1,)]),
    ).fit(X)
    assert model.log_likelihood_ == pytest.approx(150 * expected.score(X), rel=1e-9)
    np.testing.assert_allclose(
        model.credal_partition_.masses,
        expected.predict_proba(X)[:, [2, 0, 1]],
        atol=1e-5,
    )
    np.testing.assert_allclose(model.covariance_, expected.covariances_, atol=1e-5)
    np.testing.assert_allclose(
        model.score_samples(X), expected.score_samples(X), atol=1e-5
    )
    assert model.ebic_ == pytest.approx(
        model.log_likelihood_ - (2 + 3 * 4 + 3 * 10) * np.log(150) / 2
    )
    auto = own(3, init=start, reg_covar=1e-12).fit(X)
    np.testing.assert_allclose(auto.means_, model.means_, atol=1e-9)
    assert (auto.focal_sets_.cardinality == 2).any()


def test_own_covariances_by_a_naive_em_step():
    X = CROSS
    weights = np.random.default_rng(1).uniform(0.5, 2, len(CROSS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first, second = (
            own(reg_covar=0.05, max_iter=k, tol=0).fit(X, sample_weight=weights)
            for k in (2, 3)
        )
    center = weights @ X / weights.sum()
    ridge = 0.05 * (weights @ (X - center) ** 2).mean() / weights.sum()

    def penalized(model):
        factors = model.weights_[:2] * np.exp(
            [-ridge / 2 * np.trace(np.linalg.inv(S)) for S in model.covariance_]
        )
        densities = [
            multivariate_normal(*k).pdf(X)
            for k in zip(model.means_, model.covariance_, strict=True)
        ]
        return np.column_stack(densities) * factors

    masses = penalized(first)
    assert first.objective_ == pytest.approx(-weights @ np.log(masses.sum(axis=1)))
    masses *= weights[:, None] / masses.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        second.weights_[:2], masses.sum(axis=0) / weights.sum(), atol=1e-12
    )
    for k, m in enumerate(masses.T):
        mean = m @ X / m.sum()
        np.testing.assert_allclose(second.means_[k], mean, atol=1e-10)
        expected = (m * (X - mean).T) @ (X - mean) / m.sum() + ridge * np.eye(2)
        np.testing.assert_allclose(second.covariance_[k], expected, atol=1e-10)
    assert np.all(np.diff(own(reg_covar=0.05).fit(X).history_) <= 1e-9)


def test_own_covariances_find_crossing_clusters(tmp_path):
    labels = np.repeat([0, 1], [250, 150])
    model = own(init="k-means++", reg_covar=1e-3).fit(CROSS)
    assert (
        adjusted_rand_score(labels, model.labels_)
        > adjusted_rand_score(labels, EGMM(2).fit(CROSS).labels_) + 0.3
    )
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.covariance_, model.covariance_)
    np.testing.assert_array_equal(
        again.predict_mass(CROSS).masses, model.predict_mass(CROSS).masses
    )


def test_own_covariances_in_blocks_with_weights_and_in_parts():
    X = CROSS
    counts = np.random.default_rng(1).integers(1, 4, len(CROSS))
    expected = own().fit(np.repeat(X, counts, axis=0))
    in_blocks = own().fit(
        [X[:7], X[7:300], X[300:]],
        sample_weight=[counts[:7], counts[7:300], counts[300:]],
    )
    several = own(n_jobs=2).fit(X, sample_weight=counts)
    for model in (in_blocks, several):
        np.testing.assert_allclose(model.covariance_, expected.covariance_, atol=1e-6)
        assert model.log_likelihood_ == pytest.approx(
            expected.log_likelihood_, rel=1e-9
        )
    np.testing.assert_allclose(
        own().fit(X.astype(np.float32)).covariance_, own().fit(X).covariance_, atol=1e-3
    )
    with pytest.warns(ConvergenceWarning):
        expected = own(max_iter=2, reg_covar=0.05).fit(X)
    online = own(reg_covar=0.05).partial_fit(X)
    np.testing.assert_allclose(online.covariance_, expected.covariance_, atol=1e-10)
    np.testing.assert_allclose(
        online.partial_fit(X[:9]).means_, expected.means_, atol=0.3
    )


def test_own_covariances_of_degenerate_clusters():
    X = np.repeat(load_iris().data[:12], 3, axis=0)
    for reg_covar in (0.0, 1e-6):
        model = own(10, init="k-means++", reg_covar=reg_covar).fit(X)
        assert np.isfinite(model.credal_partition_.masses).all()
    # a cluster without mass
    model = own(3, init=[[3.0, 0.0], [0.0, 3.0], [900.0, 900.0]], reg_covar=1e-3).fit(
        CROSS
    )
    assert model.weights_[model.focal_sets_.singleton_index[2]] == pytest.approx(
        0, abs=1e-12
    )
    assert (np.linalg.eigvalsh(model.covariance_) > 0).all()


# ---- t distributions -----------------------------------------------------------------------------


def t_mixture(n=600, nu=4.0, seed=0):
    """Draw two clusters of different shapes and sizes from t distributions."""
    rng = np.random.default_rng(seed)
    y = rng.choice(2, n, p=[0.6, 0.4])
    factors = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.0], [-1.0, 1.0]]])
    noise = np.einsum("nij,nj->ni", factors[y], rng.normal(size=(n, 2)))
    X = np.array([[0.0, 0.0], [8.0, 4.0]])[y]
    X += noise / np.sqrt(rng.chisquare(nu, n) / nu)[:, None]
    return X, y, factors @ factors.swapaxes(1, 2)


def t_joint_densities(model, X):
    """Return weight times density (n, f) of every component and the background."""
    out = np.empty((len(X), len(model.focal_sets_)))
    low, high = model._model.box * model._model.unit + model._model.origin
    p = X.shape[1]
    for j, clusters in enumerate(model.focal_sets_):
        if clusters:
            mean = model.means_[list(clusters)].mean(axis=0)
            scale = model.covariance_
            if scale.ndim == 3:
                scale = scale[clusters[0]]
            density = multivariate_t(mean, scale, model.degrees_of_freedom_).pdf(X)
        else:
            radius = (np.abs(X - (low + high) / 2) / ((high - low) / 2)).max(axis=1)
            outside = 0.1 / p * np.maximum(radius, 1) ** -(p + 1)
            density = np.where(radius <= 1, 0.9, outside) / np.prod(high - low)
        out[:, j] = model.weights_[j] * density
    return out


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_t_masses_and_densities(covariance):
    X = np.vstack([t_mixture()[0], [[40.0, -40.0], [1e4, 1e4], [4.0, 14.0]]])
    family = (
        "pairs" if covariance == "tied" else FocalSets.from_sets(2, [(), (1,), (0,)])
    )
    model = EGMM(
        2, distribution="t", covariance=covariance, focal_sets=family, random_state=0
    ).fit(X)
    joint = t_joint_densities(model, X)
    logs = np.log(joint.sum(axis=1))
    np.testing.assert_allclose(model.score_samples(X), logs, atol=1e-9)
    np.testing.assert_allclose(
        model.credal_partition_.masses,
        joint / joint.sum(axis=1, keepdims=True),
        atol=1e-9,
    )
    assert model.log_likelihood_ == pytest.approx(logs.sum())
    assert model.weights_.sum() == pytest.approx(1)
    n_covariances = 1 if covariance == "tied" else 2
    n_parameters = len(model.weights_) - 1 + 2 * 2 + 3 * n_covariances + 1
    assert model.ebic_ == pytest.approx(
        model.log_likelihood_ - n_parameters * np.log(len(X)) / 2
    )


def test_background_is_a_probability_density():
    model = EGMM(2, distribution="t", random_state=0).fit(t_mixture()[0])
    background = replace(model._model, weights=np.zeros(2), background_weight=1.0)
    low, high = model._model.box * model._model.unit + model._model.origin
    grid = (np.arange(2000) - 999.5) / 10  # centers of cells, in half widths
    points = np.stack(np.meshgrid(grid, grid), axis=2).reshape(-1, 2)
    points = (low + high) / 2 + points * (high - low) / 2
    logs = background.log_densities(points, lambda f, blocks: [f(*b) for b in blocks])
    cell = np.prod((high - low) / 2 * 0.1)
    # Outside of the grid, r > 100.
    assert np.exp(logs).sum() * cell == pytest.approx(1 - 0.1 / 100, abs=2e-3)


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_t_by_a_naive_em_step(covariance):
    X, _, _ = t_mixture(200)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    nu = 3.0
    fitted = []
    for max_iter in (2, 3):
        model = EGMM(
            2,
            init=[[0.0, 1.0], [7.0, 4.0]],
            distribution="t",
            degrees_of_freedom=nu,
            covariance=covariance,
            focal_sets=FocalSets.simple(2, omega=False),
            reg_covar=0.0,
            max_iter=max_iter,
            tol=0,
        )
        with pytest.warns(ConvergenceWarning):
            fitted.append(model.fit(X, sample_weight=weights))
    first, second = fitted
    masses = t_joint_densities(first, X)
    assert first.objective_ == pytest.approx(-weights @ np.log(masses.sum(axis=1)))
    masses *= weights[:, None] / masses.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        second.weights_, masses.sum(axis=0) / weights.sum(), atol=1e-12
    )
    scatters = []
    for k, m in enumerate(masses.T[1:]):
        scale = first.covariance_ if covariance == "tied" else first.covariance_[k]
        gap = X - first.means_[k]
        squares = np.einsum("ij,ij->i", gap @ np.linalg.inv(scale), gap)
        u = (nu + 2) / (nu + squares)
        mean = (m * u) @ X / (m @ u)
        np.testing.assert_allclose(second.means_[k], mean, atol=1e-10)
        scatters.append((m * u * (X - mean).T) @ (X - mean))
    if covariance == "tied":
        expected = sum(scatters) / masses[:, 1:].sum()
    else:
        expected = [s / m.sum() for s, m in zip(scatters, masses.T[1:], strict=True)]
    np.testing.assert_allclose(second.covariance_, expected, atol=1e-10)


@settings(deadline=None, max_examples=15)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["tied", "own"]),
    st.sampled_from(["auto", 1.0, 30.0]),
    st.sampled_from([1e-6, 1e-2]),
)
def test_t_likelihood_never_decreases(seed, covariance, freedom, ridge):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, size=(60, 2)) + 4 * rng.integers(0, 3, (60, 1))
    model = EGMM(
        3,
        distribution="t",
        degrees_of_freedom=freedom,
        covariance=covariance,
        reg_covar=ridge,
        n_init=1,
        max_iter=40,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]))
    np.testing.assert_allclose(
        model.credal_partition_.masses.sum(axis=1), 1, atol=1e-12
    )
    if freedom != "auto":
        assert model.degrees_of_freedom_ == freedom


@pytest.mark.parametrize(("nu", "low", "high"), [(3.0, 2.6, 3.6), (10.0, 7.5, 14.0)])
def test_t_parameters_are_recovered(nu, low, high):
    X, _, scales = t_mixture(4000, nu)
    model = EGMM(2, distribution="t", covariance="own", n_init=2, random_state=0).fit(X)
    order = np.argsort(model.means_[:, 0])
    np.testing.assert_allclose(model.means_[order], [[0, 0], [8, 4]], atol=0.12)
    np.testing.assert_allclose(model.covariance_[order], scales, rtol=0.2, atol=0.1)
    assert low < model.degrees_of_freedom_ < high
    assert len(model.credal_partition_.outliers) < 0.02 * len(X)


def test_gaussian_clusters_have_many_degrees_of_freedom():
    X, y = make_blobs(600, 3, centers=3, random_state=2)
    model = EGMM(3, distribution="t", n_init=2, random_state=0).fit(X)
    assert model.degrees_of_freedom_ > 30
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert len(model.credal_partition_.outliers) < 0.01 * len(X)


@pytest.mark.parametrize("covariance", ["tied", "own"])
@pytest.mark.parametrize("distance", [8, 50, 1000])
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_outliers_do_not_change_the_clusters(covariance, distance, share):
    rng = np.random.default_rng(distance)
    y = rng.integers(0, 3, 240)
    X = 6 * rng.normal(size=(3, 3))[y] + rng.normal(size=(240, 3))
    model = EGMM(3, distribution="t", covariance=covariance, n_init=5, random_state=0)
    clean = model.fit(X).labels_
    direction = rng.normal(size=(max(int(share * 240), 1), 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    far = X.mean(axis=0) + distance * X.std() * direction
    model.fit(np.vstack([X, far]))
    assert adjusted_rand_score(clean, model.labels_[:240]) > 0.98
    outliers = model.credal_partition_.outliers
    assert set(range(240, 240 + len(far))) <= set(outliers)
    assert len(outliers) <= len(far) + 4


def test_background_noise_is_marked():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    y = rng.integers(0, 3, 400)
    X = centers[y] + rng.normal(size=(400, 2))
    noise = rng.uniform(-5, 15, (150, 2))
    distances = np.linalg.norm(noise[:, None] - centers, axis=2).min(axis=1)
    model = EGMM(3, distribution="t", covariance="own", n_init=3, random_state=0).fit(
        np.vstack([X, noise])
    )
    is_outlier = np.isin(np.arange(550), model.credal_partition_.outliers)
    assert is_outlier[400:][distances > 4].mean() > 0.9
    assert is_outlier[:400].mean() < 0.03
    assert adjusted_rand_score(y, model.labels_[:400]) > 0.97
    empty = model.focal_sets_.empty_index
    assert model.weights_[empty] == pytest.approx(150 / 550, abs=0.05)


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_t_in_blocks_with_weights_in_files_and_in_parts(covariance, tmp_path):
    X, _, _ = t_mixture(300)
    counts = np.random.default_rng(1).integers(1, 4, len(X))
    options = {"distribution": "t", "covariance": covariance, "random_state": 0}
    expected = EGMM(2, **options).fit(np.repeat(X, counts, axis=0))
    weighted = EGMM(2, **options).fit(X, sample_weight=counts)
    in_blocks = EGMM(2, **options).fit(
        [X[:7], X[7:]], sample_weight=[counts[:7], counts[7:]]
    )
    save(weighted, tmp_path / "model")
    loaded = load(tmp_path / "model")
    for model in (weighted, in_blocks, loaded):
        np.testing.assert_allclose(model.covariance_, expected.covariance_, rtol=1e-4)
        assert model.degrees_of_freedom_ == pytest.approx(
            expected.degrees_of_freedom_, rel=1e-3
        )
    np.testing.assert_array_equal(
        loaded.predict_mass(X).masses, weighted.predict_mass(X).masses
    )
    online = EGMM(2, **options)
    for part in np.array_split(X, 3):
        online.partial_fit(part)
    np.testing.assert_allclose(
        np.sort(online.means_, axis=0), np.sort(weighted.means_, axis=0), atol=0.3
    )


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_t_of_degenerate_data(covariance):
    options = {"distribution": "t", "covariance": covariance, "random_state": 0}
    X, y = make_blobs(100, 2, centers=[[0, 0], [6, 6]], random_state=0)
    constant = np.column_stack([X, np.zeros(100)])
    repeated = np.repeat(X[:20], 5, axis=0)
    binary = np.column_stack([X, np.arange(100) % 2])
    for data in (constant, repeated, binary):
        model = EGMM(2, **options).fit(data)
        assert np.isfinite(model.credal_partition_.masses).all()
        assert len(model.credal_partition_.outliers) <= 5
    few = EGMM(3, **options).fit([[0.0, 0], [5, 5], [9, 0]])
    assert sorted(few.labels_.tolist()) == [0, 1, 2]
    single = EGMM(2, **options).fit(X.astype(np.float32))
    assert adjusted_rand_score(y, single.labels_) > 0.95
