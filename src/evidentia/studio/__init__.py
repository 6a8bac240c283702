"""The studio: a local page on which a person looks at a partition, asks why, and teaches."""

from evidentia.studio.server import serve

__all__ = ["serve"]
