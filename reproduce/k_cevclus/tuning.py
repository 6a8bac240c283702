"""Tables 2 and 3: the weight of the constraints and the scale of the dissimilarities."""

from __future__ import annotations

from math import sqrt
from statistics import fmean
from time import perf_counter
from typing import Any

from dempster.cluster import EVCLUS
from dempster.constraints import Constraints
from dempster.datasets import make_bananas
from reproduce.k_cevclus.settings import PAPER, SMALL, fit, measures, objects, warm_up
from reproduce.runner import Run, Summary, Table, experiment, summary

XI = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
QUANTILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
# Number of constraints: ARI and nonspecificity in hundredths for each data set, as printed.
TABLE_2 = {
    100: {
        "Banana_200": "38/17 48/16 59/14 70/12 69/10 70/9 73/8 69/7 70/7 73/8 75/8 69/8",
        "Glass": "63/21 78/19 79/17 80/14 80/13 79/11 82/11 83/11 82/10 77/9 78/10 81/11",
        "Iris": "75/11 86/8 87/6 89/4 90/3 89/3 89/3 90/3 90/3 88/3 89/3 88/4",
        "Ecoli": "79/16 85/13 86/10 87/9 86/9 87/9 87/10 86/9 86/10 85/10 85/10 84/9",
    },
    200: {
        "Banana_200": "38/17 51/15 61/14 77/12 86/10 90/9 90/7 90/6 92/5 92/4 91/4 92/4",
        "Glass": "60/20 77/19 83/18 91/14 92/12 92/10 92/9 94/8 94/7 93/6 92/6 94/6",
        "Iris": "76/11 87/8 93/6 97/3 95/2 96/2 97/1 97/1 97/1 96/1 97/1 96/1",
        "Ecoli": "79/16 87/13 89/11 90/8 91/6 91/5 91/5 91/5 93/5 92/5 91/5 93/6",
    },
}
TABLE_3 = {
    100: {
        "Banana_200": "94/33 93/31 92/27 86/23 84/21 84/17 79/13 74/9 74/8 69/26",
        "Glass": "23/38 31/36 46/31 89/28 87/23 86/16 82/11 80/11 84/11 76/27",
        "Iris": "57/23 91/20 93/16 95/10 91/5 91/3 83/3 65/5 68/7 66/20",
        "Ecoli": "27/45 46/40 71/34 80/27 83/20 83/15 83/11 85/9 86/9 84/25",
    },
    200: {
        "Banana_200": "99/21 97/19 97/17 97/15 95/13 94/12 94/10 91/7 90/7 81/24",
        "Glass": "85/28 86/25 96/22 95/19 96/16 92/12 94/10 94/9 91/9 92/21",
        "Iris": "93/9 97/8 98/5 99/4 98/2 96/1 97/2 92/3 88/6 87/21",
        "Ecoli": "24/22 46/20 73/18 82/14 87/12 88/9 89/6 91/5 90/5 89/20",
    },
}
CONVENTIONS = ("program", "paper")
# runs by data set, number of constraints and convention
Found = dict[tuple[str, int, str], list[dict[str, Any]]]
# Settings for the comparison with other samples of the Banana distribution: constraints, parameter,
# value.
DRAWN_AT = (
    (100, "xi", 0),
    (200, "xi", 0.2),
    (100, "d0_quantile", 0.6),
    (100, "d0_quantile", 1.0),
)


def printed(cells: str) -> list[tuple[float, float]]:
    """Parse ARI and nonspecificity of each cell of a column."""
    pairs = [cell.split("/") for cell in cells.split()]
    return [
        (int(index) / 100, int(nonspecificity) / 100) for index, nonspecificity in pairs
    ]


def column(
    name: str,
    count: int,
    convention: str,
    seed: int,
    parameter: str,
    values: list[float],
) -> dict[str, Any]:
    """Return ARI, nonspecificity and seconds for each value of a parameter, with the same constraints."""
    X, y = objects(name)
    warm_up(EVCLUS(2, n_jobs=1))
    known = Constraints.from_labels(y, count, random_state=seed)
    found = []
    for value in values:
        began = perf_counter()
        model = fit(name, X, known, seed, convention=convention, **{parameter: value})
        found.append(measures(model, y, began))
    return {
        key: [one[key] for one in found] for key in ("ari", "nonspecificity", "time")
    }


def other_draw(draw: int, n_runs: int) -> dict[str, Any]:
    """Return mean ARI and nonspecificity over runs for another sample of the Banana distribution."""
    X, y = make_bananas(200, random_state=draw)
    rows = []
    for count, parameter, value in DRAWN_AT:
        runs = []
        for seed in range(n_runs):
            known = Constraints.from_labels(y, count, random_state=seed)
            runs.append(
                measures(
                    fit("Banana_200", X, known, seed, **{parameter: value}),
                    y,
                    perf_counter(),
                )
            )
        rows.append(
            [
                fmean(one["ari"] for one in runs),
                fmean(one["nonspecificity"] for one in runs),
            ]
        )
    return {"rows": rows}


@experiment(PAPER, "Table 2", "the weight ξ of the constraints")
def table_2(run: Run) -> None:
    """All pairs (k = n - 1), single clusters and the frame, d0 at the 0.9 quantile of the distances (Iris: the
    0.6 quantile), new random constraints for each run. Attributes are not scaled (standardised
    attributes do not reproduce the rows without constraints). Glass: window glass against the other
    classes; Ecoli: cp, im, pp; Banana_200 is one sample, as in the paper, from seed 0.

    There are two conventions for the weight of the constraints. The formula of the paper divides ξ
    by twice the number of constraints; the published program uses four times that weight
    (`convention="program"`). The first table shows which convention agrees with the
    printed values. In the second table, columns marked "formula" follow the formula
    (`convention="paper"`).

    The paper averages ten runs, we average thirty (formula: five). The mean of ten runs has an
    uncertainty of 0.02 or more, and all rows of a column share their constraints, so a favorable
    random set would affect all rows. "Apart" is our value minus the paper's, in standard errors of
    the difference of the two means."""
    _experiment(run, "xi", "ξ", XI, TABLE_2)


@experiment(PAPER, "Table 3", "the scale d0")
def table_3(run: Run) -> None:
    """As Table 2, with ξ = 0.5 and d0 at a quantile of the distances.

    A small d0 puts most mass on the empty set, the
    largest d0 puts it on the frame. N* is smallest in between, near 0.9 (Iris: 0.6), as in the
    paper."""
    _experiment(run, "d0_quantile", "quantile", QUANTILES, TABLE_3)
    _other_draws(run)


def _experiment(
    run: Run,
    parameter: str,
    symbol: str,
    values: tuple[float, ...],
    paper: dict[int, Any],
) -> None:
    shared = {"parameter": parameter, "values": list(values)}
    runs = {"program": run.seeds(30, quick=2), "paper": run.seeds(5, quick=1)}
    cases = [
        (name, count, how) for count in paper for name in SMALL for how in CONVENTIONS
    ]
    arguments: list[dict[str, Any]] = [
        {"name": name, "count": count, "convention": how, "seed": seed, **shared}
        for name, count, how in cases
        for seed in runs[how]
    ]
    found: Found = {case: [] for case in cases}
    for keywords, result in zip(arguments, run.each(column, arguments), strict=True):
        found[keywords["name"], keywords["count"], keywords["convention"]].append(
            result
        )
    _agreement(run, found, paper)
    leading = (
        "constraints",
        symbol,
        "data",
        "N*, paper",
        "N*, ours",
        "N*, formula",
        "ARI, formula",
        "apart",
    )
    table = run.table(*leading, named=3)
    for count, columns in paper.items():
        for row, value in enumerate(values):
            for name in SMALL:
                _add_row(
                    table, (count, value, name), printed(columns[name])[row], row, found
                )


def _of_row(runs: list[dict[str, Any]], key: str, row: int) -> Summary:
    return summary([{key: one[key][row]} for one in runs], key)


def _agreement(run: Run, found: Found, paper: dict[int, Any]) -> None:
    """Append a table that shows which convention of the weight agrees with the printed values."""
    table = run.table(
        "data",
        "weight",
        "N*, mean difference",
        quantity="ARI, mean difference",
        short=None,
        form=".3f",
    )
    for name in SMALL:
        for how, words in zip(
            CONVENTIONS, ("as the program", "as the formula"), strict=True
        ):
            apart: dict[str, list[float]] = {"ari": [], "nonspecificity": []}
            for count, columns in paper.items():
                for row, figures in enumerate(printed(columns[name])):
                    for key, figure in zip(apart, figures, strict=True):
                        apart[key].append(
                            abs(
                                _of_row(found[name, count, how], key, row).mean - figure
                            )
                        )
            table.add(
                name,
                words,
                f"{fmean(apart['nonspecificity']):.3f}",
                ours=fmean(apart["ari"]),
            )


def _add_row(
    table: Table,
    place: tuple[int, float, str],
    paper: tuple[float, float],
    row: int,
    found: Found,
) -> None:
    count, value, name = place
    program, formula = (found[name, count, how] for how in CONVENTIONS)
    ours = _of_row(program, "ari", row)
    others = (
        _of_row(program, "nonspecificity", row),
        _of_row(formula, "nonspecificity", row),
    )
    error = ours.spread * sqrt(1 / 10 + 1 / ours.count)
    table.add(
        *place,
        f"{paper[1]:.2f}",
        *(f"{one.mean:.2f}" for one in (*others, _of_row(formula, "ari", row))),
        f"{(ours.mean - paper[0]) / error:+.1f}" if error > 0 else "",
        paper=paper[0],
        ours=ours,
        seconds=_of_row(program, "time", row).mean,
        why=_reason(table.columns[1], value, name),
    )


def _reason(symbol: str, value: float, name: str) -> str:
    """Return the reason for a value below the paper's."""
    if name.startswith("Banana"):
        return "the sample of the paper is not available, and samples differ by similar amounts (see below Table 3)."
    if symbol == "quantile" and value <= 0.2:
        return (
            "nearly all mass is on the empty set, and the labels depend on the small remaining mass. On Glass and Iris "
            "one or five random starts give the same result as five medoid starts."
        )
    return "random variation, as far as we can tell: about two standard errors or less."


def _other_draws(run: Run) -> None:
    """Append a table of the variation between samples of Banana_200."""
    draws = run.each(
        other_draw,
        [{"draw": s, "n_runs": run.choose(10, 2)} for s in run.seeds(10, quick=2)],
    )
    run.text(
        "Banana_200 is a random sample. The table shows ranges over other samples of the same distribution; each value "
        "is a mean over ten random sets of constraints:"
    )
    table = run.table(
        "constraints",
        "parameter",
        "N*, paper",
        "N*, range of ours",
        quantity="ARI",
        short=None,
    )
    for k, (count, parameter, value) in enumerate(DRAWN_AT):
        if parameter == "xi":
            printed_in = TABLE_2
            places: tuple[float, ...] = XI
        else:
            printed_in = TABLE_3
            places = QUANTILES
        index, nonspecificity = printed(printed_in[count]["Banana_200"])[
            places.index(value)
        ]
        found = [[one["rows"][k][j] for one in draws] for j in (0, 1)]
        ranges = [f"{min(values):.2f} to {max(values):.2f}" for values in found]
        if parameter == "xi":
            symbol = "ξ"
        else:
            symbol = "quantile"
        table.add(
            count,
            f"{symbol} = {value}",
            f"{nonspecificity:.2f}",
            ranges[1],
            paper=index,
            ours=ranges[0],
        )
