"""The tables and figures of the papers, regenerated: ``python -m reproduce``."""
