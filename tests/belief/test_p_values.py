"""Conformal p-values, false discovery rate, combination of p-values and e-values."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import false_discovery_control

from dempster import MassFunctions
from dempster._errors import InvalidInputError
from dempster.belief import (
    benjamini_hochberg,
    conformal_p_values,
    merge_e_values,
    merge_p_values,
    p_to_e_values,
)


def test_p_values_equal_a_naive_count():
    rng = np.random.default_rng(0)
    # with ties
    known = rng.integers(0, 9, 30)
    new = rng.integers(-1, 11, (7, 3))
    expected = [[(1 + sum(known >= s)) / 31 for s in row] for row in new]
    np.testing.assert_allclose(conformal_p_values(new, known), expected)


def test_benjamini_hochberg_agrees_with_scipy():
    rng = np.random.default_rng(0)
    for level in (0.05, 0.2, 0.5):
        for _ in range(20):
            p = rng.random(12) ** 2
            np.testing.assert_array_equal(
                benjamini_hochberg(p, level), false_discovery_control(p) <= level
            )
    assert not benjamini_hochberg([0.5, 0.9]).any()
    assert benjamini_hochberg([0.1, 0.1, 0.1], 0.1).all()
    assert benjamini_hochberg([]).shape == (0,)


def test_false_discovery_rate_of_conformal_p_values():
    """10% of 200 objects are new; one calibration sample is used for all of them."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(200):
        scores = rng.normal(size=200) + 4 * (np.arange(200) < 20)
        selected = benjamini_hochberg(
            conformal_p_values(scores, rng.normal(size=500)), 0.2
        )
        shares.append(selected[20:].sum() / max(selected.sum(), 1))
    assert 0.14 < np.mean(shares) < 0.2


def test_calibrator_is_the_integral():
    p = np.array([1e-4, 0.003, 0.2, 0.9, 0.9999, 0.99999999, 1.0])
    expected = [quad(lambda k, p=value: k * p ** (k - 1), 0, 1)[0] for value in p]
    np.testing.assert_allclose(p_to_e_values(p), expected, rtol=1e-6)
    # the expectation is at most 1
    assert p_to_e_values(np.random.default_rng(0).random(100_000)).mean() < 1


@pytest.mark.parametrize("copies", [False, True])
def test_validity_of_combined_sources(copies):
    """Both alternatives are valid for independent and for identical sources.

    Dempster's rule is not.
    """
    rng = np.random.default_rng(0)
    own = rng.random((2, 20_000, 1))
    if copies:
        own[1] = own[0]
    # the first of two classes is true
    p = np.concatenate([own, rng.random((2, 20_000, 1)) ** 4], axis=2)
    merged = merge_p_values(p)
    from_e = np.minimum(1, 1 / merge_e_values(p_to_e_values(p)))
    first, second = (MassFunctions.from_contour(one) for one in p)
    products = first.combine(second, rule="conjunctive").contour
    for level in (0.05, 0.1, 0.2):
        assert np.mean(merged[:, 0] <= level) < level + 0.01
        assert np.mean(from_e[:, 0] <= level) < level
        assert np.mean(products[:, 0] <= level) > level + 0.05


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: conformal_p_values([1.0], []), "calibration_scores"),
        (lambda: conformal_p_values([np.nan], [1.0]), "scores"),
        (lambda: conformal_p_values([1.0], [[1.0]]), "calibration_scores"),
        (lambda: benjamini_hochberg([0.5, 1.2]), "p_values"),
        (lambda: benjamini_hochberg([[0.5]]), "p_values"),
        (lambda: benjamini_hochberg([0.5], 1.0), "level"),
        (lambda: merge_p_values(0.5), "p_values"),
        (lambda: merge_e_values([[-1.0]]), "e_values"),
        (lambda: p_to_e_values([0.0]), "p_values"),
    ],
)
def test_invalid_arguments(call, name):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        call()
