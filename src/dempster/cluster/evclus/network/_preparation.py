"""What happens to an object before the network sees it: standardisation, and the value of an outlier detector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dempster._arrays import Array, same_place
from dempster._scale import mean_of_rows
from dempster.cluster._starts import order_along_line
from dempster.cluster.evclus.network._targets import SMALL

__all__ = ["Preparation", "prepared"]

_DETECTOR_SAMPLE = 10_000  # objects a detector is fitted to
_ROWS = 10_000  # objects a detector is asked about at once


@dataclass(frozen=True)
class Preparation:
    """Learnt from the objects of the fit.

    Attributes
    ----------
    mean, scale : arrays of the shape of an object
    detector : object with ``decision_function``, or None
    detector_scale : float
        Standard deviation of its decision values among the objects of the fit.
    """

    mean: np.ndarray
    scale: np.ndarray
    detector: Any = None
    detector_scale: float = 1.0

    def inputs(self, X: Array) -> Array:
        """The objects, standardised."""
        return (X - same_place(self.mean, X)) / same_place(self.scale, X)

    def decision(self, inputs: np.ndarray) -> np.ndarray | None:
        """Decision values of standardised objects, over their standard deviation; positive inside the region of the
        data. None without a detector."""
        if self.detector is None:
            return None
        flat = inputs.reshape(len(inputs), -1)
        parts = [self.detector.decision_function(flat[s : s + _ROWS]) for s in range(0, len(flat), _ROWS)]
        return np.concatenate(parts).astype(float).reshape(-1) / self.detector_scale


def prepared(
    X: np.ndarray, detector: Any, rng: np.random.Generator, of_all: tuple[np.ndarray, np.ndarray] | None = None
) -> Preparation:
    """Learn from the objects of a fit; ``detector`` is None, "one-class-svm" or an object with decision_function.

    ``of_all`` : mean and standard deviation of all objects, where X are some of them.
    """
    if of_all is None:
        # few objects are added up in a fixed order: whole batches would magnify the rounding of another
        values = X[order_along_line(X.reshape(len(X), -1))] if len(X) <= SMALL else X
        varies = values.max(axis=0) > values.min(axis=0)  # which rounding would hide
        mean, scale = mean_of_rows(values), np.where(varies, values.std(axis=0, dtype=float), 0)
    else:
        mean, scale = of_all
    plain = Preparation(mean.astype(X.dtype), np.where(scale > 0, scale, 1).astype(X.dtype))
    if detector is None:
        return plain
    inputs = plain.inputs(X).reshape(len(X), -1)
    found = replace(plain, detector=_fitted(detector, inputs, rng))
    values = found.decision(inputs)
    assert values is not None
    return replace(found, detector_scale=float(values.std()) or 1.0)


def _fitted(detector: Any, inputs: np.ndarray, rng: np.random.Generator) -> Any:
    """A detector that is ready: scikit-learn says of its own whether they are fitted, others are taken to be."""
    if isinstance(detector, str):
        from sklearn.svm import OneClassSVM

        detector = OneClassSVM(kernel="rbf", gamma=0.2, nu=0.2)
    elif not isinstance(detector, BaseEstimator):
        return detector
    else:
        try:
            check_is_fitted(detector)
            return detector
        except NotFittedError:
            detector = clone(detector)
    if len(inputs) > _DETECTOR_SAMPLE:
        inputs = inputs[rng.choice(len(inputs), _DETECTOR_SAMPLE, replace=False)]
    return detector.fit(inputs)
