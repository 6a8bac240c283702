"""Decisions under evidence."""

import warnings

import numpy as np
import pytest
from hypothesis import given

from dempster import FocalSets, MassFunctions
from tests.strategies import mass_functions


@pytest.mark.parametrize("name", ["decision_two_classes", "decision_eknn_vehicles"])
def test_decisions_match_the_reference(reference, name):
    case = reference(name)
    c = case["m"].shape[1] - 1
    m = MassFunctions(case["m"], FocalSets.simple(c, empty=False))
    rules = {
        "upper": "maximin",
        "lower": "maximax",
        "pignistic": "pignistic",
        "hurwicz": "hurwicz",
    }
    for losses in ("01", "reject", "unknown", "random"):
        for theirs, ours in rules.items():
            act = m.decide(
                ours, losses=case[f"L_{losses}"], optimism=case.parameters["rho"]
            )
            clear = case[f"{losses}_{theirs}_tied"] == 0
            assert act[clear].tolist() == case[f"{losses}_{theirs}"][clear].tolist(), (
                losses,
                theirs,
            )


def test_unknown_class_and_rejection():
    m = MassFunctions(
        [[0.9, 0.1, 0], [0.4, 0.6, 0], [0.1, 0.1, 0.8]],
        FocalSets.simple(2, empty=False),
    )
    losses = [[0, 1, 0.2, 0.25], [1, 0, 0.2, 0.25], [1, 1, 0.2, 0]]
    assert m.decide("maximin", losses=losses).tolist() == [0, 2, 2]
    assert m.decide("maximax", losses=losses).tolist() == [0, 2, 3]
    assert m.decide("maximin", reject=0.2).tolist() == [0, -1, -1]
    assert m.decide("maximax", reject=0.2).tolist() == [0, -1, 0]
    assert m.decide("interval_dominance").tolist() == [
        [True, False],
        [False, True],
        [True, True],
    ]


def test_imprecise_decisions():
    """Test the first weights of the maximum-entropy operator for a tolerance of 0.8 and sets of 2 to 5 classes."""
    from dempster.belief.decisions import _largest_weight

    weights = [_largest_weight(size, 0.8) for size in (1, 2, 3, 4, 5)]
    np.testing.assert_allclose(weights, [1, 0.8, 0.6819, 0.5965, 0.5307], atol=5e-5)
    m = MassFunctions(
        [[0.45, 0.45, 0.1], [0.9, 0.05, 0.05]],
        FocalSets.simple(3, empty=False, omega=False),
    )
    assert m.decide_sets(0.8).tolist() == [[True, True, False], [True, False, False]]
    assert m.decide_sets(0.5).sum(axis=1).tolist() == [1, 1]
    assert m.decide_sets(1.0).all()


@given(mass_functions())
def test_decisions_minimize_the_expected_loss(m):
    losses = (
        np.array([[0.0, 1, 0.3]] * m.n_clusters) + np.arange(m.n_clusters)[:, None] % 2
    )
    for rule in ("pignistic", "maximax", "maximin", "hurwicz"):
        expected = m.expected_losses(rule, losses=losses, optimism=0.4)
        assert expected.shape == (len(m), 3)
        chosen = m.decide(rule, losses=losses, optimism=0.4)
        np.testing.assert_allclose(
            expected[np.arange(len(m)), chosen], expected.min(axis=1)
        )


def test_all_mass_on_the_empty_set_counts_as_vacuous_without_a_warning():
    m = MassFunctions([[1.0, 0, 0, 0], [0, 0.2, 0.8, 0]], FocalSets.full(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.decide("maximin").tolist() == [0, 1]
        np.testing.assert_allclose(m.expected_losses("maximin"), [[1, 1], [0.8, 0.2]])
