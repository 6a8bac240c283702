"""Masses of pairs from plausibilities, and the meaning of "auto" in the c-means family."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dempster import FocalSets, MassFunctions
from dempster.cluster import ECM
from dempster.cluster._mass_step import (
    interpolate_plausibilities,
    masses_from_plausibilities,
)
from dempster.cluster._starts import default_beta, k_means_distances, outlier_distance


@st.composite
def contours(draw, empty=None):
    """Return plausibilities of 20 objects, some of them zero, and single clusters with some pairs."""
    c = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    contour = rng.random((20, c)) * (
        rng.random((20, c)) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    )
    every = [(k, m) for k in range(c) for m in range(k + 1, c)]
    pairs = [pair for pair in every if draw(st.booleans())]
    if empty is None:
        with_empty = draw(st.booleans())
    else:
        with_empty = empty
    outlying = draw(st.sampled_from([None, rng.random(20)]))
    return (
        contour,
        FocalSets.with_pairs(c, pairs, empty=with_empty, omega=False),
        outlying,
    )


@given(contours())
def test_masses_are_valid(case):
    contour, family, outlying = case
    masses = masses_from_plausibilities(contour, family, outlying)
    assert masses.shape == (20, len(family))
    assert masses.min() >= 0
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


@given(contours())
def test_plausibilities_are_proportional_to_the_given_ones(case):
    """This holds for the most plausible cluster and its most plausible neighbor.

    The others have zero.
    """
    contour, family, outlying = case
    masses = masses_from_plausibilities(contour, family, outlying)
    found = MassFunctions(masses, family).contour
    pairs = {s for s in family if len(s) == 2}
    for i, given_plausibility in enumerate(contour):
        best = int(given_plausibility.argmax())
        if given_plausibility[best] == 0:
            if family.empty_index is not None:
                assert masses[i, family.empty_index] == 1
            continue
        if outlying is None or family.empty_index is None:
            beyond = 0.0
        else:
            beyond = outlying[i]
        near = [
            k for k in range(family.n_clusters) if tuple(sorted((k, best))) in pairs
        ]
        second = max(near, key=lambda k: given_plausibility[k], default=None)
        wanted = np.zeros(family.n_clusters)
        wanted[best] = 1 - beyond
        if second is not None:
            wanted[second] = (
                (1 - beyond) * given_plausibility[second] / given_plausibility[best]
            )
        np.testing.assert_allclose(found[i], wanted, atol=1e-12)


@given(contours(), st.floats(0.01, 100))
def test_scale_of_plausibilities_has_no_effect(case, factor):
    contour, family, outlying = case
    one, other = (
        masses_from_plausibilities(each, family, outlying)
        for each in (contour, factor * contour)
    )
    np.testing.assert_allclose(other, one, atol=1e-12)


def test_ambiguous_from_a_ratio_of_one_half():
    family = FocalSets.with_pairs(3, [(0, 1), (1, 2)], omega=False)
    contour = np.array(
        [[1.0, 0.49, 0.0], [1.0, 0.51, 0.0], [1.0, 0.0, 0.9], [0.2, 1.0, 0.8]]
    )
    masses = masses_from_plausibilities(contour, family)
    best = [list(family)[s] for s in masses.argmax(axis=1)]
    assert best == [(0,), (0, 1), (0,), (1, 2)]  # clusters 0 and 2 are no neighbors


def test_plausibility_between_two_clusters():
    """The costs are 3 and 5, and 4 on the border, so the object is halfway to it.

    A constant added to both costs has no effect, and the neighbor is half as plausible at 0.4 /
    alpha.
    """
    gaps = np.array([[0.0, 4.0], [4.0, 0.0]])
    costs = np.array([[3.0, 5.0], [5.0, 3.0], [3.0, 3.0], [3.0, 3.8]])
    for spread in (0.0, 100.0):
        found = interpolate_plausibilities(costs + spread, gaps, alpha=2.0)
        np.testing.assert_allclose(
            found, [[1, 2**-2.5], [2**-2.5, 1], [1, 1], [1, 0.5]]
        )
    np.testing.assert_allclose(interpolate_plausibilities(costs, gaps, alpha=0.0), 1)
    coincide = interpolate_plausibilities(costs, np.zeros((2, 2)), alpha=2.0)
    np.testing.assert_array_equal(coincide, [[1, 0], [0, 1], [1, 1], [1, 0]])


def test_single_precision_is_kept():
    family = FocalSets.with_pairs(2, [(0, 1)], omega=False)
    masses = masses_from_plausibilities(
        np.array([[1, 0.5]], np.float32), family, np.array([0.25])
    )
    assert masses.dtype == np.float32
    np.testing.assert_allclose(masses, [[0.25, 0.375, 0, 0.375]])


# ---- scales --------------------------------------------------------------------------------------


def test_fuzziness_decreases_with_the_number_of_attributes():
    values = [default_beta(d) for d in (1, 2, 5, 6, 8, 10, 16, 32, 64, 1000, 10**6)]
    assert values[:3] == [1.5] * 3
    assert np.all(np.diff(values) <= 0)
    assert np.all(np.diff(values[3:7]) < 0)
    assert 1 < values[-1] <= 1.1


def test_prototypes_of_many_attributes_are_separate():
    """With beta = 2 all prototypes are equal."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 60)
    X = rng.normal(size=(240, 30)) + 0.7 * rng.normal(size=(4, 30))[y]
    assert ECM(4, random_state=0).fit(X).beta_ == default_beta(30)

    def spread(beta):
        centers = ECM(4, beta=beta, random_state=0).fit(X).cluster_centers_
        return np.linalg.norm(centers[:, None] - centers[None], axis=2)[
            np.triu_indices(4, 1)
        ].min()

    assert spread("auto") > 2
    assert spread(2.0) < 0.1


@given(
    st.integers(0, 2**32 - 1),
    st.integers(4, 60),
    st.sampled_from([2.0**-10, 1.0, 2.0**10]),
)
def test_fence_of_a_box_plot(seed, n, unit):
    rng = np.random.default_rng(seed)
    distances = rng.exponential(size=n)
    weights = rng.integers(1, 4, n).astype(float)
    found = outlier_distance(distances, weights)
    low, high = np.quantile(
        np.repeat(distances, weights.astype(int)), [0.25, 0.75], method="inverted_cdf"
    )
    assert found == pytest.approx(high + 2 * (high - low))
    assert outlier_distance(unit * distances, weights) == unit * found
    assert outlier_distance(distances, 3 * weights) == found
    order = rng.permutation(n)
    assert outlier_distance(distances[order], weights[order]) == found


def test_fence_without_distant_objects():
    assert outlier_distance(np.zeros(5), np.ones(5)) > 0
    assert outlier_distance(np.array([0.0, 0, 0, 0, 3]), np.ones(5)) == 3
    assert outlier_distance(np.array([2.0]), np.ones(1)) == 2


def test_distances_to_centers_of_the_best_k_means():
    rng = np.random.default_rng(0)
    X = np.concatenate([center + rng.normal(size=(40, 2)) for center in (0, 9, 18, 27)])
    squares, which = k_means_distances(X, np.ones(160), 4, np.random.RandomState(0))
    np.testing.assert_array_equal(which, np.arange(160))
    within = sum(
        np.square(X[k : k + 40] - X[k : k + 40].mean(axis=0)).sum()
        for k in range(0, 160, 40)
    )
    assert squares.sum() == pytest.approx(within)
    many = rng.normal(size=(5000, 2))
    squares, which = k_means_distances(many, np.ones(5000), 3, np.random.RandomState(0))
    assert len(squares) == len(which) <= 2000
