"""What is known about pairs of objects: must-link and cannot-link constraints, and which pair to ask about next."""

from dempster.constraints.adjacency import links
from dempster.constraints.closure import Contradiction, ContradictionError, ContradictionWarning
from dempster.constraints.constraints import Constraints
from dempster.constraints.files import read_constraints, write_constraints
from dempster.constraints.suggestion import suggest_pairs
from dempster.constraints.violations import Violations

__all__ = [
    "Constraints",
    "Contradiction",
    "ContradictionError",
    "ContradictionWarning",
    "Violations",
    "suggest_pairs",
    "read_constraints",
    "write_constraints",
    "links",
]
