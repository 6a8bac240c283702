"""The best subtree of a tree for each number of leaves."""

from __future__ import annotations

import numpy as np

from dempster.explain._tree.growth import Node

__all__ = ["costs_by_leaves", "prune"]

_ROUNDING = 1e-9  # of the cost of the root: a smaller improvement is none


def costs_by_leaves(root: Node, cost: dict[int, float], most: int) -> dict[int, np.ndarray]:
    """For each node, by its id, the smallest cost of its subtree cut back to at most 1, 2, ... leaves, up to as many as
    it has, or ``most``.

    ``cost`` is that of each node as a leaf. Exact, by dynamic programming: the leaves of a node are shared out between
    its two sides.
    """
    least = _ROUNDING * cost[id(root)]
    table: dict[int, np.ndarray] = {}
    for node in reversed(_parents_first(root)):
        own = [cost[id(node)]]
        if node.children:
            for best in _shared(*(table[id(child)] for child in node.children))[: most - 1].tolist():
                own.append(best if best < own[-1] - least else own[-1])
        table[id(node)] = np.array(own)
    return table


def _shared(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The smallest sum of costs with 2, 3, ... leaves on two sides together."""
    few, many = sorted((left, right), key=len)
    best = np.full(len(few) + len(many) - 1, np.inf)
    for k, cost in enumerate(few.tolist()):
        part = best[k : k + len(many)]
        np.minimum(part, cost + many, out=part)
    return best


def prune(root: Node, table: dict[int, np.ndarray], leaves: int) -> None:
    """Cut a tree back to the best subtree of at most ``leaves`` leaves; no more than its cost needs."""
    left_to_do = [(root, leaves)]
    while left_to_do:
        node, leaves = left_to_do.pop()
        own = table[id(node)][:leaves]
        leaves = int(np.flatnonzero(own == own[-1])[0]) + 1  # fewer leaves that are as good
        if leaves == 1 or not node.children:
            node.children, node.column = (), -1
            continue
        left, right = (table[id(child)] for child in node.children)
        shares = np.arange(max(1, leaves - len(right)), min(len(left), leaves - 1) + 1)
        share = int(shares[np.argmin(left[shares - 1] + right[leaves - shares - 1])])
        left_to_do += [(node.children[0], share), (node.children[1], leaves - share)]


def _parents_first(root: Node) -> list[Node]:
    nodes = [root]
    for node in nodes:
        nodes.extend(node.children)
    return nodes
