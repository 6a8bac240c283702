"""Operations on a million mass functions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, at_most, benchmark, memory, timings
from dempster import FocalSets, MassFunctions
from dempster.belief.combination import RULES
from dempster.belief.decisions import DECISION_RULES

_FRAME = 4
# with the empty set and the frame: ten sets
_SETS = FocalSets.with_pairs(_FRAME, [(0, 1), (1, 2), (2, 3), (0, 3)])
_CHECKED_ROWS = 20


@dataclass
class Inputs:
    """Two batches of mass functions with mass on all ten sets, and the first without the empty set."""

    first: MassFunctions
    second: MassFunctions
    first_normal: MassFunctions
    second_normal: MassFunctions

    def fresh(self) -> MassFunctions:
        """Return a copy of the first batch without cached results."""
        return copy.copy(self.first)


@cache
def _inputs(n: int) -> Inputs:
    rng = np.random.default_rng(0)
    first, second = (
        MassFunctions(rng.dirichlet(np.ones(len(_SETS)), n), _SETS) for _ in range(2)
    )
    return Inputs(first, second, first.normalize(), second.normalize())


# ---- definitions, read literally, for some rows --------------------------------------------------

Mass = dict[frozenset[int], float]
_WHOLE = frozenset(range(_FRAME))


def _as_dicts(m: MassFunctions) -> list[Mass]:
    sets = [frozenset(s) for s in m.focal_sets]
    return [
        dict(zip(sets, row.tolist(), strict=True)) for row in m.masses[:_CHECKED_ROWS]
    ]


def _moved(pairs: Any) -> Mass:
    """Return the sums of masses on the same set."""
    out: Mass = {}
    for target, value in pairs:
        out[target] = out.get(target, 0.0) + value
    return out


def _rescaled(m: Mass) -> Mass:
    total = sum(value for s, value in m.items() if s)
    return {s: value / total for s, value in m.items() if s}


def _joined(
    a: Mass, b: Mass, join: Callable[[frozenset[int], frozenset[int]], frozenset[int]]
) -> Mass:
    return _moved(
        (join(s, t), v * w) for (s, v), (t, w) in product(a.items(), b.items())
    )


_LITERAL_RULES: dict[str, Callable[[Mass, Mass], Mass]] = {
    "conjunctive": lambda a, b: _joined(a, b, frozenset.intersection),
    "disjunctive": lambda a, b: _joined(a, b, frozenset.union),
    "dempster": lambda a, b: _rescaled(_joined(a, b, frozenset.intersection)),
    "yager": lambda a, b: _joined(a, b, lambda s, t: (s & t) or _WHOLE),
    "dubois_prade": lambda a, b: _joined(a, b, lambda s, t: (s & t) or (s | t)),
    "average": lambda a, b: _moved((s, v / 2) for m in (a, b) for s, v in m.items()),
}


def _error(values: np.ndarray, literal: list[Any]) -> str:
    return f"error {np.abs(values[:_CHECKED_ROWS] - np.array(literal)).max():.0e}"


def _measure_error(
    value_of: Callable[[Mass, frozenset[int]], float],
) -> Callable[[np.ndarray, Inputs], str]:
    """Check a function of sets on the sets of the family."""
    sets = [frozenset(s) for s in _SETS]
    return lambda values, given: _error(
        values, [[value_of(m, s) for s in sets] for m in _as_dicts(given.first)]
    )


def _answer_error(
    value_of: Callable[[Mass, int], float],
) -> Callable[[np.ndarray, Inputs], str]:
    """Check a function of single answers."""
    return lambda values, given: _error(
        values,
        [[value_of(m, k) for k in range(_FRAME)] for m in _as_dicts(given.first)],
    )


def _row_error(
    value_of: Callable[[Mass, Mass], float],
) -> Callable[[np.ndarray, Inputs], str]:
    """Check a function of a pair of mass functions."""

    def check(values: np.ndarray, given: Inputs) -> str:
        return _error(
            values,
            [
                value_of(*pair)
                for pair in zip(
                    _as_dicts(given.first), _as_dicts(given.second), strict=True
                )
            ],
        )

    return check


def _mass_error(
    literal: Callable[[Mass, Mass], Mass],
) -> Callable[[MassFunctions, Inputs], str]:
    """Check an operation that returns mass functions."""

    def check(result: MassFunctions, given: Inputs) -> str:
        expected = [
            literal(*pair)
            for pair in zip(
                _as_dicts(given.first), _as_dicts(given.second), strict=True
            )
        ]
        found = _as_dicts(result)
        gaps = [
            abs(f.get(s, 0.0) - e.get(s, 0.0))
            for f, e in zip(found, expected, strict=True)
            for s in {*f, *e}
        ]
        return f"error {max(gaps):.0e}"

    return check


def _sum_error(result: MassFunctions, given: Inputs) -> str:
    return f"sums off by {np.abs(result.masses.sum(axis=1) - 1).max():.0e}, least mass {result.masses.min():.0e}"


def _agrees_with(
    scores: Callable[[MassFunctions], np.ndarray],
) -> Callable[[np.ndarray, Inputs], str]:
    """Check a decision with 0-1 losses: the answer with the largest score."""
    return lambda acts, given: (
        f"agreement {np.mean(acts == scores(given.first_normal).argmax(axis=1)):.1%}"
    )


def _jousselme(a: Mass, b: Mass) -> float:
    gap = {s: a[s] - b[s] for s in a}
    total = sum(
        gap[s] * gap[t] * (len(s & t) / len(s | t) if s | t else 1.0) for s, t in product(gap, gap)
    )  # fmt: skip
    return float(np.sqrt(total / 2))


# ---- the operations ------------------------------------------------------------------------------


@dataclass
class Operation:
    """Operation on the inputs with a check and description of its result."""

    call: Callable[[Inputs], Any]
    check: Callable[[Any, Inputs], str]


_EVENT = (0, 1)
_RATE = 0.2

_OPERATIONS: dict[str, Operation] = {
    "belief": Operation(
        lambda x: x.fresh().belief(),
        _measure_error(lambda m, a: sum(v for b, v in m.items() if b and b <= a)),
    ),
    "implicability": Operation(
        lambda x: x.fresh().implicability(),
        _measure_error(lambda m, a: sum(v for b, v in m.items() if b <= a)),
    ),
    "plausibility": Operation(
        lambda x: x.fresh().plausibility(),
        _measure_error(lambda m, a: sum(v for b, v in m.items() if b & a)),
    ),
    "commonality": Operation(
        lambda x: x.fresh().commonality(),
        _measure_error(lambda m, a: sum(v for b, v in m.items() if b >= a)),
    ),
    "pignistic": Operation(
        lambda x: x.fresh().pignistic(),
        _answer_error(
            lambda m, k: sum(v / len(b) for b, v in _rescaled(m).items() if k in b)
        ),
    ),
    "contour": Operation(
        lambda x: x.fresh().contour,
        _answer_error(lambda m, k: sum(v for b, v in m.items() if k in b)),
    ),
    "plausibility_transform": Operation(
        lambda x: x.fresh().plausibility_transform(),
        _answer_error(
            lambda m, k: (
                sum(v for b, v in m.items() if k in b)
                / sum(v * len(b) for b, v in m.items())
            ),
        ),
    ),
    "conflict": Operation(
        lambda x: x.fresh().conflict(x.second),
        _row_error(
            lambda a, b: sum(
                v * w for (s, v), (t, w) in product(a.items(), b.items()) if not s & t
            )
        ),
    ),
    "nonspecificity": Operation(
        lambda x: x.fresh().nonspecificity(),
        _row_error(
            lambda a, b: sum(v * np.log2(len(s) or _FRAME) for s, v in a.items())
        ),
    ),
    "distance, Jousselme": Operation(
        lambda x: x.fresh().distance(x.second), _row_error(_jousselme)
    ),
    "discount": Operation(
        lambda x: x.fresh().discount(_RATE),
        _mass_error(
            lambda a, b: _moved(
                [(_WHOLE, _RATE), *((s, v * (1 - _RATE)) for s, v in a.items())]
            )
        ),
    ),
    "condition": Operation(
        lambda x: x.fresh().condition(_EVENT),
        _mass_error(
            lambda a, b: _rescaled(_moved((s & set(_EVENT), v) for s, v in a.items()))
        ),
    ),
    "normalize, Dempster": Operation(
        lambda x: x.fresh().normalize(), _mass_error(lambda a, b: _rescaled(a))
    ),
    "normalize, Yager": Operation(
        lambda x: x.fresh().normalize("yager"),
        _mass_error(lambda a, b: _moved((s or _WHOLE, v) for s, v in a.items())),
    ),
    **{
        f"combine, {rule}": Operation(
            lambda x, rule=rule: x.fresh().combine(x.second, rule=rule),
            _mass_error(_LITERAL_RULES[rule]),
        )
        for rule in _LITERAL_RULES
    },
    "combine, pcr6": Operation(
        lambda x: copy.copy(x.first_normal).combine(x.second_normal, rule="pcr6"),
        _sum_error,
    ),
    "combine, cautious": Operation(
        lambda x: x.fresh().combine(x.second, rule="cautious"), _sum_error
    ),
    "combine, bold": Operation(
        lambda x: x.fresh().combine(x.second, rule="bold"), _sum_error
    ),
    **{
        f"decide, {rule}": Operation(lambda x, rule=rule: x.fresh().decide(rule), check)
        for rule, check in {
            "pignistic": _agrees_with(lambda m: m.pignistic()),
            "maximax": _agrees_with(lambda m: m.contour),
            "maximin": _agrees_with(lambda m: m.singleton_belief),
            "hurwicz": _agrees_with(lambda m: m.contour + m.singleton_belief),
            "interval_dominance": lambda kept, given: (
                f"{kept.sum(axis=1).mean():.2f} acts kept on average"
            ),
            "maximality": lambda kept, given: (
                f"{kept.sum(axis=1).mean():.2f} acts kept on average"
            ),
        }.items()
    },
    "decide_sets": Operation(
        lambda x: x.fresh().decide_sets(),
        lambda sets, given: f"{sets.sum(axis=1).mean():.2f} answers on average",
    ),
}

assert all(f"decide, {rule}" in _OPERATIONS for rule in DECISION_RULES), (
    "a decision rule has no benchmark"
)
assert all(f"combine, {rule}" in _OPERATIONS for rule in RULES), (
    "a combination rule has no benchmark"
)


def _operation(n: int, name: str) -> Task:
    given = _inputs(n)
    operation = _OPERATIONS[name]
    # Import and compute everything that is needed only once.
    operation.call(_inputs(1000))
    return Task(
        lambda: operation.call(given), lambda result: operation.check(result, given)
    )


@benchmark
def operations(quick: bool) -> list[Row]:
    """Measure every operation on n mass functions with ten focal sets."""
    if quick:
        n = 100_000
    else:
        n = 1_000_000
    measured = {name: memory(_operation, n, name) for name in _OPERATIONS}
    times = timings(
        [(_operation, n, name) for name in _OPERATIONS], rounds=3 if quick else 5
    )
    return [
        Row(
            name,
            f"{n:,} mass functions, {len(_SETS)} focal sets",
            seconds=timing.best,
            noise=timing.noise,
            peak_bytes=peak,
            quality=quality,
            **at_most(timing.best, 1, " s"),
        )
        for (name, (peak, quality)), timing in zip(measured.items(), times, strict=True)
    ]
