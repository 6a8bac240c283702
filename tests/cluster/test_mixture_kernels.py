"""Kernel of BootClus, compared with densities of SciPy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dempster.cluster.bootclus import Bootstraps


@pytest.mark.parametrize("n_fits", [1, 5, 128, 131])
def test_posteriors_against_densities(n_fits):
    rng = np.random.default_rng(n_fits)
    c = 3
    d = 2
    A = rng.normal(size=(n_fits, c, d, d))
    covariances = A @ np.swapaxes(A, 2, 3) + np.eye(d)
    proportions = rng.dirichlet(np.ones(c), n_fits)
    means = rng.normal(size=(n_fits, c, d))
    fits = Bootstraps(proportions, means, covariances)
    X = rng.normal(size=(70, d))
    P = fits.posteriors(X)
    assert P.dtype == np.float32
    for b in range(n_fits):
        joint = np.column_stack(
            [
                proportions[b, k]
                * multivariate_normal(means[b, k], covariances[b, k]).pdf(X)
                for k in range(c)
            ]
        )
        np.testing.assert_allclose(
            P[:, :, b], joint / joint.sum(axis=1, keepdims=True), rtol=1e-6
        )
    in_blocks = fits.posteriors(
        X, lambda function, arguments: [function(*each) for each in arguments]
    )
    np.testing.assert_array_equal(in_blocks, P)
    assert np.isfinite(fits.posteriors(X + 1e4)).all()  # where densities underflow
