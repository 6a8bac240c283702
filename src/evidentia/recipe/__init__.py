"""One run, described: a recipe can be run, written to a file, and told as a command or as code."""

from evidentia.recipe.attributes import Attributes, Preparation, choose_attributes
from evidentia.recipe.known import label_codes, labels_as_constraints, read_labels
from evidentia.recipe.methods import Parameter, method_names, method_parameters, method_summary
from evidentia.recipe.model import TableModel
from evidentia.recipe.outcome import Outcome, Prepared
from evidentia.recipe.reading import read_image, read_views
from evidentia.recipe.recipe import Recipe
from evidentia.recipe.running import prepare

__all__ = [
    "Recipe",
    "Outcome",
    "Prepared",
    "prepare",
    "choose_attributes",
    "Attributes",
    "Preparation",
    "TableModel",
    "method_names",
    "method_summary",
    "method_parameters",
    "Parameter",
    "read_labels",
    "label_codes",
    "labels_as_constraints",
    "read_views",
    "read_image",
]
