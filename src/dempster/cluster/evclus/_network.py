"""Network of NN-EVCLUS, its loss, and three solvers that minimize the loss.

Most functions accept NumPy arrays and torch tensors. Equation and section numbers refer to Denoeux
(2021).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone

from dempster._arrays import Array, is_tensor, library_of, to_device_of, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import ArrayLike
from dempster._validation import as_reals, is_integer, is_number, validating_labels
from dempster.belief import FocalSets
from dempster.cluster.evclus._pairs import MAX_ALL_PAIRS_ROWS, WeightedPairs, link_form
from dempster.constraints import Constraints
from dempster.dissimilarity.input import with_columns_like_rows
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    check_square,
)
from dempster.dissimilarity.transform import (
    conflicts_among,
    decay,
    random_pairs,
    sample_pairs,
    to_conflict,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.lbfgs import LBFGS

# ---- terms of the loss ---------------------------------------------------------------------------

ValueAndGradient = tuple[Any, Array]


class LinkedPairs(NamedTuple):
    """Pairs (i, j) of rows with constraints.

    The sign is 1 for a must-link and -1 for a cannot-link constraint.
    """

    i: Array
    j: Array
    signs: Array
    n_cannot: int


class LabelledRows(NamedTuple):
    """Indices of the labeled rows, and the one-hot encoding of their labels."""

    rows: Array
    indicators: Array


def all_pairs_error(
    masses: Array, delta: Array, conflict: Array, squares: Array
) -> ValueAndGradient:
    """Return the mean of (conflict - delta)^2 over all pairs of rows (eq. 9), and its gradient with respect to masses.

    ``delta`` contains the target conflicts, shape (n, n); it is symmetric with a zero diagonal.
    ``squares`` is the sum of its squared entries. The square is expanded, so that no other (n, n)
    matrix is needed.
    """
    n_pairs = len(masses) * (len(masses) - 1)
    # Since delta is symmetric, the second product is delta @ masses; this form is faster.
    image = masses @ conflict
    product = (masses.T @ delta).T
    gram = image.T @ image
    own = (image * masses).sum(axis=1)
    value = (
        (gram * (masses.T @ masses)).sum()
        - (own * own).sum()
        - 2 * (image * product).sum()
        + squares
    )
    gradient = masses @ gram - own[:, None] * image - product @ conflict
    return value / n_pairs, gradient * (4 / n_pairs)


def pairs_error(
    masses: Array, i: Array, j: Array, delta: Array, conflict: Array
) -> ValueAndGradient:
    """Return the mean of (conflict - delta)^2 over pairs (i, j) (eq. 9), and its gradient with respect to masses."""
    conflicts, gradient = _bilinear_forms(masses, conflict, i, j)
    gap = conflicts - delta
    return _mean_square(gap), gradient(gap * (2 / len(gap)))


def pairs_value(masses: Array, i: Array, j: Array, delta: Array, conflict: Array) -> Any:
    """Return the mean of (conflict - delta)^2 over the pairs (i, j) of rows."""
    return _mean_square(_bilinear_forms(masses, conflict, i, j)[0] - delta)


def links_error(masses: Array, links: LinkedPairs, form: Array) -> ValueAndGradient:
    """Return the mean violation of the constraints (eq. 15), and its gradient with respect to the masses.

    The violation is m_i' Z m_j / 2 for a must-link and 1 - m_i' Z m_j / 2 for a cannot-link
    constraint, where Z is ``form`` (see `link_form`).
    """
    forms, gradient = _bilinear_forms(masses, form, links.i, links.j)
    share = 1 / (2 * len(forms))
    return ((links.signs * forms).sum() + 2 * links.n_cannot) * share, gradient(links.signs * share)


def labels_error(masses: Array, labels: LabelledRows, membership: Array) -> ValueAndGradient:
    """Return the mean squared error of plausibilities for one-hot labels, and its gradient with respect to masses."""
    gap = masses[labels.rows] @ membership - labels.indicators
    gradient = (gap @ membership.T) * (2 / len(gap))
    return _mean_square(gap), _sum_by_row(labels.rows, gradient, len(masses))


def _mean_square(gap: Array) -> Any:
    return (gap * gap).sum() / len(gap)


def weight_penalty(weights: Array, shares: Array) -> ValueAndGradient:
    """Return half the sum over layers of the mean squared weight (eq. 10), and its gradient with respect to weights."""
    gradient = shares * weights
    return 0.5 * (gradient * weights).sum(), gradient


def _bilinear_forms(
    masses: Array, form: Array, i: Array, j: Array
) -> tuple[Array, Callable[[Array], Array]]:
    """Return the values m_i' F m_j for the pairs (i, j), and a function for the gradient of their weighted sum."""
    image = masses @ form

    def gradient(weights: Array) -> Array:
        n = len(masses)
        return _sum_by_row(i, weights[:, None] * image[j], n) + _sum_by_row(
            j, weights[:, None] * image[i], n
        )

    return (image[i] * masses[j]).sum(axis=1), gradient


def _sum_by_row(rows: Array, values: Array, n: int) -> Array:
    """Return an (n, f) array in which row r is the sum of all ``values[k]`` with ``rows[k] == r``."""
    if not isinstance(values, np.ndarray):
        return values.new_zeros((n, values.shape[1])).index_add_(0, rows, values)
    ones = np.ones(len(rows), dtype=values.dtype)
    return sparse.csc_matrix((ones, rows, np.arange(len(rows) + 1)), shape=(n, len(rows))) @ values


# ---- the network ---------------------------------------------------------------------------------

_MIN_EXPONENTIAL = 1e-30
Backward = Callable[[Array], tuple[Array, Array | None]]


@dataclass(frozen=True)
class MassLayer:
    """Output layer that computes the masses by a softmax m and, optionally, an outlier unit.

    With an outlier unit, the masses are (1 - g) m + g e, where e has all mass on the empty set. The
    input h of the unit is the decision value of a detector, which is positive inside the region of
    the data. Let eta = softplus(b0 + b1 h). With the convention "program" of the published program,
    g = eta / (1 + eta), and (b0, b1) is initially (0, -1). With the convention "paper" (eqs. 12 and
    13), 1 - g = eta / (1 + eta), and (b0, b1) is initially (0, 1).
    """

    empty: int | None  # index of the empty set; None if the family does not contain it
    detector: bool = False  # whether there is an outlier unit
    convention: str = "program"

    @property
    def first_coefficients(self) -> list[float]:
        """Initial coefficients b0 and b1 of the outlier unit.

        An empty list if there is no outlier unit.
        """
        if not self.detector:
            return []
        return [0.0, -1.0 if self.convention == "program" else 1.0]

    def forward(
        self, scores: Array, h: Array | None, coefficients: Array | None
    ) -> tuple[Array, Backward]:
        """Return the masses, shape (n, f), and a function for the gradients with respect to scores and coefficients."""
        m = _softmax(scores)
        if not self.detector:
            return m, lambda gradient: (_softmax_gradient(m, gradient), None)
        if h is None or coefficients is None:
            raise InvalidInputError(
                "a network with an outlier unit requires the decision values of the detector"
            )
        total = coefficients[0] + coefficients[1] * h
        eta = library_of(total).logaddexp(total, library_of(total).zeros_like(total))
        if self.convention == "program":
            g = eta / (1 + eta)
        else:
            g = 1 / (1 + eta)
        masses = (1 - g)[:, None] * m
        masses[:, self.empty] += g

        def backward(gradient: Array) -> tuple[Array, Array]:
            of_share = gradient[:, self.empty] - (gradient * m).sum(axis=1)
            if self.convention != "program":
                of_share = -of_share
            # derivative of softplus, which is the logistic function
            slope = -library_of(eta).expm1(-eta)
            of_sum = of_share * slope / (1 + eta) ** 2
            of_coefficients = library_of(eta).stack([of_sum.sum(), (of_sum * h).sum()])
            return _softmax_gradient(m, (1 - g)[:, None] * gradient), of_coefficients

        return masses, backward


def cross_entropy(scores: Array, targets: Array) -> ValueAndGradient:
    """Return the mean cross-entropy of targets and the softmax of scores, and its gradient with respect to scores."""
    library = library_of(scores)
    shifted = scores - library.amax(scores, axis=1, keepdims=True)
    logarithms = shifted - library.log(library.exp(shifted).sum(axis=1, keepdims=True))
    return -(targets * logarithms).sum() / len(scores), (_exp(logarithms) - targets) / len(scores)


def _softmax(scores: Array) -> Array:
    library = library_of(scores)
    powers = _exp(scores - library.amax(scores, axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _exp(logarithms: Array) -> Array:
    """Return the exponentials.

    Values below 1e-30 are set to zero, because subnormal numbers slow down computations.
    """
    powers = library_of(logarithms).exp(logarithms)
    return powers * (powers > _MIN_EXPONENTIAL)


def _softmax_gradient(m: Array, gradient: Array) -> Array:
    return m * (gradient - (gradient * m).sum(axis=1, keepdims=True))


class HostArrays:
    """Functions that create the arrays for a training as NumPy arrays of one precision."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=self.dtype)

    def integers(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)

    def conflicts_among(self, points: np.ndarray, gamma: float) -> np.ndarray:
        return self.array(conflicts_among(points, gamma))

    def session(self, seed: int) -> AbstractContextManager[object]:
        """Return a context in which BLAS uses one thread, so that the number of threads does not change the result."""
        return one_blas_thread()


class FeedForward:
    """Feed-forward network with ReLU hidden layers and a `MassLayer` as output layer.

    The initial weights and biases are uniform between -1 / sqrt(k + 1) and 1 / sqrt(k + 1) for a
    layer with k inputs. ``sizes`` contains the numbers of inputs, of units in each hidden layer,
    and of focal sets. ``weights`` contains, for each layer, the matrix (inputs, outputs) in
    row-major order, then the biases. The coefficients of the outlier unit, if there is one, come
    last.
    """

    sizes: tuple[int, ...]
    layer: MassLayer
    _weights: Annotated[np.ndarray, "*"]

    def __init__(
        self, sizes: Sequence[int], layer: MassLayer, dtype: np.dtype, rng: np.random.Generator
    ):
        self.sizes = tuple(sizes)
        self.layer = layer
        parts = [rng.uniform(-1, 1, (a + 1) * b) / np.sqrt(a + 1) for a, b in pairwise(self.sizes)]
        self._weights = np.concatenate([*parts, layer.first_coefficients]).astype(dtype)

    @property
    def weights(self) -> np.ndarray:
        return self._weights

    @weights.setter
    def weights(self, values: np.ndarray) -> None:
        self._weights = values.astype(self._weights.dtype)

    @property
    def shares(self) -> np.ndarray:
        """Vector with one divided by the number of weights in the layer of each weight.

        Zero for the outlier unit.
        """
        parts = [np.full((a + 1) * b, 1 / ((a + 1) * b)) for a, b in pairwise(self.sizes)]
        return np.concatenate([*parts, np.zeros(len(self.layer.first_coefficients))]).astype(
            self._weights.dtype
        )

    def __call__(self, x: np.ndarray, h: np.ndarray | None = None) -> np.ndarray:
        """Return the masses for n inputs x, shape (n, f).

        H contains the decision values of the outlier detector.
        """
        return self.forward_backward(x, h)[0]

    def forward_backward(
        self, x: np.ndarray, h: np.ndarray | None = None
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Return masses, and a function that maps a gradient with respect to masses to one with respect to weights."""
        signals = self._signals(x)
        if self.layer.detector:
            coefficients = self._weights[-2:]
        else:
            coefficients = None
        masses, backward = self.layer.forward(signals[-1], h, coefficients)

        def gradient(of_masses: np.ndarray) -> np.ndarray:
            of_scores, of_coefficients = backward(of_masses)
            return self._gradient(signals, of_scores, of_coefficients)

        return masses, gradient

    def cross_entropy(self, x: np.ndarray, targets: np.ndarray) -> ValueAndGradient:
        """Return the cross-entropy of targets and softmax outputs (without outlier unit), and its gradient."""
        signals = self._signals(x)
        value, of_scores = cross_entropy(signals[-1], targets)
        return value, self._gradient(signals, of_scores, None)

    def predict_masses(self, inputs: Array, decision: np.ndarray | None, apply: Apply) -> Array:
        """Return the masses, computed in blocks of rows; tensors stay on their device."""
        if is_tensor(inputs):
            return self._masses_on_device(inputs)
        x = inputs.astype(self._weights.dtype, copy=False)
        if decision is None:
            h = None
        else:
            h = decision.astype(self._weights.dtype)
        blocks = row_blocks(len(x))
        with one_blas_thread():  # Other threads already work on other blocks.
            parts = apply(lambda a, b: self(x[a:b], None if h is None else h[a:b]), blocks)
        return np.concatenate(parts)

    def _masses_on_device(self, inputs: Array) -> Array:
        """Return the masses for a torch tensor, without an outlier detector."""
        *hidden, (last, biases) = [
            tuple(to_device_of(part, inputs) for part in layer) for layer in self.matrices()
        ]
        signal = inputs.to(last.dtype)
        for matrix, shift in hidden:
            signal = (signal @ matrix + shift).clamp(min=0)
        return self.layer.forward(signal @ last + biases, None, None)[0]

    def widen(self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray) -> FeedForward:
        """Return a network whose scores are the scores of this network times a matrix, with a new output layer."""
        wider = copy.copy(self)
        wider.sizes = (*self.sizes[:-1], matrix.shape[1])
        wider.layer = layer
        *hidden, last = self.matrices()
        parts = [*hidden, (last[0] @ matrix, last[1] @ matrix)]
        vectors = [vector.ravel() for part in parts for vector in part]
        wider._weights = np.concatenate([*vectors, coefficients]).astype(self._weights.dtype)
        return wider

    def train(self) -> None:
        """Do nothing, because this network has no training mode, unlike a torch module."""

    def eval(self) -> None:
        """Do nothing, because this network has no training mode, unlike a torch module."""

    def get_state(self) -> dict[str, np.ndarray]:
        return {"weights": self._weights.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.weights = state["weights"]

    def matrices(self, vector: np.ndarray | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the weights, shape (inputs, outputs), and the biases of each layer, from ``vector`` if it is given."""
        if vector is None:
            vector = self._weights
        layers = []
        at = 0
        for a, b in pairwise(self.sizes):
            layers.append(
                (vector[at : at + a * b].reshape(a, b), vector[at + a * b : at + (a + 1) * b])
            )
            at += (a + 1) * b
        return layers

    def _signals(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the list of the inputs of all layers, followed by the scores."""
        layers = self.matrices()
        signals = [x]
        for number, (matrix, biases) in enumerate(layers):
            signal = signals[-1] @ matrix
            signal += biases
            signals.append(
                signal if number == len(layers) - 1 else np.maximum(signal, 0, out=signal)
            )
        return signals

    def _gradient(
        self, signals: list[np.ndarray], of_scores: np.ndarray, of_coefficients: np.ndarray | None
    ) -> np.ndarray:
        """Return the gradient with respect to the weights, given the gradient with respect to the outputs."""
        gradient = np.zeros_like(self._weights)
        if of_coefficients is not None:
            gradient[-2:] = of_coefficients
        layers = list(zip(self.matrices(), self.matrices(gradient), strict=True))
        of_signal = of_scores
        for number in reversed(range(len(layers))):
            (matrix, _), (of_matrix, of_biases) = layers[number]
            np.matmul(signals[number].T, of_signal, out=of_matrix)
            of_signal.sum(axis=0, out=of_biases)
            if number > 0:
                of_signal = of_signal @ matrix.T
                of_signal *= signals[number] > 0
        return gradient


# ---- targets -------------------------------------------------------------------------------------

_VALIDATION_PAIRS = 20_000


@dataclass(frozen=True)
class NetworkTargets:
    """Targets of the training for n rows: dissimilarities, labels and constraints."""

    source: DissimilaritySource
    labels: np.ndarray  # clusters of the labeled rows, -1 for unlabeled rows
    constraints: Constraints | None
    warning: str = ""  # warning about the labels

    def __len__(self) -> int:
        return len(self.source)

    def all_dissimilarities(self) -> np.ndarray:
        return self.source.block(np.arange(len(self)), np.arange(len(self)))

    def draw_validation_pairs(self, rng: np.random.Generator) -> WeightedPairs:
        """Return random pairs of rows to validate a training.

        With few rows, a tenth of all pairs.
        """
        if len(self) <= MAX_ALL_PAIRS_ROWS:
            i, j = np.triu_indices(len(self), 1)
            some = rng.choice(len(i), max(1, min(_VALIDATION_PAIRS, len(i) // 10)), replace=False)
            i = i[some]
            j = j[some]
        else:
            i, j = sample_pairs(len(self), _VALIDATION_PAIRS, rng)
        return WeightedPairs(
            i, j, np.asarray(self.source.pairs(i, j), dtype=float), np.ones(len(i))
        )

    def draw_pairs(
        self, n_pairs: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the two rows and the dissimilarity of all pairs, or of random pairs if there are many rows."""
        if len(self) <= MAX_ALL_PAIRS_ROWS:
            i, j = np.triu_indices(len(self), 1)
            return i, j, self.all_dissimilarities()[i, j]
        i, j = sample_pairs(len(self), n_pairs, rng)
        return i, j, self.source.pairs(i, j)

    def draw_training_pairs(
        self, n_partners: int | None, held_out: WeightedPairs | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows i and j of the training pairs (all, or ``n_partners`` per row) that are not held out."""
        n = len(self)
        pairs, times = random_pairs(n, n - 1 if n_partners is None else n_partners, rng)
        if n_partners is not None:
            pairs = np.repeat(pairs, times.astype(int), axis=0)
        if held_out is not None:
            low = np.minimum(held_out.i, held_out.j)
            high = np.maximum(held_out.i, held_out.j)
            pairs = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], low * n + high)]
        return pairs[:, 0], pairs[:, 1]


def build_targets(
    X: np.ndarray,
    metric: Any,
    n_clusters: int,
    y: ArrayLike,
    constraints: Constraints | None,
    dissimilarities: ArrayLike,
) -> NetworkTargets:
    """Validate labels and dissimilarities, and return the targets.

    If ``dissimilarities`` is None, use the metric.
    """
    labels, warning = _validate_labels(y, len(X), n_clusters)
    if not (constraints is not None and len(constraints)):
        constraints = None
    if dissimilarities is not None:
        D = as_reals(with_columns_like_rows(dissimilarities), "dissimilarities").astype(
            float, copy=False
        )
        if D.shape != (len(X), len(X)):
            must = f"have shape ({len(X)}, {len(X)}), got {D.shape}"
            raise InvalidParameterError("dissimilarities", must=must)
        return NetworkTargets(
            MatrixSource(check_square(D, symmetrize=False)), labels, constraints, warning
        )
    rows = X.reshape(len(X), -1)
    if hasattr(metric, "transform"):
        learner = clone(metric)
        if constraints is not None:
            learner.fit(rows, constraints=constraints)
        elif (labels >= 0).any():
            learner.fit(rows, labels)
        else:
            raise InvalidInputError(
                "metric is a transformer, which requires constraints or labels y to be fitted"
            )
        rows = np.ascontiguousarray(learner.transform(rows))
        metric = "euclidean"
    return NetworkTargets(AttributeSource(rows, metric), labels, constraints, warning)


def _validate_labels(y: ArrayLike, n: int, c: int) -> tuple[np.ndarray, str]:
    """Return the clusters of the n rows, with -1 for unlabeled rows, and a warning (an empty string if none)."""
    if y is None:
        return np.full(n, -1), ""
    with validating_labels(y, "y"):
        labels = np.asarray(to_host(y))
    if labels.shape != (n,):
        raise InvalidParameterError(
            "y", must=f"have shape ({n},), one label per row of X, got {labels.shape}"
        )
    if (
        labels.dtype.kind == "f"
        and np.isfinite(labels).all()
        and (labels == labels.astype(int)).all()
    ):
        labels = labels.astype(int)
    if labels.dtype.kind == "O" and all(
        is_integer(label) and is_number(label) for label in labels.tolist()
    ):
        labels = labels.astype(np.int64)
    are_integers = labels.dtype.kind in "iu"
    are_clusters = bool(are_integers and labels.min() >= -1 and labels.max() < c)
    if not are_clusters and not (labels == -1).any():
        # Pipelines pass the target of a supervised task to every step, and clusterers must ignore
        # it.
        return np.full(
            n, -1
        ), f"y is ignored: it contains no -1 and its values are not the clusters 0 to {c - 1}"
    if not are_integers:
        raise InvalidParameterError(
            "y", must="contain integers, the clusters of the rows, or -1 for unlabeled rows"
        )
    if not are_clusters:
        must = f"contain integers from 0 to {c - 1}, or -1, got values from {labels.min()} to {labels.max()}"
        raise InvalidParameterError("y", must=must)
    return labels.astype(np.int64), ""


# ---- the loss as a function of the weights -------------------------------------------------------

Arrays: TypeAlias = Any  # HostArrays or DeviceArrays
Network: TypeAlias = Any  # FeedForward or TorchNetwork

_MAX_STEPS_PER_EPOCH = 50
# maximum number of constraints, and of labeled rows, that are added to a mini-batch
_MAX_EXTRA_ROWS = 256


@dataclass(frozen=True)
class NetworkInputs:
    """Inputs of the network for all training rows."""

    values: np.ndarray  # standardized rows
    decision: np.ndarray | None  # decision values of the outlier detector, if there is one
    arrays: Arrays

    def take(self, rows: np.ndarray | slice = slice(None)) -> tuple[Array, Array | None]:
        """Return the standardized values and the decision values of the given rows, converted by ``arrays``."""
        if self.decision is None:
            h = None
        else:
            h = self.arrays.array(self.decision[rows])
        return self.arrays.array(self.values[rows]), h


@dataclass(frozen=True)
class Penalties:
    """Weights of three terms of the loss."""

    xi: float  # violation of the constraints
    nu: float  # error on the labels
    regularization: float  # squared network weights


Supervision = tuple[LinkedPairs, LabelledRows]
"""Constraints and labels; their row indices refer to the current batch."""

StreamedBatch = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Rows of a mini-batch, the same rows standardized, and their decision values (None if there is no detector)."""


class NetworkObjective:
    """Loss of a network, which is a function of its weights.

    The loss is the sum of (1 - nu) times the mean squared error of the conflicts, xi times the
    violation of the constraints, nu times the error on the labels, and a penalty on large weights
    (Denoeux, 2021, eqs. 9, 10, 15 and section 4).
    """

    def __init__(
        self,
        targets: NetworkTargets,
        family: FocalSets,
        d0: float,
        inputs: NetworkInputs,
        penalties: Penalties,
    ):
        self.targets = targets
        self.d0 = d0
        self.inputs = inputs
        self.arrays = inputs.arrays
        self.labelled = np.flatnonzero(targets.labels >= 0)
        self.xi = penalties.xi
        self.regularization = penalties.regularization
        if len(self.labelled):
            self.nu = penalties.nu
        else:
            self.nu = 0.0
        none: np.ndarray = np.empty((0, 2), dtype=np.int64)
        constraints = targets.constraints
        self.must_link: np.ndarray = none if constraints is None else constraints.must_link
        self.cannot_link: np.ndarray = none if constraints is None else constraints.cannot_link
        self.indicators = np.eye(family.n_clusters)
        self.conflict = self.arrays.array(np.array(family.conflict))
        self.link_form = self.arrays.array(link_form(family))
        self.membership = self.arrays.array(family.membership)
        self.no_supervision = self._supervision(none, none, none[:, 0])

    def full_batch_loss(
        self, network: Network, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Callable[[], ValueAndGradient]:
        """Return a function that computes the loss over ``pairs`` and its gradient.

        None means all pairs of rows.
        """
        x, h = self.inputs.take()
        supervision = self._supervision(self.must_link, self.cannot_link, self.labelled)
        if pairs is None:
            delta = self._conflicts_at(self.targets.all_dissimilarities())
            squares = _sum_of_squares(delta)
        else:
            delta = self.arrays.array(to_conflict(self.targets.source.pairs(*pairs), self.d0))
            i, j = (self.arrays.integers(ends) for ends in pairs)

        def loss() -> ValueAndGradient:
            masses, backward = network.forward_backward(x, h)
            if pairs is None:
                error = all_pairs_error(masses, delta, self.conflict, squares)
            else:
                error = pairs_error(masses, i, j, delta, self.conflict)
            value, gradient = self._add_supervision(masses, supervision, *error)
            return self._add_weight_penalty(network, value, backward(gradient))

        return loss

    def mini_batch_losses(
        self, network: Network, batch_size: int, rng: np.random.Generator
    ) -> Iterator[ValueAndGradient]:
        """Yield the loss and its gradient for each batch, which includes random constraints and labels."""
        for rows in draw_batches(len(self.targets), batch_size, rng):
            extra, supervision = self._sample_supervision(len(rows), rng)
            x, h = self.inputs.take(np.concatenate([rows, extra]))
            source = self.targets.source
            if source.matrix is None:
                delta = self._conflicts_among(source.objects[rows])
            else:
                delta = self._conflicts_at(source.block(rows, rows))
            yield self._batch_loss(network, x, h, delta, supervision)

    def streamed_losses(
        self, network: Network, batches: Iterable[StreamedBatch]
    ) -> Iterator[ValueAndGradient]:
        """Yield the loss and its gradient for each batch of streamed rows, without constraints and labels."""
        for rows, inputs, decision in batches:
            x, h = NetworkInputs(inputs, decision, self.arrays).take()
            yield self._batch_loss(network, x, h, self._conflicts_among(rows), self.no_supervision)

    def _batch_loss(
        self, network: Network, x: Array, h: Array | None, delta: Array, supervision: Supervision
    ) -> ValueAndGradient:
        """Return the loss of a batch and its gradient.

        ``delta`` contains the target conflicts of its first rows.
        """
        n = len(delta)
        masses, backward = network.forward_backward(x, h)
        value, of_pairs = all_pairs_error(masses[:n], delta, self.conflict, _sum_of_squares(delta))
        gradient = self.arrays.array(np.zeros(tuple(masses.shape)))
        gradient[:n] = of_pairs
        value, gradient = self._add_supervision(masses, supervision, value, gradient)
        return self._add_weight_penalty(network, value, backward(gradient))

    def validation_error(self, network: Network, pairs: WeightedPairs) -> Callable[[], float]:
        """Return a function that computes the mean squared error of the conflicts of the given pairs."""
        rows, position = np.unique(np.concatenate([pairs.i, pairs.j]), return_inverse=True)
        i, j = (self.arrays.integers(ends) for ends in np.split(position, 2))
        delta = self.arrays.array(to_conflict(pairs.dissimilarity, self.d0))
        x, h = self.inputs.take(rows)
        return lambda: float(
            pairs_value(network.forward_backward(x, h)[0], i, j, delta, self.conflict)
        )

    def _conflicts_among(self, rows: np.ndarray) -> Array:
        """Return the target conflicts between all pairs of the given rows."""
        source = self.targets.source
        if source.is_euclidean:
            return self.arrays.conflicts_among(rows, decay(self.d0))
        return self._conflicts_at(source.between(rows, rows))

    def _conflicts_at(self, dissimilarities: np.ndarray) -> Array:
        D = np.array(dissimilarities, dtype=float)
        np.fill_diagonal(D, 0)
        return self.arrays.array(to_conflict(D, self.d0))

    def _add_supervision(
        self, masses: Array, supervision: Supervision, value: Any, gradient: Array
    ) -> ValueAndGradient:
        """Add the penalties for constraints and labels to the error of the conflicts and to its gradient."""
        links, labels = supervision
        terms = [(1 - self.nu, (value, gradient))]
        if self.xi > 0 and len(links.i):
            terms.append((self.xi, links_error(masses, links, self.link_form)))
        if self.nu and len(labels.rows):
            terms.append((self.nu, labels_error(masses, labels, self.membership)))
        return sum(w * term[0] for w, term in terms), sum(w * term[1] for w, term in terms)

    def _add_weight_penalty(
        self, network: Network, value: Any, gradient: Array
    ) -> ValueAndGradient:
        if not self.regularization:
            return value, gradient
        penalty, of_penalty = weight_penalty(network.weights, network.shares)
        return value + self.regularization * penalty, gradient + self.regularization * of_penalty

    def _sample_supervision(
        self, offset: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, Supervision]:
        """Draw constraints and labels for a batch of ``offset`` rows.

        Return the rows to append, and both of them.
        """
        must = self.must_link
        cannot = self.cannot_link
        labelled = self.labelled
        total = len(must) + len(cannot)
        if total + len(labelled) == 0:
            return labelled, self.no_supervision
        if total:
            some = rng.choice(total, min(_MAX_EXTRA_ROWS, total), replace=False)
            n_must = len(must)
            must = must[some[some < n_must]]
            cannot = cannot[some[some >= n_must] - n_must]
        if len(labelled):
            labelled = rng.choice(labelled, min(_MAX_EXTRA_ROWS, len(labelled)), replace=False)
        extra = np.unique(np.concatenate([must.ravel(), cannot.ravel(), labelled]))
        return extra, self._supervision(
            must, cannot, labelled, lambda rows: offset + np.searchsorted(extra, rows)
        )

    def _supervision(
        self,
        must: np.ndarray,
        cannot: np.ndarray,
        labelled: np.ndarray,
        position: Callable[[np.ndarray], np.ndarray] = lambda rows: rows,
    ) -> Supervision:
        pairs = position(np.concatenate([must, cannot]))
        signs = np.repeat([1.0, -1.0], [len(must), len(cannot)])
        i, j, labelled_rows = map(
            self.arrays.integers, (pairs[:, 0], pairs[:, 1], position(labelled))
        )
        indicators = self.arrays.array(self.indicators[self.targets.labels[labelled]])
        links = LinkedPairs(i, j, self.arrays.array(signs), len(cannot))
        return links, LabelledRows(labelled_rows, indicators)


def draw_batches(n: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the row indices of each batch of an epoch.

    An epoch contains each row once, or a sample of many rows.
    """
    size = min(batch_size, n)
    steps = max(1, min(_MAX_STEPS_PER_EPOCH, n // size))
    is_sample = steps * size < n // 2
    if is_sample:
        order = rng.integers(0, n, steps * size)
    else:
        order = rng.permutation(n)
    for batch in np.array_split(order[: max(steps * size, size)], steps):
        if is_sample:
            rows = np.unique(batch)
        else:
            rows = batch
        if len(rows) >= 2:
            yield rows


def _sum_of_squares(delta: Array) -> Any:
    values = delta.reshape(-1)
    return values @ values


# ---- training ------------------------------------------------------------------------------------

LBFGS_STEPS_PER_ROUND = 10
# limits on the steps and numbers stored by L-BFGS
_MAX_MEMORY = 40
_MIN_MEMORY = 10
_MAX_MEMORY_NUMBERS = 2_000_000
_GRADIENT_TOLERANCE = 1e-12
_GAIN_DECAY = 0.9  # factor by which earlier gains are multiplied in the running mean of the gain
# values recommended by Kingma and Ba (2015)
_ADAM_BETA1 = 0.9
_ADAM_BETA2 = 0.999
_ADAM_EPSILON = 1e-8
# values of the paper
_RMSPROP_RHO = 0.9
_RMSPROP_DELTA = 1e-8
_SAVED = (
    "history",
    "validation",
    "best_value",
    "best_round",
    "best",
    "optimizer",
    "finished",
    "converged",
)

Loss = Callable[[], ValueAndGradient]


class TrainingProgress:
    """History and current state of the training of a network."""

    def __init__(self, network: Network, arrays: Arrays):
        self.network = network
        self.arrays = arrays
        self.history: list[float] = []  # loss after every round
        # error on the validation pairs after every round, if there are any
        self.validation: list[float] = []
        # smallest validation error, or loss without validation
        self.best_value = float("inf")
        self.best_round = 0
        self.best = network.get_state()  # network after the best round
        self.optimizer: dict[str, Any] = {}  # state from which the solver can continue
        self.finished = False
        self.converged = False

    def end_round(self, result: Round, error: float | None, patience: int | None) -> None:
        """Record a round.

        The training converged if the loss is stable, or the error in ``patience`` rounds.
        """
        self.history.append(float(result.loss))
        value = float(result.loss if error is None else error)
        if error is not None:
            self.validation.append(value)
        if value < self.best_value:
            self.best_value = value
            self.best_round = len(self.history)
            self.best = self.network.get_state()
        is_worse = (
            error is not None
            and patience is not None
            and len(self.history) - self.best_round >= patience
        )
        self.converged = result.is_stable or is_worse
        self.finished = self.converged or result.is_last
        self.optimizer = result.optimizer

    @property
    def kept_rounds(self) -> int:
        """Number of the round whose weights are kept: the best one if there are validation pairs, else the last one."""
        if self.validation:
            return self.best_round
        return len(self.history)

    def get_state(self) -> dict[str, Any]:
        """Return the state as nested dictionaries and lists of arrays and numbers."""
        return {
            **{name: getattr(self, name) for name in _SAVED},
            "network": self.network.get_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        for name in _SAVED:
            setattr(self, name, state[name])
        self.network.restore(state["network"])


class Round(NamedTuple):
    """Result of one round of a solver, which consists of several iterations."""

    loss: float
    is_stable: bool  # whether the loss has converged
    is_last: bool  # whether the maximum number of iterations is reached
    optimizer: dict[str, Any]  # state from which the solver can continue


def train(
    progress: TrainingProgress,
    rounds: Iterable[Round],
    validation_error: Callable[[], float] | None,
    *,
    patience: int | None,
    save: Callable[[TrainingProgress], None],
) -> None:
    """Run the rounds of a solver until the training is finished, and save the progress after each round."""
    for result in rounds:
        progress.end_round(result, validation_error() if validation_error else None, patience)
        save(progress)
        if progress.finished:
            return


def loss_of_weights(
    network: Network, arrays: Arrays, loss: Loss
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return a function that maps weights to the loss and its gradient, in double precision NumPy arrays."""

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        network.weights = arrays.array(weights)
        value, gradient = loss()
        return float(value), to_host(gradient).astype(np.float64)

    return evaluate


def lbfgs_rounds(
    progress: TrainingProgress, loss: Loss, *, max_iter: int, tol: float
) -> Iterator[Round]:
    """Minimize the loss by L-BFGS, until ten iterations decrease the loss by a relative amount of at most ``tol``."""
    network = progress.network
    arrays = progress.arrays

    evaluate = loss_of_weights(network, arrays, loss)
    start = to_host(network.weights)
    memory = max(_MIN_MEMORY, min(_MAX_MEMORY, _MAX_MEMORY_NUMBERS // len(start)))
    search = LBFGS(
        start, max_iter=max_iter, tol=0.0, gradient_tol=_GRADIENT_TOLERANCE, memory=memory
    )
    if progress.optimizer:
        search.restore(progress.optimizer)
    while True:
        for _ in range(LBFGS_STEPS_PER_ROUND):
            if not search.iterate(evaluate):
                break
        network.weights = arrays.array(search.point)
        value = search.value
        if progress.history:
            previous = progress.history[-1]
        else:
            previous = float("inf")
        is_stable = search.converged or previous - value <= tol * abs(value)
        yield Round(value, is_stable, search.ended, search.get_state())


def adaptive_step_rounds(
    progress: TrainingProgress, loss: Loss, *, max_iter: int, tol: float
) -> Iterator[Round]:
    """Minimize the loss by gradient descent with one step size per weight (Silva and Almeida, 1990)."""
    network = progress.network
    arrays = progress.arrays
    if progress.optimizer:
        saved = progress.optimizer
        point, gradient, steps = (
            arrays.array(saved[name]) for name in ("point", "gradient", "steps")
        )
        value = saved["value"]
        gain = saved["gain"]
    else:
        value, gradient = loss()
        value = float(value)
        gain = 1.0
        point = network.weights
        steps = arrays.array(np.full(len(point), 0.1))
    while True:
        network.weights = point - steps * gradient
        new_value, new_gradient = loss()
        if float(new_value) > value:
            steps = 0.5 * steps
            network.weights = point
        else:
            gain = _GAIN_DECAY * gain + (1 - _GAIN_DECAY) * abs(value - float(new_value))
            same_sign = new_gradient * gradient >= 0
            steps = (1.2 * steps * same_sign + 0.8 * steps * ~same_sign).clip(1e-6, 1e4)
            point = network.weights
            gradient = new_gradient
            value = float(new_value)
        vectors = {"point": point, "gradient": gradient, "steps": steps}
        state: dict[str, Any] = {name: to_host(vector) for name, vector in vectors.items()}
        is_last = len(progress.history) + 1 >= max_iter
        yield Round(
            value, gain <= tol * abs(value), is_last, {**state, "value": value, "gain": gain}
        )


def mini_batch_rounds(
    progress: TrainingProgress,
    batches: Callable[[int], Iterable[ValueAndGradient]],
    *,
    epochs: int,
    learning_rate: float,
    rmsprop: bool = False,
) -> Iterator[Round]:
    """Minimize the loss by Adam with a learning rate that decreases along a cosine, or by RMSprop."""
    network = progress.network
    optimizer: Adam | RMSprop = (RMSprop if rmsprop else Adam)(network, progress.arrays)
    if progress.optimizer:
        optimizer.restore(progress.optimizer)
    for epoch in range(len(progress.history), epochs):
        if rmsprop:
            rate = learning_rate
        else:
            rate = cosine_rate(learning_rate, epoch, epochs)
        total = 0.0
        count = 0
        network.train()
        for value, gradient in batches(epoch):
            optimizer.step(gradient, rate)
            total += value
            count += 1
        network.eval()
        is_last = epoch + 1 == epochs
        yield Round(float(total) / max(count, 1), is_last, is_last, optimizer.get_state())


class Adam:
    """Optimizer Adam (Kingma and Ba, 2015)."""

    def __init__(self, network: Network, arrays: Arrays):
        self.network = network
        self.arrays = arrays
        self.steps = 0
        zeros = np.zeros(len(network.weights))
        self.mean = arrays.array(zeros)
        self.square = arrays.array(zeros)

    def step(self, gradient: Array, rate: float) -> None:
        self.steps += 1
        self.mean += (1 - _ADAM_BETA1) * (gradient - self.mean)
        self.square += (1 - _ADAM_BETA2) * (gradient * gradient - self.square)
        mean_correction = 1 - _ADAM_BETA1**self.steps
        square_correction = 1 - _ADAM_BETA2**self.steps
        size = (self.square / square_correction) ** 0.5 + _ADAM_EPSILON
        self.network.weights = self.network.weights - (rate / mean_correction) * self.mean / size

    def get_state(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "mean": to_host(self.mean).copy(),
            "square": to_host(self.square).copy(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]
        self.mean, self.square = (
            self.arrays.array(state["mean"]),
            self.arrays.array(state["square"]),
        )


class RMSprop:
    """Optimizer RMSprop with the constants of the published program."""

    def __init__(self, network: Network, arrays: Arrays):
        self.network = network
        self.arrays = arrays
        self.square = arrays.array(np.zeros(len(network.weights)))

    def step(self, gradient: Array, rate: float) -> None:
        self.square = _RMSPROP_RHO * self.square + (1 - _RMSPROP_RHO) * gradient * gradient
        self.network.weights = self.network.weights - rate * gradient / (
            self.square**0.5 + _RMSPROP_DELTA
        )

    def get_state(self) -> dict[str, Any]:
        return {"square": to_host(self.square).copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.square = self.arrays.array(state["square"])


def cosine_rate(initial: float, step: int, steps: int) -> float:
    """Return the learning rate at a step.

    It decreases from the initial rate to zero along a cosine.
    """
    return initial * 0.5 * (1 + math.cos(math.pi * step / steps))
