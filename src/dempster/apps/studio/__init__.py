"""Studio, a local web page to cluster a table, explain the result and add constraints."""

from dempster.apps.studio.server import serve

__all__ = ["serve"]
