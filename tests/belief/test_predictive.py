"""Predictive mass functions from counts."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from dempster import FocalSets, MassFunctions
from dempster.belief.predictive import goodman_intervals

# Counts of four diagnoses (May and Johnson, 1997), the example of Denoeux (2006).
PSYCHIATRIC = [91, 49, 37, 43]


def lower_probability(lower, upper, members):
    others = set(range(len(lower))) - set(members)
    return max(sum(lower[k] for k in members), 1 - sum(upper[k] for k in others))


def bounds(counts, family):
    lower, upper = goodman_intervals(np.atleast_2d(counts).astype(float), 0.95)
    pairs = zip(lower, upper, strict=True)
    return np.array(
        [[lower_probability(*pair, members) for members in family] for pair in pairs]
    )


def test_published_intervals():
    # The first numbers were computed by the R package CoinMinD, the others by DescTools.
    lower, upper = goodman_intervals(np.array([[44.0, 55, 43, 32, 67, 78]]), 0.95)
    np.testing.assert_allclose(
        lower[0, [0, 3, 5]], [0.09468368, 0.06412671, 0.18692732], atol=1e-8
    )
    np.testing.assert_allclose(
        upper[0, [0, 3, 5]], [0.1966413, 0.1535697, 0.3130119], atol=1e-7
    )
    lower, upper = goodman_intervals(np.array([PSYCHIATRIC], dtype=float), 0.95)
    np.testing.assert_allclose(
        lower[0], [0.3342025, 0.1608587, 0.1145513, 0.1374690], atol=1e-7
    )
    np.testing.assert_allclose(
        upper[0], [0.4978332, 0.2998874, 0.2401121, 0.2702358], atol=1e-7
    )


@pytest.mark.parametrize("c", [2, 3])
def test_beliefs_are_lower_probabilities(c):
    counts = np.random.default_rng(c).integers(0, 30, (200, c))
    counts[0] = 0
    m = MassFunctions.from_counts(counts)
    everything = FocalSets.full(c, empty=False)
    np.testing.assert_allclose(
        m.belief(everything), bounds(counts, everything), atol=1e-12
    )
    assert m.is_vacuous.tolist() == [True] + [False] * 199


@pytest.mark.parametrize(
    "counts",
    [PSYCHIATRIC, [5, 0, 20, 1], [3, 3, 3, 9], [4, 4, 4, 4], [9, 1, 6, 0, 12, 2]],
)
def test_beliefs_are_the_most_committed(counts):
    family = FocalSets.full(len(counts), empty=False)
    sets = [set(s) for s in family]
    within = np.array([[b <= a for b in sets] for a in sets], dtype=float)
    limits = bounds(counts, family)[0]
    best = linprog(-within.sum(axis=0), A_ub=within, b_ub=limits)
    m = MassFunctions.from_counts(counts)
    belief = m.belief(family)[0]
    assert (belief <= limits + 1e-9).all()
    assert belief.sum() == pytest.approx(-best.fun)
    # Among these beliefs, the largest difference from the lower probabilities is the smallest.
    ones = np.ones((len(sets), 1))
    objective = within.sum(axis=0)
    closest = linprog(
        np.append(np.zeros(len(sets)), 1),
        A_ub=np.block([[within, 0 * ones], [-within, -ones], [-objective, 0]]),
        b_ub=[*limits, *-limits, best.fun + 1e-9],
    )
    assert (limits - belief).max() == pytest.approx(closest.fun, abs=1e-6)
    # The lower probabilities are not a belief function.
    assert belief.sum() < limits.sum() - 1e-3


def test_result_does_not_depend_on_the_order_of_answers_and_rows():
    family = FocalSets.full(4, empty=False)
    orders = np.array(list(permutations(range(4))))
    counts = np.array([[7, 2, 2, 12], PSYCHIATRIC])
    masses = MassFunctions.from_counts(counts).masses
    for row, expected in zip(counts, masses, strict=True):
        renamed = MassFunctions.from_counts(row[orders])
        for i, order in enumerate(orders):
            columns = renamed.focal_sets.find(family.membership[:, order])
            np.testing.assert_allclose(renamed.masses[i, columns], expected, atol=1e-12)


def test_beliefs_are_calibrated():
    rng = np.random.default_rng(0)
    for p in ([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1]):
        m = MassFunctions.from_counts(rng.multinomial(30, p, 400))
        everything = FocalSets.full(len(p), empty=False)
        true = everything.membership @ np.array(p)
        assert (m.belief(everything) <= true + 1e-12).all(axis=1).mean() > 0.92
        many = MassFunctions.from_counts(rng.multinomial(10**8, p, 2))
        np.testing.assert_allclose(many.singleton_belief, [p, p], atol=1e-3)


def test_imprecise_dirichlet_model():
    # Six marbles, one of them red: the probability of red is between 1/8 and 3/8 (Walley, 1996, s =
    # 2).
    m = MassFunctions.from_counts([[1, 3, 2]], rule="dirichlet")
    np.testing.assert_allclose(
        [m.singleton_belief[0, 0], m.contour[0, 0]], [1 / 8, 3 / 8]
    )
    m = MassFunctions.from_counts([[1, 3, 2]], rule="dirichlet", prior_weight=1)
    np.testing.assert_allclose(
        [m.singleton_belief[0, 0], m.contour[0, 0]], [1 / 7, 2 / 7]
    )
    assert MassFunctions.from_counts([[0, 0]], rule="dirichlet").is_vacuous.all()


def test_names_of_tables():
    m = MassFunctions.from_counts(
        pd.DataFrame([[3, 1]], index=["x"], columns=["a", "b"])
    )
    assert (list(m.index), m.frame) == (["x"], ("a", "b"))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: MassFunctions.from_counts([[1, -1]]), "^counts must"),
        (lambda: MassFunctions.from_counts([[1, np.nan]]), "^counts must"),
        (lambda: MassFunctions.from_counts([[1]]), "^counts must"),
        (lambda: MassFunctions.from_counts([[1, 2]], rule="x"), "^rule must"),
        (lambda: MassFunctions.from_counts([[1, 2]], confidence=1), "^confidence must"),
        (
            lambda: MassFunctions.from_counts([[1, 2]], prior_weight=0),
            "^prior_weight must",
        ),
        (
            lambda: MassFunctions.from_counts(np.ones((1, 11))),
            "10 answers, got 11",
        ),
    ],
)
def test_invalid_input(build, words):
    with pytest.raises(ValueError, match=words):
        build()
