"""Mass functions, partitions and constraints with extreme sizes, invalid values and different names."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.constraints import Constraints
from dempster.partition import combine_partitions, consistency_index, credal_rand_index
from tests.limits import limited, refused_or_sensible

SIMPLE = FocalSets.simple(2, empty=False)
M = MassFunctions([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], SIMPLE)


def random_masses(family, n=2, seed=0):
    return MassFunctions(
        np.random.default_rng(seed).dirichlet(np.ones(len(family)), n), family
    )


def combine(family, rule="dempster", n=2):
    return random_masses(family, n).combine(random_masses(family, n, seed=1), rule=rule)


# ---- sizes ---------------------------------------------------------------------------------------

FAST = {
    "combine full families of 13": lambda: combine(FocalSets.full(13)),
    "combine full families of 16, disjunctively": lambda: combine(
        FocalSets.full(16), "disjunctive"
    ),
    "combine all pairs of 60": lambda: combine(FocalSets.pairs(60)),
    "all sets of 17": lambda: FocalSets.full(17),
    "cautious rule of 15": lambda: combine(FocalSets.simple(15), "cautious"),
    "sets of at most 5 of 20 answers": lambda: random_masses(
        FocalSets.simple(20)
    ).decide_sets(max_size=5),
}
TOO_LARGE = {
    "families of 25": lambda: FocalSets.max_cardinality(25, 13),
    "all sets of 21": lambda: FocalSets.full(21),
    "sets of at most 15 of 30": lambda: random_masses(FocalSets.simple(30)).decide_sets(
        max_size=15
    ),
    "cautious rule of 30": lambda: combine(FocalSets.simple(30), "cautious", n=1),
    "a partition of 100,000 clusters": lambda: CredalPartition.from_hard(
        np.arange(100_000)
    ),
    "60,000 labels as pairs": lambda: Constraints.from_partial_labels(
        np.arange(60_000) % 10
    ),
    "closure of a chain of 40,000": lambda: Constraints(
        np.column_stack([np.arange(39_999), np.arange(1, 40_000)])
    ).closure(),
    "pairs of pairs of 200": lambda: combine(FocalSets.pairs(200), n=1),
}


@pytest.mark.parametrize("which", FAST)
def test_large_but_feasible_sizes(which):
    with limited():
        FAST[which]()


@pytest.mark.parametrize("which", TOO_LARGE)
def test_sizes_that_are_too_large(which):
    with limited(), pytest.raises(ValueError, match=r"\d"):
        TOO_LARGE[which]()


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("family", [FocalSets.full, FocalSets.pairs])
@pytest.mark.parametrize("c", [3, 5, 8])
def test_combination_multiplies_commonalities(c, family, n):
    a, b = (random_masses(family(c), n, seed) for seed in (0, 1))
    both = a.combine(b, rule="conjunctive")
    q = a.commonality(both.focal_sets) * b.commonality(both.focal_sets)
    np.testing.assert_allclose(both.commonality(), q, atol=1e-12)


def test_order_of_large_families():
    for c, size in ((11, 11), (14, 3)):
        sets = list(FocalSets.max_cardinality(c, size))
        assert sets == sorted(sets, key=lambda s: (len(s), s))


# ---- values --------------------------------------------------------------------------------------

INVALID = {
    "complex masses": lambda: CredalPartition(np.array([[0.5 + 1j, 0.5, 0]]), SIMPLE),
    "text as masses": lambda: CredalPartition([["a", "b", "c"]], SIMPLE),
    "ragged masses": lambda: CredalPartition([[0.5, 0.5], [1.0]], SIMPLE),
    "three dimensions": lambda: CredalPartition(np.ones((1, 1, 3)) / 3, SIMPLE),
    "no family": lambda: CredalPartition([[1.0]], None),
    "pairs of parts of clusters": lambda: FocalSets.with_pairs(3, [(0.7, 1.9)]),
    "pairs of the same": lambda: FocalSets.with_pairs(3, [(1, 1)]),
    "pairs out of range": lambda: FocalSets.with_pairs(3, [(0, 7)]),
    "half a cluster": lambda: FocalSets.simple(2.5),
    "a Boolean number": lambda: FocalSets.simple(True),
    "half a size": lambda: FocalSets.max_cardinality(4, 1.5),
    "complex losses": lambda: M.decide(losses=np.eye(2) * 1j),
    "NaN losses": lambda: M.decide(losses=np.eye(2) * np.nan),
    "losses of text": lambda: M.decide(losses=[["a", "b"], ["c", "d"]]),
    "NaN reject": lambda: M.decide(reject=np.nan),
    "reject of text": lambda: M.decide(reject="never"),
    "NaN optimism": lambda: M.decide("hurwicz", optimism=np.nan),
    "complex optimism": lambda: M.decide("hurwicz", optimism=1j),
    "NaN tolerance": lambda: M.decide_sets(np.nan),
    "half a size of sets": lambda: M.decide_sets(max_size=1.5),
    "no size of sets": lambda: M.decide_sets(max_size=0),
    "other frame": lambda: M.combine(
        MassFunctions([[1.0]], FocalSets.from_sets(2, [(0,)]), frame="ab")
    ),
    "no mass functions": lambda: M.combine("masses"),
    "complex discount": lambda: M.discount(0.5j),
    "negative discount": lambda: M.discount(-0.1),
    "a row called True": lambda: M[True],
    "row 7": lambda: M[7],
    "conditioning on a stranger": lambda: M.condition((5,)),
    "an index that is text": lambda: CredalPartition([[1, 0, 0]], SIMPLE, index="a"),
    "an index that is short": lambda: CredalPartition([[1, 0, 0]], SIMPLE, index=[]),
    "a frame that is short": lambda: CredalPartition([[1, 0, 0]], SIMPLE, frame=["a"]),
    "a frame of lists": lambda: CredalPartition([[1, 0, 0]], SIMPLE, frame=[[1], [2]]),
    "missing labels": lambda: CredalPartition.from_hard([0.0, np.nan]),
    "None as a label": lambda: CredalPartition.from_hard(["a", None]),
    "no labels": lambda: CredalPartition.from_hard([]),
    "fuzzy above one": lambda: CredalPartition.from_fuzzy([[0.9, 0.9]]),
    "complex memberships": lambda: CredalPartition.from_fuzzy([[1j, 0]]),
    "negative sweeps": lambda: combine_partitions([[0, 0, 1], [0, 1, 1]], max_iter=-3),
    "NaN tolerance of sweeps": lambda: combine_partitions(
        [[0, 0, 1], [0, 1, 1]], tol=np.nan
    ),
    "half a start": lambda: combine_partitions([[0, 0, 1], [0, 1, 1]], n_init=0.5),
    "a cluster that is not there": lambda: CredalPartition.from_hard([0, 1]).lower(5),
    "pairs of text": lambda: Constraints([("a", "b")]),
    "pairs of parts of objects": lambda: Constraints([(0.5, 1.5)]),
    "pairs of three": lambda: Constraints([(0, 1, 2)]),
    "negative objects": lambda: Constraints([(-1, 2)]),
    "an object apart from itself": lambda: Constraints([], [(1, 1)]),
}


@pytest.mark.parametrize("which", INVALID)
def test_invalid_values(which):
    def accepted(result):
        raise AssertionError(f"accepted: {result!r}")

    assert refused_or_sensible(INVALID[which], accepted)


# ---- names ---------------------------------------------------------------------------------------


def named(order):
    base = CredalPartition.from_fuzzy(
        [[0.9, 0.1], [0.8, 0.1], [0.2, 0.8], [0, 1], [0.5, 0.5]]
    )
    return CredalPartition(base.masses, base.focal_sets, list("abcde"))[order]


def test_rows_are_matched_by_name():
    a = named(range(5))
    b = named([4, 2, 0, 1, 3])
    assert credal_rand_index(a, b) == pytest.approx(1)
    assert consistency_index(a, b) == pytest.approx(consistency_index(a, a))
    np.testing.assert_array_equal(a.conflict(b), a.conflict(a))
    np.testing.assert_allclose(a.distance(b), 0, atol=1e-7)
    together = a.combine(b, rule="conjunctive")
    aligned = a.combine(a, rule="conjunctive")
    np.testing.assert_array_equal(together.masses, aligned.masses)
    assert list(together.index) == list("abcde")
    one, other = (combine_partitions([a, p], random_state=0) for p in (a, b))
    np.testing.assert_allclose(one.masses, other.masses)
    nameless = CredalPartition(b.masses, b.focal_sets)
    np.testing.assert_array_equal(
        a.conflict(nameless), a.conflict(CredalPartition(b, index=list(a.index)))
    )


@pytest.mark.parametrize("names", ["abcdx", "aabcd"])
def test_different_names(names):
    a = named(range(5))
    b = CredalPartition(a.masses, a.focal_sets, list(names))
    for function in (a.conflict, a.distance, a.combine, lambda p: credal_rand_index(a, p),
                     lambda p: consistency_index(a, p), lambda p: combine_partitions([a, p])):  # fmt: skip
        with pytest.raises(ValueError, match="names"):
            function(b)


def test_label_of_outliers():
    for labels in (
        ["a", "b", "a", -1],
        np.array(["a", "b", "a", -1]),
        np.array(["a", "b", "a", -1], dtype=object),
    ):
        partition = CredalPartition.from_hard(labels)
        assert partition.frame == ("a", "b")
        assert partition.outliers.tolist() == [3]
    with pytest.raises(ValueError, match="^labels must"):
        CredalPartition.from_hard([2, "x", 1, "y"])


def test_numbers_as_names_and_indices():
    """Test that a number is a name if the frame has numbers, and otherwise an index."""
    swapped = CredalPartition([[0.6, 0.3, 0.1]], SIMPLE, frame=(1, 0))
    assert swapped.belief((1,)) == pytest.approx([0.6])
    assert swapped.lower(1).tolist() == [0]
    assert swapped.lower(0).tolist() == []
    letters = CredalPartition([[0.6, 0.3, 0.1]], SIMPLE, frame="ab")
    assert (
        letters.belief((0,)).tolist()
        == letters.belief("a").tolist()
        == pytest.approx([0.6])
    )
    assert letters.lower(0).tolist() == letters.lower("a").tolist() == [0]


# ---- immutability --------------------------------------------------------------------------------


def test_arrays_are_read_only():
    m = CredalPartition([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], SIMPLE)
    for one in (
        m,
        pickle.loads(pickle.dumps(m)),
        copy.deepcopy(m),
        copy.copy(m),
        m[:1],
        m[[True, False]],
    ):
        arrays = [
            one.masses,
            one.contour,
            one.singleton_belief,
            one.empty,
            one.labels,
            one.best_set,
            one.outliers,
        ]
        arrays += [
            one.ambiguous,
            one.labels_with_outliers,
            one.focal_sets.membership,
            one.focal_sets.cardinality,
        ]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_decisions_in_threads_keep_the_warning_filters():
    before = list(warnings.filters)
    m = random_masses(FocalSets.full(4), 200)

    def decide():
        for _ in range(50):
            m.decide("hurwicz")

    threads = [threading.Thread(target=decide) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings.filters == before


EMPTY = MassFunctions(np.zeros((0, 8)), FocalSets.full(3))
OF_NO_ROWS = {
    "an empty list": lambda: MassFunctions([], FocalSets.full(3)),
    "conditioning": lambda: EMPTY.condition((0, 1)),
    "one with each": lambda: EMPTY.combine(
        MassFunctions([[0.5] + [0.5 / 7] * 7], FocalSets.full(3))
    ),
    "one with each, before": lambda: MassFunctions(
        [[0.5] + [0.5 / 7] * 7], FocalSets.full(3)
    ).combine(EMPTY),
    **{
        f"the {rule} rule": lambda rule=rule: EMPTY.combine(EMPTY, rule=rule)
        for rule in (
            "conjunctive",
            "dempster",
            "disjunctive",
            "dubois_prade",
            "yager",
            "average",
            "pcr6",
            "cautious",
        )
    },
    "only the empty set": lambda: MassFunctions(
        np.zeros((0, 1)), FocalSets.from_sets(2, [()])
    ).normalize(),
    "only the empty set, combined": lambda: MassFunctions(
        np.zeros((0, 1)), FocalSets.from_sets(2, [()])
    ).combine(MassFunctions(np.zeros((0, 1)), FocalSets.from_sets(2, [()]))),
    "nested contexts": lambda: EMPTY.discount({(0,): 0.5, (0, 1): 0.2}),
}


@pytest.mark.parametrize("which", OF_NO_ROWS)
def test_no_rows(which):
    result = OF_NO_ROWS[which]()
    assert result.masses.shape == (0, len(result.focal_sets))


def test_columns_with_names_of_other_sets():
    masses = [[0.7, 0.3]]
    family = FocalSets.from_sets(1, [(), (0,)])
    with pytest.raises(ValueError, match="^masses .*'∅'.*{b}"):
        MassFunctions(pd.DataFrame(masses, columns=["{a}", "∅"]), family, frame=["b"])
    for columns in (["∅", "{a}"], ["u", "v"], [0, 1]):
        assert (
            MassFunctions(
                pd.DataFrame(masses, columns=columns), family, frame=["b"]
            ).empty[0]
            == 0.7
        )


def test_invalid_contour():
    with pytest.raises(ValueError, match="^contour must"):
        CredalPartition.from_contour([])
