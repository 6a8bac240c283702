"""Linear terms of the projection, compared with naive sums."""

import numpy as np
import pytest
from scipy import sparse

from dempster.optimize.projection import (
    approach_compressed,
    approach_known_masses,
    approach_radii,
    euclidean_terms,
)
from dempster.optimize.row_fit import conflicts_of_pairs

TYPES = [(np.float32, 2e-6), (np.float64, 1e-14)]


def naive_terms(rows, references, gamma, image):
    squares = np.square(rows[:, None].astype(float) - references.astype(float)).sum(
        axis=2
    )
    return (1 - np.exp(-gamma * squares)) @ image.astype(rows.dtype).astype(float)


@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
@pytest.mark.parametrize(
    ("n", "d", "p", "f"),
    [(1, 1, 1, 1), (7, 2, 5, 3), (40, 3, 130, 6), (33, 17, 300, 13), (0, 2, 4, 3)],
)
def test_terms_against_loops(n, d, p, f, dtype, tolerance):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, d)).astype(dtype)
    references = rng.normal(size=(p, d)).astype(dtype)
    image = rng.normal(size=(p, f))
    for gamma in (0.0, 0.3, 40.0):
        terms = euclidean_terms(rows, references, gamma, image)
        linear, nearest, distance = terms(0, n)
        np.testing.assert_allclose(
            linear,
            naive_terms(rows, references, gamma, image),
            atol=tolerance * p,
            rtol=0,
        )
        D = np.linalg.norm(rows[:, None] - references, axis=2)
        np.testing.assert_array_equal(nearest, D.argmin(axis=1))
        np.testing.assert_allclose(
            distance, D.min(axis=1, initial=np.inf), rtol=tolerance
        )


@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
def test_precision_of_exponentials(dtype, tolerance):
    """With one reference at zero and an image of -1 the term is exp - 1."""
    x = np.sqrt(np.linspace(0, 90 if dtype is np.float32 else 720, 20_001)).astype(
        dtype
    )
    linear, _, _ = euclidean_terms(
        x[:, None], np.zeros((1, 1), dtype), 1.0, np.array([[-1.0]])
    )(0, len(x))
    squares = np.square(x).astype(float)
    np.testing.assert_allclose(
        linear[:, 0] + 1, np.exp(-squares), rtol=0, atol=3 * np.finfo(dtype).eps
    )
    least = np.finfo(dtype).tiny * 16
    assert (
        linear[np.exp(-squares) < least].max(initial=-1.0) <= -1 + np.finfo(dtype).eps
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overflow(dtype):
    rows = np.array([[np.finfo(dtype).max], [0.0]], dtype)
    linear, nearest, distance = euclidean_terms(
        rows, np.array([[-np.finfo(dtype).max]], dtype), 1.0, np.ones((1, 2))
    )(0, 2)
    np.testing.assert_array_equal(linear, 1)
    np.testing.assert_array_equal(nearest, 0)
    np.testing.assert_array_equal(distance, np.inf)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_references(dtype):
    rng = np.random.default_rng(0)
    references = rng.normal(size=(200, 2)).astype(dtype)
    references[150] = references[20]
    references[3] = 0.0
    rows = np.concatenate([references[[150, 3, 199]], -references[3:4]])
    terms = euclidean_terms(rows, references, 1.0, np.ones((200, 1)))
    _, nearest, distance = terms(0, len(rows))
    np.testing.assert_array_equal(nearest, [20, 3, 199, 3])
    np.testing.assert_array_equal(distance, 0)


def test_masses_approach_known_masses():
    known = np.array([[1.0, 0.0], [0.0, 1.0]])
    radii = approach_radii(np.array([4.0, np.inf]))
    masses = np.full((6, 2), 0.5)
    nearest = np.array([0, 0, 0, 0, 1, 1])
    distance = np.array([0, 1e-9, 0.5, 1.1, 0, 1e-9])
    approach_known_masses(masses, known, nearest, distance, radii)
    np.testing.assert_array_equal(masses[[0, 4, 5]], [[1, 0], [0, 1], [0.5, 0.5]])
    np.testing.assert_allclose(masses[1:4, 0], [1, 0.75, 0.5], atol=1e-6)


def test_terms_are_independent_of_blocks():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(70, 2))
    references = rng.normal(size=(140, 2))
    image = rng.normal(size=(140, 5))
    terms = euclidean_terms(rows, references, 0.5, image)
    parts = [terms(a, b)[0] for a, b in [(0, 1), (1, 30), (30, 70)]]
    np.testing.assert_array_equal(np.concatenate(parts), terms(0, 70)[0])


@pytest.mark.parametrize("n", [5, 500])
def test_conflicts_of_pairs(n):
    rng = np.random.default_rng(n)
    masses = rng.dirichlet(np.ones(4), size=n).astype(np.float32)
    conflict = rng.random((4, 4))
    i, j = rng.integers(0, n, (2, 100))
    wanted = [
        masses[a].astype(float) @ conflict @ masses[b].astype(float)
        for a, b in zip(i, j, strict=True)
    ]
    np.testing.assert_allclose(
        conflicts_of_pairs(masses, conflict, i, j), wanted, rtol=1e-13
    )


def test_compressed_masses_approach_known_masses():
    rng = np.random.default_rng(0)
    masses = rng.dirichlet(np.ones(6), 9)
    masses[:, 1:3] = 0
    known = rng.dirichlet(np.ones(6), 4)
    nearest = rng.integers(0, 4, 9)
    distance = np.array([0, 0.5, 1, 2, 3, 0, 0.1, 7, 0.9])
    radii = np.array([1.0, 0.5, 2.0, 1.5])
    rows = approach_compressed(
        sparse.csr_array(masses), known, nearest, distance, radii
    )
    approach_known_masses(masses, known, nearest, distance, radii)
    np.testing.assert_allclose(rows.toarray(), masses, atol=1e-12)
