"""Kernels of EVCLUS, beside the same sums written naively."""

import numpy as np
import pytest

from evidentia.cluster.evclus._affinity import affinity, distances_between, reach

TYPES = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-5)])


def dissimilarities(n, r, kind, dtype, rng):
    """Distances that differ, or with many ties and zeros."""
    D = rng.random((n, r)) if kind == "different" else rng.integers(0, 4, (n, r))
    return np.ascontiguousarray(D, dtype=dtype)


def reference_weights(r, kind, dtype, rng):
    w = {"equal": np.ones(r), "heavy": np.full(r, 3.0), "mixed": rng.integers(0, 5, r) + 0.0}[kind]
    w[0] += w.sum() == 0
    return w.astype(dtype)


def without_itself(d, w, own, unit):
    """Dissimilarities and weights of the others: a reference is at its own place with what it weighs beyond a unit."""
    d, w = d.astype(float), w.astype(float)
    if own >= 0:
        d[own], w[own] = 0.0, max(w[own] - unit, 0.0)
    return d, w


def naive_reach(d, w, amount):
    """The smallest of the values up to which the weights add up to the amount."""
    total = 0.0
    for j in np.argsort(d, kind="stable"):
        total += w[j]
        if total >= amount:
            return d[j]
    return None  # there is not as much


@TYPES
@pytest.mark.parametrize("itself", ["nobody", "some"])
@pytest.mark.parametrize("weights", ["equal", "heavy", "mixed"])
@pytest.mark.parametrize("kind", ["different", "ties"])
@pytest.mark.parametrize("r", [1, 2, 7, 40, 301])
def test_reach_against_naive_loops(r, kind, weights, itself, dtype, tolerance):
    rng = np.random.default_rng(r)
    D, w = dissimilarities(30, r, kind, dtype, rng), reference_weights(r, weights, dtype, rng)
    who = None if itself == "nobody" else rng.integers(-1, r, 30)
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
                else:  # the farthest there is, or nowhere
                    assert at[i] >= d[left > 0].max(initial=0) - tolerance


def test_reach_of_all_and_more():
    D = np.array([[3.0, 1.0, 2.0]])
    everything, more = reach(D, np.ones(3), None, 1.0, 3.0, 4.0)
    assert everything[0] == more[0] == 3.0
    alone, _ = reach(np.array([[0.0]]), np.ones(1), np.array([0]), 1.0, 1.0, 1.0)
    assert np.isinf(alone[0])  # nobody else is there


def naive_affinity(d, own_scale, scales, w, labels, n_clusters, own, unit, rate):
    out = np.zeros(n_clusters)
    others, left = without_itself(d, w, own, unit)
    if own >= 0 and not left[labels == labels[own]].sum() > 0:  # alone in its cluster: it counts itself
        left[own] = float(w[own])
    for k in range(n_clusters):
        members = np.flatnonzero(labels == k)
        total = left[members].sum()
        if total > 0:
            likeness = [left[j] * np.exp(-rate * others[j] ** 2 / (own_scale * scales[j])) for j in members]
            out[k] = np.sum(likeness) / np.sqrt(total)
    return out


@TYPES
@pytest.mark.parametrize("itself", ["nobody", "some"])
@pytest.mark.parametrize("weights", ["equal", "heavy", "mixed"])
@pytest.mark.parametrize("kind", ["different", "ties"])
@pytest.mark.parametrize(("r", "c"), [(1, 1), (2, 3), (7, 2), (40, 5)])
def test_affinity_against_naive_loops(r, c, kind, weights, itself, dtype, tolerance):
    rng = np.random.default_rng(r)
    D, w = dissimilarities(30, r, kind, dtype, rng), reference_weights(r, weights, dtype, rng)
    own_scales, scales = (rng.uniform(0.2, 2.0, k).astype(dtype) for k in (30, r))
    labels = rng.integers(0, c, r)
    who = None if itself == "nobody" else rng.integers(-1, r, 30)
    unit, rate = float(w.mean()), 1.3
    found = affinity(D, own_scales, scales, w, labels, c, who, unit, rate)
    assert found.dtype == dtype
    for i in range(30):
        own = -1 if who is None else who[i]
        wanted = naive_affinity(D[i], own_scales[i], scales, w, labels, c, own, unit, rate)
        np.testing.assert_allclose(found[i], wanted, rtol=tolerance, atol=tolerance)


@TYPES
def test_distances_by_loops(dtype, tolerance):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(9, 5)).astype(dtype), rng.normal(size=(13, 5)).astype(dtype)
    B[3] = A[2]
    found = distances_between(A, B)
    wanted = [[np.sqrt(((a.astype(float) - b) ** 2).sum()) for b in B] for a in A]
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=0)
    assert found[2, 3] == 0


@TYPES
def test_affinity_vanishes_far_away(dtype, tolerance):
    D = np.array([[0.0, 1e3], [1e3, 1e3]], dtype=dtype)
    ones = np.ones(2, dtype=dtype)
    found = affinity(D, ones, ones, ones, np.array([0, 2]), 3, None, 1.0, 1.0)
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 0, 0]], atol=tolerance)


def test_an_object_alone_in_its_cluster_is_a_member_of_it():
    """It counts itself: by the others alone its cluster would be the least plausible of all."""
    D = np.array([[0.0, 1, 5], [1, 0, 5], [5, 5, 0]])
    ones = np.ones(3)
    for w in (ones, np.array([4.0, 4.0, 0.5])):
        found = affinity(D, ones, ones, w, np.array([0, 0, 1]), 2, np.arange(3), float(w.mean()), 0.1)
        assert found.argmax(axis=1).tolist() == [0, 0, 1]
