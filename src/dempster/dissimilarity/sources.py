"""Sources of dissimilarities, which compute them from attributes or take them from a matrix.

A dissimilarity source returns the dissimilarities of all pairs in a block of rows and columns, or
those of selected pairs. Clusterers are fitted to a source. For prediction, new objects are compared
with training objects that are stored in `References`. X and the metric determine the type of the
source (`dempster.dissimilarity.input`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from dempster._arrays import (
    Array,
    divide,
    precision_of,
    row_mean,
    row_slices,
    to_device_of,
    to_host,
)
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import ArrayPair, Metric
from dempster._validation import SMALLEST, SQUARED_METRICS, check_size, has_missing
from dempster.dissimilarity.gower import (
    MISSING,
    GowerData,
    gower_block,
    gower_pairs,
    partial_gower_block,
    partial_gower_pairs,
    present_cells,
)
from dempster.dissimilarity.partial import pair_squares, partial_squares
from dempster.dissimilarity.paths import DensityTree, PathMetric

# a number far from those of `GowerData`, which are between 0 and 1
_DISTANT_NUMBER = 1e6
_MAX_DISSIMILARITIES = 1_000_000  # maximum number of dissimilarities in memory at once


@contextmanager
def naming_metric(metric: Metric) -> Iterator[None]:
    """Add the name of the metric to errors that scikit-learn or a metric function raises."""
    try:
        yield
    except InvalidInputError:
        raise
    except (TypeError, ValueError) as error:
        message = f"metric={metric!r} cannot be computed for these objects: {error}"
        # The message of scikit-learn only lists its own metrics.
        if f"Got {metric!r} instead" in str(error):
            message = (
                f"metric={metric!r} is not a metric of sklearn.metrics.pairwise_distances; "
                "clusterers also accept 'path', 'gower' and 'precomputed'"
            )
        raise InvalidParameterError("metric", message=message) from error


class DissimilaritySource(ABC):
    """Dissimilarities between n objects."""

    dtype: np.dtype  # type of the dissimilarities
    metric: Metric  # "precomputed" for a matrix
    # array or GowerData, attributes of the objects; None for a matrix
    objects: Any = None
    # (n, n), dissimilarities if ``metric="precomputed"``
    matrix: np.ndarray | None = None

    @property
    def is_euclidean(self) -> bool:
        """Whether these are Euclidean distances between objects without missing values."""
        return self.objects is not None and self.metric == "euclidean"

    def __len__(self) -> int:
        return len(self.objects)

    def rows(self, which: Any) -> Any:
        """Return the objects at the positions ``which``."""
        return self.objects[which]

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """Return the dissimilarities between r objects and c objects, shape (r, c)."""
        return self.between(self.rows(rows), self.rows(columns))

    @abstractmethod
    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the dissimilarities, shape (p,), of the p pairs of objects (i[k], j[k])."""

    @abstractmethod
    def subset(self, which: np.ndarray) -> DissimilaritySource:
        """Return a source of the dissimilarities between the objects at the positions ``which``."""

    def between(self, A: Any, B: Any, *, exact: bool = False) -> np.ndarray:
        """Return the dissimilarities of A and B.

        ``exact`` avoids fast formulas, so that equal objects have zero.
        """
        raise InvalidInputError("a dissimilarity matrix cannot compare new objects")

    def keys(self, A: Any) -> list[bytes]:
        """Return a key for each object; equal objects have equal keys."""
        return _row_keys(A)

    def fill_missing(self, A: Any) -> Any:
        """Replace missing values by a value that is far from all others; A if none is missing."""
        return A

    def astype(self, dtype: np.dtype) -> DissimilaritySource:
        """Return a source that computes the dissimilarities in the precision ``dtype``."""
        return self


class AttributeSource(DissimilaritySource):
    """Dissimilarities between the rows of a table of attributes.

    ``metric`` is a metric of scikit-learn, "path" (`PathMetric`), or a function of two rows.
    ``parameters`` are keyword arguments of the metric. By default the variances for "seuclidean",
    the inverse covariance matrix for "mahalanobis" and the landmarks for "path" are computed from
    X. ``within``, shape (p,), contains the variances of the attributes within clusters, which are
    required if values are missing (`dempster.dissimilarity.partial`).
    """

    objects: Annotated[np.ndarray, "n p"]
    within: Annotated[np.ndarray, "p"] | None

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
            elif metric == "path":
                parameters = dict(vars(PathMetric.from_objects(X)))
        self.objects = X
        self.metric = metric
        self.within = within
        self.parameters = parameters
        self.dtype = precision_of(X)

    @property
    def is_euclidean(self) -> bool:
        return self.metric == "euclidean" and not self.lacks_cells

    @cached_property
    def lacks_cells(self) -> bool:
        return self.within is not None and has_missing(self.objects)

    def between(
        self, A: np.ndarray, B: np.ndarray, *, exact: bool = False
    ) -> np.ndarray:
        if self.within is not None and (has_missing(A) or has_missing(B)):
            return self._partial(A, B, exact=exact)
        if exact and self.metric == "euclidean":
            return check_values(cdist(A, B), "metric")
        if self.metric == "path":
            return PathMetric(**self.parameters).block(A, B).astype(self.dtype)
        from sklearn.metrics import pairwise_distances

        if self.metric in SQUARED_METRICS:
            # Sums of squares would be inaccurate far from the origin.
            center = row_mean(B, dtype=None)
            A = A - center
            B = B - center
        with naming_metric(self.metric):
            D = pairwise_distances(A, B, metric=self.metric, **self.parameters)
            return check_values(D, "metric")

    def _partial(self, A: np.ndarray, B: np.ndarray, *, exact: bool) -> np.ndarray:
        """Return the dissimilarities if values are missing in A or B."""
        assert self.within is not None
        whole = ~np.isnan(A).any(axis=1) & (not has_missing(B))
        out = np.empty((len(A), len(B)), np.result_type(A, B))
        if whole.any():
            out[whole] = self.between(A[whole], B, exact=exact)
        out[~whole] = self._from_squares(partial_squares(A[~whole], B, self.within))
        return check_values(out, "metric")

    def compare_rows(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the dissimilarity of row i of A and row i of B for all i, from squares."""
        gap = A - B
        return self._from_squares(np.einsum("pd,pd->p", gap, gap))

    def _from_squares(self, squares: np.ndarray) -> np.ndarray:
        if self.metric == "sqeuclidean":
            return squares
        return np.sqrt(squares)

    def fill_missing(self, A: np.ndarray) -> np.ndarray:
        if not has_missing(A):
            return A
        distant = 10 * np.nanmax(np.abs(self.objects), initial=1)
        return np.where(np.isnan(A), distant, A)

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = np.empty(len(i), self.dtype)
        if self.lacks_cells or self.metric == "euclidean":
            for some in row_slices(len(i), 65536):
                A = self.rows(i[some])
                B = self.rows(j[some])
                if self.within is not None and self.lacks_cells:
                    out[some] = self._from_squares(pair_squares(A, B, self.within))
                else:
                    out[some] = self.compare_rows(A, B)
            return out
        if self.metric == "path":
            distances = PathMetric(**self.parameters).pairs(self.rows(i), self.rows(j))
            return distances.astype(self.dtype)
        # Other metrics can only be computed in blocks. Compute one block for each distinct element
        # of i.
        order = np.argsort(i, kind="stable")
        first, begin = np.unique(i[order], return_index=True)
        for row, who in zip(first, np.split(order, begin[1:]), strict=True):
            out[who] = self.block([row], j[who])[0]
        return out

    def subset(self, which: np.ndarray) -> AttributeSource:
        return self._with_objects(np.ascontiguousarray(self.rows(which)))

    def astype(self, dtype: np.dtype) -> AttributeSource:
        return self._with_objects(self.objects.astype(dtype, copy=False))

    def _with_objects(self, X: np.ndarray) -> AttributeSource:
        return AttributeSource(X, self.metric, self.parameters, self.within)


class TensorSource(AttributeSource):
    """Euclidean distances between the rows of a tensor, which are copied when needed."""

    objects: Array

    def rows(self, which: Any) -> np.ndarray:
        if isinstance(which, np.ndarray):
            which = to_device_of(which, self.objects)
        return to_host(self.objects[which])


class GowerSource(DissimilaritySource):
    """Gower's dissimilarities between the rows of a table of numbers and categories.

    By default, two rows are compared on the columns that are observed in both. If ``usual``
    contains the mean difference within clusters of each column, this value replaces differences
    that are missing.
    """

    objects: GowerData

    def __init__(self, objects: GowerData, usual: np.ndarray | None = None):
        self.objects = objects
        self.usual = usual
        self.metric = "gower"
        self.dtype = np.dtype(float)

    def between(self, A: GowerData, B: GowerData, *, exact: bool = False) -> np.ndarray:
        if self.usual is not None:
            return partial_gower_block(A, B, self.usual)
        return gower_block(A, B)

    def keys(self, A: GowerData) -> list[bytes]:
        return _row_keys(A.numeric, A.codes)

    def fill_missing(self, A: GowerData) -> GowerData:
        if present_cells(A).all():
            return A
        numeric = np.nan_to_num(A.numeric, nan=_DISTANT_NUMBER)
        codes = np.where(A.codes == MISSING, np.iinfo(A.codes.dtype).max, A.codes)
        return replace(A, numeric=numeric, codes=codes)

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if self.usual is not None:
            return partial_gower_pairs(self.objects, i, j, self.usual)
        return gower_pairs(self.objects, i, j)

    def subset(self, which: np.ndarray) -> GowerSource:
        return GowerSource(self.objects[which], self.usual)


class MatrixSource(DissimilaritySource):
    """Dissimilarities given by a square symmetric matrix."""

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


class PathSource(DissimilaritySource):
    """Path distances between some of the objects of another source of dissimilarities."""

    metric = "path"
    dtype = np.dtype(float)
    matrix: np.ndarray

    def __init__(self, source: DissimilaritySource, which: np.ndarray):
        D = source.block(which, which).astype(float)
        self.matrix = DensityTree.from_dissimilarities((D + D.T) / 2).path_distances()
        self.places = np.full(len(source), -1)
        self.places[which] = np.arange(len(which))

    def __len__(self) -> int:
        return len(self.places)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.matrix[np.ix_(self.places[rows], self.places[columns])]

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.matrix[self.places[i], self.places[j]]

    def subset(self, which: np.ndarray) -> MatrixSource:
        return MatrixSource(self.block(which, which))


class SparseSource:
    """Sparse square matrix with the known dissimilarities between n objects.

    Stored zeros are known dissimilarities.

    The matrix keeps its format (CSR, CSC or COO). In COO format a pair may be stored twice.
    """

    metric = "precomputed"

    def __init__(self, D: sparse.spmatrix):
        self.stored = D
        self.dtype = D.dtype

    def __len__(self) -> int:
        return self.stored.shape[0]


# ---- validation ----------------------------------------------------------------------------------


def _row_keys(*tables: np.ndarray) -> list[bytes]:
    """Return the bytes of each row as a key.

    All NaN have the same bytes, and so do 0.0 and -0.0.
    """
    parts = []
    for table in tables:
        values = np.ascontiguousarray(table) + table.dtype.type(0)
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan
        parts.append(
            values.view(np.uint8).reshape(
                len(values), values.shape[1] * values.itemsize
            )
        )
    rows = np.hstack(parts)
    return rows.view(f"V{rows.shape[1]}").ravel().tolist()


def rounding(dtype: Any) -> float:
    """Return the largest relative difference that is considered a rounding error."""
    return max(1e-8, 10 * float(np.finfo(dtype).eps))


def check_values(D: np.ndarray, name: str) -> np.ndarray:
    """Return the dissimilarities if they are finite, nonnegative and not too large."""
    if D.size == 0:
        return D
    least = float(D.min())
    most = float(D.max())
    if not np.isfinite(least + most):
        raise InvalidParameterError(
            name, must="give finite dissimilarities, got NaN or infinity"
        )
    check_size(D, name)
    if least < 0:
        if least >= -1e-10 * max(most, 1.0):
            # These negative values are rounding errors, for example of cosine distances.
            return np.maximum(D, 0)
        # The estimator checks of scikit-learn require the first words of this message.
        problem = f"{name} must give nonnegative dissimilarities, got {least:.6g}"
        raise InvalidParameterError(name, message=f"Negative values in data: {problem}")
    return D


def check_square(D: np.ndarray, *, symmetrize: bool, name: str = "X") -> np.ndarray:
    """Return a validated square symmetric matrix of dissimilarities with a zero diagonal."""
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        expected = "a square matrix of dissimilarities when metric='precomputed'"
        raise InvalidParameterError(name, must=f"be {expected}, got shape {D.shape}")
    D = check_values(D, name)
    if len(D) == 0:
        return D
    smallest = rounding(D.dtype) * float(D.max())
    if np.abs(D - D.T).max() > smallest:
        if not symmetrize:
            i, j = np.unravel_index(np.abs(D - D.T).argmax(), D.shape)
            got = (
                f"{name}[{i}, {j}] = {D[i, j]:.6g} and {name}[{j}, {i}] = {D[j, i]:.6g}"
            )
            mean = f"({name} + {name}.T) / 2"
            option = "symmetrize=True of EVCLUS and the medoid methods"
            must = f"be symmetric, got {got}; use their mean, {mean}, or {option}"
            raise InvalidParameterError(name, must=must)
        D = (D + D.T) / 2
    largest = float(D.max())
    if 0 < largest < SMALLEST:
        advice = f"got at most {largest:.6g}; scale {name}"
        raise InvalidParameterError(
            name, must=f"contain dissimilarities of at least {SMALLEST:g}, {advice}"
        )
    worst = float(np.diagonal(D).max())
    if worst > smallest:
        raise InvalidParameterError(
            name, must=f"have a zero diagonal, got up to {worst:.6g}"
        )
    return D


# ---- stored objects of a fit ---------------------------------------------------------------------


@dataclass(frozen=True)
class References:
    """Reference objects, the training objects with which new objects are compared."""

    # indices of the reference objects in the training data
    positions: Annotated[np.ndarray, "r:int"]
    n_training: int  # number of training objects
    # dissimilarities between the reference objects; None if precomputed
    source: DissimilaritySource | None

    def __post_init__(self) -> None:
        if self.source is not None and len(self.source) != len(self.positions):
            expected = f"the {len(self.positions)} reference objects"
            raise InvalidParameterError(
                "source", must=f"contain {expected}, got {len(self.source)} objects"
            )

    @classmethod
    def from_source(
        cls, source: DissimilaritySource, positions: np.ndarray
    ) -> References:
        """Return the objects of a source at the given positions as reference objects."""
        kept = None
        if source.objects is not None:
            kept = source.subset(positions)
        return cls(np.asarray(positions), len(source), kept)

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, which: np.ndarray) -> References:
        """Return the reference objects at the positions ``which``."""
        source = None
        if self.source is not None:
            source = self.source.subset(which)
        return References(self.positions[which], self.n_training, source)

    def astype(self, dtype: np.dtype) -> References:
        """Return the reference objects in the precision ``dtype``."""
        if self.source is None:
            return self
        return replace(self, source=self.source.astype(dtype))

    def dissimilarities(
        self,
        values: Any,
        start: int = 0,
        stop: int | None = None,
        *,
        exact: bool = False,
    ) -> np.ndarray:
        """Return the dissimilarities of new objects to the references.

        `DissimilarityInput.new` reads the new objects.
        """
        block = values[start:stop]
        if self.source is None:
            return self._columns(block)
        return self.source.between(block, self.source.objects, exact=exact)

    def are_points(self, values: Any) -> bool:
        """Return whether the metric is Euclidean and no value is missing."""
        if self.source is None or not self.source.is_euclidean:
            return False
        return getattr(self.source, "within", None) is None or not has_missing(values)

    def _columns(self, D: np.ndarray) -> np.ndarray:
        """Return the columns of D for the reference objects.

        D may also contain columns for all training objects.
        """
        if D.shape[1] == self.n_training:
            if self._are_all:
                return D
            return D[:, self.positions]
        if D.shape[1] == len(self):
            return D
        expected = f"dissimilarities to the {self.n_training} training objects"
        if len(self) < self.n_training:
            expected += f" or to the {len(self)} reference objects"
        raise InvalidParameterError(
            "X", must=f"contain {expected}, got {D.shape[1]} columns"
        )

    @cached_property
    def _are_all(self) -> bool:
        """Whether all training objects are references, so that a matrix need not be copied."""
        return np.array_equal(self.positions, np.arange(self.n_training))

    def nearest(self, values: Any, D: np.ndarray | None = None) -> ArrayPair:
        """Return the index of the reference nearest to each object, and the dissimilarity to it.

        ``D`` contains the dissimilarities of the objects to the references, if they are known. A
        missing value is compared as a value that differs from all others.
        """
        source = self.source
        assert source is not None
        rows = source.fill_missing(values)
        points = self._filled
        nearest = np.empty(len(rows), np.int64)
        distance = np.empty(len(rows), source.dtype)
        is_known = D is not None and self.are_complete(values)
        size = len(rows) if is_known else max(1, _MAX_DISSIMILARITIES // len(self))
        for block in row_slices(len(rows), size):
            if not is_known:
                D = source.between(rows[block], points, exact=True)
            assert D is not None
            which = D.argmin(axis=1)
            nearest[block] = which
            if isinstance(source, AttributeSource) and source.metric in SQUARED_METRICS:
                # Matrix products lose half of the digits.
                distance[block] = source.compare_rows(rows[block], points[which])
            else:
                distance[block] = D[np.arange(len(D)), which]
        return nearest, distance

    def are_complete(self, values: Any) -> bool:
        """Return whether no value of the objects and of the references is missing."""
        source = self.source
        if source is None:
            return True
        is_complete = self._filled is source.objects
        return is_complete and source.fill_missing(values) is values

    @cached_property
    def _filled(self) -> Any:
        """Reference objects without missing values."""
        assert self.source is not None
        return self.source.fill_missing(self.source.objects)


def separations(
    source: DissimilaritySource, positions: np.ndarray | None = None
) -> np.ndarray:
    """Return the dissimilarity of objects to the nearest object that differs from them.

    The objects are those at ``positions``, by default all objects of the source.

    Objects whose dissimilarity is a rounding error do not differ. If there is no other object, the
    result is infinite. A missing value is compared as a value that differs from all others.
    """
    if positions is None:
        positions = np.arange(len(source))
    objects = source.objects
    if objects is not None:
        objects = source.fill_missing(objects)
    out = np.empty(len(positions))
    size = max(1, _MAX_DISSIMILARITIES // len(source))
    for block in row_slices(len(positions), size):
        rows = positions[block]
        if objects is None:
            D = source.block(rows, slice(None))
        else:
            D = source.between(objects[rows], objects, exact=True)
        is_equal = rounding(D.dtype) * np.median(D, axis=1, keepdims=True) >= D
        is_equal[np.arange(len(rows)), rows] = True
        out[block] = np.where(is_equal, np.inf, D).min(axis=1)
    return out


# ---- contributions of the attributes to a dissimilarity ------------------------------------------


# The contributions of the attributes to a dissimilarity sum to one. If the metric is a sum over
# attributes, or the root of a sum, the contributions are proportional to the terms of the sum. The
# mixed terms of the Mahalanobis metric are divided equally between the two attributes, so a
# contribution may be negative. For any other metric, the contribution of an attribute is
# proportional to the decrease of the dissimilarity when both objects get the same value.
_OF_SQUARES = ("euclidean", "l2", "sqeuclidean", "nan_euclidean")
_OF_DIFFERENCES = ("manhattan", "cityblock", "l1", "braycurtis")
_BLOCK_PAIRS = 64  # number of pairs per call if the metric is not a sum


def attribute_shares(source: DissimilaritySource, one: Any, others: Any) -> np.ndarray:
    """Return the contributions of p attributes to the dissimilarities to r objects, shape (r, p).

    The contributions to each dissimilarity sum to one. Missing values contribute zero. If two
    objects are equal in all observed attributes, all observed attributes contribute equally.
    ``one`` (one row) and ``others`` have the format of ``source.objects``. For a `GowerSource`, the
    numeric attributes come first in the result.
    """
    if isinstance(source, GowerSource):
        terms = _gower_terms(one, others)
    else:
        assert isinstance(source, AttributeSource)
        terms = _terms(source, np.asarray(one, float)[0], np.asarray(others, float))
    return normalize_shares(terms)


def normalize_shares(terms: np.ndarray) -> np.ndarray:
    """Divide the terms by their sums over each row.

    Missing terms become zero. If all terms of a row are zero, those that are not missing get equal
    shares.
    """
    known = np.isfinite(terms)
    terms = np.where(known, terms, 0)
    total = terms.sum(axis=1, keepdims=True)
    equal = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(total > 0, divide(terms, total, 0), equal)


def _terms(source: AttributeSource, x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the terms of the attributes in a metric that is a sum over them, or their losses."""
    metric = source.metric
    gaps = Y - x
    if metric in _OF_SQUARES:
        return gaps**2
    if metric in _OF_DIFFERENCES:
        return np.abs(gaps)
    if metric == "seuclidean":
        return divide(gaps**2, source.parameters["V"], 0)
    if metric == "mahalanobis":
        return gaps * (gaps @ source.parameters["VI"])
    if metric == "canberra":
        return np.abs(gaps) / np.maximum(np.abs(Y) + np.abs(x), np.finfo(float).tiny)
    if metric in ("hamming", "matching"):
        return (x != Y).astype(float)
    return _losses(source, x, Y)


def _losses(source: AttributeSource, x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the decreases of the dissimilarities when both objects get the same value."""
    whole = source.between(x[None], Y)[0]
    # Only the diagonal of each block is used, so the blocks are small, and single pairs for a
    # metric function.
    size = 1 if callable(source.metric) else _BLOCK_PAIRS
    terms = np.empty(Y.shape)
    for d in range(Y.shape[1]):
        for rows in row_slices(len(Y), size):
            mixed = np.repeat(x[None], len(Y[rows]), axis=0)
            mixed[:, d] = Y[rows, d]
            terms[rows, d] = np.diagonal(source.between(mixed, Y[rows]))
    return np.maximum(whole[:, None] - terms, 0)


def _gower_terms(one: Any, others: Any) -> np.ndarray:
    """Return the weighted differences in Gower's dissimilarity, numeric columns first."""
    numbers = np.minimum(np.abs(others.numeric - one.numeric[0]), 1)
    # Code -1 is a missing value. Code -2 is an unseen category, which differs from all categories.
    missing = (others.codes == -1) | (one.codes[0] == -1)
    differ = (others.codes != one.codes[0]) | (others.codes < 0)
    categories = np.where(missing, np.nan, others.weight * differ)
    return np.hstack([numbers, categories])
