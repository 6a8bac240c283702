"""The nodes of a `CautiousTree`, and the rules that lead to them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_answer, format_count, printable
from dempster.explain._tree.columns import SplitColumn

__all__ = ["TreeNode", "rule_words", "tree_text"]


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A node of a `CautiousTree`.

    Attributes
    ----------
    number, depth : int
        Nodes are format_count from the root, 0, each before its children, left before right.
    children : pair of int, or empty tuple
        Numbers of the nodes for objects that fulfil the condition, and for those that do not.
    column : SplitColumn or None
    threshold : float
        Objects up to it fulfil the condition; measured from ``column.origin``, which is 0 of most columns.
    missing_left, saw_missing : bool
        Whether objects whose value is missing fulfil the condition, and whether there were any.
    n_objects : int
    share : float
        Of all objects, by their weights.
    mass : (f,) array
        Mean mass of its objects.
    answer : tuple of int
        The set of clusters that it answers if it is a leaf.
    set_shares : (f,) array
        How its objects are shared out among their own answers, their sets of largest mass.
    fidelity : float
        Mean overlap of its answer and those of its objects.
    """

    number: int
    depth: int
    children: tuple[int, ...]
    column: SplitColumn | None
    threshold: float
    missing_left: bool
    saw_missing: bool
    n_objects: int
    share: float
    mass: np.ndarray
    answer: tuple[int, ...]
    set_shares: np.ndarray
    fidelity: float

    def __post_init__(self) -> None:
        if np.min(self.mass, initial=0) < 0 or not np.isclose(np.sum(self.mass), 1):
            raise InvalidInputError("mass must be a mass function, at least 0 with sum 1")

    @property
    def is_leaf(self) -> bool:
        return not self.children

    def answer_in(self, frame: Sequence[Hashable]) -> str:
        """Its answer in words, with the names of the clusters."""
        return format_answer(self.answer, frame)

    def condition(self, left: bool) -> str:
        """In words, which objects go to a side of it."""
        if self.column is None:
            raise InvalidInputError(f"node {self.number} is a leaf: it has no condition")
        words = self.column.condition(self.threshold, left)
        return f"{words} or missing" if self.saw_missing and left == self.missing_left else words


def tree_text(nodes: Sequence[TreeNode], frame: Sequence[Hashable]) -> str:
    """Conditions and answers, indented by their depth."""
    lines = []

    def write(node: TreeNode) -> None:
        indent = "    " * node.depth
        if node.is_leaf:
            answer = node.answer_in(frame)
            lines.append(f"{indent}{answer}: {format_count(node.n_objects)}, fidelity {node.fidelity:.2f}")
            return
        for child, left in zip(node.children, (True, False), strict=True):
            lines.append(f"{indent}{node.condition(left)}")
            write(nodes[child])

    write(nodes[0])
    return "\n".join(lines)


def rule_words(nodes: Sequence[TreeNode], number: int) -> str:
    """What an object must fulfil to come to a node; conditions on one column are put together."""
    way = []
    while number:
        parent = next(node for node in nodes if number in node.children)
        way.append((parent, number == parent.children[0]))
        number = parent.number
    by_column: dict[SplitColumn, list[tuple[TreeNode, bool]]] = {}
    for node, left in reversed(way):
        if node.column is not None:
            by_column.setdefault(node.column, []).append((node, left))
    return " and ".join(_interval(column, steps) for column, steps in by_column.items()) or "always"


def _interval(column: SplitColumn, steps: Sequence[tuple[TreeNode, bool]]) -> str:
    lows = [node.threshold for node, left in steps if not left]
    highs = [node.threshold for node, left in steps if left]
    if column.is_category or not (lows and highs):
        words = column.condition(min(highs) if highs else max(lows), bool(highs))
    else:
        words = f"{column.shown(max(lows))} < {printable(column.name)} <= {column.shown(min(highs))}"
    with_missing = all(node.saw_missing and left == node.missing_left for node, left in steps)
    return f"{words} or missing" if with_missing else words
