"""Evidential clustering: one algorithm a file."""

from evidentia.cluster.evclus.evclus import EVCLUS
from evidentia.cluster.evclus.nnevclus import NNEVCLUS
from evidentia.cluster.evclus.training import Training
from evidentia.cluster.mixtures.bootclus import BootClus
from evidentia.cluster.mixtures.egmm import EGMM
from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks
from evidentia.cluster.neighbors.eknnclus import EKNNClus
from evidentia.cluster.prototypes.bpec import BPEC
from evidentia.cluster.prototypes.catecm import CatECM
from evidentia.cluster.prototypes.ccm import CCM
from evidentia.cluster.prototypes.cecm import CECM
from evidentia.cluster.prototypes.ecm import ECM
from evidentia.cluster.prototypes.secm import SECM
from evidentia.cluster.relational.ecmdd import ECMdd
from evidentia.cluster.relational.mecm import MECM
from evidentia.cluster.relational.recm import RECM
from evidentia.cluster.relational.wecmdd import WECMdd
from evidentia.cluster.views.wmvec import WMVEC

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
    "Training",
    "WECMdd",
    "WMVEC",
]
