"""Rules: a selection as ranges of a few attributes that can be repeated, "petal width from 1.4 to 1.7"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.map import to_plain

if TYPE_CHECKING:
    import pandas as pd


MAX_CONDITIONS = 3
MIN_GAIN = 0.02  # of the balance of precision and recall, that another condition must bring
_TRIMMED = (0.0, 0.02, 0.05, 0.1)  # shares of the selection that a range may leave out at each end
MAX_SAMPLE_ROWS = 50_000


@dataclass(frozen=True)
class Condition:
    """A column within a range, ends included."""

    column: str
    low: float
    high: float

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """(n,) whether each row is within the range; missing cells are not."""
        if self.column not in table.columns or table[self.column].dtype.kind not in "iufb":
            raise InvalidInputError(f"there is no column of numbers '{self.column}'")
        values = table[self.column].to_numpy(dtype=float, na_value=np.nan)
        return (values >= self.low) & (values <= self.high)

    def to_text(self) -> str:
        return f"{self.column} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Rule:
    """Conditions that all hold."""

    conditions: tuple[Condition, ...]

    @classmethod
    def read(cls, content: Any) -> Rule:
        """From what the page sends."""
        try:
            found = [Condition(str(one["column"]), float(one["low"]), float(one["high"])) for one in content]
        except (TypeError, KeyError, ValueError) as error:
            raise InvalidInputError("a rule is a list of columns with a lowest and a highest value") from error
        if not found or not all(np.isfinite([one.low, one.high]).all() and one.low <= one.high for one in found):
            raise InvalidInputError("each condition of a rule needs a lowest value that is not above the highest")
        return cls(tuple(found))

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """(n,) for which rows it holds."""
        return np.logical_and.reduce([condition.holds(table) for condition in self.conditions])

    def to_text(self) -> str:
        return " and ".join(condition.to_text() for condition in self.conditions)

    def describe(self) -> dict[str, Any]:
        conditions = [{"column": c.column, "low": c.low, "high": c.high} for c in self.conditions]
        return to_plain({"text": self.to_text(), "conditions": conditions})


def fit_rule(table: pd.DataFrame, chosen: np.ndarray) -> Rule:
    """The rule of a few ranges that comes nearest to a selection.

    Conditions are added one at a time, the one that helps most, as long as the harmonic mean of precision and recall
    rises. Ends of ranges lie half-way to the next value outside and are rounded as far as nothing changes.
    """
    columns = [name for name in table.columns if table[name].dtype.kind in "iuf"]
    if not chosen.any():
        raise InvalidInputError("nothing is selected")
    if not columns:
        raise InvalidInputError("the table has no column of numbers")
    everyone = {name: table[name].to_numpy(dtype=float, na_value=np.nan) for name in columns}
    some = _sample(chosen)
    data = {name: values[some] for name, values in everyone.items()}
    target = chosen[some]
    found: list[Condition] = []
    kept, best = np.ones(len(target), dtype=bool), 0.0
    while len(found) < MAX_CONDITIONS:
        options = [
            (_balance(kept & (values >= low) & (values <= high), target), name, low, high)
            for name, values in data.items()
            for low, high in _ranges(values, kept & target)
        ]
        if not options:
            break
        score, name, low, high = max(options, key=lambda option: option[0])
        if score < best + (MIN_GAIN if found else 0):
            break
        found.append(Condition(str(name), *_rounded(everyone[name], low, high)))
        kept, best = kept & (data[name] >= low) & (data[name] <= high), score
    if not found:
        raise InvalidInputError("no range of an attribute describes this selection")
    return Rule(tuple(_merged(found)))


def _sample(chosen: np.ndarray) -> np.ndarray:
    if len(chosen) <= MAX_SAMPLE_ROWS:
        return np.arange(len(chosen))
    rng = np.random.default_rng(0)
    some = rng.choice(len(chosen), MAX_SAMPLE_ROWS, replace=False)
    inside = np.flatnonzero(chosen)
    return np.union1d(
        some, inside if len(inside) <= MAX_SAMPLE_ROWS else rng.choice(inside, MAX_SAMPLE_ROWS, replace=False)
    )


def _ranges(values: np.ndarray, inside: np.ndarray) -> list[tuple[float, float]]:
    ours = values[inside]
    ours = ours[np.isfinite(ours)]
    if not len(ours):
        return []
    ends = [(float(np.quantile(ours, t)), float(np.quantile(ours, 1 - t))) for t in _TRIMMED]
    return list(dict.fromkeys(ends))


def _balance(kept: np.ndarray, target: np.ndarray) -> float:
    """Harmonic mean of precision and recall."""
    both = int((kept & target).sum())
    return 2 * both / max(int(kept.sum()) + int(target.sum()), 1)


def _rounded(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Ends with as few digits as leave the same objects inside."""
    inside = (values >= low) & (values <= high)
    finite = values[np.isfinite(values)]
    below, above = finite[finite < low], finite[finite > high]
    first = float(below.max()) if len(below) else -np.inf
    last = float(above.min()) if len(above) else np.inf
    least, most = float(values[inside].min()), float(values[inside].max())
    return _shortest(least, first, -1), _shortest(most, last, 1)


def _shortest(end: float, limit: float, direction: int) -> float:
    """The number of fewest digits from the end of a range to the next value outside, which stays outside."""
    for digits in range(1, 17):
        unit = 10.0 ** (np.floor(np.log10(abs(end))) - digits + 1) if end else 1.0
        number = float(f"{(np.floor if direction < 0 else np.ceil)(round(end / unit, 9)) * unit:.15g}")
        beyond = number <= limit if direction < 0 else number >= limit
        if not beyond and (number <= end if direction < 0 else number >= end):
            return number
    return end


def _merged(found: list[Condition]) -> list[Condition]:
    """One condition a column."""
    ranges: dict[str, tuple[float, float]] = {}
    for one in found:
        low, high = ranges.get(one.column, (-np.inf, np.inf))
        ranges[one.column] = (max(low, one.low), min(high, one.high))
    return [Condition(name, *ends) for name, ends in ranges.items()]
