"""Which clusterers can be written as ONNX graphs, and how each makes masses of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.cluster._expressions import cluster_contour, doubtful_masses, mass_step, mixture_logs
from dempster.cluster._mass_step import MassStep
from dempster.cluster.bpec import BPEC
from dempster.cluster.ccm import CCM
from dempster.cluster.cecm import CECM
from dempster.cluster.ecm import ECM, PrototypeModel
from dempster.cluster.egmm import EGMM
from dempster.cluster.evclus._model import DoubtModel, EvclusModel
from dempster.cluster.evclus._network import FeedForward, MassLayer
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.dissimilarity.sources import References
from dempster.dissimilarity.transform import decay
from dempster.onnx.graph import (
    GraphOperations,
    Value,
    centred,
    concatenated,
    masses_of_known,
    minimum,
    softplus,
    squared_distances,
    take,
    where,
)
from dempster.optimize.projection import linear_image, projection_hessian


def dense_layers(inputs: Value, layers: list[tuple[np.ndarray, np.ndarray]]) -> Value:
    """(n, f) scores at the end of rectified linear layers."""
    for matrix, biases in layers[:-1]:
        inputs = (inputs @ matrix + biases).relu()
    matrix, biases = layers[-1]
    return inputs @ matrix + biases


def layer_of_masses(scores: Value, layer: Any, n_sets: int, unit: tuple[np.ndarray, Value] | None) -> Value:
    """(n, f) masses: the softmax of the scores, of which the outlier unit gives a share to the empty set.

    Parameters
    ----------
    scores : Value
    layer : MassLayer
    n_sets : int
    unit : (coefficients, decision) or None
        The two coefficients of the outlier unit, and (n, 1) values of the detector.
    """
    masses = scores.softmax()
    if unit is None:
        return masses
    coefficients, decision = unit
    eta = softplus(decision * coefficients[1] + coefficients[0])
    share = (eta / (eta + 1) if layer.convention == "program" else 1 / (eta + 1)).astype(scores.dtype)
    return (1 - share) * masses + share * np.eye(n_sets)[layer.empty]


_RIDGE = 1e-12  # of the Hessian, which may be singular
_ENTER = 1e-9  # relative size of a promise that lets a variable enter
_FAR = 1e300


def matched_masses(
    squares: Value, masses: np.ndarray, conflict: np.ndarray, gamma: float, weights: np.ndarray | None
) -> Value:
    """(n, f) masses from (n, r) squared distances to references of these masses, in double precision.

    Parameters
    ----------
    squares : Value
        In double precision.
    masses : (r, f) array
    conflict : (f, f) array
    gamma : float
        Conflicts wanted are 1 - exp(-gamma d^2).
    weights : (r,) array or None
        Of the references.
    """
    H = projection_hessian(masses, conflict, weights)
    wanted = 1 - (squares * -gamma).exp()
    linear = wanted @ linear_image(masses, conflict, weights)
    scale = float(np.abs(H).max()) or 1.0
    return simplex_minimisers(H / scale, linear / scale)


def simplex_minimisers(H: np.ndarray, linear: Value) -> Value:
    """(n, f) minimisers of x'Hx / 2 + g'x on the simplex, for every row g."""
    f = len(H)
    H = H + _RIDGE * np.eye(f) * max(float(np.diag(H).max()), np.finfo(float).tiny)
    vertex = (linear + np.diag(H) / 2).argmin()  # the best one, to start from
    corners, changes = _tableaus(H)
    right = concatenated(-linear, linear.columns([0]) * 0 + 1).reshape(0, f + 1, 1)
    tableau = concatenated(take(corners, vertex, np.float64), take(changes, vertex, np.float64) @ right, axis=2)
    point = take(np.eye(f), vertex, np.float64)
    size = linear.abs().max() + np.abs(H).max()

    def step(tableau: Value, point: Value, passive: Value) -> tuple[Value, ...]:
        last = tableau.columns([f + 1], axis=2).reshape(0, f + 1).columns(np.arange(f))
        best = last * passive
        # towards the best point, up to where the first variable becomes zero: it leaves
        way = where(best < 0, point / (point - best), _FAR)
        share = minimum(way.min(), 1.0)
        cut = share < 1
        point = (point + share * (best - point)).relu()
        promise = where(passive > 0.5, -_FAR, last)
        moves = cut | (promise.max() > _ENTER * size)
        which = where(cut.flat(), way.argmin(), promise.argmax())
        passive = where(moves, (passive - take(np.eye(f), which, np.float64)).abs(), passive)
        tableau = where(moves.reshape(0, 1, 1), _exchanged(tableau, which, f + 1), tableau)
        going_on = moves.astype(np.int64).sum(axis=0).reshape() > 0
        return going_on, tableau, point, passive

    _, point, _ = linear.graph.loop(step, (tableau, point, point), 20 * f + 20)
    return point / point.sum()


def _exchanged(tableau: Value, which: Value, m: int) -> Value:
    """(n, m, m + 1) tableaus after a variable of each has entered or left."""
    unit = take(np.eye(m, m + 1), which, np.float64)
    across, down = unit.reshape(0, 1, m + 1), unit.columns(np.arange(m)).reshape(0, m, 1)
    column = tableau @ unit.reshape(0, m + 1, 1)
    row = down.reshape(0, 1, m) @ tableau
    pivot = (column * down).sum()
    return tableau - (column - down) * ((row + across) / pivot)


def _tableaus(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(f, m, m) tableaus where one variable is passive, and (f, m, m) matrices that make the further column of the
    right-hand sides."""
    f = len(H)
    K = np.ones((f + 1, f + 1))
    K[:f, :f], K[f, f] = H, 0
    corners, changes = np.empty((2, f, f + 1, f + 1))
    for k in range(f):
        P, N = np.array([k, f]), np.delete(np.arange(f), k)
        inverse = np.linalg.inv(K[np.ix_(P, P)])
        T = corners[k]
        T[np.ix_(P, P)], T[np.ix_(P, N)] = inverse, inverse @ K[np.ix_(P, N)]
        T[np.ix_(N, P)] = -K[np.ix_(N, P)] @ inverse
        T[np.ix_(N, N)] = K[np.ix_(N, N)] - K[np.ix_(N, P)] @ inverse @ K[np.ix_(P, N)]
        changes[k] = np.eye(f + 1)
        changes[k][:, P] = T[:, P]
    return corners, changes


def prototype_masses(X: Value, arguments: tuple, step: MassStep, n_features: int) -> Value:
    """(n, f) masses of objects. Coordinates of the barycentres beyond the attributes are what they are lifted by
    (`prototypes._lifted`)."""
    barycentres, metrics, *mass_arguments = arguments
    places, lifts = barycentres[:n_features].T, barycentres[n_features:]
    costs = squared_distances(X, places) if metrics is None else _adaptive_costs(X, places, np.moveaxis(metrics, 2, 0))
    if len(lifts):
        costs = costs + np.square(lifts).sum(axis=0)
    shares, empty, _ = mass_step(GraphOperations(X), costs, tuple(mass_arguments))
    columns, empty_column = step.columns()
    if empty_column < 0:
        return (shares / shares.sum()).columns(np.argsort(columns))
    total = shares.sum() + empty
    return (concatenated(shares, empty) / total).columns(np.argsort(np.append(columns, empty_column)))


def _adaptive_costs(X: Value, places: np.ndarray, metrics: np.ndarray) -> Value:
    """(n, g) squared distances to places, each in a metric of its own: those after a map L with L L' = metric."""
    g, p = places.shape
    middle = places.mean(axis=0)
    maps = np.linalg.cholesky(metrics)
    gaps = centred(X, middle) @ np.moveaxis(maps, 0, 1).reshape(p, g * p)
    gaps = gaps - np.einsum("jd,jde->je", places - middle, maps).ravel()
    return (gaps * gaps).reshape(0, g, p).sum(axis=2).reshape(0, g)


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
    objects = X.double()  # exponents may be large
    _, logs = mixture_logs(GraphOperations(objects), objects, model.round_components())
    found = logs.softmax().astype(X.dtype)
    if model.doubtful is not None:
        return doubtful_masses(GraphOperations(found), found, model.doubtful)
    columns = np.flatnonzero(model.components.cardinality > 0)
    if len(columns) == len(model.components):
        return found
    return found @ np.eye(len(model.components))[columns]


def _of_references(estimator: EVCLUS, X: Value) -> Value:
    model = estimator._model
    source = model.references.source
    if source is None or source.metric != "euclidean":
        metric = estimator.metric if isinstance(estimator.metric, str) else "a function"
        raise InvalidInputError(f"EVCLUS can be exported with metric='euclidean', got {shown(metric)}")
    if not source.is_euclidean:
        raise InvalidInputError("EVCLUS can be exported if no cell of its landmarks is missing; some are")
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
    operations = GraphOperations(squares)
    affinity = around.affinity(model.labels, model.family.n_clusters)
    found, outlying = cluster_contour(operations, squares, around, affinity)
    return doubtful_masses(operations, found, model.family, outlying)


def _matched(model: EvclusModel, squares: Value) -> Value:
    conflict = np.array(model.family.conflict)
    return matched_masses(squares, model.reference_masses, conflict, decay(model.d0), model.counts)


def _of_network(estimator: NNEVCLUS, X: Value) -> Value:
    model = estimator._model
    preparation, network = model.preparation, model.network
    exact = centred(X.double(), preparation.mean, preparation.scale)
    inputs, unit = exact.astype(X.dtype), None
    if preparation.detector is not None:
        from dempster.onnx.layers import decision_values

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
    from dempster.onnx.layers import network_outputs

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
