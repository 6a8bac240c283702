"""Store selections of objects, compare them with other objects, and describe them by rules.

A rule is a conjunction of ranges of a few attributes. A selection is stored as rows of the table,
so it is valid for all runs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.apps.map import pack
from dempster.apps.studio.errors import BadRequestError
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.routing import parse_integer, route, run_route
from dempster.apps.studio.sessions import Run, Session
from dempster.data.blocks import sample_rows

MAX_RULES = 50
MAX_CONDITIONS = 3
MAX_SAMPLE_ROWS = 50_000
MAX_PROFILED_OBJECTS = 100_000
MAX_PROFILED_ATTRIBUTES = 12
MIN_GAIN = 0.02  # minimum increase of the F-score by another condition
# shares of the selection that a range may exclude at each end
_TRIMMED_SHARES = (0.0, 0.02, 0.05, 0.1)

# ---- rules ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """Condition that the values of a column are in the closed range from ``low`` to ``high``."""

    column: str
    low: float
    high: float

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """Return a boolean array of whether the value of each row is in the range.

        Missing values give False.
        """
        if (
            self.column not in table.columns
            or table[self.column].dtype.kind not in "iufb"
        ):
            raise InvalidInputError(f"there is no numeric column '{self.column}'")
        values = table[self.column].to_numpy(dtype=float, na_value=np.nan)
        return (values >= self.low) & (values <= self.high)


@dataclass(frozen=True)
class Rule:
    """Conjunction of conditions."""

    conditions: tuple[Condition, ...]

    @classmethod
    def from_json(cls, content: Any) -> Rule:
        """Parse the list of conditions that the page sends."""
        try:
            conditions = [
                Condition(str(one["column"]), float(one["low"]), float(one["high"]))
                for one in content
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise BadRequestError(
                "a condition has a column and the numbers low and high"
            ) from error
        if not all(one.low <= one.high for one in conditions):
            raise InvalidParameterError(
                "conditions", "ranges with low <= high", content
            )
        return cls(tuple(conditions))

    def holds(self, table: pd.DataFrame) -> np.ndarray:
        """Return a boolean array of whether all conditions hold for each row."""
        return np.logical_and.reduce(
            [condition.holds(table) for condition in self.conditions]
        )

    def describe(self) -> Json:
        """Return a text such as "petal width from 1.4 to 1.7", and the conditions."""
        texts = [
            f"{one.column} from {one.low:g} to {one.high:g}" for one in self.conditions
        ]
        conditions = [asdict(one) for one in self.conditions]
        return {"text": " and ".join(texts), "conditions": conditions}


def fit_rule(table: pd.DataFrame, selected: np.ndarray) -> Rule:
    """Return a rule with at most three conditions that describes a selection well.

    Conditions are added greedily as long as the F-score (harmonic mean of precision and recall)
    increases. The ends of a range are rounded to as few digits as possible such that the same rows
    remain inside.
    """
    names = [name for name in table.columns if table[name].dtype.kind in "iuf"]
    if not selected.any():
        raise InvalidInputError("nothing is selected")
    if not names:
        raise InvalidInputError("the table has no numeric column")
    columns = {
        name: table[name].to_numpy(dtype=float, na_value=np.nan) for name in names
    }
    sample = _sample_rows(selected)
    data = {name: values[sample] for name, values in columns.items()}
    target = selected[sample]
    ranges: dict[str, tuple[float, float]] = {}
    is_inside = np.ones(len(target), bool)
    best = 0.0
    for step in range(MAX_CONDITIONS):
        candidates = [
            (
                _f_score(is_inside & (values >= low) & (values <= high), target),
                name,
                low,
                high,
            )
            for name, values in data.items()
            for low, high in _candidate_ranges(values[is_inside & target])
        ]
        if not candidates:
            break
        score, name, low, high = max(candidates, key=lambda one: one[0])
        if step and score < best + MIN_GAIN:
            break
        ends = _round_range(columns[name], low, high)
        previous = ranges.get(name, (-np.inf, np.inf))
        ranges[name] = (max(previous[0], ends[0]), min(previous[1], ends[1]))
        is_inside = is_inside & (data[name] >= low) & (data[name] <= high)
        best = score
    if not ranges:
        raise InvalidInputError("no range of an attribute describes this selection")
    return Rule(tuple(Condition(str(name), *ends) for name, ends in ranges.items()))


def _sample_rows(selected: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = sample_rows(len(selected), MAX_SAMPLE_ROWS, rng)
    inside = np.flatnonzero(selected)
    return np.union1d(rows, inside[sample_rows(len(inside), MAX_SAMPLE_ROWS, rng)])


def _candidate_ranges(values: np.ndarray) -> list[tuple[float, float]]:
    values = values[np.isfinite(values)]
    if not len(values):
        return []
    low = np.quantile(values, _TRIMMED_SHARES).tolist()
    high = np.quantile(values, 1 - np.array(_TRIMMED_SHARES)).tolist()
    return list(dict.fromkeys(zip(low, high, strict=True)))


def _f_score(predicted: np.ndarray, target: np.ndarray) -> float:
    return 2 * (predicted & target).sum() / max(predicted.sum() + target.sum(), 1)


def _round_range(values: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """Round both ends to as few digits as possible such that the same values remain inside."""
    inside = values[(values >= low) & (values <= high)]
    below = values[values < low]
    above = values[values > high]
    last_below = below.max(initial=-np.inf)
    first_above = above.min(initial=np.inf)
    low = _round_end(float(inside.min()), last_below, -1)
    return low, _round_end(float(inside.max()), first_above, 1)


def _round_end(end: float, limit: float, direction: int) -> float:
    """Return the number with the fewest digits from the end of a range to a limit (excluded)."""
    if not end:
        return end
    round_outwards = np.floor if direction < 0 else np.ceil
    for digits in range(1, 17):
        unit = 10.0 ** (np.floor(np.log10(abs(end))) - digits + 1)
        number = float(f"{round_outwards(round(end / unit, 9)) * unit:.15g}")
        if direction * end <= direction * number < direction * limit:
            return number
    return end


# ---- responses -----------------------------------------------------------------------------------


def _select(session: Session, params: Json) -> Json:
    """Store a selection (one byte for each object of a run), and compare it with the rest."""
    run = session.get_run(params["run"])
    mask = np.frombuffer(params.get("bytes", b""), dtype=np.uint8) > 0
    if len(mask) != len(run):
        raise InvalidInputError(
            f"a selection must have one byte for each of the {len(run)} objects, got {len(mask)}"
        )
    selection = np.zeros(len(session.get_source().table), bool)
    selection[run.rows] = mask
    session.selection = selection
    return {"n": mask.sum(), "attributes": _compare_with_rest(run, mask)}


def _compare_with_rest(run: Run, selected: np.ndarray) -> list[Any]:
    """Compare the attributes of selected and remaining objects.

    Sort the attributes by decreasing difference.
    """
    sample = sample_rows(len(run), MAX_PROFILED_OBJECTS, 0)
    inside = selected[sample]
    numbers = run.attributes.iloc[sample].select_dtypes(["number", "bool"])
    numbers = numbers.astype(float)
    ours = numbers[inside]
    table = pd.DataFrame(
        {
            "mean": ours.mean(),
            "rest": numbers[~inside].mean(),
            "low": ours.min(),
            "high": ours.max(),
        }
    ).dropna()
    spread = numbers.std(ddof=0).replace(0, 1)
    difference = ((table["mean"] - table["rest"]) / spread[table.index]).abs()
    order = np.argsort(-difference, kind="stable")[:MAX_PROFILED_ATTRIBUTES]
    return table.iloc[order].rename_axis("name").reset_index().to_dict("records")


def _get_selection(session: Session, params: Json) -> bytes:
    selected = _selected_objects(session, session.get_run(params["run"]))
    return pack({"mask": selected.astype(np.uint8)})


def _selected_objects(session: Session, run: Run) -> np.ndarray:
    if session.selection is None:
        return np.zeros(len(run), bool)
    return session.selection[run.rows]


def _fit_rule(session: Session, params: Json) -> Json:
    """Fit a rule to the selection, and return it with the numbers of objects for which it holds."""
    run = session.get_run(params["run"])
    selected = _selected_objects(session, run)
    rule = fit_rule(run.attributes, selected)
    holds = rule.holds(run.table)
    counts = {
        "holds": holds.sum(),
        "hits": (holds & selected).sum(),
        "selected": selected.sum(),
    }
    return rule.describe() | counts


def _apply_rule(run: Run, params: Json) -> bytes:
    """Return a packed mask of the objects for which a rule holds, and their number."""
    holds = Rule.from_json(json.loads(params["conditions"])).holds(run.table)
    return pack({"mask": holds.astype(np.uint8)}, n=int(holds.sum()))


def _store_rule(session: Session, params: Json) -> Json:
    rule = Rule.from_json(params["conditions"])
    # This raises an error if a column does not exist.
    rule.holds(session.get_source().table.head(1))
    with session.lock:
        if rule.describe() not in session.rules:
            session.rules = [*session.rules, rule.describe()][-MAX_RULES:]
        return {"rules": session.rules}


def _delete_rule(session: Session, params: Json) -> Json:
    k = parse_integer(params, "rule")
    with session.lock:
        session.remember("deleted a rule", {"rules": session.rules})
        session.rules = [rule for i, rule in enumerate(session.rules) if i != k]
        return {"rules": session.rules}


ROUTES = [
    route("/runs/{run}/selection", _select, "PUT"),
    route("/runs/{run}/selection", _get_selection),
    route("/runs/{run}/rule", _fit_rule, "POST"),
    run_route("/rule/objects", _apply_rule),
    route("/rules", _store_rule, "POST"),
    route("/rules/{rule}", _delete_rule, "DELETE"),
]
