"""Evidential clustering algorithms, one per module."""

from dempster.cluster.belief_peaks import BeliefPeaks
from dempster.cluster.bootclus import BootClus
from dempster.cluster.bpec import BPEC
from dempster.cluster.catecm import CatECM
from dempster.cluster.ccm import CCM
from dempster.cluster.cecm import CECM
from dempster.cluster.conformal import ConformalClustering, ConformalNoveltyDetector
from dempster.cluster.credal import CredalClustering
from dempster.cluster.ecm import ECM
from dempster.cluster.ecmdd import ECMdd
from dempster.cluster.egmm import EGMM
from dempster.cluster.eknnclus import EKNNClus
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS, Training
from dempster.cluster.mecm import MECM
from dempster.cluster.recm import RECM
from dempster.cluster.secm import SECM
from dempster.cluster.soft import (
    FuzzyCMeans,
    NoiseClustering,
    PossibilisticCMeans,
    RoughKMeans,
)
from dempster.cluster.wecmdd import WECMdd
from dempster.cluster.wmvec import WMVEC

__all__ = [
    "BeliefPeaks",
    "BootClus",
    "BPEC",
    "CatECM",
    "CCM",
    "CECM",
    "ConformalClustering",
    "ConformalNoveltyDetector",
    "CredalClustering",
    "ECM",
    "ECMdd",
    "EGMM",
    "EKNNClus",
    "EVCLUS",
    "FuzzyCMeans",
    "MECM",
    "NNEVCLUS",
    "NoiseClustering",
    "PossibilisticCMeans",
    "RECM",
    "RoughKMeans",
    "SECM",
    "Training",
    "WECMdd",
    "WMVEC",
]
