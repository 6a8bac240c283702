"""One run, described: a recipe can be run, written to a file, and told as a command or as code."""

from dempster.recipe.attributes import Attributes, Preparation, choose_attributes
from dempster.recipe.known import label_codes, labels_as_constraints, read_labels
from dempster.recipe.methods import Parameter, method_names, method_parameters, method_summary
from dempster.recipe.model import TableModel
from dempster.recipe.outcome import Outcome, Prepared
from dempster.recipe.reading import read_image, read_views
from dempster.recipe.recipe import Recipe
from dempster.recipe.running import prepare

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
