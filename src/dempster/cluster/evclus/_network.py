"""The network of NN-EVCLUS and its training.

In this order: the terms of the loss with their gradients, which serve NumPy and torch; the layer of masses and the
network of rectified linear layers in NumPy; the objects, pairs and labels to match; the loss as a function of the
weights; and three ways to minimise it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone

from dempster._arrays import Array, is_tensor, library_of, to_device_of, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster._types import ArrayLike
from dempster._validation import as_reals, is_integer, is_number, reading_labels
from dempster.belief import FocalSets
from dempster.cluster.evclus._pairs import WeightedPairs, link_form
from dempster.constraints import Constraints
from dempster.dissimilarity.input import with_columns_like_rows
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource, check_square
from dempster.dissimilarity.transform import (
    conflicts_among,
    decay,
    default_quantile,
    drawn_pairs,
    random_pairs,
    scale_at,
    to_conflict,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.lbfgs import LBFGS

# ---- terms of the loss -----------------------------------------------------------------------------------------------

ValueAndGradient = tuple[Any, Array]


class Links(NamedTuple):
    """Pairs of objects i and j with the sign 1 for a must-link and -1 for a cannot-link, and how many are of the
    second kind."""

    i: Array
    j: Array
    signs: Array
    n_cannot: int


class Labels(NamedTuple):
    """Different objects, and the indicators of their clusters, a row each."""

    who: Array
    indicators: Array


def all_pairs_error(masses: Array, delta: Array, conflict: Array, squares: Array) -> ValueAndGradient:
    """Mean over all pairs of (conflict - delta)^2 (eq. 9); delta is (n, n), symmetric with a zero diagonal, and squares
    the sum of delta^2.

    The square is multiplied out: one product of delta with the masses serves value and gradient, and there is no other
    (n, n) matrix.
    """
    n_pairs = len(masses) * (len(masses) - 1)
    image, product = masses @ conflict, (masses.T @ delta).T  # delta is symmetric, and wide products are faster
    gram, own = image.T @ image, (image * masses).sum(axis=1)
    value = (gram * (masses.T @ masses)).sum() - (own * own).sum() - 2 * (image * product).sum() + squares
    gradient = masses @ gram - own[:, None] * image - product @ conflict
    return value / n_pairs, gradient * (4 / n_pairs)


def pairs_error(masses: Array, i: Array, j: Array, delta: Array, conflict: Array) -> ValueAndGradient:
    """Mean over the given pairs of (conflict - delta)^2 (eq. 9)."""
    conflicts, gradient = _forms(masses, conflict, i, j)
    gap = conflicts - delta
    return _mean_square(gap), gradient(gap * (2 / len(gap)))


def pairs_value(masses: Array, i: Array, j: Array, delta: Array, conflict: Array) -> Any:
    """`pairs_error` without its gradient."""
    return _mean_square(_forms(masses, conflict, i, j)[0] - delta)


def links_error(masses: Array, links: Links, form: Array) -> ValueAndGradient:
    """Half the mean over the constraints of m_i' Z m_j (must-link) and 2 - m_i' Z m_j (cannot-link) (eq. 15)."""
    forms, gradient = _forms(masses, form, links.i, links.j)
    share = 1 / (2 * len(forms))
    return ((links.signs * forms).sum() + 2 * links.n_cannot) * share, gradient(links.signs * share)


def labels_error(masses: Array, labels: Labels, membership: Array) -> ValueAndGradient:
    """Mean over labelled objects of the squared distance of the plausibilities to the label (section 4)."""
    gap = masses[labels.who] @ membership - labels.indicators
    gradient = (gap @ membership.T) * (2 / len(gap))
    return _mean_square(gap), _sums(labels.who, gradient, len(masses))


def _mean_square(gap: Array) -> Any:
    """Mean over rows of the squared length."""
    return (gap * gap).sum() / len(gap)


def size_of_weights(weights: Array, shares: Array) -> ValueAndGradient:
    """Half the sum over layers of the mean squared weights, biases included (eq. 10), and its gradient with respect to
    the weights; ``shares`` holds one over the number of weights of its layer for each of them."""
    gradient = shares * weights
    return 0.5 * (gradient * weights).sum(), gradient


def _forms(masses: Array, form: Array, i: Array, j: Array) -> tuple[Array, Callable[[Array], Array]]:
    """m_i' F m_j of pairs, F symmetric, and the function that gives the gradient of a weighted sum of them."""
    image = masses @ form

    def gradient(weights: Array) -> Array:
        n = len(masses)
        return _sums(i, weights[:, None] * image[j], n) + _sums(j, weights[:, None] * image[i], n)

    return (image[i] * masses[j]).sum(axis=1), gradient


def _sums(who: Array, rows: Array, n: int) -> Array:
    """(n, f) sums of the rows that belong to each of n objects."""
    if not isinstance(rows, np.ndarray):
        return rows.new_zeros((n, rows.shape[1])).index_add_(0, who, rows)
    ones = np.ones(len(who), dtype=rows.dtype)
    return sparse.csc_matrix((ones, who, np.arange(len(who) + 1)), shape=(n, len(who))) @ rows


# ---- the network -----------------------------------------------------------------------------------------------------

_NOTHING = 1e-30
Back = Callable[[Array], tuple[Array, Array | None]]


@dataclass(frozen=True)
class MassLayer:
    """Masses m* = (1 - g) m + g e_empty: softmax of the scores, of which a share g goes to the empty set.

    Attributes
    ----------
    empty : int or None
        Position of the empty set, None if the family lacks it.
    detector : bool
        Whether there is an outlier unit; h, the values of the detector, is then given with the scores, positive
        inside the region of the data.
    convention : {"program", "paper"}
        g = eta / (1 + eta) with eta = softplus(b0 + b1 h), starting from (0, -1), as in the published program and
        appendices; or 1 - g = eta / (1 + eta), starting from (0, 1), as in equations 12 and 13.
    """

    empty: int | None
    detector: bool = False
    convention: str = "program"

    @property
    def first_coefficients(self) -> list[float]:
        """b0 and b1 before the training; none without a detector."""
        if not self.detector:
            return []
        return [0.0, -1.0 if self.convention == "program" else 1.0]

    def forward(self, scores: Array, h: Array | None, coefficients: Array | None) -> tuple[Array, Back]:
        """(n, f) masses, and the function that turns a gradient with respect to them into those with respect to the
        scores and the coefficients."""
        m = _softmax(scores)
        if not self.detector:
            return m, lambda gradient: (_through_softmax(m, gradient), None)
        if h is None or coefficients is None:
            raise InvalidInputError("a network with an outlier unit needs the decision values of the detector")
        eta = self._eta(h, coefficients)
        g = self._share(eta)
        masses = (1 - g)[:, None] * m
        masses[:, self.empty] += g

        def back(gradient: Array) -> tuple[Array, Array]:
            of_share = gradient[:, self.empty] - (gradient * m).sum(axis=1)
            of_share = of_share if self.convention == "program" else -of_share
            slope = -library_of(eta).expm1(-eta)  # of softplus: the logistic function
            of_sum = of_share * slope / (1 + eta) ** 2
            of_coefficients = library_of(eta).stack([of_sum.sum(), (of_sum * h).sum()])
            return _through_softmax(m, (1 - g)[:, None] * gradient), of_coefficients

        return masses, back

    def mass_to_empty(self, h: Array, coefficients: Array) -> Array:
        """g, the share of mass that goes to the empty set."""
        return self._share(self._eta(h, coefficients))

    def _eta(self, h: Array, coefficients: Array) -> Array:
        total = coefficients[0] + coefficients[1] * h
        return library_of(total).logaddexp(total, library_of(total).zeros_like(total))

    def _share(self, eta: Array) -> Array:
        return eta / (1 + eta) if self.convention == "program" else 1 / (1 + eta)


def cross_entropy(scores: Array, wanted: Array) -> ValueAndGradient:
    """Mean over objects of the cross-entropy of the softmax of their scores with masses wanted, and its gradient with
    respect to the scores."""
    library = library_of(scores)
    shifted = scores - library.amax(scores, axis=1, keepdims=True)
    logarithms = shifted - library.log(library.exp(shifted).sum(axis=1, keepdims=True))
    return -(wanted * logarithms).sum() / len(scores), (_powers(logarithms) - wanted) / len(scores)


def _softmax(scores: Array) -> Array:
    library = library_of(scores)
    powers = _powers(scores - library.amax(scores, axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _powers(logarithms: Array) -> Array:
    """Exponentials, zero where single precision is about to run out of digits: processors take many times as long for
    numbers beyond that."""
    powers = library_of(logarithms).exp(logarithms)
    return powers * (powers > _NOTHING)


def _through_softmax(m: Array, gradient: Array) -> Array:
    return m * (gradient - (gradient * m).sum(axis=1, keepdims=True))


class HostArrays:
    """Where a training computes: with NumPy arrays of one precision."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=self.dtype)

    def integers(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values, dtype=np.int64)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array

    def conflicts_among(self, points: np.ndarray, gamma: float) -> np.ndarray:
        return self.array(conflicts_among(points, gamma))

    def session(self, seed: int) -> AbstractContextManager[object]:
        """In which a training runs. Its products are too small for threads, which slow them down on a busy machine and
        let the result depend on their number."""
        return one_blas_thread()


class FeedForward:
    """Rectified linear layers, whose last scores become masses.

    Attributes
    ----------
    sizes : tuple of int
        Inputs, units of the hidden layers, focal sets.
    layer : MassLayer
    weights : array
        Of all layers in one vector: for each the matrix (inputs, outputs), row after row, and the biases; then the
        coefficients of the outlier unit, if there is one.
    """

    def __init__(self, sizes: Sequence[int], layer: MassLayer, dtype: np.dtype, rng: np.random.Generator):
        """Weights and biases are drawn uniformly from +-1 / sqrt(inputs + 1)."""
        self.sizes, self.layer = tuple(sizes), layer
        drawn = [rng.uniform(-1, 1, (a + 1) * b) / np.sqrt(a + 1) for a, b in pairwise(self.sizes)]
        self._weights = np.concatenate([*drawn, layer.first_coefficients]).astype(dtype)

    @property
    def weights(self) -> np.ndarray:
        return self._weights

    @weights.setter
    def weights(self, values: np.ndarray) -> None:
        self._weights = values.astype(self._weights.dtype)

    @property
    def shares(self) -> np.ndarray:
        """One over the number of weights of the same layer, for each weight; zero for the outlier unit."""
        parts = [np.full((a + 1) * b, 1 / ((a + 1) * b)) for a, b in pairwise(self.sizes)]
        return np.concatenate([*parts, np.zeros(len(self.layer.first_coefficients))]).astype(self._weights.dtype)

    def __call__(self, x: np.ndarray, h: np.ndarray | None = None) -> np.ndarray:
        """(n, f) masses of objects, from their inputs and the decision values of the detector."""
        return self.traced(x, h)[0]

    def traced(
        self, x: np.ndarray, h: np.ndarray | None = None
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Masses, and the function that turns a gradient with respect to them into one with respect to the weights."""
        signals = self._signals(x)
        masses, back = self.layer.forward(signals[-1], h, self._coefficients())

        def gradient(of_masses: np.ndarray) -> np.ndarray:
            of_scores, of_coefficients = back(of_masses)
            return self._gradient(signals, of_scores, of_coefficients)

        return masses, gradient

    def taught(self, x: np.ndarray, wanted: np.ndarray) -> ValueAndGradient:
        """How far the layers, without the outlier unit, are from masses wanted: cross-entropy and its gradient with
        respect to the weights."""
        signals = self._signals(x)
        value, of_scores = cross_entropy(signals[-1], wanted)
        return value, self._gradient(signals, of_scores, None)

    def masses(self, inputs: Array, decision: np.ndarray | None, apply: Apply) -> Array:
        """Masses of objects by a forward pass, in blocks; those of a tensor where it is."""
        if is_tensor(inputs):
            return self._masses_on_device(inputs)
        x = inputs.astype(self._weights.dtype, copy=False)
        h = None if decision is None else decision.astype(self._weights.dtype)
        blocks = row_blocks(len(x))
        with one_blas_thread():  # threads go over blocks
            parts = apply(lambda a, b: self(x[a:b], None if h is None else h[a:b]), blocks)
        return np.concatenate(parts)

    def _masses_on_device(self, inputs: Array) -> Array:
        """The same layers, for a network without an outlier unit: its detector would not be there."""
        *before, (last, biases) = [tuple(to_device_of(part, inputs) for part in layer) for layer in self.matrices()]
        signal = inputs.to(last.dtype)
        for matrix, shift in before:
            signal = (signal @ matrix + shift).clamp(min=0)
        return self.layer.forward(signal @ last + biases, None, None)[0]

    def widened(self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray) -> FeedForward:
        """A network whose scores are those of this one times a matrix, with another layer of masses."""
        wider = copy.copy(self)
        wider.sizes, wider.layer = (*self.sizes[:-1], matrix.shape[1]), layer
        *before, last = self.matrices()
        parts = [*before, (last[0] @ matrix, last[1] @ matrix)]
        vectors = [vector.ravel() for part in parts for vector in part]
        wider._weights = np.concatenate([*vectors, coefficients]).astype(self._weights.dtype)
        return wider

    def train(self) -> None:
        """As torch's networks; ours are always the same."""

    def eval(self) -> None:
        """As torch's networks; ours are always the same."""

    def state(self) -> dict[str, np.ndarray]:
        return {"weights": self._weights.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.weights = state["weights"]

    def matrices(self, vector: np.ndarray | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
        """Weights (inputs, outputs) and biases of each layer; or these parts of another vector, such as a gradient."""
        vector = self._weights if vector is None else vector
        layers, at = [], 0
        for a, b in pairwise(self.sizes):
            layers.append((vector[at : at + a * b].reshape(a, b), vector[at + a * b : at + (a + 1) * b]))
            at += (a + 1) * b
        return layers

    def _coefficients(self) -> np.ndarray | None:
        return self._weights[-2:] if self.layer.detector else None

    def _signals(self, x: np.ndarray) -> list[np.ndarray]:
        """What each layer receives, and the scores at the end."""
        layers = self.matrices()
        signals = [x]
        for number, (matrix, biases) in enumerate(layers):
            signal = signals[-1] @ matrix
            signal += biases
            signals.append(signal if number == len(layers) - 1 else np.maximum(signal, 0, out=signal))
        return signals

    def _gradient(
        self, signals: list[np.ndarray], of_scores: np.ndarray, of_coefficients: np.ndarray | None
    ) -> np.ndarray:
        """Back through the layers."""
        gradient = np.zeros_like(self._weights)
        if of_coefficients is not None:
            gradient[-2:] = of_coefficients
        layers, of_signal = list(zip(self.matrices(), self.matrices(gradient), strict=True)), of_scores
        for number in reversed(range(len(layers))):
            (matrix, _), (of_matrix, of_biases) = layers[number]
            np.matmul(signals[number].T, of_signal, out=of_matrix)
            of_signal.sum(axis=0, out=of_biases)
            if number > 0:
                of_signal = of_signal @ matrix.T
                of_signal *= signals[number] > 0
        return gradient


# ---- what is to be matched -------------------------------------------------------------------------------------------

SMALL = 1000  # objects, up to which all pairs are looked at
_QUANTILE_FOR_FEW = 0.62  # d0 for three or four clusters: below that of EVCLUS, as networks smooth the borders
_SCALE_PAIRS = 100_000
_JUDGED_PAIRS = 20_000
_ASSESSED_PAIRS = 200_000


class HeldOutPairs(NamedTuple):
    """Pairs of objects i and j, with their dissimilarities, by which trainings are judged."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray


@dataclass(frozen=True)
class NetworkTargets:
    """What is known about the n objects.

    Attributes
    ----------
    source : DissimilaritySource
    labels : (n,) array
        Clusters of labelled objects, -1 for the others.
    constraints : Constraints or None
    remark : str
        What the user should know about the labels.
    """

    source: DissimilaritySource
    labels: np.ndarray
    constraints: Constraints | None
    remark: str = ""

    def __len__(self) -> int:
        return len(self.source)

    def all_dissimilarities(self) -> np.ndarray:
        """(n, n) matrix."""
        return self.source.block(np.arange(len(self)), np.arange(len(self)))

    def scale(self, quantile: float, rng: np.random.Generator) -> float:
        """d0, the dissimilarity at a quantile."""
        if len(self) <= SMALL:
            d = self.all_dissimilarities()[np.triu_indices(len(self), 1)]
        else:
            d = self.source.pairs(*drawn_pairs(len(self), _SCALE_PAIRS, rng))
        return scale_at(d, quantile)

    def pairs_to_judge(self, rng: np.random.Generator) -> HeldOutPairs:
        """Pairs to judge a training by: random ones, or a tenth of all for small data."""
        if len(self) <= SMALL:
            i, j = np.triu_indices(len(self), 1)
            chosen = rng.choice(len(i), max(1, min(_JUDGED_PAIRS, len(i) // 10)), replace=False)
            i, j = i[chosen], j[chosen]
        else:
            i, j = drawn_pairs(len(self), _JUDGED_PAIRS, rng)
        return HeldOutPairs(i, j, np.asarray(self.source.pairs(i, j), dtype=float))

    def pairs_to_assess(self, rng: np.random.Generator) -> WeightedPairs:
        """All pairs, or a sample of large data."""
        if len(self) <= SMALL:
            i, j = np.triu_indices(len(self), 1)
            d = self.all_dissimilarities()[i, j]
        else:
            i, j = drawn_pairs(len(self), _ASSESSED_PAIRS, rng)
            d = self.source.pairs(i, j)
        return WeightedPairs(i, j, np.asarray(d, dtype=float), np.ones(len(i)))

    def pairs_to_train_on(
        self, n_partners: int | None, held_out: HeldOutPairs | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """All pairs, or random partners of each object, without those held out."""
        n = len(self)
        pairs, times = random_pairs(n, n - 1 if n_partners is None else n_partners, rng)
        pairs = pairs if n_partners is None else np.repeat(pairs, times.astype(int), axis=0)
        if held_out is not None:
            low, high = np.minimum(held_out.i, held_out.j), np.maximum(held_out.i, held_out.j)
            pairs = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], low * n + high)]
        return pairs[:, 0], pairs[:, 1]


def targets_of(
    X: np.ndarray,
    metric: Any,
    n_clusters: int,
    y: ArrayLike,
    constraints: Constraints | None,
    dissimilarities: ArrayLike,
) -> NetworkTargets:
    """What is known about the rows of X: labels, constraints, and dissimilarities given or computed by a metric."""
    labels, remark = _checked_labels(y, len(X), n_clusters)
    known = constraints if constraints is not None and len(constraints) else None
    if dissimilarities is not None:
        D = as_reals(with_columns_like_rows(dissimilarities), "dissimilarities").astype(float, copy=False)
        if D.shape != (len(X), len(X)):
            raise InvalidInputError(f"dissimilarities must have shape ({len(X)}, {len(X)}), got {D.shape}")
        return NetworkTargets(MatrixSource(check_square(D, symmetrize=False)), labels, known, remark)
    rows = X.reshape(len(X), -1)
    if hasattr(metric, "transform"):
        rows, metric = _transformed(rows, clone(metric), labels, known), "euclidean"
    return NetworkTargets(AttributeSource(rows, metric), labels, known, remark)


def network_quantile(n_clusters: int) -> float:
    """Quantile of the dissimilarities taken as d0."""
    return _QUANTILE_FOR_FEW if n_clusters in (3, 4) else default_quantile(n_clusters)


def _transformed(rows: np.ndarray, learner: Any, labels: np.ndarray, constraints: Constraints | None) -> np.ndarray:
    """The space of a metric that is learnt from the constraints or, without any, from the labels."""
    if constraints is not None:
        learner.fit(rows, constraints=constraints)
    elif (labels >= 0).any():
        learner.fit(rows, labels)
    else:
        raise InvalidInputError("metric is a transformer, which learns from constraints or labels: give one of them")
    return np.ascontiguousarray(learner.transform(rows))


def _checked_labels(y: ArrayLike, n: int, c: int) -> tuple[np.ndarray, str]:
    """Clusters of labelled objects, -1 for the others, and what the user should know."""
    if y is None:
        return np.full(n, -1), ""
    with reading_labels(y, "y"):
        labels = np.asarray(to_host(y))
    if labels.shape != (n,):
        raise InvalidInputError(f"y must hold one label for each of the {n} objects, got shape {labels.shape}")
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == labels.astype(int)).all():
        labels = labels.astype(int)
    if labels.dtype.kind == "O" and all(is_integer(label) and is_number(label) for label in labels.tolist()):
        labels = labels.astype(np.int64)
    are_numbers = labels.dtype.kind in "iu"
    inside = bool(are_numbers and labels.min() >= -1 and labels.max() < c)
    if not inside and not (labels == -1).any():
        # a target that came along with the data, as in pipelines: clusterers ignore it
        return np.full(n, -1), f"y holds no -1 and is not made of the clusters 0 to {c - 1}: it is ignored"
    if not are_numbers:
        raise InvalidInputError("y must hold cluster numbers (integers), -1 for objects without a label")
    if not inside:
        raise InvalidInputError(f"y must hold numbers from 0 to {c - 1}, or -1, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int64), ""


# ---- the loss as a function of the weights ---------------------------------------------------------------------------

_MAX_STEPS = 50  # of mini-batches in an epoch
_EXTRA = 256  # labelled objects and constraints added to a mini-batch


class Arrays(Protocol):
    """Where a training computes: `HostArrays` of NumPy, or torch's on a device; all of one precision."""

    def array(self, values: np.ndarray) -> Array: ...
    def integers(self, values: np.ndarray) -> Array: ...
    def to_host(self, array: Array) -> np.ndarray: ...
    def conflicts_among(self, points: np.ndarray, gamma: float) -> Array: ...
    def session(self, seed: int) -> AbstractContextManager[Any]: ...


class Network(Protocol):
    """What is trained: `FeedForward`, which documents the methods, or `TorchNetwork`."""

    weights: Any  # a vector

    @property
    def shares(self) -> Array: ...
    def traced(self, x: Array, h: Array | None) -> tuple[Array, Callable[[Array], Array]]: ...
    def taught(self, x: Array, wanted: Array) -> ValueAndGradient: ...
    def masses(self, inputs: Array, decision: np.ndarray | None, apply: Apply) -> Array: ...
    def widened(self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray) -> Network: ...
    def train(self) -> Any: ...
    def eval(self) -> Any: ...
    def state(self) -> dict[str, np.ndarray]: ...
    def restore(self, state: dict[str, np.ndarray]) -> None: ...


@dataclass(frozen=True)
class NetworkInputs:
    """What the network sees of the objects.

    Attributes
    ----------
    values : (n, ...) array
        The objects, standardised.
    decision : (n,) array or None
        Values of the outlier detector, where there is one.
    arrays : Arrays
        Where they are sent to.
    """

    values: np.ndarray
    decision: np.ndarray | None
    arrays: Arrays

    def objects(self, who: np.ndarray | None = None) -> Array:
        """Inputs of some objects; of all for None."""
        return self.arrays.array(self.values if who is None else self.values[who])

    def decisions(self, who: np.ndarray | None = None) -> Array | None:
        """Decision values of some objects; of all for None."""
        if self.decision is None:
            return None
        return self.arrays.array(self.decision if who is None else self.decision[who])


@dataclass(frozen=True)
class Penalties:
    """Weights of the terms beside the dissimilarities: constraints, labels, size of the network's weights."""

    xi: float
    nu: float
    regularization: float


class _Known(NamedTuple):
    """Constraints and labels of objects, by their positions among those whose masses are at hand."""

    links: Links
    labels: Labels


GivenBatch = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Objects of a mini-batch: as they were given, as the network sees them, and their decision values, if any."""


class NetworkObjective:
    """How far the conflicts of a network are from the dissimilarities, and its masses from the other knowledge.

    The loss is (1 - nu) times the mean squared error of the conflicts, xi times the violation of the constraints, nu
    times that of the labels and a multiple of the size of the weights (Denoeux, 2021, eqs. 9, 10, 15 and section 4).
    """

    def __init__(
        self, targets: NetworkTargets, family: FocalSets, d0: float, inputs: NetworkInputs, penalties: Penalties
    ):
        self.targets, self.d0, self.inputs, self.arrays = targets, d0, inputs, inputs.arrays
        self.labelled = np.flatnonzero(targets.labels >= 0)
        self.xi, self.regularization = penalties.xi, penalties.regularization
        self.nu = penalties.nu if len(self.labelled) else 0.0
        none: np.ndarray = np.empty((0, 2), dtype=np.int64)
        given = targets.constraints
        self.must_link: np.ndarray = none if given is None else given.must_link
        self.cannot_link: np.ndarray = none if given is None else given.cannot_link
        self.indicators = np.eye(family.n_clusters)
        self.conflict = self.arrays.array(np.array(family.conflict))
        self.link_form = self.arrays.array(link_form(family))
        self.membership = self.arrays.array(family.membership)
        self.nothing_known = self._known(none, none, none[:, 0])

    def whole_loss(
        self, network: Network, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Callable[[], ValueAndGradient]:
        """The loss on all objects, and on all pairs or those given, with its gradient with respect to the weights."""
        x, h = self.inputs.objects(), self.inputs.decisions()
        known = self._known(self.must_link, self.cannot_link, self.labelled)
        if pairs is None:
            delta = self._conflicts_at(self.targets.all_dissimilarities())
            squares = _squares(delta)
        else:
            delta = self.arrays.array(to_conflict(self.targets.source.pairs(*pairs), self.d0))
            i, j = (self.arrays.integers(ends) for ends in pairs)

        def loss() -> ValueAndGradient:
            masses, back = network.traced(x, h)
            if pairs is None:
                error = all_pairs_error(masses, delta, self.conflict, squares)
            else:
                error = pairs_error(masses, i, j, delta, self.conflict)
            value, gradient = self._with_knowledge(masses, known, *error)
            return self._with_size(network, value, back(gradient))

        return loss

    def mini_batches(self, network: Network, batch_size: int, rng: np.random.Generator) -> Iterator[ValueAndGradient]:
        """The same for the batches of an epoch: all pairs inside a batch, some constraints and labelled objects."""
        for who in batches_of_epoch(len(self.targets), batch_size, rng):
            extra, known = self._some_knowledge(len(who), rng)
            both = np.concatenate([who, extra])
            masses, back = network.traced(self.inputs.objects(both), self.inputs.decisions(both))
            delta = self._conflicts_among(who)
            value, of_batch = all_pairs_error(masses[: len(who)], delta, self.conflict, _squares(delta))
            gradient = self.arrays.array(np.zeros(tuple(masses.shape)))
            gradient[: len(who)] = of_batch
            value, gradient = self._with_knowledge(masses, known, value, gradient)
            yield self._with_size(network, value, back(gradient))

    def given_batches(self, network: Network, batches: Iterable[GivenBatch]) -> Iterator[ValueAndGradient]:
        """The same for objects that are not among those at hand; nothing else is known of them."""
        for objects, inputs, decision in batches:
            h = None if decision is None else self.arrays.array(decision)
            masses, back = network.traced(self.arrays.array(inputs), h)
            delta = self._conflicts_of(objects)
            error = all_pairs_error(masses, delta, self.conflict, _squares(delta))
            value, gradient = self._with_knowledge(masses, self.nothing_known, *error)
            yield self._with_size(network, value, back(gradient))

    def judge(self, network: Network, held_out: HeldOutPairs) -> Callable[[], float]:
        """The error of the network on some pairs, as a function of its weights."""
        i, j, d = held_out
        who, position = np.unique(np.concatenate([i, j]), return_inverse=True)
        first, second = self.arrays.integers(position[: len(i)]), self.arrays.integers(position[len(i) :])
        delta = self.arrays.array(to_conflict(d, self.d0))
        x, h = self.inputs.objects(who), self.inputs.decisions(who)
        return lambda: float(pairs_value(network.traced(x, h)[0], first, second, delta, self.conflict))

    # ---- the terms ------------------------------------------------------------------------------------------------

    def _conflicts_among(self, who: np.ndarray) -> Array:
        source = self.targets.source
        if source.matrix is None:
            return self._conflicts_of(source.objects[who])
        return self._conflicts_at(source.block(who, who))

    def _conflicts_of(self, objects: np.ndarray) -> Array:
        """Conflicts that objects should have among each other."""
        source = self.targets.source
        if source.is_euclidean:
            return self.arrays.conflicts_among(objects, decay(self.d0))
        return self._conflicts_at(source.between(objects, objects))

    def _conflicts_at(self, dissimilarities: np.ndarray) -> Array:
        D = np.array(dissimilarities, dtype=float)
        np.fill_diagonal(D, 0)
        return self.arrays.array(to_conflict(D, self.d0))

    def _with_knowledge(self, masses: Array, known: _Known, value: Any, gradient: Array) -> ValueAndGradient:
        """The error of the conflicts with its weight, and those of constraints and labels."""
        terms = [(1 - self.nu, (value, gradient))]
        if self.xi > 0 and len(known.links.i):
            terms.append((self.xi, links_error(masses, known.links, self.link_form)))
        if self.nu and len(known.labels.who):
            terms.append((self.nu, labels_error(masses, known.labels, self.membership)))
        return sum(w * term[0] for w, term in terms), sum(w * term[1] for w, term in terms)

    def _with_size(self, network: Network, value: Any, gradient: Array) -> ValueAndGradient:
        """The loss as a function of the weights, whose own size counts too."""
        if not self.regularization:
            return value, gradient
        size, of_size = size_of_weights(network.weights, network.shares)
        return value + self.regularization * size, gradient + self.regularization * of_size

    # ---- constraints and labels -----------------------------------------------------------------------------------

    def _some_knowledge(self, offset: int, rng: np.random.Generator) -> tuple[np.ndarray, _Known]:
        """Objects of some constraints and labels; these by positions among them, counted from the offset."""
        must, cannot, labelled = self.must_link, self.cannot_link, self.labelled
        total = len(must) + len(cannot)
        if total + len(labelled) == 0:
            return labelled, self.nothing_known
        if total:
            chosen = rng.choice(total, min(_EXTRA, total), replace=False)
            n_must = len(must)
            must, cannot = must[chosen[chosen < n_must]], cannot[chosen[chosen >= n_must] - n_must]
        if len(labelled):
            labelled = rng.choice(labelled, min(_EXTRA, len(labelled)), replace=False)
        extra = np.unique(np.concatenate([must.ravel(), cannot.ravel(), labelled]))
        return extra, self._known(must, cannot, labelled, lambda who: offset + np.searchsorted(extra, who))

    def _known(
        self,
        must: np.ndarray,
        cannot: np.ndarray,
        labelled: np.ndarray,
        position: Callable[[np.ndarray], np.ndarray] = lambda who: who,
    ) -> _Known:
        """Some constraints and labels, with the positions of their objects."""
        pairs = position(np.concatenate([must, cannot]))
        signs = np.repeat([1.0, -1.0], [len(must), len(cannot)])
        arrays = self.arrays
        return _Known(
            Links(arrays.integers(pairs[:, 0]), arrays.integers(pairs[:, 1]), arrays.array(signs), len(cannot)),
            Labels(arrays.integers(position(labelled)), arrays.array(self.indicators[self.targets.labels[labelled]])),
        )


def batches_of_epoch(n: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Numbers of the objects of each batch: all objects once, or some of very many."""
    size = min(batch_size, n)
    steps = max(1, min(_MAX_STEPS, n // size))
    sees_few = steps * size < n // 2  # far more objects than an epoch sees
    order = rng.integers(0, n, steps * size) if sees_few else rng.permutation(n)
    for batch in np.array_split(order[: max(steps * size, size)], steps):
        who = np.unique(batch) if sees_few else batch
        if len(who) >= 2:
            yield who


def _squares(delta: Array) -> Any:
    """The sum of delta^2."""
    values = delta.reshape(-1)
    return values @ values


# ---- training --------------------------------------------------------------------------------------------------------

LBFGS_STEPS = 10  # iterations in a round
_MEMORY = 40  # steps from which L-BFGS learns the curvature
_LEAST_MEMORY, _REMEMBERED = 10, 2_000_000  # numbers of all steps, if a network has many weights
_NO_SLOPE = 1e-12  # derivatives below which it ends
_KEPT = 0.9  # of the running gain, a round
_MEAN_KEPT, _SQUARE_KEPT, _NO_ROOT = 0.9, 0.999, 1e-8  # of Adam, the authors' values
_WRITTEN = ("history", "validation", "best_value", "best_round", "best", "optimizer", "finished", "converged")

Loss = Callable[[], ValueAndGradient]
Judge = Callable[[], float]


class TrainingProgress:
    """What a training has come to.

    Attributes
    ----------
    network : Network
    arrays : Arrays
        Where the network computes.
    history, validation : list of float
        The loss after every round, and the error on held-out pairs where there are any.
    best : dict
        The network of the best round, by the held-out pairs if there are any.
    best_value, best_round
        Its loss or error, and its number, counted from 1.
    optimizer : dict
        Arrays and numbers that the trainer goes on with.
    finished, converged : bool
    """

    def __init__(self, network: Network, arrays: Arrays):
        self.network, self.arrays = network, arrays
        self.history: list[float] = []
        self.validation: list[float] = []
        self.best_value, self.best_round = float("inf"), 0
        self.best = network.state()
        self.optimizer: dict[str, Any] = {}
        self.finished = False
        self.converged = False

    def note(self, loss: float, judged: float | None = None) -> None:
        """Add a round; the network is kept if it is the best so far."""
        self.history.append(float(loss))
        value = float(loss if judged is None else judged)
        if judged is not None:
            self.validation.append(value)
        if value < self.best_value:
            self.best_value, self.best_round = value, len(self.history)
            self.best = self.network.state()

    def end_if(self, settled: bool, *, out_of_patience: bool, out_of_rounds: bool) -> None:
        """A training is over when it settled, when held-out pairs got no better for long, or when its time is up."""
        self.converged = settled or out_of_patience
        self.finished = self.converged or out_of_rounds

    @property
    def rounds_since_best(self) -> int:
        return len(self.history) - self.best_round

    @property
    def kept_rounds(self) -> int:
        """Rounds up to the one whose network is kept; without held-out pairs nothing is lost after it."""
        return self.best_round if self.validation else len(self.history)

    def state(self) -> dict[str, Any]:
        """Arrays of the host, numbers, and lists and dictionaries of them."""
        return {**{name: getattr(self, name) for name in _WRITTEN}, "network": self.network.state()}

    def restore(self, state: dict[str, Any]) -> None:
        for name in _WRITTEN:
            setattr(self, name, state[name])
        self.network.restore(state["network"])


Save = Callable[[TrainingProgress], None]


def train_lbfgs(
    progress: TrainingProgress,
    loss: Loss,
    judge: Judge | None,
    *,
    max_iter: int,
    tol: float,
    save: Save,
    patience: int,
) -> None:
    """Limited-memory quasi-Newton steps on the whole loss, until a round of ten gains less than ``tol`` relatively."""
    network, arrays = progress.network, progress.arrays

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        network.weights = arrays.array(weights)
        value, gradient = loss()
        return float(value), arrays.to_host(gradient).astype(np.float64)

    start = arrays.to_host(network.weights)
    memory = max(_LEAST_MEMORY, min(_MEMORY, _REMEMBERED // len(start)))
    search = LBFGS(start, max_iter=max_iter, tol=0.0, gradient_tol=_NO_SLOPE, memory=memory)
    if progress.optimizer:
        search.restore(progress.optimizer)
    while not progress.finished:
        for _ in range(LBFGS_STEPS):
            if not search.iterate(evaluate):
                break
        network.weights = arrays.array(search.point)
        value = search.value
        previous = progress.history[-1] if progress.history else float("inf")
        progress.note(value, judge() if judge else None)
        progress.end_if(
            search.converged or previous - value <= tol * abs(value),
            out_of_patience=judge is not None and progress.rounds_since_best >= patience,
            out_of_rounds=search.ended,
        )
        progress.optimizer = search.state()
        save(progress)


def train_adaptive_steps(
    progress: TrainingProgress,
    loss: Loss,
    judge: Judge | None,
    *,
    max_iter: int,
    tol: float,
    save: Save,
    patience: int,
) -> None:
    """Gradient descent with a step of its own for each weight (Silva and Almeida, 1990), the papers' method.

    A step grows by a fifth while its derivative keeps its sign and shrinks by a fifth when it changes; if the loss
    rises, all are halved and the step is taken again from the last accepted point, which is also what is returned.
    """
    network, arrays = progress.network, progress.arrays
    if progress.optimizer:
        saved = progress.optimizer
        point, gradient, steps = (arrays.array(saved[name]) for name in ("point", "gradient", "steps"))
        value, gain = saved["value"], saved["gain"]
    else:
        value, gradient = loss()
        value, gain, point = float(value), 1.0, network.weights
        steps = arrays.array(np.full(len(point), 0.1))
    while not progress.finished:
        network.weights = point - steps * gradient
        new_value, new_gradient = loss()
        if float(new_value) > value:
            steps = 0.5 * steps
            network.weights = point
        else:
            gain = _KEPT * gain + (1 - _KEPT) * abs(value - float(new_value))
            same_sign = new_gradient * gradient >= 0
            steps = (1.2 * steps * same_sign + 0.8 * steps * ~same_sign).clip(1e-6, 1e4)
            point, gradient, value = network.weights, new_gradient, float(new_value)
        progress.note(value, judge() if judge else None)
        progress.end_if(
            gain <= tol * abs(value),
            out_of_patience=judge is not None and progress.rounds_since_best >= patience,
            out_of_rounds=len(progress.history) >= max_iter,
        )
        vectors = {"point": point, "gradient": gradient, "steps": steps}
        progress.optimizer = {name: arrays.to_host(vector) for name, vector in vectors.items()}
        progress.optimizer |= {"value": value, "gain": gain}
        save(progress)


def train_mini_batches(
    progress: TrainingProgress,
    batches: Callable[[int], Iterable[ValueAndGradient]],
    judge: Judge,
    *,
    epochs: int,
    learning_rate: float,
    save: Save,
    patience: int | None,
) -> None:
    """Adam with a rate that falls to zero along a cosine; ``batches(epoch)`` gives the losses of an epoch one by one.

    After every epoch the held-out pairs are judged; the best weights are kept, and with ``patience`` that many
    epochs without a better one end the training (without, it goes on: much is gained when the rate is small). A rate
    of zero is an end, too: the training counts as converged.
    """
    network = progress.network
    adam = Adam(network, progress.arrays)
    if progress.optimizer:
        adam.restore(progress.optimizer)
    while not progress.finished:
        epoch = len(progress.history)
        rate = falling(learning_rate, epoch, epochs)
        total, count = 0.0, 0
        network.train()
        for value, gradient in batches(epoch):
            adam.step(gradient, rate)
            total += value
            count += 1
        network.eval()
        progress.note(float(total) / max(count, 1), judge())
        progress.end_if(
            len(progress.history) >= epochs,
            out_of_patience=patience is not None and progress.rounds_since_best >= patience,
            out_of_rounds=False,
        )
        progress.optimizer = adam.state()
        save(progress)


class Adam:
    """Steps along the running mean of the gradient, over the root of that of its squares (Kingma and Ba, 2015)."""

    def __init__(self, network: Network, arrays: Arrays):
        self.network, self.arrays, self.steps = network, arrays, 0
        zeros = np.zeros(len(network.weights))
        self.mean, self.square = arrays.array(zeros), arrays.array(zeros)

    def step(self, gradient: Array, rate: float) -> None:
        self.steps += 1
        self.mean += (1 - _MEAN_KEPT) * (gradient - self.mean)
        self.square += (1 - _SQUARE_KEPT) * (gradient * gradient - self.square)
        mean_seen, square_seen = 1 - _MEAN_KEPT**self.steps, 1 - _SQUARE_KEPT**self.steps
        size = (self.square / square_seen) ** 0.5 + _NO_ROOT
        self.network.weights = self.network.weights - (rate / mean_seen) * self.mean / size

    def state(self) -> dict[str, Any]:
        to_host = self.arrays.to_host
        return {"steps": self.steps, "mean": to_host(self.mean).copy(), "square": to_host(self.square).copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]
        self.mean, self.square = self.arrays.array(state["mean"]), self.arrays.array(state["square"])


def falling(first: float, step: int, steps: int) -> float:
    """The rate of a step, along a cosine from the first rate to zero."""
    return first * 0.5 * (1 + math.cos(math.pi * step / steps))
