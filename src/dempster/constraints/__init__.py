"""Must-link and cannot-link constraints, and selection of pairs for an expert."""

from dempster.constraints.constraints import (
    Constraints,
    Contradiction,
    ContradictionError,
    ContradictionWarning,
    Violations,
)
from dempster.constraints.files import read_constraints, write_constraints
from dempster.constraints.suggestion import suggest_pairs

__all__ = [
    "Constraints",
    "Contradiction",
    "ContradictionError",
    "ContradictionWarning",
    "Violations",
    "suggest_pairs",
    "read_constraints",
    "write_constraints",
]
