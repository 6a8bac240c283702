"""Sources, coarser and finer frames, and products of frames."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dempster import CredalPartition, FocalSets, MassFunctions
from tests.strategies import mass_functions, partitions, random_masses

COLORS = ("red", "blue")
SHAPES = ("round", "square", "flat")


def as_dict(m, row=0):
    """Return the masses of one row by sets of names."""
    sets = [frozenset(m.frame[k] for k in members) for members in m.focal_sets]
    return {
        s: mass
        for s, mass in zip(sets, m.masses[row].tolist(), strict=True)
        if mass > 0
    }


def move_masses(masses, image):
    out = {}
    for members, mass in masses.items():
        target = frozenset(image(members))
        out[target] = out.get(target, 0) + mass
    return out


def random_mass_functions(frame, n=5, seed=0):
    family = FocalSets.full(len(frame))
    return MassFunctions(
        random_masses(np.random.default_rng(seed), n, len(family)), family, frame=frame
    )


# ---- sources -------------------------------------------------------------------------------------


def test_source_of_the_lecture():
    images = {"working": ("T", "O"), "broken": "GRTOS"}
    m = MassFunctions.from_source({"broken": 0.1, "working": 0.9}, images, "GRTOS")
    assert as_dict(m) == {frozenset("TO"): 0.9, frozenset("GRTOS"): 0.1}


def test_source_matches_the_definition():
    rng = np.random.default_rng(1)
    sets = ["a", "ab", (), "c", ("b", "a"), "abc"]
    images = dict(enumerate(sets))
    p = rng.dirichlet(np.ones(len(sets)), 7)
    m = MassFunctions.from_source(p, images, "abc", index=list("rstuvwx"))
    for i, row in enumerate(p):
        expected = {}
        for members, mass in zip(map(frozenset, sets), row, strict=True):
            expected[members] = expected.get(members, 0) + mass
        assert as_dict(m, i) == pytest.approx(expected)
    table = pd.DataFrame(p, columns=list(images))[[3, 1, 0, 2, 5, 4]].set_axis(
        list("rstuvwx")
    )
    other = MassFunctions.from_source(table, images, "abc")
    assert other.distance(m).max() < 1e-15
    assert list(other.index) == list(m.index)
    assert (
        MassFunctions.from_source(table.iloc[0], images, "abc").distance(m[0]) < 1e-15
    )


# ---- coarser and finer frames --------------------------------------------------------------------


@given(mass_functions(n=3), st.integers(0, 2**16))
def test_coarsening_and_refinement_match_the_definitions(m, seed):
    rng = np.random.default_rng(seed)
    group = rng.permutation(
        np.append(np.arange(2), rng.integers(0, 2, m.n_clusters - 2))
    )
    parts = {
        name: [k for k in range(m.n_clusters) if group[k] == g]
        for g, name in enumerate("xy")
    }
    coarse = m.coarsen(parts)
    assert coarse.frame == ("x", "y")
    fine = m.refine({k: [(k, j) for j in range(1 + k % 3)] for k in m.frame})
    for i in range(len(m)):
        expected = move_masses(
            as_dict(m, i), lambda members: {"xy"[group[k]] for k in members}
        )
        assert as_dict(coarse, i) == pytest.approx(expected)
        expected = move_masses(
            as_dict(m, i),
            lambda members: {(k, j) for k in members for j in range(1 + k % 3)},
        )
        assert as_dict(fine, i) == expected
    again = fine.coarsen(
        {k: [name for name in fine.frame if name[0] == k] for k in m.frame}
    )
    assert again.distance(m).max() < 1e-15
    # The plausibility of the whole part is the same on both frames.
    np.testing.assert_allclose(
        coarse.plausibility(("x",)), m.plausibility(tuple(parts["x"]))
    )


# ---- products of frames --------------------------------------------------------------------------


def test_extension_and_marginalization_match_the_definitions():
    m = random_mass_functions(SHAPES)
    joint = m.vacuous_extension([COLORS, SHAPES], 1)
    assert joint.frame == tuple(product(COLORS, SHAPES))
    for i in range(len(m)):
        assert as_dict(joint, i) == move_masses(
            as_dict(m, i), lambda members: set(product(COLORS, members))
        )
    assert joint.marginalize(1).distance(m).max() < 1e-15
    assert joint.marginalize(0).frame == COLORS
    np.testing.assert_allclose(joint.marginalize(0).mass(COLORS), 1 - m.empty)
    general = random_mass_functions(joint.frame, 3)
    for k, i in product((0, 1), range(3)):
        expected = move_masses(
            as_dict(general, i), lambda members, k=k: {name[k] for name in members}
        )
        assert as_dict(general.marginalize(k), i) == pytest.approx(expected)


def test_several_components():
    m = random_mass_functions(tuple(product("ab", "uv")))
    joint = m.vacuous_extension(["uv", "xyz", "ba"], (2, 0))
    assert joint.frame[0] == ("u", "x", "b")
    assert (
        joint.marginalize((2, 0))
        .coarsen({name: [name] for name in m.frame})
        .distance(m)
        .max()
        < 1e-15
    )
    np.testing.assert_allclose(joint.marginalize(1).mass(tuple("xyz")), 1 - m.empty)


def relational_masses(partition, i, j):
    """Return the masses of empty, same, different and unknown by the operations on the product of the frames."""
    frame = partition.frame
    joint = partition[i].vacuous_extension([frame, frame], 0) & partition[
        j
    ].vacuous_extension([frame, frame], 1)
    same = [(k, k) for k in frame]
    relation = joint.coarsen(
        {"same": same, "different": [pair for pair in joint.frame if pair not in same]}
    )
    return relation.to_family(FocalSets.full(2)).masses


@settings(max_examples=30)
@given(partitions(n=4, max_clusters=4))
def test_relational_representation_by_operations_on_frames(partition):
    pairs = np.array(list(permutations(range(4), 2)))
    expected = partition.relational(pairs).masses
    np.testing.assert_allclose(
        relational_masses(partition, pairs[:, 0], pairs[:, 1]), expected, atol=1e-12
    )


def test_relational_representation_of_the_slides():
    partition = CredalPartition(
        [[0.3, 0.6, 0.1, 0], [0, 0.7, 0.1, 0.2], [0, 0.1, 0.6, 0.3]], FocalSets.full(2)
    )
    expected = [
        [0.30, 0.43, 0.13, 0.14],
        [0.30, 0.12, 0.37, 0.21],
        [0, 0.13, 0.43, 0.44],
    ]
    np.testing.assert_allclose(
        relational_masses(partition, [0, 0, 1], [1, 2, 2]), expected, atol=1e-12
    )


# ---- types and errors ----------------------------------------------------------------------------


def test_names_and_precision_are_kept():
    m = MassFunctions(
        np.eye(4, dtype=np.float32), FocalSets.full(2), index=list("wxyz")
    )
    for other in (
        m.coarsen({"all": (0, 1)}),
        m.refine({0: [0, 1], 1: [2]}),
        m.vacuous_extension(["ab", (0, 1)], 1),
    ):
        assert (other.masses.dtype, other.index) == (np.float32, m.index)


SOURCE = {"s": "a", "t": "ab"}
M = MassFunctions.from_dict({"a": 0.5, "b": 0.5}, frame="ab")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: MassFunctions.from_source({"s": 1.0}, SOURCE, "ab"),
            "^probabilities must have the columns",
        ),
        (
            lambda: MassFunctions.from_source([0.5, 0.2, 0.3], SOURCE, "ab"),
            "^probabilities must have the columns",
        ),
        (
            lambda: MassFunctions.from_source([0.5, 0.2], SOURCE, "ab"),
            "^probabilities must sum to one",
        ),
        (
            lambda: MassFunctions.from_source([0.5, 0.5], {"s": "a", "t": "x"}, "ab"),
            "^images must",
        ),
        (
            lambda: MassFunctions.from_source([0.5, 0.5], ["a", "b"], "ab"),
            "^images must be a mapping",
        ),
        (lambda: M.coarsen({"x": "a"}), "^parts must contain each answer"),
        (lambda: M.coarsen({"x": "ab", "y": "b"}), "^parts must contain each answer"),
        (lambda: M.coarsen({"x": "ab", "y": ()}), "^parts must contain each answer"),
        (lambda: M.coarsen(["ab"]), "^parts must be a mapping"),
        (lambda: M.refine({"a": [1, 2]}), "^parts must divide each answer"),
        (lambda: M.refine({"a": [1, 2], "b": []}), "^parts must divide each answer"),
        (
            lambda: M.refine({"a": [1, 2], "b": [2]}),
            "^parts must contain 3 different names",
        ),
        (lambda: M.refine({"a": "name", "b": ["c"]}), "^parts must contain a list"),
        (lambda: M.marginalize(0), "whose answers are tuples"),
        (
            lambda: M.vacuous_extension(["ab", "cd"], 0).marginalize(2),
            "^component must",
        ),
        (lambda: M.vacuous_extension(["ab", "cd"], (0, 0)), "^component must"),
        (
            lambda: M.vacuous_extension(["ab", "cd"], 1),
            "^frames must contain the frame",
        ),
        (lambda: M.vacuous_extension(["ab", range(10**5)], 0), "got 200,000"),
    ],
)
def test_invalid_input(build, words):
    with pytest.raises(ValueError, match=words):
        build()
