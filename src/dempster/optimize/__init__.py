"""Numerical solvers that several methods use.

The functions of this package validate their arguments. Compiled kernels without validation are in
its modules, for example ``dempster.optimize.simplex_qp.simplex_qp``.
"""

from dempster.optimize.simplex_qp import (
    solve_diagonal,
    solve_simplex_qp,
    solve_simplex_qp_batch,
)

__all__ = ["solve_simplex_qp", "solve_simplex_qp_batch", "solve_diagonal"]
