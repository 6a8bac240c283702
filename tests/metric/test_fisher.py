import numpy as np
import pytest
from scipy import linalg
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from dempster._errors import InvalidInputError
from dempster.metric import FDA, KFDA, LFDA
from dempster.metric._base import Classes
from dempster.metric.fisher import local_affinity, local_scatters


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def scatters(X, y):
    within = np.zeros((X.shape[1],) * 2)
    between = np.zeros((X.shape[1],) * 2)
    for k in np.unique(y):
        deviation = X[y == k] - X[y == k].mean(0)
        shift = X[y == k].mean(0) - X.mean(0)
        within += deviation.T @ deviation
        between += (y == k).sum() * np.outer(shift, shift)
    return within, between


def assert_collinear(a, b):
    for u, v in zip(a.T, b.T, strict=True):
        np.testing.assert_allclose(abs(np.corrcoef(u, v)[0, 1]), 1, atol=1e-6)


# ---- FDA -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0, 1e-3, 0.5])
def test_fda_solves_the_generalized_eigenproblem(wine, ridge):
    X, y = wine
    model = FDA(regularization=ridge).fit(X, y)
    within, between = scatters(X, y)
    regular = within + ridge * np.trace(within) / 13 * np.eye(13)
    expected = linalg.eigh(between, regular, eigvals_only=True)[::-1][:2]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-9)
    V = model.components_.T
    np.testing.assert_allclose(between @ V, regular @ V * model.eigenvalues_, atol=1e-6)
    np.testing.assert_allclose(np.diag(V.T @ within @ V), len(X))


def test_fda_without_ridge_is_linear_discriminant_analysis(wine):
    X, y = wine
    ours = FDA(regularization=0).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert_collinear(ours.transform(X), theirs.transform(X))


def test_shrinkage_of_scikit_learn_is_different(wine):
    """Shrinkage of LinearDiscriminantAnalysis also changes the scatter between classes."""
    X, y = wine
    ridge = 0.5
    theirs = (
        LinearDiscriminantAnalysis(solver="eigen", shrinkage=ridge / (1 + ridge))
        .fit(X, y)
        .transform(X)
    )
    ours = FDA(regularization=ridge).fit_transform(X, y)
    assert abs(np.corrcoef(ours[:, 1], theirs[:, 1])[0, 1]) < 1 - 1e-6


def test_fda_of_fewer_objects_than_attributes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 50))
    X[100:, 0] += 4
    y = np.repeat([0, 1], 100)
    known = np.where(np.arange(200) % 20 < 1, y, -1)  # ten labels
    Z = FDA(regularization=1).fit_transform(X, known)
    assert np.isfinite(Z).all()
    assert abs(Z[y == 0].mean() - Z[y == 1].mean()) > Z[y == 0].std()
    with pytest.raises(InvalidInputError, match=r"^regularization\b"):
        FDA(regularization=0).fit(X, known)


def test_features_that_separate_by_chance_are_bounded():
    """With two objects per class, the scatter within classes vanishes in most directions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 30))
    y = np.repeat([0, 1, 2], 2)
    Z = FDA(regularization=1e-9).fit_transform(X, y)
    within, _ = scatters(X, y)
    bound = 6 * 100 / (1e-9 * np.trace(within) / 30)
    assert (FDA(regularization=1e-9).fit(X, y).components_ ** 2).sum(
        axis=1
    ).max() <= bound * (1 + 1e-6)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("learner", [FDA(), KFDA(), LFDA()])
def test_classes_of_one_object_each(learner):
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        learner.fit(np.arange(6.0).reshape(3, 2), [0, 1, 2])


def test_one_object_in_one_of_the_classes(wine):
    X, y = wine
    y = y.copy()
    y[y == 2] = -1
    y[-1] = 2
    for learner in (FDA(), KFDA(), LFDA(n_components=2)):
        assert np.isfinite(learner.fit_transform(X, y)).all()


def test_fda_is_affine_invariant_without_ridge():
    X, y = load_iris(return_X_y=True)
    mix = np.random.default_rng(0).normal(size=(4, 4))
    plain = FDA(regularization=0).fit_transform(X, y)
    mixed = FDA(regularization=0).fit_transform(X @ mix + 7, y)
    assert_collinear(plain, mixed)


@pytest.mark.parametrize("learner", [FDA, KFDA])
def test_maximum_number_of_features(learner, wine):
    assert learner().fit_transform(*wine).shape[1] == 2
    assert learner(1).fit_transform(*wine).shape[1] == 1
    with pytest.raises(InvalidInputError, match=r"^n_components\b"):
        learner(3).fit(*wine)


# ---- KFDA ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [1e-3, 0.1])
def test_kfda_solves_the_generalized_eigenproblem(wine, ridge):
    X, y = wine
    X = X[::3]
    y = y[::3]
    n = len(y)
    K = rbf_kernel(X, gamma=0.05)
    N = np.zeros((n, n))
    M = np.zeros((n, n))
    for k in range(3):
        columns = K[:, y == k]
        count = columns.shape[1]
        N += columns @ (np.eye(count) - 1 / count) @ columns.T
        shift = columns.mean(axis=1) - K.mean(axis=1)
        M += count * np.outer(shift, shift)
    regular = N + ridge * np.trace(N) / n * np.eye(n)
    expected = linalg.eigh(M, regular, eigvals_only=True)[::-1]
    model = KFDA(gamma=0.05, regularization=ridge).fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, expected[:2], rtol=1e-6)
    assert expected[2] < 1e-8 * expected[0]
    A = model.components_.T
    np.testing.assert_allclose(
        M @ A,
        regular @ A * model.eigenvalues_,
        rtol=1e-5,
        atol=1e-8 * np.abs(M @ A).max(),
    )
    np.testing.assert_allclose(np.diag(A.T @ N @ A), n)


def test_kfda_uses_labeled_objects_only(wine):
    X, y = wine
    known = np.where(np.arange(len(y)) % 3, -1, y)
    model = KFDA(gamma=0.05).fit(X, known)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(known >= 0))
    np.testing.assert_array_equal(model.support_vectors_, X[known >= 0])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])


# ---- LFDA ----------------------------------------------------------------------------------------


def encode_classes(y):
    names, codes = np.unique(y, return_inverse=True)
    return Classes(np.arange(len(y)), codes, names)


def test_local_scatters_equal_their_definition():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    y = np.repeat([0, 1, 2], [12, 9, 4])
    n = len(X)
    scale = np.empty(len(X))
    for i in range(n):
        same = [
            np.linalg.norm(X[i] - X[j]) for j in range(n) if y[j] == y[i] and j != i
        ]
        scale[i] = sorted(same)[min(5, len(same)) - 1]
    within = np.zeros((3, 3))
    between = np.zeros((3, 3))
    for i in range(n):
        for j in range(n):
            outer = np.outer(X[i] - X[j], X[i] - X[j]) / 2
            if y[i] != y[j]:
                between += outer / n
                continue
            count = (y == y[i]).sum()
            affinity = np.exp(-np.sum((X[i] - X[j]) ** 2) / (scale[i] * scale[j]))
            within += affinity / count * outer
            between += affinity * (1 / n - 1 / count) * outer
    scatter = local_scatters(X, encode_classes(y), lambda rows: local_affinity(rows, 5))
    np.testing.assert_allclose(scatter[0], within)
    np.testing.assert_allclose(scatter[1], between, atol=1e-12)


def test_lfda_with_equal_weights_is_fda(wine):
    X, y = wine
    scatter = local_scatters(
        X, encode_classes(y), lambda rows: np.ones((len(rows),) * 2)
    )
    for ours, expected in zip(scatter, scatters(X, y), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_affinity_of_equal_objects():
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0]], [5, 5], axis=0)
    A = local_affinity(rows, 3)
    np.testing.assert_array_equal(A, np.kron(np.eye(2), np.ones((5, 5))))


def test_lfda_solves_the_generalized_eigenproblem(wine):
    X, y = wine
    within, between = local_scatters(
        X, encode_classes(y), lambda rows: local_affinity(rows, 7)
    )
    regular = within + 1e-3 * np.trace(within) / 13 * np.eye(13)
    model = LFDA().fit(X, y)
    V = (model.components_ / np.sqrt(model.eigenvalues_)[:, None]).T
    np.testing.assert_allclose(between @ V, regular @ V * model.eigenvalues_, atol=1e-6)
    np.testing.assert_allclose(np.diag(V.T @ within @ V), len(X))


def test_lfda_keeps_clusters_of_a_class_separate():
    """One class is on both sides of the other, so their means are equal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) * [0.5, 3] + np.repeat(
        [[-4, 0], [0, 0], [4, 0]], 50, axis=0
    )
    y = np.repeat([0, 1, 0], 50)
    model = LFDA().fit(X, y)
    assert len(model.components_) == 2
    first = LFDA(1).fit(X, y).components_[0]
    assert abs(first[0]) > 5 * abs(first[1])
    z = X @ first
    assert abs(z[y == 0]).min() > abs(z[y == 1]).max()


def test_lfda_ignores_features_without_separation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 2] = 1
    y = (X[:, 0] > 0).astype(int)
    assert len(LFDA().fit(X, y).components_) == 2
    with pytest.warns(UserWarning, match="n_components=3"):
        assert len(LFDA(3).fit(X, y).components_) == 2
