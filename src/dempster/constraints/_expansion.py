"""Constraints between neighbors of constrained objects; see `Constraints.expand`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_array

from dempster._validation import validating
from dempster.dissimilarity.neighbors import BlockFinder, PointTree, minkowski_power
from dempster.dissimilarity.sources import (
    AttributeSource,
    MatrixSource,
    check_square,
)

Neighborhoods = dict[int, dict[int, float]]
"""Distances from each constrained object to itself and to its neighbors."""


def find_neighborhoods(
    data: Any,
    objects: np.ndarray,
    k: int,
    metric: str | Callable,
    *,
    check: Callable[[int], None],
) -> tuple[Neighborhoods, int]:
    """Return the k nearest neighbors of the given objects, and the total number of objects."""
    is_matrix = metric == "precomputed"
    with validating(data, "D"):
        # A callable metric might modify the attributes.
        D = check_array(
            data,
            dtype=[np.float64, np.float32] if is_matrix else float,
            copy=callable(metric),
            ensure_all_finite=not is_matrix,
            input_name="D",
        )
    source: MatrixSource | AttributeSource
    if is_matrix:
        source = MatrixSource(check_square(D, symmetrize=False, name="D"))
    else:
        source = AttributeSource(D, metric)
    n = len(D)
    check(n)
    near = {i: {i: 0.0} for i in objects.tolist()}
    k = min(k, n - 1)
    if k == 0 or len(objects) == 0:
        return near, n
    power = minkowski_power(metric)
    if power is not None:
        distances, neighbors = PointTree(D, power).neighbors_of(objects, k)
    else:
        neighbors, distances = BlockFinder(source).others(objects, k)
    for i, row, others in zip(
        near, distances.tolist(), neighbors.tolist(), strict=True
    ):
        near[i] |= zip(others, row, strict=True)
    return near, n


def expand_pairs(
    must_link: np.ndarray, cannot_link: np.ndarray, near: Neighborhoods, k: int
) -> list[np.ndarray]:
    """Return the given and the added must-links, and the given and the added cannot-links."""
    kinds = [list(map(tuple, pairs.tolist())) for pairs in (must_link, cannot_link)]
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
    return [np.array(pairs, np.int64).reshape(-1, 2) for pairs in kinds]


def _candidates(
    near_i: dict[int, float], near_j: dict[int, float]
) -> list[tuple[int, int]]:
    """Return the candidates of `Constraints.expand`, sorted by cost, then by index."""
    costs = {}
    for r in near_i.keys() - near_j.keys():
        for s in near_j.keys() - near_i.keys():
            costs[min(r, s), max(r, s)] = near_i[r] + near_j[s]
    return sorted(costs, key=lambda pair: (costs[pair], pair))
