"""One declarative table of parameters per estimator, checked in one place.

A table maps each parameter to a rule; `check_parameters` raises a ValueError that names the parameter, what it must be
and what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from evidentia._scale import LARGEST, SMALLEST

_MOST = 2**31 - 1  # what any number of things may be

__all__ = ["Rule", "integer", "real", "choice", "flag", "kind", "array", "seed", "n_jobs", "check_parameters"]


@dataclass(frozen=True)
class Rule:
    """What a parameter must be: words for people, and a test. Rules are joined by ``|``."""

    words: str
    test: Callable[[Any], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(f"{self.words} or {other.words}", lambda value: self.test(value) or other.test(value))


def integer(low: int) -> Rule:
    return Rule(
        f"an integer of at least {low}",
        lambda v: isinstance(v, Integral) and not isinstance(v, bool | np.bool_) and low <= int(v) <= _MOST,
    )


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False, open_high: bool = False) -> Rule:
    """A number between two bounds, whose square stays in the range of floating-point numbers (`evidentia._scale`)."""
    left = "above" if open_low else "of at least"
    words = "a number" if low == -np.inf else f"a number {left} {low:g}"
    if high < np.inf:
        words += f" and {'below' if open_high else 'at most'} {high:g}"

    def test(v: Any) -> bool:
        if not isinstance(v, Real) or isinstance(v, bool | np.bool_):
            return False
        try:
            number = float(v)
        except OverflowError:
            return False
        if not abs(number) <= LARGEST:
            return False
        if open_low and low == 0 and 0 < number < SMALLEST:
            return False
        return (number > low if open_low else number >= low) and (number < high if open_high else number <= high)

    return Rule(words, test)


def choice(*options: Any) -> Rule:
    return Rule(
        " or ".join(repr(o) for o in options),
        lambda v: v is None if options == (None,) else any(type(v) is type(o) and v == o for o in options),
    )


flag = Rule("True or False", lambda v: isinstance(v, bool | np.bool_ | Integral))


def kind(*types: type, words: str | None = None) -> Rule:
    return Rule(words or " or ".join(f"a {t.__name__}" for t in types), lambda v: isinstance(v, types))


array = Rule("an array", lambda v: not isinstance(v, str) and hasattr(v, "__len__") and np.ndim(v) >= 1)

seed = Rule(
    "None, an integer, or a numpy RandomState or Generator",
    lambda v: v is None or isinstance(v, Integral | np.random.RandomState | np.random.Generator),
)

n_jobs = choice(None) | Rule(
    "a nonzero integer", lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool) and v != 0
)


def check_parameters(owner: object, rules: Mapping[str, Rule]) -> None:
    """Check the attributes of an estimator against its table."""
    for name, rule in rules.items():
        value = getattr(owner, name)
        if not rule.test(value):
            shown = repr(value)
            shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
            raise ValueError(f"{name} must be {rule.words}{_range_of(value)}, got {shown}")


def _range_of(value: Any) -> str:
    """What more must be said of numbers that no method can work with."""
    if isinstance(value, Integral) and abs(int(value)) > _MOST:
        return f" (and at most {_MOST:,})"
    if isinstance(value, float | np.floating) and (abs(float(value)) > LARGEST or 0 < abs(float(value)) < SMALLEST):
        return f" (and its size from {SMALLEST:g} to {LARGEST:g})"
    return ""
