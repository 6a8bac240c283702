"""What files may hold of this package: a model with its preparation."""

from dempster.io.schema import Schema
from dempster.recipe.attributes import Preparation
from dempster.recipe.model import TableModel

__all__ = ["SAVED"]

SAVED = tuple(map(Schema.of, (Preparation, TableModel)))
