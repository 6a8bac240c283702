"""Constraints that an estimator is given, checked against its objects."""

from __future__ import annotations

import warnings
from typing import Any

from evidentia.constraints.constraints import Constraints

__all__ = ["checked_constraints"]


def checked_constraints(constraints: Any, n: int, *, stacklevel: int = 5) -> Constraints:
    """Constraints between n objects, none if None. A pair that is both: an error; a longer contradiction: a warning."""
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(f"constraints must be a Constraints object, got {type(constraints).__name__}")
    constraints.check(n)
    contradictions = constraints.contradictions()
    direct = [c for c in contradictions if len(c.chain) == 2]
    if direct:
        raise ValueError(f"constraints contradict each other: {direct[0]!r}")
    if contradictions:
        warnings.warn(
            f"constraints contradict each other in {len(contradictions)} places, so they cannot all be met: "
            f"{contradictions[0]!r}",
            stacklevel=stacklevel,
        )
    return constraints
