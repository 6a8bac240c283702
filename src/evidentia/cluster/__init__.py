"""Evidential clustering: one algorithm a file."""

from evidentia.cluster.belief_peaks import BeliefPeaks
from evidentia.cluster.ecm import ECM
from evidentia.cluster.evclus import EVCLUS
from evidentia.cluster.nnevclus import NNEVCLUS

__all__ = ["ECM", "EVCLUS", "NNEVCLUS", "BeliefPeaks"]
