"""Binary trees over columns of numbers, grown best first so that the targets of the objects in a leaf are alike.

A leaf of objects with targets z_i and weights w_i has the impurity sum_i w_i |z_i - mean|^2. A split into L and R
lowers it by |S_L|^2 / W_L + |S_R|^2 / W_R - |S|^2 / W, with S the sums of the weighted targets and W those of the
weights: sums over the bins of each column are all that is needed.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from dempster.explain._tree.columns import round_between

__all__ = ["Bins", "Node", "goes_left", "grow"]

_MOST_BINS = 512  # of a column; with fewer different values every split is looked at
_MOST_SUMS = 4_000_000  # numbers in the sums of a node
_ROWS = 100_000  # at once
_ROUNDING = 1e-10  # for each unit of weight: a smaller gain is none


@dataclass
class Node:
    """A node of a tree; ``column`` is -1 for a leaf."""

    rows: np.ndarray
    depth: int = 0
    column: int = -1
    threshold: float = np.nan
    missing_left: bool = True  # where objects go whose value is missing
    saw_missing: bool = False  # whether there were any
    gain: float = 0.0
    children: tuple[Node, ...] = field(default_factory=tuple)


class Bins:
    """Columns of numbers as positions among their thresholds; the last bin of a column is for missing values."""

    def __init__(self, values: np.ndarray, n_targets: int):
        n, q = values.shape
        most = int(np.clip(_MOST_SUMS // max(q * n_targets, 1), 16, _MOST_BINS))
        self.thresholds = [_thresholds(column, most) for column in values.T]
        sizes = np.array([len(t) + 2 for t in self.thresholds], dtype=np.int64)  # values, and missing ones
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.codes = np.empty((n, q), dtype=np.int32)
        for j, (column, thresholds) in enumerate(zip(values.T, self.thresholds, strict=True)):
            code = np.searchsorted(thresholds, column, side="left")
            self.codes[:, j] = self.starts[j] + np.where(np.isnan(column), len(thresholds) + 1, code)

    def sums(self, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """(bins, k) sums of the targets of the objects in each bin."""
        from scipy.sparse import csr_array

        q = self.codes.shape[1]
        total = np.zeros((int(self.starts[-1]), targets.shape[1]))
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            ends = np.arange(0, len(part) * q + 1, max(q, 1)) if q else np.zeros(len(part) + 1, dtype=int)
            where = csr_array((np.ones(len(part) * q), self.codes[part].ravel(), ends), shape=(len(part), len(total)))
            total += where.T @ targets[part]
        return total


def _thresholds(column: np.ndarray, most: int) -> np.ndarray:
    """Midpoints between the different values of a column, or between its quantiles where these are too many."""
    values = np.unique(column[~np.isnan(column)])
    if len(values) < 2:
        return np.empty(0)
    low, high = values[:-1], values[1:]
    if len(low) > most:
        ranks = np.unique(np.searchsorted(values, np.nanquantile(column, np.linspace(0, 1, most + 1)[1:-1])))
        ranks = ranks[ranks < len(low)]
        low, high = low[ranks], high[ranks]
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)  # neighboring floats have none


def grow(
    values: np.ndarray, targets: np.ndarray, weights: np.ndarray, *, n_leaves: int, least: int, depth: int
) -> Node:
    """A tree of at most ``n_leaves`` leaves of at least ``least`` objects, no deeper than ``depth``.

    ``values`` (n, q) may have NaN for missing values; ``targets`` are (n, k).
    """
    summed = np.column_stack([np.ones(len(values)), weights, targets * weights[:, None]])
    bins = Bins(values, summed.shape[1])
    root = Node(np.arange(len(values)))
    smallest = _ROUNDING * float(weights.sum())
    queue: list[tuple[float, int, Node, np.ndarray]] = []
    number = 0

    def consider(node: Node, sums: np.ndarray) -> None:
        nonlocal number
        if node.depth < depth and len(node.rows) >= 2 * least and values.shape[1]:
            _find_split(node, bins, sums, least)
            if node.gain > smallest:
                number += 1  # of equally good splits the first one
                heapq.heappush(queue, (-node.gain, number, node, sums))

    consider(root, bins.sums(root.rows, summed))
    for _ in range(n_leaves - 1):
        if not queue:
            break
        _, _, node, sums = heapq.heappop(queue)
        left, right = _split(node, values)
        small, large = (left, right) if len(left.rows) <= len(right.rows) else (right, left)
        of_small = bins.sums(small.rows, summed)
        consider(small, of_small)
        consider(large, sums - of_small)
    return root


def goes_left(column: np.ndarray, threshold: float, missing_left: bool) -> np.ndarray:
    """Whether each object goes to the left of a split: its value is at most the threshold."""
    return np.where(np.isnan(column), missing_left, column <= threshold)


def _split(node: Node, values: np.ndarray) -> tuple[Node, Node]:
    column = values[node.rows, node.column]
    left = goes_left(column, node.threshold, node.missing_left)
    low, high = column[column <= node.threshold].max(), column[column > node.threshold].min()
    node.threshold = round_between(float(low), float(high))  # the same objects on either side
    first, second = (Node(node.rows[side], node.depth + 1) for side in (left, ~left))
    node.children = first, second
    return first, second


def _find_split(node: Node, bins: Bins, sums: np.ndarray, least: int) -> None:
    """The split of largest gain; ties go to the first column and the lowest threshold."""
    total = sums[: bins.starts[1]].sum(axis=0)
    whole = _concentration(total[None])[0]
    for j, thresholds in enumerate(bins.thresholds):
        if not len(thresholds):
            continue
        block = sums[bins.starts[j] : bins.starts[j + 1]]
        present, missing = np.cumsum(block[:-2], axis=0), block[-1]
        has_missing = missing[0] > 0.5  # a count
        for missing_left in (True, False) if has_missing else (False,):
            left = present + missing if missing_left else present
            right = total - left
            gain = _concentration(left) + _concentration(right) - whole
            known = present[:, 0]  # a threshold has values on its two sides
            gain[(left[:, 0] < least - 0.5) | (right[:, 0] < least - 0.5)] = -np.inf
            gain[(known < 0.5) | (known > total[0] - missing[0] - 0.5)] = -np.inf
            best = int(gain.argmax())
            if gain[best] > node.gain * (1 + 1e-12):
                node.gain, node.column, node.threshold = float(gain[best]), j, float(thresholds[best])
                node.saw_missing = bool(has_missing)
                node.missing_left = missing_left if has_missing else bool(left[best, 0] >= right[best, 0])


def _concentration(sums: np.ndarray) -> np.ndarray:
    """(s,) |S|^2 / W of rows of sums: a count, W, S."""
    weights, targets = sums[:, 1], sums[:, 2:]
    squares = np.einsum("sk,sk->s", targets, targets)
    return np.divide(squares, weights, out=np.zeros_like(squares), where=weights > 0)
