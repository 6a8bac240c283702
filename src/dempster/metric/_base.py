"""Base classes of the metric learners: fit, labels and pairs, linear maps and kernels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from dempster import _validation as rule
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike, TableLike
from dempster._validation import (
    centering_offset,
    check_memory,
    check_scale,
    check_size,
    is_missing,
    reorder_like,
    row_index,
    to_fixed_width_text,
    to_supported_type,
    validating,
    validating_labels,
)
from dempster.constraints import Constraints
from dempster.constraints.constraints import validate_constraints
from dempster.dissimilarity.input import order_columns_as_in_fit, order_columns_as_rows
from dempster.optimize.descent import Run

PAIR_RULES: Mapping[str, rule.Rule] = {
    "max_pairs": rule.integer(1),
    "max_iter": rule.iterations(),
    "tol": rule.real(0),
    "random_state": rule.seed,
}
KERNEL_RULES: Mapping[str, rule.Rule] = {
    "kernel": rule.choice("rbf", "laplacian", "linear", "precomputed"),
    "gamma": rule.choice("auto") | rule.real(0, open_low=True),
}

UNLABELED = -1
MIN_THREADED_ROWS = 500  # Products of smaller matrices are faster with one BLAS thread.
MAX_GAMMA_ROWS = 1000  # maximum number of rows for the estimate of the median distance
MAX_BLOCK_CELLS = 2**22  # number of kernel values in memory at once


class Classes(NamedTuple):
    """Indices of the labeled objects, their classes encoded as 0..c-1, and the names of the classes."""

    positions: np.ndarray
    codes: np.ndarray
    names: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))


class Pairs(NamedTuple):
    """Indices (N, 2) of the two objects of each pair, and signs, +1 for a must-link and -1 for a cannot-link."""

    ends: np.ndarray
    signs: np.ndarray

    def differences(self, data: np.ndarray, sign: int) -> np.ndarray:
        """Return the difference vectors of the pairs of one kind."""
        first, second = self.ends[self.signs == sign].T
        return data[first] - data[second]


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator, BaseEstimator):
    """Base of the metric learners; a method implements ``_learn``, which sets ``components_``, and ``_transform``."""

    _rules: Mapping[str, rule.Rule] = {}
    _needs_square_matrices = False  # whether the method uses matrices of shape (n_features, n_features)
    components_: np.ndarray
    n_components: int | None
    max_iter: int  # Only the methods that learn from pairs have this parameter and the next two.
    max_pairs: int
    tol: float

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        """Set the fitted attributes; ``_classes`` or ``_pairs`` validates the labels or constraints."""
        raise NotImplementedError

    def _transform(self, data: np.ndarray) -> np.ndarray:
        """Return the learned features of validated rows."""
        raise NotImplementedError

    def fit(self, X: TableLike, y: ArrayLike = None, *, constraints: Constraints | None = None) -> Self:
        """Learn the features from labels or pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if the kernel is precomputed
            All objects, with or without labels or constraints. float32 is kept.
        y : array-like of shape (n_samples,), optional
            Labels, -1 for unlabeled objects. For a method that learns from pairs, two labeled objects are a must-link
            if their labels are equal, otherwise a cannot-link.
        constraints : Constraints, optional
            Pairs of rows of X, instead of ``y``. FDA, KFDA and LFDA learn from labels and do not accept constraints.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            data = draft._validate_features(X, reset=True)
            draft._learn(data, reorder_like(y, row_index(X)), constraints)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the learned features; their Euclidean distances are the learned distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            With ``kernel="precomputed"``: kernel values of the rows with all training objects.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self, "components_")
        data = self._validate_features(X, reset=False)
        return self._transform(data)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate_features(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return X as a float array; the type float32 is kept."""
        if reset:
            rule.check_parameters(self, self._rules)
        min_rows, floats = 2 if reset else 1, [np.float64, np.float32]
        X = to_supported_type(self, X)
        with validating(X, "X"):
            values = validate_data(self, X, reset=reset, dtype=floats, order="C", ensure_min_samples=min_rows)
        (check_scale if reset else check_size)(values, "X")
        if reset and self._needs_square_matrices:
            p = values.shape[1]
            check_memory(4 * 8 * p * p, f"{p:,} features times themselves", "select fewer of them, for example by PCA")
        return values

    def _number_of_components(self, maximum: int, description: str) -> int:
        """Return ``n_components``, or the maximum if it is None; raise an error if it exceeds the maximum."""
        if self.n_components is not None and self.n_components > maximum:
            raise InvalidParameterError("n_components", f"at most {description}", self.n_components)
        return maximum if self.n_components is None else int(self.n_components)

    def _classes(self, data: np.ndarray, y: Any, constraints: Any) -> Classes:
        """Return the classes, for a method that learns from labels."""
        learner = type(self).__name__
        if constraints is not None or isinstance(y, Constraints):
            raise InvalidParameterError(
                "constraints",
                message=f"{learner} learns from labels, fit(X, y), not from constraints; "
                "PCCA, KPCCA, MMC and DMLEig learn from constraints",
            )
        if y is None:
            raise InvalidParameterError(
                "y",
                message=f"{learner} requires y to be passed, but the target y is None; use -1 for unlabeled objects",
            )
        return _encode_labels(data, y)

    def _pairs(self, data: np.ndarray, y: Any, constraints: Any, rng: np.random.Generator) -> Pairs:
        """Return the pairs of the constraints, or up to ``max_pairs`` pairs of labeled objects.

        Pairs are sorted, so that the result does not depend on their order.
        """
        learner = type(self).__name__
        if isinstance(y, Constraints):
            raise InvalidParameterError(
                "y", message="y must be labels, got Constraints; pass them by name: fit(X, constraints=...)"
            )
        if constraints is None:
            if y is None:
                raise InvalidParameterError(
                    "y",
                    message=f"{learner} requires y to be passed, but the target y is None, and so is constraints; "
                    "pass labels, fit(X, y), or pairs, fit(X, constraints=Constraints(must_link, cannot_link))",
                )
            constraints = _pairs_from_classes(_encode_labels(data, y), len(data), self.max_pairs, rng)
        elif y is not None:
            raise InvalidInputError("y and constraints must not be combined: labels already imply pairs")
        constraints = validate_constraints(constraints, len(data))
        if len(constraints) == 0:
            raise InvalidParameterError(
                "constraints", message=f"constraints must contain at least one pair for {learner}, got none"
            )
        must, cannot = (ends[np.lexsort(ends.T[::-1])] for ends in (constraints.must_link, constraints.cannot_link))
        return Pairs(np.concatenate([must, cannot]), np.repeat([1.0, -1.0], [len(must), len(cannot)]))

    def _set_eigenvalues(self, eigenvalues: np.ndarray, classes: Classes) -> None:
        self.eigenvalues_, self.objective_, self.classes_ = eigenvalues, float(eigenvalues.sum()), classes.names

    def _set_descent(self, run: Run[np.ndarray]) -> None:
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = max(1, len(run.history) - 1)
        self.converged_ = run.converged
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol:g} (max_iter={self.max_iter}); "
                "increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )


class LinearMetricLearner(MetricLearner):
    """Base of the linear metric learners: z = L x, with L in ``components_``."""

    def _validate_features(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return X as a float array.

        For learning, which uses only differences between rows, values far from zero are centered.
        """
        values = super()._validate_features(X, reset=reset)
        origin = centering_offset(values.min(axis=0), values.max(axis=0)) if reset else None
        return values if origin is None else values - origin.astype(values.dtype)

    def _transform(self, data: np.ndarray) -> np.ndarray:
        return data @ self.components_.T.astype(data.dtype, copy=False)


class KernelMetricLearner(MetricLearner):
    """Base of the kernel metric learners: z(x) = sum_i a_i k(x_i, x) over the objects in ``support_``.

    ``components_`` holds the coefficients a.
    """

    kernel: str
    gamma: Any
    support_: np.ndarray

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _validate_features(self, X: Any, *, reset: bool) -> np.ndarray:
        if reset:
            rule.check_parameters(self, self._rules)
        if self.kernel == "precomputed":
            X = (order_columns_as_rows if reset else order_columns_as_in_fit)(self, to_supported_type(self, X))
        data = super()._validate_features(X, reset=reset)
        if reset and self.kernel == "precomputed":
            if data.shape[0] != data.shape[1]:
                raise InvalidParameterError(
                    "X", message=f"X must be a square matrix with kernel='precomputed', got shape {data.shape}"
                )
            if not np.allclose(data, data.T, rtol=1e-4, atol=1e-6 * np.abs(data).max()):
                raise InvalidParameterError("X", "symmetric with kernel='precomputed'")
        if reset and self.kernel in ("rbf", "laplacian"):
            self.gamma_ = automatic_gamma(data, self.kernel) if self.gamma == "auto" else float(self.gamma)
        return data

    def _set_support(self, data: np.ndarray, positions: np.ndarray, coefficients: np.ndarray) -> None:
        """Set the support objects and their coefficients.

        If the kernel is precomputed, only the indices of the objects are set.
        """
        self.support_ = positions
        if self.kernel != "precomputed":
            self.support_vectors_ = data[positions]
        self.components_ = coefficients

    def _gram(self, data: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the kernel matrix of some training objects, in double precision."""
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

    def _transform(self, data: np.ndarray) -> np.ndarray:
        features = np.empty((len(data), len(self.components_)), dtype=data.dtype)
        for block in gen_batches(len(data), max(1, MAX_BLOCK_CELLS // len(self.support_))):
            if self.kernel == "precomputed":
                values = data[block][:, self.support_]
            else:
                values = self._kernel_values(data[block], self.support_vectors_)
            features[block] = values @ self.components_.T
        return features


def _pairs_from_classes(classes: Classes, n: int, max_pairs: int, rng: np.random.Generator) -> Constraints:
    y = np.full(n, UNLABELED)
    y[classes.positions] = classes.codes
    n_labeled = len(classes.positions)
    if n_labeled * (n_labeled - 1) // 2 <= max_pairs:
        return Constraints.from_partial_labels(y)
    return Constraints.from_labels(y, max_pairs, random_state=rng)


def _encode_labels(data: np.ndarray, y: Any) -> Classes:
    with validating_labels(y, "y"):
        labels = column_or_1d(to_fixed_width_text(y), warn=True)
        check_consistent_length(data, labels)
    if labels.dtype.kind == "V":
        raise InvalidParameterError("y", must=f"contain one label per row of X, got records ({labels.dtype})")
    if any(map(is_missing, labels.tolist())):
        raise InvalidParameterError("y", must="not contain missing values; use -1 for unlabeled objects")
    # NumPy converts -1 to "-1" in an array of names.
    unlabeled = labels == str(UNLABELED) if labels.dtype.kind == "U" else labels == UNLABELED
    if labels.dtype == object:
        unlabeled = unlabeled | (labels == str(UNLABELED))
    positions = np.flatnonzero(~unlabeled)
    with validating_labels(y, "y"):
        if len(positions):
            check_classification_targets(labels[positions])
        names, codes = np.unique(labels[positions], return_inverse=True)
    if len(names) < 2:
        raise InvalidParameterError(
            "y",
            must=f"contain at least two classes besides -1 for unlabeled objects, got {len(names)} and "
            f"{len(labels) - len(positions)} unlabeled objects",
        )
    return Classes(positions, codes.reshape(-1), names)


def automatic_gamma(data: np.ndarray, kernel: str = "rbf") -> float:
    """Return two divided by the median squared distance (for the Laplacian kernel, by the median L1 distance).

    For standardized features, the result is about one divided by the number of features.
    """
    sample = np.asarray(data[:: -(-len(data) // MAX_GAMMA_ROWS)], dtype=np.float64)
    distances = pdist(sample, metric="cityblock" if kernel == "laplacian" else "sqeuclidean")
    typical = np.median(distances) or distances.mean()  # The median is 0 if many objects are equal.
    return 2 / typical if typical > 0 else 1.0


def limit_threads(size: int) -> AbstractContextManager[None]:
    """Use one BLAS thread for products of small matrices."""
    return one_blas_thread() if size < MIN_THREADED_ROWS else nullcontext()


def fix_signs(rows: np.ndarray) -> np.ndarray:
    """Give each row the sign that makes its largest coefficient positive."""
    largest = np.abs(rows).argmax(axis=1)
    signs = np.sign(rows[np.arange(len(rows)), largest])
    return rows * np.where(signs == 0, 1.0, signs)[:, None]
