"""Base classes of the metric learners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.spatial.distance import pdist
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from dempster import _validation as rule
from dempster._arrays import centering_offset
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction, warn_not_converged
from dempster._random import as_generator
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike, Objective, Seed, TableLike
from dempster.constraints import Constraints
from dempster.constraints.constraints import validate_constraints
from dempster.optimize.descent import Run
from dempster.partition.credal_partition import encode_labels

METRIC_RULES: Mapping[str, rule.Rule] = {
    "n_components": rule.none | rule.positive_integer,
    "regularization": rule.nonnegative,
    "gamma": rule.auto | rule.positive,
    "n_init": rule.repetitions(),
    "max_pairs": rule.positive_integer,
    "max_iter": rule.iterations,
    "tol": rule.nonnegative,
    "random_state": rule.seed,
}

UNLABELED = -1
MIN_THREADED_ROWS = 500  # Products of smaller matrices are faster with one BLAS thread.
MAX_GAMMA_ROWS = 1000  # Maximum number of rows for the estimate of the median distance.
MAX_BLOCK_CELLS = 2**22  # Maximum number of kernel values in memory.


class Classes(NamedTuple):
    """Indices of the labeled objects, their classes as numbers 0, ..., c-1, and the class names."""

    positions: np.ndarray
    codes: np.ndarray
    names: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))


class Pairs(NamedTuple):
    """Indices of the objects of N pairs, shape (N, 2), and signs, -1 for cannot-links."""

    ends: np.ndarray
    signs: np.ndarray

    def differences(self, data: np.ndarray, sign: int) -> np.ndarray:
        """Return the differences of the two objects of each pair with the given sign."""
        first, second = self.ends[self.signs == sign].T
        return data[first] - data[second]


class MetricLearner(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    DocumentedEstimator,
    BaseEstimator,
):
    """Base class of the metric learners. A subclass implements ``_learn`` and ``_transform``."""

    _rules = METRIC_RULES
    # Whether matrices of shape (n_features, n_features) are used.
    _needs_square_matrices = False
    components_: Annotated[np.ndarray, "n_components n_features"]
    n_components: int | None

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        """Learn from validated data and set the fitted attributes, including ``components_``."""
        raise NotImplementedError

    def _transform(self, data: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def fit(
        self,
        X: TableLike,
        y: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
    ) -> Self:
        """Learn features from labels or pairwise constraints.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All objects, including those without labels or constraints. The type float32 is kept.
        y : array-like of shape (n_samples,), optional
            Labels, -1 for unlabeled objects. If the estimator learns from pairs, two labeled
            objects are a must-link if their labels are equal, otherwise a cannot-link.
        constraints : Constraints, optional
            Must-links and cannot-links between rows of X, instead of ``y``. FDA, KFDA and LFDA
            accept only labels.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            for name, value in draft.get_params(deep=False).items():
                rule.check(value, name, draft._rules[name])
            data = draft._validate_features(X, reset=True)
            if isinstance(y, Constraints):
                must = "labels; pass constraints by name: fit(X, constraints=...)"
                raise InvalidParameterError("y", must)
            if y is None and constraints is None:
                learner = type(self).__name__
                message = f"{learner} requires y to be passed, but the target y is None"
                raise InvalidParameterError("y", message=message)
            draft._learn(data, rule.reorder_like(y, rule.row_index(X)), constraints)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the learned features. Euclidean distances between them are the learned distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Learned features.
        """
        check_is_fitted(self, "components_")
        return self._transform(self._validate_features(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate_features(self, X: Any, *, reset: bool) -> np.ndarray:
        min_rows = 2 if reset else 1
        values = rule.validate_features(self, X, reset=reset, min_rows=min_rows)
        if reset and self._needs_square_matrices:
            p = values.shape[1]
            rule.check_memory(
                4 * 8 * p * p,
                f"matrices of {p:,} by {p:,} features",
                "use fewer, such as by PCA",
            )
        return values

    def _number_of_components(self, maximum: int, description: str) -> int:
        """Return ``n_components``, by default ``maximum``.

        Raise an error if it exceeds ``maximum``.
        """
        n_components = self.n_components
        if n_components is None:
            return maximum
        if n_components > maximum:
            raise InvalidParameterError(
                "n_components", f"at most {description}", n_components
            )
        return int(n_components)


class ClassMetricLearner(MetricLearner):
    """Base class of the metric learners from labels. A subclass implements ``_learn_classes``."""

    def _learn_classes(self, data: np.ndarray, classes: Classes) -> np.ndarray:
        """Set the attributes of the learned features, and return their eigenvalues."""
        raise NotImplementedError

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        if constraints is not None:
            message = (
                f"{type(self).__name__} learns from labels, not from constraints; "
                "use PCCA, KPCCA, MMC or DMLEig"
            )
            raise InvalidParameterError("constraints", message=message)
        classes = _encode_labels(data, y)
        self.eigenvalues_ = self._learn_classes(data, classes)
        self.objective_ = float(self.eigenvalues_.sum())
        self.classes_ = classes.names


class PairMetricLearner(MetricLearner):
    """Base class of the metric learners from pairs. A subclass implements ``_learn_pairs``."""

    def __init__(
        self,
        n_components: int | None,
        regularization: float,
        max_pairs: int,
        max_iter: int,
        tol: float,
        random_state: Seed,
    ):
        self.n_components = n_components
        self.regularization = regularization
        self.max_pairs = max_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn_pairs(
        self, data: np.ndarray, pairs: Pairs, rng: np.random.Generator
    ) -> Run[np.ndarray]:
        """Set the attributes of the learned features, and return the run of the optimization."""
        raise NotImplementedError

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        rng = as_generator(self.random_state)
        run = self._learn_pairs(data, self._pairs(data, y, constraints, rng), rng)
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = max(1, len(run.history) - 1)
        self.converged_ = run.converged
        if not run.converged:
            warn_not_converged(self)

    def _pairs(
        self, data: np.ndarray, y: Any, constraints: Any, rng: np.random.Generator
    ) -> Pairs:
        """Return the sorted constrained pairs, or up to ``max_pairs`` pairs of labeled rows."""
        if constraints is None:
            classes = _encode_labels(data, y)
            labels = np.full(len(data), UNLABELED)
            labels[classes.positions] = classes.codes
            n = len(classes.positions)
            if n * (n - 1) // 2 <= self.max_pairs:
                constraints = Constraints.from_partial_labels(labels)
            else:
                constraints = Constraints.from_labels(labels, self.max_pairs, rng)
        elif y is not None:
            raise InvalidInputError(
                "y and constraints must not be given together, because labels already imply pairs"
            )
        constraints = validate_constraints(constraints, len(data))
        if len(constraints) == 0:
            raise InvalidParameterError("constraints", must="contain at least one pair")
        links = (constraints.must_link, constraints.cannot_link)
        ends = [pairs[np.lexsort(pairs.T[::-1])] for pairs in links]
        return Pairs(
            np.concatenate(ends), np.repeat([1.0, -1.0], [len(pairs) for pairs in ends])
        )


class LinearMetricLearner(MetricLearner):
    """Base class of the linear metric learners, with features L x; ``components_`` is L."""

    def _validate_features(self, X: Any, *, reset: bool) -> np.ndarray:
        """Return X as a validated array.

        Values far from zero are centered in ``fit``, which uses only differences.
        """
        values = super()._validate_features(X, reset=reset)
        if not reset:
            return values
        origin = centering_offset(values.min(axis=0), values.max(axis=0))
        if origin is None:
            return values
        return values - origin.astype(values.dtype)

    def _transform(self, data: np.ndarray) -> np.ndarray:
        return data @ self.components_.T.astype(data.dtype, copy=False)


class KernelMetricLearner(MetricLearner):
    """Base class of the kernel metric learners, with the kernel k(x, x') = exp(-gamma |x - x'|^2).

    The features are z(x) = sum_i a_i k(x_i, x), where x_i are the objects in ``support_`` and a_i
    is column i of ``components_``.
    """

    gamma: Any
    components_: Annotated[np.ndarray, "n_components n_support"]
    support_: Annotated[np.ndarray, "n_support"]
    support_vectors_: Annotated[np.ndarray, "n_support n_features"]
    gamma_: float

    def _validate_features(self, X: Any, *, reset: bool) -> np.ndarray:
        data = super()._validate_features(X, reset=reset)
        if reset:
            is_auto = self.gamma == "auto"
            self.gamma_ = automatic_gamma(data) if is_auto else float(self.gamma)
        return data

    def _set_support(
        self, data: np.ndarray, positions: np.ndarray, coefficients: np.ndarray
    ) -> None:
        """Set the attributes of the objects with coefficients."""
        self.support_ = positions
        self.support_vectors_ = data[positions]
        self.components_ = coefficients

    def _kernel_values(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the kernel matrix as float64."""
        rows = rows.astype(np.float64, copy=False)
        columns = columns.astype(np.float64, copy=False)
        origin = centering_offset(columns.min(axis=0), columns.max(axis=0))
        if origin is not None:
            rows = rows - origin
            columns = columns - origin
        return rbf_kernel(rows, columns, gamma=self.gamma_)

    def _transform(self, data: np.ndarray) -> np.ndarray:
        features = np.empty((len(data), len(self.components_)), data.dtype)
        size = max(1, MAX_BLOCK_CELLS // len(self.support_))
        for block in gen_batches(len(data), size):
            values = self._kernel_values(data[block], self.support_vectors_)
            features[block] = values @ self.components_.T
        return features


def _encode_labels(data: np.ndarray, y: Any) -> Classes:
    with rule.validating_labels(y, "y"):
        labels = column_or_1d(y, warn=True)
        check_consistent_length(data, labels)
        codes = encode_labels(labels, "y", UNLABELED)[1]
        positions = np.flatnonzero(codes >= 0)
        names = np.unique(labels[positions])
        if len(names) < 2:
            must = "contain at least two classes besides -1 (unlabeled)"
            got = f"got {len(names)} in {len(positions)} labels"
            raise InvalidParameterError("y", must=f"{must}, {got}")
        check_classification_targets(labels[positions])
    return Classes(positions, codes[positions], names)


def automatic_gamma(data: np.ndarray) -> float:
    """Return the default ``gamma``, 2 divided by the median squared distance between rows.

    For standardized features, the result is about 1 / n_features.
    """
    sample = np.asarray(data[:: -(-len(data) // MAX_GAMMA_ROWS)], np.float64)
    typical = typical_square(pdist(sample, metric="sqeuclidean"))
    if typical > 0:
        return 2 / typical
    return 1.0


def typical_square(squares: np.ndarray) -> float:
    """Return the median of squared distances, or their mean if many rows are equal."""
    return np.median(squares) or squares.mean()


def limit_threads(size: int) -> AbstractContextManager[None]:
    """Return a context with one BLAS thread if matrices are small, for which this is faster."""
    if size < MIN_THREADED_ROWS:
        return one_blas_thread()
    return nullcontext()


def minimize_array(
    evaluate: Objective,
    start: np.ndarray,
    check: Callable[[float], bool],
    max_iter: int,
    **options: Any,
) -> tuple[np.ndarray, bool]:
    """Minimize a function of an array by L-BFGS until ``check(value)`` is True.

    ``evaluate`` returns the value and the gradient. Return the final point, and whether the search
    ended before ``max_iter`` iterations.
    """

    def evaluate_flat(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate(flat.reshape(start.shape))
        return value, gradient.reshape(-1)

    def stop_if_done(intermediate_result: OptimizeResult) -> None:
        if check(float(intermediate_result.fun)):
            raise StopIteration

    limits = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0}
    result = minimize(
        evaluate_flat,
        start.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        callback=stop_if_done,
        options={**limits, **options},
    )
    # Status 1 means that max_iter was reached. Otherwise the value cannot be decreased further.
    return result.x.reshape(start.shape), result.status != 1


def fix_signs(rows: np.ndarray) -> np.ndarray:
    """Multiply rows by -1 where necessary to make their largest absolute value positive."""
    largest = np.abs(rows).argmax(axis=1)
    signs = np.sign(rows[np.arange(len(rows)), largest])
    return rows * np.where(signs == 0, 1.0, signs)[:, None]
