"""Constraints as the optimisers want them."""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_memory
from dempster.constraints._pairs import pair_codes
from dempster.constraints.closure import ContradictionError
from dempster.constraints.constraints import Constraints

__all__ = ["links"]


def links(constraints: Constraints | None, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Symmetric sparse adjacency of the constraints, as plain arrays for compiled code.

    The objects linked to object i are ``indices[indptr[i]:indptr[i + 1]]``, in increasing order, with ``sign`` +1 for
    must-links and -1 for cannot-links.

    Parameters
    ----------
    constraints : Constraints or None
    n : int
        Number of objects.

    Returns
    -------
    indptr : (n + 1,) int64
    indices : (2 * len(constraints),) int32
    sign : (2 * len(constraints),) float64

    Examples
    --------
    >>> from dempster.constraints import Constraints, links
    >>> links(Constraints(must_link=[(0, 2)], cannot_link=[(1, 2)]), 3)
    (array([0, 1, 2, 4]), array([2, 2, 0, 1], dtype=int32), array([ 1., -1.,  1., -1.]))
    """
    from dempster.optimize.row_fit import symmetric_pairs  # compiled code, imported by those who use it

    constraints = Constraints() if constraints is None else constraints
    if not isinstance(constraints, Constraints):
        raise InvalidInputError(f"constraints must be a Constraints object or None, got {type(constraints).__name__}")
    constraints.check(n)
    check_memory(8 * n, f"the links of n={n:,} objects", "give the number of objects that there are")
    must, cannot = constraints.must_link, constraints.cannot_link
    both = np.intersect1d(pair_codes(must), pair_codes(cannot))
    if both.size:
        pair = must[pair_codes(must) == both[0]][0].tolist()
        raise ContradictionError(f"constraints contradict each other: {pair[0]} and {pair[1]} must and must not link")
    sign = np.repeat([1.0, -1.0], [len(must), len(cannot)])
    return symmetric_pairs(n, np.concatenate([must, cannot]), sign)[:3]
