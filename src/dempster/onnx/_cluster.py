"""Export of clusterers to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._arrays import decompress, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.cluster._expressions import (
    cluster_contour,
    mass_step,
    masses_from_plausibilities,
    mixture_logs,
)
from dempster.cluster.bpec import BPEC
from dempster.cluster.ccm import CCM
from dempster.cluster.cecm import CECM
from dempster.cluster.ecm import ECM, PrototypeModel
from dempster.cluster.egmm import EGMM, EvidentialMixture
from dempster.cluster.evclus._model import DoubtModel
from dempster.cluster.evclus._network_model import ConstrainedNetwork
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.nnevclus import NNEVCLUS
from dempster.cluster.soft import FuzzyCMeans, NoiseClustering
from dempster.dissimilarity.transform import decay
from dempster.onnx.graph import (
    GraphOperations,
    Value,
    approach_known_masses,
    center_rows,
    concatenate,
    minimum,
    squared_distances,
    take,
    where,
)
from dempster.optimize.projection import linear_image, projection_hessian

# added to the diagonal of the Hessian, which may be singular
_RIDGE = 1e-12
# a variable at zero is freed if its derivative, relative to the coefficients, is below -1e-9
_ENTER = 1e-9
_FAR = 1e300


def matched_masses(squares: Value, model: Any) -> Value:
    """Return masses whose conflicts with the reference objects best match 1 - exp(-gamma d^2).

    ``squares`` contains the squared distances d^2 from n rows to r reference objects, shape (n, r),
    in double precision. ``model`` is the model of `EVCLUS`.
    """
    masses = model.reference_masses
    conflict = np.array(model.family.conflict)
    H = projection_hessian(masses, conflict, model.counts)
    image = linear_image(masses, conflict, model.counts)
    gamma = decay(model.d0)
    delta = 1 - (squares * -gamma).exp()
    linear = delta @ image
    scale = np.abs(H).max() or 1.0
    return simplex_minimisers(H / scale, linear / scale)


def simplex_minimisers(H: np.ndarray, linear: Value) -> Value:
    """Minimize x'Hx / 2 + g'x over the unit simplex for each row g (active set method).

    The largest absolute value in H is one, or H is zero.
    """
    f = len(H)
    unit = np.eye(f)
    H = H + _RIDGE * unit
    vertex = (linear + np.diag(H) / 2).argmin()  # starting point
    corners, changes = _tableaus(H)
    ones = linear.columns([0]) * 0 + 1
    right = concatenate(-linear, ones).reshape(0, f + 1, 1)
    last_column = take(changes, vertex) @ right
    tableau = concatenate(take(corners, vertex), last_column, axis=2)
    point = take(unit, vertex)
    size = linear.abs().max() + np.abs(H).max()

    def step(tableau: Value, point: Value, passive: Value) -> tuple[Value, ...]:
        last = tableau.columns([f + 1], axis=2)
        last = last.reshape(0, f + 1).columns(np.arange(f))
        best = last * passive
        # Move to the minimizer over the current face, or to the point where the first variable
        # becomes zero. This variable is then fixed at zero.
        limit = where(best < 0, point / (point - best), _FAR)
        share = minimum(limit.min(), 1.0)
        cut = share < 1
        point = (point + share * (best - point)).relu()
        decrease = where(passive > 0.5, -_FAR, last)
        enters = decrease.max() > _ENTER * size
        moves = cut | enters
        leaving = limit.argmin()
        entering = decrease.argmax()
        which = where(cut.reshape(-1), leaving, entering)
        switched = (passive - take(unit, which)).abs()
        passive = where(moves, switched, passive)
        exchanged = _exchange(tableau, which, f + 1)
        tableau = where(moves.reshape(0, 1, 1), exchanged, tableau)
        n_moves = moves.astype(np.int64).sum(axis=0).reshape()
        return n_moves > 0, tableau, point, passive

    _, point, _ = linear.graph.loop(step, (tableau, point, point), 20 * f + 20)
    return point / point.sum()


def _exchange(tableau: Value, which: Value, m: int) -> Value:
    """Return the tableaus, shape (n, m, m + 1), after a pivot step for variable which[i]."""
    unit = take(np.eye(m, m + 1), which)
    across = unit.reshape(0, 1, m + 1)
    down = unit.columns(np.arange(m)).reshape(0, m, 1)
    column = tableau @ unit.reshape(0, m + 1, 1)
    row = down.reshape(0, 1, m) @ tableau
    pivot = (column * down).sum()
    scaled = (row + across) / pivot
    return tableau - (column - down) * scaled


def _tableaus(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each vertex its tableau and the matrix that transforms its right-hand side."""
    f = len(H)
    K = np.pad(H, (0, 1), constant_values=1)
    K[f, f] = 0
    corners, changes = np.empty((2, f, f + 1, f + 1))
    for k in range(f):
        P = np.array([k, f])
        N = np.delete(np.arange(f), k)
        inverse = np.linalg.inv(K[np.ix_(P, P)])
        across = K[np.ix_(P, N)]
        down = K[np.ix_(N, P)]
        T = corners[k]
        T[np.ix_(P, P)] = inverse
        T[np.ix_(P, N)] = inverse @ across
        T[np.ix_(N, P)] = -down @ inverse
        T[np.ix_(N, N)] = K[np.ix_(N, N)] - down @ inverse @ across
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
        costs = _adaptive_distances(X, points, metrics)
    if len(lifts):
        costs = costs + np.square(lifts).sum(axis=0)
    operations = GraphOperations(X)
    shares, empty, _ = mass_step(operations, costs, tuple(mass_arguments))
    columns, empty_column = model.step.columns()
    total = shares.sum()
    if empty_column >= 0:
        total = total + empty
        shares = concatenate(shares, empty)
        columns = np.append(columns, empty_column)
    return (shares / total).columns(np.argsort(columns))


def _adaptive_distances(X: Value, points: np.ndarray, metrics: np.ndarray) -> Value:
    """Return the squared distances from n rows to g points, each with its metric."""
    g, p = points.shape
    middle = points.mean(axis=0)
    matrices = np.moveaxis(metrics, 2, 0)
    maps = np.linalg.cholesky(matrices)
    images = np.einsum("jd,jde->je", points - middle, maps).ravel()
    matrix = np.moveaxis(maps, 0, 1).reshape(p, g * p)
    gaps = center_rows(X, middle) @ matrix - images
    squares = (gaps * gaps).reshape(0, g, p)
    return squares.sum(axis=2).reshape(0, g)


def _export_prototypes(estimator: Any, X: Value) -> Value:
    return prototype_masses(X, estimator._model, estimator.n_features_in_)


def _export_linked_prototypes(estimator: CECM, X: Value) -> Value:
    model: Any = estimator._model
    masses = prototype_masses(X, model.free, estimator.n_features_in_)
    if len(model.linked) == 0:
        return masses
    return _approach_linked(masses, X, model)


def _approach_linked(masses: Value, X: Value, model: Any) -> Value:
    """Let the masses of rows of X approach those of the objects with constraints."""
    points = model.linked.source.objects.astype(X.dtype)
    squares = squared_distances(X, points)
    return approach_known_masses(
        masses, X, squares, points, model.linked_masses, model.radii
    )


def mixture_masses(X: Value, model: EvidentialMixture) -> Value:
    """Return the masses of `EGMM` on f focal sets, shape (n, f)."""
    objects = X.double()  # The exponents may be too large for single precision.
    found = mixture_logs(GraphOperations(objects), objects, model.round_components())
    logs = found.logs
    if found.background is not None:
        logs = concatenate(logs, found.background)
    masses = logs.softmax().astype(X.dtype)
    empty = None
    if found.background is not None:
        n_components = len(model.weights)
        empty = masses.columns([n_components])
        masses = masses.columns(np.arange(n_components))
    if model.doubtful is not None:
        operations = GraphOperations(masses)
        return masses_from_plausibilities(operations, masses, model.doubtful, empty)
    family = model.components
    unit = np.eye(len(family))
    columns = np.flatnonzero(family.cardinality > 0)
    masses = masses @ unit[columns]
    if empty is None:
        return masses
    return masses + empty * unit[family.empty_index]


def reference_masses(X: Value, model: Any) -> Value:
    """Return the masses of `EVCLUS` on f focal sets, shape (n, f)."""
    source = model.references.source
    metric = "precomputed"
    if source is not None:
        metric = source.metric
    if metric != "euclidean":
        raise InvalidParameterError("metric", "'euclidean' to export EVCLUS", metric)
    if not source.is_euclidean:
        raise InvalidInputError(
            "EVCLUS can be exported only if its landmarks have no missing values"
        )
    # In the precision of X, equal rows have distance 0.
    points = source.objects.astype(X.dtype)
    if isinstance(model, DoubtModel):
        radii = model.fit.radii
        squares = squared_distances(X, points)
        operations = GraphOperations(squares)
        around = model.surroundings
        contour, outlying = cluster_contour(operations, squares, around, model.affinity)
        masses = masses_from_plausibilities(operations, contour, model.family, outlying)
    else:  # The quadratic program amplifies rounding errors of single precision.
        radii = model.radii
        squares = squared_distances(X.double(), source.objects)
        masses = matched_masses(squares, model).astype(X.dtype)
    known = decompress(model.reference_masses)
    return approach_known_masses(masses, X, squares, points, known, radii)


def _export_network(estimator: NNEVCLUS, X: Value) -> Value:
    model = estimator._model
    preparation = model.preparation
    network = model.network
    exact = center_rows(X.double(), preparation.mean, preparation.scale)
    inputs = exact.astype(X.dtype)
    masses = _scores(network, inputs, preparation.mean.shape).softmax()
    if preparation.detector is not None:
        eta = _outlier_degrees(model, exact)
        numerator = eta if network.outlier_unit == "program" else 1
        share = (numerator / (eta + 1)).astype(X.dtype)
        empty = np.eye(len(model.family))[network.empty]
        masses = (1 - share) * masses + share * empty
    masses = masses / masses.sum()
    if not isinstance(model, ConstrainedNetwork):
        return masses
    return _approach_linked(masses, X.reshape(0, preparation.mean.size), model)


def _outlier_degrees(model: Any, rows: Value) -> Value:
    """Return the softplus of the scaled decision values of the detector, shape (n, 1).

    ``rows`` are in double precision, because the values are sums of terms with opposite signs.
    """
    from dempster.onnx.layers import decision_values

    preparation = model.preparation
    if preparation.mean.ndim > 1:
        rows = rows.reshape(0, preparation.mean.size)
    decision = decision_values(preparation.detector, rows)
    decision = decision / preparation.detector_scale
    coefficients = to_host(model.network.coefficients)
    total = decision * coefficients[1] + coefficients[0]
    # This form of the softplus avoids overflow.
    power = (-total.abs()).exp()
    return total.relu() + (power + 1).log()


def _scores(network: Any, inputs: Value, shape: tuple[int, ...]) -> Value:
    """Return the scores of the focal sets."""
    from dempster.onnx.layers import network_outputs

    outputs = network_outputs(network.body, inputs, shape)
    if network.head is None:
        return outputs
    return outputs @ to_host(network.head.weight.T) + to_host(network.head.bias)


EXPORTED: Mapping[type, Callable[[Any, Value], Value]] = {
    **dict.fromkeys((BPEC, CCM, ECM, FuzzyCMeans, NoiseClustering), _export_prototypes),
    CECM: _export_linked_prototypes,
    EGMM: lambda estimator, X: mixture_masses(X, estimator._model),
    EVCLUS: lambda estimator, X: reference_masses(X, estimator._model),
    NNEVCLUS: _export_network,
}
