"""The studio: a local page on which a person looks at a partition, asks why, and teaches."""

from dempster.apps.studio.server import serve

__all__ = ["serve"]
