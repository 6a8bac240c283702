"""What may be given as ``random_state``, in the form that a method draws from.

Everywhere in the package a random state is None, an integer, a numpy RandomState or a numpy Generator. An integer gives
the same numbers whenever it is used; the other two go on from where they are, so each use draws from them. None draws
anew every time: the state of `numpy.random`, which belongs to the whole program, is neither read nor moved.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError

_LARGEST = np.iinfo(np.int32).max


def generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator; a given one itself."""
    _check(random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(_LARGEST)
    return np.random.default_rng(random_state)


def as_random_state(random_state: Any) -> np.random.RandomState:
    """A RandomState, which is what scikit-learn draws from; a given one itself."""
    if type(random_state) is not int or not 0 <= random_state < 2**32:
        _check(random_state, below=2**32)
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**31))
    return random_state if isinstance(random_state, np.random.RandomState) else np.random.RandomState(random_state)


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """A SeedSequence, for tasks that each need a stream of their own."""
    _check(random_state)
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(_LARGEST))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    return np.random.SeedSequence(None if random_state is None else int(random_state))


def seed_number(random_state: Any) -> int:
    """A number that every method takes as a seed: a given one as it is, else drawn."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_LARGEST))
    numbers = as_random_state(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(numbers.randint(_LARGEST))


def _check(random_state: Any, below: float = np.inf) -> None:
    if not rule.seed.test(random_state):
        raise InvalidInputError(f"random_state must be {rule.seed.words}, got {rule.shown(random_state)}")
    if isinstance(random_state, Integral) and int(random_state) >= below:
        most = int(below) - 1
        raise InvalidInputError(f"random_state must be at most {most} when it is an integer, got {random_state}")
