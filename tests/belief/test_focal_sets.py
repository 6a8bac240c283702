"""Families of sets."""

import numpy as np
import pytest

from dempster import FocalSets


@pytest.mark.parametrize("c", [2, 3, 4, 5])
def test_families_match_the_reference(reference, c):
    case = reference("makef_all")
    for name, build in (("simple", FocalSets.simple), ("pairs", FocalSets.pairs)):
        for omega in (True, False):
            expected = {
                tuple(row) for row in case[f"{name}_c{c}_omega{int(omega)}"].tolist()
            }
            assert {
                tuple(row)
                for row in build(c, omega=omega).membership.astype(int).tolist()
            } == expected
    assert {tuple(r) for r in case[f"full_c{c}"].tolist()} == {
        tuple(r) for r in FocalSets.full(c).membership.astype(int).tolist()
    }


def test_given_pairs_match_the_reference(reference):
    case = reference("makef_all")
    for omega in (True, False):
        family = FocalSets.with_pairs(4, case["given_pairs"], omega=omega)
        expected = {
            tuple(r) for r in case[f"given_pairs_c4_omega{int(omega)}"].tolist()
        }
        assert {tuple(r) for r in family.membership.astype(int).tolist()} == expected


def test_order():
    assert list(FocalSets.full(3)) == [
        (),
        (0,),
        (1,),
        (2,),
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 1, 2),
    ]
    assert list(FocalSets.with_pairs(4, [(3, 2), (0, 1)])) == [
        (), (0,), (1,), (2,), (3,), (0, 1), (2, 3), (0, 1, 2, 3),
    ]  # fmt: skip
    assert list(FocalSets.max_cardinality(4, 3, empty=False, omega=False))[-4:] == [
        (0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3),
    ]  # fmt: skip

    assert list(FocalSets.from_sets(2, [(0, 1), (), (1,)])) == [(0, 1), (), (1,)]


def test_small_frames():
    assert list(FocalSets.pairs(2)) == [(), (0,), (1,), (0, 1)]
    assert list(FocalSets.simple(1)) == [(), (0,)]
    assert list(FocalSets.full(1, omega=False)) == [(), (0,)]


def test_indices_conflict_and_jaccard():
    sets = FocalSets.simple(3)
    assert (sets.empty_index, sets.omega_index, sets.singleton_index.tolist()) == (
        0,
        4,
        [1, 2, 3],
    )
    assert (sets.pair_index == -1).all()
    some = FocalSets.with_pairs(3, [(0, 2), (1, 2)])
    for k, m in ((0, 2), (1, 2)):
        assert some.pair_index[k, m] == some.pair_index[m, k] == some.index({k, m})
    assert some.pair_index[0, 1] == some.pair_index[0, 0] == -1
    assert sets.conflict[0].tolist() == [1, 1, 1, 1, 1]
    assert sets.conflict[1].tolist() == [1, 0, 1, 1, 0]
    assert sets.jaccard[0].tolist() == [1, 0, 0, 0, 0]
    np.testing.assert_allclose(sets.jaccard[1], [0, 1, 0, 0, 1 / 3])
    assert sets.index({2}) == 3
    assert (0, 1) not in sets
    assert (0,) in sets
    with pytest.raises(ValueError, match="^clusters must"):
        sets.index({0, 1})


def test_jaccard_matches_the_reference(reference):
    case = reference("decision_n3")
    order = FocalSets.full(3).codes
    np.testing.assert_allclose(
        FocalSets.full(3).jaccard, case["jaccard"][np.ix_(order, order)]
    )


def test_equality_and_immutability():
    a = FocalSets.pairs(3)
    b = FocalSets.pairs(3)
    assert a == b
    assert hash(a) == hash(b)
    assert a != FocalSets.full(4)
    with pytest.raises(ValueError, match="read-only"):
        a.membership[0, 0] = True
    assert "8 sets" in repr(a)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FocalSets.simple(0), "^n_clusters must"),
        (lambda: FocalSets.full(40), "at most 20"),
        (lambda: FocalSets.from_sets(3, [(0,), (3,)]), "^sets must .* got 3"),
        (lambda: FocalSets.from_sets(3, [(0,), (0,)]), "^membership must"),
        (lambda: FocalSets([[0, 2]]), "^membership must"),
        (lambda: FocalSets.simple(3).names(["a"]), "^cluster_names must"),
    ],
)
def test_invalid_input(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_many_clusters():
    sets = FocalSets.simple(100)
    assert len(sets) == 102
    assert sets.index(range(100)) == 101
