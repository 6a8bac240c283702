"""Quadratic programs on the simplex."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dempster._native import kernel
from dempster.optimize.simplex_qp import (
    simplex_qp,
    simplex_qp_batch,
    simplex_qp_workspace,
    solve_simplex_qp,
)

# CECM calls this function in C.
diagonal_simplex_qp = kernel("""diagonal_simplex_qp(
    h: float64[f], g: float64[f], x: float64[f] out, heap: int64[f] out)""")


def objective(H, g, x):
    return 0.5 * x @ H @ x + g @ x


def scale_of(H, g):
    return max(np.abs(H).max() + np.abs(g).max(), 1e-300)


def gap(H, g, x):
    """Return the Frank-Wolfe gap, an upper bound of objective(x) - minimum for convex problems."""
    gradient = H @ x + g
    return gradient @ x - gradient.min()


def assert_feasible(x, tolerance=1e-15):
    assert np.all(x >= 0)
    assert abs(x.sum() - 1) <= tolerance * max(1, np.sqrt(len(x)))


def solve(H, g, x0=None):
    """Call the kernel from a given initial point."""
    f = len(g)
    if x0 is None:
        x = np.zeros(f)
    else:
        x = np.array(x0, float)
    simplex_qp(
        np.ascontiguousarray(H),
        np.ascontiguousarray(g),
        x,
        10 * f + 10,
        *simplex_qp_workspace(f),
    )
    return x


def solve_batch(H, G, X0=None):
    if X0 is None:
        X = np.zeros_like(G)
    else:
        X = np.array(X0, G.dtype)
    assert simplex_qp_batch(H, G, X, 0, len(G)) == 0
    return X


def solve_diagonal(h, g):
    x = np.empty(len(h))
    diagonal_simplex_qp(np.array(h), np.array(g), x, np.empty(len(h), np.int64))
    return x


def random_start(rng, f):
    kind = rng.integers(4)
    if kind == 0:
        return np.zeros(f)
    if kind == 1:
        return rng.dirichlet(np.ones(f))
    if kind == 2:
        return np.eye(f)[rng.integers(f)]
    x = np.zeros(f)
    x[rng.choice(f, min(f, 3), replace=False)] = rng.dirichlet(np.ones(min(f, 3)))
    return x


FAMILIES = [
    "definite",
    "singular",
    "nonnegative",
    "columns_scaled",
    "rows_scaled",
    "repeated_columns",
    "binary",
    "attainable",
    "no_linear_term",
    "linear",
    "rank_one",
    "large_constant",
]


def random_problem(rng, family, f):
    rank = int(rng.integers(1, f + 1))
    A = rng.normal(size=(2 * f if family == "definite" else rank, f))
    g = rng.normal(size=f) * 10 ** rng.uniform(-4, 2)
    if family == "nonnegative":  # as in EVCLUS
        A = np.abs(A)
    elif family == "columns_scaled":
        A = A * 10 ** rng.uniform(-6, 6, size=f)
    elif family == "rows_scaled":
        A = A * 10 ** rng.uniform(-6, 6, size=(rank, 1))
    elif family == "repeated_columns":
        A = A[:, rng.integers(0, max(1, f // 2), f)]
    elif family == "binary":
        A = rng.integers(0, 2, size=(rank, f)).astype(float)
        g = np.round(g)
    elif family == "linear":
        A = A * 0
    elif family == "rank_one":
        A = A[:1]
    H = A.T @ A
    if family == "attainable":  # the gradient is zero at the minimum
        g = -H @ rng.dirichlet(np.full(f, 0.3))
    elif family == "no_linear_term":
        g = g * 0
    elif family == "large_constant":
        H = H + 100 * rng.normal() ** 2
    return 0.5 * (H + H.T), g


@pytest.mark.parametrize("family", FAMILIES)
def test_optimal_from_any_start(family):
    rng = np.random.default_rng(FAMILIES.index(family))
    for _ in range(400):
        f = int(rng.integers(2, 40))
        H, g = random_problem(rng, family, f)
        start = random_start(rng, f)
        x = solve(H, g, start)
        assert_feasible(x)
        scale = scale_of(H, g)
        assert gap(H, g, x) <= 1e-11 * scale
        if start.sum() > 0:
            assert objective(H, g, x) <= objective(H, g, start) + 1e-14 * scale


def project(v):
    """Project on the simplex."""
    u = np.sort(v)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0)


@pytest.mark.parametrize("f", [2, 4, 9, 17, 33])
def test_agrees_with_daqp(f):
    daqp = pytest.importorskip("daqp")
    rng = np.random.default_rng(f)
    upper = np.r_[np.full(f, 1e30), 1.0]
    lower = np.r_[np.zeros(f), 1.0]
    sense = np.r_[np.zeros(f), 5].astype(np.int32)  # bounds, then one equality
    for _ in range(500):
        H, g = random_problem(rng, "definite", f)
        x = solve(H, g, random_start(rng, f))
        z, _, flag, _ = daqp.solve(
            H, g, np.ones((1, f)), upper, lower, sense, primal_tol=1e-11
        )
        assert flag == 1
        difference = objective(H, g, x) - objective(H, g, project(z))
        assert abs(difference) <= 1e-8 * scale_of(H, g)
        assert difference <= 1e-14 * scale_of(H, g)  # Only daqp may be less exact.
        np.testing.assert_allclose(x, z, atol=1e-6)


def test_one_variable():
    three = np.array([[3.0]])
    assert solve_simplex_qp(three, np.array([5.0])).tolist() == [1.0]
    assert solve(np.zeros((1, 1)), np.zeros(1), [1.0]).tolist() == [1.0]
    assert solve_batch(three, np.array([[5.0], [-1.0]])).tolist() == [[1.0], [1.0]]
    assert solve_diagonal([0.0], [2.0]).tolist() == [1.0]


def test_zero_hessian_is_a_linear_program():
    g = np.array([2.0, -1.0, 0.5, 3.0])
    for start in [None, np.full(4, 0.25), np.eye(4)[3]]:
        assert solve(np.zeros((4, 4)), g, start).tolist() == [0, 1, 0, 0]


def test_constant_objective_keeps_start():
    start = np.array([0.125, 0.5, 0.25, 0.125])
    for constant in [0.0, 1.0, 3e7]:  # The objective is constant on the simplex.
        x = solve(np.full((4, 4), constant), np.full(4, 0.7), start)
        assert x.tolist() == start.tolist()


def test_invariant_to_constants():
    rng = np.random.default_rng(3)
    for _ in range(50):
        H, g = random_problem(rng, "definite", 8)
        np.testing.assert_allclose(solve(H + 10, g - 5), solve(H, g), atol=1e-11)


def test_identical_columns():
    rng = np.random.default_rng(4)
    A = np.repeat(rng.normal(size=(5, 4)), 3, axis=1)
    H = A.T @ A
    target = rng.dirichlet(np.ones(12))
    x = solve(H, -H @ target)
    np.testing.assert_allclose(A @ x, A @ target, atol=1e-10)


@pytest.mark.parametrize("f", [3, 17, 60])
def test_solution_as_start(f):
    rng = np.random.default_rng(f)
    for family in FAMILIES:
        for _ in range(10):
            H, g = random_problem(rng, family, f)
            x = solve(H, g, random_start(rng, f))
            again = solve(H, g, x)
            if family == "definite":
                assert again.tolist() == x.tolist()
            assert abs(objective(H, g, again) - objective(H, g, x)) <= 1e-11 * scale_of(
                H, g
            )


def test_warm_start():
    rng = np.random.default_rng(5)
    f = 17
    work, index = simplex_qp_workspace(f)
    for _ in range(100):
        H, g = random_problem(rng, "definite", f)
        x = solve(H, g)
        if (x > 0).sum() > 6 or x[x > 0].min() < 1e-3:
            continue
        start = np.where(x > 0, x * rng.uniform(0.9, 1.1, f), 0)
        assert simplex_qp(H, g, start, 100, work, index) == 1
        np.testing.assert_allclose(start, x, atol=1e-12)
        worst = np.eye(f)[np.argmax(0.5 * np.diag(H) + g)]
        np.testing.assert_allclose(solve(H, g, worst), x, atol=1e-10)


@pytest.mark.parametrize("factor", [1e-12, 1e12, 2.0**-200, 2.0**200])
def test_invariant_to_scale(factor):
    rng = np.random.default_rng(6)
    for family in ["definite", "singular", "binary", "linear", "rank_one"]:
        for _ in range(20):
            H, g = random_problem(rng, family, 9)
            x = solve(H * factor, g * factor)
            if np.log2(factor) == round(np.log2(factor)):
                assert x.tolist() == solve(H, g).tolist()
            assert gap(H, g, x) <= 1e-11 * scale_of(H, g)


def test_huge_inactive_variable():
    H = np.diag([1e12, 1.0, 2.0, 1e14])
    np.testing.assert_allclose(solve(H, np.zeros(4))[1:3], [2 / 3, 1 / 3], rtol=1e-9)


def test_zero_rows():
    """Rows of H can be zero in EVCLUS; small slopes along them must be followed."""
    rng = np.random.default_rng(17)
    for _ in range(300):
        f = int(rng.integers(3, 12))
        H, g = random_problem(rng, "attainable", f)
        H[:2] = H[:, :2] = 0
        g[:2] = 0
        g += 1e-9 * rng.normal(size=f)
        assert gap(H, g, solve(H, g, rng.dirichlet(np.ones(f)))) <= 1e-11 * scale_of(
            H, g
        )


def test_hessian_from_single_precision():
    """H is positive semidefinite only up to 1e-7."""
    rng = np.random.default_rng(18)
    for _ in range(300):
        f = int(rng.integers(3, 30))
        A = rng.normal(size=(f // 2, f)).astype(np.float32)
        H = (A.T @ A).astype(float)
        if rng.random() < 0.5:
            g = -H @ rng.dirichlet(np.full(f, 0.3))
        else:
            g = rng.normal(size=f)
        x = solve(H, g, random_start(rng, f))
        assert gap(H, g, x) <= 1e-5 * scale_of(H, g)


def test_indefinite_or_nan_input_is_feasible():
    rng = np.random.default_rng(9)
    for _ in range(300):
        A = rng.normal(size=(9, 9)) * 10 ** rng.uniform(-3, 3)
        H = A + A.T
        g = rng.normal(size=9)
        start = rng.dirichlet(np.ones(9))
        x = solve(H, g, start)
        assert_feasible(x)
        assert objective(H, g, x) <= objective(H, g, start) + 1e-12 * scale_of(H, g)
    assert_feasible(solve(np.full((4, 4), np.nan), np.full(4, np.nan)))


def test_max_iter():
    rng = np.random.default_rng(10)
    H, g = random_problem(rng, "attainable", 30)
    start = np.eye(30)[3]
    x = start.copy()
    assert simplex_qp(H, g, x, 3, *simplex_qp_workspace(30)) == 3
    assert_feasible(x)
    assert objective(H, g, x) <= objective(H, g, start)


def sparse_batch(rng, n, f):
    """Return a batch whose minimisers are known and have one to four nonzeros."""
    A = rng.normal(size=(2 * f, f))
    H = A.T @ A / (2 * f)
    X = np.zeros((n, f))
    for x in X:
        support = rng.choice(f, rng.integers(1, 5), replace=False)
        x[support] = rng.dirichlet(np.ones(len(support)))
    return H, -(X @ H) + (X == 0) * rng.exponential(0.3, size=(n, f)), X


@pytest.mark.parametrize("f", [5, 17, 60])
def test_batch(f):
    rng = np.random.default_rng(f)
    H, G, X = sparse_batch(rng, 500, f)
    for start in [None, X, rng.dirichlet(np.ones(f), size=500)]:
        np.testing.assert_allclose(solve_batch(H, G, start), X, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_batch_equals_scalar(family):
    rng = np.random.default_rng(11)
    f = 12
    H, _ = random_problem(rng, family, f)
    G = rng.normal(size=(200, f)) * np.abs(H).max()
    X = np.array([random_start(rng, f) for _ in G])
    expected = np.array([solve(H, g, x) for g, x in zip(G, X, strict=True)])
    assert simplex_qp_batch(H, G, X, 0, len(G)) == 0
    np.testing.assert_array_equal(X, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batch_is_independent_of_blocks(dtype):
    rng = np.random.default_rng(12)
    H, G, _ = sparse_batch(rng, 9000, 17)
    G = G.astype(dtype)
    one = solve_batch(H, G)
    X = np.zeros_like(G[:3000])
    for start, stop in [(2000, 3000), (0, 1), (1, 777), (777, 2000)]:
        simplex_qp_batch(H, G[:3000], X, start, stop)
    np.testing.assert_array_equal(X, one[:3000])
    shuffled = rng.permutation(3000)
    np.testing.assert_array_equal(solve_batch(H, G[shuffled]), one[shuffled])


def test_single_precision():
    rng = np.random.default_rng(13)
    H, G, X = sparse_batch(rng, 400, 17)
    found = solve_batch(H, G.astype(np.float32))
    np.testing.assert_allclose(found, X, atol=2e-5)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-6)
    again = solve_batch(H, G.astype(np.float32), found)
    np.testing.assert_allclose(again, found, atol=1e-6)


# Rounding gives ties and exact zeros.
bounded = st.floats(-4, 4).map(lambda v: round(v, 3))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_optimality_conditions(data):
    """Check the conditions of Karush, Kuhn and Tucker."""
    f = data.draw(st.integers(1, 7))
    A = data.draw(
        hnp.arrays(float, (data.draw(st.integers(1, 7)), f), elements=bounded)
    )
    g = data.draw(hnp.arrays(float, f, elements=bounded))
    start = data.draw(
        hnp.arrays(float, f, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    )
    H = A.T @ A
    x = solve(H, g, start)
    assert_feasible(x)
    gradient = H @ x + g
    multiplier = x @ gradient
    tolerance = 1e-11 * scale_of(H, g)
    assert np.all(gradient >= multiplier - tolerance)
    assert np.all(x * (gradient - multiplier) <= tolerance)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_diagonal_optimality_conditions(data):
    f = data.draw(st.integers(1, 9))
    h = data.draw(
        hnp.arrays(float, f, elements=st.sampled_from([0.0, 1e-12, 0.5, 1.0, 3.0, 1e6]))
    )
    g = data.draw(hnp.arrays(float, f, elements=bounded))
    x = solve_diagonal(h, g)
    assert_feasible(x)
    assert gap(np.diag(2 * h), g, x) <= 1e-14 * scale_of(2 * h, g)


def test_diagonal_special_cases():
    # Without a linear term the masses are inversely proportional to h.
    np.testing.assert_allclose(
        solve_diagonal([1.0, 2.0, 4.0], [0.3] * 3), np.array([4, 2, 1]) / 7, rtol=1e-15
    )
    # A zero h behaves as the limit of a small one, and ties go to the lowest index.
    assert solve_diagonal([0.0, 0.0, 1.0], [1.0, 1.0, 0.0]).tolist() == [0.5, 0.0, 0.5]
    np.testing.assert_allclose(
        solve_diagonal([1e-9, 1.0], [1.0, 0.0]), [0.5, 0.5], atol=1e-8
    )
    assert solve_diagonal([1.0, 0.0, 2.0], [0.0, -5.0, 1.0]).tolist() == [0, 1, 0]
    for factor in [2.0**-40, 2.0**40]:
        h = np.array([1.0, 2.0, 0.5, 3.0])
        g = np.array([0.2, -1.0, 0.4, 0.0])
        assert (
            solve_diagonal(h * factor, g * factor).tolist()
            == solve_diagonal(h, g).tolist()
        )
