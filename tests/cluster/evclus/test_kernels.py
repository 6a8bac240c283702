"""How near objects are to clusters, beside the same sums written naively."""

import numpy as np
import pytest

from evidentia.cluster.evclus._affinity import affinity, reach

TYPES = [(np.float64, 1e-12), (np.float32, 1e-5)]


def naive_weights(weights, own, unit):
    left = weights.astype(float)
    if own >= 0:
        left[own] = max(left[own] - unit, 0.0)
    return left


def naive_reach(d, weights, own, unit, amount):
    """The smallest distance within which references of that weight lie."""
    left = naive_weights(weights, own, unit)
    d = np.where(np.arange(len(d)) == own, 0.0, d)
    order = np.argsort(d, kind="stable")
    order = order[left[order] > 0]
    return d[order][np.searchsorted(np.cumsum(left[order]), amount)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("r", [2, 7, 40, 301])
def test_reach_by_sorting(r, equal, dtype):
    rng = np.random.default_rng(r)
    D = rng.exponential(size=(30, r)).astype(dtype)
    D[:5] = D[:5].round(1)  # with ties, and zeros
    weights = np.full(r, 0.5) if equal else rng.integers(1, 4, r) / 2
    itself = np.where(rng.random(30) < 0.5, rng.integers(0, r, 30), -1)
    near, far = 0.5 * min(5, r - 1) * (1 - 1e-9), 0.5 * max(1, min(round(np.sqrt(r)), r - 1)) * (1 - 1e-9)
    near, far = min(near, far), max(near, far)
    for known in (itself, None):
        found = reach(D, weights.astype(dtype), known, 0.5, near, far)
        for amount, values in zip((near, far), found, strict=True):
            own = np.full(30, -1) if known is None else known
            wanted = [naive_reach(d, weights, o, 0.5, amount) for d, o in zip(D, own, strict=True)]
            np.testing.assert_array_equal(values, np.asarray(wanted, dtype))


@pytest.mark.parametrize(("dtype", "tolerance"), TYPES)
@pytest.mark.parametrize("r", [1, 6, 33])
def test_affinity_by_loops(r, dtype, tolerance):
    rng = np.random.default_rng(r)
    n, c, unit, rate = 20, 4, 0.5, 1.3
    D = rng.exponential(size=(n, r)).astype(dtype)
    D[0] = 1e6  # nothing is near
    own_scales, scales = (0.5 + rng.random(n)).astype(dtype), (0.5 + rng.random(r)).astype(dtype)
    weights, labels = (rng.integers(1, 4, r) / 2).astype(dtype), rng.integers(0, c - 1, r)
    itself = np.where(rng.random(n) < 0.5, rng.integers(0, r, n), -1)
    itself[0] = -1
    found = affinity(D, own_scales, scales, weights, labels, c, itself, unit, rate)
    wanted = np.zeros((n, c))
    for i in range(n):
        left = naive_weights(weights, itself[i], unit)
        d = np.where(np.arange(r) == itself[i], 0.0, D[i].astype(float))
        similar = left * np.exp(-rate * d**2 / (float(own_scales[i]) * scales.astype(float)))
        for k in range(c):
            total = left[labels == k].sum()
            wanted[i, k] = similar[labels == k].sum() / np.sqrt(total) if total > 0 else 0.0
    np.testing.assert_allclose(found, wanted, atol=tolerance)
    assert (found[0] == 0).all()
    assert (found[:, c - 1] == 0).all()
