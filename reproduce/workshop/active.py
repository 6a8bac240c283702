"""Active learning with CECM: questions about an uncertain and a certain object."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.k_cevclus.outlook import COLORS, SELECTIONS
from reproduce.k_cevclus.outlook_fits import answers, representatives
from reproduce.k_cevclus.settings import SMALL
from reproduce.runner import Run, experiment, summary
from reproduce.workshop import PAPER

METHODS = ("CECM", "CECM, Euclidean")


@experiment(PAPER, "Active learning", "suggested against random pairs, with CECM")
def active_learning(run: Run) -> None:
    """CECM with default parameters and a metric for each cluster, or the Euclidean metric.

    After each fit,
    `suggest_pairs` selects 20 pairs of an object with high nonspecificity and a representative of a
    cluster, as on the slide; "random" draws the same number of pairs. All answers are correct. The
    slide shows one curve without numbers, for data that it does not name; the data here are those
    of Figures 3 and 4 of the paper on k-CEVCLUS. Suggested pairs are better than random ones,
    except on Banana_200, where they are much worse. The center of each banana is near the tip of
    the other one, so the object with the largest mass on a cluster, with which uncertain objects
    are compared, belongs to the other class (last table). Correct answers about it mislead CECM.
    The representatives of EVCLUS belong to the largest class of their cluster."""
    counts = run.choose(list(range(0, 101, 20)), [0, 20, 40])
    seeds = run.seeds(10, 2)
    cases = [
        (name, method, how)
        for name in SMALL
        for method in METHODS
        for how in SELECTIONS
    ]
    flat = run.each(
        answers,
        [
            {
                "name": a,
                "method": b,
                "selection": c,
                "n_neighbors": 0,
                "seed": s,
                "counts": counts,
            }
            for a, b, c in cases
            for s in seeds
        ],
    )
    found = {
        case: flat[k * len(seeds) : (k + 1) * len(seeds)]
        for k, case in enumerate(cases)
    }
    caption = f"Mean ARI and standard deviation over {len(seeds)} seeds, against the number of answers."
    run.figure("curves", _draw(found, counts), caption)
    table = run.table("data", "method", "answers", "random pairs", "seeds with suggested above random",
                      quantity="ARI, suggested pairs", short=None)  # fmt: skip
    for name in SMALL:
        for method in METHODS:
            for j in (0, len(counts) // 2, len(counts) - 1):
                random, suggested = (
                    [{"ari": one["ari"][j]} for one in found[name, method, how]]
                    for how in SELECTIONS
                )
                better = sum(
                    a["ari"] > b["ari"] for a, b in zip(suggested, random, strict=True)
                )
                if j:
                    wins = f"{better} of {len(seeds)}"
                else:
                    wins = "same fit"
                table.add(
                    name,
                    method,
                    counts[j],
                    f"{summary(random, 'ari')}",
                    wins,
                    ours=summary(suggested, "ari"),
                )
    _table_of_representatives(run, seeds)


def _draw(found: Any, counts: list[int]) -> Any:
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(
        len(METHODS),
        len(SMALL),
        figsize=(15, 7),
        sharex=True,
        sharey="col",
        layout="constrained",
    )
    for row, method in zip(grid, METHODS, strict=True):
        for ax, name in zip(row, SMALL, strict=True):
            for how in SELECTIONS:
                values = np.array([one["ari"] for one in found[name, method, how]])
                if len(values) > 1:
                    spread = values.std(axis=0, ddof=1)
                else:
                    spread = None
                ax.errorbar(counts, values.mean(axis=0), spread, color=COLORS[how], marker="o", markersize=3,
                            capsize=2, label=f"{how} pairs")  # fmt: skip
            ax.set_title(f"{name}, {method}")
        row[0].set_ylabel("adjusted Rand index")
    for ax in grid[-1]:
        ax.set_xlabel("answers")
    grid[0, 0].legend(fontsize="small")
    return figure


def _table_of_representatives(run: Run, seeds: list[int]) -> None:
    """Append the numbers of misleading representatives before the first question, summed over the seeds."""
    run.text(
        "Clusters whose representative belongs to another class than most of the cluster, before the first question:"
    )
    methods = (*METHODS, "EVCLUS")
    cells = [
        {"name": a, "method": b, "seed": s}
        for a in SMALL
        for b in methods
        for s in seeds
    ]
    results = iter(run.each(representatives, cells))
    rows = [["data", *methods], ["---"] * (1 + len(methods))]
    for name in SMALL:
        groups = [[next(results) for _ in seeds] for _ in methods]
        counts = [
            f"{sum(r['wrong'] for r in group)} of {sum(r['clusters'] for r in group)}"
            for group in groups
        ]
        rows.append([name, *counts])
    run.text("\n".join(f"| {' | '.join(row)} |" for row in rows))
