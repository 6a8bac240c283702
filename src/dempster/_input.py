"""What is done with X before scikit-learn reads it: tensors, which some estimators take where they are, and what lies
in memory in a way that scikit-learn or a kernel does not take."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dempster._arrays import Array, is_tensor, library_of, to_host, with_shape
from dempster._errors import InvalidInputError
from dempster._missing import has_missing
from dempster._reading import check_tensor
from dempster._scale import check_scale, check_size, real_tensor
from dempster._tables import with_plain_columns, without_na

__all__ = ["readable", "tensor_attributes"]


def tensor_attributes(
    estimator: BaseEstimator, X: Array, *, reset: bool, fewest: int = 1, more_axes: bool = False
) -> Array:
    """The attributes of objects, checked where they are: finite numbers of a size that can be worked with.

    Parameters
    ----------
    estimator : estimator
        Learns, or is asked, how many attributes there are.
    X : (n, p) tensor
        float32 is kept, anything else becomes float64; rows become contiguous.
    reset : bool
        Whether these are the objects of a fit.
    fewest : int
        Objects that are needed.
    more_axes : bool
        Whether an object may have more than one axis.
    """
    check_tensor(X, "X")
    if X.ndim != 2 and not (more_axes and X.ndim > 2):
        raise InvalidInputError(
            f"Expected 2D array, got {X.ndim}D array instead: X must be a tensor (n_samples, n_features)"
        )
    if len(X) < fewest:
        raise InvalidInputError(
            f"Found array with {len(X)} sample(s) (shape={tuple(X.shape)}) while a minimum of {fewest} is required."
        )
    if X.shape[1] == 0:
        raise InvalidInputError(
            f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    values = real_tensor(X.detach(), "X").contiguous()
    if has_missing(values):
        count = int(library_of(values).isnan(values).sum())
        raise InvalidInputError(
            f"X has {count:,} missing value{'s' * (count > 1)} (NaN): a tensor must have all of its cells; impute "
            "them, or give an array of NumPy with missing='partial'"
        )
    (check_scale if reset else check_size)(values, "X")
    return values


def readable(estimator: Any, X: Any) -> Any:
    """X as scikit-learn reads it: a tensor as an array of NumPy, if it is in memory; others are refused by an estimator
    that works on the processor. Arrays and tables are made such that they can be read."""
    X = with_shape(X)
    if isinstance(X, np.ndarray):
        return _readable_array(X)
    if not is_tensor(X):
        return with_plain_columns(X)
    check_tensor(X, "X")
    if X.device.type != "cpu":
        raise InvalidInputError(
            f"X must be in memory for {type(estimator).__name__} as it is set, which works on the processor, but is a "
            f"tensor on {X.device}: give X.cpu()"
        )
    return to_host(X)


def _readable_array(X: np.ndarray) -> np.ndarray:
    """An array that lies askew in memory is copied, and objects and text are of kinds that scikit-learn knows."""
    if X.dtype.kind == "T":  # text of any length
        return X.astype(object)
    if X.dtype.kind == "O":
        return without_na(X)
    return X if X.flags.aligned else X.copy()
