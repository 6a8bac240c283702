"""Section 5, outlook: expansion of the constraints with CECM, and together with active learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.k_cevclus.expansion import draw_curves
from reproduce.k_cevclus.outlook_fits import answers
from reproduce.k_cevclus.settings import PAPER, SMALL
from reproduce.runner import Run, experiment, summary

SELECTIONS = ("random", "suggested")
METHODS = ("CECM", "EVCLUS")
COLORS = {"random": "tab:gray", "suggested": "tab:blue"}
N_NEIGHBORS = 5
KEYS = ("ari", "constraints", "wrong", "time")


@experiment(PAPER, "Section 5, expansion", "Figure 9 with CECM")
def expansion_with_cecm(run: Run) -> None:
    """The paper notes that "the same technique could be used with other constrained clustering methods such as CECM".
    As Figure 9, with CECM instead of k-CEVCLUS: a metric for each cluster, else default parameters.
    As with k-CEVCLUS, expansion helps most if there are few constraints: 500 that are expanded with
    K = 10 give almost the ARI of 1500 (Banana_2000) or 1100 (Letter) without expansion."""
    found = {}
    seeds = run.seeds(5)
    neighbors = run.choose([0, 1, 5, 10], [0, 5])
    for name, counts in (
        ("Banana_2000", run.choose([250, 500, 1000, 1500, 2000], [500])),
        ("Letter", run.choose([500, 1100, 2000], [1100])),
    ):
        shared = {
            "name": name,
            "method": "CECM",
            "selection": "random",
            "counts": counts,
        }
        flat = run.each(
            answers,
            [{**shared, "n_neighbors": K, "seed": s} for K in neighbors for s in seeds],
        )
        for k, K in enumerate(neighbors):
            for j, count in enumerate(counts):
                results = flat[k * len(seeds) : (k + 1) * len(seeds)]
                found[name, count, K] = [
                    {key: one[key][j] for key in KEYS} for one in results
                ]
    caption = f"Mean ARI of CECM with expanded constraints, over {len(seeds)} random sets of constraints."
    run.figure("curves", draw_curves(found), caption)
    table = run.table(
        "data", "given", "K", "all constraints", "wrong constraints", short=None
    )
    for (name, count, K), one in found.items():
        total = summary(one, "constraints").mean
        wrong = summary(one, "wrong").mean
        table.add(
            name,
            count,
            K,
            f"{total:.0f}",
            f"{wrong:.1%}",
            ours=summary(one, "ari"),
            seconds=summary(one, "time").mean,
        )


@experiment(
    PAPER, "Section 5, active learning", "expansion of suggested and of random pairs"
)
def expansion_and_questions(run: Run) -> None:
    """The paper asks for "the synergies between this new constraint expansion method and active learning techniques".
    `suggest_pairs` selects pairs of an uncertain and a certain object, 20 after each fit; the
    answers are correct. They are used as they are, with their transitive closure, or expanded to K
    = 5 neighbors. CECM has a metric for each cluster (else default parameters), EVCLUS the settings
    of the paper. Suggested objects lie between the clusters, where neighbors often belong to
    another cluster, so expansion adds more wrong constraints to suggested than to random pairs. On
    average, it raises the ARI of EVCLUS. With suggested pairs it does so on Banana_200 and Glass,
    but not on Iris and Ecoli, where more than a tenth of the constraints are wrong in the end. With
    CECM it makes little difference for random pairs and lowers the ARI for suggested ones. The
    closure, which adds no wrong constraints, has little effect except on Banana_200. For CECM there
    see [Active learning](#active-learning-suggested-against-random-pairs-with-cecm)."""
    counts = run.choose(list(range(0, 101, 20)), [0, 20, 40])
    seeds = run.seeds(10, 2)
    uses: dict[str, dict[str, Any]] = {
        "as given": {},
        "closure": {"closure": True},
        f"K = {N_NEIGHBORS}": {"n_neighbors": N_NEIGHBORS},
    }
    cases = [
        (name, m, how, use)
        for name in SMALL
        for m in METHODS
        for how in SELECTIONS
        for use in uses
    ]
    flat = run.each(
        answers,
        [
            {
                "name": a,
                "method": b,
                "selection": c,
                "n_neighbors": 0,
                **uses[d],
                "seed": s,
                "counts": counts,
            }
            for a, b, c, d in cases
            for s in seeds
        ],
    )
    found = {
        case: flat[k * len(seeds) : (k + 1) * len(seeds)]
        for k, case in enumerate(cases)
    }
    caption = f"Mean ARI over {len(seeds)} seeds, against the number of answers."
    run.figure("curves", _draw_questions(found, counts, list(uses)), caption)
    _synergies(run, found, list(uses))
    table = run.table(
        "data",
        "method",
        "pairs",
        "use",
        "answers",
        "all constraints",
        "wrong constraints",
        short=None,
    )
    for (name, method, how, use), results in found.items():
        one = [{key: result[key][-1] for key in KEYS} for result in results]
        total = summary(one, "constraints").mean
        wrong = summary(one, "wrong").mean
        table.add(
            name,
            method,
            how,
            use,
            counts[-1],
            f"{total:.0f}",
            f"{wrong:.1%}",
            ours=summary(one, "ari"),
        )


def _synergies(run: Run, found: Any, uses: list[str]) -> None:
    """Append a table of the mean ARI over data sets and numbers of answers."""
    run.text(
        "Mean ARI over the data sets and over the numbers of answers after the first fit:"
    )
    head = ["method", "pairs", *uses, f"wrong constraints, {uses[-1]}"]
    lines = [head, ["---"] * len(head)]
    for method in METHODS:
        for how in SELECTIONS:
            groups = [
                [one for name in SMALL for one in found[name, method, how, use]]
                for use in uses
            ]
            wrong = np.mean([one["wrong"][1:] for one in groups[-1]])
            means = [
                f"{np.mean([one['ari'][1:] for one in group]):.3f}" for group in groups
            ]
            lines.append([method, how, *means, f"{wrong:.1%}"])
    run.text("\n".join(f"| {' | '.join(row)} |" for row in lines))


def _draw_questions(found: Any, counts: list[int], uses: list[str]) -> Any:
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
                for use, style in zip(uses, ("-", ":", "--"), strict=True):
                    means = np.mean(
                        [one["ari"] for one in found[name, method, how, use]], axis=0
                    )
                    ax.plot(
                        counts,
                        means,
                        style,
                        color=COLORS[how],
                        marker="o",
                        markersize=3,
                        label=f"{how}, {use}",
                    )
            ax.set_title(f"{name}, {method}")
        row[0].set_ylabel("adjusted Rand index")
    for ax in grid[-1]:
        ax.set_xlabel("answers")
    grid[0, 0].legend(fontsize="small", handlelength=3.5)
    return figure
