"""EvidentialNeuralNetworkClassifier: reference results, gradient, quality, soft labels, invalid input."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import EvidentialNeuralNetworkClassifier
from dempster.classify import neural_network as network
from dempster.classify._prototype_network import allocate
from dempster.optimize.lbfgs import minimize_lbfgs

CASES = ["prods_glass_p7", "prods_ionosphere_fixedproto", "prods_iris_p2perclass_mu"]


@parametrize_with_checks([EvidentialNeuralNetworkClassifier(n_init=1)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def quick(n_prototypes="auto", **parameters):
    return EvidentialNeuralNetworkClassifier(
        n_prototypes, **{"n_init": 1, "random_state": 0, "n_jobs": 1} | parameters
    )


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, 3, centers=3, cluster_std=1.5, random_state=1)


def make_start(case):
    parts = [case["W0"].ravel(), case["gamma0"], case["beta0"].ravel(), case["alpha0"]]
    return np.concatenate(parts), np.eye(case["beta0"].shape[1])[case["y"]]


def random_problem(seed=0, n=12, p=3, r=4, n_classes=3):
    rng = np.random.default_rng(seed)
    parameters = rng.normal(size=r * (p + n_classes + 2))
    X = rng.normal(size=(n, p))
    lower = rng.uniform(0, 0.5, size=(n, n_classes))
    return (
        parameters,
        X,
        lower,
        lower + rng.uniform(0, 0.3, size=lower.shape) * (rng.random(lower.shape) < 0.5),
    )


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    parameters, targets = make_start(case)
    cost, gradient = network.network_cost(
        parameters, case["x"], targets, targets, p["lambda"], p["mu"]
    )
    case.assert_equal("cost0", cost)
    by = network.unpack(gradient, case["x"].shape[1], targets.shape[1])
    case.assert_equal("grad_W0", by[0])
    case.assert_equal("grad_gamma0", by[1])
    case.assert_equal("grad_beta0", by[2])
    # exact; that of the R package is approximate
    case.assert_equal("grad_alpha0", by[3])
    assert np.abs(by[3] - case["grad_alpha0_R"]).max() > 1e-6 * np.abs(by[3]).max()
    u = network.memberships(case["beta0"])
    alpha = network.reliabilities(case["alpha0"])
    case.assert_equal(
        "mass_test_init",
        network.network_masses(case["xtest"], case["W0"], case["gamma0"], alpha, u),
    )
    u = network.memberships(case["beta"])
    alpha = network.reliabilities(case["alpha"])
    masses = network.network_masses(case["xtest"], case["W"], case["gamma"], alpha, u)
    case.assert_equal("mass_test", masses, rtol=1e-7, atol=1e-9)
    sure = case["ypred_tied"] == 0
    np.testing.assert_array_equal(
        masses[sure, :-1].argmax(axis=1), case["ypred_test"][sure]
    )


def minimize_with_fixed(cost, start, is_fixed, *, max_iter, tol):
    """Minimize a cost over the parameters that are not fixed, which R allows."""

    def free_cost(values):
        value, gradient = cost(values)
        return value, np.where(is_fixed, 0, gradient)

    return minimize_lbfgs(
        free_cost, start, max_iter=max_iter, tol=tol, gradient_tol=tol / 10
    )


@pytest.mark.parametrize("name", CASES)
def test_cost_is_not_higher_than_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    parameters, targets = make_start(case)
    is_fixed = np.zeros(len(parameters), dtype=bool)
    is_fixed[: 0 if p["optimProto"] else case["W0"].size] = True
    run = minimize_with_fixed(
        lambda t: network.network_cost(
            t, case["x"], targets, targets, p["lambda"], p["mu"]
        ),
        parameters,
        is_fixed,
        max_iter=1000,
        tol=1e-7,
    )
    assert run.objective <= case["cost"] * 1.001
    assert np.all(np.diff(run.history) <= 1e-15)
    np.testing.assert_array_equal(run.model[is_fixed], parameters[is_fixed])


@pytest.mark.parametrize("mixing", [0.0, 1 / 3, 1.0])
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_gradient_against_finite_differences(mixing, mu):
    parameters, X, lower, upper = random_problem()

    def cost(values):
        return network.network_cost(values, X, lower, upper, mixing, mu)[0]

    step = 1e-6
    numeric = [
        (cost(parameters + e) - cost(parameters - e)) / (2 * step)
        for e in step * np.eye(len(parameters))
    ]
    gradient = network.network_cost(parameters, X, lower, upper, mixing, mu)[1]
    np.testing.assert_allclose(gradient, numeric, atol=1e-8)


def test_masses_equal_sequential_combination():
    parameters, X, _, _ = random_problem(3)
    prototypes, gamma, beta, xi = network.unpack(parameters, 3, 3)
    u = network.memberships(beta)
    alpha = network.reliabilities(xi)
    family = FocalSets.simple(3, empty=False)
    s = alpha * np.exp(-0.5 * gamma**2 * ((X[:, None] - prototypes) ** 2).sum(axis=2))
    combined = MassFunctions(np.column_stack([s[:, [0]] * u[0], 1 - s[:, 0]]), family)
    for i in range(1, len(gamma)):
        combined = combined.combine(
            MassFunctions(np.column_stack([s[:, [i]] * u[i], 1 - s[:, i]]), family)
        )
    masses = network.network_masses(X, prototypes, gamma, alpha, u)
    np.testing.assert_allclose(masses, combined.to_family(family).masses, atol=1e-12)


def test_many_reliable_prototypes_do_not_underflow():
    r = 400
    parameters = np.concatenate(
        [np.zeros(r), np.ones(r), np.tile([1.0, 1.0, 1.0], r), np.full(r, 20.0)]
    )
    X = np.zeros((2, 1))
    targets = np.eye(3)[:2]
    cost, gradient = network.network_cost(parameters, X, targets, targets, 0.5, 0.0)
    assert np.isfinite(cost)
    assert np.isfinite(gradient).all()
    u = np.full((r, 3), 1 / 3)
    masses = network.network_masses(
        X, np.zeros((r, 1)), np.ones(r), np.full(r, 0.99), u
    )
    np.testing.assert_allclose(masses[:, :3], 1 / 3)
    conflicting = np.eye(3)[np.arange(r) % 2]
    masses = network.network_masses(
        X, np.zeros((r, 1)), np.ones(r), np.full(r, 0.99), conflicting
    )
    np.testing.assert_allclose(masses.sum(axis=1), 1)
    np.testing.assert_allclose(masses[0, :2], 0.5, atol=1e-9)


# ---- quality -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_prototypes", [33, pytest.param(55, marks=pytest.mark.long)])
def test_vowel(shared, n_prototypes):
    """Published errors: 0.38 and 0.37."""
    with np.load(shared / "data" / "vowel.npz") as z:
        X = z["X"].astype(float)
        y = z["y"]
        train = z["train"]
    model = EvidentialNeuralNetworkClassifier(
        n_prototypes, n_init=2, random_state=0
    ).fit(X[train], y[train])
    assert 1 - model.score(X[~train], y[~train]) <= 0.40


def test_glass(shared):
    """Published error: 0.3333."""
    with np.load(shared / "data" / "glass_evclass.npz") as z:
        X = z["X"].astype(float)
        y = z["y"]
    errors = []
    for seed in range(3):
        model = EvidentialNeuralNetworkClassifier(7, random_state=seed).fit(
            X[:89], y[:89]
        )
        errors.append(1 - model.score(X[89:], y[89:]))
    assert max(errors) <= 0.34


@pytest.mark.parametrize("init", ["classes", "all"])
@pytest.mark.parametrize("mixing", [None, 0.0, 1.0])
def test_iris(iris, init, mixing):
    X, y = iris
    model = quick(6, init=init, mixing=mixing).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) >= 0.92
    masses = model.predict_mass(np.vstack([X, X[:1] + 1e4]))
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    assert masses.masses[-1, -1] == pytest.approx(1)
    assert (model.reliabilities_ < 0.99).all()
    assert np.allclose(model.memberships_.sum(axis=1), 1)
    assert model.prototypes_.shape == (6, 4)


def test_unit_and_origin_have_no_effect(iris):
    X, y = iris
    one = quick(6).fit(X, y).predict_mass(X).masses
    np.testing.assert_allclose(
        quick(6).fit(X * 1e200 + 3e200, y).predict_mass(X * 1e200 + 3e200).masses,
        one,
        atol=1e-3,
    )
    other = quick(6).fit(X * 1000, y)
    np.testing.assert_allclose(other.predict_mass(X * 1000).masses, one, atol=1e-3)
    # The fitted attributes are in the units of the data.
    masses = network.network_masses(
        X * 1000,
        other.prototypes_,
        other.gamma_,
        other.reliabilities_,
        other.memberships_,
    )
    np.testing.assert_allclose(masses, other.predict_mass(X * 1000).masses, atol=1e-9)


# ---- regularization, starts ----------------------------------------------------------------------


def test_regularization_reduces_reliabilities(iris):
    X, y = iris
    sums = [
        quick(15, regularization=mu).fit(X, y).reliabilities_.sum()
        for mu in (0.0, 1e-3, 1e-2, 10.0)
    ]
    assert sums[0] > sums[1] > sums[2] > sums[3]
    assert sums[3] < 0.1


def test_cross_validation(iris):
    X, y = iris
    grid = [0.0, 1e-3, 10.0]
    model = quick(6, regularization=grid, cv=3).fit(X, y)
    assert list(model.cv_losses_) == grid
    assert model.regularization_ == min(grid, key=model.cv_losses_.get)
    assert model.cv_losses_[10.0] > 2 * model.cv_losses_[0.0]
    assert quick(6, regularization="cv", cv=2).fit(X, y).regularization_ in (
        0.0,
        1e-5,
        1e-4,
        1e-3,
        1e-2,
    )
    assert quick(6, regularization=0.01).fit(X, y).regularization_ == 0.01
    rare = np.r_[0:50, 50:100, [149]]
    # a class with one object
    assert (
        quick(6, regularization=grid, cv=3).fit(X[rare], y[rare]).regularization_
        in grid
    )


def test_restarts_histories_and_seeds(iris):
    X, y = iris
    one = quick(6).fit(X, y)
    several = quick(6, n_init=4).fit(X, y)
    assert several.objective_ <= one.objective_ + 1e-12
    assert np.all(np.diff(several.history_) <= 0)
    assert several.n_iter_ == len(several.history_) > 1
    assert several.history_[-1] == several.objective_
    assert several.converged_
    again = quick(6, n_init=4, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        several.predict_mass(X).masses, again.predict_mass(X).masses
    )
    for state in (np.random.RandomState(0), np.random.default_rng(0), None):
        assert quick(6, random_state=state).fit(X, y).score(X, y) > 0.9


def test_threads_do_not_matter():
    X, y = make_blobs(9000, 2, centers=2, random_state=0)
    fits = [quick(2, max_iter=5, n_jobs=jobs, tol=0.1) for jobs in (1, 2)]
    masses = [fit.fit(X, y).predict_mass(X).masses for fit in fits]
    np.testing.assert_array_equal(*masses)


def test_allocate():
    assert allocate([50, 50, 50], [40, 40, 40], 7).tolist() == [3, 2, 2]
    assert allocate([10, 90], [40, 40], 3).tolist() == [1, 2]
    assert allocate([90, 2, 1], [40, 2, 1], 10).tolist() == [7, 2, 1]
    assert allocate([1, 1], [1, 1], 5).tolist() == [1, 1]


def test_classes_with_few_objects(iris):
    X, y = iris
    rare = np.r_[0:50, 50:53, [149]]  # classes of fifty, three and one objects
    for init in ("classes", "all"):
        model = quick(12, init=init).fit(X[rare], y[rare])
        assert model.prototypes_.shape == (12, 4)
        assert model.score(X[rare], y[rare]) > 0.9
    with pytest.raises(InvalidInputError, match=r"^n_prototypes\b"):
        quick(60).fit(X[rare], y[rare])
    twins = quick(4).fit(
        np.repeat([[0.0], [1.0]], 2, axis=0).repeat(3, axis=0)[:, [0, 0]]
        + np.eye(12, 2),
        np.arange(12) % 2,
    )
    assert np.isfinite(twins.predict_mass([[0.0, 0.0]]).masses).all()


def test_identical_objects():
    model = quick().fit(np.ones((10, 2)), np.arange(10) % 2)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 0.5, atol=0.01)


# ---- labels --------------------------------------------------------------------------------------


def test_permuted_classes_permute_columns(iris):
    X, y = iris
    a = quick(6).fit(X, y).predict_proba(X)
    b = quick(6, n_init=3).fit(X, (y + 1) % 3).predict_proba(X)[:, [1, 2, 0]]
    assert (a.argmax(axis=1) == b.argmax(axis=1)).mean() > 0.95


def test_soft_labels(blobs):
    X, y = blobs
    rng = np.random.default_rng(0)
    doubt = rng.uniform(0, 0.6, size=len(y))
    masses = np.eye(3, 4)[y] * (1 - doubt)[:, None]
    masses[:, 3] += doubt
    labels = MassFunctions(
        masses, FocalSets.simple(3, empty=False), frame=["a", "b", "c"]
    )
    model = quick(6).fit(X, labels)
    assert (model.predict(X) == np.array(["a", "b", "c"])[y]).mean() > 0.9
    # A pair of classes excludes the third.
    pairs = MassFunctions.from_dict(
        [{(k, (k + 1) % 3): 1.0} if i % 3 else {k: 1.0} for i, k in enumerate(y)],
        range(3),
    )
    assert (quick(6).fit(X, pairs).predict(X) == y).mean() > 0.85


def test_vacuous_labels_have_no_effect_on_the_cost():
    parameters, X, _, _ = random_problem()
    n = len(X)
    targets = np.eye(3)[np.arange(n) % 3]
    known = network.network_cost(parameters, X, targets, targets, 1.0, 0.0)
    lower = np.vstack([targets, np.zeros((n, 3))])
    upper = np.vstack([targets, np.ones((n, 3))])
    both = network.network_cost(parameters, np.vstack([X, X]), lower, upper, 1.0, 0.0)
    assert 2 * both[0] == pytest.approx(known[0])
    np.testing.assert_allclose(2 * both[1], known[1], atol=1e-14)


def test_half_of_the_labels_vacuous(blobs):
    X, y = blobs
    masses = np.eye(3, 4)[y]
    masses[::2] = [0, 0, 0, 1]
    model = quick(6).fit(X, MassFunctions(masses, FocalSets.simple(3, empty=False)))
    assert (model.predict(X) == y).mean() > 0.9


# ---- scikit-learn --------------------------------------------------------------------------------


def test_pipelines_and_searches(iris):
    X, y = iris
    search = GridSearchCV(
        make_pipeline(StandardScaler(), quick()),
        {"evidentialneuralnetworkclassifier__n_prototypes": [3, 6]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_score(quick(6, regularization=1e-3), X, y, cv=3).mean() > 0.9


# ---- invalid input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_prototypes": 0}, r"^n_prototypes\b"),
        ({"n_prototypes": 2, "init": "classes"}, r"^n_prototypes\b"),
        ({"n_prototypes": 151}, r"^n_prototypes\b"),
        ({"regularization": -1}, r"^regularization\b"),
        ({"regularization": "best"}, r"^regularization\b"),
        ({"regularization": []}, r"^regularization\b"),
        ({"regularization": [0.1, -0.1]}, r"^regularization\b"),
        ({"mixing": 2}, r"^mixing\b"),
        ({"init": "random"}, r"^init\b"),
        ({"cv": 1}, r"^cv\b"),
        ({"cv": 200, "regularization": "cv"}, r"^cv\b"),
        ({"n_init": 0}, r"^n_init\b"),
        ({"tol": -1}, r"^tol\b"),
        ({"random_state": "x"}, r"^random_state\b"),
    ],
)
def test_invalid_parameters(iris, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(**parameters).fit(*iris)


def test_convergence_warning(iris):
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations"):
        quick(6, max_iter=2).fit(*iris)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(6).fit(*iris)
