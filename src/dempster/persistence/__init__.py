"""Save and load estimators, partitions and mass functions in model files, which contain no code."""

from dempster.persistence.save_load import describe, load, save

__all__ = ["save", "load", "describe"]
