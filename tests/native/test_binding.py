"""Calls of kernels: arguments must agree with the declaration, and errors name the argument."""

import numpy as np
import pytest

from dempster._native import kernel
from dempster._native.binding import Kernel
from dempster.cluster._neighbor_graph import agreement
from dempster.optimize.nearest import smallest_costs
from dempster.optimize.pair_quantiles import quantiles_within
from dempster.optimize.simplex_qp import (
    simplex_qp,
    simplex_qp_batch,
    simplex_qp_workspace,
)

overshoot = kernel("overshoot(old: float64[f], x: float64[f] out)")
conflicts = kernel("""conflicts_of_pairs(
    M: float64[n, f], conflict: float64[f, f], first: int64[p] below n, second: int64[p] below n,
    out: float64[p] out)""")
settle = kernel("""settle_links(
    H: float64[f, f], linear: float64[k, f], rows: int64[k] below n, M: float64[n, f] out,
    indptr: int64[n + 1] offsets in e, indices: int32[e] below n, coefficients: float64[e], form: float64[f, f],
    max_iter: int, tol: float)""")


def read_only(array):
    array.flags.writeable = False
    return array


def unaligned(shape):
    count = int(np.prod(shape))
    return np.zeros(8 * count + 1, np.uint8)[1:].view(np.float64).reshape(shape)


# ---- single arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "x", "error", "message"),
    [
        (
            np.zeros(3, np.float32),
            np.zeros(3),
            TypeError,
            "old must be an array of float64, got float32",
        ),
        (
            np.zeros(3),
            np.zeros(3, int),
            TypeError,
            "x must be an array of float64, got int",
        ),
        (
            np.zeros(3, ">f8"),
            np.zeros(3),
            TypeError,
            "old must be an array of float64, got >f8",
        ),
        ([0.0, 1.0], np.zeros(2), TypeError, "old must be a NumPy array, got list"),
        (None, np.zeros(2), TypeError, "old must be a NumPy array, got NoneType"),
        (
            np.zeros((3, 1)),
            np.zeros(3),
            ValueError,
            r"old must have shape \[f\] with .*, got \(3, 1\)",
        ),
        (
            np.zeros(()),
            np.zeros(3),
            ValueError,
            r"old must have shape \[f\] with .*, got \(\)",
        ),
        (
            np.zeros(3),
            np.zeros(4),
            ValueError,
            r"x must have shape \[f\] with .*f = 3, got \(4,\)",
        ),
        (np.zeros(6)[::2], np.zeros(3), ValueError, "old must be C-contiguous"),
        (np.zeros(3), np.zeros(6)[::-2], ValueError, "x must be C-contiguous"),
        (unaligned(3), np.zeros(3), ValueError, "old must be aligned"),
        (np.zeros(3), read_only(np.zeros(3)), ValueError, "x must be writable"),
    ],
)
def test_invalid_arrays(old, x, error, message):
    with pytest.raises(error, match=message):
        overshoot(old, x)


def test_read_only_inputs():
    old = read_only(np.array([0.5, 0.5]))
    x = np.array([0.75, 0.25])
    overshoot(old, x)
    np.testing.assert_allclose(x, [0.9375, 0.0625])


def test_memory_order():
    M = np.asfortranarray(np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match="M must be C-contiguous"):
        conflicts(M, np.eye(2), np.zeros(1, int), np.zeros(1, int), np.zeros(1))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (2.0, TypeError, "max_iter must be an integer, got 2.0"),
        ("3", TypeError, "max_iter must be an integer"),
        (2**63, ValueError, "max_iter must fit in 64 bits"),
    ],
)
def test_integers(value, error, message):
    with pytest.raises(error, match=message):
        simplex_qp(np.eye(2), np.zeros(2), np.zeros(2), value, *simplex_qp_workspace(2))


def test_types_of_integers():
    assert (
        simplex_qp(
            np.eye(2), np.zeros(2), np.zeros(2), np.int32(30), *simplex_qp_workspace(2)
        )
        > 0
    )


def test_numbers():
    extrapolate = kernel(
        "extrapolate(M: float64[n, f], before: float64[n, f], step: float, trial: float64[n, f] out)"
    )
    M = np.array([[0.5, 0.5]])
    trial = np.empty((1, 2))
    for step in (1, np.float32(1), np.array(1.0)):
        extrapolate(M, np.array([[0.75, 0.25]]), step, trial)
        np.testing.assert_allclose(trial, [[0.25, 0.75]])
    with pytest.raises(TypeError, match=r"\bstep\b"):
        extrapolate(M, M, "far", trial)


def test_truth_values():
    product = kernel(
        "product_with_conflict(conflict: float64[f, f], simple: bool, v: float64[f], out: float64[f] out)"
    )
    out = np.empty(2)
    product(np.eye(2), np.False_, np.array([1.0, 2.0]), out)
    np.testing.assert_array_equal(out, [1, 2])
    with pytest.raises(TypeError, match=r"\bsimple\b"):
        product(np.eye(2), 1, np.zeros(2), out)


# ---- indices -------------------------------------------------------------------------------------


def settled(**changed):
    """Return arguments of `settle_links` for four rows, two of them linked, with changes."""
    arguments = {
        "H": np.eye(2),
        "linear": np.zeros((1, 2)),
        "rows": np.array([1]),
        "M": np.full((4, 2), 0.5),
        "indptr": np.array([0, 0, 1, 2, 2]),
        "indices": np.array([2, 1], np.int32),
        "coefficients": np.ones(2),
        "form": np.eye(2),
        "max_iter": 1,
        "tol": 0.0,
    }
    return settle(*(arguments | changed).values())


def test_compressed_rows():
    M = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0], [0.5, 0.5]])
    settled(M=M)
    np.testing.assert_allclose(M[1], [0, 1])  # away from what it is linked to


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rows": np.array([4])}, "rows must be at least 0 and below n = 4, got 4"),
        ({"rows": np.array([-1])}, "rows must be at least 0 and below n = 4, got -1"),
        (
            {"indices": np.array([2, 7], np.int32)},
            "indices must be at least 0 and below n = 4, got 7",
        ),
        (
            {"indices": np.array([-3, 1], np.int32)},
            "indices must be at least 0 and below n = 4, got -3",
        ),
        ({"indptr": np.array([0, 2, 1, 2, 2])}, "indptr must rise from 0 to at most 2"),
        ({"indptr": np.array([0, 0, 1, 2, 3])}, "indptr must rise from 0 to at most 2"),
        (
            {"indptr": np.array([-1, 0, 1, 2, 2])},
            "indptr must rise from 0 to at most 2",
        ),
        (
            {"indptr": np.array([0, 0, 1, 2])},
            r"indptr must have shape \[n \+ 1\] with .*n = 4.*, got \(4,\)",
        ),
        (
            {"coefficients": np.ones(3)},
            r"coefficients must have shape \[e\] with .*e = 2.*, got \(3,\)",
        ),
    ],
)
def test_indices_out_of_range(changed, message):
    with pytest.raises(ValueError, match=message):
        settled(**changed)


def test_indices_in_read_only_memory():
    with pytest.raises(ValueError, match=r"\bfirst\b"):
        conflicts(
            np.ones((1, 1)),
            np.ones((1, 1)),
            read_only(np.array([5])),
            np.array([0]),
            np.zeros(1),
        )


def test_indices_of_an_empty_array():
    nothing = np.empty(0, np.int64)
    conflicts(np.empty((0, 3)), np.eye(3), nothing, nothing, np.empty(0))
    with pytest.raises(ValueError, match=r"\bfirst\b"):
        conflicts(
            np.empty((0, 3)), np.eye(3), np.array([0]), np.array([0]), np.empty(1)
        )


# ---- indices of 32 bits, NumPy's default integers on some platforms -------------------------------


def test_short_indices_are_converted():
    long = np.full((4, 2), 0.5)
    settled(M=long, coefficients=np.array([0.5, 1.0]))
    short = np.full((4, 2), 0.5)
    for _ in range(2):  # A second call of the same types could skip the conversion.
        short[:] = 0.5
        settled(
            M=short,
            coefficients=np.array([0.5, 1.0]),
            rows=np.array([1], np.int32),
            indptr=np.array([0, 0, 1, 2, 2], np.int32),
        )
        np.testing.assert_array_equal(short, long)
    with pytest.raises(ValueError, match="rows must be .* below n = 4, got 4"):
        settled(rows=np.array([4], np.int32))
    with pytest.raises(TypeError, match="rows must be an array of int64, got int16"):
        settled(rows=np.array([1], np.int16))


def test_short_and_long_indices_of_one_type():
    labels = np.zeros(2, np.int32)
    for indptr in (np.int32, np.int64):
        for indices in (np.int32, np.int64):
            edges = np.array([0, 1, 2], indptr), np.array([1, 0], indices)
            assert agreement(*edges, np.array([1.0, 3.0]), labels) == 2


def test_results_are_not_converted():
    with pytest.raises(TypeError, match="columns must be an array of int64, got int32"):
        smallest_costs(np.ones((2, 3)), np.zeros((2, 1), np.int32))


@pytest.mark.parametrize(
    ("start", "stop", "message"),
    [(0, 4, "stop must be at least 0 and at most n = 3, got 4"), (2, 1, "start must be .* at most stop = 1, got 2"),
     (-1, 2, "start must be at least 0")],
)  # fmt: skip
def test_ranges_of_rows(start, stop, message):
    with pytest.raises(ValueError, match=message):
        simplex_qp_batch(np.eye(2), np.zeros((3, 2)), np.zeros((3, 2)), start, stop)


# ---- types that vary, results, memory ------------------------------------------------------------


@pytest.mark.parametrize("linear", [np.float32, np.float64])
@pytest.mark.parametrize("point", [np.float32, np.float64])
def test_function_of_each_pair_of_types(linear, point):
    X = np.zeros((2, 2), point)
    assert (
        simplex_qp_batch(np.eye(2), np.array([[0.0, 0.5], [2.0, 0.0]], linear), X, 0, 2)
        == 0
    )
    np.testing.assert_array_equal(X, [[0.75, 0.25], [0, 1]])


def test_unsupported_types():
    with pytest.raises(
        TypeError, match="G must be an array of float32 or float64, got int"
    ):
        simplex_qp_batch(np.eye(2), np.zeros((2, 2), int), np.zeros((2, 2)), 0, 2)
    lower = np.zeros((2, 2), np.float32)
    upper = np.zeros((2, 2))
    with pytest.raises(TypeError, match=r"\bupper\b"):
        quantiles_within(np.ones((2, 1, 5), np.float32), 0, 0.0, lower, upper, 0, 2)


def test_unpickled_arrays():
    import pickle

    x = pickle.loads(pickle.dumps(np.array([0.75, 0.25])))
    overshoot(pickle.loads(pickle.dumps(np.array([0.5, 0.5]))), x)
    np.testing.assert_allclose(x, [0.9375, 0.0625])


def test_optional_arguments():
    optional = kernel("overshoot(old: float64[f] or None, x: float64[f] out)")
    optional(None, np.empty(0))  # no element: the null pointer is not followed
    old = np.array([0.5, 0.5])
    x = np.array([0.75, 0.25])
    optional(old, x)
    np.testing.assert_allclose(x, [0.9375, 0.0625])
    with pytest.raises(ValueError, match=r"\bx\b"):
        optional(np.zeros(3), x)


@pytest.mark.skipif(np.iinfo(np.intp).bits < 64, reason="no array is so large")
def test_failed_allocation():
    # nothing, but a pair of it would need a petabyte
    values = np.empty((0, 1, 2**50), np.float32)
    with pytest.raises(MemoryError, match="quantiles_within"):
        quantiles_within(values, 0, 0.0, np.empty((0, 0)), np.empty((0, 0)), 0, 0)


def test_number_of_arguments():
    with pytest.raises(TypeError, match="overshoot"):
        overshoot(np.zeros(2))


def test_checked_and_repeated_calls_agree():
    """A call with a known signature skips checks, but gives the same result."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    H = A.T @ A
    g = rng.normal(size=5)
    solve = kernel("""simplex_qp(
        H: float64[f, f], g: float64[f], x: float64[f] out, max_iter: int,
        work: float64[f + 8, f] out, index: int64[2, f] out) -> int""")
    x = np.zeros(5)
    y = np.zeros(5)
    arguments = 60, *simplex_qp_workspace(5)
    assert solve(H, g, x, *arguments) == solve(H, g, y, *arguments)
    np.testing.assert_array_equal(x, y)


# ---- declarations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        "overshoot",
        "overshoot(old)",
        "overshoot(old: float64[f]",
        "overshoot(old: real64[f])",
        "overshoot(old: float64[f - 1])",
        "overshoot(old: int64[f] below g)",
        "overshoot(old: float64) -> float64",
    ],
)
def test_invalid_declarations(wrong):
    with pytest.raises((SyntaxError, KeyError, TypeError)):
        Kernel(wrong)


def test_missing_kernel():
    with pytest.raises(ImportError, match="lack no_such_kernel: run `make kernels`"):
        kernel("no_such_kernel(x: float64[n])")


def test_repr_shows_the_declaration():
    assert repr(overshoot) == "<kernel overshoot(old: float64[f], x: float64[f] out)>"


def test_byte_order():
    """The first array selects the function, so its type must be native."""
    nearest = kernel("gower_like(X: real[n, d], out: float64[n] out)")
    with pytest.raises(TypeError, match=r"\bX\b"):
        nearest(np.zeros((3, 2), ">f8"), np.zeros(3))
