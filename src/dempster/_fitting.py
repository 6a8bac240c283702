"""A fit succeeds as a whole or leaves the estimator as it was."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from dempster._validation import plain_number

__all__ = ["draft_of"]

Estimator = TypeVar("Estimator")


@contextmanager
def draft_of(estimator: Estimator) -> Iterator[Estimator]:
    """A copy without fitted attributes, to be fitted; if nothing goes wrong the estimator takes over what it has.

    An error or an interrupt inside the block leaves the estimator as it was, fitted or not. Private attributes of an
    earlier fit are there in the copy, for methods that go on from them. Parameters that are numbers of NumPy are those
    of Python while this lasts: sums and products of small types leave their range. Numbers that vanish in a fit are
    zero, also where the program has told NumPy to raise for them.
    """
    draft = copy.copy(estimator)
    for name in [name for name in vars(draft) if name.endswith("_") and not name.startswith("_")]:
        delattr(draft, name)
    given = {name: value for name, value in vars(draft).items() if not name.startswith("_")}
    vars(draft).update({name: plain_number(value) for name, value in given.items()})
    with np.errstate(under="ignore"):
        yield draft
    vars(draft).update(given)
    estimator.__dict__ = draft.__dict__
