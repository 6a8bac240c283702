"""Results do not depend on large constants added to an attribute."""

import numpy as np
import pytest

from dempster._arrays import column_bounds
from dempster.classify import EvidentialNeuralNetworkClassifier, EvidentialRBFClassifier
from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    RECM,
    WMVEC,
    ECMdd,
    WECMdd,
)
from dempster.metric import FDA, KFDA, KPCCA, LFDA, PCCA
from dempster.mixture import ParsimoniousGaussianMixture

pytestmark = pytest.mark.filterwarnings("ignore")

N = 45
Y = np.repeat([0, 1, 2], N // 3)
X = (
    np.round(
        256
        * (
            np.array([[0, 0], [7, 1], [3, 8]])[Y]
            + np.random.default_rng(0).normal(size=(N, 2))
        )
    )
    / 256
)
FAR = {
    "a constant attribute": lambda X: np.column_stack([X, np.full(len(X), 1e10)]),
    "a constant attribute beyond the digits": lambda X: np.column_stack(
        [np.full(len(X), 1.7e18 / 7), X]
    ),
    "a constant attribute far beyond": lambda X: np.column_stack(
        [X, np.full(len(X), 1e30)]
    ),
    "far from zero": lambda X: X + 2.0**40,
}


def pairs(Z):
    """Return relative distances of the objects, which do not depend on units and signs of the features."""
    D = np.linalg.norm(Z[:, None] - Z, axis=2)
    return D / D.max()


def result_of(estimator, X):
    """Return a result that does not depend on the order of the clusters."""
    model = estimator.fit(X, Y)
    if hasattr(model, "transform"):
        return pairs(model.transform(X))
    if hasattr(model, "credal_partition_"):
        return pairs(model.predict_mass(X).contour)
    return model.predict_proba(X)


ESTIMATORS = {
    **{
        m.__name__: lambda m=m: m(3, n_init=2, random_state=0)
        for m in (ECM, CCM, CECM, EGMM, MECM, RECM, WMVEC)
    },
    **{
        m.__name__: lambda m=m: m(3, n_init=2, random_state=0)
        for m in (ECMdd, WECMdd, EVCLUS)
    },
    "BPEC": lambda: BPEC(3, random_state=0),
    "ParsimoniousGaussianMixture": lambda: ParsimoniousGaussianMixture(
        3, model="EII", random_state=0
    ),
    "EvidentialNeuralNetworkClassifier": lambda: EvidentialNeuralNetworkClassifier(
        n_prototypes=3, random_state=0, max_iter=20
    ),
    "EvidentialRBFClassifier": lambda: EvidentialRBFClassifier(
        n_prototypes=3, random_state=0, max_iter=20
    ),
    **{m.__name__: lambda m=m: m() for m in (FDA, LFDA, KFDA)},
    **{
        m.__name__: lambda m=m: m(random_state=0, n_init=1, max_pairs=200)
        for m in (PCCA, KPCCA)
    },
}


@pytest.mark.parametrize("which", ESTIMATORS)
def test_large_constants_change_nothing(which):
    expected = result_of(ESTIMATORS[which](), X)
    for name, far in FAR.items():
        np.testing.assert_allclose(
            result_of(ESTIMATORS[which](), far(X)), expected, atol=0.02, err_msg=name
        )


@pytest.mark.parametrize("method", [ECM, CCM, RECM, ECMdd, EVCLUS])
def test_large_constants_with_missing_values(method):
    lacking = np.random.default_rng(1).random((N, 3)) < [0.1, 0.0, 0.1]
    near, far = (
        np.where(lacking, np.nan, np.column_stack([X, np.full(N, constant)]))
        for constant in (1.0, 1e30)
    )
    one, other = (
        method(3, missing="partial", n_init=2, random_state=0)
        .fit(given)
        .credal_partition_
        for given in (near, far)
    )
    np.testing.assert_allclose(pairs(other.contour), pairs(one.contour), atol=0.02)


@pytest.mark.parametrize("n_columns", [0, 1, 5, 16, 17])
def test_column_bounds(n_columns):
    X = np.random.default_rng(0).normal(size=(30, n_columns))
    X[4, ::2] = np.nan
    low, high = column_bounds(X)
    np.testing.assert_array_equal(low, np.nanmin(X, axis=0))
    np.testing.assert_array_equal(high, np.nanmax(X, axis=0))
