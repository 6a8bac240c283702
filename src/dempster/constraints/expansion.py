"""Constraint expansion: the neighbours of constrained objects are probably constrained alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import reading, shown

__all__ = ["neighborhoods", "expanded"]

Neighborhoods = dict[int, dict[int, float]]  # of each constrained object: itself and its neighbours, with distances

_TIE = 1e-9  # relative; neighbours as far as the farthest one found may have rivals that were not found
_ROWS_AT_ONCE = 128  # of a dissimilarity matrix
_QUERIES_AT_ONCE = 4096


def neighborhoods(
    data: Any, objects: np.ndarray, k: int, metric: str | Callable, *, check: Callable[[int], None]
) -> tuple[Neighborhoods, int]:
    """The given objects with their k nearest neighbours (ties: lowest numbers), and the number of objects.

    ``check`` is called with the number of objects as soon as it is known.
    """
    from sklearn.utils import check_array

    precomputed = isinstance(metric, str) and metric == "precomputed"
    if precomputed:
        # not converted and not looked through: it may be large, or lie in a file
        with reading(data, "D"):
            D = check_array(data, dtype="numeric", ensure_all_finite=False, input_name="D")
        if D.shape[0] != D.shape[1]:
            raise InvalidInputError(
                f"D must be a square dissimilarity matrix, got shape {D.shape}; give attributes with a metric, "
                'for example metric="euclidean"'
            )
        check(len(D))
        with reading(data, "D"):
            return {i: _nearest(row, i, k) for i, row in _rows_of(D, objects)}, len(D)
    with reading(data, "D"):
        X = check_array(data, dtype=float, copy=callable(metric), input_name="D")  # which might change what it is given
    check(len(X))
    try:
        return _neighborhoods_in_space(X, objects, k, metric), len(X)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"metric={shown(metric)} cannot be computed for these objects: {error}") from error


def _rows_of(D: np.ndarray, objects: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of the given objects in a dissimilarity matrix, checked; in blocks, as columns are slow to read."""
    for start in range(0, len(objects), _ROWS_AT_ONCE):
        block = objects[start : start + _ROWS_AT_ONCE]
        rows, columns = D[block].astype(float), D[:, block].T.astype(float)
        bad = ~np.isfinite(rows) | (rows < 0)
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise InvalidInputError(
                f"D must hold finite nonnegative dissimilarities, D[{block[i]}, {j}] is {rows[i, j]:g}"
            )
        gap = np.abs(rows - columns)
        bad = ~(gap <= 1e-6 * rows + 1e-8 * rows.max())
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise InvalidInputError(
                f"D must be symmetric, but D[{block[i]}, {j}] is {rows[i, j]:g} and D[{j}, {block[i]}] is "
                f"{columns[i, j]:g}"
            )
        yield from zip(block.tolist(), rows, strict=True)


def _nearest(distances: np.ndarray, i: int, k: int) -> dict[int, float]:
    """Object i and its k nearest others given its distances to all."""
    others = distances.copy()
    others[i] = np.inf
    k = min(k, len(others) - 1)
    if k == 0:
        return {i: 0.0}
    near = np.flatnonzero(others <= np.partition(others, k - 1)[k - 1])
    return _chosen(i, near, others[near], k)


def _chosen(i: int, candidates: np.ndarray, distances: np.ndarray, k: int) -> dict[int, float]:
    """Object i and the k nearest candidates, ties to the lowest numbers."""
    best = np.lexsort((candidates, distances))[:k]
    return {i: 0.0} | dict(zip(candidates[best].tolist(), distances[best].tolist(), strict=True))


def _neighborhoods_in_space(X: np.ndarray, objects: np.ndarray, k: int, metric: str | Callable) -> Neighborhoods:
    from sklearn.neighbors import NearestNeighbors

    n = len(X)
    if len(objects) == 0 or k == 0:
        return {i: {i: 0.0} for i in objects.tolist()}
    if isinstance(metric, str) and metric == "euclidean":
        X = X - X.mean(axis=0)  # fast Euclidean distances lose digits far from the origin
    asked = min(n, 2 * k + 2)  # more than needed, to see ties at the border
    index = NearestNeighbors(n_neighbors=asked, metric=metric).fit(X)
    out: Neighborhoods = {}
    for start in range(0, len(objects), _QUERIES_AT_ONCE):
        rows = objects[start : start + _QUERIES_AT_ONCE]
        found = index.kneighbors(X[rows])
        for i, distances, candidates in zip(rows.tolist(), *found, strict=True):
            if isinstance(metric, str) and metric == "euclidean":
                distances = _euclidean(X[candidates], X[i])  # exact, so that ties are ties
            others = candidates != i
            near = _chosen(i, candidates[others], distances[others], k)
            if asked < n and max(near.values()) >= float(distances.max()) * (1 - _TIE):
                near = _nearest(_distances_from(X, i, metric), i, k)
            out[i] = near
    return out


def _distances_from(X: np.ndarray, i: int, metric: str | Callable) -> np.ndarray:
    from sklearn.metrics import pairwise_distances

    if isinstance(metric, str) and metric == "euclidean":
        return _euclidean(X, X[i])
    return pairwise_distances(X[i : i + 1], X, metric=metric)[0]


def _euclidean(X: np.ndarray, x: np.ndarray) -> np.ndarray:
    difference = X - x
    return np.sqrt(np.einsum("ij,ij->i", difference, difference))


def expanded(
    must_link: np.ndarray, cannot_link: np.ndarray, near: Neighborhoods, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Given and new must-links and cannot-links (Li, Li and Denoeux, 2018, k-CEVCLUS, Algorithm 2)."""
    kinds = [[(i, j) for i, j in pairs.tolist()] for pairs in (must_link, cannot_link)]
    known = [set(pairs) for pairs in kinds]
    clashes = known[0] & known[1]
    for kind, given in enumerate([list(pairs) for pairs in kinds]):
        for i, j in given:
            added = 0
            for _, pair in _candidates(near[i], near[j]):
                if added == k:
                    break
                if pair in known[1 - kind]:
                    clashes.add(pair)
                elif pair not in known[kind]:
                    known[kind].add(pair)
                    kinds[kind].append(pair)
                    added += 1
    if clashes:
        warnings.warn(
            f"must-links and cannot-links clash at {len(clashes)} pair(s), {min(clashes)} for example: such a pair has "
            "one kind and is a neighbour of constraints of the other, or was given as both; it stays what it was",
            stacklevel=3,
        )
    return np.array(kinds[0], dtype=np.int64).reshape(-1, 2), np.array(kinds[1], dtype=np.int64).reshape(-1, 2)


def _candidates(near_i: dict[int, float], near_j: dict[int, float]) -> list[tuple[float, tuple[int, int]]]:
    """Pairs of a neighbour of i alone and one of j alone, by cost, then by number."""
    only_j = [(s, d) for s, d in near_j.items() if s not in near_i]
    return sorted(
        (d_ir + d_js, (r, s) if r < s else (s, r))
        for r, d_ir in near_i.items()
        if r not in near_j
        for s, d_js in only_j
    )
