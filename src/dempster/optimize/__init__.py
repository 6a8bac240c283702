"""Numerical solvers that several methods share.

The functions here check their arguments; the compiled kernels behind them, for hot loops, stay in their modules
(``from dempster.optimize.simplex_qp import simplex_qp``).
"""

from dempster.optimize.simplex_qp import solve_diagonal, solve_simplex_qp, solve_simplex_qp_batch

__all__ = ["solve_simplex_qp", "solve_simplex_qp_batch", "solve_diagonal"]
