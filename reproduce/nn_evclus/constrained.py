"""Section 4.3: clustering with must-link and cannot-link constraints."""

from __future__ import annotations

from typing import Any

from reproduce.nn_evclus.butterfly import PAPER
from reproduce.nn_evclus.constrained_fits import DATA, constrained
from reproduce.runner import Run, experiment, summary

NUMBERS = [50, 100, 150, 200]
METHODS = ["CEVCLUS", "NN-EVCLUS", "CECM"]


def fits(run: Run) -> list[dict[str, Any]]:
    """Return the arguments of all fits: ten samples for the curves, fewer for the other variants."""
    draws = run.seeds(10)
    numbers = run.choose(NUMBERS, [100])
    grid = [
        {
            "data": data,
            "method": method,
            "adapted": adapted,
            "number": number,
            "seed": seed,
        }
        for data in ("Glass with row number", "Iris")
        for number in numbers
        for adapted in (False, True)
        for method in METHODS
        for seed in draws
    ]
    aside = [
        {
            "data": "Glass",
            "method": method,
            "adapted": adapted,
            "number": number,
            "seed": seed,
        }
        for number in run.choose([100, 200], [100])
        for adapted in (False, True)
        for method in METHODS
        for seed in run.seeds(5)
    ]
    other = [
        {**arguments, "convention": "paper"}
        for arguments in [*grid, *aside]
        if arguments["number"] == 100
        and arguments["seed"] < 5
        and arguments["data"] != "Glass"
        and not run.quick
    ]
    return [*grid, *aside, *other]


@experiment(PAPER, "Figures 27 and 28 and Table 8", "clustering with constraints")
def figures_27_and_28(run: Run) -> None:
    """The constraints are random pairs of objects, derived from their classes.

    CEVCLUS, NN-EVCLUS and CECM are fitted
    to the standardised attributes and with PCCA (5 features for Glass, 3 for Iris), ξ = 0.5, d0 at
    the 0.9 quantile, ten random sets of pairs. There are two conventions for the weight of the
    constraints: "program" (the published program, four times the published formula: NN-EVCLUS with
    ξ = 2 in the formula) and "paper". The paper shows its means only in figures, without numbers.
    It counts ten attributes for Glass, but the data have nine: the tenth is probably the row number
    of a file that is sorted by class. Both versions are shown. A table below counts how many of the
    paper's claims hold."""
    arguments = fits(run)
    results = run.each(constrained, arguments)
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for keywords, result in zip(arguments, results, strict=True):
        name = keywords["method"] + (" + PCCA" if keywords["adapted"] else "")
        key = (
            keywords["data"],
            keywords["number"],
            name,
            keywords.get("convention", "program"),
        )
        groups.setdefault(key, []).append(result)
    table = run.table("data", "constraints", "method", "weight", short=None)
    for (data, number, name, convention), found in groups.items():
        table.add(
            data,
            number,
            name,
            convention,
            ours=summary(found, "ari"),
            seconds=summary(found, "seconds").mean,
        )
    curves = {
        key: summary(found, "ari")
        for key, found in groups.items()
        if key[3] == "program"
    }
    _claims(run, curves)
    _seconds(run, groups)
    _draw(run, curves)


def _claims(run: Run, curves: dict[tuple[Any, ...], Any]) -> None:
    """Append a table of the claims of the paper."""
    lines = ["| claim of the paper | data | holds at |", "| --- | --- | --- |"]
    for data in dict.fromkeys(key[0] for key in curves):
        numbers = sorted({key[1] for key in curves if key[0] == data})
        at = {
            n: {
                key[2]: value.mean
                for key, value in curves.items()
                if key[:2] == (data, n)
            }
            for n in numbers
        }
        claims = {
            "NN-EVCLUS above CEVCLUS and CECM, without PCCA": lambda m: (
                m["NN-EVCLUS"] > max(m["CEVCLUS"], m["CECM"])
            ),
            "PCCA improves all three": lambda m: all(
                m[f"{name} + PCCA"] > m[name] for name in METHODS
            ),
            "NN-EVCLUS + PCCA best, or within 0.02 of the best": lambda m: (
                m["NN-EVCLUS + PCCA"] > max(m.values()) - 0.02
            ),
        }
        for claim, holds in claims.items():
            true = [str(n) for n in numbers if holds(at[n])]
            if true:
                words = ", ".join(true)
            else:
                words = "none"
            lines.append(
                f"| {claim} | {data} | {words} of {', '.join(map(str, numbers))} |"
            )
    run.text("\n".join(lines))


TABLE_8 = {
    "Glass with row number": [18.78, 76.22, 35.27, 31.51, 53.74, 31.07],
    "Iris": [1.55, 30.05, 4.78, 1.21, 23.59, 2.08],
}


def _seconds(run: Run, groups: dict[tuple[Any, ...], list[dict[str, Any]]]) -> None:
    number = run.choose(200, 100)
    run.text(
        f"Table 8: CPU seconds with {number} constraints, PCCA included, on one thread (the paper: R, 200 constraints)."
    )
    table = run.table("data", "method", quantity="CPU seconds", short=None)
    names = [*METHODS, *(f"{name} + PCCA" for name in METHODS)]
    for data, printed in TABLE_8.items():
        for name, paper in zip(names, printed, strict=True):
            table.add(
                data,
                name,
                paper=paper,
                ours=summary(groups[data, number, name, "program"], "seconds"),
            )


def _draw(run: Run, curves: dict[tuple[Any, ...], Any]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(DATA), figsize=(5.2 * len(DATA), 4.2), sharey=True
    )
    for ax, data in zip(axes, DATA, strict=True):
        for k, method in enumerate(METHODS):
            for name, line in ((method, "--"), (f"{method} + PCCA", "-")):
                numbers = sorted({key[1] for key in curves if key[0] == data})
                values = [curves[data, n, name, "program"] for n in numbers]
                mean = [v.mean for v in values]
                spread = [v.spread for v in values]
                ax.errorbar(
                    numbers,
                    mean,
                    spread,
                    fmt=f"o{line}",
                    color=f"C{k}",
                    capsize=3,
                    label=name,
                )
        ax.set(
            title="Glass, nine attributes" if data == "Glass" else data,
            xlabel="constraints",
            xticks=NUMBERS,
        )
    axes[0].set_ylabel("ARI")
    axes[0].legend(fontsize=8)
    run.figure(
        "curves",
        figure,
        "Mean ARI and one standard deviation over random sets of constraints, with PCCA (solid lines) and with the "
        "plain attributes (dashed lines), for the two versions of Glass and for Iris.",
    )
