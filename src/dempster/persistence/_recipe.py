"""What files may hold of this package: a model with its preparation."""

from __future__ import annotations

from dempster.apps.recipe.attributes import Preparation
from dempster.apps.recipe.model import TableModel
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


SAVED = tuple(map(Schema.of, (Preparation, TableModel)))
