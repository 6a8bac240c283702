"""Dissimilarities on demand: computed from attributes, looked up in a matrix, never n x n unless asked.

A source answers for blocks (every row against every column) and for chosen pairs; what a clusterer fits to is one of
these, and what it predicts from is the block of new objects against those it remembers (`References`). Which source it
is follows from X and the metric (`dempster.dissimilarity.input`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dempster._arrays import Array, precision_of, to_device_of, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import Metric
from dempster._validation import SMALLEST, check_size, has_missing, mean_of_rows
from dempster.dissimilarity.gower import (
    GowerData,
    gower_block,
    gower_pairs,
    partial_gower_block,
    partial_gower_pairs,
)
from dempster.dissimilarity.partial import pair_squares, partial_squares

_FROM_SQUARES = ("euclidean", "l2", "sqeuclidean")  # computed as |a|^2 - 2 ab + |b|^2


@contextmanager
def naming_metric(metric: Metric) -> Iterator[None]:
    """Name the metric in errors of scikit-learn or of a function of the user that computes it."""
    try:
        yield
    except InvalidInputError:
        raise  # our own errors name the argument already
    except (TypeError, ValueError) as error:
        message = f"metric={metric!r} cannot be computed for these objects: {error}"
        raise InvalidParameterError("metric", message=message) from error


class DissimilaritySource(ABC):
    """Dissimilarities between n objects, any pair of which can be asked for.

    Attributes
    ----------
    dtype : numpy.dtype
    metric : str or callable
        "precomputed" for a matrix.
    objects : table of the objects, as `between` takes them; None for a matrix
    matrix : (n, n) array of all dissimilarities, if they were given as one; else None
    """

    dtype: np.dtype
    metric: Metric
    objects: Any = None
    matrix: np.ndarray | None = None

    @property
    def is_euclidean(self) -> bool:
        """Whether ``objects`` are points, all coordinates of which are there, and the dissimilarities their Euclidean
        distances."""
        return self.objects is not None and self.metric == "euclidean"

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """(r, c) dissimilarities of the objects ``rows`` to the objects ``columns``."""

    @abstractmethod
    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """(p,) dissimilarities of the objects i to the objects j."""

    @abstractmethod
    def subset(self, which: np.ndarray) -> DissimilaritySource:
        """The same for some of the objects."""

    def between(self, A: Any, B: Any, *, exact: bool = False) -> np.ndarray:
        """Dissimilarities of other objects, given as ``objects`` are; ``exact``: no fast way that rounds, so that
        objects with the same attributes are at no dissimilarity."""
        raise InvalidInputError("a matrix of dissimilarities knows its own objects only")

    def keys(self, A: Any) -> list[bytes]:
        """One key for each object, equal for objects that cannot be told apart."""
        raise InvalidInputError("a matrix of dissimilarities knows its own objects only")

    def astype(self, dtype: np.dtype) -> DissimilaritySource:
        """The same in another precision, where that makes a difference."""
        return self


class AttributeSource(DissimilaritySource):
    """Any metric of scikit-learn, by name, or a callable, on a table of attributes.

    Metrics with parameters of their own (variances for "seuclidean", an inverse covariance for "mahalanobis") learn
    them from the whole table, once. ``within``, the variances of the attributes within clusters, says what missing
    cells count for in Euclidean distances (`dempster.dissimilarity.partial`).

    Parameters
    ----------
    X : (n, p) array
    metric : str or callable
    parameters : dict or None
    within : (p,) array or None
    """

    objects: np.ndarray

    def __init__(
        self,
        X: np.ndarray,
        metric: Metric = "euclidean",
        parameters: dict[str, np.ndarray] | None = None,
        within: np.ndarray | None = None,
    ):
        if parameters is None:
            parameters = {}
            if metric == "seuclidean":
                parameters["V"] = X.var(axis=0, ddof=1, dtype=float)
            elif metric == "mahalanobis":
                covariance = np.atleast_2d(np.cov(X, rowvar=False, dtype=float))
                parameters["VI"] = np.linalg.pinv(covariance, hermitian=True)
        self.objects, self.metric, self.within, self.parameters = X, metric, within, parameters
        self.dtype = X.dtype

    @property
    def is_euclidean(self) -> bool:
        return self.metric == "euclidean" and not self.lacks_cells

    @cached_property
    def lacks_cells(self) -> bool:
        """Whether cells of the objects are missing, where they may be."""
        return self.within is not None and has_missing(self.objects)

    def with_within(self, within: np.ndarray) -> AttributeSource:
        """The same, for objects whose cells may be missing."""
        return AttributeSource(self.objects, self.metric, self.parameters, within)

    def __len__(self) -> int:
        return len(self.objects)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.between(self.rows(rows), self.rows(columns))

    def rows(self, which: Any) -> np.ndarray:
        """Some of the objects, in memory."""
        return self.objects[which]

    def between(self, A: np.ndarray, B: np.ndarray, *, exact: bool = False) -> np.ndarray:
        if self.within is not None and (has_missing(A) or has_missing(B)):
            return self._partial(A, B, exact=exact)
        if exact and self.metric == "euclidean":
            from scipy.spatial.distance import cdist

            return check_values(cdist(A, B), "metric")
        from sklearn.metrics import pairwise_distances

        if self.metric in _FROM_SQUARES:
            centre = mean_of_rows(B, dtype=None)  # far from the origin the squares would swamp the differences
            A, B = A - centre, B - centre
        with naming_metric(self.metric):
            return check_values(pairwise_distances(A, B, metric=self.metric, **self.parameters), "metric")

    def _partial(self, A: np.ndarray, B: np.ndarray, *, exact: bool) -> np.ndarray:
        """Some cells are missing; rows that have all of theirs are compared as if none were."""
        assert self.within is not None
        whole = np.zeros(len(A), dtype=bool) if has_missing(B) else ~np.isnan(A).any(axis=1)
        out = np.empty((len(A), len(B)), dtype=np.result_type(A, B))
        if whole.any():
            out[whole] = self.between(A[whole], B, exact=exact)
        squares = partial_squares(A[~whole], B, self.within)
        out[~whole] = squares if self.metric == "sqeuclidean" else np.sqrt(squares)
        return check_values(out, "metric")

    def keys(self, A: np.ndarray) -> list[bytes]:
        return _row_keys(A)

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = np.empty(len(i), dtype=self.dtype)
        if self.within is not None and self.lacks_cells:
            for start in range(0, len(i), 65536):
                some = slice(start, start + 65536)
                squares = pair_squares(self.rows(i[some]), self.rows(j[some]), self.within)
                out[some] = squares if self.metric == "sqeuclidean" else np.sqrt(squares)
            return out
        if self.metric == "euclidean":
            for start in range(0, len(i), 65536):
                stop = start + 65536
                gap = self.rows(i[start:stop]) - self.rows(j[start:stop])
                out[start:stop] = np.sqrt(np.einsum("pd,pd->p", gap, gap))
            return out
        # other metrics know blocks only: one for each different first object
        order = np.argsort(i, kind="stable")
        first, begin = np.unique(i[order], return_index=True)
        for k, start in enumerate(begin):
            who = order[start : begin[k + 1] if k + 1 < len(begin) else None]
            out[who] = self.block([first[k]], j[who])[0]
        return out

    def subset(self, which: np.ndarray) -> AttributeSource:
        return AttributeSource(np.ascontiguousarray(self.rows(which)), self.metric, self.parameters, self.within)

    def astype(self, dtype: np.dtype) -> AttributeSource:
        return AttributeSource(self.objects.astype(dtype, copy=False), self.metric, self.parameters, self.within)


class TensorSource(AttributeSource):
    """Euclidean distances between points that are a tensor: those that are asked for come to memory and are compared
    there, the others stay where they are."""

    objects: Array

    def __init__(self, X: Array):
        self.objects, self.metric, self.within, self.parameters = X, "euclidean", None, {}
        self.dtype = precision_of(X)

    def rows(self, which: Any) -> np.ndarray:
        places = to_device_of(which, self.objects) if isinstance(which, np.ndarray) else which
        return to_host(self.objects[places])

    def in_memory(self) -> AttributeSource:
        """The same with all points in memory."""
        return AttributeSource(to_host(self.objects))


class GowerSource(DissimilaritySource):
    """Gower's dissimilarity of tables with numbers, categories and missing cells.

    Rows are compared by the columns that both have or, with the ``usual`` differences of the columns within clusters,
    as `dempster.dissimilarity.gower` says.
    """

    objects: GowerData

    def __init__(self, objects: GowerData, usual: np.ndarray | None = None):
        self.objects, self.usual = objects, usual
        self.metric = "gower"
        self.dtype = np.dtype(float)

    def __len__(self) -> int:
        return len(self.objects)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.between(self.objects[rows], self.objects[columns])

    def between(self, A: GowerData, B: GowerData, *, exact: bool = False) -> np.ndarray:
        if self.usual is not None:
            return partial_gower_block(A, B, self.usual)
        return gower_block(A, B)

    def keys(self, A: GowerData) -> list[bytes]:
        """One key for each object, equal for equal cells (missing ones too)."""
        return _row_keys(A.numeric, A.codes)

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if self.usual is not None:
            return partial_gower_pairs(self.objects, i, j, self.usual)
        return gower_pairs(self.objects, i, self.objects, j)

    def subset(self, which: np.ndarray) -> GowerSource:
        return GowerSource(self.objects[which], self.usual)


class MatrixSource(DissimilaritySource):
    """A square symmetric matrix of dissimilarities."""

    matrix: np.ndarray

    def __init__(self, D: np.ndarray):
        self.matrix = D
        self.metric = "precomputed"
        self.dtype = D.dtype

    def __len__(self) -> int:
        return len(self.matrix)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.matrix[rows][:, columns]

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.matrix[i, j]

    def subset(self, which: np.ndarray) -> MatrixSource:
        return MatrixSource(self.matrix[np.ix_(which, which)])


class SparseSource:
    """A square sparse matrix of some of the dissimilarities between n objects; stored zeros count.

    It is kept in the format it comes in (compressed rows or columns, or coordinates, where a pair may stand twice).
    """

    metric = "precomputed"

    def __init__(self, D: sparse.spmatrix):
        self.stored = D
        self.dtype = D.dtype

    def __len__(self) -> int:
        return self.stored.shape[0]


# ---- objects that are the same, and checks --------------------------------------------------------------------------


def _row_keys(*tables: np.ndarray) -> list[bytes]:
    """The bytes of every row; there is one NaN and one zero only."""
    parts = []
    for table in tables:
        values = np.ascontiguousarray(table) + table.dtype.type(0)
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan
        parts.append(values.view(np.uint8).reshape(len(values), values.shape[1] * values.itemsize))
    rows = np.hstack(parts)
    return rows.view(f"V{rows.shape[1]}").ravel().tolist()


def rounding(dtype: Any) -> float:
    """Relative size up to which a difference of dissimilarities of this type counts as a rounding error."""
    return max(1e-8, 10 * float(np.finfo(dtype).eps))


def check_values(D: np.ndarray, name: str) -> np.ndarray:
    """Dissimilarities must be finite, nonnegative, and of a size that can be worked with."""
    if D.size == 0:
        return D
    least, most = float(D.min()), float(D.max())
    if not np.isfinite(least + most):
        raise InvalidInputError(f"{name} gave dissimilarities that are NaN or infinite; they must be finite")
    check_size(D, name)
    if least < 0:
        if least >= -1e-10 * max(most, 1.0):
            return np.maximum(D, 0)  # rounding, as in cosine distances
        raise InvalidInputError(
            f"Negative values in data: {name} gave dissimilarities down to {least:.6g}; they must be at least 0"
        )
    return D


def check_square(
    D: np.ndarray, *, symmetrize: bool, remedy: str = "; set symmetrize=True to use the mean of the two"
) -> np.ndarray:
    """A square matrix of dissimilarities, symmetric (or made so when asked), with a zero diagonal."""
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise InvalidParameterError(
            "X", must=f"be a square matrix of dissimilarities when metric='precomputed', got shape {D.shape}"
        )
    D = check_values(D, "X")
    asymmetry = float(np.abs(D - D.T).max()) if len(D) else 0.0
    smallest = rounding(D.dtype) * float(D.max()) if len(D) else 0.0
    if asymmetry > smallest:
        if not symmetrize:
            i, j = np.unravel_index(np.abs(D - D.T).argmax(), D.shape)
            raise InvalidParameterError(
                "X",
                must=f"be symmetric: X[{i}, {j}] = {D[i, j]:.6g} but X[{j}, {i}] = {D[j, i]:.6g} (difference "
                f"{asymmetry:.6g}){remedy}",
                settings={"symmetrize": True},
            )
        D = (D + D.T) / 2
    if len(D) and 0 < D.max() < SMALLEST:
        raise InvalidParameterError(
            "X", must=f"hold dissimilarities of at least {SMALLEST:g}, got up to {D.max():.6g}: scale X"
        )
    worst = float(np.diagonal(D).max()) if len(D) else 0.0
    if worst > smallest:
        raise InvalidParameterError(
            "X", must=f"have a zero diagonal (an object does not differ from itself), got up to {worst:.6g}"
        )
    return D


# ---- objects of a fit that new ones are compared with ---------------------------------------------------------------


@dataclass(frozen=True)
class References:
    """Some of the objects of a fit: their attributes or, for precomputed dissimilarities, only where they were.

    Attributes
    ----------
    positions : (r,) int array
        Among the objects of the fit.
    n_training : int
        How many objects there were.
    source : DissimilaritySource or None
        Of the references alone; None for precomputed dissimilarities.
    """

    positions: np.ndarray
    n_training: int
    source: DissimilaritySource | None

    def __post_init__(self) -> None:
        if self.source is not None and len(self.source) != len(self.positions):
            raise InvalidParameterError(
                "source", must=f"hold the {len(self.positions)} references, got {len(self.source)} objects"
            )

    @classmethod
    def of(cls, source: DissimilaritySource, positions: np.ndarray) -> References:
        """Some of the objects of a source."""
        kept = None if source.objects is None else source.subset(positions)
        return cls(np.asarray(positions), len(source), kept)

    def __len__(self) -> int:
        return len(self.positions)

    def some(self, which: np.ndarray) -> References:
        """Some of them, by their numbers."""
        source = None if self.source is None else self.source.subset(which)
        return References(self.positions[which], self.n_training, source)

    def astype(self, dtype: np.dtype) -> References:
        """The same in another precision, where that makes a difference."""
        return self if self.source is None else replace(self, source=self.source.astype(dtype))

    def dissimilarities(
        self, values: Any, start: int = 0, stop: int | None = None, *, exact: bool = False
    ) -> np.ndarray:
        """(b, r) dissimilarities of the new objects start..stop, read by `DissimilarityInput.new`; ``exact``: as in
        `DissimilaritySource.between`."""
        block = values[start : len(values) if stop is None else stop]
        if self.source is None:
            return self._columns(block)
        return self.source.between(block, self.source.objects, exact=exact)

    def are_points(self, values: Any) -> bool:
        """Whether the references and these new objects are points, all coordinates of which are there, compared by
        Euclidean distances."""
        if self.source is None or not self.source.is_euclidean:
            return False
        return getattr(self.source, "within", None) is None or not has_missing(values)

    def _columns(self, D: np.ndarray) -> np.ndarray:
        """Rows of dissimilarities to all objects of the fit, or to the references only."""
        if D.shape[1] == self.n_training:
            return D if self._are_all else D[:, self.positions]
        if D.shape[1] == len(self):
            return D
        raise InvalidInputError(
            f"X has {D.shape[1]} columns, but must hold the dissimilarities of each new object to the "
            f"{self.n_training} objects of the fit"
            + (f", or to the {len(self)} references" * (len(self) < self.n_training))
        )

    @cached_property
    def _are_all(self) -> bool:
        """Whether they are all objects of the fit, in order: a large matrix is then not copied."""
        return np.array_equal(self.positions, np.arange(self.n_training))

    def equals(self, values: Any, start: int = 0, stop: int | None = None) -> np.ndarray:
        """For each of the new objects start..stop the first reference with the same attributes, -1 if there is none.

        Attributes of different precision are compared in the lower one.
        """
        if self.source is None:
            raise InvalidInputError("precomputed dissimilarities have no attributes to compare")
        block = values[start : len(values) if stop is None else stop]
        if isinstance(block, np.ndarray) and block.dtype != self.source.dtype:
            first, block = self._first_rounded, block.astype(np.float32, copy=False)
        else:
            first = self._first
        return np.array([first.get(key, -1) for key in self.source.keys(block)], dtype=np.intp)

    @cached_property
    def _first(self) -> dict[bytes, int]:
        """Position of the first reference with each key."""
        assert self.source is not None
        keys = self.source.keys(self.source.objects)
        return dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))

    @cached_property
    def _first_rounded(self) -> dict[bytes, int]:
        """The same for attributes in single precision."""
        return self.astype(np.dtype(np.float32))._first


# ---- which attributes make two objects differ -----------------------------------------------------------------------


# Shares add up to one. For metrics that are a sum over attributes, or a root of one, they are the terms of that sum; a
# term of a quadratic form that belongs to two attributes goes to both in equal parts, so that a share may be negative.
# For any other metric an attribute counts for what the dissimilarity loses when the first object takes over its value
# from the second.
_OF_SQUARES = ("euclidean", "l2", "sqeuclidean", "nan_euclidean")
_OF_DIFFERENCES = ("manhattan", "cityblock", "l1", "braycurtis")
_SUMS = (*_OF_SQUARES, *_OF_DIFFERENCES, "seuclidean", "mahalanobis", "canberra", "hamming", "matching")
_PAIRS = 64  # compared at once by a metric that is no sum


def attribute_shares(source: DissimilaritySource, one: Any, others: Any) -> np.ndarray:
    """(r, p) shares of the attributes in the dissimilarities of one object to r others.

    Attributes that one of the two lacks have none; where two objects do not differ in any other, these have the same.

    Parameters
    ----------
    source : AttributeSource or GowerSource
        The metric. The columns of a `GowerSource` are the numeric ones first, then the categories.
    one, others : as ``source.objects``; ``one`` of a single object
    """
    if isinstance(source, GowerSource):
        terms = _gower_terms(one, others)
    else:
        assert isinstance(source, AttributeSource)
        x, Y = np.asarray(one, dtype=float)[0], np.asarray(others, dtype=float)
        metric = source.metric
        known = isinstance(metric, str) and metric in _SUMS
        terms = _terms_of(str(metric), source.parameters)(x, Y) if known else _losses(source, x, Y)
    known = np.isfinite(terms)
    terms = np.where(known, terms, 0)
    total = terms.sum(axis=1, keepdims=True)
    equal = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(total > 0, terms / np.where(total > 0, total, 1), equal)


def _terms_of(metric: str, parameters: dict[str, np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The terms of the sum that a metric is, by attribute."""
    if metric in _OF_SQUARES:
        return lambda x, Y: (Y - x) ** 2
    if metric in _OF_DIFFERENCES:
        return lambda x, Y: np.abs(Y - x)
    if metric == "seuclidean":
        with np.errstate(divide="ignore", invalid="ignore"):
            return lambda x, Y: np.where(parameters["V"] > 0, (Y - x) ** 2 / parameters["V"], 0)
    if metric == "mahalanobis":
        return lambda x, Y: (Y - x) * ((Y - x) @ parameters["VI"])
    if metric == "canberra":
        return lambda x, Y: np.abs(Y - x) / np.maximum(np.abs(Y) + np.abs(x), np.finfo(float).tiny)
    return lambda x, Y: (x != Y).astype(float)


def _losses(source: AttributeSource, x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """What the dissimilarity loses when an attribute is made the same; one attribute after the other."""
    whole = source.between(x[None], Y)[0]
    # metrics know blocks only, of which the diagonal is needed: small ones, single pairs where a function is called
    size = 1 if callable(source.metric) else _PAIRS
    terms = np.empty(Y.shape)
    for d in range(Y.shape[1]):
        for start in range(0, len(Y), size):
            some = Y[start : start + size]
            mixed = np.repeat(x[None], len(some), axis=0)
            mixed[:, d] = some[:, d]
            terms[start : start + size, d] = np.diagonal(source.between(mixed, some))
    return np.maximum(whole[:, None] - terms, 0)


def _gower_terms(one: Any, others: Any) -> np.ndarray:
    """Terms of Gower's mean, numeric columns first: none contributes more than its weight; NaN for missing ones."""
    numbers = np.minimum(np.abs(others.numeric - one.numeric[0]), 1) * others.numeric_weights
    # negative codes are missing cells (-1) or categories that were never seen (-2), which differ from everything
    missing = (others.codes == -1) | (one.codes[0] == -1)
    differ = (others.codes != one.codes[0]) | (others.codes < 0)
    categories = np.where(missing, np.nan, differ * others.code_weights)
    return np.hstack([numbers, categories])
