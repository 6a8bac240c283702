"""One run, described: a recipe can be run, written to a file, and told as a command or as code."""

from dempster.apps.recipe.attributes import Attributes, Preparation, choose_attributes
from dempster.apps.recipe.known import label_codes, labels_as_constraints, read_labels
from dempster.apps.recipe.methods import Parameter, method_names, method_parameters, method_summary
from dempster.apps.recipe.model import TableModel
from dempster.apps.recipe.outcome import Outcome, Prepared
from dempster.apps.recipe.reading import read_image, read_views
from dempster.apps.recipe.recipe import Recipe
from dempster.apps.recipe.running import prepare

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
