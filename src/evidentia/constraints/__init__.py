"""What is known about pairs of objects: must-link and cannot-link constraints, and which pair to ask about next."""

from evidentia.constraints.adjacency import links
from evidentia.constraints.closure import Contradiction, ContradictionError, ContradictionWarning
from evidentia.constraints.constraints import Constraints
from evidentia.constraints.suggestion import suggest_pairs
from evidentia.constraints.violations import Violations

__all__ = [
    "Constraints",
    "Contradiction",
    "ContradictionError",
    "ContradictionWarning",
    "Violations",
    "suggest_pairs",
    "links",
]
