from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from dempster._errors import InvalidInputError
from dempster.constraints import Constraints
from dempster.metric import MMC, DMLEig, full_metric


@pytest.fixture(scope="module", params=["iris", "wine"])
def problem(request):
    X, y = (load_iris if request.param == "iris" else load_wine)(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    known = Constraints.from_labels(y, 200, random_state=0)
    must, cannot = (
        X[p[:, 0]] - X[p[:, 1]] for p in (known.must_link, known.cannot_link)
    )
    return X, known, must, cannot


def squared(U, A):
    return np.einsum("ni,ij,nj->n", U, A, U)


# ---- gradients -----------------------------------------------------------------------------------


def test_gradients_against_differences():
    rng = np.random.default_rng(0)
    U = rng.normal(size=(12, 4))
    V = rng.normal(size=(4, 4))
    B = V @ V.T
    distances = partial(full_metric.sum_of_distances, U)
    for function in (distances, partial(full_metric.smoothed_minimum, U, 0.3)):
        _, gradient = function(B)
        numeric = approx_fprime(
            B.ravel(), lambda v, f=function: f(v.reshape(B.shape))[0], 1e-7
        )
        np.testing.assert_allclose(gradient.ravel(), numeric, rtol=1e-4, atol=1e-4)
        objective = partial(full_metric.evaluate_factor, function)
        slope = objective(V)[1]
        numeric = approx_fprime(
            V.ravel(), lambda v, o=objective: o(v.reshape(V.shape))[0], 1e-7
        )
        np.testing.assert_allclose(slope.ravel(), numeric, rtol=1e-4, atol=1e-4)


# ---- MMC -----------------------------------------------------------------------------------------


def test_mmc_is_feasible_and_optimal(problem):
    X, known, must, cannot = problem
    model = MMC(tol=1e-4).fit(X, constraints=known)
    A = model.metric_matrix_
    assert np.linalg.eigvalsh(A)[0] >= -1e-10
    assert squared(must, A).sum() == pytest.approx(1, abs=1e-4)  # up to the ridge
    distances = np.sqrt(squared(cannot, A))
    assert model.objective_ == pytest.approx(distances.sum(), rel=1e-6)
    # The objective is concave, so a generalized eigenvalue bounds it.
    gradient = 0.5 * (cannot.T / distances) @ cannot
    S = must.T @ must
    root = np.linalg.inv(np.linalg.cholesky(S))
    bound = model.objective_ / 2 + np.linalg.eigvalsh(root @ gradient @ root.T)[-1]
    assert model.objective_ <= bound <= model.objective_ * (1 + 2e-3)
    euclidean = np.sqrt(squared(cannot, np.eye(X.shape[1]) / (must**2).sum())).sum()
    assert model.objective_ > euclidean


def test_mmc_components_give_the_metric(problem):
    X, known, *_ = problem
    model = MMC().fit(X, constraints=known)
    np.testing.assert_allclose(
        model.components_.T @ model.components_, model.metric_matrix_, atol=1e-10
    )
    two = MMC(2).fit(X, constraints=known)
    np.testing.assert_allclose(two.components_, model.components_[:2])
    lengths = (model.components_**2).sum(axis=1)
    assert (np.diff(lengths) <= 1e-12).all()


def test_mmc_of_one_cannot_link():
    """If the must-links have equal scatter in all directions, all weight is along the cannot-link."""
    X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 1, 2]])
    known = Constraints(must_link=[(0, 1), (0, 2), (0, 3)], cannot_link=[(0, 4)])
    A = MMC(tol=1e-8).fit(X, constraints=known).metric_matrix_
    np.testing.assert_allclose(A, np.outer([2, 1, 2], [2, 1, 2]) / 9, atol=1e-5)


# ---- DMLEig --------------------------------------------------------------------------------------


def test_dml_eig_is_feasible_and_optimal(problem):
    X, known, must, cannot = problem
    model = DMLEig().fit(X, constraints=known)
    A = model.metric_matrix_
    assert model.converged_
    assert squared(must, A).sum() == pytest.approx(1, abs=1e-4)
    smallest = squared(cannot, A).min()
    assert (
        model.objective_
        <= smallest
        <= model.objective_ + model.smoothing_ * np.log(len(cannot)) + 1e-12
    )
    # Weak duality: for any weights p, max_A min_n u'Au <= largest generalized eigenvalue of sum p u
    # u'.
    p = np.exp(-(squared(cannot, A) - smallest) / model.smoothing_)
    root = np.linalg.inv(np.linalg.cholesky(must.T @ must))
    bound = np.linalg.eigvalsh(root @ ((cannot.T * (p / p.sum())) @ cannot) @ root.T)[
        -1
    ]
    assert smallest <= bound * (1 + 1e-4)
    assert smallest >= 0.97 * bound
    assert smallest > 2 * squared(cannot, np.eye(X.shape[1]) / (must**2).sum()).min()


def test_dml_eig_shares_its_weight(monkeypatch):
    """The smallest distance of two orthogonal cannot-links is largest if both distances are equal."""
    X = np.array([[0.0, 0], [1, 0], [0, 1], [0, 2]])
    known = Constraints(must_link=[(0, 2)], cannot_link=[(0, 1), (0, 3)])
    # The ridge makes the scatter of the must-link proportional to the identity.
    monkeypatch.setattr(full_metric, "_SMOOTHING", np.geomspace(0.1, 1e-5, 5))
    model = DMLEig(regularization=1e6, tol=1e-5).fit(X, constraints=known)
    weights = np.diag(model.metric_matrix_) / np.trace(model.metric_matrix_)
    np.testing.assert_allclose(weights, [0.8, 0.2], atol=2e-3)


def test_less_smoothing_is_nearer_the_minimum(problem, monkeypatch):
    X, known, _, cannot = problem
    smallest = []
    for degrees in ([1.0], [0.1], [0.1, 0.01, 0.001]):
        monkeypatch.setattr(full_metric, "_SMOOTHING", degrees)
        A = DMLEig().fit(X, constraints=known).metric_matrix_
        smallest.append(squared(cannot, A).min())
    assert max(smallest[:2]) < smallest[2]


def test_cannot_links_of_identical_objects():
    X = np.array([[0.0, 0], [1, 0.3], [0, 0], [2, 1], [1, 1]])
    known = Constraints(
        must_link=[(0, 1), (3, 4)], cannot_link=[(0, 2), (0, 3), (1, 4)]
    )
    with pytest.warns(UserWarning, match="1 cannot-links join identical objects"):
        model = DMLEig().fit(X, constraints=known)
    without = DMLEig().fit(
        X, constraints=Constraints(known.must_link, known.cannot_link[1:])
    )
    np.testing.assert_array_equal(model.components_, without.components_)
    assert np.isfinite(MMC().fit(X, constraints=known).components_).all()


# ---- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [MMC(), DMLEig()])
def test_both_kinds_of_pairs_are_required(learner):
    X = np.random.default_rng(0).normal(size=(6, 2))
    X[5] = X[4]
    for must, cannot, match in (
        ([(0, 1)], [], "cannot-link"),
        ([], [(0, 1)], "must-link"),
        ([(4, 5)], [(2, 3)], "must-link"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            learner.fit(X, constraints=Constraints(must, cannot))


@pytest.mark.parametrize("learner", [MMC, DMLEig])
def test_fewer_must_links_than_attributes(learner):
    """The ridge bounds the metric in directions in which the must-links do not differ."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 8))
    known = Constraints([(0, 1), (2, 3)], [(0, 2), (1, 3), (4, 5)])
    model = learner(regularization=0.1).fit(X, constraints=known)
    must = X[[0, 2]] - X[[1, 3]]
    assert np.isfinite(model.components_).all()
    assert squared(must, model.metric_matrix_).sum() <= 1 + 1e-9
    assert np.trace(model.metric_matrix_) <= 1 / (0.1 * (must**2).sum() / 8) * (
        1 + 1e-6
    )


@pytest.mark.parametrize("learner", [MMC, DMLEig])
def test_more_features_than_objects(learner, monkeypatch):
    """The metric is learned in the span of the differences."""
    y = np.arange(24) % 3
    X = np.random.default_rng(0).normal(size=(24, 60)) + 2 * y[:, None] * (
        np.arange(60) < 4
    )
    few = learner(random_state=0).fit(X, y)
    assert few.components_.shape == (60, 60)
    np.testing.assert_allclose(
        few.components_.T @ few.components_, few.metric_matrix_, atol=1e-6
    )
    with monkeypatch.context() as patch:
        patch.setattr(full_metric, "_basis_of_differences", lambda objects: np.eye(60))
        every = learner(random_state=0).fit(X, y)
    size = np.abs(every.metric_matrix_).max()
    np.testing.assert_allclose(
        few.metric_matrix_, every.metric_matrix_, atol=2e-3 * size
    )
    assert learner(2, max_pairs=200, random_state=0).fit(
        np.tile(X, 40), y
    ).components_.shape == (
        2,
        2400,
    )
