"""Numerical solvers that several methods share.

These functions validate their arguments. The compiled kernels without validation are in the modules, for example
``dempster.optimize.simplex_qp.simplex_qp``.
"""

from dempster.optimize.simplex_qp import solve_diagonal, solve_simplex_qp, solve_simplex_qp_batch

__all__ = ["solve_simplex_qp", "solve_simplex_qp_batch", "solve_diagonal"]
