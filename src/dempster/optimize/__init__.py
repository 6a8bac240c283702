"""Numerical solvers that several methods use."""
