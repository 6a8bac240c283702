"""Recipes, which describe a clustering run and can be run, saved and exported."""

from dempster.apps.recipe.attributes import Attributes, Preparation, choose_attributes
from dempster.apps.recipe.labels import (
    constraints_from_labels,
    encode_labels,
    read_labels,
)
from dempster.apps.recipe.model import (
    PreparedTable,
    RecipeResult,
    TableModel,
    reweight_sets,
)
from dempster.apps.recipe.recipe import Recipe
from dempster.apps.recipe.run import prepare, read_image, read_views

__all__ = [
    "Recipe",
    "RecipeResult",
    "PreparedTable",
    "prepare",
    "choose_attributes",
    "Attributes",
    "Preparation",
    "TableModel",
    "reweight_sets",
    "read_labels",
    "encode_labels",
    "constraints_from_labels",
    "read_views",
    "read_image",
]
