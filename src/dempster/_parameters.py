"""One declarative table of parameters per estimator, checked in one place.

A table maps each parameter to a rule; `check_parameters` raises a ValueError that names the parameter, what it must be
and what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._scale import LARGEST, SMALLEST

_MOST = 2**31 - 1  # what any number of things may be
_MOST_REPETITIONS = 100_000  # of a fit
_MOST_ITERATIONS = 100_000_000
_MOST_LISTED = 10_000_000  # things that an argument holds; an endless iterator holds more

__all__ = [
    "Rule",
    "integer",
    "repetitions",
    "iterations",
    "real",
    "choice",
    "flag",
    "verbosity",
    "kind",
    "array",
    "seed",
    "n_jobs",
    "check",
    "check_flags",
    "check_choice",
    "check_parameters",
    "listed",
    "is_estimator",
    "is_integer",
    "is_number",
    "plain_number",
    "hashable",
    "told",
    "names",
    "texts",
    "shown",
]


@dataclass(frozen=True)
class Rule:
    """What a parameter must be: words for people, and a test. Rules are joined by ``|``."""

    words: str
    test: Callable[[Any], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(f"{self.words} or {other.words}", lambda value: self.test(value) or other.test(value))


def is_integer(value: Any) -> bool:
    """A whole number: no truth value, and no span of time, which NumPy counts among the integers."""
    plain = type(value) is int  # which is told in no time
    return plain or (isinstance(value, Integral) and not isinstance(value, bool | np.bool_ | np.timedelta64))


def is_number(value: Any) -> bool:
    """A number that kernels can calculate with: fractions, long doubles and whole numbers beyond 64 bits would spoil
    the arrays that they meet, and numbers of half precision lose what is calculated with them."""
    if is_integer(value):
        return abs(int(value)) < 2**63
    return isinstance(value, float | np.floating) and not isinstance(value, np.longdouble | np.float16)


def plain_number(value: Any) -> Any:
    """A number of NumPy that a parameter may be as one of Python; anything else as it is."""
    return value.item() if isinstance(value, np.number) and is_number(value) else value


def is_estimator(value: Any) -> bool:
    """An estimator of scikit-learn: an instance, no class."""
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "get_params")


def integer(low: int) -> Rule:
    return Rule(f"an integer of at least {low}", lambda v: is_integer(v) and low <= int(v) <= _MOST)


def repetitions(low: int = 1) -> Rule:
    """How often something as long as a fit is done."""
    words = f"an integer of at least {low} and at most {_MOST_REPETITIONS:,}"
    return Rule(words, lambda v: is_integer(v) and low <= int(v) <= _MOST_REPETITIONS)


def iterations() -> Rule:
    """Of a descent, whose history is kept."""
    words = f"an integer of at least 1 and at most {_MOST_ITERATIONS:,}"
    return Rule(words, lambda v: is_integer(v) and 1 <= int(v) <= _MOST_ITERATIONS)


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False, open_high: bool = False) -> Rule:
    """A number between two bounds, whose square stays in the range of floating-point numbers (`dempster._scale`)."""
    left = "above" if open_low else "of at least"
    words = "a number" if low == -np.inf else f"a number {left} {low:g}"
    if high < np.inf:
        words += f" and {'below' if open_high else 'at most'} {high:g}"

    def test(v: Any) -> bool:
        if not is_number(v):
            return False
        number = float(v)
        if not abs(number) <= LARGEST:
            return False
        if open_low and low == 0 and 0 < number < SMALLEST:
            return False
        return (number > low if open_low else number >= low) and (number < high if open_high else number <= high)

    return Rule(words, test)


def choice(*options: Any) -> Rule:
    *most, last = map(repr, options)
    return Rule(
        f"{', '.join(most)} or {last}" if most else last,
        lambda v: v is None if options == (None,) else any(_same_word(v, o) for o in options),
    )


def _same_word(value: Any, option: Any) -> bool:
    """The same value of the same type; text of NumPy is text."""
    alike = isinstance(value, str) if isinstance(option, str) else type(value) is type(option)
    return alike and bool(value == option)


flag = Rule("True or False", lambda v: isinstance(v, bool | np.bool_) or (is_integer(v) and int(v) in (0, 1)))

verbosity = Rule("True, False or an integer of at least 0", lambda v: flag.test(v) or integer(0).test(v))


def kind(*types: type, words: str | None = None) -> Rule:
    return Rule(words or " or ".join(f"a {t.__name__}" for t in types), lambda v: isinstance(v, types))


def _is_array(value: Any) -> bool:
    try:
        return not isinstance(value, str) and hasattr(value, "__len__") and np.ndim(value) >= 1
    except Exception:  # rows of several lengths, and whatever else NumPy cannot read
        return False


array = Rule("an array", _is_array)

hashable = Rule("a name that can be told apart (text, a number, a tuple)", lambda v: _is_hashable(v))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # of an object that cannot be told apart
        return False
    return True


told = Rule("None or a function of one text", lambda v: v is None or callable(v))

seed = Rule(
    "None, an integer of at least 0, or a numpy RandomState or Generator",
    lambda v: v is None or (is_integer(v) and v >= 0) or isinstance(v, np.random.RandomState | np.random.Generator),
)

n_jobs = choice(None) | Rule("a nonzero integer", lambda v: is_integer(v) and v != 0 and abs(int(v)) <= _MOST)


def check_parameters(owner: object, rules: Mapping[str, Rule]) -> None:
    """Check the attributes of an estimator against its table."""
    for name, rule in rules.items():
        check(getattr(owner, name), name, rule)


def check(value: Any, name: str, rule: Rule) -> None:
    """Refuse an argument of a function that does not obey its rule."""
    if not rule.test(value):
        raise InvalidInputError(f"{name} must be {rule.words}{_range_of(value)}, got {shown(value)}")


def check_flags(**flags: Any) -> None:
    """Refuse arguments that are neither true nor false, given by their names."""
    for name, value in flags.items():
        check(value, name, flag)


def check_choice(value: Any, name: str, options: Iterable[str]) -> None:
    """Refuse a word that is none of the options."""
    words = [repr(option) for option in options]
    several = f"one of {', '.join(words)}" if len(words) > 2 else " or ".join(words)
    check(value, name, Rule(several, choice(*options).test))


def listed(values: Any, name: str, what: str) -> list[Any]:
    """A list of what an argument holds; refuses what holds nothing, as numbers, and text."""
    if not isinstance(values, str | bytes | Mapping):
        try:
            found = list(islice(values, _MOST_LISTED + 1))
        except Exception:  # of what cannot be gone through, or says it is longer than any list
            found = None
        if found is not None and len(found) > _MOST_LISTED:
            raise InvalidInputError(f"{name} must hold {what}, at most {_MOST_LISTED:,} of them, got {shown(values)}")
        if found is not None:
            return found
    raise InvalidInputError(f"{name} must hold {what}, got {shown(values)}")


def names(values: Any, name: str, what: str) -> tuple[str, ...]:
    """Names that an argument holds, or the one that it is."""
    found = (values,) if isinstance(values, str) else tuple(listed(values, name, what))
    odd = [value for value in found if not isinstance(value, str | Integral)]
    if odd:
        raise InvalidInputError(f"{name} must hold {what}, got {shown(odd[0])} among them")
    return tuple(map(str, found))


def texts(values: Any, name: str, what: str) -> list[str]:
    """Names of any kind that an argument holds, as text; rows of a table are none."""
    found = listed(values, name, what)
    for value in found:
        if not hashable.test(value):
            raise InvalidInputError(f"{name} must hold {what}, got {shown(value)} among them")
    return list(map(str, found))


def shown(value: Any) -> str:
    """An argument in an error: cut where it is long, and told by its type where it cannot say what it is."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # that of an object which cannot say what it is
        text = f"an object of the type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _range_of(value: Any) -> str:
    """What more must be said of numbers that no method can work with."""
    if is_integer(value) and abs(int(value)) > _MOST:
        return f" (and at most {_MOST:,})"
    if isinstance(value, float | np.floating) and (abs(float(value)) > LARGEST or 0 < abs(float(value)) < SMALLEST):
        return f" (and its size from {SMALLEST:g} to {LARGEST:g})"
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_) and not is_number(value):
        return f" (of a type that arrays can hold, as float is and {type(value).__name__} is not)"
    return ""
