"""Kernels of the methods with prototypes, compared with loops."""

import numpy as np
import pytest

from dempster.cluster.catecm import _category_masses, _category_sums
from dempster.cluster.cecm import _link_terms, _sweep_links
from dempster.cluster.ecm import _prototype_masses, _prototype_sums, _squared_distances
from dempster.optimize.simplex_qp import solve_simplex_qp

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-11}


def write_masses(X, start, stop, *arguments):
    *others, out = arguments
    _prototype_masses(X[start:stop], *others, out[start:stop])


def accumulate(X, weights, start, stop, barycentres, metrics, *step):
    p, g = barycentres.shape
    total = np.empty(g)
    first = np.empty((p, g))
    second = np.empty((0, 0, g) if metrics is None else (p, p, g))
    objective = _prototype_sums(
        X[start:stop],
        weights[start:stop] if len(weights) else None,
        barycentres,
        metrics,
        *step,
        total,
        first,
        None if metrics is None else second,
    )
    return objective, total, first, second


def problem(seed, n, p, g, *, adaptive, dtype, scale=1.0):
    """Return objects, barycenters, metrics, and the arguments of a mass step with all kinds of sets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    barycentres = rng.normal(size=(p, g))
    A = rng.normal(size=(g, p, p))
    if adaptive:
        metrics = (
            np.moveaxis(A @ np.transpose(A, (0, 2, 1)), 0, 2) + np.eye(p)[:, :, None]
        )
    else:
        metrics = None
    size = rng.integers(1, 4, g)
    arrays = [
        None if a is None else np.ascontiguousarray(a, dtype=dtype)
        for a in (scale * X, scale * barycentres)
    ]
    if metrics is None:
        metrics = None
    else:
        metrics = np.ascontiguousarray(metrics, dtype=dtype)
    return *arrays, metrics, (size**1.5).astype(dtype), size


def naive_distances(X, barycentres, metrics):
    gap = X[:, :, None].astype(float) - barycentres
    if metrics is None:
        return (gap**2).sum(axis=1)
    return np.einsum("ndj,dej,nej->nj", gap, metrics.astype(float), gap)


def naive_masses(costs, factor, size, delta2, beta, zero):
    """Return masses of shape (n, g + 1), the empty set last, and minima of shape (n,)."""
    masses = np.zeros((len(costs), costs.shape[1] + 1))
    for row, out in zip(costs, masses, strict=True):
        if (row <= zero).any():
            chosen = np.flatnonzero((row <= zero) & (size == size[row <= zero].min()))
            out[chosen] = 1 / len(chosen)
        else:
            share = np.append(factor * row, delta2)
            share = (share.min() / share) ** (1 / (beta - 1))
            out[:] = share / share.sum()
    weighted = np.column_stack([factor * costs, np.full(len(costs), delta2)])
    return masses, np.sum(np.where(masses > 0, weighted, 0) * masses**beta, axis=1)


# objects, attributes, sets
CASES = [(1, 1, 1), (15, 2, 3), (16, 2, 7), (33, 3, 8), (50, 9, 5), (40, 17, 21)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("n", "p", "g"), CASES)
def test_squared_distances(n, p, g, adaptive, dtype):
    X, barycentres, metrics, *_ = problem(n, n, p, g, adaptive=adaptive, dtype=dtype)
    found = np.empty((len(X), barycentres.shape[1]), X.dtype)
    _squared_distances(X, barycentres, metrics, found)
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, naive_distances(X, barycentres, metrics), rtol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("beta", [1.5, 1.8, 2.0])
@pytest.mark.parametrize(("n", "p", "g"), CASES)
def test_masses_and_sums(n, p, g, beta, adaptive, dtype):
    X, barycentres, metrics, factor, size = problem(
        n, n, p, g, adaptive=adaptive, dtype=dtype
    )
    rtol = TOLERANCE[dtype]
    weights = np.random.default_rng(n).integers(0, 3, n).astype(float)
    X[0] = barycentres[:, 0]  # on a prototype
    for delta2 in (3.0, np.inf):
        step = factor, size, delta2, beta, 1e-9
        start = n // 4
        stop = n
        masses, minima = naive_masses(naive_distances(X, barycentres, metrics), *step)
        out = np.zeros((n, g + 2), dtype)
        columns = np.arange(g, 0, -1)
        write_masses(X, start, stop, barycentres, metrics, *step, columns, 0, out)
        np.testing.assert_allclose(
            out[start:, columns], masses[start:, :-1], rtol=rtol, atol=1e-7
        )
        np.testing.assert_allclose(
            out[start:, 0], masses[start:, -1], rtol=rtol, atol=1e-7
        )
        assert not out[:start].any()
        assert not out[:, -1].any()
        for given, w in ((weights, weights), (np.empty(0), np.ones(n))):
            sums = accumulate(X, given, start, stop, barycentres, metrics, *step)
            power = (w[:, None] * masses[:, :-1] ** beta)[start:]
            some = X[start:].astype(float)
            assert sums[0] == pytest.approx(w[start:] @ minima[start:], rel=rtol)
            scale = power.sum() + 1e-9
            np.testing.assert_allclose(
                sums[1], power.sum(axis=0), rtol=rtol, atol=rtol * scale
            )
            np.testing.assert_allclose(
                sums[2], some.T @ power, rtol=rtol, atol=9 * rtol * scale
            )
            second = (
                np.einsum("nd,ne,nj->dej", some, some, power) * np.tri(p)[:, :, None]
            )
            if adaptive:
                wanted = second
            else:
                wanted = np.empty((0, 0, g))
            np.testing.assert_allclose(
                sums[3], wanted, rtol=rtol, atol=30 * rtol * scale
            )


@pytest.mark.parametrize("scale", [1e-18, 1e-15, 1e15, 1e17])
def test_single_precision_far_from_one(scale):
    """Squares near the limits of float32: masses do not depend on the unit."""
    X, barycentres, _, factor, size = problem(
        0, 20, 3, 6, adaptive=False, dtype=np.float32
    )
    wanted, found = np.zeros((2, 20, 7), np.float32)
    write_masses(
        X,
        0,
        20,
        barycentres,
        None,
        factor,
        size,
        3.0,
        2.0,
        0.0,
        np.arange(1, 7),
        0,
        wanted,
    )
    X, barycentres, *_ = problem(
        0, 20, 3, 6, adaptive=False, dtype=np.float32, scale=scale
    )
    step = factor, size, 3.0 * scale**2, 2.0, 0.0
    write_masses(X, 0, 20, barycentres, None, *step, np.arange(1, 7), 0, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    total = accumulate(X, np.empty(0), 0, 20, barycentres, None, *step)[1]
    np.testing.assert_allclose(
        total, (wanted[:, 1:].astype(float) ** 2).sum(axis=0), rtol=1e-4
    )


def test_number_of_columns_of_the_family():
    X, barycentres, _, factor, size = problem(
        0, 4, 2, 3, adaptive=False, dtype=np.float64
    )
    for columns, empty, message in (
        ([1, 2, 4], 0, "columns must"),
        ([1, 2, 3], 4, "empty_column"),
    ):
        with pytest.raises(ValueError, match=message):
            write_masses(
                X,
                0,
                4,
                barycentres,
                None,
                factor,
                size,
                1.0,
                2.0,
                0.0,
                np.array(columns),
                empty,
                np.zeros((4, 4)),
            )


# ---- categories ----------------------------------------------------------------------------------


def naive_mismatches(codes, table):
    """Return the mismatches; a negative category differs from all categories."""
    return np.stack(
        [np.where(row[:, None] < 0, 1.0, table[row]).sum(axis=0) for row in codes]
    )


@pytest.mark.parametrize("beta", [1.5, 1.8, 2.0])
def test_categories_against_naive_loops(beta):
    rng = np.random.default_rng(3)
    codes = (rng.integers(0, 3, (30, 4)) + 3 * np.arange(4)).astype(np.int64)
    table = rng.random((12, 6))
    share = rng.random((6, 3))
    size = np.array([1, 1, 1, 2, 2, 3])
    table[codes[0], 0] = 0  # the first object is on a prototype
    weights = rng.integers(0, 3, 30).astype(float)
    step = size**1.2, size, 2.0, beta, 1e-9
    masses, minima = naive_masses(naive_mismatches(codes, table), *step)
    counts = np.empty((12, 3))
    objective = _category_sums(codes[:25], weights[:25], table, share, *step, counts)
    pull = (weights[:, None] * masses[:, :-1] ** beta) @ share
    wanted = np.zeros((12, 3))
    np.add.at(wanted, codes[:25], pull[:25, None, :])
    np.testing.assert_allclose(counts, wanted, rtol=1e-12)
    assert objective == pytest.approx(weights[:25] @ minima[:25], rel=1e-12)
    codes[5, 2] = codes[7, 0] = -1
    masses, _ = naive_masses(naive_mismatches(codes, table), *step)
    out = np.zeros((30, 7))
    _category_masses(codes[2:], table, *step, np.arange(1, 7), 0, out[2:])
    np.testing.assert_allclose(
        out[2:], np.column_stack([masses[:, -1], masses[:, :-1]])[2:], rtol=1e-12
    )
    with pytest.raises(ValueError, match="codes must"):
        _category_sums(codes, weights, table, share, *step, counts)
    codes[5, 2] = 12
    with pytest.raises(ValueError, match="codes must"):
        _category_masses(codes, table, *step, np.arange(1, 7), 0, out)


# ---- links ---------------------------------------------------------------------------------------


def linked(seed, n=12, f=5):
    """Return masses of objects, some of them linked, with random costs."""
    rng = np.random.default_rng(seed)
    sign = np.triu(rng.choice([-1.0, 0.0, 0.0, 1.0], (n, n)), 1)
    sign += sign.T
    graph = (
        np.concatenate([[0], np.cumsum((sign != 0).sum(axis=1))]),
        np.nonzero(sign)[1].copy(),
        sign[sign != 0],
    )
    must, cannot = rng.random((2, f, f))
    costs = rng.random((n, f))
    penalty = 0.1 * rng.random((n, f))
    costs[0, 2] = 0  # linear in this mass
    masses = rng.dirichlet(np.ones(f), n)
    masses[3] = np.eye(f)[1]
    return sign, graph, must + must.T, cannot + cannot.T, costs, penalty, masses


def gradient(sign, must, cannot, masses, i):
    return (sign[i] > 0) @ masses @ must + (sign[i] < 0) @ masses @ cannot


@pytest.mark.parametrize("seed", range(4))
def test_links_against_naive_loops(seed):
    sign, graph, must, cannot, costs, penalty, masses = linked(seed)
    wanted = masses.copy()
    found = masses.copy()
    done = 0
    for _ in range(10):
        before = wanted.copy()
        for i in range(len(wanted)):
            linear = gradient(sign, must, cannot, wanted, i) + penalty[i]
            wanted[i] = solve_simplex_qp(np.diag(2 * costs[i]), linear)
        done += 1
        if np.abs(wanted - before).max() <= 1e-6:
            break
    assert _sweep_links(costs, penalty, *graph, must, cannot, found, 10, 1e-6) == done
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    pairs = sum(
        masses[i] @ gradient(sign, must, cannot, masses, i) / 2
        for i in range(len(masses))
    )
    value = _link_terms(masses, penalty, *graph, must, cannot)
    assert value == pytest.approx(pairs + np.sum(masses * penalty), rel=1e-12)


def test_links_out_of_range():
    _, (indptr, indices, sign), must, cannot, costs, penalty, masses = linked(0)
    indices[3] = len(masses)
    with pytest.raises(ValueError, match="indices must"):
        _sweep_links(
            costs, penalty, indptr, indices, sign, must, cannot, masses, 1, 0.0
        )
