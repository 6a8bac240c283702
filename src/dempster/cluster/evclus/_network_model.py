"""Trained network of NN-EVCLUS, with the standardization of its inputs and its outlier detector."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dempster._arrays import (
    Array,
    is_tensor,
    library_of,
    precision_of,
    row_mean,
    row_slices,
    to_device_of,
    to_host,
)
from dempster.belief import FocalSets
from dempster.cluster._revision import ConstrainedModel
from dempster.cluster.evclus._model import Assessment, assess
from dempster.cluster.evclus._pairs import MAX_ALL_PAIRS_ROWS, WeightedPairs
from dempster.data.device import allocate_rows, copy_into, import_torch, to_tensor
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import Apply, row_blocks

_ROWS_PER_BLOCK = 65_536
_ASSESSMENT_PAIRS = 200_000

# ---- inputs of the network -----------------------------------------------------------------------

# maximum number of rows for the fit of a detector and for one call of decision_function
_MAX_DETECTOR_ROWS = 10_000
_N_FOLDS = 10  # of the cross-validation of the detector


@dataclass(frozen=True)
class Preparation:
    """Standardization and outlier detector, fitted to the training rows."""

    mean: np.ndarray
    scale: np.ndarray
    detector: Any = None
    # standard deviation of the decision values of the training rows
    detector_scale: float = 1.0

    def standardize(self, X: Array) -> Array:
        return (X - to_device_of(self.mean, X)) / to_device_of(self.scale, X)

    def decision_values(self, inputs: Array) -> np.ndarray | None:
        """Return the scaled decision values of standardized rows, or None without a detector.

        Decision values are positive inside the region of the data.
        """
        if self.detector is None:
            return None
        flat = to_host(inputs).reshape(len(inputs), -1)
        blocks = row_blocks(len(flat), _MAX_DETECTOR_ROWS, most=None)
        parts = [self.detector.decision_function(flat[a:b]) for a, b in blocks]
        return np.concatenate(parts).astype(float).reshape(-1) / self.detector_scale

    def held_out_decision_values(self, inputs: np.ndarray) -> np.ndarray:
        """Return the scaled decision values of training rows for detectors fitted to other rows.

        A detector gives the rows that it was fitted to larger decision values than new rows,
        especially if there are many attributes.
        """
        flat = inputs.reshape(len(inputs), -1)
        order = order_along_line(flat)
        parts = []
        for fold in range(_N_FOLDS):
            held_out = np.s_[fold::_N_FOLDS]
            others = flat[np.delete(order, held_out)]
            every = -(-len(others) // _MAX_DETECTOR_ROWS)
            detector = clone(self.detector).fit(others[::every])
            values = detector.decision_function(flat[order[held_out]])
            parts.append(values.reshape(-1))
        return np.concatenate(parts) / self.detector_scale

    def inputs(self, X: Array, device: Any, dtype: Any) -> tuple[Any, Any | None]:
        """Return the inputs of the network and the decision values for rows of X, as tensors."""
        if str(device) != "cpu":
            X = to_tensor(X, device)
        values = self.standardize(X)
        decision = self.decision_values(values)
        if decision is not None:
            decision = to_tensor(decision, device).to(dtype)
        return to_tensor(values, device).to(dtype), decision

    @classmethod
    def from_rows(
        cls,
        X: Array,
        detector: Any,
        rng: np.random.Generator,
        moments: tuple[np.ndarray, np.ndarray] | None,
    ) -> Preparation:
        """Fit the standardization and the detector to training rows.

        ``detector`` is None, "one-class-svm" or an object with a method ``decision_function``. If X
        is a sample of the training rows, ``moments`` contains the mean and the standard deviation
        of all training rows.
        """
        n = len(X)
        if moments is None:
            values = X
            if n <= MAX_ALL_PAIRS_ROWS:
                # For few rows, sums are computed in a fixed order, because full-batch training
                # amplifies rounding errors.
                values = to_host(X)
                values = values[order_along_line(values.reshape(n, -1))]
            moments = _compute_moments(values)
        mean, scale = moments
        dtype = precision_of(X)
        scaler = cls(mean.astype(dtype), np.where(scale > 0, scale, 1).astype(dtype))
        if detector is None:
            return scaler
        inputs = to_host(scaler.standardize(X)).reshape(n, -1)
        preparation = replace(scaler, detector=_fit_detector(detector, inputs, rng))
        decision = preparation.decision_values(inputs)
        assert decision is not None
        return replace(preparation, detector_scale=float(decision.std()) or 1.0)


def _compute_moments(values: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and the standard deviations of the features."""
    if is_tensor(values):
        mean = to_host(values.double().mean(dim=0))
        deviation = to_host(values.double().std(dim=0, correction=0))
    else:
        mean = row_mean(values)
        deviation = values.std(axis=0, dtype=float)
    # Rounding errors can make the standard deviation of a constant feature nonzero.
    library = library_of(values)
    varies = library.amax(values, axis=0) > library.amin(values, axis=0)
    return mean, np.where(to_host(varies), deviation, 0)


def _fit_detector(detector: Any, inputs: np.ndarray, rng: np.random.Generator) -> Any:
    """Fit an outlier detector.

    Return a fitted one, or an object that is not an estimator, unchanged.
    """
    if isinstance(detector, str):
        from sklearn.svm import OneClassSVM

        detector = OneClassSVM(kernel="rbf", gamma=0.2, nu=0.2)
    elif not isinstance(detector, BaseEstimator):
        return detector
    try:
        check_is_fitted(detector)
        return detector
    except NotFittedError:
        detector = clone(detector)
    if len(inputs) > _MAX_DETECTOR_ROWS:
        inputs = inputs[rng.choice(len(inputs), _MAX_DETECTOR_ROWS, replace=False)]
    return detector.fit(inputs)


# ---- models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkModel:
    """Fitted model of `NNEVCLUS`, a trained network with the standardization of its inputs."""

    family: FocalSets
    network: Any  # a `dempster.nn.MassNetwork` in main memory
    preparation: Preparation
    # errors on the validation pairs during the training
    validation: tuple[float, ...] = ()

    def masses(self, values: Array, apply: Apply, device: Any = "cpu") -> Array:
        """Return the masses of n rows, shape (n, f), in the precision and on the device of X.

        ``device`` is the device of the computation; "cpu" is the device of X. ``apply`` is not
        used, because torch has its own threads.
        """
        torch = import_torch(device, "NNEVCLUS")
        if is_tensor(values) and device == "cpu":
            device = values.device
        network = self.network
        if torch.device(device).type != "cpu":
            network = copy.deepcopy(network).to(device)
        dtype = next(network.parameters()).dtype
        out = allocate_rows(values, len(self.family))
        for rows in row_slices(len(values), _ROWS_PER_BLOCK):
            inputs = self.preparation.inputs(values[rows], device, dtype)
            with torch.no_grad():
                masses = network(*inputs)
            masses /= masses.sum(dim=1, keepdim=True)
            copy_into(masses, out[rows])
        return out


@dataclass(frozen=True)
class ConstrainedNetwork(ConstrainedModel):
    """Trained network, and the revised masses of the rows with constraints."""

    @property
    def network(self) -> Any:
        return self.free.network

    @property
    def preparation(self) -> Preparation:
        return self.free.preparation

    @property
    def validation(self) -> tuple[float, ...]:
        return self.free.validation

    def masses(self, values: Array, apply: Apply, device: Any = "cpu") -> Array:
        masses = self.free.masses(values, apply, device)
        rows = flatten(values)
        return to_device_of(self.approach(to_host(masses), rows), masses)


def flatten(values: Array) -> np.ndarray:
    """Return the rows of X, which may be images, as vectors in main memory."""
    return to_host(values).reshape(len(values), -1)


def assess_rows(
    source: DissimilaritySource,
    predict: Callable[[np.ndarray], np.ndarray],
    family: FocalSets,
    d0: float,
    rng: np.random.Generator,
) -> Assessment:
    """Compare the conflicts of all pairs of rows, or of random pairs, with the dissimilarities.

    ``predict`` returns the masses of the given rows.
    """
    pairs = WeightedPairs.from_source(
        source, np.arange(len(source)), _ASSESSMENT_PAIRS, rng
    )
    rows, positions = np.unique(np.stack(pairs[:2]), return_inverse=True)
    i, j = positions.reshape(2, -1)
    among = pairs._replace(i=i, j=j, dissimilarity=pairs.dissimilarity.astype(float))
    return assess(predict(rows), family, among, d0, rng)
