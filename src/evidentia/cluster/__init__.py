"""Evidential clustering: one algorithm a file."""

from evidentia.cluster.belief_peaks import BeliefPeaks
from evidentia.cluster.bootclus import BootClus
from evidentia.cluster.bpec import BPEC
from evidentia.cluster.catecm import CatECM
from evidentia.cluster.ccm import CCM
from evidentia.cluster.cecm import CECM
from evidentia.cluster.ecm import ECM
from evidentia.cluster.ecmdd import ECMdd
from evidentia.cluster.egmm import EGMM
from evidentia.cluster.eknnclus import EKNNClus
from evidentia.cluster.evclus import EVCLUS
from evidentia.cluster.mecm import MECM
from evidentia.cluster.nnevclus import NNEVCLUS
from evidentia.cluster.recm import RECM
from evidentia.cluster.secm import SECM
from evidentia.cluster.wecmdd import WECMdd

__all__ = [
    "BeliefPeaks",
    "BootClus",
    "BPEC",
    "CatECM",
    "CCM",
    "CECM",
    "ECM",
    "ECMdd",
    "EGMM",
    "EKNNClus",
    "EVCLUS",
    "MECM",
    "NNEVCLUS",
    "RECM",
    "SECM",
    "WECMdd",
]
