import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from dempster._errors import InvalidInputError
from dempster.constraints import Constraints
from dempster.datasets import make_circles
from dempster.metric import KFDA, KPCCA, PCCA
from dempster.metric._base import Pairs, automatic_gamma
from dempster.metric.pcca import PairLoss


def pairs_of(must, cannot):
    return Pairs(
        np.concatenate([must, cannot]), np.repeat([1.0, -1.0], [len(must), len(cannot)])
    )


def naive_loss(X, must, cannot, L, beta):
    total = 0.0
    for sign, pairs in ((1, must), (-1, cannot)):
        for i, j in pairs:
            distance = np.sum((L @ (X[i] - X[j])) ** 2)
            total += np.log(1 + np.exp(beta * sign * (distance - 1))) / beta
    return total


# ---- against the R package -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pcca_glass_d2", "pcca_iris_d1"])
class TestReferencePCCA:
    def test_loss_and_gradient(self, reference, name):
        case = reference(name)
        loss = PairLoss(
            case["x"], pairs_of(case["ML"], case["CL"]), case.parameters["beta"]
        )
        value, gradient = loss.value_and_gradient(case["L_test"])
        case.assert_equal("loss_test", value)
        case.assert_equal("grad_test", gradient)

    def test_from_the_same_start(self, reference, name):
        case = reference(name)
        model = PCCA(case.parameters["d1"], init=case["L0"]).fit(
            case["x"], constraints=constraints(case)
        )
        assert model.history_[0] == pytest.approx(case["loss_trace"][0], rel=1e-9)
        assert model.objective_ <= case["loss"]
        assert model.converged_

    def test_from_our_own_starts(self, reference, name):
        case = reference(name)
        model = PCCA(case.parameters["d1"], random_state=0).fit(
            case["x"], constraints=constraints(case)
        )
        assert model.objective_ <= case["loss"]


def test_distances_equal_those_of_r(reference):
    # on glass, R stopped at its limit of 300 iterations
    case = reference("pcca_iris_d1")
    Z = PCCA(1, random_state=0).fit_transform(case["x"], constraints=constraints(case))
    case.assert_equal("D", pairwise_distances(Z))


@pytest.mark.parametrize("name", ["kpcca_bananas_d1", "kpcca_iris_d2"])
class TestReferenceKPCCA:
    def test_from_the_same_start(self, reference, name):
        case = reference(name)
        gamma = case.parameters["sigma"]
        model = KPCCA(case.parameters["d1"], gamma=gamma, init=case["A0"])
        model.fit(case["x"], constraints=constraints(case))
        case.assert_equal("loss0", model.history_[0])
        assert model.objective_ <= case["loss"]

    def test_from_our_own_starts(self, reference, name):
        case = reference(name)
        model = KPCCA(
            case.parameters["d1"], gamma=case.parameters["sigma"], random_state=0
        )
        assert (
            model.fit(case["x"], constraints=constraints(case)).objective_
            <= case["loss"]
        )


def constraints(case):
    return Constraints(case["ML"], case["CL"])


# ---- the loss ------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.3, 1.0, 5.0])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_loss_and_gradient(beta, penalty):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 4))
    L = rng.normal(size=(2, 4)) / 2
    must = rng.integers(0, 20, (12, 2))
    cannot = rng.integers(0, 20, (15, 2))
    loss = PairLoss(X, pairs_of(must, cannot), beta, penalty)
    value, gradient = loss.value_and_gradient(L)
    assert value == pytest.approx(
        naive_loss(X, must, cannot, L, beta) + penalty * (L**2).sum()
    )
    numeric = approx_fprime(
        L.ravel(), lambda v: loss.value_and_gradient(v.reshape(L.shape))[0], 1e-7
    )
    np.testing.assert_allclose(gradient.ravel(), numeric, rtol=1e-4, atol=1e-4)


def test_loss_of_huge_distances_does_not_overflow():
    loss = PairLoss(np.array([[0.0], [1.0]]), pairs_of([(0, 1)], [(0, 1)]), 1.0)
    with np.errstate(all="raise", under="ignore"):
        value, gradient = loss.value_and_gradient(np.array([[1e4]]))
    assert value == pytest.approx(1e8)
    assert np.isfinite(gradient).all()


def test_minimum_is_stationary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    known = Constraints.from_labels(
        (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int), 80, random_state=0
    )
    model = PCCA(2, tol=0, random_state=0).fit(X, constraints=known)
    _, gradient = PairLoss(
        X, pairs_of(known.must_link, known.cannot_link), 1.0
    ).value_and_gradient(model.components_)
    assert np.abs(gradient).max() < 1e-3


def test_more_starts_are_never_worse():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6))
    y = rng.integers(0, 3, 60)
    known = Constraints.from_labels(y, 60, random_state=0)
    one, many = (
        PCCA(1, n_init=n, random_state=0).fit(X, constraints=known).objective_
        for n in (1, 8)
    )
    assert many <= one


def test_initial_map():
    X = np.random.default_rng(0).normal(size=(20, 3))
    known = Constraints.from_labels(X[:, 0] > 0, 30, random_state=0)
    start = np.array([[1.0, 0.5, 0.0]])
    model = PCCA(1, init=start).fit(X, constraints=known)
    assert model.history_[0] == pytest.approx(
        naive_loss(X, known.must_link, known.cannot_link, start, 1.0)
    )
    for invalid in (start.T, np.zeros((1, 3)), np.array([[np.nan, 0, 1]])):
        with pytest.raises(InvalidInputError, match=r"^init\b"):
            PCCA(1, init=invalid).fit(X, constraints=known)


def test_initial_coefficients():
    """The loss is that of the paper for the columns of the kernel matrix."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 2))
    known = Constraints.from_labels(X[:, 0] > 0, 20, random_state=0)
    start = np.where(rng.random((2, 30)) < 0.5, rng.normal(size=(2, 30)), 0.0)
    model = KPCCA(2, gamma=0.7, beta=2.0, init=start).fit(X, constraints=known)
    K = rbf_kernel(X, gamma=0.7)
    value = naive_loss(K, known.must_link, known.cannot_link, start, 2.0)
    assert model.history_[0] == pytest.approx(value, rel=1e-6)
    assert set(np.flatnonzero(start.any(axis=0))) <= set(model.support_)


def test_random_maps_only():
    X = np.random.default_rng(0).normal(size=(40, 3))
    known = Constraints.from_labels(X[:, 0] > 0, 30, random_state=0)
    first = [
        PCCA(1, init=init, n_init=1, random_state=seed)
        .fit(X, constraints=known)
        .history_[0]
        for init in ("pca", "random")
        for seed in (0, 1)
    ]
    assert first[0] == first[1]
    assert len(set(first)) == 3


@pytest.mark.parametrize("kernel", ["laplacian", "poly"])
def test_other_kernels_are_kernel_pca(kernel):
    """`PCCA` on the features of KernelPCA minimizes the loss of `KPCCA` for any kernel."""
    X, y = make_circles(60, random_state=0)
    known = Constraints.from_labels(y, 30, random_state=0)
    K = pairwise_kernels(X, metric=kernel, gamma=0.3)
    features = KernelPCA(kernel="precomputed").fit(K)
    model = PCCA(1, random_state=0).fit(features.transform(K), constraints=known)
    # The coefficients of the objects; centering does not change the differences.
    A = model.components_ @ (features.eigenvectors_ / np.sqrt(features.eigenvalues_)).T
    A -= A.mean(axis=1, keepdims=True)
    value = naive_loss(K, known.must_link, known.cannot_link, A, 1.0)
    assert model.objective_ == pytest.approx(value, rel=1e-6)


# ---- degenerate pairs ----------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [PCCA, KPCCA])
def test_warning_for_pairs_of_one_kind(learner):
    X = np.random.default_rng(0).normal(size=(20, 3))
    pairs = np.arange(20).reshape(10, 2)
    with pytest.warns(UserWarning, match="only must-links"):
        together = learner(1, random_state=0).fit(
            X, constraints=Constraints(must_link=pairs)
        )
    assert np.ptp(together.transform(X)) < 0.5
    with pytest.warns(UserWarning, match="only cannot-links"):
        apart = learner(1, random_state=0).fit(
            X, constraints=Constraints(cannot_link=pairs)
        )
    assert apart.converged_
    Z = apart.transform(X)[:, 0]
    assert np.abs(Z[pairs[:, 0]] - Z[pairs[:, 1]]).min() > 1


def test_regularization_shrinks_the_map():
    X, y = make_circles(100, random_state=0)
    known = Constraints.from_labels(y, 50, random_state=0)
    norms = [
        np.linalg.norm(
            PCCA(2, regularization=weight, random_state=0)
            .fit(X, constraints=known)
            .components_
        )
        for weight in (0, 1, 100)
    ]
    assert norms[0] > norms[1] > norms[2]


# ---- the kernel version --------------------------------------------------------------------------


def best_threshold(z, y):
    """Return the adjusted Rand index of the best threshold on one feature."""
    order = np.argsort(z, kind="stable")
    above = np.arange(len(z))[:, None] < np.searchsorted(np.sort(z), z[order])[None]
    cuts = above[np.argsort((y[order][None] == above).sum(axis=1))[[0, -1]]]
    return max(adjusted_rand_score(y[order], cut) for cut in cuts)


@pytest.mark.parametrize("gamma", [0.3, "auto"])
@pytest.mark.parametrize("seed", range(5))
def test_example_5_circles_from_pairs(gamma, seed):
    """NN-EVCLUS paper, Example 5: fifty pairs, one feature, linearly separable."""
    X, y = make_circles(500, random_state=seed)
    known = Constraints.from_labels(y, 50, random_state=seed)
    Z = KPCCA(n_components=1, gamma=gamma, random_state=seed).fit_transform(
        X, constraints=known
    )
    assert best_threshold(Z[:, 0], y) >= 0.98
    # no line does
    assert (
        best_threshold(
            PCCA(n_components=1).fit_transform(X, constraints=known)[:, 0], y
        )
        < 0.5
    )


@pytest.mark.parametrize("gamma", [0.3, "auto"])
@pytest.mark.parametrize("seed", range(5))
def test_example_5_circles_from_labels(gamma, seed):
    X, y = make_circles(500, random_state=seed)
    known = np.full(500, -1)
    drawn = np.random.default_rng(seed).choice(500, 50, replace=False)
    known[drawn] = y[drawn]
    assert best_threshold(KFDA(gamma=gamma).fit_transform(X, known)[:, 0], y) >= 0.98


def test_kpcca_is_pcca_in_the_feature_space():
    """PCCA on uncentered kernel principal components of the constrained objects gives the same result."""
    X, y = make_circles(120, random_state=0)
    y[60:] = -1
    y[45:60] = 1
    labelled = y >= 0
    K = rbf_kernel(X[labelled], gamma=0.3)
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > 1e-10 * eigenvalues[-1]
    R = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    kernel = KPCCA(2, gamma=0.3, n_init=1).fit(X, y)
    linear = PCCA(2, tol=1e-4, n_init=1).fit(R, y[labelled])
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-6)
    np.testing.assert_allclose(
        pairwise_distances(kernel.transform(X[labelled])),
        pairwise_distances(linear.transform(R)),
        atol=1e-4,
    )


def test_features_are_sums_over_the_constrained_objects():
    X, y = make_circles(200, random_state=0)
    known = Constraints.from_labels(y, 30, random_state=0)
    model = KPCCA(2, gamma=0.3, random_state=0).fit(X, constraints=known)
    used = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    np.testing.assert_array_equal(model.support_, used)
    A = np.zeros((2, 200))
    A[:, used] = model.components_
    K = rbf_kernel(X, gamma=0.3)
    np.testing.assert_allclose(model.transform(X), K @ A.T, atol=1e-8)
    assert model.objective_ == pytest.approx(
        naive_loss(K, known.must_link, known.cannot_link, A, 1.0), rel=1e-8
    )
    new = np.random.default_rng(1).normal(size=(7, 2))
    np.testing.assert_allclose(
        model.transform(new), rbf_kernel(new, X, gamma=0.3) @ A.T, atol=1e-8
    )


def test_automatic_width():
    X = np.random.default_rng(0).normal(size=(800, 5))
    # scikit-learn's own default for standard data
    assert automatic_gamma(X) == pytest.approx(1 / 5, rel=0.15)
    assert automatic_gamma(10 * X) == pytest.approx(automatic_gamma(X) / 100)
    # most distances are zero
    assert automatic_gamma(np.repeat(X[:2], [9, 1], axis=0)) > 0
    assert automatic_gamma(np.ones((5, 2))) == 1
    assert KPCCA(1, gamma=0.3).fit(X[:40], X[:40, 0] > 0).gamma_ == 0.3


def test_transform_in_blocks(monkeypatch):
    X, y = make_circles(200, random_state=0)
    model = KFDA(gamma=0.3).fit(X, y)
    Z = model.transform(X)
    monkeypatch.setattr("dempster.metric._base.MAX_BLOCK_CELLS", 7 * 200)
    np.testing.assert_allclose(model.transform(X), Z, rtol=1e-9, atol=1e-12)


def test_more_components_than_constrained_objects():
    X, _ = make_circles(50, random_state=0)
    with pytest.raises(InvalidInputError, match=r"^n_components\b"):
        KPCCA(5).fit(X, constraints=Constraints([(0, 1)], [(2, 3)]))


def test_pairs_help_to_cluster_iris(shared_data):
    """NN-EVCLUS paper, Figure 28: three features learned from pairs."""
    X, y = shared_data("iris", standardise=True)

    def ari(Z):
        return adjusted_rand_score(
            y, KMeans(3, n_init=5, random_state=0).fit_predict(Z)
        )

    learned = [
        ari(
            PCCA(3, random_state=s).fit_transform(
                X, constraints=Constraints.from_labels(y, 100, random_state=s)
            )
        )
        for s in range(5)
    ]
    assert np.mean(learned) > 0.85 > 0.7 > ari(X)


def test_start_of_kpcca_is_kernel_pca():
    X, y = make_circles(60, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model = KPCCA(1, gamma=0.3, n_init=1, max_iter=1).fit(X, y)
    scores = KernelPCA(1, kernel="rbf", gamma=0.3).fit_transform(X)
    known = Constraints.from_partial_labels(y)
    ends = np.concatenate([known.must_link, known.cannot_link])
    scores /= np.median(np.abs(scores[ends[:, 0]] - scores[ends[:, 1]]))
    start = PairLoss(
        scores, pairs_of(known.must_link, known.cannot_link), 1.0
    ).value_and_gradient(np.eye(1))[0]
    assert model.history_[0] == pytest.approx(start, rel=1e-6)
