"""EvidentialRBFClassifier: reference results, gradient, quality, soft labels, invalid input."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import EvidentialRBFClassifier, rbf
from dempster.optimize.lbfgs import minimize_lbfgs

CASES = ["rbf_glass_p7", "rbf_ionosphere_p6", "rbf_iris_p5"]


@parametrize_with_checks(
    [
        EvidentialRBFClassifier(n_init=1),
        EvidentialRBFClassifier(6, regularization=[1e-3, 1e-1], cv=2, n_init=1),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def quick(n_prototypes="auto", **parameters):
    return EvidentialRBFClassifier(
        n_prototypes, **{"n_init": 1, "random_state": 0, "n_jobs": 1} | parameters
    )


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def make_start(case):
    return (
        np.concatenate([case["P0"].ravel(), case["Gamma0"], case["W0"].ravel()]),
        np.eye(case["W0"].shape[1])[case["y"]],
    )


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    parameters, targets = make_start(case)
    cost, gradient = rbf.network_cost(
        parameters, case["x"], targets, case.parameters["lambda"]
    )
    case.assert_equal("objective0", -cost)
    by = rbf.unpack(-gradient, case["x"].shape[1], targets.shape[1])
    case.assert_equal("grad_P0", by[0])
    case.assert_equal("grad_Gamma0", by[1])
    case.assert_equal("grad_W0", by[2])
    evidence = rbf.compute_evidence(
        case["xtest"], case["P0"], case["Gamma0"], case["W0"]
    )
    family = FocalSets.full(targets.shape[1], empty=False)
    case.assert_equal("prob_test_init", evidence.probabilities)
    masses = MassFunctions(evidence.masses(family), family)
    case.assert_equal("mass_test_init", masses.to_dense())
    case.assert_equal("pl_test_init", masses.contour)
    case.assert_equal("conf_test_init", evidence.conflict)
    final = rbf.compute_evidence(case["xtest"], case["P"], case["Gamma"], case["W"])
    case.assert_equal("prob_test", final.probabilities, rtol=1e-6, atol=1e-9)
    case.assert_equal(
        "mass_test",
        MassFunctions(final.masses(family), family).to_dense(),
        rtol=1e-6,
        atol=1e-9,
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
def test_objective_equals_the_reference(reference, name):
    case = reference(name)
    parameters, targets = make_start(case)
    is_fixed = np.zeros(len(parameters), dtype=bool)
    is_fixed[: 0 if case.parameters["optimProto"] else case["P0"].size] = True
    run = minimize_with_fixed(
        lambda t: rbf.network_cost(t, case["x"], targets, case.parameters["lambda"]),
        parameters,
        is_fixed,
        max_iter=1000,
        tol=1e-8,
    )
    case.assert_equal("objective", -run.objective)
    np.testing.assert_array_equal(run.model[is_fixed], parameters[is_fixed])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gradient_against_finite_differences(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 3))
    contour = rng.uniform(0.1, 1, size=(15, n_classes))
    contour[:5] = np.eye(n_classes)[rng.integers(n_classes, size=5)]
    parameters = rng.normal(size=4 * (3 + n_classes + 1))

    def cost(values):
        return rbf.network_cost(values, X, contour, 0.05)[0]

    step = 1e-6
    numeric = [
        (cost(parameters + e) - cost(parameters - e)) / (2 * step)
        for e in step * np.eye(len(parameters))
    ]
    np.testing.assert_allclose(
        rbf.network_cost(parameters, X, contour, 0.05)[1], numeric, atol=1e-8
    )


# ---- quality -------------------------------------------------------------------------------------


def test_iris(iris):
    X, y = iris
    model = quick(6).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) >= 0.93
    masses = model.predict_mass(X)
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    np.testing.assert_allclose(
        masses.plausibility_transform(), model.predict_proba(X), atol=1e-12
    )
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)]
    )
    assert len(masses.focal_sets) == 7


def test_masses_are_vacuous_far_from_the_prototypes(iris):
    X, y = iris
    masses = quick(6).fit(X, y).predict_mass(X[:1] + 1e4)
    assert masses.mass((0, 1, 2))[0] == pytest.approx(1)
    np.testing.assert_allclose(masses.plausibility_transform(), 1 / 3)


def test_ionosphere(shared):
    with np.load(shared / "data" / "ionosphere.npz") as z:
        X = z["X"].astype(float)
        y = z["y"]
    model = EvidentialRBFClassifier(20, random_state=0).fit(X[:176], y[:176])
    assert 1 - model.score(X[176:], y[176:]) <= 0.12


def test_many_classes():
    X, y = make_blobs(280, 2, centers=14, cluster_std=0.3, random_state=0)
    model = quick(20).fit(X, y)
    assert len(model.focal_sets_) == 15
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict_mass(X).masses.sum(axis=1), 1)
    with pytest.raises(InvalidInputError, match=r"^focal_sets\b"):
        quick(20, focal_sets="full").fit(X, y)
    assert len(quick(5, focal_sets="simple").fit(X, y % 3).focal_sets_) == 4


def test_unit_and_origin_have_little_effect(iris):
    X, y = iris
    one = quick(6).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        quick(6).fit(X * 1000 + 5e4, y).predict_proba(X * 1000 + 5e4), one, atol=0.03
    )


# ---- regularization, starts ----------------------------------------------------------------------


def test_regularization(iris):
    X, y = iris
    norms = [
        np.square(quick(6, regularization=p).fit(X, y).prototype_weights_).sum()
        for p in (1e-5, 1e-3, 1e-1, 10.0)
    ]
    assert norms[0] > norms[1] > norms[2] > norms[3]
    grid = [1e-3, 10.0]
    model = quick(6, regularization=grid, cv=3).fit(X, y)
    assert model.regularization_ == 1e-3
    assert model.cv_losses_[1e-3] < model.cv_losses_[10.0]
    assert quick(6, regularization="cv").fit(X, y).score(X, y) > 0.93


def test_restarts_histories_and_seeds(iris):
    X, y = iris
    one = quick(6).fit(X, y)
    several = quick(6, n_init=4).fit(X, y)
    assert several.objective_ <= one.objective_ + 1e-12
    assert np.all(np.diff(several.history_) <= 0)
    assert several.converged_
    again = quick(6, n_init=4, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(several.predict_proba(X), again.predict_proba(X))


def test_clusters_of_one_object_are_removed():
    X, y = make_blobs(60, 2, centers=2, cluster_std=0.5, random_state=0)
    X = np.vstack([X, [[100.0, 100.0]]])
    model = quick(3).fit(X, np.append(y, 0))
    assert len(model.prototypes_) == 2
    assert np.abs(model.prototypes_).max() < 20
    assert len(quick(2).fit([[0.0], [1.0]], [0, 1]).prototypes_) == 2


# ---- labels --------------------------------------------------------------------------------------


def test_soft_labels(iris):
    X, y = iris
    family = FocalSets.simple(3, empty=False)
    certain = quick(6).fit(X, MassFunctions(np.eye(3, 4)[y], family))
    np.testing.assert_array_equal(
        certain.predict_proba(X), quick(6).fit(X, y).predict_proba(X)
    )
    doubt = np.random.default_rng(0).uniform(0, 0.8, size=150)
    masses = np.eye(3, 4)[y] * (1 - doubt)[:, None]
    masses[:, 3] += doubt
    model = quick(6).fit(X, MassFunctions(masses, family, frame=["a", "b", "c"]))
    assert (model.predict(X) == np.array(["a", "b", "c"])[y]).mean() > 0.9


def test_vacuous_labels_have_no_effect_on_the_cost():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 2))
    targets = np.eye(3)[np.arange(10) % 3]
    parameters = rng.normal(size=4 * 6)
    known = rbf.network_cost(parameters, X, targets, 0.0)
    both = rbf.network_cost(
        parameters, np.vstack([X, X]), np.vstack([targets, np.ones((10, 3))]), 0.0
    )
    assert 2 * both[0] == pytest.approx(known[0])
    np.testing.assert_allclose(2 * both[1], known[1], atol=1e-13)


def test_searches(iris):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), quick(5)),
        {"evidentialrbfclassifier__regularization": [1e-3, 1.0]},
        cv=3,
    ).fit(*iris)
    assert search.best_params_["evidentialrbfclassifier__regularization"] == 1e-3


# ---- invalid input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_prototypes": 0}, r"^n_prototypes\b"),
        ({"n_prototypes": 151}, r"^n_prototypes\b"),
        ({"regularization": -1}, r"^regularization\b"),
        ({"regularization": [np.nan]}, r"^regularization\b"),
        ({"focal_sets": "pairs"}, r"^focal_sets\b"),
        ({"max_iter": 0}, r"^max_iter\b"),
    ],
)
def test_invalid_parameters(iris, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        quick(**parameters).fit(*iris)
