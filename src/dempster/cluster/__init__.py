"""Evidential clustering: one algorithm a file."""

from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.cluster.evclus.training import Training
from dempster.cluster.mixtures.bootclus import BootClus
from dempster.cluster.mixtures.egmm import EGMM
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.eknnclus import EKNNClus
from dempster.cluster.prototypes.bpec import BPEC
from dempster.cluster.prototypes.catecm import CatECM
from dempster.cluster.prototypes.ccm import CCM
from dempster.cluster.prototypes.cecm import CECM
from dempster.cluster.prototypes.ecm import ECM
from dempster.cluster.prototypes.secm import SECM
from dempster.cluster.relational.ecmdd import ECMdd
from dempster.cluster.relational.mecm import MECM
from dempster.cluster.relational.recm import RECM
from dempster.cluster.relational.wecmdd import WECMdd
from dempster.cluster.views.wmvec import WMVEC

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
