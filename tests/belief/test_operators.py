"""The operators ``a & b`` and ``a | b``, and conversion to tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dempster import CredalPartition, FocalSets, MassFunctions
from tests.strategies import mass_functions, random_masses


def by_definition(a, b, join):
    """Return {set: mass} of the combination of two single mass functions."""
    out = {}
    for x, p in zip(a.focal_sets, a.masses[0], strict=True):
        for y, q in zip(b.focal_sets, b.masses[0], strict=True):
            key = join(frozenset(x), frozenset(y))
            out[key] = out.get(key, 0) + p * q
    return out


@given(mass_functions(n=1, max_clusters=4), st.integers(0, 2**32 - 1))
def test_operators_by_definition(a, seed):
    other = FocalSets.full(a.n_clusters)
    b = MassFunctions(random_masses(np.random.default_rng(seed), 1, len(other)), other)
    for made, join in ((a & b, frozenset.intersection), (a | b, frozenset.union)):
        for key, mass in by_definition(a, b, join).items():
            assert made.mass(tuple(key))[0] == pytest.approx(mass)
        assert made.masses.sum() == pytest.approx(1)


def test_different_families_and_single_rows():
    one = MassFunctions.from_dict({("a", "b"): 1.0}, frame="abc")
    many = MassFunctions(
        [[0.2, 0.8], [0.7, 0.3]],
        FocalSets.from_sets(3, [(0,), (1, 2)]),
        ["x", "y"],
        frame="abc",
    )
    for made in (one & many, many & one):
        assert list(made.index) == ["x", "y"]
        np.testing.assert_allclose(
            made.mass([("a",), ("b",), ("c",)]), [[0.2, 0.8, 0], [0.7, 0.3, 0]]
        )
    assert (one | many).focal_sets.names("abc") == ["{a,b}", "Ω"]


def test_rows_are_matched_by_name():
    a = MassFunctions.from_dict([{"a": 1}, {"b": 1}], frame="ab", index=["x", "y"])
    b = MassFunctions.from_dict([{"b": 1}, {"a": 1}], frame="ab", index=["y", "x"])
    assert (a & b).empty.tolist() == [0, 0]
    assert (a & MassFunctions(b, index=["x", "y"])).empty.tolist() == [1, 1]
    unnamed = MassFunctions(np.array(b), b.focal_sets, frame="ab")
    assert list((unnamed & a).index) == ["x", "y"]


def test_normalization_gives_dempster():
    a = MassFunctions.from_dict({"a": 0.6, ("a", "b"): 0.4}, frame="abc")
    b = MassFunctions.from_dict({"b": 0.5, ("a", "b", "c"): 0.5}, frame="abc")
    np.testing.assert_allclose((a & b).normalize().contour, a.combine(b).contour)
    assert (a & b).empty == pytest.approx([0.3])


def test_partitions():
    p = CredalPartition.from_hard([0, 1, 1])
    assert (p & p).contour.tolist() == p.contour.tolist()


@pytest.mark.parametrize("other", [3, None, [[1.0, 0.0]], {"a": 1}])
def test_invalid_operands(other):
    m = MassFunctions.from_dict({"a": 1}, frame="ab")
    with pytest.raises(TypeError, match="unsupported operand"):
        m & other
    with pytest.raises(TypeError, match="unsupported operand"):
        m | other


def test_different_frames():
    with pytest.raises(ValueError, match="frame"):
        MassFunctions.from_dict({"a": 1}, frame="ab") & MassFunctions.from_dict(
            {"a": 1}, frame="ac"
        )
