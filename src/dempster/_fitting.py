"""A fit succeeds as a whole or leaves the estimator as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from dempster._validation import plain_number

Estimator = TypeVar("Estimator")


@contextmanager
def fit_transaction(estimator: Estimator) -> Iterator[Estimator]:
    """Yield a copy of the estimator to fit, without fitted attributes; its state replaces that of the estimator at the
    end, unless an error or an interrupt comes before.

    Private attributes stay, so that a fit can resume from them. Parameters that are NumPy numbers are Python numbers
    meanwhile, as sums and products of small integer types overflow. Underflow gives zero, also where the program has
    told NumPy to raise for it.
    """
    draft = copy.copy(estimator)
    given = {}
    for name, value in list(vars(draft).items()):
        if name.startswith("_"):
            continue
        if name.endswith("_"):
            delattr(draft, name)
        else:
            given[name] = value
            if isinstance(value, np.number):
                setattr(draft, name, plain_number(value))
    with np.errstate(under="ignore"):
        yield draft
    vars(draft).update(given)
    estimator.__dict__ = draft.__dict__
