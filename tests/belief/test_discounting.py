"""Contextual discounting."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dempster import FocalSets, MassFunctions
from tests.strategies import mass_functions, random_masses


def by_definition(row, family, contexts, rates):
    """Return {set: mass}: contexts fail independently, and a set is extended by the contexts that fail."""
    out = {}
    for fails in product([False, True], repeat=len(contexts)):
        chance = np.prod([r if f else 1 - r for r, f in zip(rates, fails, strict=True)])
        widened = frozenset().union(
            *(c for c, f in zip(contexts, fails, strict=True) if f)
        )
        for own, mass in zip(family, row, strict=True):
            key = frozenset(own) | widened
            out[key] = out.get(key, 0) + chance * mass
    return out


@given(mass_functions(n=3, max_clusters=4), st.integers(0, 2**32 - 1))
def test_definition(m, seed):
    rng = np.random.default_rng(seed)
    every = [s for s in FocalSets.full(m.n_clusters) if s]
    contexts = [
        every[i] for i in rng.choice(len(every), size=min(3, len(every)), replace=False)
    ]
    rates = np.where(rng.random(len(contexts)) < 0.2, 0, rng.random(len(contexts)))
    made = m.discount(dict(zip(contexts, rates, strict=True)))
    for i, row in enumerate(m.masses):
        for key, mass in by_definition(row, m.focal_sets, contexts, rates).items():
            assert made[i].mass(tuple(key))[0] == pytest.approx(mass)
    holds = np.array([[k in c for k in range(m.n_clusters)] for c in contexts])
    kept = np.prod(np.where(holds, 1 - rates[:, None], 1), axis=0)
    np.testing.assert_allclose(made.contour, 1 - (1 - m.contour) * kept, atol=1e-12)


@given(mass_functions(n=3))
def test_whole_frame_as_context(m):
    whole = tuple(range(m.n_clusters))
    a = m.discount(0.3)
    b = m.discount({whole: 0.3})
    sets = FocalSets.full(m.n_clusters)
    np.testing.assert_allclose(a.mass(sets), b.mass(sets), atol=1e-12)


def test_extreme_rates():
    m = MassFunctions(
        random_masses(np.random.default_rng(0), 4, 8), FocalSets.full(3), frame="abc"
    )
    np.testing.assert_allclose(m.discount(dict.fromkeys("abc", 0)).masses, m.masses)
    vacuous = m.discount(dict.fromkeys("abc", 1))
    assert vacuous.mass(("a", "b", "c")) == pytest.approx(np.ones(4))


def test_many_answers_and_single_precision():
    family = FocalSets.simple(12)
    masses = random_masses(np.random.default_rng(0), 50, len(family)).astype(np.float32)
    made = MassFunctions(masses, family).discount(dict.fromkeys(range(12), 0.2))
    assert made.masses.dtype == np.float32
    np.testing.assert_allclose(
        made.contour, 1 - (1 - masses @ family.membership) * 0.8, atol=1e-5
    )


def test_several_rates_of_a_set():
    m = MassFunctions.from_dict([{"a": 1}, {"b": 1}], frame="abc")
    with pytest.raises(ValueError, match="rate must have one number for each set"):
        m.discount({"a": [0.1, 0.2]})


def test_sizes_that_are_too_large():
    many = MassFunctions(np.full((3, 27), 1 / 27), FocalSets.simple(25))
    with pytest.raises(ValueError, match="131,072 sets.*fewer contexts"):
        many.discount(dict.fromkeys(range(25), 0.1))
    rows = MassFunctions(np.full((30_000, 17), 1 / 17), FocalSets.simple(15))
    with pytest.raises(ValueError, match="GB .*fewer contexts"):
        rows.discount(dict.fromkeys(range(15), 0.1))
    few = many.discount({tuple(range(5)): 0.1, tuple(range(5, 25)): 0.2})
    assert few.masses.shape[0] == 3


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ([0.1, 0.2, 0.3], "^rate must"),
        ({"a": 1.2}, "rate must lie in"),
        ({"a": np.nan}, "rate must lie in"),
        ({"z": 0.2}, "^rate must .*'z'"),
        ({(): 0.2}, "^rate must .* nonempty"),
        ({"a": 0.2, ("a",): 0.3}, "^rate must .* different"),
    ],
)
def test_invalid_rates(rate, words):
    m = MassFunctions.from_dict([{"a": 1}, {"b": 1}], frame="abc")
    with pytest.raises(ValueError, match=words):
        m.discount(rate)
