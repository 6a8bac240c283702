"""Predicates of mass functions."""

import numpy as np
import pytest
from hypothesis import given

from dempster import FocalSets, MassFunctions
from tests.strategies import mass_functions

EXAMPLES = {
    "vacuous": ({"abc": 1}, "vacuous logical consonant normal"),
    "certain": ({"a": 1}, "certain logical bayesian consonant normal"),
    "logical": ({"ab": 1}, "logical consonant normal"),
    "bayesian": ({"a": 0.5, "b": 0.5}, "bayesian normal"),
    "consonant": ({"a": 0.3, "ab": 0.7}, "consonant normal"),
    "simple": ({"ab": 0.3, "abc": 0.7}, "consonant normal"),
    "general": ({"ab": 0.5, "bc": 0.5}, "normal"),
    "subnormal": ({(): 0.1, "a": 0.9}, "consonant"),
    "empty": ({(): 1}, "logical consonant"),
}
PREDICATES = ("vacuous", "bayesian", "consonant", "logical", "certain", "normal")


@pytest.mark.parametrize("which", EXAMPLES)
def test_examples(which):
    masses, expected = EXAMPLES[which]
    m = MassFunctions.from_dict(masses, frame="abc").to_family(FocalSets.full(3))
    assert {
        name for name in PREDICATES if getattr(m, f"is_{name}").tolist() == [True]
    } == set(expected.split())
    noisy = MassFunctions(np.maximum(m.masses, 1e-14), m.focal_sets)
    assert {name for name in PREDICATES if getattr(noisy, f"is_{name}")[0]} == set(
        expected.split()
    )


@given(mass_functions(n=20))
def test_predicates_match_the_definitions(m):
    whole = frozenset(range(m.n_clusters))
    for i, row in enumerate(m.masses):
        focal = [
            frozenset(s) for s, mass in zip(m.focal_sets, row, strict=True) if mass > 0
        ]
        expected = {
            "vacuous": focal == [whole],
            "bayesian": all(len(s) == 1 for s in focal),
            "consonant": all(a <= b or b <= a for a in focal for b in focal),
            "logical": len(focal) == 1,
            "certain": len(focal) == 1 and len(focal[0]) == 1,
            "normal": frozenset() not in focal,
        }
        assert {
            name: bool(getattr(m, f"is_{name}")[i]) for name in PREDICATES
        } == expected


def test_consonant_masses_from_contours():
    contour = np.random.default_rng(0).random((50, 6))
    assert MassFunctions.from_contour(contour).is_consonant.all()
