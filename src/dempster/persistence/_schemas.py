"""Schemas of the classes of dempster, in one function for each package.

The function imports the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster.belief import FocalSets, MassFunctions, Opinions
from dempster.partition import CredalPartition
from dempster.persistence.schema import Schema, check_names, check_parts

_MASS_TOLERANCE = 1e-3  # tolerance for the sum of masses in single or double precision


# ---- values --------------------------------------------------------------------------------------


def _belief() -> tuple[Schema, ...]:
    return (
        Schema.from_arguments(FocalSets, ["membership"]),
        _mass_schema(MassFunctions),
        Schema.from_fields(Opinions, belief="n c", uncertainty="n", base_rate="c"),
    )


def _partition() -> tuple[Schema, ...]:
    return (_mass_schema(CredalPartition, metadata=dict),)


def _mass_schema(kind: Any, **more: Any) -> Schema:
    names = ("masses", "focal_sets", "index", "frame", *more)

    def build(parts: dict[str, Any]) -> Any:
        """Build the object with exactly the saved masses, without normalization."""
        check_names(parts, names)
        check_parts(parts, {"focal_sets": FocalSets, **more})
        masses = parts["masses"]
        family = parts["focal_sets"]
        index = parts["index"]
        check_parts(parts, {"masses": "n n_sets"}, {"n_sets": len(family)})
        if masses.dtype.kind != "f" or not (masses >= 0).all():
            raise InvalidInputError("masses must be nonnegative and sum to one")
        if masses.size and np.abs(masses.sum(axis=1) - 1).max() > _MASS_TOLERANCE:
            raise InvalidInputError("masses must be nonnegative and sum to one")
        if index is not None and (isinstance(index, str) or len(index) != len(masses)):
            raise InvalidInputError(
                f"index must contain one name for each of the {len(masses)} rows"
            )
        frame = kind(masses[:0], family, frame=parts["frame"]).frame
        metadata = {name: parts[name] for name in more}
        check_parts(metadata.get("metadata", {}), {"choices": dict})
        return kind.unchecked(masses, family, index, frame, **metadata)

    return Schema(kind, lambda obj: {name: getattr(obj, name) for name in names}, build)


def _constraints() -> tuple[Schema, ...]:
    from dempster.constraints.constraints import Constraints

    return (Schema.from_arguments(Constraints, ["must_link", "cannot_link", "n_objects"]),)


# ---- dissimilarities, metrics, mixtures ----------------------------------------------------------


def _dissimilarity() -> tuple[Schema, ...]:
    from dempster.dissimilarity.categories import CategoryEncoder
    from dempster.dissimilarity.gower import GowerData, GowerEncoder
    from dempster.dissimilarity.input import DissimilarityInput
    from dempster.dissimilarity.neighbors import PointTree
    from dempster.dissimilarity.pca import DissimilarityPCA
    from dempster.dissimilarity.sources import (
        AttributeSource,
        GowerSource,
        MatrixSource,
        References,
        SparseSource,
    )

    arguments = ("metric", "symmetrize", "sparse", "centered", "fewest", "remedy")
    names = (*arguments, "origin", "encoder")

    def build_input(parts: dict[str, Any]) -> DissimilarityInput:
        check_names(parts, names)
        check_parts(parts, {"origin": "p?", "encoder": GowerEncoder | None})
        obj = DissimilarityInput(**{name: parts[name] for name in arguments})
        obj.origin = parts["origin"]
        obj.encoder = parts["encoder"]
        return obj

    cells = {"numeric": "n p1", "codes": "n p2:int32", "positions": "n:int"}
    columns = {"is_categorical_": "p", "minimum_": "p1", "range_": "p1"}
    components = dict.fromkeys(
        ("scale_", "explained_variance_", "explained_variance_ratio_"), "n_components"
    )
    categories = {
        "names": list,
        "missing": str,
        "_encoder": GowerEncoder,
        "levels": list,
        "offsets": "*:int",
    }
    attributes = {"X": "objects", **{name: name for name in ("metric", "parameters", "within")}}
    return (
        Schema.from_fields(References, positions="r:int"),
        Schema.from_fields(GowerData, **cells),
        Schema.from_estimator(GowerEncoder, **columns, categories_=list, column_names_=list),
        Schema.from_attributes(CategoryEncoder, **categories),
        Schema.from_estimator(
            DissimilarityPCA, **components, components_="n_components n_objects", mean_="n_objects"
        ),
        Schema(
            DissimilarityInput,
            lambda obj: {name: getattr(obj, name) for name in names},
            build_input,
        ),
        Schema.from_arguments(
            AttributeSource, attributes, optional=["within"], X="n p", within="p?"
        ),
        Schema.from_arguments(
            GowerSource, ["objects", "usual"], optional=["usual"], objects=GowerData
        ),
        Schema.from_arguments(MatrixSource, {"D": "matrix"}),
        Schema.from_arguments(SparseSource, {"D": "stored"}),
        # The tree is rebuilt from its points, because a file may contain invalid indices.
        Schema.from_arguments(PointTree, {"X": "points", "p": "p", "n_jobs": "n_jobs"}, X="n d"),
    )


def _metric() -> tuple[Schema, ...]:
    from dempster.metric import FDA, KFDA, KPCCA, LFDA, MMC, PCCA, DMLEig

    linear = {"components_": "n_components n_features"}
    kernel = {"components_": "n_components n_support", "support_vectors_": "n_support n_features"}
    return (
        *(Schema.from_estimator(kind, **linear) for kind in (PCCA, FDA, LFDA, MMC, DMLEig)),
        *(
            Schema.from_estimator(kind, **kernel, support_="n_support", gamma_=float)
            for kind in (KPCCA, KFDA)
        ),
    )


def _mixture() -> tuple[Schema, ...]:
    from dempster.dissimilarity.categories import CategoryEncoder
    from dempster.mixture.em import GaussianParameters
    from dempster.mixture.gaussian_mixture import ParsimoniousGaussianMixture
    from dempster.mixture.latent_class import LatentClassModel, LatentClassParameters

    def check_model(model: Any) -> None:
        if not np.array_equal(model.parameters_.offsets, model._encoder.offsets):
            raise InvalidInputError("parameters_.offsets must be equal to _encoder.offsets")
        _check_categories(model._encoder, model.n_features_in_, model.parameters_.probabilities)

    classes = {
        "weights_": "g",
        "probabilities_": list,
        "categories_": list,
        "_encoder": CategoryEncoder,
    }
    fitted = {"weights_": "g", "means_": "g n_features", "covariances_": "g n_features n_features"}
    return (
        Schema.from_estimator(
            ParsimoniousGaussianMixture, **fitted, parameters_=GaussianParameters
        ),
        Schema.from_fields(
            GaussianParameters,
            proportions="g",
            means="g d",
            covariances="g d d",
            orientation="d d?",
        ),
        Schema.from_estimator(
            LatentClassModel, check_model, **classes, parameters_=LatentClassParameters
        ),
        Schema.from_fields(
            LatentClassParameters, proportions="g", probabilities="g C", offsets="p+1:int"
        ),
    )


def _check_categories(encoder: Any, n_features: int, probabilities: np.ndarray) -> None:
    """Raise an error unless there is a probability for each category, because they are looked up by their number."""
    sizes = [len(level) for level in encoder.levels]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    if len(sizes) != n_features or sizes != [len(found) for found in encoder._encoder.categories_]:
        raise InvalidInputError("levels must contain the categories of each column")
    if not np.array_equal(encoder.offsets, offsets):
        raise InvalidInputError(
            "offsets must contain the number of the first category of each column"
        )
    if probabilities.shape[-1] != offsets[-1]:
        raise InvalidInputError(f"probabilities must be those of the {offsets[-1]} categories")


# ---- clusterers ----------------------------------------------------------------------------------


def _cluster() -> tuple[Schema, ...]:
    return (*_prototype_methods(), *_relational_methods(), *_evclus_methods(), *_other_methods())


def _prototype_methods() -> tuple[Schema, ...]:
    from dempster.cluster._lifted import AdaptiveSpatialModel, SpatialModel
    from dempster.cluster._mass_step import MassStep
    from dempster.cluster.bpec import BPEC
    from dempster.cluster.catecm import CatECM, CategoricalModel
    from dempster.cluster.ccm import CCM, CredalModel
    from dempster.cluster.cecm import CECM, ConstrainedModel, LinkedPrototypes
    from dempster.cluster.ecm import ECM, OnlinePrototypes, PrototypeModel, Statistics
    from dempster.cluster.secm import SECM
    from dempster.cluster.soft import (
        FuzzyCMeans,
        NoiseClustering,
        PossibilisticCMeans,
        PossibilisticModel,
        RoughKMeans,
        RoughModel,
    )
    from dempster.dissimilarity.categories import CategoryEncoder

    prototypes = {"centers": "c p", "metrics": "c p p?", "within": "p?"}
    image = {"cluster_centers_": "n_clusters n_channels", "labels_": "* *", "_smoothing": tuple}
    image["metric_matrices_"] = "n_clusters n_channels n_channels?"
    categories = {"cluster_centers_": "n_clusters n_features:any", "_encoder": CategoryEncoder}
    categories |= {"_encoder.offsets": "n_features+1:int"}
    return (
        _clusterer(ECM, PrototypeModel),
        *(_clusterer(kind, PrototypeModel) for kind in (BPEC, FuzzyCMeans, NoiseClustering)),
        _clusterer(PossibilisticCMeans, PossibilisticModel),
        _clusterer(RoughKMeans, RoughModel),
        _clusterer(CCM, CredalModel),
        _clusterer(CECM, ConstrainedModel),
        _clusterer(SECM, SpatialModel | AdaptiveSpatialModel, **image),
        _clusterer(CatECM, CategoricalModel, **categories),
        Schema.from_fields(MassStep),
        *(
            Schema.from_fields(kind, **prototypes)
            for kind in (PrototypeModel, CredalModel, SpatialModel, RoughModel)
        ),
        Schema.from_fields(PossibilisticModel, **prototypes, scales="c"),
        Schema.from_fields(AdaptiveSpatialModel, centers="c w", metrics="c p p?", within="w?"),
        Schema.from_fields(LinkedPrototypes, **prototypes, linked_masses="q f?"),
        Schema.from_fields(ConstrainedModel, linked_masses="q f"),
        Schema.from_fields(OnlinePrototypes, origin="p?"),
        Schema.from_fields(Statistics, total="g", first="p g", second="* * g"),
        Schema.from_fields(CategoricalModel, modes="c p:int", offsets="p+1:int"),
        # its package in the first files
        *(schema for schema in _dissimilarity() if schema.cls is CategoryEncoder),
    )


def _clusterer(
    kind: Any, model: Any, check: Callable[[Any], None] | None = None, /, **attributes: Any
) -> Schema:
    return Schema.from_estimator(kind, check, _model=model, focal_sets_=FocalSets, **attributes)


def _relational_methods() -> tuple[Schema, ...]:
    from dempster.cluster.belief_peaks import BeliefPeaks
    from dempster.cluster.ecmdd import ECMdd, SingleMedoidModel
    from dempster.cluster.eknnclus import EKNNClus, Evidence, NeighborModel
    from dempster.cluster.mecm import MECM, MedianModel
    from dempster.cluster.recm import RECM, WeightedMeans, WeightedMeansModel
    from dempster.cluster.wecmdd import SetCosts, WECMdd, WeightedMedoidModel
    from dempster.dissimilarity.input import DissimilarityInput
    from dempster.dissimilarity.sources import References

    data = {"_input": DissimilarityInput, "_input.origin": "n_features?"}
    weights = {"prototype_weights_": "n_clusters n_candidates"}
    weighted = {
        "gaps": "c c?",
        "weights": "c L",
        "counts": "L",
        "step.sets": "g *",
        "costs_of.coefficients": "g L",
    }
    peaks = dict.fromkeys(("belief_", "delta_", "prominence_"), "n_objects")
    peaks |= {"nearest_higher_": "n_objects:int", "peak_indices_": "n_clusters:int"}
    peaks |= {
        "labels_": "n_objects?",
        "_drawn_labels": "n_objects?",
        "_references.positions": "n_objects:int",
    }
    return (
        Schema.from_estimator(BeliefPeaks, **data, **peaks, _references=References),
        _clusterer(ECMdd, SingleMedoidModel, **data),
        _clusterer(MECM, MedianModel, **data),
        _clusterer(WECMdd, WeightedMedoidModel, **data, **weights),
        _clusterer(RECM, WeightedMeansModel, **data, **weights),
        _clusterer(
            EKNNClus,
            NeighborModel,
            **data,
            scale_=float,
            n_clusters_found_="s",
            objectives_found_="s",
        ),
        Schema.from_fields(MedianModel, gaps="c c?", between="c c"),
        Schema.from_fields(SingleMedoidModel, gaps="c c?"),
        Schema.from_fields(WeightedMeans, weights="c n", inner="c c?"),
        Schema.from_fields(WeightedMeansModel),
        Schema.from_fields(SetCosts, coefficients="g L", means="g g?"),
        Schema.from_fields(WeightedMedoidModel, **weighted),
        Schema.from_fields(Evidence),
        Schema.from_fields(NeighborModel, labels="n", own_masses="n f"),
    )


def _evclus_methods() -> tuple[Schema, ...]:
    from dempster.cluster.evclus._model import DoubtModel, EvclusModel, ShepardData, Surroundings
    from dempster.cluster.evclus._network import FeedForward, MassLayer
    from dempster.cluster.evclus._pairs import Scale, ScaleTrial
    from dempster.cluster.evclus._transforms import LinearTransform, RankTransform
    from dempster.cluster.evclus.evclus import EVCLUS
    from dempster.cluster.evclus.nnevclus import NNEVCLUS, NetworkModel, Preparation, Training
    from dempster.dissimilarity.input import DissimilarityInput

    def check_transform(estimator: Any) -> None:
        check_parts(
            {"_transform": estimator._transform},
            {"_transform": LinearTransform | RankTransform | None},
        )

    data = {"_input": DissimilarityInput, "_input.origin": "n_features?"}
    return (
        _clusterer(EVCLUS, EvclusModel | DoubtModel, check_transform, **data, _shepard=ShepardData),
        _clusterer(NNEVCLUS, NetworkModel, _check_network, evclus_=EVCLUS, _shepard=ShepardData),
        Schema.from_fields(EvclusModel, reference_masses="r f", counts="r?"),
        Schema.from_fields(DoubtModel, labels="r:int64", reference_masses="r f"),
        Schema.from_fields(Surroundings, weights="r", scales="r"),
        Schema.from_fields(ShepardData, dissimilarity="k", delta="k", conflict="k"),
        Schema.from_fields(RankTransform, values="u", counts="u+1"),
        *map(
            Schema.from_fields,
            (LinearTransform, Scale, ScaleTrial, NetworkModel, MassLayer, Preparation, Training),
        ),
        Schema.from_attributes(FeedForward, sizes=tuple, layer=MassLayer, _weights="*"),
    )


def _other_methods() -> tuple[Schema, ...]:
    from dempster.classify import ConformalClassifier
    from dempster.cluster import bootclus
    from dempster.cluster._pool import PooledModel
    from dempster.cluster._view_input import View, ViewInput
    from dempster.cluster._view_medoids import MedoidViewModel
    from dempster.cluster._view_prototypes import Coordinates, ViewModel
    from dempster.cluster.conformal import ConformalClustering, ConformalNoveltyDetector
    from dempster.cluster.credal import CredalClustering
    from dempster.cluster.egmm import EGMM, EvidentialMixture, MixtureSums, OnlineMixture
    from dempster.cluster.evclus._model import DoubtModel, EvclusModel
    from dempster.cluster.number_of_clusters import NumberOfClusters
    from dempster.cluster.wmvec import WMVEC
    from dempster.dissimilarity.categories import CategoryEncoder
    from dempster.dissimilarity.input import DissimilarityInput

    def check_encoder(estimator: Any) -> None:
        encoder = estimator._encoder
        bootstraps = estimator._model.bootstraps
        check_parts({"_encoder": encoder}, {"_encoder": CategoryEncoder | None})
        if isinstance(bootstraps, bootclus.LatentClassBootstraps) != (encoder is not None):
            raise InvalidInputError(
                "_encoder must be None if and only if the mixtures are Gaussian"
            )
        if encoder is not None:
            _check_categories(encoder, estimator.n_features_in_, bootstraps.probabilities)

    components = {"means": "c p", "covariance": "p p|c p p", "weights": "g", "origin": "p?"}
    fits = {
        "_fits": bootclus.MixtureFits | None,
        "bootstraps_": bootclus.Bootstraps | bootclus.LatentClassBootstraps,
    }
    classes = {"proportions": "B c", "probabilities": "B c *", "log_likelihood": "B"}
    samples = {
        "proportions": "B c",
        "means": "B c d",
        "covariances": "B c d d",
        "log_likelihood": "B",
    }
    intervals = {
        "partition": CredalPartition,
        "objects": "r",
        "_lower": "*",
        "_upper": "*",
        "confidence": float,
    }
    views = {
        "medoid_indices_": "n_views n_clusters:int?",
        "view_weights_": "n_views",
        "view_dispersion_": "n_views",
    }
    sets = {
        "soft_labels_": "n_samples n_clusters",
        "sets_": "n_samples n_clusters:bool",
        "stability_": float,
    }
    columns = {
        "metric": str,
        "symmetrize": bool,
        "names": list,
        "of_column": "*:int",
    }
    return (
        _clusterer(bootclus.BootClus, bootclus.PairModel, check_encoder, **fits),
        Schema.from_fields(bootclus.Bootstraps, **samples),
        Schema.from_fields(bootclus.LatentClassBootstraps, **classes),
        Schema.from_fields(bootclus.MixtureFits, posterior="n c"),
        Schema.from_fields(bootclus.PairFamily, columns="f", forms="2 f f"),
        Schema.from_fields(bootclus.PairMasses, masses="r f"),
        Schema.from_fields(bootclus.PairModel, **{"compared": "r", "fitted.masses": "r *"}),
        Schema.from_attributes(bootclus.PairIntervals, **intervals),
        _clusterer(EGMM, EvidentialMixture),
        _clusterer(
            CredalClustering,
            DoubtModel | EvclusModel | PooledModel,
            _input=DissimilarityInput,
            _candidates=list,
            candidate_labels_="m n:int?",
            candidate_points_="n 2?",
        ),
        Schema.from_fields(PooledModel, weights="m", orders="m c:int"),
        Schema.from_estimator(
            ConformalClustering, clusterer_=Any, classifier_=ConformalClassifier, **sets
        ),
        Schema.from_estimator(ConformalNoveltyDetector, detector_=Any, calibration_scores_="m"),
        Schema.from_fields(EvidentialMixture, _check_components, **components),
        Schema.from_fields(OnlineMixture, origin="p"),
        Schema.from_fields(MixtureSums, total="g", first="g p", second="* * *"),
        Schema.from_fields(
            NumberOfClusters,
            n_clusters="k:int",
            silhouette="k",
            likelihood_one_size="k",
            likelihood_own_sizes="k",
        ),
        _clusterer(WMVEC, ViewModel | MedoidViewModel, **views, _input=ViewInput),
        Schema.from_fields(ViewModel, centers="c p", weights="V", dispersion="V"),
        Schema.from_fields(
            MedoidViewModel,
            dispersions="V",
            medoids="V c:int",
            between="V c c",
            weights="V",
            dispersion="V",
        ),
        Schema.from_fields(Coordinates, view="p:int", origin="p", unit="V", varies="V"),
        Schema.from_estimator(View),
        Schema.from_attributes(
            ViewInput, **columns, **dict.fromkeys(("_inputs", "_readers", "_orders"), list)
        ),
    )


def _check_components(mixture: Any) -> None:
    if len(mixture.weights) != (mixture.components.cardinality > 0).sum():
        raise InvalidInputError(
            "weights must contain one number for each nonempty set of components"
        )


def _check_network(estimator: Any) -> None:
    """Raise an error if the sizes of the layers do not match the numbers of features and focal sets."""
    from dempster.cluster.evclus._network import FeedForward

    model = estimator._model
    network = model.network
    mean = model.preparation.mean
    scale = model.preparation.scale
    if mean.shape != scale.shape:
        raise InvalidInputError(
            f"scale must have the shape of mean, {mean.shape}, got {scale.shape}"
        )
    if isinstance(network, FeedForward):
        n_weights = sum((a + 1) * b for a, b in pairwise(network.sizes)) + len(
            network.layer.first_coefficients
        )
        ends = (estimator.n_features_in_, len(model.family))
        if (
            mean.shape != ends[:1]
            or (network.sizes[0], network.sizes[-1]) != ends
            or len(network.weights) != n_weights
        ):
            raise InvalidInputError(
                "the layers of network must match n_features_in_, mean, scale and family"
            )


def _networks() -> tuple[Schema, ...]:
    """Return the schema of torch networks, which is separate because torch is slow to import."""
    import torch

    from dempster.cluster.evclus._torch_network import TorchNetwork

    def parts(network: TorchNetwork) -> dict[str, Any]:
        numbers = {"coefficients": network.coefficients, "matrix": network.matrix}
        arrays = {
            name: None if value is None else value.detach().cpu().numpy()
            for name, value in numbers.items()
        }
        return {"body": network.body, "layer": network.layer, **arrays}

    def build(parts: dict[str, Any]) -> TorchNetwork:
        """Build the network on the CPU."""
        check_names(
            parts, ("body", "layer", "coefficients", "matrix"), ("body", "layer", "coefficients")
        )
        check_parts(parts, {"matrix": "* f?", "coefficients": "2?"})
        network = TorchNetwork(parts["body"], parts["layer"], parts.get("matrix"))
        if (network.coefficients is None) != (parts["coefficients"] is None):
            raise InvalidInputError(
                "the coefficients of the outlier unit do not match the mass layer"
            )
        if network.coefficients is not None:
            with torch.no_grad():
                network.coefficients.copy_(torch.as_tensor(parts["coefficients"]))
        return network.eval()

    return (Schema(TorchNetwork, parts, build),)


# ---- classifiers, explanations -------------------------------------------------------------------


def _classify() -> tuple[Schema, ...]:
    from dempster.classify.conformal import ConformalClassifier
    from dempster.classify.discounting import ContextualDiscounting
    from dempster.classify.eknn import EKNNClassifier, SoftLabels
    from dempster.classify.evidence import EvidenceFromClassifier
    from dempster.classify.neural_network import EvidentialNeuralNetworkClassifier
    from dempster.classify.rbf import EvidentialRBFClassifier

    every = {"classes_": "n_classes:any", "focal_sets_": FocalSets}
    evidence = {
        "estimator_": Any,
        "feature_means_": "J",
        "slopes_": "J n_classes",
        "offsets_": "J n_classes",
    }
    neighbors: dict[str, Any] = {
        "_search": Any,
        "_codes": np.ndarray | None,
        "_soft": SoftLabels | None,
    }
    neighbors |= {
        "_n_training": int,
        "_reliability": float,
        "n_neighbors_": int,
        "gamma_": "n_classes",
    }
    places = {"prototypes_": "r n_features", "gamma_": "r", "_centre": "n_features", "_unit": float}
    network = {"_network": ("r n_features", "r", "r", "r n_classes")}
    radial = {"_network": ("r n_features", "r"), "prototype_weights_": "r n_classes"}
    calibration = {"estimators_": list, "calibration_scores_": "m", "calibration_classes_": "m:int"}
    calibration |= {"calibration_folds_": "m:int", "calibration_weights_": "m"}
    return (
        Schema.from_estimator(
            ConformalClassifier, _check_calibration, classes_="n_classes:any", **calibration
        ),
        Schema.from_estimator(ContextualDiscounting, classes_="c:any", rates_="l", contexts_=list),
        Schema.from_estimator(EKNNClassifier, _check_neighbors, **every, **neighbors),
        Schema.from_estimator(EvidenceFromClassifier, **every, **evidence),
        Schema.from_estimator(EvidentialNeuralNetworkClassifier, **every, **places, **network),
        Schema.from_estimator(EvidentialRBFClassifier, **every, **places, **radial),
        Schema.from_attributes(SoftLabels, family=FocalSets, missing="n f", _supersets="f f"),
    )


def _check_calibration(model: Any) -> None:
    """Raise an error unless each calibration sample has a class and a classifier."""
    for name, n in (
        ("calibration_classes_", len(model.classes_)),
        ("calibration_folds_", len(model.estimators_)),
    ):
        if not np.isin(getattr(model, name), np.arange(n)).all():
            raise InvalidInputError(f"{name} must contain integers from 0 to {n - 1}")


def _check_neighbors(model: Any) -> None:
    """Raise an error unless each training sample has a label, either the index of a class or a mass function."""
    codes = model._codes
    soft = model._soft
    n = model._n_training
    if (codes is None) == (soft is None):
        raise InvalidInputError("exactly one of _codes and _soft must be None")
    if soft is not None and len(soft.missing) != n:
        raise InvalidInputError(f"_soft must contain a label for each of the {n} training samples")
    if codes is not None:
        fits = codes.dtype.kind in "iu" and codes.shape == (n,)
        if not fits or codes.min() < 0 or codes.max() >= len(model.classes_):
            raise InvalidInputError(
                "_codes must be an array with the index of a class for each training sample"
            )


def _explain() -> tuple[Schema, ...]:
    from dempster.explain.cautious_tree import CautiousTree, SplitColumn, TreeNode

    return (
        Schema.from_estimator(
            CautiousTree, _check_nodes, focal_sets_=FocalSets, nodes_=tuple, _columns=list
        ),
        Schema.from_fields(TreeNode, mass="f", set_shares="f"),
        Schema.from_fields(SplitColumn),
    )


def _check_nodes(tree: Any) -> None:
    """Raise an error unless the nodes of a tree are numbered in order and children come after their parents."""
    for number, node in enumerate(tree.nodes_):
        children = node.children
        if node.column is None:
            n_children = 0
        else:
            n_children = 2
        if (
            node.number != number
            or not all(map(rule.is_integer, children))
            or len(children) != n_children
        ):
            raise InvalidInputError(
                f"node {number} of nodes_ must have the number {number}, and two children or none"
            )
        if not all(number < child < len(tree.nodes_) for child in children):
            raise InvalidInputError(
                f"the children of node {number} of nodes_ must come after it, got {children}"
            )


# ---- scikit-learn --------------------------------------------------------------------------------


def _sklearn() -> tuple[Schema, ...]:
    """Return the schemas of scikit-learn estimators that estimators of dempster may contain."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import NearestNeighbors
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
    from sklearn.svm import OneClassSVM

    def build_search(parts: dict[str, Any]) -> NearestNeighbors:
        """Fit the neighbor search again, because a file may contain invalid indices."""
        check_names(parts, ("parameters", "points"))
        return NearestNeighbors(**parts["parameters"]).fit(parts["points"])

    scalers = (StandardScaler, MinMaxScaler, RobustScaler)
    plain = (LogisticRegression, LinearDiscriminantAnalysis, GaussianMixture, *scalers)
    return (
        *map(Schema.from_estimator, plain),
        Schema.from_estimator(OneClassSVM, _check_vectors),
        Schema(
            NearestNeighbors,
            lambda found: {
                "parameters": found.get_params(deep=False),
                "points": vars(found)["_fit_X"],
            },
            build_search,
        ),
        Schema.from_arguments(Pipeline, ["steps", "memory", "verbose"]),
    )


def _check_vectors(detector: Any) -> None:
    """Raise an error if arrays have wrong lengths, because libsvm would read beyond their ends."""
    state = vars(detector)
    if "support_" not in state:  # not fitted
        return
    shapes = {
        "support_": "n:int32",
        "_n_support": "2:int32",
        "_probA": "0:float64",
        "_probB": "0:float64",
    }
    shapes |= {"support_vectors_": "n p:float64", "_dual_coef_": "1 n:float64"}
    shapes |= {"_intercept_": "1:float64", "offset_": "1:float64"}
    check_names(state, state, shapes)
    check_parts(state, shapes, {"p": state["n_features_in_"]})
    n = len(state["support_"])
    counts = state["_n_support"]
    if counts.min() < 0 or counts.max() > n or state["_sparse"] is not False:
        raise InvalidInputError(
            f"_n_support must contain counts of at most {n} dense support vectors"
        )
    rule.check_choice(state["kernel"], "kernel", ("linear", "poly", "rbf", "sigmoid"))


TABLES: Mapping[str, Callable[[], tuple[Schema, ...]]] = {
    "belief": _belief,
    "partition": _partition,
    "constraints": _constraints,
    "dissimilarity": _dissimilarity,
    "metric": _metric,
    "mixture": _mixture,
    "cluster": _cluster,
    "networks": _networks,
    "classify": _classify,
    "explain": _explain,
    "sklearn": _sklearn,
}
