"""Descents of EVCLUS, compared with loops, general solvers and the published program."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from dempster import CredalPartition, FocalSets
from dempster._native import kernel
from dempster.cluster.evclus._pairs import AllPairs, Links, SomePairs, link_form
from dempster.constraints import Constraints
from dempster.dissimilarity.transform import (
    decay,
    default_quantile,
    random_pairs,
    to_conflict,
)
from dempster.optimize.projection import (
    linear_image,
    project,
    projection_hessian,
    settle_links,
    terms_of_conflicts,
)
from dempster.optimize.row_fit import (
    descend_rows,
    descend_some_pairs,
    is_simple_family,
    no_links,
    sweep_rows,
)
from tests.strategies import families, random_masses

# Kernels that only tests call.
times_conflict = kernel(
    "product_with_conflict(conflict: float64[f, f], simple: bool, v: float64[f], out: float64[f] out)"
)
simple_conflict_gram = kernel(
    "gram_of_simple_family(G: float64[f, f], sums: float64[f, 2], own: float64[f] out, K: float64[f, f] out)"
)
sums_over_neighbors = kernel("""sums_over_neighbors(
    M: float64[n, f], neighbors: int32[k] below n, pairs: float64[k, 2], G: float64[f, f] out,
    sums: float64[f, 2] out)""")
overshoot = kernel("overshoot(old: float64[f], x: float64[f] out)")
extrapolate = kernel(
    "extrapolate(M: float64[n, f], before: float64[n, f], step: float, trial: float64[n, f] out)"
)

ALL_DISTANCES = [
    "kevclus_butterfly_full_alldist",
    "kevclus_protein_simple_alldist",
    "kcevclus_bananas_full_alldist",
]
SAMPLED = [
    "kevclus_fourclass_simple_k30",
    "kevclus_iris_full_k50",
    "kevclus_iris_givenpairs_k50",
    "kevclus_protein_pairs_k40",
    "kcevclus_bananas_full_k30",
    "kcevclus_iris_pairs_k25",
]


# ---- problems, and their values by loops ---------------------------------------------------------


class Problem:
    """Random problem with a start and a naive objective."""

    def __init__(self, seed, family, some, n_links=0, xi=0.5, n=14):
        rng = np.random.default_rng(seed)
        self.family = family
        self.n = n
        self.start = random_masses(rng, n, len(family))
        self.order = rng.permutation(n)
        points = rng.normal(size=(n, 2)) + 3 * rng.integers(0, 2, (n, 1))
        self.delta = to_conflict(
            np.linalg.norm(points[:, None] - points[None], axis=2), 3.0
        )
        self.weights = np.random.default_rng(seed).uniform(0.3, 3, n)
        self.weight = np.outer(self.weights, self.weights)
        np.fill_diagonal(self.weight, 0)
        self.problem = AllPairs(self.delta, self.weights)
        if some:
            pairs, count = random_pairs(n, 4, rng)
            self.weight = np.zeros((n, n))
            self.weight[pairs[:, 0], pairs[:, 1]] = self.weight[
                pairs[:, 1], pairs[:, 0]
            ] = count
            self.problem = SomePairs(
                n, pairs, count, self.delta[pairs[:, 0], pairs[:, 1]]
            )
        self.constraints = Constraints.from_labels(
            rng.integers(0, 2, n), n_links, random_state=rng
        )
        self.links = Links.from_constraints(self.constraints, n)
        self.xi = xi

    def descend(self, max_iter=60, tol=0.0, start=None, order=None):
        if start is None:
            start = self.start
        if order is None:
            order = self.order
        return self.problem.descend(
            start, self.family, order, max_iter, tol, self.links, self.xi
        )

    def value(self, masses):
        kappa = self.family.conflict
        Z = link_form(self.family)
        squares = total = penalty = 0.0
        for i in range(self.n):
            for j in range(i):
                squares += (
                    self.weight[i, j]
                    * (masses[i] @ kappa @ masses[j] - self.delta[i, j]) ** 2
                )
                total += self.weight[i, j] * self.delta[i, j] ** 2
        for i, j in self.constraints.must_link:
            penalty += masses[i] @ Z @ masses[j]
        for i, j in self.constraints.cannot_link:
            penalty += 2 - masses[i] @ Z @ masses[j]
        count = len(self.constraints.must_link) + len(self.constraints.cannot_link)
        return squares / total + (self.xi / (2 * count) * penalty if count else 0.0)


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    some = draw(st.booleans())
    return Problem(
        seed, draw(families(max_clusters=4)), some, draw(st.sampled_from([0, 1, 10]))
    )


@settings(deadline=None, max_examples=60)
@given(problems())
def test_descents_against_loops(p):
    masses, history, _ = p.descend()
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)
    assert masses.min() >= 0
    assert masses is not p.start
    np.testing.assert_allclose(history[-1], p.value(masses), rtol=1e-9, atol=1e-12)
    assert history[0] <= p.value(p.start) + 1e-12
    assert np.diff(history).max() <= 1e-12


@settings(deadline=None, max_examples=15)
@given(problems())
def test_no_row_can_improve_after_convergence(p):
    masses, history, converged = p.descend(max_iter=4000, tol=1e-13)
    assume(converged and history[-1] >= 1e-6)
    for i in range(p.n):
        improved, _, _ = p.descend(max_iter=1, start=masses, order=np.array([i]))
        assert p.value(improved) >= history[-1] * (1 - 1e-6)


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("n_links", [0, 12])
@pytest.mark.parametrize(
    "family", [FocalSets.simple(3), FocalSets.full(3), FocalSets.simple(4, empty=False)]
)
def test_one_row_against_a_general_solver(some, n_links, family):
    p = Problem(5, family, some, n_links)
    for i in (0, 7):
        masses, _, _ = p.descend(max_iter=1, order=np.array([i]))
        others = np.arange(p.n) != i
        np.testing.assert_array_equal(masses[others], p.start[others])

        def value(row, i=i):
            trial = p.start.copy()
            trial[i] = row
            return p.value(trial)

        general = minimize(
            value, p.start[i], method="SLSQP", bounds=[(0, 1)] * len(family), tol=1e-14,
            constraints={"type": "eq", "fun": lambda row: row.sum() - 1}, options={"maxiter": 500},
        )  # fmt: skip
        assert value(masses[i]) <= general.fun + 1e-9
        assert value(masses[i]) == pytest.approx(general.fun, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), families(max_clusters=4), st.booleans())
def test_all_pairs_equal_some_pairs(seed, family, with_links):
    """Both kernels give the same objective for every row."""
    p = Problem(seed, family, False, 6 * with_links)
    i, j = np.triu_indices(p.n, 1)
    complete = SomePairs(p.n, np.column_stack([i, j]), p.weight[i, j], p.delta[i, j])
    for row in range(p.n):  # After several rows, ties may lead to different minima.
        first, values, _ = p.descend(max_iter=1, order=np.array([row]))
        _, others, _ = complete.descend(
            p.start, family, np.array([row]), 1, 0.0, p.links, p.xi
        )
        np.testing.assert_allclose(values, others, rtol=1e-9, atol=1e-13)
    assert complete.squares(first, family) == pytest.approx(
        p.problem.squares(first, family), rel=1e-9
    )
    assert complete.total == pytest.approx(p.problem.total)


def test_some_pairs_equal_general_sweep():
    """Compare with `sweep_rows` for one form."""
    p = Problem(3, FocalSets.full(3), True, 8)
    masses, _, _ = p.descend(max_iter=1)
    weight = p.problem.total * p.xi / (2 * len(p.links))
    links = (
        p.links.indptr,
        p.links.indices,
        weight * p.links.signs,
        link_form(p.family),
    )
    general = p.start.copy()
    *adjacency, delta = p.problem.arrays
    sweep_rows(
        general,
        p.order,
        *adjacency,
        delta[:, None],
        p.family.conflict[None].copy(),
        False,
        *links,
    )
    np.testing.assert_allclose(general, masses, atol=1e-9)


# ---- the simple family ---------------------------------------------------------------------------


@pytest.mark.parametrize("c", [2, 3, 5, 12])
def test_simple_family(c):
    conflict = np.array(FocalSets.simple(c).conflict)
    f = len(conflict)
    rng = np.random.default_rng(c)
    assert is_simple_family(conflict)
    v = rng.normal(size=f)
    out = np.empty(f)
    for simple in (True, False):
        times_conflict(conflict, simple, v, out)
        np.testing.assert_allclose(out, conflict @ v, atol=1e-12)
    masses = random_masses(rng, 9, f)
    weights = rng.uniform(0.5, 2, size=9)
    G = (masses.T * weights) @ masses
    sums = np.column_stack([weights @ masses, np.zeros(f)])
    K = np.empty((f, f))
    simple_conflict_gram(G, sums, np.empty(f), K)
    np.testing.assert_allclose(K, conflict @ G @ conflict, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_sums_over_neighbors(seed, f):
    """Compare sums over packed masses with sums over dense masses."""
    rng = np.random.default_rng(seed)
    n = 8
    masses = random_masses(rng, n, f) * (rng.random((n, f)) < rng.random((n, 1)))
    masses[np.arange(n), rng.integers(f, size=n)] += 0.1
    masses /= masses.sum(axis=1, keepdims=True)
    neighbors = rng.integers(n, size=20).astype(np.int32)
    edges = rng.normal(size=(20, 2)) ** 2
    G = np.zeros((f, f))
    sums = np.zeros((f, 2))
    sums_over_neighbors(masses, neighbors, edges, G, sums)
    rows = masses[neighbors]
    np.testing.assert_allclose(G, (rows.T * edges[:, 0]) @ rows, atol=1e-12)
    np.testing.assert_allclose(sums, rows.T @ edges, atol=1e-12)


def test_is_simple_family():
    reordered = FocalSets.from_sets(3, [(0,), (), (1,), (2,), (0, 1, 2)])
    others = [
        FocalSets.simple(3, omega=False),
        FocalSets.simple(3, empty=False),
        FocalSets.pairs(3),
        reordered,
    ]
    assert not any(is_simple_family(np.array(family.conflict)) for family in others)
    assert not is_simple_family(np.array(FocalSets.simple(1).conflict))
    assert is_simple_family(np.array(FocalSets.full(2).conflict))


# ---- steps beyond the minimum --------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_overrelaxation_and_extrapolation(seed):
    rng = np.random.default_rng(seed)
    masses = random_masses(rng, 6, 5)
    before = random_masses(rng, 6, 5)
    trial = np.empty_like(masses)
    extrapolate(masses, before, float(rng.choice([1, 8, 64])), trial)
    np.testing.assert_allclose(trial.sum(axis=1), 1, atol=1e-12)
    assert trial.min() >= 0
    for old, minimum in zip(before, masses, strict=True):
        x = minimum.copy()
        overshoot(old, x)
        assert x.min() >= 0
        assert x.sum() == pytest.approx(1, abs=1e-12)
        # The step is 1 to 2 times the step to the minimum.
        step = minimum - old
        if step.any():
            along = (x - old) @ step / (step @ step)
        else:
            along = 1.0
        np.testing.assert_allclose(x, old + along * step, atol=1e-9)
        assert 1 - 1e-9 <= along < 2


def test_stopping_rule():
    p = Problem(1, FocalSets.full(2), False)
    _, history, converged = p.descend(max_iter=1000, tol=1e-5)
    assert converged
    # The smoothed change is at least half of the previous one.
    assert 17 <= len(history) < 200
    assert p.descend(max_iter=5, tol=1e-5)[2] is False
    perfect = AllPairs(np.ones((6, 6)) - np.eye(6))
    _, history, converged = perfect.descend(
        np.tile([0.5, 0.2, 0.3, 0.0], (6, 1)),
        FocalSets.full(2),
        np.arange(6),
        1000,
        1e-7,
        Links.from_constraints(None, 6),
        0.0,
    )
    assert converged
    assert history[-1] == pytest.approx(0, abs=1e-12)


# ---- links ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(families(max_clusters=4), st.integers(0, 2**32 - 1))
def test_link_form(family, seed):
    """m_i' Z m_j = pl(different) + 1 - pl(same)."""
    masses = random_masses(np.random.default_rng(seed), 2, len(family))
    _, same, different, unknown = (
        CredalPartition(masses, family).relational([(0, 1)]).masses[0]
    )
    expected = (different + unknown) + 1 - (same + unknown)
    assert masses[0] @ link_form(family) @ masses[1] == pytest.approx(
        expected, abs=1e-12
    )


def test_link_form_of_certain_objects():
    Z = link_form(FocalSets.full(2))
    certain = np.eye(4)
    assert certain[1] @ Z @ certain[1] == 0  # certainly together
    assert certain[1] @ Z @ certain[2] == 2  # certainly apart


def test_links_among():
    constraints = Constraints(
        must_link=[(0, 3), (3, 5), (2, 7)], cannot_link=[(5, 1), (3, 7)]
    )
    part = Links.from_constraints(constraints, 8).among(np.array([3, 5, 7]))
    assert (len(part), sorted(part.signs)) == (2, [-1, -1, 1, 1])
    expected = Links.from_constraints(
        Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)]), 3
    )
    for one, other in zip(
        (part.indptr, part.indices, part.signs),
        (expected.indptr, expected.indices, expected.signs),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


# ---- projection ----------------------------------------------------------------------------------


def inline(function, arguments):
    return [function(*each) for each in arguments]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_projection_equals_row_update(dtype):
    """The projection of an object is one row update."""
    family = FocalSets.pairs(3)
    p = Problem(2, family, False, n=40)
    masses, _, _ = p.descend(max_iter=50)
    others = np.arange(1, p.n)
    delta = p.delta[:1, others].astype(dtype)
    conflict = np.array(family.conflict)

    def terms(weights=None):
        image = linear_image(masses[others], conflict, weights)
        at_reference = np.array([4]), np.zeros(1)
        return terms_of_conflicts(lambda start, stop: (delta, *at_reference), image)

    weights = p.weights[others]
    found = project(
        terms(weights),
        1,
        masses[others],
        conflict,
        np.dtype(dtype),
        inline,
        weights,
    )
    improved, _, _ = p.descend(max_iter=1, start=masses, order=np.array([0]))
    assert found.dtype == dtype
    trial = masses.copy()
    trial[0] = found[0]
    assert p.value(trial) == pytest.approx(
        p.value(improved), rel=1e-9 if dtype == np.float64 else 1e-5
    )
    radii = np.ones(len(others))
    copied = project(
        terms(), 1, masses[others], conflict, np.dtype(dtype), inline, None, radii
    )
    # equal to reference 4
    np.testing.assert_array_equal(copied[0], masses[5].astype(dtype))


def test_settle_links():
    family = FocalSets.full(2)
    rng = np.random.default_rng(0)
    references = random_masses(rng, 20, 4)
    conflict = np.array(family.conflict)
    Z = link_form(family)
    H = projection_hessian(references, conflict)
    rows = np.array([1, 2, 4])
    linear = -2 * rng.random((3, 20)) @ references @ conflict
    masses = random_masses(rng, 6, 4)
    constraints = Constraints(must_link=[(1, 2)], cannot_link=[(2, 4), (0, 4)])
    links = Links.from_constraints(constraints, 6)

    def value(m):
        own = sum(0.5 * m[i] @ H @ m[i] + linear[k] @ m[i] for k, i in enumerate(rows))
        return own + 3 * (m[1] @ Z @ m[2] - m[2] @ Z @ m[4] - m[0] @ Z @ m[4])

    values = [value(masses)]
    settled = masses.copy()
    for _ in range(5):
        settle_links(
            H,
            linear,
            rows,
            settled,
            links.indptr,
            links.indices,
            3 * links.signs,
            Z,
            1,
            0.0,
        )
        values.append(value(settled))
    assert np.diff(values).max() <= 1e-10
    assert values[-1] < values[0]
    np.testing.assert_array_equal(settled[[0, 3, 5]], masses[[0, 3, 5]])
    np.testing.assert_allclose(settled.sum(axis=1), 1, atol=1e-12)


# ---- dissimilarities to conflicts ----------------------------------------------------------------


def test_conflict_of_a_dissimilarity():
    assert to_conflict(np.array([0.0, 3.0]), 3.0).tolist() == pytest.approx([0, 0.95])
    d = np.linspace(0, 10, 50)
    np.testing.assert_allclose(
        to_conflict(d, 2.5), 1 - np.exp(-decay(2.5) * d**2), atol=1e-15
    )
    assert np.all(np.diff(to_conflict(d, 2.5)) > -1e-16)
    for scale in (1e-70, 1e70):  # Units do not matter.
        np.testing.assert_allclose(
            to_conflict(scale * d, 2.5 * scale), to_conflict(d, 2.5), rtol=1e-12
        )


def test_default_quantiles():
    assert [default_quantile(c) for c in (1, 4, 5, 25)] == [0.8, 0.8, 0.5, 0.1]


# ---- the published program -----------------------------------------------------------------------


class Replay:
    """Reference case in the form of the published program: each row has its own pairs J(i)."""

    def __init__(self, case):
        self.case, self.n, self.k = case, *case["D"].shape
        self.family = FocalSets(case["F"])
        self.delta = to_conflict(case["D"], case.parameters["d0"])
        self.total = float(np.sum(self.delta**2))  # over ordered pairs
        if "ML" in case:
            constraints = Constraints(case["ML"], case["CL"])
        else:
            constraints = None
        self.links = Links.from_constraints(constraints, self.n)

    @property
    def xi(self):
        return self.case.parameters.get("xi", 0.0)

    def passes(self, count):
        masses = self.case["m0"].copy()
        family = self.family
        conflict = np.array(family.conflict)
        adjacency = (
            np.arange(0, self.n * self.k + 1, self.k),
            self.case["J"].ravel().astype(np.int32),
        )
        links = no_links(self.n, len(family))
        if len(self.links):
            weight = self.total * self.xi / len(self.links)
            links = (
                self.links.indptr,
                self.links.indices,
                weight * self.links.signs,
                link_form(family),
            )
        for _ in range(count):
            descend_rows(
                descend_some_pairs, masses, *adjacency, np.ones(self.n * self.k), self.delta.ravel(), conflict,
                is_simple_family(conflict), np.arange(self.n), 1, 0.0, 0.0, *links, max_iter=1,
            )  # fmt: skip
        return masses

    def problem(self):
        """Return our problem, with every pair in both rows."""
        pairs = np.sort(
            np.column_stack(
                [np.repeat(np.arange(self.n), self.k), self.case["J"].ravel()]
            ),
            axis=1,
        )
        pairs, first, count = np.unique(
            pairs, axis=0, return_index=True, return_counts=True
        )
        return SomePairs(self.n, pairs, count.astype(float), self.delta.ravel()[first])

    def penalty(self, masses):
        Z = link_form(self.family)
        together = sum(masses[i] @ Z @ masses[j] for i, j in self.case["ML"])
        return together, sum(2 - masses[i] @ Z @ masses[j] for i, j in self.case["CL"])

    def visible(self, masses):
        """Return C m, because several masses have the same conflicts if C is singular."""
        return masses @ self.family.conflict


@pytest.mark.parametrize("name", ALL_DISTANCES + SAMPLED)
def test_passes_of_published_program(reference, name):
    replay = Replay(case := reference(name))
    case.assert_equal("Dnorm", replay.delta)
    # The published program with constraints adds a ridge.
    if "ML" in case:
        atol = 1e-4
    else:
        atol = 1e-5
    np.testing.assert_allclose(
        replay.visible(replay.passes(1)), replay.visible(case["mass_pass1"]), atol=atol
    )
    if name == "kevclus_protein_pairs_k40":
        pytest.skip(
            "rounding errors grow by a factor of 100,000 in 14 passes of the published program"
        )
    end = replay.passes(len(case["crit_trace"]) - 1)
    np.testing.assert_allclose(
        replay.visible(end), replay.visible(case["mass"]), atol=3e-4
    )
    kappa = np.einsum("if,ijf->ij", replay.visible(end), end[case["J"]])
    case.assert_equal("Kmat", kappa, atol=5e-5 if "ML" in case else 1e-6)


@pytest.mark.parametrize(
    "name", [name for name in ALL_DISTANCES + SAMPLED if "givenpairs" not in name]
)
def test_published_objective(reference, name):
    replay = Replay(case := reference(name))
    problem = replay.problem()
    assert problem.total == pytest.approx(replay.total)
    stress = problem.squares(case["mass"], replay.family) / problem.total
    case.assert_equal("stress", stress, rtol=1e-9)
    if "ML" in case:
        together, apart = replay.penalty(case["mass"])
        case.assert_equal("ml_penalty", together, rtol=1e-9)
        case.assert_equal("cl_penalty", apart, rtol=1e-9)
        # convention="program" has four times the published weight
        objective = stress + 4 * replay.xi / (2 * len(replay.links)) * (
            together + apart
        )
        case.assert_equal("objective", objective, rtol=1e-9)


def test_published_loss(reference):
    """The program option norm = 2 divides by the number of pairs."""
    replay = Replay(case := reference("kevclus_iris_givenpairs_k50"))
    n_pairs = replay.n * replay.k
    case.assert_equal(
        "stress",
        replay.problem().squares(case["mass"], replay.family) / n_pairs,
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", ALL_DISTANCES)
def test_first_pass_over_all_pairs(reference, name):
    replay = Replay(case := reference(name))
    delta = np.zeros((replay.n, replay.n))
    delta[np.arange(replay.n)[:, None], case["J"]] = replay.delta
    masses, history, _ = AllPairs(delta).descend(
        case["m0"],
        replay.family,
        np.arange(replay.n),
        1,
        0.0,
        replay.links,
        4 * replay.xi,
    )
    case.assert_equal("mass_pass1", masses, atol=1e-4 if "ML" in case else None)
    assert history[0] <= case["crit_trace"][0]


@pytest.mark.parametrize("name", SAMPLED)
def test_symmetric_pairs_give_less_stress(reference, name):
    """The published program ignores pairs drawn by the other object.

    With them the stress is smaller.
    """
    replay = Replay(case := reference(name))
    problem = replay.problem()
    _, history, converged = problem.descend(
        case["m0"],
        replay.family,
        np.arange(replay.n),
        1000,
        1e-7,
        replay.links,
        4 * replay.xi,
    )
    assert converged
    assert np.diff(history).max() <= 1e-12
    theirs = problem.squares(case["mass"], replay.family) / problem.total
    if "ML" in case:
        theirs = float(case["objective"])
    assert history[-1] < theirs


# ---- many clusters -------------------------------------------------------------------------------


def many_clusters_problem():
    """Return the pairs of near and random objects in 120 clusters, and a start."""
    rng = np.random.default_rng(0)
    n = 960
    labels = np.repeat(np.arange(120), 8)
    points = (6 * rng.normal(size=(120, 4)))[labels] + rng.normal(size=(n, 4))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    is_pair = np.quantile(D, 0.03) > D
    is_pair |= rng.random((n, n)) < 0.02
    i, j = np.nonzero(np.triu(is_pair | is_pair.T, 1))
    problem = SomePairs(
        n, np.column_stack([i, j]), np.ones(len(i)), to_conflict(D[i, j], 6.0)
    )
    family = FocalSets.simple(120)
    masses = np.zeros((n, len(family)))
    masses[np.arange(n), labels + 1] = 0.9
    masses[:, -1] = 0.1
    return problem, family, masses, rng.permutation(n)


def test_rows_with_few_of_many_sets_are_fitted_as_well_as_with_all_sets():
    problem, family, start, order = many_clusters_problem()
    n = len(start)
    free = Links.from_constraints(None, n)
    masses, history, _ = problem.descend(start, family, order, 30, 0.0, free, 0.0)
    assert (np.diff(history) <= 1e-12).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1)
    # The changes of the rows add up to the objective of the masses.
    value = problem.squares(masses, family) / problem.total
    np.testing.assert_allclose(history[-1], value, rtol=1e-6)
    # Rows use all sets if there are links, even without weight.
    linked = Links.from_constraints(Constraints([(0, 1)]), n)
    _, expected, _ = problem.descend(start, family, order, 30, 0.0, linked, 0.0)
    assert history[-1] <= 1.1 * expected[-1]
