"""Studio, a local web page to cluster a table, examine and explain the result, and add constraints."""

from dempster.apps.studio.server import serve

__all__ = ["serve"]
