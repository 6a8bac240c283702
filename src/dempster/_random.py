"""Conversion of ``random_state`` arguments to generators and seeds.

A random state is None, an integer, a NumPy RandomState or a NumPy Generator. An integer always
gives the same random numbers. A RandomState or Generator advances with every use. For None, the
operating system provides a new seed; the global state of `numpy.random` is neither read nor
changed.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

import dempster._validation as rule
from dempster._errors import InvalidParameterError

_MAX_SEED = np.iinfo(np.int32).max


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy Generator; a Generator is returned unchanged."""
    _check(random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(_MAX_SEED)
    return np.random.default_rng(random_state)


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Return a NumPy RandomState, which scikit-learn requires.

    A RandomState is returned unchanged.
    """
    _check(random_state)
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, Integral) and int(random_state) >= 2**32:
        expected = f"at most {2**32 - 1} if it is an integer"
        raise InvalidParameterError("random_state", expected, random_state)
    return np.random.RandomState(random_state)


def as_seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a NumPy SeedSequence, from which parallel tasks can create independent generators."""
    _check(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(_MAX_SEED))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    return np.random.SeedSequence(None if random_state is None else int(random_state))


def as_integer_seed(random_state: Any) -> int:
    """Return an integer seed; an integer is returned unchanged."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_MAX_SEED))
    numbers = as_random_state(random_state)
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(numbers.randint(_MAX_SEED))


def _check(random_state: Any) -> None:
    rule.check(random_state, "random_state", rule.seed)
