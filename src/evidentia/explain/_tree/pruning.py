"""The best subtree of a tree for each number of leaves."""

from __future__ import annotations

import numpy as np

from evidentia.explain._tree.growth import Node

__all__ = ["costs_by_leaves", "prune"]

_ROUNDING = 1e-9  # of the cost of the root: a smaller improvement is none


def costs_by_leaves(root: Node, cost: dict[int, float], most: int) -> dict[int, np.ndarray]:
    """For each node, by its id, the smallest cost of its subtree cut back to at most 1, 2, ..., ``most`` leaves.

    ``cost`` is that of each node as a leaf. Exact, by dynamic programming: the leaves of a node are shared out between
    its two sides.
    """
    least = _ROUNDING * cost[id(root)]
    table: dict[int, np.ndarray] = {}
    for node in reversed(_parents_first(root)):
        own = np.full(most, cost[id(node)])
        if node.children:
            left, right = (table[id(child)] for child in node.children)
            for leaves in range(2, most + 1):
                best = min(left[a - 1] + right[leaves - a - 1] for a in range(1, leaves))
                own[leaves - 1] = best if best < own[leaves - 2] - least else own[leaves - 2]
        table[id(node)] = own
    return table


def prune(root: Node, table: dict[int, np.ndarray], leaves: int) -> None:
    """Cut a tree back to the best subtree of at most ``leaves`` leaves; no more than its cost needs."""
    own = table[id(root)]
    leaves = int(np.flatnonzero(own[:leaves] == own[leaves - 1])[0]) + 1  # fewer leaves that are as good
    if leaves == 1 or not root.children:
        root.children, root.column = (), -1
        return
    left, right = (table[id(child)] for child in root.children)
    share = 1 + int(np.argmin([left[a - 1] + right[leaves - a - 1] for a in range(1, leaves)]))
    prune(root.children[0], table, share)
    prune(root.children[1], table, leaves - share)


def _parents_first(root: Node) -> list[Node]:
    nodes = [root]
    for node in nodes:
        nodes.extend(node.children)
    return nodes
