"""Validation of X for clusterers of dissimilarities, which depends on the metric.

====================  ==============================================================================
``metric``            X
====================  ==============================================================================
other name, callable  numeric attributes, compared by a metric of scikit-learn or by a function of
                      two rows
"gower"               a table with numbers, categories and missing values
"precomputed"         a square matrix of dissimilarities (for some clusterers sparse, with unknown
                      dissimilarities)
====================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from dempster import _validation as rule
from dempster._arrays import row_mean
from dempster._errors import InvalidParameterError
from dempster._types import Metric, TableLike
from dempster._validation import (
    SQUARED_METRICS,
    check_directions,
    check_missing,
    check_scale,
    check_size,
    column_names,
    match_names,
    missing_value_advice,
    naming_table,
    refuse_sparse,
    row_index,
    to_supported_type,
    validating,
)
from dempster.dissimilarity.gower import GowerData, GowerEncoder, present_cells
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    GowerSource,
    MatrixSource,
    SparseSource,
    check_square,
    check_values,
    rounding,
)

METRIC_RULE = rule.Rule(
    "the name of a metric or a callable",
    lambda metric: isinstance(metric, str) or callable(metric),
)
_FLOATS = [np.float64, np.float32]
_PROBES = 24  # number of objects on which a metric function is checked
# A spread that is more than this multiple of another one is of another order of magnitude.
_MAX_SPREAD_RATIO = 10.0
_MIN_SPREAD = 1e-12  # smaller spreads, relative to the largest one, are rounding errors
# interquartile ranges beyond the quartiles that count for the spread
_MAX_RANGES = 10.0
# formats that need no conversion, which would add up duplicate entries
_SPARSE = ["csr", "csc", "coo"]


def find_spreads(values: np.ndarray) -> np.ndarray:
    """Return the spreads of the p attributes, shape (p,).

    The spread is the standard deviation, after values more than ten interquartile ranges beyond the
    quartiles are replaced by these limits. Distant outliers therefore hardly change it.
    """
    low, high = np.nanquantile(values, [0.25, 0.75], axis=0)
    reach = np.where(high > low, _MAX_RANGES * (high - low), np.inf)
    return np.nanstd(np.clip(values, low - reach, high + reach), axis=0)


def spreads_differ(spreads: np.ndarray) -> bool:
    """Return whether some attributes decide alone, because the units of the attributes differ.

    This is the case if the largest spread is more than ten times the median spread, or if no spread
    is between two groups of attributes that differ more than tenfold. The spreads of pixels
    and of principal components also differ, but decrease gradually. Constant attributes do not
    count.
    """
    ordered = np.sort(spreads[spreads > _MIN_SPREAD * spreads.max(initial=0)])
    if len(ordered) < 2:
        return False
    median = ordered[(len(ordered) - 1) // 2]
    ratios = np.append(ordered[1:] / ordered[:-1], ordered[-1] / median)
    return bool(ratios.max() > _MAX_SPREAD_RATIO)


def find_unit(values: np.ndarray, *, only_if_clear: bool) -> np.ndarray | None:
    """Return the spreads of the attributes, or None if there is no reason to divide by them."""
    spreads = find_spreads(values)
    if not (spreads > 0).any() or (only_if_clear and not spreads_differ(spreads)):
        return None
    return np.where(spreads > 0, spreads, 1).astype(values.dtype)


@dataclass(eq=False)
class DissimilarityInput:
    """Validation of the training objects and, in the same format, of new objects."""

    metric: Metric
    _: KW_ONLY
    # whether the mean with its transpose replaces an asymmetric matrix
    symmetrize: bool = False
    sparse: bool = False  # whether a matrix of dissimilarities may be sparse
    # whether to subtract the means, far from which Euclidean metrics are inaccurate
    centered: bool = False
    # whether to divide the attributes by their spreads; "auto": if these differ clearly
    scale: bool | str = False
    fewest: int = 1  # smallest permitted number of training objects
    # means that are subtracted from the attributes, set by `training`
    origin: Annotated[np.ndarray, "p"] | None = None
    # divisors of the attributes, set by `training`
    unit: Annotated[np.ndarray, "p"] | None = None
    # encoder of the table if ``metric="gower"``, set by `training`
    encoder: GowerEncoder | None = None

    def __post_init__(self) -> None:
        self.symmetrize = bool(self.symmetrize)
        self.centered = self.centered and self.metric in SQUARED_METRICS

    @property
    def is_precomputed(self) -> bool:
        return self.metric == "precomputed"

    def training(
        self, estimator: BaseEstimator, X: TableLike
    ) -> DissimilaritySource | SparseSource:
        """Validate the training objects, store the names of their columns, and return a source."""
        if self.metric == "gower":
            self.encoder = GowerEncoder()
            encoded = self._encode(estimator, X, self.encoder.fit_transform)
            estimator.n_features_in_ = encoded.numeric.shape[1] + encoded.codes.shape[1]
            if len(encoded) < self.fewest:
                raise InvalidParameterError(
                    "X", must=f"have at least {self.fewest} rows, got {len(encoded)}"
                )
            return GowerSource(encoded)
        values = self._validated(estimator, X, reset=True)
        if not self.is_precomputed:
            if self.centered:
                self.origin = row_mean(values).astype(values.dtype)
                values = values - self.origin
            if self.scale:
                self.unit = find_unit(values, only_if_clear=self.scale == "auto")
            if self.unit is not None:
                values = values / self.unit
            source = AttributeSource(values, self.metric)
            if callable(self.metric):
                check_metric(source)
            return source
        if sparse.issparse(values):
            if values.shape[0] != values.shape[1]:
                raise InvalidParameterError(
                    "X",
                    must=f"be a square matrix of dissimilarities, got shape {values.shape}",
                )
            return SparseSource(values)
        return MatrixSource(check_square(values, symmetrize=self.symmetrize))

    def new(
        self, estimator: BaseEstimator, X: TableLike, *, or_width: int | None = None
    ) -> Any:
        """Validate new objects.

        Return attributes, encoded rows or dissimilarities (to ``or_width`` references).
        """
        if self.metric == "gower":
            assert self.encoder is not None
            encoded = self._encode(estimator, X, self.encoder.transform)
            if len(encoded) == 0:
                message = "X has 0 sample(s) while a minimum of 1 is required."
                raise InvalidParameterError("X", message=message)
            return encoded
        if self.is_precomputed:
            return self._new_dissimilarities(estimator, X, or_width)
        values = self._validated(estimator, X, reset=False)
        if self.origin is not None:
            values = values - self.origin
        if self.unit is None:
            return values
        return values / self.unit

    def attributes(
        self, estimator: BaseEstimator, X: TableLike, which: np.ndarray
    ) -> np.ndarray:
        """Return the rows ``which`` of the training objects X, without centering."""
        return self._validated(estimator, X, reset=False)[which]

    def _new_dissimilarities(
        self, estimator: BaseEstimator, X: TableLike, or_width: int | None
    ) -> Any:
        X = order_columns_as_in_fit(estimator, to_supported_type(estimator, X))
        accept_sparse = "csr" if self.sparse else False
        with validating(X, "X"):
            D = check_array(
                X, dtype=_FLOATS, accept_sparse=accept_sparse, input_name="X"
            )
        if D.shape[1] not in (estimator.n_features_in_, or_width):
            message = (
                f"X has {D.shape[1]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input: the dissimilarities of each new "
                "object to the training objects"
            )
            if or_width is not None:
                message += f", or to its {or_width} reference objects"
            raise InvalidParameterError("X", message=message)
        check_values(np.asarray(D.data) if sparse.issparse(D) else D, "X")
        return D

    def _validated(self, estimator: BaseEstimator, X: TableLike, *, reset: bool) -> Any:
        takes_sparse = self.is_precomputed and self.sparse
        if not self.is_precomputed:
            refuse_sparse(X, "X")
        X = to_supported_type(estimator, X)
        if self.is_precomputed and reset:
            X = order_columns_as_rows(estimator, X)
        with validating(X, "X"):
            values = validate_data(
                estimator,
                X,
                reset=reset,
                dtype=_FLOATS,
                order=None if sparse.issparse(X) else "C",
                accept_sparse=_SPARSE if takes_sparse else False,
                ensure_min_samples=self.fewest if reset else 1,
                ensure_all_finite=True if sparse.issparse(X) else "allow-nan",
            )
        if sparse.issparse(values):
            check_values(np.asarray(values.data), "X")
            return values
        check_missing(
            values, X, missing_value_advice(estimator, self.metric), learning=reset
        )
        if self.is_precomputed or not reset:
            check_size(values, "X")
        else:
            check_scale(values, "X")
        if self.metric == "cosine":
            check_directions(values)
        return values

    def _encode(
        self, estimator: BaseEstimator, X: TableLike, encode: Callable[[Any], GowerData]
    ) -> GowerData:
        """Return the encoded table.

        Raise an error for a row without values if ``missing="partial"``.
        """
        with naming_table("X"):
            encoded = encode(to_supported_type(estimator, X))
            if getattr(estimator, "missing", "refuse") == "partial":
                empty = np.flatnonzero(~present_cells(encoded).any(axis=1))
                if len(empty):
                    message = (
                        f"Row {empty[0]} of X contains only missing values; remove it"
                    )
                    raise InvalidParameterError("X", message=message)
        return encoded


def order_columns_as_rows(estimator: Any, X: TableLike) -> TableLike:
    """Return a matrix of training dissimilarities with its columns in the order of its rows.

    scikit-learn stores column names only if all of them are strings. Other names are stored in
    ``_object_names`` for `order_columns_as_in_fit`.
    """
    vars(estimator).pop("_object_names", None)
    X = with_columns_like_rows(X)
    names = column_names(X)
    if names is None or all(isinstance(name, str) for name in names):
        return X
    estimator._object_names = names
    return X.set_axis(range(X.shape[1]), axis=1)


def order_columns_as_in_fit(estimator: Any, X: TableLike) -> TableLike:
    """Return the dissimilarities of new objects with the columns in the order of `fit`."""
    names = getattr(estimator, "_object_names", None)
    if names is None:
        return with_columns(X, getattr(estimator, "feature_names_in_", None))
    X = with_columns(X, names)
    if column_names(X) is None:
        return X
    return X.set_axis(range(X.shape[1]), axis=1)


def with_columns_like_rows(X: TableLike) -> TableLike:
    """Return a matrix with its columns in the order of its rows if both have names."""
    rows = row_index(X)
    if rows is None or column_names(X) is None:
        return X
    return with_columns(X, rows)


def with_columns(X: TableLike, names: Any) -> TableLike:
    """Return a dissimilarity matrix with its columns in the order of the given names."""
    columns = column_names(X)
    if names is None or columns is None or len(columns) != len(names):
        return X
    if set(columns) != set(names) and set(map(str, columns)) == set(map(str, names)):
        # Names that were numbers are text in a file.
        columns = list(map(str, columns))
        names = list(map(str, names))
    try:
        order = match_names(columns, names)
    except ValueError as error:
        raise InvalidParameterError(
            "X", must=f"have columns named after the objects: {error}"
        ) from error
    if order is None:
        return X
    if hasattr(X, "iloc"):
        return X.iloc[:, order]
    return X[:, order.tolist()]


def check_metric(source: AttributeSource) -> None:
    """Raise an error if a metric function is asymmetric or nonzero for equal objects.

    24 objects are checked.
    """
    which = np.unique(np.linspace(0, len(source) - 1, _PROBES).astype(int))
    D = source.block(which, which)
    smallest = rounding(source.dtype) * float(D.max())
    if np.abs(D - D.T).max() > smallest:
        raise InvalidParameterError("metric", "symmetric", source.metric)
    largest = np.diagonal(D).max()
    if largest > smallest:
        must = f"return 0 for equal objects, got {largest:.6g}"
        raise InvalidParameterError("metric", must=must)


def mark_tags(tags: Any, metric: Metric, *, sparse: bool = False) -> Any:
    """Set the scikit-learn tags of an estimator that uses `DissimilarityInput`."""
    precomputed = metric == "precomputed"
    tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
    tags.input_tags.sparse = precomputed and sparse
    if metric == "gower":
        tags.input_tags.allow_nan = tags.input_tags.categorical = (
            tags.input_tags.string
        ) = True
    return tags
