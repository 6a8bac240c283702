"""Layers of the network of NN-EVCLUS, with their gradients.

They accept NumPy arrays and torch tensors. `dempster.cluster.evclus._torch_network` contains the
networks with a torch module of the user.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from dempster._arrays import (
    Array,
    cast_like,
    is_tensor,
    library_of,
    to_device_of,
    to_host,
    zeros,
)
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster.dissimilarity.transform import conflicts_among
from dempster.optimize.blocks import Apply, row_blocks

ValueAndGradient = tuple[Any, Array]
_MIN_EXPONENTIAL = 1e-30

# ---- output layer --------------------------------------------------------------------------------


@dataclass(frozen=True)
class MassLayer:
    """Output layer that computes the masses by a softmax m and, optionally, an outlier unit.

    With an outlier unit, the masses are (1 - g) m + g e, where e has all mass on the empty set. The
    input h of the unit is the decision value of a detector, which is positive inside the region of
    the data. Let eta = softplus(b0 + b1 h). With the convention "program" of the published program,
    g = eta / (1 + eta), and (b0, b1) is initially (0, -1). With the convention "paper" (Denoeux,
    2021, eqs. 12 and 13), 1 - g = eta / (1 + eta), and (b0, b1) is initially (0, 1).
    """

    empty: int | None  # index of the empty set; None if the family does not contain it
    detector: bool = False  # whether there is an outlier unit
    convention: str = "program"

    @property
    def first_coefficients(self) -> list[float]:
        """Initial coefficients b0 and b1 of the outlier unit, an empty list without this unit."""
        if not self.detector:
            return []
        return [0.0, -1.0 if self.convention == "program" else 1.0]

    def forward(
        self, scores: Array, h: Array | None, coefficients: Array | None
    ) -> tuple[Array, Callable[[Array], tuple[Array, Array | None]]]:
        """Return the masses, shape (n, f), and a function that maps a gradient backwards.

        The function returns the gradients with respect to scores and coefficients.
        """
        if is_tensor(scores):
            m = scores.softmax(dim=1)
        else:
            powers = _exp(_shift(scores))
            m = powers / powers.sum(axis=1, keepdims=True)

        def to_scores(gradient: Array) -> Array:
            return m * (gradient - (gradient * m).sum(axis=1, keepdims=True))

        if not self.detector:
            return m, lambda gradient: (to_scores(gradient), None)
        if h is None or coefficients is None:
            raise InvalidInputError(
                "a network with an outlier unit requires the decision values of the detector"
            )
        library = library_of(scores)
        total = coefficients[0] + coefficients[1] * h
        eta = library.logaddexp(total, library.zeros_like(total))
        is_program = self.convention == "program"
        g = (eta if is_program else 1) / (1 + eta)
        masses = (1 - g)[:, None] * m
        masses[:, self.empty] += g

        def backward(gradient: Array) -> tuple[Array, Array]:
            of_share = gradient[:, self.empty] - (gradient * m).sum(axis=1)
            if not is_program:
                of_share = -of_share
            # derivative of softplus, which is the logistic function
            slope = -library.expm1(-eta)
            of_total = of_share * slope / (1 + eta) ** 2
            of_coefficients = library.stack([of_total.sum(), (of_total * h).sum()])
            return to_scores((1 - g)[:, None] * gradient), of_coefficients

        return masses, backward


def cross_entropy(scores: Array, targets: Array) -> ValueAndGradient:
    """Return the mean cross-entropy of targets and the softmax of scores.

    The second result is the gradient with respect to the scores.
    """
    n = len(scores)
    if is_tensor(scores):
        logarithms = scores.log_softmax(dim=1)
        powers = logarithms.exp()
    else:
        shifted = _shift(scores)
        logarithms = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        powers = _exp(logarithms)
    return (targets * logarithms).sum() / -n, (powers - targets) / n


def _shift(scores: np.ndarray) -> np.ndarray:
    """Subtract the largest score of each row."""
    return scores - scores.max(axis=1, keepdims=True)


def _exp(logarithms: np.ndarray) -> np.ndarray:
    """Return the exponentials.

    Values below 1e-30 are set to zero, because subnormal numbers slow down computations.
    """
    powers = np.exp(logarithms)
    return powers * (powers > _MIN_EXPONENTIAL)


# ---- networks ------------------------------------------------------------------------------------


class MassNetwork(ABC):
    """Network with a `MassLayer` as output layer."""

    layer: MassLayer
    coefficients: Array  # coefficients of the outlier unit, None if there is none

    @abstractmethod
    def differentiate_scores(
        self, x: Array
    ) -> tuple[Array, Callable[[Array, Array | None], Array]]:
        """Return the scores of the focal sets for n inputs, shape (n, f), and a function.

        The function maps gradients with respect to the scores and the coefficients to the gradient
        with respect to all weights.
        """

    def forward_backward(
        self, x: Array, h: Array | None = None
    ) -> tuple[Array, Callable[[Array], Array]]:
        """Return the masses, and a function that maps gradients.

        It maps a gradient with respect to the masses to the gradient with respect to all weights.
        """
        scores, backward = self.differentiate_scores(x)
        coefficients = self.coefficients
        if is_tensor(coefficients):
            coefficients = coefficients.detach()
        masses, layer_backward = self.layer.forward(scores, h, coefficients)
        return masses, lambda of_masses: backward(*layer_backward(of_masses))

    def cross_entropy(self, x: Array, targets: Array) -> ValueAndGradient:
        """Return the cross-entropy of targets and softmax outputs, and its gradient.

        The outlier unit is not used.
        """
        scores, backward = self.differentiate_scores(x)
        value, of_scores = cross_entropy(scores, targets)
        return value, backward(of_scores, None)


class FeedForward(MassNetwork):
    """Feed-forward network with ReLU hidden layers and a `MassLayer` as output layer.

    The weights are a NumPy array, or during a training on a device a tensor. The initial weights
    and biases are uniform between -1 / sqrt(k + 1) and 1 / sqrt(k + 1) for a layer with k inputs.
    ``sizes`` contains the numbers of inputs, of units in each hidden layer, and of focal sets.
    ``weights`` contains, for each layer, the matrix (inputs, outputs) in row-major order, then the
    biases. The coefficients of the outlier unit, if there is one, come last.
    """

    sizes: tuple[int, ...]
    _weights: Annotated[np.ndarray, "*"]

    def __init__(
        self,
        sizes: Sequence[int],
        layer: MassLayer,
        arrays: Any,
        rng: np.random.Generator,
    ):
        self.sizes = tuple(sizes)
        self.layer = layer
        parts = [
            rng.uniform(-1, 1, (a + 1) * b) / np.sqrt(a + 1)
            for a, b in pairwise(self.sizes)
        ]
        self._weights = arrays.array(np.concatenate([*parts, layer.first_coefficients]))

    @property
    def weights(self) -> Array:
        return self._weights

    @weights.setter
    def weights(self, values: Array) -> None:
        if not is_tensor(values):
            values = cast_like(values, self._weights)
        self._weights = values

    @property
    def coefficients(self) -> Array | None:
        if self.layer.detector:
            return self._weights[-2:]
        return None

    @property
    def shares(self) -> Array:
        """Vector with one divided by the number of weights in the layer of each weight.

        Zero for the outlier unit.
        """
        shares = zeros(self._weights.shape, self._weights)
        for part in self.matrices(shares):
            for values in part:
                values[...] = 1 / sum(len(vector.reshape(-1)) for vector in part)
        return shares

    def parameters(self) -> list[Array]:
        """Return the weights, like a torch module."""
        return [self._weights]

    def __call__(self, x: Array, h: Array | None = None) -> Array:
        """Return the masses for n inputs x, shape (n, f).

        The array ``h`` contains the decision values of the outlier detector.
        """
        return self.forward_backward(x, h)[0]

    def matrices(self, vector: Array = None) -> list[tuple[Array, Array]]:
        """Return the matrix, shape (inputs, outputs), and the biases of each layer.

        They are views of ``vector``, which contains the weights by default.
        """
        if vector is None:
            vector = self._weights
        layers = []
        for a, b in pairwise(self.sizes):
            layers.append((vector[: a * b].reshape(a, b), vector[a * b : (a + 1) * b]))
            vector = vector[(a + 1) * b :]
        return layers

    def differentiate_scores(
        self, x: Array
    ) -> tuple[Array, Callable[[Array, Array | None], Array]]:
        library = library_of(x)
        layers = self.matrices()
        signals = [x]  # the inputs of all layers, followed by the scores
        for matrix, biases in layers:
            signal = signals[-1] @ matrix
            signal += biases
            signals.append(signal.clip(min=0))
        signals[-1] = signal  # The last layer is linear.

        def backward(of_signal: Array, of_coefficients: Array | None) -> Array:
            gradient = zeros(self._weights.shape, self._weights)
            if of_coefficients is not None:
                gradient[-2:] = of_coefficients
            of_layers = self.matrices(gradient)
            for number in reversed(range(len(layers))):
                of_matrix, of_biases = of_layers[number]
                library.matmul(signals[number].T, of_signal, out=of_matrix)
                library.sum(of_signal, 0, out=of_biases)
                if number > 0:
                    of_signal = of_signal @ layers[number][0].T
                    of_signal *= signals[number] > 0
            return gradient

        return signals[-1], backward

    def predict_masses(
        self, inputs: Array, decision: np.ndarray | None, apply: Apply
    ) -> Array:
        """Return the masses, computed in blocks of rows; tensors stay on their device."""
        if is_tensor(inputs):
            weights = to_device_of(self._weights, inputs)
            if decision is not None:
                decision = cast_like(decision, weights)
            return self.with_weights(weights)(inputs.to(weights.dtype), decision)
        dtype = self._weights.dtype

        def predict(start: int, stop: int) -> np.ndarray:
            x = inputs[start:stop].astype(dtype, copy=False)
            if decision is None:
                return self(x)
            return self(x, decision[start:stop].astype(dtype))

        with one_blas_thread():  # Other threads already work on other blocks.
            return np.concatenate(apply(predict, row_blocks(len(inputs))))

    def widen(
        self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray
    ) -> FeedForward:
        """Return a network with other focal sets and another output layer.

        Its scores are the scores of this network times a matrix.
        """
        wider = copy.copy(self)
        wider.sizes = (*self.sizes[:-1], matrix.shape[1])
        wider.layer = layer
        *hidden, (last, biases) = self.matrices(to_host(self._weights))
        parts = [*hidden, (last @ matrix, biases @ matrix)]
        vectors = [values.ravel() for part in parts for values in part]
        wider.weights = np.concatenate([*vectors, coefficients])
        return wider

    def with_weights(self, weights: Array) -> FeedForward:
        """Return a network with the same layers and other weights."""
        other = copy.copy(self)
        other._weights = weights
        return other

    def train(self) -> None:
        """Do nothing, because this network has no training mode, unlike a torch module."""

    def eval(self) -> None:
        """Do nothing, because this network has no training mode, unlike a torch module."""

    def get_state(self) -> dict[str, np.ndarray]:
        return {"weights": to_host(self._weights).copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.weights = state["weights"].reshape(self._weights.shape)


class HostArrays:
    """Functions that create the arrays for a training as NumPy arrays of one precision."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values, self.dtype)

    def place(self, values: Array) -> np.ndarray:
        """Return values in main memory, in their precision."""
        return to_host(values)

    def integers(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values, np.int64)

    def conflict_function(
        self, points: np.ndarray, gamma: float
    ) -> Callable[[Any], np.ndarray]:
        """Return a function that computes the target conflicts among some of the points."""
        return lambda rows: self.array(conflicts_among(points[rows], gamma))

    def session(self, seed: int) -> AbstractContextManager[object]:
        """Return a context in which BLAS uses one thread, so that results are reproducible."""
        return one_blas_thread()
