"""Model files: save and load estimators, partitions and mass functions without executing code."""

from dempster.persistence.save_load import describe, load, save

__all__ = ["save", "load", "describe"]
