"""Fits that either succeed completely or leave the estimator unchanged."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import currentframe
from types import FrameType
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dempster._validation import is_number

Estimator = TypeVar("Estimator")


@contextmanager
def fit_transaction(estimator: Estimator) -> Iterator[Estimator]:
    """Yield a copy of the estimator to fit, then transfer its attributes to the estimator.

    After an error or an interrupt, the estimator is unchanged. The copy has the private attributes
    of the estimator, from which a fit can resume, but no fitted attributes. During the fit, NumPy
    numbers among the parameters are converted to Python numbers, because small integer types
    overflow. Underflow gives zero, even if the user has set ``np.seterr(under="raise")``.
    """
    draft = copy.copy(estimator)
    parameters = {}
    for name, value in list(vars(draft).items()):
        if name.startswith("_"):
            continue
        if name.endswith("_"):
            delattr(draft, name)
        else:
            parameters[name] = value
            if isinstance(value, np.number) and is_number(value):
                setattr(draft, name, value.item())
    with np.errstate(under="ignore"):
        yield draft
    vars(draft).update(parameters)
    estimator.__dict__ = draft.__dict__


def warn_not_converged(estimator: Any) -> None:
    """Warn that the iterations did not converge, from a method that `fit` calls."""
    limits = f"tol={estimator.tol:g} in max_iter={estimator.max_iter} iterations"
    message = (
        f"{type(estimator).__name__} did not reach {limits}; increase max_iter or tol"
    )
    warnings.warn(message, ConvergenceWarning, stacklevel=5)


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, from any depth of calls."""
    level = 1
    frame = currentframe()
    while frame is not None and frame.f_back is not None and _is_internal(frame):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_internal(frame: FrameType) -> bool:
    package = frame.f_globals.get("__name__", "").partition(".")[0]
    return package in ("dempster", "contextlib")
