"""Which pairs of objects to look at."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dempster._errors import InvalidInputError
from dempster.dissimilarity.sources import rounding

__all__ = ["random_pairs", "drawn_pairs", "pairs_of_sparse", "choose_landmarks"]


def random_pairs(n: int, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """k random partners for every object: (p, 2) different pairs i < j and how often each was drawn (once or twice).

    A random cycle through all objects is among them, so that the graph is connected: parts of it would number their
    clusters independently.
    """
    if k >= n - 1:
        return np.column_stack(np.triu_indices(n, 1)), np.full(n * (n - 1) // 2, 2.0)
    cycle = rng.permutation(n)
    follower = np.empty(n, dtype=np.int64)
    follower[cycle] = np.roll(cycle, -1)
    partner = np.empty((n, k), dtype=np.int64)
    partner[:, 0] = follower
    for start in range(0, n, 4096):
        stop = min(start + 4096, n)
        partner[start:stop, 1:] = _distinct_partners(n, np.arange(start, stop), follower[start:stop], k - 1, rng)
    pairs = np.sort(np.column_stack([np.repeat(np.arange(n), k), partner.ravel()]), axis=1)
    code, count = np.unique(pairs[:, 0] * n + pairs[:, 1], return_counts=True)
    return np.column_stack([code // n, code % n]), count.astype(float)


def _distinct_partners(n: int, objects: np.ndarray, taken: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """(b, k) different partners for each object, none of them itself or the one already taken."""
    if 4 * k > n:  # a large share of all objects: shuffle them
        keys = rng.random((len(objects), n))
        keys[np.arange(len(objects)), objects] = 2
        keys[np.arange(len(objects)), taken] = 2
        return np.argpartition(keys, k - 1, axis=1)[:, :k] if k else np.empty((len(objects), 0), dtype=np.int64)
    chosen = rng.integers(0, n, (len(objects), k))
    while True:  # redraw what collides
        everything = np.column_stack([objects, taken, chosen])
        order = np.argsort(everything, axis=1, kind="stable")
        ordered = np.take_along_axis(everything, order, axis=1)
        repeated = np.zeros_like(everything, dtype=bool)
        np.put_along_axis(repeated, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        bad = repeated[:, 2:]
        if not bad.any():
            return chosen
        chosen[bad] = rng.integers(0, n, int(bad.sum()))


def drawn_pairs(n: int, n_pairs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second objects of pairs of different objects drawn uniformly, with replacement."""
    i = rng.integers(0, n, n_pairs)
    j = rng.integers(0, n - 1, n_pairs)
    return i, j + (j >= i)


def pairs_of_sparse(D: sparse.spmatrix, *, symmetrize: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs i < j of a sparse matrix of sampled dissimilarities, how often each is stored, and their values.

    A pair may stand in one triangle or in both, with the same value (or with two that are averaged, when asked).
    Explicitly stored zeros are dissimilarities of 0.
    """
    coo = D.tocoo()
    i, j, d = coo.row.astype(np.int64), coo.col.astype(np.int64), np.asarray(coo.data, dtype=float)
    off = i != j
    if np.any(d[~off] != 0):
        raise InvalidInputError("X must not hold nonzero dissimilarities on its diagonal")
    i, j, d = i[off], j[off], d[off]
    n = D.shape[0]
    code = np.minimum(i, j) * n + np.maximum(i, j)
    order = np.argsort(code, kind="stable")
    code, d = code[order], d[order]
    unique, first, count = np.unique(code, return_index=True, return_counts=True)
    low, high = np.minimum.reduceat(d, first), np.maximum.reduceat(d, first)
    if not symmetrize and np.any(high - low > rounding(D.dtype) * high):
        worst = int((high - low).argmax())
        a, b = divmod(int(unique[worst]), n)
        raise InvalidInputError(
            f"X must be symmetric: the pair ({a}, {b}) is stored with {low[worst]:.6g} and with {high[worst]:.6g}; "
            "set symmetrize=True to use the mean of the two"
        )
    return np.column_stack([unique // n, unique % n]), count.astype(float), np.add.reduceat(d, first) / count


def choose_landmarks(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """p different objects at random, in increasing order."""
    return np.arange(n) if p >= n else np.sort(rng.choice(n, p, replace=False))
