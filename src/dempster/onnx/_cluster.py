"""Which clusterers can be written as ONNX graphs, and how each makes masses of attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.belief import FocalSets
from dempster.cluster._mass_step import MassStep, pair_columns
from dempster.cluster.bpec import BPEC
from dempster.cluster.ccm import CCM
from dempster.cluster.cecm import CECM
from dempster.cluster.ecm import ECM, PrototypeModel
from dempster.cluster.egmm import EGMM
from dempster.cluster.evclus._model import DoubtModel, EvclusModel
from dempster.cluster.evclus._network import FeedForward, MassLayer
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.cluster.on_device.mixtures import RoundComponents
from dempster.dissimilarity.sources import References
from dempster.dissimilarity.transform import decay
from dempster.onnx.formulas import centred, masses_of_known, softplus, squared_distances
from dempster.onnx.graph import Value, concatenated, maximum, minimum, take, where
from dempster.optimize.projection import linear_image, projection_hessian

__all__ = [
    "doubtful_masses",
    "probabilities",
    "dense_layers",
    "layer_of_masses",
    "matched_masses",
    "prototype_masses",
    "contour",
    "EXPORTED",
    "label_shares",
    "object_shape",
]


def doubtful_masses(contour: Value, family: FocalSets, outlying: Value | None = None) -> Value:
    """(n, f) masses for (n, c) plausibilities of the clusters, after (n, 1) those on the empty set."""
    c, dtype = family.n_clusters, contour.dtype
    sets = np.eye(len(family) + 1, len(family))  # the last row stands for no set
    pair_of = pair_columns(family)
    best, top = contour.argmax(), contour.max()
    others = contour * take(pair_of >= 0, best, dtype)
    column = take(np.where(pair_of >= 0, pair_of, len(family)).ravel(), best * c + others.argmax(), np.int64)
    pair = take(sets, column, dtype)
    ratio = pair.sum() * others.max() / where(top > 0, top, 1.0)
    masses = (1 - ratio) * take(sets[family.singleton_index], best, dtype) + ratio * pair
    if family.empty_index is None:
        return masses
    nowhere = where(top > 0, 0.0 * top if outlying is None else outlying, 1.0)
    return (1 - nowhere) * masses + nowhere * sets[family.empty_index]


def probabilities(X: Value, known: RoundComponents) -> Value:
    """(n, g) probabilities of the components; exponents may be large, so they are found in double precision."""
    objects = X.double()
    if known.origin is not None:
        objects = (objects - known.origin) / known.unit
    middle = known.places.mean(axis=0)  # what is the same for all components would cost digits
    logs = objects @ (known.rounded @ (known.places - middle).T) + known.constants
    return logs.softmax().astype(X.dtype)


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
    barycentres, metrics, factor, size, delta2, beta, zero = arguments
    places, lifts = barycentres[:n_features].T, barycentres[n_features:]
    costs = squared_distances(X, places) if metrics is None else _adaptive_costs(X, places, np.moveaxis(metrics, 2, 0))
    if len(lifts):
        costs = costs + np.square(lifts).sum(axis=0)
    weighted, power = costs * factor, 1 / (beta - 1)
    least = weighted.min()
    if np.isfinite(delta2):
        least = minimum(least, delta2)
    shares = (least / weighted) ** power
    # on a prototype: equal shares for the smallest sets among those that cost nothing
    none = int(size.max()) + 1
    sizes = where(costs <= zero, size.astype(float), costs * 0 + none)
    few = sizes.min()
    there = few < none
    shares = where(there, (sizes <= few).astype(X.dtype), shares)
    columns, empty_column = step.columns()
    if empty_column < 0:
        return (shares / shares.sum()).columns(np.argsort(columns))
    empty = where(there, 0.0, (least / delta2) ** power)
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


_NEGLIGIBLE = 58 * math.log(2)  # powers of e from which on nothing is added, as in affinity.c


def contour(squares: Value, around: Any, affinity: Any) -> tuple[Value, Value]:
    """(n, c) plausibilities of the clusters and (n, 1) masses on the empty set, from (n, r) squared distances to the
    references.

    Parameters
    ----------
    squares : Value
    around : Surroundings
    affinity : Affinity
        Of the same references.
    """
    near, far = _reached(squares, affinity.weights, affinity.near, affinity.far)
    own = maximum(far.sqrt(), affinity.scales.min())
    powers = squares * (affinity.rate / affinity.scales) / own
    alike = where(powers < _NEGLIGIBLE, (-powers).exp(), 0.0)
    total = np.bincount(affinity.labels, affinity.weights, minlength=affinity.n_clusters)
    members = np.zeros((len(affinity.labels), affinity.n_clusters))
    members[np.arange(len(members)), affinity.labels] = affinity.weights / np.sqrt(total[affinity.labels])
    distance = maximum(near.sqrt() / around.usual, np.exp(around.fence - 50 * around.softness))
    above = minimum((distance.log() - around.fence) / around.softness, 50.0)
    return alike @ members, 1 / ((-above).exp() + 1)


def _reached(squares: Value, weights: np.ndarray, near: float, far: float) -> tuple[Value, Value]:
    """(n, 1) smallest of the numbers of each row up to which the weights of their columns add up to two amounts."""
    # as many as are enough where they have the smallest weights
    most = min(int(np.searchsorted(np.cumsum(np.sort(weights)), max(near, far))) + 1, len(weights))
    ordered, order = squares.smallest(most)
    if (weights == weights[0]).all():
        near_k, far_k = (min(int(np.ceil(amount / weights[0])), most) for amount in (near, far))
        return ordered.columns([near_k - 1]), ordered.columns([far_k - 1])
    sums = take(weights, order, np.float64).cumsum()
    before_near, before_far = (minimum((sums < amount).astype(np.int64).sum(), most - 1) for amount in (near, far))
    return ordered.at(before_near), ordered.at(before_far)


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
        from dempster.onnx.scikit_learn import decision_values

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
    from dempster.onnx.torch_layers import network_outputs

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
