"""What files may hold of this package."""

from __future__ import annotations

from dempster.constraints.constraints import Constraints
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


SAVED = (
    Schema.of_arguments(
        Constraints, {"must_link": "must_link", "cannot_link": "cannot_link", "n_objects": "n_objects"}
    ),
)
