"""What files may hold of this package."""

from evidentia.explain._tree.columns import SplitColumn
from evidentia.explain._tree.nodes import TreeNode
from evidentia.explain.cautious_tree import CautiousTree
from evidentia.io.schema import Schema

__all__ = ["SAVED"]

SAVED = tuple(map(Schema.of, (CautiousTree, TreeNode, SplitColumn)))
