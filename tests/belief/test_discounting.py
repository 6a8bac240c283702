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
    np.testing.assert_allclose(made.masses, m.discount(rates, contexts=contexts).masses)
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


def test_rates_of_answers():
    m = MassFunctions(
        random_masses(np.random.default_rng(0), 4, 8), FocalSets.full(3), frame="abc"
    )
    np.testing.assert_allclose(
        m.discount([0, 0, 0], contexts="answers").masses, m.masses
    )
    assert m.discount([1, 1, 1], contexts="answers").mass(
        ("a", "b", "c")
    ) == pytest.approx(np.ones(4))
    np.testing.assert_allclose(
        m.discount([0.1, 0.2, 0.3], contexts="answers").masses,
        m.discount({"a": 0.1, "b": 0.2, "c": 0.3}).masses,
    )


def test_many_answers_and_single_precision():
    family = FocalSets.simple(12)
    masses = random_masses(np.random.default_rng(0), 50, len(family)).astype(np.float32)
    made = MassFunctions(masses, family).discount(np.full(12, 0.2), contexts="answers")
    assert made.masses.dtype == np.float32
    np.testing.assert_allclose(
        made.contour, 1 - (1 - masses @ family.membership) * 0.8, atol=1e-5
    )


def test_sizes_that_are_too_large():
    many = MassFunctions(np.full((3, 27), 1 / 27), FocalSets.simple(25))
    with pytest.raises(ValueError, match="131,072 sets.* 25 contexts"):
        many.discount(np.full(25, 0.1), contexts="answers")
    rows = MassFunctions(np.full((30_000, 17), 1 / 17), FocalSets.simple(15))
    with pytest.raises(ValueError, match="GB .* 15 contexts"):
        rows.discount(np.full(15, 0.1), contexts="answers")
    few = many.discount({tuple(range(5)): 0.1, tuple(range(5, 25)): 0.2})
    assert few.masses.shape[0] == 3


@pytest.mark.parametrize(
    ("rate", "options", "words"),
    [
        ([0.1, 0.2, 0.3], {}, "^rate must"),
        ({"a": 1.2}, {}, "rate must lie in"),
        ({"a": np.nan}, {}, "rate must lie in"),
        ({"z": 0.2}, {}, "^contexts must .*'z'"),
        ({(): 0.2}, {}, "^contexts must be nonempty"),
        ({"a": 0.2, ("a",): 0.3}, {}, "^contexts must be different"),
        ({"a": 0.2}, {"contexts": ["a"]}, "^contexts must be None"),
        ([0.1, 0.2], {"contexts": "answers"}, "^rate must contain 3"),
        ([0.1], {"contexts": "classes"}, "^contexts must"),
    ],
)
def test_invalid_rates(rate, options, words):
    m = MassFunctions.from_dict([{"a": 1}, {"b": 1}], frame="abc")
    with pytest.raises(ValueError, match=words):
        m.discount(rate, **options)
