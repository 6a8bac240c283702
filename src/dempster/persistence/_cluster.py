"""What files may hold of this package: the estimators, and the models that they keep."""

from __future__ import annotations

from dempster.cluster._lifted import SpatialModel
from dempster.cluster._mass_step import MassStep
from dempster.cluster.belief_peaks import BeliefPeaks
from dempster.cluster.bootclus import (
    BootClus,
    Bootstraps,
    MixtureFits,
    PairFamily,
    PairIntervals,
    PairMasses,
    PairModel,
)
from dempster.cluster.bpec import BPEC
from dempster.cluster.catecm import CatECM, CategoricalModel, CategoryEncoder
from dempster.cluster.ccm import CCM, CredalModel
from dempster.cluster.cecm import CECM, ConstrainedModel, LinkedPrototypes
from dempster.cluster.ecm import ECM, OnlinePrototypes, PrototypeModel, Statistics
from dempster.cluster.ecmdd import ECMdd, SingleMedoidModel
from dempster.cluster.egmm import EGMM, EvidentialMixture, MixtureSums, OnlineMixture
from dempster.cluster.eknnclus import EKNNClus, Evidence, NeighborModel
from dempster.cluster.evclus._model import DoubtModel, EvclusModel, Surroundings
from dempster.cluster.evclus._network import FeedForward, MassLayer
from dempster.cluster.evclus._scale import Scale, ScaleTrial
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS, NetworkModel, Preparation, Training
from dempster.cluster.evclus.shepard import ShepardData
from dempster.cluster.mecm import MECM, MedianModel
from dempster.cluster.number import NumberOfClusters
from dempster.cluster.recm import RECM, WeightedMeans, WeightedMeansModel
from dempster.cluster.secm import SECM
from dempster.cluster.wecmdd import SetCosts, WECMdd, WeightedMedoidModel
from dempster.cluster.wmvec import WMVEC, Coordinates, MedoidViewModel, View, ViewInput, ViewModel
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


_ESTIMATORS = (
    *(BeliefPeaks, BootClus, BPEC, CatECM, CCM, CECM, ECM, ECMdd, EGMM, EKNNClus, EVCLUS, MECM, NNEVCLUS),
    *(RECM, SECM, WECMdd, WMVEC),
)
_MODELS = (
    *(MassStep, PrototypeModel, LinkedPrototypes, ConstrainedModel, CredalModel, SpatialModel, CategoricalModel),
    *(MedianModel, SingleMedoidModel, WeightedMeans, WeightedMeansModel, SetCosts, WeightedMedoidModel),
    *(EvclusModel, DoubtModel, Surroundings, Scale, ScaleTrial, ShepardData),
    *(NetworkModel, MassLayer, Preparation, Training),
    *(Bootstraps, EvidentialMixture, MixtureFits, PairFamily, PairMasses, PairModel),
    *(Evidence, NeighborModel, NumberOfClusters),
    *(View, ViewModel, Coordinates, MedoidViewModel),
    *(OnlinePrototypes, Statistics, OnlineMixture, MixtureSums),
)

SAVED = (
    *map(Schema.of, (*_ESTIMATORS, *_MODELS)),
    Schema.of_attributes(CategoryEncoder, "names", "missing", "_encoder", "levels", "offsets"),
    Schema.of_attributes(
        ViewInput,
        *("metric", "symmetrize", "views", "names", "several", "of_column", "_doors", "_readers", "_orders"),
    ),
    Schema.of_attributes(FeedForward, "sizes", "layer", "_weights"),
    Schema.of_attributes(PairIntervals, "partition", "objects", "_lower", "_upper", "confidence"),
)
