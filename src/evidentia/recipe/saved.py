"""What files may hold of this package: a model with its preparation."""

from evidentia.io.schema import Schema
from evidentia.recipe.attributes import Preparation
from evidentia.recipe.model import TableModel

__all__ = ["SAVED"]

SAVED = tuple(map(Schema.of, (Preparation, TableModel)))
