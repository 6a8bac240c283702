"""What every metric learner shares: parameters, validated objects, the linear map, the trace of a descent."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster._site import DocumentedEstimator
from dempster._validation import centering_offset, check_memory, check_scale, check_size, readable, reading

__all__ = [
    "MetricLearner",
    "LinearMetricLearner",
    "Descent",
    "PAIR_RULES",
    "checked_n_components",
    "signed_rows",
    "few_threads",
]

PAIR_RULES: Mapping[str, rule.Rule] = {
    "max_pairs": rule.integer(1),
    "max_iter": rule.iterations(),
    "tol": rule.real(0),
    "random_state": rule.seed,
}

_SMALL = 500


@dataclass
class Descent:
    """Where an iterative method ended: its unknowns, the objective at the start and after every iteration."""

    unknowns: np.ndarray
    history: list[float]
    converged: bool

    @property
    def objective(self) -> float:
        return self.history[-1]


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator, BaseEstimator):
    """Base of the learners: a method supplies ``fit``, which sets ``components_``, and ``transform``."""

    _rules: Mapping[str, rule.Rule] = {}
    components_: np.ndarray
    _squares_attributes = False  # whether the method needs tables with a row and a column for each attribute
    max_iter: int  # these two, of the methods that iterate
    tol: float

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _checked_objects(self, X: Any, *, reset: bool) -> np.ndarray:
        """Attributes as a float array, float32 kept; to learn, at least two objects."""
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

    def _set_descent(self, run: Descent) -> None:
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
        """To learn, which goes by differences, attributes far from zero are measured from nearby."""
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


def checked_n_components(wanted: int | None, largest: int, words: str) -> int:
    """The number of features to learn: the largest there can be, or the number wanted if it is not above that."""
    if wanted is not None and wanted > largest:
        raise InvalidInputError(f"n_components must be at most {words}, got {wanted}")
    return largest if wanted is None else int(wanted)


def few_threads(size: int) -> AbstractContextManager[None]:
    """One BLAS thread for many products of small matrices, where more cost more than they give."""
    return one_blas_thread() if size < _SMALL else nullcontext()


def signed_rows(rows: np.ndarray) -> np.ndarray:
    """Rows with the sign that makes their largest coefficient positive: a sign that is free must not be chance."""
    largest = np.abs(rows).argmax(axis=1)
    signs = np.sign(rows[np.arange(len(rows)), largest])
    return rows * np.where(signs == 0, 1.0, signs)[:, None]
