"""Figure 9: expansion of the constraints to neighbours."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from dempster.constraints import Constraints
from reproduce.displays import draw_constraints
from reproduce.k_cevclus.settings import PAPER, fit, measures, objects, wrong_share
from reproduce.runner import Run, experiment, summary

N_PARTNERS = {"Banana_2000": 200, "Letter": 300}


def expanded(name: str, count: int, n_neighbors: int, seed: int) -> dict[str, Any]:
    """Fit k-CEVCLUS with K additional constraints for each given constraint."""
    X, y = objects(name)
    given = Constraints.from_labels(y, count, random_state=seed)
    began = perf_counter()
    known = given.expand(X, n_neighbors, metric="euclidean")
    model = fit(
        name, X, known, seed, n_init=1, sampling="random", n_partners=N_PARTNERS[name]
    )
    return {
        **measures(model, y, began),
        "constraints": len(known),
        "wrong": wrong_share(known, y),
    }


@experiment(PAPER, "Figures 1 and 2", "Banana_200 and the expansion of constraints")
def figures_1_and_2(run: Run) -> None:
    """Four random constraints, and the constraints that the expansion with K = 2 adds to each of
    them. Figure 1 of the paper is a sketch of the same procedure."""
    import matplotlib.pyplot as plt

    X, y = objects("Banana_200")
    given = Constraints.from_labels(y, 4, random_state=0)
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    for ax, known, title in (
        (axes[0], given, "given"),
        (axes[1], given.expand(X, 2, metric="euclidean"), "K = 2"),
    ):
        draw_constraints(ax, X, known, y, title=title)
    run.figure(
        "expansion",
        figure,
        "Figures 1 and 2: Banana_200 with four constraints, and after the expansion.",
    )


@experiment(PAPER, "Figure 9", "expansion of the constraints")
def figure_9(run: Run) -> None:
    """Each constraint is extended to the K nearest pairs of neighbours.

    Settings as in Figures 5 and 7; means over
    three random sets of constraints. Zongker, the third data set of the figure, is not
    available."""
    found = {}
    neighbours = run.choose([0, 1, 3, 5, 10], [0, 5])
    for name, counts in (
        ("Banana_2000", run.choose([250, 500, 1000, 1500, 2000], [500])),
        ("Letter", run.choose([500, 1100, 1500, 2000], [1100])),
    ):
        seeds = run.seeds(3)
        cases = [(count, K) for count in counts for K in neighbours]
        cells = [
            {"name": name, "count": a, "n_neighbors": b, "seed": s}
            for a, b in cases
            for s in seeds
        ]
        results = run.each(expanded, cells)
        for k, (count, K) in enumerate(cases):
            found[name, count, K] = results[k * len(seeds) : (k + 1) * len(seeds)]
    run.figure(
        "curves",
        draw_curves(found),
        "More neighbours help most if there are few constraints; 10 add little to 5",
    )
    _claims(run, found)
    table = run.table(
        "data", "given", "K", "all constraints", "wrong constraints", "N*"
    )
    for (name, count, K), results in found.items():
        words = [
            f"{summary(results, 'constraints').mean:.0f}",
            f"{summary(results, 'wrong').mean:.1%}",
        ]
        imprecise = f"{summary(results, 'nonspecificity').mean:.2f}"
        seconds = summary(results, "time").mean
        table.add(
            name,
            count,
            K,
            *words,
            imprecise,
            ours=summary(results, "ari"),
            seconds=seconds,
        )


def draw_curves(found: Any) -> Any:
    """Draw the mean ARI of each (data, count, K) against the count, with a panel for each data set."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, 2, figsize=(10, 4), sharey=True, layout="constrained"
    )
    for ax, name in zip(panels, N_PARTNERS, strict=True):
        for K in sorted({case[2] for case in found}):
            counts = [case[1] for case in found if case[0] == name and case[2] == K]
            means = [summary(found[name, count, K], "ari").mean for count in counts]
            ax.plot(counts, means, marker="o", markersize=4, label=f"K = {K}")
        ax.set_title(name)
        ax.set_xlabel("given constraints")
    panels[0].set_ylabel("adjusted Rand index")
    panels[0].legend()
    return figure


def _claims(run: Run, found: Any) -> None:
    def ours(name: str, count: int, K: int) -> Any:
        if (name, count, K) in found:
            return summary(found[name, count, K], "ari")
        return None

    table = run.table("data", "given", "K", "claim of the paper")
    letter = (
        "the paper's value is read from a figure by eye. Seeds 0 and 1 give 0.75 and 0.79; more starts or a smaller "
        "tolerance change nothing, d0 at the 0.7 quantile gives 0.78 and 0.83"
    )
    banana = "the paper's value is read from a figure by eye, for another sample (0.43 to 0.49 for 500, K = 0)"
    for name, count, K, words, paper in (
        ("Banana_2000", 500, 0, "about 0.5", 0.5),
        ("Banana_2000", 500, 5, "0.8, lifted from 0.5", 0.8),
        ("Banana_2000", 1500, 0, "as 500 with K = 5", 0.8),
        ("Letter", 1100, 0, "about 0.3", 0.3),
        ("Letter", 1100, 3, "as 2000 without", None),
        ("Letter", 2000, 0, "as 1100 with K = 3", None),
        ("Letter", 1100, 5, "0.8, lifted from 0.3", 0.8),
    ):
        if (figure := ours(name, count, K)) is not None:
            if name == "Letter":
                why = letter
            else:
                why = banana
            table.add(name, count, K, words, paper=paper, ours=figure, why=why)
