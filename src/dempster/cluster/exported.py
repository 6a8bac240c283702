"""Which clusterers can be written as ONNX graphs, and how each makes masses of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._parameters import shown
from dempster.cluster.evclus._doubt_model import DoubtModel
from dempster.cluster.evclus._model import EvclusModel
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.network._feed_forward import FeedForward
from dempster.cluster.evclus.network._mass_layer import MassLayer
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.cluster.graphs.doubt import doubtful_masses
from dempster.cluster.graphs.mixtures import probabilities
from dempster.cluster.graphs.networks import dense_layers, layer_of_masses
from dempster.cluster.graphs.projection import matched_masses
from dempster.cluster.graphs.prototypes import prototype_masses
from dempster.cluster.graphs.surroundings import contour
from dempster.cluster.mixtures.egmm import EGMM
from dempster.cluster.prototypes._model import PrototypeModel
from dempster.cluster.prototypes.bpec import BPEC
from dempster.cluster.prototypes.ccm import CCM
from dempster.cluster.prototypes.cecm import CECM
from dempster.cluster.prototypes.ecm import ECM
from dempster.dissimilarity.references import References
from dempster.dissimilarity.transform import decay
from dempster.io.onnx.formulas import centred, masses_of_known, squared_distances
from dempster.io.onnx.graph import Value

__all__ = ["EXPORTED", "label_shares", "object_shape"]


def _of_prototypes(estimator: Any, X: Value) -> Value:
    return _prototypes(estimator._model, X, estimator.n_features_in_)


def _prototypes(model: PrototypeModel, X: Value, n_features: int) -> Value:
    return prototype_masses(X, model.kernel_arguments(np.dtype(float)), model.step, n_features)


def _of_linked_prototypes(estimator: CECM, X: Value) -> Value:
    """Objects with the attributes of a linked one have its masses."""
    model: Any = estimator._model
    masses = _prototypes(model.prototypes, X, estimator.n_features_in_)
    if len(model.linked) == 0:
        return masses
    points = _points(model.linked, X)
    return masses_of_known(masses, X, squared_distances(X, points), points, model.linked_masses)


def _of_mixture(estimator: EGMM, X: Value) -> Value:
    model = estimator._model
    found = probabilities(X, model.round_components())
    if model.doubtful is not None:
        return doubtful_masses(found, model.doubtful)
    columns = np.flatnonzero(model.components.cardinality > 0)
    if len(columns) == len(model.components):
        return found
    return found @ np.eye(len(model.components))[columns]


def _of_references(estimator: EVCLUS, X: Value) -> Value:
    model = estimator._model
    source = model.references.source
    if source is None or source.metric != "euclidean":
        metric = estimator.metric if isinstance(estimator.metric, str) else "a function"
        raise ValueError(f"EVCLUS can be exported with metric='euclidean', got {shown(metric)}")
    if not source.is_euclidean:
        raise ValueError("EVCLUS can be exported if no cell of its landmarks is missing; some are")
    points = _points(model.references, X)
    if isinstance(model, DoubtModel):
        squares = squared_distances(X, points)
        found = _doubtful(model, squares)
    else:  # a quadratic program magnifies what single precision loses
        squares = squared_distances(X.double(), source.objects)
        found = _matched(model, squares).astype(X.dtype)
    return masses_of_known(found, X, squares, points, model.reference_masses)


def _points(references: References, X: Value) -> np.ndarray:
    """Attributes of references, with the digits of new objects, so that equal ones are equal."""
    assert references.source is not None
    return references.source.objects.astype(X.dtype)


def _doubtful(model: DoubtModel, squares: Value) -> Value:
    around = model.surroundings
    found, outlying = contour(squares, around, around.affinity(model.labels, model.family.n_clusters))
    return doubtful_masses(found, model.family, outlying)


def _matched(model: EvclusModel, squares: Value) -> Value:
    conflict = np.array(model.family.conflict)
    return matched_masses(squares, model.reference_masses, conflict, decay(model.d0), model.counts)


def _of_network(estimator: NNEVCLUS, X: Value) -> Value:
    model = estimator._model
    preparation, network = model.preparation, model.network
    exact = centred(X.double(), preparation.mean, preparation.scale)
    inputs, unit = exact.astype(X.dtype), None
    if preparation.detector is not None:
        from dempster.io.onnx.scikit_learn import decision_values

        # sums of many terms of both signs, of which a steep function is taken
        rows = exact if preparation.mean.ndim == 1 else exact.reshape(0, preparation.mean.size)
        decision = decision_values(preparation.detector, rows) / preparation.detector_scale
        unit = _outlier_coefficients(network), decision
    scores, layer = _scores(network, inputs, preparation.mean.shape)
    masses = layer_of_masses(scores, layer, len(model.family), unit)
    return masses / masses.sum()


def _scores(network: Any, inputs: Value, shape: tuple[int, ...]) -> tuple[Value, MassLayer]:
    """Scores of the sets, and the layer that makes masses of them."""
    if isinstance(network, FeedForward):
        return dense_layers(inputs, network.matrices()), network.layer
    from dempster.io.onnx.torch_layers import network_outputs

    outputs = network_outputs(network.body, inputs, shape)
    if network.matrix is None:
        return outputs, network.layer
    matrix = network.matrix.detach().double().cpu().numpy()
    return outputs @ matrix[:-1] + matrix[-1], network.layer


def _outlier_coefficients(network: Any) -> np.ndarray:
    if isinstance(network, FeedForward):
        return network.weights[-2:]
    return network.coefficients.detach().double().cpu().numpy()


EXPORTED: Mapping[type, Callable[[Any, Value], Value]] = {
    **dict.fromkeys((BPEC, CCM, ECM), _of_prototypes),
    CECM: _of_linked_prototypes,
    EGMM: _of_mixture,
    EVCLUS: _of_references,
    NNEVCLUS: _of_network,
}


def label_shares(estimator: Any) -> np.ndarray:
    """(f, c) what the mass of each set adds to the plausibility of each cluster; the largest one is the label."""
    return estimator.focal_sets_.membership.astype(float)


def object_shape(estimator: Any) -> tuple[int, ...]:
    """The shape of an object: that of an image, where a network was given images."""
    is_network = isinstance(estimator, NNEVCLUS)
    return estimator._model.preparation.mean.shape if is_network else (estimator.n_features_in_,)
