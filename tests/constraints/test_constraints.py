"""Must-link and cannot-link constraints: closure, expansion and suggested questions."""

import copy
import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from dempster import CredalPartition, FocalSets
from dempster.constraints import (
    Constraints,
    Contradiction,
    ContradictionError,
    suggest_pairs,
)
from dempster.constraints.constraints import links, pairs_at
from tests.strategies import random_masses

SEEDS = st.integers(0, 2**32 - 1)


def as_set(pairs):
    return {frozenset(pair) for pair in np.asarray(pairs).tolist()}


def pair_lists(n=9, max_size=8):
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(
        lambda p: p[0] != p[1]
    )
    return st.lists(pair, max_size=max_size)


@st.composite
def some_constraints(draw, n=9):
    return Constraints(draw(pair_lists(n)), draw(pair_lists(n)), n_objects=n)


@st.composite
def true_constraints(draw, n=9):
    """Return labels and constraints that agree with them."""
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    return y, Constraints.from_pairs(draw(pair_lists(n, max_size=12)), y)


def naive_closure(must, cannot, n):
    """Return the closure by repeating the two rules until nothing changes."""
    same = np.eye(n, dtype=bool)
    apart = np.zeros((n, n), dtype=bool)
    for i, j in must:
        same[i, j] = same[j, i] = True
    for i, j in cannot:
        apart[i, j] = apart[j, i] = True
    for _ in range(n):
        same = (same.astype(int) @ same) > 0
        apart = (same.astype(int) @ apart.astype(int) @ same) > 0
    return same, apart


def random_partition(rng, n, c=3, family=FocalSets.full):
    return CredalPartition(random_masses(rng, n, len(family(c))), family(c))


# ---- the value -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pairs",
    [
        [(3, 1), (0, 2)],
        [[1, 3], [2, 0]],
        ((1, 3), (0, 2), (3, 1)),
        np.array([[3, 1], [0, 2]], dtype=np.uint8),
        pd.DataFrame({"a": [3, 0], "b": [1, 2]}),
        pd.DataFrame({"a": [3, 0], "b": [1, 2]}, dtype="Int64"),
        (pair for pair in [(1, 3), (0, 2)]),
        zip([1, 0], [3, 2], strict=True),
    ],
    ids=lambda pairs: type(pairs).__name__,
)
def test_pairs_in_any_form(pairs):
    c = Constraints(pairs)
    assert c.must_link.tolist() == [[1, 3], [0, 2]]
    assert c.must_link.dtype == np.int64
    assert c.cannot_link.shape == (0, 2)
    assert len(c) == 2


def test_order_of_a_set_of_pairs():
    assert Constraints({(5, 6), (0, 2), (3, 1)}).must_link.tolist() == [
        [0, 2],
        [1, 3],
        [5, 6],
    ]


@pytest.mark.parametrize(
    "nothing",
    [(), [], None, np.empty((0, 2)), np.empty((0, 2), int), pd.DataFrame(), {}.items()],
)
def test_no_pairs(nothing):
    c = Constraints(nothing, nothing)
    assert c.must_link.shape == c.cannot_link.shape == (0, 2)
    assert len(c) == 0
    assert c.closure() == c
    assert c.expand(np.zeros((3, 3))) == Constraints(n_objects=3)
    assert c.contradictions() == []
    assert len(c.violations([0, 1, 1])) == c.violations([0, 1, 1]).proportion == 0
    assert not links(c, 3)[0].any()


def test_self_pairs():
    assert Constraints([(1, 1), (0, 2)]).must_link.tolist() == [[0, 2]]
    with pytest.raises(ValueError, match=r"cannot_link must"):
        Constraints(cannot_link=[(0, 2), (4, 4)])


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ((0, 1), r"must_link must"),
        ([(0, 1, 2)], r"must_link must"),
        ([(0, 1), (2,)], "must_link must"),
        ([(0.5, 1)], "must_link must"),
        ([(True, False)], "must_link must"),
        ([("a", "b")], "must_link must"),
        ([(2, -1)], "must_link must"),
        ([(2, 2**31)], "must_link must"),
        ([(2, 2**70)], "must_link"),
        (3, "must_link must"),
    ],
)
def test_invalid_pairs(pairs, words):
    with pytest.raises(ValueError, match=words):
        Constraints(pairs)


def test_invalid_number_of_objects():
    c = Constraints([(0, 1)], [(1, 7)])
    c.check(8)
    with pytest.raises(ValueError, match=r"cannot_link must"):
        c.check(7)
    with pytest.raises(ValueError, match=r"the pair \(1, 7\)"):
        Constraints([(0, 1)], [(1, 7)], n_objects=7)
    with pytest.raises(ValueError, match="constraints must"):
        Constraints([(0, 1)], n_objects=9).check(10)
    with pytest.raises(TypeError, match="n_objects must"):
        Constraints(n_objects=2.5)


def test_immutability():
    given_pairs = np.array([[0, 1]])
    c = Constraints(given_pairs, n_objects=3)
    given_pairs[:] = 7
    assert c.must_link.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        c.must_link[0, 0] = 5
    with pytest.raises(AttributeError):
        c.must_link = np.array([[2, 3]])
    with pytest.raises(AttributeError):
        c.more = 1
    for same in (pickle.loads(pickle.dumps(c)), copy.deepcopy(c)):
        assert same == c
        assert same.n_objects == 3
        assert not same.must_link.flags.writeable


def test_equality_union_and_repr():
    a = Constraints([(0, 1), (2, 3)], [(0, 2)], n_objects=5)
    assert a == Constraints([(3, 2), (1, 0)], [(2, 0)], n_objects=5)
    assert hash(a) == hash(Constraints([(3, 2), (1, 0)], [(2, 0)], n_objects=5))
    assert a != Constraints([(0, 1), (2, 3)], n_objects=5)
    assert a != Constraints([(0, 1)], [(2, 3), (0, 2)], n_objects=5)
    assert a != Constraints([(0, 1), (2, 3)], [(0, 2)])
    assert a != Constraints([(0, 1), (2, 3)], [(0, 2)], n_objects=6)
    assert a != "constraints"
    assert repr(a) == "Constraints(2 must-link, 1 cannot-link, 5 objects)"
    both = a | Constraints([(1, 0), (1, 4)])
    assert both.n_objects == 5
    assert both.must_link.tolist() == [[0, 1], [2, 3], [1, 4]]
    assert both.cannot_link.tolist() == [[0, 2]]
    assert a | a == a
    with pytest.raises(ValueError, match="constraints must"):
        a | Constraints(n_objects=6)
    with pytest.raises(TypeError):
        a | [(0, 1)]


# ---- from labels ---------------------------------------------------------------------------------


def test_labels_of_sampled_pairs_agree_with_the_reference(reference):
    case = reference("create_mlcl")
    y = case["y"]
    c = Constraints.from_pairs(pairs_at(case["pair_index"], len(y)), y)
    case.assert_equal("ML", c.must_link)
    case.assert_equal("CL", c.cannot_link)
    assert c.n_objects == len(y)


@pytest.mark.parametrize("n", [2, 3, 10, 37])
def test_positions_of_pairs(n):
    all_pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    np.testing.assert_array_equal(pairs_at(np.arange(len(all_pairs)), n), all_pairs)


@pytest.mark.parametrize("n", [10**6 + 3])
def test_positions_of_pairs_of_many_objects(n):
    """Products of large numbers must not overflow."""
    rows = [0, 1, 2, n // 3, n // 2, n - 4, n - 3, n - 2]
    for i in rows:
        start = i * (2 * n - i - 1) // 2
        # first and last of row i
        pairs = pairs_at(np.array([start, start + n - i - 2]), n)
        assert pairs.tolist() == [[i, i + 1], [i, n - 1]]


@given(st.integers(2, 40), SEEDS)
@settings(deadline=None, max_examples=40)
def test_draws_are_distinct_and_true(n, seed):
    y = np.random.default_rng(seed).integers(-1, 3, n)
    known = np.flatnonzero(y >= 0)
    most = len(known) * (len(known) - 1) // 2
    c = Constraints.from_labels(y, most // 2, random_state=seed)
    assert len(c) == most // 2
    assert (y[c.must_link[:, 0]] == y[c.must_link[:, 1]]).all()
    assert (y[c.cannot_link[:, 0]] != y[c.cannot_link[:, 1]]).all()
    assert (y[np.concatenate([c.must_link, c.cannot_link])] >= 0).all()
    assert c == Constraints.from_labels(y, most // 2, random_state=seed)
    assert Constraints.from_labels(
        y, most, random_state=seed
    ) == Constraints.from_partial_labels(y)
    with pytest.raises(ValueError, match="n_constraints must"):
        Constraints.from_labels(y, most + 1)


@pytest.mark.long
def test_draws_are_uniform():
    counts = np.zeros((6, 6))
    rng = np.random.default_rng(0)
    for _ in range(3000):
        c = Constraints.from_labels(np.arange(6), 5, random_state=rng)
        counts[tuple(c.cannot_link.T)] += 1
    drawn = counts[np.triu_indices(6, 1)]
    assert drawn.sum() == 15000
    assert np.abs(drawn - 1000).max() < 5 * np.sqrt(3000 * (1 / 3) * (2 / 3))


def test_draws_among_many_objects_are_cheap():
    y = np.arange(300_000) % 7  # 4.5e10 pairs
    tracemalloc.start()
    c = Constraints.from_labels(y, 200, random_state=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(c) == 200
    assert peak < 50e6


def test_kinds_of_random_state():
    y = np.arange(30) % 3
    for make in (
        lambda: 3,
        lambda: np.random.RandomState(3),
        lambda: np.random.default_rng(3),
    ):
        assert Constraints.from_labels(y, 40, make()) == Constraints.from_labels(
            y, 40, make()
        )
    state = np.random.RandomState(3)
    assert Constraints.from_labels(y, 40, state) != Constraints.from_labels(
        y, 40, state
    )
    assert Constraints.from_labels(y, 40, 1) != Constraints.from_labels(y, 40, 2)


@pytest.mark.parametrize(
    "y",
    [
        [0, 0, -1, 1, 1],
        np.array([0.0, 0.0, -1.0, 2.0, 2.0]),
        ["a", "a", -1, "b", "b"],
        pd.Series(["a", "a", -1, "b", "b"]),
        pd.Series([5, 5, -1, 6, 6], index=list("vwxyz")),
    ],
)
def test_partial_labels(y):
    c = Constraints.from_partial_labels(y)
    assert c.must_link.tolist() == [[0, 1], [3, 4]]
    assert c.cannot_link.tolist() == [[0, 3], [0, 4], [1, 3], [1, 4]]
    assert c.n_objects == 5
    # nobody knows about object 2
    answered = Constraints.from_pairs([(1, 0), (2, 3), (3, 1)], y)
    assert answered == Constraints([(0, 1)], [(1, 3)], n_objects=5)


def test_invalid_labels():
    with pytest.raises(ValueError, match=r"y must"):
        Constraints.from_labels([[0], [1]], 1)
    for y in ([0.0, np.nan], np.array(["a", None], dtype=object)):
        with pytest.raises(ValueError, match="y must"):
            Constraints.from_labels(y, 1)
    with pytest.raises(ValueError, match="n_constraints must"):
        Constraints.from_labels([0, 1], -1)
    with pytest.raises(TypeError, match="n_constraints must"):
        Constraints.from_labels([0, 1], 0.5)
    with pytest.raises(ValueError, match=r"pairs must"):
        Constraints.from_pairs([(0, 2)], [0, 1])


# ---- closure and contradictions ------------------------------------------------------------------


@given(some_constraints())
@settings(deadline=None)
def test_closure_against_a_naive_computation(c):
    same, apart = naive_closure(c.must_link, c.cannot_link, 9)
    if (same & apart).any():
        with pytest.raises(ContradictionError):
            c.closure()
        return
    closed = c.closure()
    upper = np.triu(np.ones((9, 9), dtype=bool), 1)
    assert as_set(closed.must_link) == as_set(np.argwhere(same & upper))
    assert as_set(closed.cannot_link) == as_set(np.argwhere(apart & upper))
    assert closed.n_objects == 9
    assert closed.closure() == closed
    # the given ones first
    np.testing.assert_array_equal(closed.must_link[: len(c.must_link)], c.must_link)


@given(true_constraints())
@settings(deadline=None)
def test_closure_agrees_with_the_labels(labelled):
    y, c = labelled
    assert c.contradictions() == []
    closed = c.closure()
    assert closed == Constraints.from_pairs(
        np.concatenate([closed.must_link, closed.cannot_link]), y
    )


@given(some_constraints(), SEEDS)
@settings(deadline=None, max_examples=50)
def test_logic_does_not_depend_on_the_numbering(c, seed):
    to = np.random.default_rng(seed).permutation(9)
    moved = Constraints(to[c.must_link], to[c.cannot_link], n_objects=9)
    assert as_set(
        to[[x.cannot_link for x in c.contradictions()]] if c.contradictions() else []
    ) == as_set([x.cannot_link for x in moved.contradictions()])
    if not c.contradictions():
        closed = c.closure()
        assert moved.closure() == Constraints(
            to[closed.must_link], to[closed.cannot_link], n_objects=9
        )


@given(some_constraints())
@settings(deadline=None)
def test_contradictions_show_a_shortest_chain(c):
    same, _ = naive_closure(c.must_link, [], 9)
    broken = [(i, j) for i, j in c.cannot_link.tolist() if same[i, j]]
    found = c.contradictions()
    assert [x.cannot_link for x in found] == broken
    linked = np.eye(9, dtype=int)
    for i, j in c.must_link:
        linked[i, j] = linked[j, i] = 1
    for x in found:
        assert (x.chain[0], x.chain[-1]) == x.cannot_link
        assert all(linked[i, j] for i, j in itertools.pairwise(x.chain))
        steps = len(x.chain) - 1
        assert np.linalg.matrix_power(linked, steps)[x.cannot_link] > 0
        assert np.linalg.matrix_power(linked, steps - 1)[x.cannot_link] == 0


def test_message_of_contradictions():
    c = Constraints([(0, 3), (3, 5), (7, 8)], [(0, 5), (7, 8), (0, 7)])
    assert c.contradictions() == [
        Contradiction((0, 5), (0, 3, 5)),
        Contradiction((7, 8), (7, 8)),
    ]
    assert (
        repr(c.contradictions()[0])
        == "0 and 5 are in different clusters, but 0 - 3 - 5 are in the same cluster"
    )
    with pytest.raises(
        ValueError,
        match=r"0 and 5 are in different clusters, but 0 - 3 - 5 .*\(2 contradictions",
    ):
        c.closure()
    with pytest.raises(
        ContradictionError,
        match="1 and 2 are in different clusters, but 1 - 2 are in the same cluster$",
    ):
        Constraints([(1, 2)], [(2, 1)]).closure()


def test_closure_of_one_kind_alone():
    assert Constraints([(0, 1), (1, 2)]).closure() == Constraints(
        [(0, 1), (1, 2), (0, 2)]
    )
    assert Constraints(cannot_link=[(0, 1), (1, 2)]).closure() == Constraints(
        cannot_link=[(0, 1), (1, 2)]
    )


def test_long_chains():
    n = 2000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    closed = Constraints(chain, [(0, n)]).closure()
    assert len(closed.must_link) == n * (n - 1) // 2
    assert as_set(closed.cannot_link) == {frozenset((i, n)) for i in range(n)}
    assert Constraints(chain, [(n - 1, 0)]).contradictions()[0].chain == tuple(range(n))


# ---- violations ----------------------------------------------------------------------------------


def test_violations_of_hard_labels():
    y = np.array([0, 0, 1, 1, -1, -1])
    c = Constraints([(0, 1), (1, 2), (4, 5), (0, 4)], [(2, 3), (0, 3), (4, 5), (1, 4)])
    found = c.violations(y)
    # noise is with nobody, not even with noise
    assert found.must_link.tolist() == [[1, 2], [4, 5], [0, 4]]
    assert found.cannot_link.tolist() == [[2, 3]]
    assert len(found) == 4
    assert found.proportion == 0.5
    np.testing.assert_array_equal(found.degree[[0, 1, 4, 5]], [0, 1, 1, 0])
    table = found.to_frame()
    assert list(table.columns) == ["i", "j", "constraint", "violated", "degree"]
    assert table["constraint"].tolist() == ["must-link"] * 4 + ["cannot-link"] * 4
    assert table.loc[table["violated"], ["i", "j"]].to_numpy().tolist() == [
        [1, 2],
        [4, 5],
        [0, 4],
        [2, 3],
    ]
    assert "3 of 4 must-links, 1 of 4 cannot-links violated" in repr(found)


@given(some_constraints(), SEEDS)
@settings(deadline=None, max_examples=50)
def test_degrees_of_violation(c, seed):
    cp = random_partition(np.random.default_rng(seed), 9)
    found = c.violations(cp)
    sets = [set(np.flatnonzero(row)) for row in cp.focal_sets.membership]
    for (i, j), must, violated, degree in zip(
        found.pairs, found.is_must_link, found.violated, found.degree, strict=True
    ):
        contrary = 0.0
        for a, ma in zip(sets, cp.masses[i], strict=True):
            for b, mb in zip(sets, cp.masses[j], strict=True):
                if must:  # they may be apart unless both are the same single cluster
                    contrary += ma * mb * bool(a and b and not (a == b and len(a) == 1))
                else:
                    contrary += ma * mb * bool(a & b)
        assert degree == pytest.approx(contrary, abs=1e-12)
        if cp.contour[i].any() and cp.contour[j].any():
            assert violated == ((cp.labels[i] == cp.labels[j]) != must)


@given(true_constraints())
@settings(deadline=None, max_examples=30)
def test_labels_satisfy_their_constraints(labelled):
    y, c = labelled
    found = c.violations(y)
    assert len(found) == 0
    assert not found.degree.any()


def test_violations_need_enough_objects():
    with pytest.raises(ValueError, match="must_link must"):
        Constraints([(0, 5)]).violations([0, 1, 1])


# ---- expansion -----------------------------------------------------------------------------------


def naive_expansion(D, c, k):
    """Return the expansion by the published listing, on sets of unordered pairs."""
    n = len(D)

    def neighborhood(i):
        return {
            i,
            *sorted((j for j in range(n) if j != i), key=lambda j: (D[i, j], j))[:k],
        }

    grown = [as_set(c.must_link), as_set(c.cannot_link)]
    for kind, given_pairs in enumerate([c.must_link, c.cannot_link]):
        for i, j in given_pairs:
            left = neighborhood(i)
            right = neighborhood(j)
            candidates = [
                (D[i, r] + D[j, s], min(r, s), max(r, s))
                for r in left - right
                for s in right - left
                if frozenset((r, s)) not in grown[0] | grown[1]
            ]
            grown[kind] |= {
                frozenset((int(r), int(s))) for _, r, s in sorted(candidates)[:k]
            }
    return grown


@pytest.mark.parametrize("name", ["expandlink_bananas_k3", "expandlink_iris_k5"])
@pytest.mark.parametrize("metric", ["precomputed", "euclidean", "l2"])
def test_expansion_agrees_with_the_reference(reference, name, metric):
    case = reference(name)
    c = Constraints(case["ML"], case["CL"])
    if metric == "precomputed":
        data = cdist(case["x"], case["x"])
    else:
        data = case["x"]
    grown = c.expand(data, case.parameters["k"], metric=metric)
    case.assert_equal("ML_expanded", grown.must_link, where=np.s_[: len(case["ML"])])
    assert as_set(grown.must_link) == as_set(case["ML_expanded"])
    assert as_set(grown.cannot_link) == as_set(case["CL_expanded"])
    assert len(grown.must_link) == len(case["ML_expanded"])
    assert len(grown.cannot_link) == len(case["CL_expanded"])


@given(some_constraints(n=12), st.integers(1, 14), st.booleans(), SEEDS)
@settings(deadline=None, max_examples=60)
def test_expansion_is_the_published_listing(c, k, grid, seed):
    rng = np.random.default_rng(seed)
    # on a grid nearly all is tied
    if grid:
        X = rng.integers(0, 3, (12, 2)).astype(float)
    else:
        X = rng.normal(size=(12, 2))
    D = cdist(X, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        c = Constraints(c.must_link, c.cannot_link)
        grown = c.expand(D, k)
        in_space = c.expand(
            X, n_neighbors=k, metric="cityblock" if grid else "euclidean"
        )
    must, cannot = naive_expansion(D, c, k)
    assert as_set(grown.must_link) == must
    assert as_set(grown.cannot_link) == cannot
    assert grown.n_objects == 12
    assert len(c) <= len(grown) <= (k + 1) * len(c)
    added = (must | cannot) - as_set(c.must_link) - as_set(c.cannot_link)
    assert len(added) == len(grown) - len(c)  # nothing twice, nothing of both kinds
    np.testing.assert_array_equal(
        grown.cannot_link[: len(c.cannot_link)], c.cannot_link
    )
    if grid:
        must, cannot = naive_expansion(cdist(X, X, "cityblock"), c, k)
        assert as_set(in_space.must_link) == must
        assert as_set(in_space.cannot_link) == cannot
    else:
        assert in_space == grown


@given(true_constraints(), SEEDS)
@settings(deadline=None, max_examples=40)
def test_expansion_does_not_depend_on_the_numbering(labelled, seed):
    _, c = labelled
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    to = rng.permutation(9)
    moved = np.empty_like(X)
    moved[to] = X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grown = c.expand(cdist(X, X), 3)
        other = Constraints(to[c.must_link], to[c.cannot_link]).expand(
            cdist(moved, moved), 3
        )
    assert other == Constraints(to[grown.must_link], to[grown.cannot_link], n_objects=9)


def test_ties_are_broken_by_position():
    """There are more equally near objects than requested neighbors."""
    X = np.zeros((200, 3))
    X[100:] = 1
    grown = Constraints(cannot_link=[(150, 50)]).expand(
        X, n_neighbors=2, metric="euclidean"
    )
    assert grown.cannot_link.tolist() == [[50, 150], [0, 100], [0, 101]]
    assert grown == Constraints(cannot_link=[(150, 50)]).expand(
        cdist(X, X), n_neighbors=2
    )
    far = X + 1e7  # the same far from the origin, in many dimensions
    assert grown == Constraints(cannot_link=[(150, 50)]).expand(
        np.tile(far, 10), n_neighbors=2, metric="euclidean"
    )


def test_expansion_of_mutual_neighbors():
    X = np.array([[0.0], [1.0], [1.5], [9.0]])
    grown = Constraints([(0, 1)]).expand(X, n_neighbors=2, metric="euclidean")
    assert grown == Constraints([(0, 1)], n_objects=4)  # all neighbours are shared
    assert Constraints([(0, 1)]).expand(X, n_neighbors=0, metric="euclidean") == grown


def test_warning_if_expansion_contradicts():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    with pytest.warns(UserWarning, match=r"\(0, 2\)") as caught:
        grown = Constraints([(0, 2)], [(0, 3)]).expand(
            X, n_neighbors=1, metric="euclidean"
        )
    assert caught[0].filename == __file__
    assert grown == Constraints([(0, 2), (1, 2)], [(0, 3), (1, 3)], n_objects=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Constraints([(0, 2)], [(1, 3)]).expand(X, n_neighbors=1, metric="euclidean")


def test_expansion_of_tables_and_callables():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)))
    c = Constraints.from_labels(np.arange(30) % 2, 5, random_state=0)
    expected = c.expand(cdist(X, X, "cityblock"), n_neighbors=3)
    assert (
        c.expand(X, n_neighbors=3, metric=lambda a, b: np.abs(a - b).sum()) == expected
    )
    assert c.expand(pd.DataFrame(cdist(X, X, "cityblock")), 3) == expected
    assert c.expand(cdist(X, X, "cityblock").tolist(), 3) == expected


@pytest.mark.parametrize(
    ("D", "words"),
    [
        (np.zeros((4, 2)), r"D must be a square.*\(4, 2\)"),
        (np.arange(16.0).reshape(4, 4), r"D must"),
        (-np.ones((4, 4)), r"D must"),
        (np.full((4, 4), np.nan), "D must"),
        (np.zeros((3, 3)), "cannot_link must"),
    ],
)
def test_invalid_dissimilarities(D, words):
    with pytest.raises(ValueError, match=words):
        Constraints([(0, 1)], [(2, 3)]).expand(D)


def test_invalid_expansion_arguments():
    c = Constraints([(0, 1)])
    with pytest.raises(ValueError, match="n_neighbors must"):
        c.expand(np.zeros((3, 3)), -1)
    with pytest.raises(TypeError, match="n_neighbors must"):
        c.expand(np.zeros((3, 3)), 1.5)
    with pytest.raises(ValueError, match="NaN"):
        c.expand(np.full((3, 2), np.nan), metric="euclidean")


def test_expansion_needs_no_square_matrix():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    c = Constraints.from_labels(X[:, 0] > 0, 100, random_state=0)
    tracemalloc.start()
    grown = c.expand(X, metric="euclidean")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(grown) > 500
    assert peak < 100e6  # the matrix would have 3.2 GB


# ---- the next question ---------------------------------------------------------------------------


def open_questions(c, n):
    """Return pairs of must-linked groups whose relation is unknown."""
    same, apart = naive_closure(c.must_link, c.cannot_link, n)
    groups = np.unique(same, axis=0)
    related = groups.astype(int) @ apart.astype(int) @ groups.T
    return sum(not related[a, b] for a in range(len(groups)) for b in range(a))


@given(
    some_constraints(),
    st.sampled_from([FocalSets.simple, FocalSets.full]),
    st.integers(0, 40),
    SEEDS,
)
@settings(deadline=None, max_examples=80)
def test_suggestions_are_new(c, family, wanted, seed):
    """They are not known, implied, repeated or implied by each other, and complete on request."""
    cp = random_partition(np.random.default_rng(seed), 9, family=family)
    asked = suggest_pairs(cp, wanted, constraints=c)
    assert asked.dtype == np.int64
    same, apart = naive_closure(c.must_link, c.cannot_link, 9)
    assert not (same | apart)[tuple(asked.T)].any()
    groups = same.argmax(axis=1)
    assert len(as_set(groups[asked])) == len(asked) == min(wanted, open_questions(c, 9))
    # more only adds at the end
    np.testing.assert_array_equal(asked, suggest_pairs(cp, 100, constraints=c)[:wanted])
    seeded = suggest_pairs(cp, wanted, constraints=c, random_state=seed)
    np.testing.assert_array_equal(
        seeded, suggest_pairs(cp, wanted, constraints=c, random_state=seed)
    )
    assert len(seeded) == len(asked)


@given(SEEDS)
@settings(deadline=None, max_examples=30)
def test_suggestions_do_not_depend_on_the_numbering(seed):
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.ones(8), size=15)
    cp = CredalPartition(masses, FocalSets.full(3))
    to = rng.permutation(15)
    moved = np.empty_like(masses)
    moved[to] = masses
    c = Constraints([(0, 1)], [(2, 3), (1, 4)])
    asked = suggest_pairs(cp, 30, constraints=c)
    other = Constraints(to[c.must_link], to[c.cannot_link])
    np.testing.assert_array_equal(
        to[asked],
        suggest_pairs(CredalPartition(moved, FocalSets.full(3)), 30, constraints=other),
    )


@given(st.integers(2, 12), SEEDS)
@settings(deadline=None, max_examples=20)
def test_answers_to_all_questions_decide_every_pair(n, seed):
    """Questions are answered one at a time; at the end every pair is decided."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    cp = random_partition(rng, n)
    known = Constraints(n_objects=n)
    while len(asked := suggest_pairs(cp, 1, constraints=known)):
        known |= Constraints.from_pairs(asked, y)
    assert known.closure() == Constraints.from_partial_labels(y)
    assert len(known) <= 3 * n


def test_criterion_of_suggestions():
    """Test the rules of the docstring on four objects for which each rule matters."""
    family = FocalSets.full(3)

    def mass(**sets):
        row = np.zeros(len(family))
        for name, value in sets.items():
            row[family.index(tuple(int(k) for k in name[1:]))] = value
        return row

    cp = CredalPartition(
        [
            mass(s0=0.9, s01=0.1),  # nearly sure of cluster 0
            mass(s0=1.0),  # the representative of cluster 0
            mass(s1=1.0),  # of cluster 1
            mass(s2=1.0),  # of cluster 2
            mass(s01=0.6, s012=0.3, s1=0.1),  # torn, most plausible 1, then 0, then 2
            mass(s=0.9, s012=0.1),  # an outlier
        ],
        family,
    )
    pl = np.array([0.9, 1.0, 0.3]) / 2.2
    torn = 0.6 + 0.3 * np.log2(3)
    useful = {
        (4, 2): torn,
        (4, 1): torn * (1 - pl[1]),
        (5, 1): 0.1 * np.log2(3),
        (5, 2): 0.1 * np.log2(3) * 2 / 3,
    }
    useful[(0, 1)] = 0.1
    expected = sorted(useful, key=useful.get, reverse=True)
    assert suggest_pairs(cp, len(expected)).tolist() == [
        list(pair) for pair in expected
    ]
    # told that 4 is not with 2 (cluster 1), the most plausible one left is cluster 0
    assert suggest_pairs(
        cp, 1, constraints=Constraints(cannot_link=[(2, 4)])
    ).tolist() == [[4, 1]]
    # told that 4 is with 2, nothing more is asked about it before the others
    after = suggest_pairs(cp, 3, constraints=Constraints([(2, 4)]))
    assert [list(pair) for pair in expected if 4 not in pair] == after.tolist()


def test_suggestions_for_fuzzy_and_hard_partitions():
    fuzzy = CredalPartition.from_fuzzy(
        [[0.9, 0.1], [0.2, 0.8], [0.45, 0.55], [1, 0], [0, 1]]
    )
    assert suggest_pairs(fuzzy, 3).tolist() == [[2, 4], [1, 4], [0, 3]]
    labels = np.repeat([0, 1, 2], 10)
    everything = suggest_pairs(labels, 10_000)
    assert len(everything) == len(as_set(everything)) == 30 * 29 // 2
    assert suggest_pairs(labels, 3).tolist() == [[1, 0], [2, 0], [3, 0]]
    assert (
        suggest_pairs(labels, 8, random_state=0).tolist()
        != suggest_pairs(labels, 8, random_state=1).tolist()
    )


@pytest.mark.parametrize("labels", [[], [0], [0, 0], [-1, -1, 0]])
def test_few_objects(labels):
    n = len(labels)
    if n:
        cp = CredalPartition.from_hard(labels)
    else:
        cp = CredalPartition(np.empty((0, 4)), FocalSets.full(2))
    assert suggest_pairs(cp, 5).shape == (n * (n - 1) // 2, 2)
    assert suggest_pairs(cp, 0).shape == (0, 2)


def test_invalid_suggestion_arguments():
    with pytest.raises(ValueError, match="n must"):
        suggest_pairs([0, 1], -1)
    with pytest.raises(TypeError, match="n must"):
        suggest_pairs([0, 1], "all")
    with pytest.raises(ValueError, match="must_link must"):
        suggest_pairs([0, 1], 1, constraints=Constraints([(0, 5)]))
    with pytest.raises(TypeError, match="constraints must"):
        suggest_pairs([0, 1], 1, constraints=[(0, 1)])


def test_suggestions_for_many_objects_are_cheap():
    rng = np.random.default_rng(0)
    n = 100_000
    family = FocalSets.simple(5)
    cp = CredalPartition(rng.dirichlet(np.ones(len(family)), size=n), family)
    c = Constraints.from_labels(rng.integers(0, 5, n), 1000, random_state=0)
    tracemalloc.start()
    asked = suggest_pairs(cp, 500, constraints=c)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(asked) == 500
    # in proportion to the partition, where n x n would be 80 GB
    assert peak < 30 * cp.masses.nbytes


@pytest.mark.parametrize("focal_sets", ["simple", "pairs"])
def test_suggestions_find_the_errors_of_a_partition(focal_sets):
    """On overlapping clusters, suggested pairs involve misclassified objects, and answers contradict the partition,
    at least twice as often as for random pairs."""
    from scipy.optimize import linear_sum_assignment

    from dempster.cluster import ECM
    from dempster.datasets import make_fourclass

    touched = []
    contradicted = []
    for seed in range(4):
        X, y = make_fourclass(400, random_state=seed)
        cp = ECM(4, focal_sets=focal_sets, random_state=0).fit(X).credal_partition_
        table = pd.crosstab(y, cp.labels).to_numpy()
        best = linear_sum_assignment(-table)[1]
        wrong = cp.labels != best[np.unique(y, return_inverse=True)[1]]
        asked = suggest_pairs(cp, 40)
        answers = Constraints.from_pairs(asked, y)
        drawn = Constraints.from_labels(y, 40, random_state=seed)
        random_pairs = np.concatenate([drawn.must_link, drawn.cannot_link])
        touched.append(
            [wrong[pairs].any(axis=1).mean() for pairs in (asked, random_pairs)]
        )
        contradicted.append([c.violations(cp).proportion for c in (answers, drawn)])
    for suggested, at_random in (
        np.mean(touched, axis=0),
        np.mean(contradicted, axis=0),
    ):
        assert suggested > 2 * at_random > 0


# ---- for the optimisers --------------------------------------------------------------------------


@given(some_constraints())
@settings(deadline=None, max_examples=30)
def test_links_are_a_symmetric_adjacency(c):
    assume(all(len(contradiction.chain) > 2 for contradiction in c.contradictions()))
    indptr, indices, sign = links(c, 9)
    assert (indptr.dtype, indices.dtype, sign.dtype) == (np.int64, np.int32, np.float64)
    assert len(indptr) == 10
    assert indptr[-1] == len(indices) == len(sign) == 2 * len(c)
    dense = np.zeros((2, 9, 9))
    expected = np.zeros((2, 9, 9))
    rows = np.repeat(np.arange(9), np.diff(indptr))
    np.add.at(dense, ((1 - sign).astype(int) // 2, rows, indices), sign)
    for kind, (pairs, value) in enumerate([(c.must_link, 1), (c.cannot_link, -1)]):
        for i, j in pairs:
            expected[kind, i, j] = expected[kind, j, i] = value
    np.testing.assert_array_equal(dense, expected)
    assert all(
        (np.diff(indices[a:b]) >= 0).all() for a, b in itertools.pairwise(indptr)
    )


def test_links_enter_the_row_solver():
    """Without dissimilarities, the solver separates cannot-linked objects."""
    from dempster.optimize.row_fit import sweep_rows
    from dempster.partition.relational import pair_forms

    family = FocalSets.simple(2, empty=False, omega=False)
    same, different, unknown = pair_forms(family)[1:]
    form = 1 + (different + unknown) - (same + unknown)  # pl(different) + 1 - pl(same)
    masses = np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]])
    graph = links(Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)]), 3)
    nothing = np.zeros(4, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0)
    sweep_rows(
        masses,
        np.array([1, 2]),
        *nothing,
        np.empty((0, 1)),
        family.conflict[None].astype(float),
        False,
        *graph,
        form,
    )
    np.testing.assert_allclose(masses, [[1, 0], [1, 0], [0, 1]], atol=1e-9)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_expansion_by_dissimilarities_of_any_type(dtype):
    D = np.abs(np.subtract.outer([0, 1, 2, 9, 10], [0, 1, 2, 9, 10]))
    c = Constraints([(0, 1)], [(0, 4)])
    assert c.expand(D.astype(dtype), 1) == c.expand(D.astype(float), 1)
