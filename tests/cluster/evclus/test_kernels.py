"""Kernels of EVCLUS, compared with loops."""

import numpy as np
import pytest

from dempster.cluster.evclus._model import Affinity, Contrast, reach

TYPES = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)]
)


def dissimilarities(n, r, kind, dtype, rng):
    """Return distinct distances, or distances with ties and zeros."""
    if kind == "different":
        D = rng.random((n, r))
    else:
        D = rng.integers(0, 4, (n, r))
    return np.ascontiguousarray(D, dtype=dtype)


def reference_weights(r, kind, dtype, rng):
    w = {
        "equal": np.ones(r),
        "heavy": np.full(r, 3.0),
        "mixed": rng.integers(0, 5, r) + 0.0,
    }[kind]
    w[0] += w.sum() == 0
    return w.astype(dtype)


def without_itself(d, w, own, unit):
    """Reduce the weight of the object itself by one unit."""
    d = d.astype(float)
    w = w.astype(float)
    if own >= 0:
        d[own] = 0.0
        w[own] = max(w[own] - unit, 0.0)
    return d, w


def naive_reach(d, w, amount):
    """Return the smallest value up to which the weights sum to the amount, or None."""
    total = 0.0
    for j in np.argsort(d, kind="stable"):
        total += w[j]
        if total >= amount:
            return d[j]
    return None


@TYPES
@pytest.mark.parametrize("itself", ["none", "some"])
@pytest.mark.parametrize("weights", ["equal", "heavy", "mixed"])
@pytest.mark.parametrize("kind", ["different", "ties"])
@pytest.mark.parametrize("r", [1, 2, 7, 40, 301])
def test_reach_against_loops(r, kind, weights, itself, dtype, tolerance):
    rng = np.random.default_rng(r)
    D = dissimilarities(30, r, kind, dtype, rng)
    w = reference_weights(r, weights, dtype, rng)
    if itself == "none":
        who = None
    else:
        who = rng.integers(-1, r, 30)
    unit = float(w.mean())
    for share in (0.01, 0.2, 0.5, 0.9):
        amounts = [f * float(w.sum()) * (1 - 1e-9) for f in (share / 2, share)]
        found = reach(D, w, who, unit, *amounts)
        for i in range(30):
            d, left = without_itself(D[i], w, -1 if who is None else who[i], unit)
            for at, amount in zip(found, amounts, strict=True):
                wanted = naive_reach(d, left, amount)
                if wanted is not None:
                    assert at[i] == pytest.approx(wanted, rel=tolerance)
                else:
                    assert at[i] >= d[left > 0].max(initial=0) - tolerance


def test_reach_beyond_total_weight():
    D = np.array([[3.0, 1.0, 2.0]])
    everything, more = reach(D, np.ones(3), None, 1.0, 3.0, 4.0)
    assert everything[0] == more[0] == 3.0
    alone, _ = reach(np.array([[0.0]]), np.ones(1), np.array([0]), 1.0, 1.0, 1.0)
    assert np.isinf(alone[0])


def naive_affinity(d, own_scale, scales, w, labels, n_clusters, own, unit, rate):
    out = np.zeros(n_clusters)
    others, left = without_itself(d, w, own, unit)
    if own >= 0 and not left[labels == labels[own]].sum() > 0:  # alone in its cluster
        left[own] = float(w[own])
    for k in range(n_clusters):
        members = np.flatnonzero(labels == k)
        total = left[members].sum()
        if total > 0:
            likeness = [
                left[j] * np.exp(-rate * others[j] ** 2 / (own_scale * scales[j]))
                for j in members
            ]
            out[k] = np.sum(likeness) / total
    return out


def amounts_of(w):
    """Return the weights ``near`` and ``far``."""
    return [f * float(w.sum()) * (1 - 1e-9) for f in (0.1, 0.4)]


@TYPES
@pytest.mark.parametrize("itself", ["none", "some"])
@pytest.mark.parametrize("weights", ["equal", "heavy", "mixed"])
@pytest.mark.parametrize("kind", ["different", "ties"])
@pytest.mark.parametrize(("r", "c"), [(1, 1), (2, 3), (7, 2), (40, 5)])
def test_affinity_against_loops(r, c, kind, weights, itself, dtype, tolerance):
    rng = np.random.default_rng(r)
    D = dissimilarities(30, r, kind, dtype, rng)
    w = reference_weights(r, weights, dtype, rng)
    scales = rng.uniform(0.2, 2.0, r).astype(dtype)
    labels = rng.integers(0, c, r)
    if itself == "none":
        who = None
    else:
        who = rng.integers(-1, r, 30)
    unit = float(w.mean(dtype=float))
    rate = 1.3
    near, far = reach(D, w, who, unit, *amounts_of(w))
    found, found_near = Affinity(
        scales,
        w.astype(float),
        labels,
        c,
        unit,
        rate,
        *amounts_of(w),
        Contrast.neutral(c),
    ).by_distances(D, who)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found_near, near)
    for i in range(30):
        if who is None:
            own = -1
        else:
            own = who[i]
        wanted = naive_affinity(
            D[i], max(far[i], scales.min()), scales, w, labels, c, own, unit, rate
        )
        np.testing.assert_allclose(found[i], wanted, rtol=tolerance, atol=tolerance)


@TYPES
@pytest.mark.parametrize("weights", ["equal", "mixed"])
@pytest.mark.parametrize(
    ("r", "c", "d"), [(1, 1, 1), (2, 3, 2), (13, 2, 5), (301, 30, 3)]
)
def test_affinity_of_points(r, c, d, weights, dtype, tolerance):
    rng = np.random.default_rng(r)
    A = rng.normal(size=(40, d)).astype(dtype)
    B = rng.normal(size=(r, d)).astype(dtype)
    B[-1] = A[2]
    w = reference_weights(r, weights, dtype, rng).astype(float)
    D = np.sqrt(((A[:, None].astype(float) - B) ** 2).sum(axis=2))
    labels = rng.integers(0, c, r)
    affinity = Affinity(
        rng.uniform(0.2, 2.0, r),
        w,
        labels,
        c,
        w.mean(),
        1.3,
        *amounts_of(w),
        Contrast.neutral(c),
    )
    found, near, nearest, distance = affinity.by_points(A, B)
    wanted, wanted_near = affinity.by_distances(D)
    np.testing.assert_allclose(found, wanted, rtol=10 * tolerance, atol=tolerance)
    np.testing.assert_allclose(near, wanted_near, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(distance, D.min(axis=1), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(nearest, D.argmin(axis=1))
    assert distance[2] == 0


@TYPES
def test_affinity_of_distant_objects(dtype, tolerance):
    D = np.array([[0.0, 1e3], [1e3, 1e3]], dtype=dtype)
    ones = np.ones(2)
    found, _ = Affinity(
        ones, ones, np.array([0, 2]), 3, 1.0, 1e3, 1.0, 1.0, Contrast.neutral(3)
    ).by_distances(D)
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 0, 0]], atol=tolerance)


def test_object_alone_in_its_cluster():
    D = np.array([[0.0, 1, 5], [1, 0, 5], [5, 5, 0]])
    ones = np.ones(3)
    for w in (ones, np.array([4.0, 4.0, 0.5])):
        labels = np.array([0, 0, 1])
        affinity = Affinity(
            ones, w, labels, 2, w.mean(), 1.0, *amounts_of(w), Contrast.neutral(2)
        )
        found, _ = affinity.by_distances(D, np.arange(3))
        assert found.argmax(axis=1).tolist() == [0, 0, 1]
