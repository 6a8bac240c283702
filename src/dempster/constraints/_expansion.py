"""Constraints between neighbors of constrained objects; see `Constraints.expand`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._validation import format_value, validating

Neighborhoods = dict[int, dict[int, float]]
"""Distances from each constrained object to itself and to its neighbors."""

_TIE = 1e-9  # Distances with a smaller relative difference are tied.
_ROWS_PER_BLOCK = 128  # Number of rows of a dissimilarity matrix.
_QUERIES_PER_BLOCK = 4096


def find_neighborhoods(
    data: Any,
    objects: np.ndarray,
    k: int,
    metric: str | Callable,
    *,
    check: Callable[[int], None],
) -> tuple[Neighborhoods, int]:
    """Return the k nearest neighbors of the given objects, and the total number of objects."""
    from sklearn.utils import check_array

    if isinstance(metric, str) and metric == "precomputed":
        # Only the required rows are converted and validated, because the matrix may be large or
        # memory-mapped.
        with validating(data, "D"):
            D = check_array(
                data, dtype="numeric", ensure_all_finite=False, input_name="D"
            )
        if D.shape[0] != D.shape[1]:
            advice = 'set a metric for attributes, for example metric="euclidean"'
            raise InvalidParameterError(
                "D",
                must=f"be a square dissimilarity matrix, got shape {D.shape}; {advice}",
            )
        check(len(D))
        with validating(data, "D"):
            return {
                i: _find_nearest(row, i, k) for i, row in _read_rows(D, objects)
            }, len(D)
    with validating(data, "D"):
        # A callable metric might modify X.
        X = check_array(data, dtype=float, copy=callable(metric), input_name="D")
    check(len(X))
    try:
        return _find_neighborhoods_in_space(X, objects, k, metric), len(X)
    except (TypeError, ValueError) as error:
        message = f"metric={format_value(metric)} cannot be computed for D: {error}"
        raise InvalidParameterError("metric", message=message) from error


def _read_rows(D: np.ndarray, objects: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the index and the validated row of each given object.

    Blocks are used because reading columns is slow.
    """
    for start in range(0, len(objects), _ROWS_PER_BLOCK):
        block = objects[start : start + _ROWS_PER_BLOCK]
        rows = D[block].astype(float)
        columns = D[:, block].T.astype(float)
        is_invalid = ~np.isfinite(rows) | (rows < 0)
        if is_invalid.any():
            i, j = np.argwhere(is_invalid)[0]
            cell = f"D[{block[i]}, {j}] = {rows[i, j]:g}"
            raise InvalidParameterError(
                "D", must=f"contain finite nonnegative dissimilarities, got {cell}"
            )
        gap = np.abs(rows - columns)
        is_asymmetric = ~(gap <= 1e-6 * rows + 1e-8 * rows.max())
        if is_asymmetric.any():
            i, j = np.argwhere(is_asymmetric)[0]
            cell = f"D[{block[i]}, {j}] = {rows[i, j]:g}"
            mirrored = f"D[{j}, {block[i]}] = {columns[i, j]:g}"
            raise InvalidParameterError(
                "D", must=f"be symmetric, got {cell} and {mirrored}"
            )
        yield from zip(block.tolist(), rows, strict=True)


def _find_nearest(distances: np.ndarray, i: int, k: int) -> dict[int, float]:
    """Return {j: distance from i to j} for j = i and its k nearest neighbors.

    ``distances`` are from i to all rows.
    """
    others = distances.copy()
    others[i] = np.inf
    k = min(k, len(others) - 1)
    if k == 0:
        return {i: 0.0}
    near = np.flatnonzero(others <= np.partition(others, k - 1)[k - 1])
    return _select_nearest(i, near, others[near], k)


def _select_nearest(
    i: int, candidates: np.ndarray, distances: np.ndarray, k: int
) -> dict[int, float]:
    """Return {j: distance from i to j} for j = i and its k nearest candidates.

    Among ties, take the lowest indices.
    """
    best = np.lexsort((candidates, distances))[:k]
    return {i: 0.0} | dict(
        zip(candidates[best].tolist(), distances[best].tolist(), strict=True)
    )


def _find_neighborhoods_in_space(
    X: np.ndarray, objects: np.ndarray, k: int, metric: str | Callable
) -> Neighborhoods:
    from sklearn.metrics import pairwise_distances
    from sklearn.neighbors import NearestNeighbors

    n = len(X)
    if len(objects) == 0 or k == 0:
        return {i: {i: 0.0} for i in objects.tolist()}
    # scikit-learn's Euclidean distances are inaccurate far from the origin, and ties are detected
    # with exact distances.
    is_euclidean = isinstance(metric, str) and metric == "euclidean"
    if is_euclidean:
        X = X - X.mean(axis=0)
    n_requested = min(n, 2 * k + 2)  # More than k neighbors are needed to detect ties.
    index = NearestNeighbors(n_neighbors=n_requested, metric=metric).fit(X)
    neighborhoods: Neighborhoods = {}
    for start in range(0, len(objects), _QUERIES_PER_BLOCK):
        rows = objects[start : start + _QUERIES_PER_BLOCK]
        found = index.kneighbors(X[rows])
        for i, distances, candidates in zip(rows.tolist(), *found, strict=True):
            if is_euclidean:
                distances = _euclidean(X[candidates], X[i])
            others = candidates != i
            near = _select_nearest(i, candidates[others], distances[others], k)
            if n_requested < n and max(near.values()) >= float(distances.max()) * (
                1 - _TIE
            ):
                if is_euclidean:
                    distances = _euclidean(X, X[i])
                else:
                    distances = pairwise_distances(X[i : i + 1], X, metric=metric)[0]
                near = _find_nearest(distances, i, k)
            neighborhoods[i] = near
    return neighborhoods


def _euclidean(X: np.ndarray, x: np.ndarray) -> np.ndarray:
    difference = X - x
    return np.sqrt(np.einsum("ij,ij->i", difference, difference))


def expand_pairs(
    must_link: np.ndarray, cannot_link: np.ndarray, near: Neighborhoods, k: int
) -> list[np.ndarray]:
    """Return the given and the added must-links, and the given and the added cannot-links."""
    kinds = [[(i, j) for i, j in pairs.tolist()] for pairs in (must_link, cannot_link)]
    known = [set(pairs) for pairs in kinds]
    clashes = known[0] & known[1]
    for kind, pairs in enumerate(kinds):
        for i, j in pairs.copy():
            added = 0
            for pair in _candidates(near[i], near[j]):
                if added == k:
                    break
                if pair in known[1 - kind]:
                    clashes.add(pair)
                elif pair not in known[kind]:
                    known[kind].add(pair)
                    pairs.append(pair)
                    added += 1
    if clashes:
        warnings.warn(
            f"{len(clashes)} pair(s) of objects, for example {min(clashes)}, are must-links and "
            "cannot-links at once (given or implied by neighbors); the constraints that were added "
            "first are kept",
            stacklevel=3,
        )
    return [np.array(pairs, dtype=np.int64).reshape(-1, 2) for pairs in kinds]


def _candidates(
    near_i: dict[int, float], near_j: dict[int, float]
) -> list[tuple[int, int]]:
    """Return the candidates of `Constraints.expand`, sorted by cost, then by index."""
    costs = {}
    for r in near_i.keys() - near_j.keys():
        for s in near_j.keys() - near_i.keys():
            costs[min(r, s), max(r, s)] = near_i[r] + near_j[s]
    return sorted(costs, key=lambda pair: (costs[pair], pair))
