"""Export of clusterers to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dempster._arrays import Array, is_sparse, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.cluster._expressions import (
    cluster_contour,
    mass_step,
    masses_from_plausibilities,
    mixture_logs,
)
from dempster.cluster._pool import PooledModel
from dempster.cluster.bpec import BPEC
from dempster.cluster.ccm import CCM
from dempster.cluster.cecm import CECM
from dempster.cluster.credal import CredalClustering
from dempster.cluster.ecm import ECM, PrototypeModel
from dempster.cluster.egmm import EGMM, EvidentialMixture
from dempster.cluster.evclus._model import DoubtModel
from dempster.cluster.evclus._network import FeedForward, MassLayer
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.cluster.soft import FuzzyCMeans, NoiseClustering
from dempster.dissimilarity.sources import References
from dempster.dissimilarity.transform import decay
from dempster.onnx.graph import (
    GraphOperations,
    Value,
    approach_known_masses,
    center_rows,
    concatenate,
    maximum,
    minimum,
    squared_distances,
    take,
    where,
)
from dempster.optimize.projection import linear_image, projection_hessian

# relative size of the term added to the diagonal of the Hessian, which may be singular
_RIDGE = 1e-12
# a variable at zero is freed if its derivative, relative to the coefficients, is below -1e-9
_ENTER = 1e-9
_FAR = 1e300


def matched_masses(squares: Value, model: Any) -> Value:
    """Return masses whose conflicts with the reference objects best match 1 - exp(-gamma d^2).

    ``squares`` contains the squared distances d^2 from n rows to r reference objects, shape (n, r),
    in double precision. ``model`` is the model of `EVCLUS`.
    """
    references = model.reference_masses, np.array(model.family.conflict), model.counts
    H = projection_hessian(*references)
    delta = 1 - (squares * -decay(model.d0)).exp()
    linear = delta @ linear_image(*references)
    scale = float(np.abs(H).max()) or 1.0
    return simplex_minimisers(H / scale, linear / scale)


def simplex_minimisers(H: np.ndarray, linear: Value) -> Value:
    """Minimize x'Hx / 2 + g'x over the unit simplex for each row g (active set method)."""
    f = len(H)
    largest = max(float(np.diag(H).max()), np.finfo(float).tiny)
    H = H + _RIDGE * np.eye(f) * largest
    vertex = (linear + np.diag(H) / 2).argmin()  # starting point
    corners, changes = _tableaus(H)
    right = concatenate(-linear, linear.columns([0]) * 0 + 1).reshape(0, f + 1, 1)
    last_column = take(changes, vertex, np.float64) @ right
    tableau = concatenate(take(corners, vertex, np.float64), last_column, axis=2)
    point = take(np.eye(f), vertex, np.float64)
    size = linear.abs().max() + np.abs(H).max()

    def step(tableau: Value, point: Value, passive: Value) -> tuple[Value, ...]:
        last = tableau.columns([f + 1], axis=2).reshape(0, f + 1).columns(np.arange(f))
        best = last * passive
        # Move to the minimizer over the current face, or to the point where the first variable
        # becomes zero. This variable is then fixed at zero.
        limit = where(best < 0, point / (point - best), _FAR)
        share = minimum(limit.min(), 1.0)
        cut = share < 1
        point = (point + share * (best - point)).relu()
        decrease = where(passive > 0.5, -_FAR, last)
        moves = cut | (decrease.max() > _ENTER * size)
        which = where(cut.reshape(-1), limit.argmin(), decrease.argmax())
        passive = where(
            moves, (passive - take(np.eye(f), which, np.float64)).abs(), passive
        )
        tableau = where(
            moves.reshape(0, 1, 1), _exchange(tableau, which, f + 1), tableau
        )
        continues = moves.astype(np.int64).sum(axis=0).reshape() > 0
        return continues, tableau, point, passive

    _, point, _ = linear.graph.loop(step, (tableau, point, point), 20 * f + 20)
    return point / point.sum()


def _exchange(tableau: Value, which: Value, m: int) -> Value:
    """Return the tableaus, shape (n, m, m + 1), after a pivot step for variable which[i]."""
    unit = take(np.eye(m, m + 1), which, np.float64)
    across = unit.reshape(0, 1, m + 1)
    down = unit.columns(np.arange(m)).reshape(0, m, 1)
    column = tableau @ unit.reshape(0, m + 1, 1)
    row = down.reshape(0, 1, m) @ tableau
    pivot = (column * down).sum()
    return tableau - (column - down) * ((row + across) / pivot)


def _tableaus(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each vertex its tableau and the matrix that transforms its right-hand side."""
    f = len(H)
    K = np.ones((f + 1, f + 1))
    K[:f, :f] = H
    K[f, f] = 0
    corners, changes = np.empty((2, f, f + 1, f + 1))
    for k in range(f):
        P = np.array([k, f])
        N = np.delete(np.arange(f), k)
        inverse = np.linalg.inv(K[np.ix_(P, P)])
        T = corners[k]
        T[np.ix_(P, P)] = inverse
        T[np.ix_(P, N)] = inverse @ K[np.ix_(P, N)]
        T[np.ix_(N, P)] = -K[np.ix_(N, P)] @ inverse
        T[np.ix_(N, N)] = K[np.ix_(N, N)] - K[np.ix_(N, P)] @ inverse @ K[np.ix_(P, N)]
        changes[k] = np.eye(f + 1)
        changes[k][:, P] = T[:, P]
    return corners, changes


def prototype_masses(X: Value, model: PrototypeModel, n_features: int) -> Value:
    """Return the masses of a clusterer with prototypes on f focal sets, shape (n, f)."""
    barycenters, metrics, *mass_arguments = model.kernel_arguments(np.dtype(float))
    points = barycenters[:n_features].T
    lifts = barycenters[n_features:]
    if model.is_spherical:
        X = X / (X * X).sum() ** 0.5
    if metrics is None:
        costs = squared_distances(X, points)
    else:
        g, p = points.shape
        middle = points.mean(axis=0)
        maps = np.linalg.cholesky(np.moveaxis(metrics, 2, 0))
        gaps = center_rows(X, middle) @ np.moveaxis(maps, 0, 1).reshape(p, g * p)
        gaps = gaps - np.einsum("jd,jde->je", points - middle, maps).ravel()
        costs = (gaps * gaps).reshape(0, g, p).sum(axis=2).reshape(0, g)
    if len(lifts):
        costs = costs + np.square(lifts).sum(axis=0)
    shares, empty, _ = mass_step(GraphOperations(X), costs, tuple(mass_arguments))
    columns, empty_column = model.step.columns()
    total = shares.sum()
    if empty_column >= 0:
        total = total + empty
        shares = concatenate(shares, empty)
        columns = np.append(columns, empty_column)
    return (shares / total).columns(np.argsort(columns))


def _export_prototypes(estimator: Any, X: Value) -> Value:
    return prototype_masses(X, estimator._model, estimator.n_features_in_)


def _export_linked_prototypes(estimator: CECM, X: Value) -> Value:
    model: Any = estimator._model
    masses = prototype_masses(X, model.prototypes, estimator.n_features_in_)
    if len(model.linked) == 0:
        return masses
    points = _points(model.linked, X)
    squares = squared_distances(X, points)
    return approach_known_masses(
        masses, X, squares, points, model.linked_masses, model.radii
    )


def mixture_masses(X: Value, model: EvidentialMixture) -> Value:
    """Return the masses of `EGMM` on f focal sets, shape (n, f)."""
    objects = X.double()  # The exponents may be too large for single precision.
    found = mixture_logs(GraphOperations(objects), objects, model.round_components())
    empty = None
    if found.background is None:
        masses = found.logs.softmax().astype(X.dtype)
    else:
        everything = concatenate(found.logs, found.background).softmax()
        everything = everything.astype(X.dtype)
        n_components = len(model.weights)
        masses = everything.columns(np.arange(n_components))
        empty = everything.columns([n_components])
    if model.doubtful is not None:
        return masses_from_plausibilities(
            GraphOperations(masses), masses, model.doubtful, empty
        )
    unit = np.eye(len(model.components))
    columns = np.flatnonzero(model.components.cardinality > 0)
    masses = masses @ unit[columns]
    if empty is None:
        return masses
    return masses + empty * unit[model.components.empty_index]


def reference_masses(X: Value, model: Any) -> Value:
    """Return the masses of `EVCLUS` on f focal sets, shape (n, f)."""
    source = model.references.source
    metric = "precomputed" if source is None else source.metric
    if metric != "euclidean":
        raise InvalidParameterError("metric", "'euclidean' to export EVCLUS", metric)
    if not source.is_euclidean:
        raise InvalidInputError(
            "EVCLUS can be exported only if its landmarks have no missing values"
        )
    points = _points(model.references, X)
    if isinstance(model, DoubtModel):
        squares = squared_distances(X, points)
        operations = GraphOperations(squares)
        around = model.surroundings
        affinity = around.affinity(model.labels, model.family.n_clusters)
        contour, outlying = cluster_contour(operations, squares, around, affinity)
        masses = masses_from_plausibilities(operations, contour, model.family, outlying)
    else:  # The quadratic program amplifies rounding errors of single precision.
        squares = squared_distances(X.double(), source.objects)
        masses = matched_masses(squares, model).astype(X.dtype)
    radii = model.fit.radii if isinstance(model, DoubtModel) else model.radii
    known: Array = model.reference_masses
    if is_sparse(known):
        known = known.toarray()
    return approach_known_masses(masses, X, squares, points, known, radii)


def _points(references: References, X: Value) -> np.ndarray:
    """Return the reference objects in the precision of X, so that equal rows have distance 0."""
    assert references.source is not None
    return references.source.objects.astype(X.dtype)


def _export_network(estimator: NNEVCLUS, X: Value) -> Value:
    model = estimator._model
    preparation = model.preparation
    network = model.network
    exact = center_rows(X.double(), preparation.mean, preparation.scale)
    scores, layer = _scores(network, exact.astype(X.dtype), preparation.mean.shape)
    masses = scores.softmax()
    if preparation.detector is not None:
        from dempster.onnx.layers import decision_values

        # Compute the decision values in double precision, because they are sums of terms with
        # opposite signs.
        rows = exact
        if preparation.mean.ndim > 1:
            rows = exact.reshape(0, preparation.mean.size)
        decision = (
            decision_values(preparation.detector, rows) / preparation.detector_scale
        )
        if isinstance(network, FeedForward):
            coefficients = network.weights[-2:]
        else:
            coefficients = to_host(network.coefficients)
        total = decision * coefficients[1] + coefficients[0]
        # softplus, without overflow
        eta = total.relu() + ((-total.abs()).exp() + 1).log()
        numerator = eta if layer.convention == "program" else 1
        share = (numerator / (eta + 1)).astype(X.dtype)
        masses = (1 - share) * masses + share * np.eye(len(model.family))[layer.empty]
    return masses / masses.sum()


def _scores(
    network: Any, inputs: Value, shape: tuple[int, ...]
) -> tuple[Value, MassLayer]:
    """Return the scores of the focal sets, and the mass layer of the network."""
    if isinstance(network, FeedForward):
        *hidden, (last, last_biases) = network.matrices()
        for matrix, biases in hidden:
            inputs = (inputs @ matrix + biases).relu()
        return inputs @ last + last_biases, network.layer
    from dempster.onnx.layers import network_outputs

    outputs = network_outputs(network.body, inputs, shape)
    if network.matrix is None:
        return outputs, network.layer
    matrix = to_host(network.matrix)
    return outputs @ matrix[:-1] + matrix[-1], network.layer


def _export_pool(estimator: CredalClustering, X: Value) -> Value:
    model: Any = estimator._model
    if estimator._input.unit is not None:
        X = X / estimator._input.unit
    if not isinstance(model, PooledModel):
        return reference_masses(X, model)
    parts: list[Value] = []
    outlying: list[Value] = []
    for one, weight, power, order in zip(
        model.models, model.weights, model.powers, model.orders, strict=True
    ):
        if isinstance(one, EvidentialMixture):
            masses = mixture_masses(X, one)
        else:
            masses = reference_masses(X, one)
        if one.family.empty_index is not None:
            outlying.append(masses.columns([one.family.empty_index]))
        plausibilities = masses @ one.family.membership[:, order].astype(float)
        largest = maximum(plausibilities.max(), np.finfo(np.float32).tiny)
        parts.append((plausibilities / largest) ** power * weight)
    contour = reduce(add, parts)
    return masses_from_plausibilities(
        GraphOperations(X), contour, model.family, reduce(maximum, outlying)
    )


EXPORTED: Mapping[type, Callable[[Any, Value], Value]] = {
    **dict.fromkeys((BPEC, CCM, ECM, FuzzyCMeans, NoiseClustering), _export_prototypes),
    CECM: _export_linked_prototypes,
    EGMM: lambda estimator, X: mixture_masses(X, estimator._model),
    EVCLUS: lambda estimator, X: reference_masses(X, estimator._model),
    NNEVCLUS: _export_network,
    CredalClustering: _export_pool,
}
