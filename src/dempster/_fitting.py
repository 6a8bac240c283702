"""Fits that either succeed completely or leave the estimator unchanged."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from dempster._validation import to_python_number

Estimator = TypeVar("Estimator")


@contextmanager
def fit_transaction(estimator: Estimator) -> Iterator[Estimator]:
    """Yield a copy of the estimator for the caller to fit, then transfer the attributes of the copy to the estimator.

    After an error or an interrupt, the estimator is unchanged. The copy has the private attributes of the estimator,
    from which a fit can resume, but no fitted attributes. During the fit, NumPy numbers among the parameters are
    converted to Python numbers, because small integer types overflow. Underflow gives zero, even if the user has set
    ``np.seterr(under="raise")``.
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
            if isinstance(value, np.number):
                setattr(draft, name, to_python_number(value))
    with np.errstate(under="ignore"):
        yield draft
    vars(draft).update(parameters)
    estimator.__dict__ = draft.__dict__
