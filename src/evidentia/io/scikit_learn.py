"""Estimators of scikit-learn that those of evidentia take along: classifiers, what prepares data for them, a detector.

Their state is scikit-learn's own. It warns (`InconsistentVersionWarning`) when another version of it wrote them.
"""

from __future__ import annotations

from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import OneClassSVM

from evidentia.io.schema import Schema, check_names

__all__ = ["SAVED"]

_ESTIMATORS = (LogisticRegression, LinearDiscriminantAnalysis, StandardScaler, MinMaxScaler, RobustScaler, OneClassSVM)


def _searched_again(parts: dict[str, Any]) -> NearestNeighbors:
    """Fitted again: the index follows from its points, and positions in it are never taken from a file."""
    check_names(parts, ("parameters", "points"))
    return NearestNeighbors(**parts["parameters"]).fit(parts["points"])


SAVED = (
    *map(Schema.of_estimator, _ESTIMATORS),
    Schema(
        NearestNeighbors,
        lambda found: {"parameters": found.get_params(deep=False), "points": vars(found)["_fit_X"]},
        _searched_again,
    ),
    Schema.of_arguments(Pipeline, {name: name for name in ("steps", "memory", "verbose")}),
)
