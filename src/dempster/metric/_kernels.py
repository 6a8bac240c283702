"""Features that are linear in a kernel: z(x) = sum over some training objects of a_i k(x_i, x)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._validation import centering_offset, readable
from dempster.dissimilarity.input import columns_of_fit, square_table
from dempster.metric._base import MetricLearner

__all__ = ["KernelMetricLearner", "KERNEL_RULES", "automatic_gamma"]

KERNEL_RULES: Mapping[str, rule.Rule] = {
    "kernel": rule.choice("rbf", "laplacian", "linear", "precomputed"),
    "gamma": rule.choice("auto") | rule.real(0, open_low=True),
}

_MOST_OBJECTS = 1000  # to estimate the typical distance
_BLOCK = 2**22  # kernel values in memory at a time


def automatic_gamma(data: np.ndarray, kernel: str = "rbf") -> float:
    """Two over the median squared distance (for the Laplacian kernel: the median L1 distance).

    For standardised attributes, about one over their number.
    """
    sample = np.asarray(data[:: -(-len(data) // _MOST_OBJECTS)], dtype=np.float64)
    distances = pdist(sample, metric="cityblock" if kernel == "laplacian" else "sqeuclidean")
    typical = np.median(distances) or distances.mean()  # half of the objects may be equal
    return 2 / typical if typical > 0 else 1.0


class KernelMetricLearner(MetricLearner):
    """Base of the kernel methods. ``components_`` holds the coefficients of the objects in ``support_``."""

    kernel: str
    gamma: Any
    support_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _checked_objects(self, X: Any, *, reset: bool) -> np.ndarray:
        if reset:
            rule.check_parameters(self, self._rules)
        if self.kernel == "precomputed":
            X = (square_table if reset else columns_of_fit)(self, readable(self, X))
        data = super()._checked_objects(X, reset=reset)
        if reset and self.kernel == "precomputed":
            if data.shape[0] != data.shape[1]:
                raise InvalidInputError(f"X must be a square matrix with kernel='precomputed', got shape {data.shape}")
            if not np.allclose(data, data.T, rtol=1e-4, atol=1e-6 * np.abs(data).max()):
                raise InvalidInputError("X must be symmetric with kernel='precomputed'")
        return data

    def _set_kernel(self, data: np.ndarray) -> None:
        if self.kernel in ("rbf", "laplacian"):
            self.gamma_ = automatic_gamma(data, self.kernel) if self.gamma == "auto" else float(self.gamma)

    def _set_support(self, data: np.ndarray, positions: np.ndarray, coefficients: np.ndarray) -> None:
        """Remember the objects that the features are made of (their numbers, if the kernel is precomputed)."""
        self.support_ = positions
        if self.kernel != "precomputed":
            self.support_vectors_ = data[positions]
        self.components_ = coefficients

    def _gram(self, data: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Kernel among some of the training objects, in double precision."""
        if self.kernel == "precomputed":
            return data[np.ix_(positions, positions)].astype(np.float64)
        return self._kernel_values(data[positions], data[positions])

    def _kernel_values(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        rows, columns = rows.astype(np.float64, copy=False), columns.astype(np.float64, copy=False)
        if self.kernel == "linear":
            return linear_kernel(rows, columns)
        if self.kernel == "laplacian":
            return laplacian_kernel(rows, columns, gamma=self.gamma_)
        origin = centering_offset(columns.min(axis=0), columns.max(axis=0))
        if origin is not None:
            rows, columns = rows - origin, columns - origin
        return rbf_kernel(rows, columns, gamma=self.gamma_)

    def transform(self, X: Any) -> np.ndarray:
        """The learnt features of objects; the distance between two objects is the Euclidean one between theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With ``kernel="precomputed"``: kernel between the objects and all training objects.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self, "components_")
        data = self._checked_objects(X, reset=False)
        features = np.empty((len(data), len(self.components_)), dtype=data.dtype)
        for block in gen_batches(len(data), max(1, _BLOCK // len(self.support_))):
            if self.kernel == "precomputed":
                values = data[block][:, self.support_]
            else:
                values = self._kernel_values(data[block], self.support_vectors_)
            features[block] = values @ self.components_.T
        return features
