"""Evidential clustering: one algorithm a file."""

from evidentia.cluster.ecm import ECM
from evidentia.cluster.evclus import EVCLUS

__all__ = ["ECM", "EVCLUS"]
