"""EM for the 14 covariance models: reference values, maxima, constraints, weights."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture

from dempster._errors import InvalidInputError
from dempster.mixture.em import (
    DIAGONAL_MODELS,
    MODELS,
    GaussianParameters,
    count_parameters,
    fit_em,
    log_densities,
    refit_em,
    resolve_model,
)

EVERY_MODEL = pytest.mark.parametrize("model", MODELS)
TIGHT = {"tol": 1e-14, "max_iter": 20_000}


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def overlapping(n=300, d=3, g=3, seed=0):
    """Draw from Gaussians of different volumes, shapes and orientations.

    Return also random responsibilities.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, g, n)
    factors = rng.normal(size=(g, d, d)) * rng.uniform(0.5, 2, (g, 1, 1))
    X = 3 * rng.normal(size=(g, d))[labels] + np.einsum(
        "nij,nj->ni", factors[labels], rng.normal(size=(n, d))
    )
    Z = 0.7 * np.eye(g)[labels] + 0.3 * rng.dirichlet(np.ones(g), n)
    return X, Z


def one_step(X, Z, model, weights=None, **settings):
    return fit_em(X, weights, Z, model, max_iter=1, **settings).parameters


def expected_log_likelihood(covariances, sizes, scatter):
    """Compute the function of the covariances that the maximisation step maximises."""
    return -0.5 * sum(
        n * np.linalg.slogdet(S)[1] + np.trace(W @ np.linalg.inv(S))
        for n, S, W in zip(sizes, covariances, scatter, strict=True)
    )


def moments(X, Z):
    sizes = Z.sum(axis=0)
    means = Z.T @ X / sizes[:, None]
    return sizes, np.stack(
        [(z[:, None] * (X - m)).T @ (X - m) for z, m in zip(Z.T, means, strict=True)]
    )


# ---- reference values ----------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["iris", "diabetes"])
@pytest.mark.parametrize("model", [m for m in MODELS if m != "VVE"])
def test_estimates_of_mclust(reference, data, model):
    case = reference(f"mclust_me_{data}_g3")
    X = case["x"]
    k = case.parameters["models"].index(model)
    run = fit_em(X, None, case["z0"], model, **TIGHT)
    assert run.converged
    case.assert_equal(f"{model}_pro", run.parameters.proportions)
    case.assert_equal(f"{model}_mean", run.parameters.means)
    case.assert_equal(f"{model}_cov", run.parameters.covariances)
    case.assert_equal(f"{model}_z", run.responsibilities)
    assert run.log_likelihood == pytest.approx(case["loglik"][k], rel=1e-9)
    count = count_parameters(model, 3, X.shape[1])
    assert count == case["n_par"][k]
    assert 2 * run.log_likelihood - count * np.log(len(X)) == pytest.approx(
        case["bic"][k], rel=1e-9
    )


@pytest.mark.parametrize("data", ["iris", "diabetes"])
def test_vve_is_better_than_mclust(reference, data):
    """The axes of VVE in mclust ignore the volumes, so EM increases the likelihood of its result."""
    case = reference(f"mclust_me_{data}_g3")
    X = case["x"]
    k = case.parameters["models"].index("VVE")
    theirs = GaussianParameters(
        case["VVE_pro"], case["VVE_mean"], case["VVE_cov"], "VVE"
    )
    run = fit_em(X, None, theirs, "VVE", **TIGHT)
    assert run.history[0] == pytest.approx(case["loglik"][k], rel=1e-9)
    assert run.history[1] > run.history[0] + 0.5
    assert (np.diff(run.history) > -1e-9).all()
    ours = fit_em(X, None, case["z0"], "VVE", **TIGHT)
    assert case["loglik"][k] < ours.log_likelihood < case["loglik"][k] + 20
    assert count_parameters("VVE", 3, X.shape[1]) == case["n_par"][k]


@pytest.mark.parametrize(
    ("model", "kind"),
    [("VVV", "full"), ("EEE", "tied"), ("VVI", "diag"), ("VII", "spherical")],
)
def test_agrees_with_scikit_learn(iris, model, kind):
    start = fit_em(
        iris, None, np.eye(3)[load_iris().target], model, max_iter=1
    ).parameters
    precisions = np.linalg.inv(start.covariances)
    given = {
        "full": precisions,
        "tied": precisions[0],
        "diag": np.stack([np.diag(p) for p in precisions]),
        "spherical": precisions[:, 0, 0],
    }[kind]
    theirs = GaussianMixture(
        3,
        covariance_type=kind,
        tol=1e-12,
        max_iter=5000,
        reg_covar=0,
        weights_init=start.proportions,
        means_init=start.means,
        precisions_init=given,
    ).fit(iris)
    ours = fit_em(iris, None, start, model, **TIGHT)
    np.testing.assert_allclose(ours.parameters.means, theirs.means_, rtol=1e-5)
    assert ours.log_likelihood == pytest.approx(
        theirs.score(iris) * len(iris), abs=1e-5
    )
    bic = 2 * ours.log_likelihood - count_parameters(model, 3, 4) * np.log(len(iris))
    assert bic == pytest.approx(-theirs.bic(iris), abs=1e-4)


def test_numbers_of_parameters():
    """Celeux and Govaert (1995), table 1, for 3 components in 4 dimensions."""
    counts = [1, 3, 4, 6, 10, 12, 10, 12, 16, 18, 22, 24, 28, 30]
    assert [count_parameters(m, 3, 4) - 14 for m in MODELS] == counts
    assert {count_parameters(m, 1, 1) for m in MODELS} == {2}


def test_names_of_models():
    assert [resolve_model("E", 1), resolve_model("V", 1), resolve_model("VVV", 1)] == [
        "EII",
        "VII",
        "VVV",
    ]
    with pytest.raises(InvalidInputError, match=r"^model\b"):
        resolve_model("E", 2)
    with pytest.raises(InvalidInputError, match=r"^model\b"):
        resolve_model("full", 2)


# ---- every step is a maximum within its model ----------------------------------------------------


def parts(covariances):
    d = covariances.shape[1]
    values, vectors = np.linalg.eigh(covariances)
    volumes = np.exp(np.log(values).mean(axis=1))
    return volumes, values / volumes[:, None], vectors, d


@EVERY_MODEL
@pytest.mark.parametrize("d", [2, 4])
def test_constraints_hold(model, d):
    X, Z = overlapping(d=d)
    covariances = fit_em(X, None, Z, model).parameters.covariances
    volumes, shapes, _, _ = parts(covariances)
    volume, shape, orientation = model
    assert np.allclose(volumes, volumes[0], rtol=1e-8) == (volume == "E")
    if shape == "I":
        np.testing.assert_allclose(shapes, 1, rtol=1e-8)
    else:
        assert np.allclose(shapes, shapes[0], rtol=1e-8) == (shape == "E")
    if orientation == "I":
        assert not np.abs(
            covariances - np.einsum("kii->ki", covariances)[:, :, None] * np.eye(d)
        ).any()
    elif orientation == "E":  # Matrices with common axes commute.
        products = [covariances[0] @ S for S in covariances]
        np.testing.assert_allclose(
            products,
            np.swapaxes(products, 1, 2),
            atol=1e-8 * np.abs(covariances).max() ** 2,
        )


def perturbed(covariances, model, scale, rng):
    """Return similar covariances of the same model."""
    g, d = covariances.shape[:2]
    volume, shape, orientation = model

    def draws(letter, *size):
        if letter == "V":
            return rng.normal(size=(g, *size))
        return np.repeat(rng.normal(size=(1, *size)), g, axis=0)

    if model in ("EVE", "VVE"):
        mixed = np.tensordot(rng.uniform(1, 2, g), covariances, axes=1)
        common = np.linalg.eigh(mixed)[1]
        values = np.stack([np.diag(common.T @ S @ common) for S in covariances])
        vectors = np.repeat(common[None], g, axis=0)
    elif orientation == "I":
        values = np.einsum("kii->ki", covariances)
        vectors = np.repeat(np.eye(d)[None], g, axis=0)
    else:
        values, vectors = np.linalg.eigh(covariances)
    values = values * np.exp(scale * draws(volume))[:, None]
    if shape != "I":
        stretch = draws(shape, d)
        values = values * np.exp(
            scale * (stretch - stretch.mean(axis=1, keepdims=True))
        )
    if orientation != "I":
        skew = scale * draws(orientation, d, d)
        turn = np.linalg.qr(np.eye(d) + skew - np.swapaxes(skew, 1, 2))[0]
        vectors = turn @ vectors
    return np.einsum("kij,kj,klj->kil", vectors, values, vectors)


@EVERY_MODEL
@pytest.mark.parametrize("scale", [0.3, pytest.param(0.001, marks=pytest.mark.long)])
def test_covariances_are_a_maximum(model, scale):
    X, Z = overlapping()
    sizes, scatter = moments(X, Z)
    best = one_step(X, Z, model).covariances
    highest = expected_log_likelihood(best, sizes, scatter)
    rng = np.random.default_rng(1)
    np.testing.assert_allclose(perturbed(best, model, 0.0, rng), best, atol=1e-8)
    for _ in range(200):
        assert (
            expected_log_likelihood(perturbed(best, model, scale, rng), sizes, scatter)
            < highest
        )


@EVERY_MODEL
def test_nested_models_are_ordered(model):
    """A more general model has a higher expected log-likelihood."""
    X, Z = overlapping(seed=3)
    sizes, scatter = moments(X, Z)
    value = {
        m: expected_log_likelihood(one_step(X, Z, m).covariances, sizes, scatter)
        for m in MODELS
    }
    order = {"I": 0, "E": 1, "V": 2}
    for other in MODELS:
        if all(order[a] <= order[b] for a, b in zip(model, other, strict=True)):
            assert value[model] <= value[other] + 1e-6


@EVERY_MODEL
@pytest.mark.parametrize("seed", range(3))
def test_likelihood_never_decreases(model, seed):
    X, _ = overlapping(seed=seed)
    Z = np.random.default_rng(seed).dirichlet(np.ones(3), len(X))
    run = fit_em(X, None, Z, model, tol=1e-10, max_iter=300)
    assert run.problem is None
    assert (np.diff(run.history) > -1e-9 * abs(run.log_likelihood)).all()
    assert run.history[-1] == run.log_likelihood


# ---- densities, weights, invariances -------------------------------------------------------------


@EVERY_MODEL
def test_densities_of_scipy(model):
    X, Z = overlapping(n=600)  # more than one block
    run = fit_em(X, None, Z, model)
    p = run.parameters
    joint = np.stack(
        [
            np.log(share) + multivariate_normal(m, S).logpdf(X)
            for share, m, S in zip(p.proportions, p.means, p.covariances, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_allclose(log_densities(p, X), joint, rtol=1e-9, atol=1e-9)
    assert logsumexp(joint, axis=1).sum() == pytest.approx(
        run.log_likelihood, rel=1e-12
    )
    expected = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(run.responsibilities, expected, atol=1e-10)
    np.testing.assert_allclose(run.responsibilities.sum(axis=1), 1)


@EVERY_MODEL
def test_weights_are_repetitions(model):
    X, Z = overlapping()
    weights = np.random.default_rng(2).integers(0, 4, len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    settings = {"tol": 0.0, "max_iter": 20, "regularization": 1e-4}
    weighted = fit_em(X, weights, Z, model, **settings)
    repeated = fit_em(X[rows], None, Z[rows], model, **settings)
    np.testing.assert_allclose(weighted.history, repeated.history, rtol=1e-10)
    np.testing.assert_allclose(
        weighted.parameters.covariances,
        repeated.parameters.covariances,
        rtol=1e-7,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        weighted.responsibilities[rows], repeated.responsibilities, atol=1e-7
    )
    # also of rows with weight zero
    np.testing.assert_allclose(weighted.responsibilities.sum(axis=1), 1)


@EVERY_MODEL
def test_permuting_objects_permutes_responsibilities(model):
    X, Z = overlapping()
    order = np.random.default_rng(0).permutation(len(X))
    first = fit_em(X, None, Z, model)
    second = fit_em(X[order], None, Z[order], model)
    np.testing.assert_allclose(
        second.responsibilities, first.responsibilities[order], atol=1e-8
    )
    third = fit_em(X, None, Z[:, ::-1], model)
    np.testing.assert_allclose(
        third.responsibilities[:, ::-1], first.responsibilities, atol=1e-6
    )


@EVERY_MODEL
def test_change_of_units_and_origin(model):
    X, Z = overlapping()
    settings = {"tol": 0.0, "max_iter": 15}
    first = fit_em(X, None, Z, model, **settings)
    second = fit_em(1e-3 * X + 50, None, Z, model, **settings)
    np.testing.assert_allclose(
        np.diff(second.history), np.diff(first.history), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        second.parameters.means, 1e-3 * first.parameters.means + 50, rtol=1e-8
    )
    np.testing.assert_allclose(
        second.parameters.covariances,
        1e-6 * first.parameters.covariances,
        rtol=1e-4,
        atol=1e-9,
    )


@EVERY_MODEL
def test_warm_start_stays_at_a_maximum(model):
    X, Z = overlapping()
    run = fit_em(X, None, Z, model, **TIGHT)
    again = fit_em(X, None, run.parameters, model)
    assert again.converged
    assert len(again.history) == 2
    np.testing.assert_allclose(
        again.parameters.covariances, run.parameters.covariances, rtol=1e-4, atol=1e-6
    )
    # Common axes are computed from the covariances alone.
    bare = GaussianParameters(
        run.parameters.proportions,
        run.parameters.means,
        run.parameters.covariances,
        model,
    )
    assert fit_em(X, None, bare, model).log_likelihood == pytest.approx(
        run.log_likelihood, rel=1e-9
    )


def test_result_does_not_depend_on_memory_alignment():
    """Sums that the compiler reorders would differ in the last digit."""
    X, Z = overlapping(n=2000, d=2)
    rng = np.random.default_rng(0)
    clutter = []
    results = set()
    for _ in range(60):
        clutter = [*clutter[-20:], np.empty(rng.integers(1, 5000))]
        results.add(
            fit_em(
                X, None, Z, "VVV", max_iter=3, tol=0.0
            ).parameters.covariances.tobytes()
        )
    assert len(results) == 1


def test_start_is_not_overwritten():
    X, Z = overlapping()
    original = Z.copy()
    run = fit_em(X, None, Z, "VEV")
    np.testing.assert_array_equal(Z, original)
    means = run.parameters.means.copy()
    fit_em(X[:200], None, run.parameters, "VEV")
    np.testing.assert_array_equal(run.parameters.means, means)


def test_one_dimension_and_one_component():
    x = np.random.default_rng(0).normal(5, 2, (50, 1))
    for model in MODELS:
        run = fit_em(x, None, np.ones((50, 1)), model)
        assert run.parameters.means[0, 0] == pytest.approx(x.mean())
        assert run.parameters.covariances[0, 0, 0] == pytest.approx(x.var())


def test_many_dimensions():
    X, Z = overlapping(n=400, d=25)
    for model in ("EEV", "VEV", "VVE", "VVV"):
        run = fit_em(X, None, Z, model, regularization=1e-3)
        assert run.problem is None
        assert np.isfinite(run.log_likelihood)


# ---- collapse ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [m for m in MODELS if m not in ("EII", "EEI", "EEE", "EEV")]
)
def test_component_on_one_point_is_reported(model):
    X, _ = overlapping()
    X = np.vstack([X, np.full((5, 3), 40.0)])
    Z = np.zeros((len(X), 2))
    Z[:-5, 0] = Z[-5:, 1] = 1
    run = fit_em(X, None, Z, model)
    assert "component 1 collapsed" in run.problem
    assert run.parameters is None
    assert run.responsibilities is None
    assert run.log_likelihood == -np.inf
    rescued = fit_em(X, None, Z, model, regularization=1e-6)
    assert rescued.problem is None
    assert np.isfinite(rescued.log_likelihood)
    assert all(
        np.isfinite(a).all()
        for a in (rescued.parameters.means, rescued.parameters.covariances)
    )


def test_component_without_objects_is_reported():
    X, Z = overlapping()
    run = fit_em(X, None, np.column_stack([Z, np.zeros(len(X))]), "EII")
    assert "component 3 collapsed: it lost all its objects" in run.problem


@pytest.mark.parametrize("model", [m for m in MODELS if m not in DIAGONAL_MODELS])
def test_objects_in_a_plane_are_reported(model):
    X, Z = overlapping()
    X[:, 2] = X[:, 0] - 2 * X[:, 1]
    assert "singular" in fit_em(X, None, Z, model).problem
    assert fit_em(X, None, Z, model, regularization=1e-6).problem is None


@pytest.mark.parametrize("model", ["EII", "VVE", "VEV", "VVV"])
def test_refits_equal_single_fits(iris, model):
    rng = np.random.default_rng(0)
    first = fit_em(iris, None, np.eye(3)[load_iris().target], model)
    weights = np.stack(
        [np.bincount(rng.integers(150, size=150), minlength=150) for _ in range(3)]
    ).astype(float)
    settings = {"max_iter": 4, "regularization": 1e-3}
    refits = refit_em(
        iris,
        weights,
        first.parameters,
        first.responsibilities,
        max_change=0.0,
        **settings,
    )
    for b, w in enumerate(weights):
        single = fit_em(iris, w, first.parameters, model, tol=0.0, **settings)
        np.testing.assert_allclose(
            refits.parameters[0][b], single.parameters.proportions
        )
        np.testing.assert_allclose(refits.parameters[1][b], single.parameters.means)
        np.testing.assert_allclose(
            refits.parameters[2][b], single.parameters.covariances, atol=1e-12
        )
        assert refits.log_likelihood[b] == pytest.approx(single.log_likelihood)
        expected = (w[:, None] * first.responsibilities).T @ single.responsibilities
        np.testing.assert_allclose(refits.overlaps[b], expected, atol=1e-9)
    assert refits.problems == [None] * 3


def test_refits_report_a_collapse(iris):
    first = fit_em(iris, None, np.eye(3)[load_iris().target], "VVV")
    weights = np.ones((2, 150))
    weights[1, 3:50] = 0
    refits = refit_em(
        iris, weights, first.parameters, first.responsibilities, max_change=0.01
    )
    assert refits.problems[0] is None
    assert (
        refits.problems[1] == fit_em(iris, weights[1], first.parameters, "VVV").problem
    )
    assert refits.log_likelihood[1] == -np.inf
