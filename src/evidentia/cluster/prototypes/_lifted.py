"""Prototypes in one dimension more than the attributes, where a further cost becomes a distance.

A cost |x - v|^2 + s^2 is the squared distance between points one of which is lifted by s off the space of the
attributes, so that the model and the kernels of evidential c-means serve for it: in credal c-means the barycentres are
lifted, in spatial evidential c-means the objects.
"""

from __future__ import annotations

import numpy as np

from evidentia._types import ArrayLike
from evidentia.cluster import _starts
from evidentia.cluster.prototypes._method import PrototypeMethod

__all__ = ["lifted", "LiftedMethod"]


def lifted(X: np.ndarray) -> np.ndarray:
    """The rows with one more coordinate, zero for all."""
    return np.hstack([X, np.zeros((len(X), 1), dtype=X.dtype)])


class LiftedMethod(PrototypeMethod):
    """As for ECM; the last coordinate is the additional one. It is zero for prototypes."""

    def _checked_centers(self, init: ArrayLike) -> np.ndarray:
        return lifted(_starts.checked_centers(init, (self.settings.n_clusters, self.data.shape[1] - 1)))
