"""What files may hold of this package."""

from dempster.constraints.constraints import Constraints
from dempster.io.schema import Schema

__all__ = ["SAVED"]

SAVED = (
    Schema.of_arguments(
        Constraints, {"must_link": "must_link", "cannot_link": "cannot_link", "n_objects": "n_objects"}
    ),
)
