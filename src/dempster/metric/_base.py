"""What every metric learner shares: the frame of a fit, labels and pairs to learn from, linear maps and kernels."""

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
    object_index,
    ordered_like,
    plain_text,
    readable,
    reading,
    reading_labels,
)
from dempster.constraints import Constraints
from dempster.constraints.constraints import checked_constraints
from dempster.dissimilarity.input import columns_of_fit, square_table
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

UNLABELLED = -1
_SMALL = 500  # rows of matrices below which several BLAS threads cost more than they give
_MAX_SAMPLE = 1000  # objects from which the typical distance is estimated
_BLOCK = 2**22  # kernel values in memory at a time


class Classes(NamedTuple):
    """The labelled objects: their positions, their classes as numbers 0..c-1, and the names of the classes."""

    positions: np.ndarray
    codes: np.ndarray
    names: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))


class Pairs(NamedTuple):
    """(N, 2) positions of the two objects of each pair, and +1 for a must-link, -1 for a cannot-link."""

    ends: np.ndarray
    signs: np.ndarray

    def differences(self, data: np.ndarray, sign: int) -> np.ndarray:
        """Return the difference vectors of the pairs of one kind."""
        first, second = self.ends[self.signs == sign].T
        return data[first] - data[second]


# ---- the frame of a fit --------------------------------------------------------------------------------------------


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator, BaseEstimator):
    """Base of the learners: a method supplies ``_learn``, which sets ``components_``, and ``transform``."""

    _rules: Mapping[str, rule.Rule] = {}
    _squares_attributes = False  # whether the method needs tables with a row and a column for each attribute
    components_: np.ndarray
    n_components: int | None
    max_iter: int  # these three are parameters of the methods that learn from pairs
    max_pairs: int
    tol: float

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        """Set the fitted attributes. Labels are in the order of the objects; ``_classes`` and ``_pairs`` read them."""
        raise NotImplementedError

    def fit(self, X: TableLike, y: ArrayLike = None, *, constraints: Constraints | None = None) -> Self:
        """Learn the features from labels or from pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if the kernel is precomputed
            All objects, labelled, constrained or not. float32 is kept.
        y : array-like of shape (n_samples,), optional
            Labels, -1 for unlabelled objects. A method that learns from pairs takes two objects with a label as a
            must-link if it is the same, otherwise as a cannot-link.
        constraints : Constraints, optional
            Instead of ``y``: pairs of rows of X. FDA, KFDA and LFDA, which learn from labels, do not accept them.
        """
        with fit_transaction(self) as draft:
            data = draft._checked_objects(X, reset=True)
            draft._learn(data, ordered_like(y, object_index(X)), constraints)
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked_objects(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return the attributes as a float array, float32 kept; a fit needs at least two objects."""
        if reset:
            rule.check_parameters(self, self._rules)
        fewest, floats = 2 if reset else 1, [np.float64, np.float32]
        X = readable(self, X)
        with reading(X, "X"):
            values = validate_data(self, X, reset=reset, dtype=floats, order="C", ensure_min_samples=fewest)
        (check_scale if reset else check_size)(values, "X")
        if reset and self._squares_attributes:
            p = values.shape[1]
            check_memory(
                4 * 8 * p * p, f"{p:,} attributes times themselves", "take fewer of them, by a PCA for example"
            )
        return values

    def _number_of_features(self, largest: int, words: str) -> int:
        """Return ``n_components``, which must not exceed ``largest``, or by default ``largest``."""
        if self.n_components is not None and self.n_components > largest:
            raise InvalidParameterError("n_components", f"at most {words}", self.n_components)
        return largest if self.n_components is None else int(self.n_components)

    def _classes(self, data: np.ndarray, y: Any, constraints: Any) -> Classes:
        """Return the classes that labels give, for a method that learns from labels alone."""
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
                message=f"{learner} requires y to be passed, but the target y is None; mark unlabelled objects by -1",
            )
        return _encode_labels(data, y)

    def _pairs(self, data: np.ndarray, y: Any, constraints: Any, rng: np.random.Generator) -> Pairs:
        """Return the pairs of the constraints, or those that labels imply: at most ``max_pairs``, else a sample.

        They are sorted, so that a result does not depend on the order in which the pairs were given.
        """
        learner = type(self).__name__
        if isinstance(y, Constraints):
            raise InvalidParameterError(
                "y", message="y must hold labels, got Constraints; pass them by name: fit(X, constraints=...)"
            )
        if constraints is None:
            if y is None:
                raise InvalidParameterError(
                    "y",
                    message=f"{learner} requires y to be passed, but the target y is None, and so is constraints; "
                    "give labels, fit(X, y), or pairs, fit(X, constraints=Constraints(must_link, cannot_link))",
                )
            constraints = _implied_constraints(_encode_labels(data, y), len(data), self.max_pairs, rng)
        elif y is not None:
            raise InvalidInputError("y and constraints must not both be given: labels imply pairs of their own")
        constraints = checked_constraints(constraints, len(data))
        if len(constraints) == 0:
            raise InvalidParameterError(
                "constraints", message=f"constraints must hold at least one pair for {learner} to learn from, got none"
            )
        must, cannot = (ends[np.lexsort(ends.T[::-1])] for ends in (constraints.must_link, constraints.cannot_link))
        return Pairs(np.concatenate([must, cannot]), np.repeat([1.0, -1.0], [len(must), len(cannot)]))

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
    """Features that are linear in the attributes: z = L x, with L in ``components_``."""

    def _checked_objects(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return the attributes; learning uses differences, so values far from zero are measured from nearby."""
        values = super()._checked_objects(X, reset=reset)
        origin = centering_offset(values.min(axis=0), values.max(axis=0)) if reset else None
        return values if origin is None else values - origin.astype(values.dtype)

    def transform(self, X: Any) -> np.ndarray:
        """The learnt features of objects; the distance between two objects is the Euclidean one between theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self, "components_")
        data = self._checked_objects(X, reset=False)
        return data @ self.components_.T.astype(data.dtype, copy=False)


class KernelMetricLearner(MetricLearner):
    """Features that are linear in a kernel: z(x) = sum over the objects in ``support_`` of a_i k(x_i, x).

    ``components_`` holds the coefficients a.
    """

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
                raise InvalidParameterError(
                    "X", message=f"X must be a square matrix with kernel='precomputed', got shape {data.shape}"
                )
            if not np.allclose(data, data.T, rtol=1e-4, atol=1e-6 * np.abs(data).max()):
                raise InvalidParameterError("X", "symmetric with kernel='precomputed'")
        if reset and self.kernel in ("rbf", "laplacian"):
            self.gamma_ = automatic_gamma(data, self.kernel) if self.gamma == "auto" else float(self.gamma)
        return data

    def _set_support(self, data: np.ndarray, positions: np.ndarray, coefficients: np.ndarray) -> None:
        """Set the objects of which the features are made (only their positions, if the kernel is precomputed)."""
        self.support_ = positions
        if self.kernel != "precomputed":
            self.support_vectors_ = data[positions]
        self.components_ = coefficients

    def _gram(self, data: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Compute the kernel among some of the training objects, in double precision."""
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


# ---- labels and small helpers --------------------------------------------------------------------------------------


def _implied_constraints(classes: Classes, n: int, max_pairs: int, rng: np.random.Generator) -> Constraints:
    y = np.full(n, UNLABELLED)
    y[classes.positions] = classes.codes
    labelled = len(classes.positions)
    if labelled * (labelled - 1) // 2 <= max_pairs:
        return Constraints.from_partial_labels(y)
    return Constraints.from_labels(y, max_pairs, random_state=rng)


def _encode_labels(data: np.ndarray, y: Any) -> Classes:
    with reading_labels(y, "y"):
        labels = column_or_1d(plain_text(y), warn=True)
        check_consistent_length(data, labels)
    if labels.dtype.kind == "V":
        raise InvalidParameterError("y", message=f"y must hold one label for each object, got records ({labels.dtype})")
    if any(map(is_missing, labels.tolist())):
        raise InvalidParameterError(
            "y", message="y must hold labels without missing values; mark unlabelled objects by -1"
        )
    # an array of names turns -1 into "-1"
    unlabelled = labels == str(UNLABELLED) if labels.dtype.kind == "U" else labels == UNLABELLED
    if labels.dtype == object:
        unlabelled = unlabelled | (labels == str(UNLABELLED))
    positions = np.flatnonzero(~unlabelled)
    with reading_labels(y, "y"):
        if len(positions):
            check_classification_targets(labels[positions])
        names, codes = np.unique(labels[positions], return_inverse=True)
    if len(names) < 2:
        raise InvalidParameterError(
            "y",
            message="y must hold at least two classes besides the unlabelled objects (-1), got "
            f"{len(names)} class{'' if len(names) == 1 else 'es'} and {len(labels) - len(positions)} unlabelled",
        )
    return Classes(positions, codes.reshape(-1), names)


def automatic_gamma(data: np.ndarray, kernel: str = "rbf") -> float:
    """Return two over the median squared distance (for the Laplacian kernel: the median L1 distance).

    For standardised attributes, it is about one over their number.
    """
    sample = np.asarray(data[:: -(-len(data) // _MAX_SAMPLE)], dtype=np.float64)
    distances = pdist(sample, metric="cityblock" if kernel == "laplacian" else "sqeuclidean")
    typical = np.median(distances) or distances.mean()  # half of the objects may be equal
    return 2 / typical if typical > 0 else 1.0


def few_threads(size: int) -> AbstractContextManager[None]:
    """Use one BLAS thread for many products of small matrices, where more cost more than they give."""
    return one_blas_thread() if size < _SMALL else nullcontext()


def signed_rows(rows: np.ndarray) -> np.ndarray:
    """Give each row the sign that makes its largest coefficient positive: a free sign must not be left to chance."""
    largest = np.abs(rows).argmax(axis=1)
    signs = np.sign(rows[np.arange(len(rows)), largest])
    return rows * np.where(signs == 0, 1.0, signs)[:, None]
