"""The network of NN-EVCLUS, rectified linear layers and a layer of masses, with its gradient, in NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise

import numpy as np

from dempster._arrays import Array, is_tensor, same_place
from dempster._blas import one_blas_thread
from dempster.cluster.evclus.network._losses import ValueAndGradient
from dempster.cluster.evclus.network._mass_layer import MassLayer, cross_entropy
from dempster.dissimilarity.transform import conflicts_among
from dempster.optimize.blocks import Apply, row_blocks

__all__ = ["FeedForward", "HostArrays"]


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
        *before, (last, biases) = [tuple(same_place(part, inputs) for part in layer) for layer in self.matrices()]
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
