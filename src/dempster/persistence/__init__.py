"""Model files: estimators, partitions and mass functions, written by `save` and read by `load` without running code."""

from dempster.persistence.files import describe, load, save

__all__ = ["save", "load", "describe"]
