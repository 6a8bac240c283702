"""What files may hold of this package."""

from __future__ import annotations

from dempster._errors import InvalidInputError
from dempster._validation import is_integer
from dempster.explain._tree.columns import SplitColumn
from dempster.explain._tree.nodes import TreeNode
from dempster.explain.cautious_tree import CautiousTree
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


def _check_nodes(tree: CautiousTree) -> None:
    """Nodes are numbered as they stand, and their children stand behind them."""
    for number, node in enumerate(tree.nodes_):
        split, children = node.column is not None, node.children
        if node.number != number or not all(is_integer(child) for child in children) or len(children) != 2 * split:
            raise InvalidInputError(f"node {number} of nodes_ must have its number, and two children or none")
        if not all(number < child < len(tree.nodes_) for child in children):
            raise InvalidInputError(f"the children of node {number} of nodes_ must stand behind it, got {children}")


SAVED = (Schema.of_estimator(CautiousTree, _check_nodes), *map(Schema.of, (TreeNode, SplitColumn)))
