"""The objects of a fit without their repetitions, in an order that does not depend on the rows.

EVCLUS draws and sweeps along this order, and fits objects that are equal cell by cell as one, with the sum of their
weights: permuting the rows, or repeating them instead of giving them a weight, leads to the same masses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._arrays import to_host
from dempster.cluster._search import Sample
from dempster.cluster._starts import order_along_line
from dempster.dissimilarity.partial import same_rows
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    SparseSource,
    TensorSource,
)
from dempster.optimize.blocks import row_blocks

__all__ = ["DistinctObjects", "distinct_objects"]


@dataclass(frozen=True)
class DistinctObjects:
    """Which of n objects are fitted, and how much each of them counts.

    Attributes
    ----------
    order : (n,) array
        Positions of all objects, in the order; equal ones stand together, in that of the rows.
    rows : (m,) array
        Those of positive weight, in the same order.
    row_weights : (n,) array or None
        Their own weights; None if all are one.
    positions : (k,) array
        The first of each kind of equal objects among ``rows``, in the same order.
    weights : (n,) array or None
        At these positions the weight of all that are equal, at most 1; None if all count alike.
    first : (n,) array
        For each object the first that is equal to it; objects of weight zero are on their own.
    """

    order: np.ndarray
    rows: np.ndarray
    row_weights: np.ndarray | None
    positions: np.ndarray
    weights: np.ndarray | None
    first: np.ndarray


def distinct_objects(
    sample: Sample[DissimilaritySource | SparseSource], *, merge: bool, device: str = "cpu"
) -> DistinctObjects:
    """``merge``: objects that are equal cell by cell are one. Those of a matrix have no cells."""
    n = len(sample.values)
    given = sample.weights
    # by a power of two, which is exact: sums of weights of any size stay finite
    own = np.ones(n) if given is None else np.ldexp(given, -np.frexp(given.max())[1])
    order, repeated = _order(sample.values, own, device)
    if given is None and not (merge and repeated.any()):
        return DistinctObjects(order, order, None, order, None, np.arange(n))
    kind = np.cumsum(~repeated) if merge else np.arange(n)
    counted = own[order] > 0
    rows = order[counted]
    starts = np.diff(kind[counted], prepend=-1) > 0  # equal objects stand together
    positions = rows[starts]
    first = np.arange(n)
    first[rows] = positions[np.cumsum(starts) - 1]
    total = np.bincount(first, own, minlength=n)
    alike = np.ptp(total[positions]) == 0
    return DistinctObjects(
        order, rows, None if given is None else own, positions, None if alike else total / total.max(), first
    )


def _order(
    objects: DissimilaritySource | SparseSource, weights: np.ndarray, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the objects: along a line through attributes, along the sums of the dissimilarities in a matrix, by
    the keys of anything else, and as they are in a sparse matrix; and which of them repeat the one before."""
    n = len(objects)
    repeated = np.zeros(n, dtype=bool)
    if isinstance(objects, SparseSource):
        return np.arange(n), repeated
    if isinstance(objects, MatrixSource):
        sums = [objects.matrix[a:b].astype(float) @ weights for a, b in row_blocks(n, 1024, most=None)]
        return np.argsort(np.concatenate(sums), kind="stable"), repeated
    if isinstance(objects, TensorSource) or (isinstance(objects, AttributeSource) and device != "cpu"):
        from dempster.cluster.on_device.order import order_on_device
        from dempster.optimize.projection_torch import sent

        rows = objects.objects if isinstance(objects, TensorSource) else sent(objects.objects, device)
        order, again = order_on_device(rows)
        return to_host(order), to_host(again)
    if isinstance(objects, AttributeSource):
        order = order_along_line(objects.objects)
        for start, stop in row_blocks(n, 65536, most=None):
            rows = np.take(objects.objects, order[max(start - 1, 0) : stop], axis=0)
            same = same_rows(rows[1:], rows[:-1]) if objects.lacks_cells else (rows[1:] == rows[:-1]).all(axis=1)
            repeated[max(start, 1) : stop] = same
        return order, repeated
    keys = objects.keys(objects.objects)
    order = np.array(sorted(range(n), key=keys.__getitem__))
    repeated[1:] = [keys[i] == keys[j] for i, j in zip(order[1:], order[:-1], strict=True)]
    return order, repeated
