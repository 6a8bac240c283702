"""Recompute the tables and figures of the papers: ``python -m reproduce``."""
