"""What files may hold of this package: the estimators, and the models that they keep."""

from __future__ import annotations

from dempster.cluster._mass_step import MassStep
from dempster.cluster.evclus._doubt_model import DoubtModel, Surroundings
from dempster.cluster.evclus._model import EvclusModel
from dempster.cluster.evclus._scale import Scale, ScaleTrial
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.network._feed_forward import FeedForward
from dempster.cluster.evclus.network._mass_layer import MassLayer
from dempster.cluster.evclus.network._model import NetworkModel
from dempster.cluster.evclus.network._preparation import Preparation
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.cluster.evclus.shepard import ShepardData
from dempster.cluster.evclus.training import Training
from dempster.cluster.mixtures._bootstrap import Bootstraps
from dempster.cluster.mixtures._evidential_mixture import EvidentialMixture, MixtureSums
from dempster.cluster.mixtures._intervals import PairIntervals
from dempster.cluster.mixtures._online import OnlineMixture
from dempster.cluster.mixtures._pair_fit import PairFamily, PairMasses
from dempster.cluster.mixtures._pair_model import PairModel
from dempster.cluster.mixtures.bootclus import BootClus
from dempster.cluster.mixtures.egmm import EGMM
from dempster.cluster.mixtures.mixture_fits import MixtureFits
from dempster.cluster.neighbors._graph import Evidence
from dempster.cluster.neighbors._model import NeighborModel
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.eknnclus import EKNNClus
from dempster.cluster.number import NumberOfClusters
from dempster.cluster.prototypes._categorical import CategoricalModel
from dempster.cluster.prototypes._categories import CategoryEncoder
from dempster.cluster.prototypes._constrained import ConstrainedModel, LinkedPrototypes
from dempster.cluster.prototypes._credal import CredalModel
from dempster.cluster.prototypes._lifted import SpatialModel
from dempster.cluster.prototypes._model import OnlinePrototypes, PrototypeModel, Statistics
from dempster.cluster.prototypes.bpec import BPEC
from dempster.cluster.prototypes.catecm import CatECM
from dempster.cluster.prototypes.ccm import CCM
from dempster.cluster.prototypes.cecm import CECM
from dempster.cluster.prototypes.ecm import ECM
from dempster.cluster.prototypes.secm import SECM
from dempster.cluster.relational._median import MedianModel
from dempster.cluster.relational._single_medoids import SingleMedoidModel
from dempster.cluster.relational._weighted_means import WeightedMeans, WeightedMeansModel
from dempster.cluster.relational._weighted_medoids import SetCosts, WeightedMedoidModel
from dempster.cluster.relational.ecmdd import ECMdd
from dempster.cluster.relational.mecm import MECM
from dempster.cluster.relational.recm import RECM
from dempster.cluster.relational.wecmdd import WECMdd
from dempster.cluster.views._input import View, ViewInput
from dempster.cluster.views._medoids import MedoidViewModel
from dempster.cluster.views._prototypes import Coordinates, ViewModel
from dempster.cluster.views.wmvec import WMVEC
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
