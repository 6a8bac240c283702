"""Rows of X as the explanations read them, from a fitted clusterer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dempster._types import TableLike
from dempster.optimize.blocks import block_map
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence


class ObjectReader:
    """Row i of X (the only row if i is None), validated by a fitted clusterer."""

    def __init__(self, estimator: Any, X: TableLike, i: int | None):
        self._estimator = estimator
        self._model = estimator._model
        self._others: dict[int, Any] = {}  # models without a training row
        if i is None:
            self._values = estimator._read_objects(X, None)
        else:
            self._values = estimator._read(X, reset=False)[i : i + 1]

    def evidence(self, itself: int) -> ClusterEvidence | None:
        """Return the evidence for each cluster (None if the model has none).

        ``itself`` is the training row, or -1.
        """
        if not hasattr(self._model, "evidence"):
            return None
        evidence: ClusterEvidence = self._model.evidence(self._values, itself)
        encoder = getattr(getattr(self._estimator, "_input", None), "encoder", None)
        if encoder is None or evidence.parts is None:
            return evidence
        # Encoded tables have their numeric columns first.
        order = np.argsort(np.argsort(encoder.is_categorical_, kind="stable"))
        return replace(evidence, parts=evidence.parts[order])

    def masses(self) -> CredalPartition:
        return self._predict(self._values, self._model)

    def coordinates(self, attributes: np.ndarray) -> np.ndarray:
        """Return points whose Euclidean distances are equal to those of the model.

        By default, the attributes.
        """
        if hasattr(self._model, "placed"):
            return self._model.placed(attributes)
        return attributes

    def predict_changed(self, attributes: TableLike) -> CredalPartition:
        """Return the masses of rows with changed attributes.

        Other properties of the row stay the same.
        """
        values = self._estimator._read_objects(attributes, self._values)
        return self._predict(values, self._model)

    def predict_moved(
        self, attributes: TableLike, itself: int
    ) -> CredalPartition | None:
        """Return the masses of changed rows, computed without the training row ``itself``.

        None if not possible.
        """
        if itself < 0 or not hasattr(self._model, "without"):
            return None
        if itself not in self._others:
            self._others[itself] = self._model.without(itself)
        values = self._estimator._read_objects(attributes, self._values)
        return self._predict(values, self._others[itself])

    def _predict(self, values: Any, model: Any) -> CredalPartition:
        with block_map(self._estimator.n_jobs) as apply:
            masses = model.masses(values, apply)
        return CredalPartition.unchecked(masses, self._estimator.focal_sets_)


def read_object(estimator: Any, X: TableLike, i: int | None) -> ObjectReader | None:
    """Return an `ObjectReader`, or None if the estimator is not a clusterer of dempster."""
    if hasattr(estimator, "_model"):
        return ObjectReader(estimator, X, i)
    return None


def row_attributes(estimator: Any, X: TableLike) -> TableLike:
    """Return the attributes used by the clusterer.

    For an image, they are means over each pixel and its neighbors.
    """
    if hasattr(estimator, "_model"):
        return estimator._extract_attributes(X)
    return X
