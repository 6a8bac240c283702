"""Conversion of Dirichlet distributions to mass functions."""

import numpy as np
import pandas as pd
import pytest

from dempster import MassFunctions

RNG = np.random.default_rng(0)


def test_means_of_dirichlet_distributions():
    prior = np.array([0.5, 1.0, 2.0, 0.1])
    alpha = prior + RNG.exponential(3, size=(20, 4))
    m = MassFunctions.from_dirichlet(alpha, prior=prior)
    mean = m.singleton_belief + m.masses[:, [-1]] * prior / prior.sum()
    np.testing.assert_allclose(mean, alpha / alpha.sum(axis=1, keepdims=True))


def test_uniform_prior_of_evidential_networks():
    evidence = RNG.exponential(size=(7, 5))
    m = MassFunctions.from_dirichlet(evidence + 1)
    total = evidence.sum(axis=1) + 5
    np.testing.assert_allclose(
        m.mass([(k,) for k in range(5)]), evidence / total[:, None]
    )
    np.testing.assert_allclose(m.mass((0, 1, 2, 3, 4)), 5 / total)


def test_names_of_tables():
    table = pd.DataFrame([[3.0, 1.0]], index=["x"], columns=["a", "b"])
    m = MassFunctions.from_dirichlet(table)
    assert (list(m.index), m.frame) == (["x"], ("a", "b"))
    assert MassFunctions.from_dirichlet(table, frame="cd").frame == ("c", "d")


def test_single_precision():
    assert (
        MassFunctions.from_dirichlet(
            np.array([[3, 1.5]], dtype=np.float32)
        ).masses.dtype
        == np.float32
    )


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: MassFunctions.from_dirichlet([[0.5, 2.0]]),
            "^alpha must be at least the prior",
        ),
        (lambda: MassFunctions.from_dirichlet([[np.nan, 2.0]]), "^alpha must"),
        (lambda: MassFunctions.from_dirichlet([[2.0]]), "at least two answers"),
        (
            lambda: MassFunctions.from_dirichlet([[2.0, 2.0]], prior=[1, 1, 1]),
            "^prior must",
        ),
        (lambda: MassFunctions.from_dirichlet([[2.0, 2.0]], prior=0), "^prior must"),
    ],
)
def test_invalid_input(build, words):
    with pytest.raises(ValueError, match=words):
        build()
