"""Claims of the paper about Figures 23 to 26, checked against our results."""

from __future__ import annotations

from collections.abc import Iterator

from reproduce.nn_evclus.planes import Dominance
from reproduce.runner import Run

BOOTCLUS_AHEAD = ("Wine", "Ecoli", "Seeds", "Leaves5p1")
NOT_DOMINATED_ON_HEART = ("BootClus", "EVCLUS", "NN-EVCLUS", "NN-EVCLUS-bp", "CCM-bp")
# Data, dominating methods, dominated methods.
DOMINATES = [
    ("Letters4p1", ["NN-EVCLUS"], ["BootClus"]),
    ("Heart", ["BootClus", "EVCLUS"], ["sECMdd"]),  # printed: EMMdd
    ("Heart", ["NN-EVCLUS-bp"], ["CCM"]),  # printed: EVCLUS-bp
    ("Protein", ["EVCLUS", "NN-EVCLUS"], ["sECMdd", "wECMdd"]),
]


def table_of_claims(run: Run, columns: dict[str, Dominance]) -> None:
    """Append a table with a row for each claim whose data and methods are available.

    The first column states whether the claim holds, or the exceptions; the others the number of
    cases where it holds.
    """
    rows = []
    for statements in zip(
        *(_statements(above) for above in columns.values()), strict=True
    ):
        claim, total, exceptions = statements[0]
        counts = [
            f"{total - len(others)} of {total}" for _, _, others in statements[1:]
        ]
        rows.append([claim, _verdict(total, exceptions), *counts])
    if rows:
        head = [["the paper", *columns], ["---"] * (1 + len(columns))]
        run.text("\n".join(f"| {' | '.join(row)} |" for row in head + rows))


def _verdict(total: int, exceptions: list[str]) -> str:
    if exceptions:
        return f"{total - len(exceptions)} of {total}; not: {'; '.join(exceptions)}"
    return "holds"


def _statements(above: Dominance) -> Iterator[tuple[str, int, list[str]]]:
    """Yield each claim of the paper, its number of cases and the exceptions."""
    for name in ("NN-EVCLUS", "NN-EVCLUS-bp"):
        there = {data: others[name] for data, others in above.items() if name in others}
        ahead = {
            data: others for data, others in there.items() if data in BOOTCLUS_AHEAD
        }
        if ahead:
            claim = f"{name} is dominated by BootClus, and by no other, on {', '.join(ahead)}"
            yield (
                claim,
                len(ahead),
                [
                    _dominated(*case)
                    for case in ahead.items()
                    if case[1] != ["BootClus"]
                ],
            )
        free = {
            data: others for data, others in there.items() if data not in BOOTCLUS_AHEAD
        }
        if free:
            claim = f"{name} is dominated by none on the other data"
            yield (
                claim,
                len(free),
                [_dominated(*case) for case in free.items() if case[1]],
            )
    for data, stronger, weaker in DOMINATES:
        pairs = [
            (s, w)
            for s in stronger
            for w in weaker
            if {s, w} <= set(above.get(data, {}))
        ]
        if pairs:
            names = [list(dict.fromkeys(pair[k] for pair in pairs)) for k in (0, 1)]
            if len(names[0]) == 1:
                verb = "dominates"
            else:
                verb = "dominate"
            claim = f"{data}: {' and '.join(names[0])} {verb} {' and '.join(names[1])}"
            yield (
                claim,
                len(pairs),
                [f"{s} over {w}" for s, w in pairs if s not in above[data][w]],
            )
    heart = {
        name: above["Heart"][name]
        for name in NOT_DOMINATED_ON_HEART
        if name in above.get("Heart", {})
    }
    if heart:
        claim = f"Heart: {', '.join(heart)} are not dominated"
        yield (
            claim,
            len(heart),
            [_dominated(*case) for case in heart.items() if case[1]],
        )


def _dominated(what: str, others: list[str]) -> str:
    return f"{what} (by {', '.join(others) or 'none'})"
