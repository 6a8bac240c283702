"""Estimators of scikit-learn that those of dempster take along: classifiers, what prepares data for them, a detector.

Their state is scikit-learn's own. It warns (`InconsistentVersionWarning`) when another version of it wrote them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import OneClassSVM

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster.persistence.schema import Schema, check_names

__all__ = ["SAVED"]

_ESTIMATORS = (LogisticRegression, LinearDiscriminantAnalysis, StandardScaler, MinMaxScaler, RobustScaler)
_KERNELS = ("linear", "poly", "rbf", "sigmoid")


def _searched_again(parts: dict[str, Any]) -> NearestNeighbors:
    """Fitted again: the index follows from its points, and positions in it are never taken from a file."""
    check_names(parts, ("parameters", "points"))
    return NearestNeighbors(**parts["parameters"]).fit(parts["points"])


def _check_vectors(detector: OneClassSVM) -> None:
    """Arrays that libsvm reads without looking at their lengths."""
    state = vars(detector)
    if "support_" not in state:  # it is not fitted
        return
    n, p = len(state["support_"]), state["n_features_in_"]
    shapes = {
        "support_": (np.int32, (n,)),
        "support_vectors_": (np.float64, (n, p)),
        "_n_support": (np.int32, (2,)),
        "_dual_coef_": (np.float64, (1, n)),
        "_intercept_": (np.float64, (1,)),
        "_probA": (np.float64, (0,)),
        "_probB": (np.float64, (0,)),
        "offset_": (np.float64, (1,)),
    }
    for name, (dtype, shape) in shapes.items():
        array = state[name]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
            raise InvalidInputError(f"{name} must be an array of {np.dtype(dtype)} of shape {shape}")
    if state["_n_support"].min() < 0 or state["_n_support"].max() > n or state["_sparse"] is not False:
        raise InvalidInputError(f"_n_support must hold numbers of the {n} support vectors, which are not sparse")
    rule.check_choice(state["kernel"], "kernel", _KERNELS)


SAVED = (
    *map(Schema.of_estimator, _ESTIMATORS),
    Schema.of_estimator(OneClassSVM, _check_vectors),
    Schema(
        NearestNeighbors,
        lambda found: {"parameters": found.get_params(deep=False), "points": vars(found)["_fit_X"]},
        _searched_again,
    ),
    Schema.of_arguments(Pipeline, {name: name for name in ("steps", "memory", "verbose")}),
)
