"""Evidential clustering: one algorithm a file."""

from evidentia.cluster.ecm import ECM

__all__ = ["ECM"]
