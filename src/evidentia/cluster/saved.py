"""What files may hold of this package: the estimators, and the models that they keep."""

from evidentia.cluster._mass_step import MassStep
from evidentia.cluster.evclus._doubt_model import DoubtModel, Surroundings
from evidentia.cluster.evclus._model import EvclusModel
from evidentia.cluster.evclus._scale import Scale, ScaleTrial
from evidentia.cluster.evclus.evclus import EVCLUS
from evidentia.cluster.evclus.network._feed_forward import FeedForward
from evidentia.cluster.evclus.network._mass_layer import MassLayer
from evidentia.cluster.evclus.network._model import NetworkModel
from evidentia.cluster.evclus.network._preparation import Preparation
from evidentia.cluster.evclus.nnevclus import NNEVCLUS
from evidentia.cluster.evclus.shepard import ShepardData
from evidentia.cluster.evclus.training import Training
from evidentia.cluster.mixtures._bootstrap import Bootstraps
from evidentia.cluster.mixtures._evidential_mixture import EvidentialMixture, MixtureSums
from evidentia.cluster.mixtures._intervals import PairIntervals
from evidentia.cluster.mixtures._online import OnlineMixture
from evidentia.cluster.mixtures._pair_fit import PairFamily, PairMasses
from evidentia.cluster.mixtures._pair_model import PairModel
from evidentia.cluster.mixtures.bootclus import BootClus
from evidentia.cluster.mixtures.egmm import EGMM
from evidentia.cluster.mixtures.mixture_fits import MixtureFits
from evidentia.cluster.neighbors._graph import Evidence
from evidentia.cluster.neighbors._model import NeighborModel
from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks
from evidentia.cluster.neighbors.eknnclus import EKNNClus
from evidentia.cluster.number import NumberOfClusters
from evidentia.cluster.prototypes._categorical import CategoricalModel
from evidentia.cluster.prototypes._categories import CategoryEncoder
from evidentia.cluster.prototypes._constrained import ConstrainedModel, LinkedPrototypes
from evidentia.cluster.prototypes._credal import CredalModel
from evidentia.cluster.prototypes._lifted import SpatialModel
from evidentia.cluster.prototypes._model import OnlinePrototypes, PrototypeModel, Statistics
from evidentia.cluster.prototypes.bpec import BPEC
from evidentia.cluster.prototypes.catecm import CatECM
from evidentia.cluster.prototypes.ccm import CCM
from evidentia.cluster.prototypes.cecm import CECM
from evidentia.cluster.prototypes.ecm import ECM
from evidentia.cluster.prototypes.secm import SECM
from evidentia.cluster.relational._median import MedianModel
from evidentia.cluster.relational._single_medoids import SingleMedoidModel
from evidentia.cluster.relational._weighted_means import WeightedMeans, WeightedMeansModel
from evidentia.cluster.relational._weighted_medoids import SetCosts, WeightedMedoidModel
from evidentia.cluster.relational.ecmdd import ECMdd
from evidentia.cluster.relational.mecm import MECM
from evidentia.cluster.relational.recm import RECM
from evidentia.cluster.relational.wecmdd import WECMdd
from evidentia.cluster.views._input import View, ViewInput
from evidentia.cluster.views._medoids import MedoidViewModel
from evidentia.cluster.views._prototypes import Coordinates, ViewModel
from evidentia.cluster.views.wmvec import WMVEC
from evidentia.io.schema import Schema

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
