"""Kernels on graphs and tables of neighbors, compared with naive loops."""

import numpy as np
import pytest
from scipy import sparse

from dempster.cluster._neighbor_graph import (
    agreement,
    neighbor_masses,
    relabel,
    symmetrize_graph,
)
from dempster.cluster._peaks import add_up_belief, first_higher, follow

# ---- the graph of EK-NNclus ----------------------------------------------------------------------


def graph(seed, n=40, *, symmetric=True, integer=np.int32):
    """Return compressed rows in which the last row has no neighbors."""
    rng = np.random.default_rng(seed)
    W = np.where(rng.random((n, n)) < 0.2, rng.integers(1, 4, (n, n)) / 2.0, 0.0)
    if symmetric:
        W = np.maximum(W, W.T)
    W[:, -1] = W[-1] = 0
    np.fill_diagonal(W, 0)
    rows = sparse.csr_matrix(W)
    return W, (rows.indptr.astype(integer), rows.indices.astype(integer), rows.data)


def inline(function, arguments):
    return [function(*each) for each in arguments]


@pytest.mark.parametrize("n", [1, 2, 40, 9000])
def test_symmetrized_graph(n):
    rng = np.random.default_rng(n)
    places = np.unique(rng.integers(0, n, (5 * n, 2)), axis=0)
    rows = sparse.csr_matrix((rng.random(len(places)), places.T), (n, n))
    for mean, wanted in [(False, rows.maximum(rows.T)), (True, (rows + rows.T) / 2)]:
        indptr, indices, weights = symmetrize_graph(
            rows.indptr, rows.indices, rows.data, mean, inline
        )
        found = sparse.csr_matrix((weights, indices, indptr), (n, n))
        assert found.nnz == wanted.nnz
        assert abs(found - wanted).max() == 0


def naive_sweep(W, strengths, symmetric, order, labels, awake, n_labels, settle):
    moves = 0
    total = 0.0
    for i in order:
        if not awake[i]:
            continue
        awake[i] = not symmetric
        own = labels[i]
        others = np.where(np.arange(len(W)) == i, 0, strengths)
        totals = np.bincount(labels, others, minlength=n_labels)
        support = np.bincount(labels, W[i], minlength=n_labels) - strengths[i] * totals
        candidates = np.union1d(labels[W[i] > 0], own)
        if W[i].any():
            best = int(candidates[support[candidates].argmax()])
        elif settle:
            best = 0
        else:
            best = own
        gain = support[best] - support[own]
        if gain > 1e-12 or (settle and gain >= 0 and best < own):
            labels[i] = best
            moves += 1
            total += gain
            if symmetric:
                awake[W[i] > 0] = True
    return moves, total


@pytest.mark.parametrize("integer", [np.int32, np.int64])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("settle", [False, True])
@pytest.mark.parametrize("against", [0.0, 0.5])
def test_sweeps_against_naive_loops(against, settle, symmetric, integer):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        W, rows = graph(seed, symmetric=symmetric, integer=integer)
        # Multiples of a half are exact, so that ties are ties.
        strengths = against * rng.integers(0, 3, len(W)) * W.any(axis=1)
        labels = rng.integers(0, 6, len(W)).astype(np.int32)
        wanted = labels.copy()
        totals = np.bincount(labels, strengths, minlength=6)
        awake = np.ones(len(W), bool)
        still = np.ones(len(W), bool)
        support = np.zeros(6)
        gained = np.empty(1)
        for _ in range(4):
            order = rng.permutation(len(W))[:35]
            state = labels, totals, awake, support
            moves = relabel(*rows, strengths, symmetric, order, *state, settle, gained)
            assert (moves, gained[0]) == naive_sweep(
                W, strengths, symmetric, order, wanted, still, 6, settle
            )
            np.testing.assert_array_equal(labels, wanted)
            np.testing.assert_array_equal(awake, still)
            expected = np.bincount(labels, strengths, minlength=6)
            np.testing.assert_array_equal(totals, expected)
            assert not support.any()
        together = labels[:, None] == labels[None]
        assert agreement(*rows, labels) == pytest.approx(W[together].sum() / 2)


@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_masses_against_dempsters_rule(integer):
    W, rows = graph(1, integer=integer)
    labels = np.random.default_rng(1).integers(0, 3, len(W)).astype(np.int32)
    out = np.full((len(W), 5), np.nan)
    neighbor_masses(*rows, labels, 3, out)
    r = np.expm1([np.bincount(labels, row, minlength=3) for row in W])
    total = 1 + r.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        out, np.hstack([np.zeros((len(W), 1)), r / total, 1 / total]), rtol=1e-13
    )
    assert out[-1].tolist() == [0, 0, 0, 0, 1]  # no neighbors


def test_indices_of_a_graph_are_checked():
    W, (indptr, indices, weights) = graph(0)
    n = len(W)
    labels = np.zeros(len(W), np.int32)
    state = labels, np.zeros(1), np.ones(n, bool), np.zeros(1)
    rest = np.arange(n), *state, False, np.empty(1)
    wrong = indices.copy()
    wrong[5] = n
    with pytest.raises(ValueError, match=r"\bindices\b"):
        relabel(indptr, wrong, weights, np.zeros(n), True, *rest)
    with pytest.raises(ValueError, match=r"\bindices\b"):
        neighbor_masses(indptr, wrong, weights, labels, 1, np.empty((n, 3)))
    with pytest.raises(ValueError, match=r"\blabels\b"):
        neighbor_masses(
            indptr, indices, weights, labels + np.int32(1), 1, np.empty((n, 3))
        )
    with pytest.raises(ValueError, match=r"\border\b"):
        relabel(indptr, indices, weights, np.zeros(n), True, np.array([-1]), *rest[1:])


# ---- belief peaks --------------------------------------------------------------------------------


def table(seed, n=30, k=6):
    """Return sorted neighbors, some of them at equal distances or distance zero."""
    rng = np.random.default_rng(seed)
    index = np.argsort(rng.random((n, n)), axis=1)[:, :k].astype(np.int32)
    return index, np.sort(rng.integers(0, 5, (n, k)) / 4.0, axis=1)


def test_belief_against_a_naive_loop():
    index, distance = table(0)
    scale = np.random.default_rng(0).integers(0, 3, 30) / 2.0
    belief = np.empty(20)
    add_up_belief(index[10:], distance[10:], scale, belief)
    for i, found in enumerate(belief, start=10):
        doubt = 1.0
        for j, d in zip(index[i], distance[i], strict=True):
            if d == 0:
                support = 1.0
            elif scale[j] > 0:
                support = np.exp(-((d / scale[j]) ** 2))
            else:
                support = 0.0
            doubt *= 1 - support / 6
        assert found == pytest.approx(1 - doubt, rel=1e-14)


def test_nearest_of_higher_belief_against_a_naive_loop():
    index, distance = table(1)
    rank = np.random.default_rng(1).permutation(30)
    objects = np.array([4, 2, 29, 11])
    nearest = np.full(30, -7, np.int64)
    delta = np.full(30, -7.0)
    first_higher(objects, index[objects], distance[objects], rank, nearest, delta)
    for i in range(30):
        higher = [
            (d, rank[j], j)
            for j, d in zip(index[i], distance[i], strict=True)
            if rank[j] < rank[i]
        ]
        if i not in objects:
            assert (nearest[i], delta[i]) == (-7, -7.0)
        elif higher:
            assert (delta[i], nearest[i]) == (min(higher)[0], min(higher)[2])
        else:
            assert nearest[i] == -1


def test_labels_follow_the_nearest_of_higher_belief():
    order = np.array([2, 0, 3, 1, 4])
    nearest = np.array([2, 0, -1, 2, -1])
    labels = np.array([-1, -1, 0, 1, -1], np.int64)
    follow(order, nearest, labels)
    assert labels.tolist() == [
        0,
        0,
        0,
        1,
        -1,
    ]  # a row without a higher one has no label
    for wrong in (-2, 5):
        nearest[0] = wrong
        with pytest.raises(ValueError, match=r"\bnearest\b"):
            follow(order, nearest, labels)
