"""Constraints that an estimator is given, checked against its objects."""

from __future__ import annotations

import warnings
from typing import Any

from dempster._errors import InvalidInputError
from dempster.constraints.closure import ContradictionError, ContradictionWarning
from dempster.constraints.constraints import Constraints

__all__ = ["checked_constraints"]


def checked_constraints(constraints: Any, n: int, *, stacklevel: int = 5) -> Constraints:
    """Constraints between n objects, none if None: the one rule for all methods.

    A pair that both must and must not link is an error, as it can only be a mistake. A contradiction through a chain is
    a warning: answers of experts are noisy and `Constraints.expand` guesses, which the methods are made for, as they
    weigh constraints and none of them must hold.
    """
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise InvalidInputError(f"constraints must be a Constraints object, got {type(constraints).__name__}")
    constraints.check(n)
    contradictions = constraints.contradictions()
    direct = [c for c in contradictions if len(c.chain) == 2]
    if direct:
        raise ContradictionError(f"constraints contradict each other: {direct[0]!r}")
    if contradictions:
        warnings.warn(
            f"constraints contradict each other in {len(contradictions)} places, so they cannot all be met: "
            f"{contradictions[0]!r}",
            ContradictionWarning,
            stacklevel=stacklevel,
        )
    return constraints
