"""Evidential clustering: one algorithm a file."""

from importlib import import_module

_WHERE = {
    "EVCLUS": "evidentia.cluster.evclus.evclus",
    "NNEVCLUS": "evidentia.cluster.evclus.nnevclus",
    "Training": "evidentia.cluster.evclus.training",
    "BootClus": "evidentia.cluster.mixtures.bootclus",
    "EGMM": "evidentia.cluster.mixtures.egmm",
    "BeliefPeaks": "evidentia.cluster.neighbors.belief_peaks",
    "EKNNClus": "evidentia.cluster.neighbors.eknnclus",
    "BPEC": "evidentia.cluster.prototypes.bpec",
    "CatECM": "evidentia.cluster.prototypes.catecm",
    "CCM": "evidentia.cluster.prototypes.ccm",
    "CECM": "evidentia.cluster.prototypes.cecm",
    "ECM": "evidentia.cluster.prototypes.ecm",
    "SECM": "evidentia.cluster.prototypes.secm",
    "ECMdd": "evidentia.cluster.relational.ecmdd",
    "MECM": "evidentia.cluster.relational.mecm",
    "RECM": "evidentia.cluster.relational.recm",
    "WECMdd": "evidentia.cluster.relational.wecmdd",
}


def __getattr__(name):
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(name)


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
]
