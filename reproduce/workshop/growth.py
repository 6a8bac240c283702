"""Time of EVCLUS and RECM against the numbers of objects and focal sets, and k-EVCLUS against that of partners."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dempster.datasets import make_fourclass
from reproduce.runner import Run, experiment, summary
from reproduce.workshop import PAPER
from reproduce.workshop.growth_fits import one_size, with_focal_sets, with_partners

SIZES = [100, 200, 400, 800, 1600, 3200, 6400, 12_800]
LARGEST = {
    "EVCLUS, gradient": 1600,
    "EVCLUS, IRQP": 3200,
    "RECM": 3200,
    "k-EVCLUS, k = 100": 12_800,
}
FIRST_OF_SLOPE = 400  # smaller fits take too little time to show the growth
SMALLEST_FAMILY = 16  # focal sets from which the slope is computed
PARTNERS = [5, 10, 20, 50, 100, 200]


@experiment(PAPER, "Influence of n", "seconds of the gradient, of IRQP and of RECM")
def influence_of_n(run: Run) -> None:
    """CPU seconds against the number n of objects, on samples of the four classes, from one random start each, with
    single clusters, the frame and the empty set. All methods except k-EVCLUS use the full matrix;
    its computation is not included. The gradient is L-BFGS in NumPy instead of the method of 2004,
    and IRQP is compiled, so the ratio of their times also depends on the implementations. The
    growth exponent is the slope of log seconds against log n from n = 400 on. We add k-EVCLUS with
    100 random partners for each object, whose cost should be linear in n. The slides show the
    curves without numbers. Low values of the ARI are local minima, in which two classes share a
    cluster."""
    seeds = run.seeds(5)
    sizes = run.choose(SIZES, SIZES[:4])
    cases = [
        (method, n)
        for method, largest in LARGEST.items()
        for n in sizes
        if n <= largest
    ]
    flat = run.each(
        one_size, [{"method": m, "n": n, "seed": s} for m, n in cases for s in seeds]
    )
    found = {
        case: flat[k * len(seeds) : (k + 1) * len(seeds)]
        for k, case in enumerate(cases)
    }
    seconds = {case: summary(results, "time").mean for case, results in found.items()}
    _growth_claims(run, seconds)
    table = run.table("method", "n", short=None)
    for (method, n), results in found.items():
        table.add(
            method, f"{n:,}", ours=summary(results, "ari"), seconds=seconds[method, n]
        )
    run.figure(
        "seconds",
        _draw_growth(seconds),
        "CPU seconds against n, on logarithmic scales; and IRQP and RECM only.",
    )
    _compare_focal_sets(run, seeds)


def _growth_claims(run: Run, seconds: dict[tuple[str, int], float]) -> None:
    slopes = {}
    for method in LARGEST:
        points = [
            (n, value)
            for (name, n), value in seconds.items()
            if name == method and n >= FIRST_OF_SLOPE
        ]
        x, y = np.log(points).T
        slopes[method] = np.polyfit(x, y, 1)[0]
    n = max(n for method, n in seconds if method == "EVCLUS, gradient")
    slow, rows, relational = (seconds[method, n] for method in list(LARGEST)[:3])
    table = run.table("claim", quantity="what", short=None)
    table.add(
        f"seconds of the gradient, divided by those of IRQP, n = {n:,}",
        paper="much more",
        ours=f"{slow / rows:.1f}",
    )
    table.add(
        f"seconds of RECM, divided by those of IRQP, n = {n:,}",
        paper="of the same order",
        ours=f"{relational / rows:.2f}",
    )
    for method, slope in slopes.items():
        if method.startswith("k-"):
            paper = "linear (stated)"
        elif "IRQP" in method:
            paper = "quadratic (stated)"
        else:
            paper = None
        table.add(f"growth exponent of {method}", paper=paper, ours=f"{slope:.2f}")


def _draw_growth(seconds: dict[tuple[str, int], float]) -> Any:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for k, method in enumerate(LARGEST):
        n, values = np.array(
            [(n, value) for (name, n), value in seconds.items() if name == method]
        ).T
        left.loglog(n, values, marker="o", markersize=4, color=f"C{k}", label=method)
        if method in ("EVCLUS, IRQP", "RECM"):
            right.plot(n, values, marker="o", markersize=4, color=f"C{k}", label=method)
    for ax in (left, right):
        ax.set(xlabel="n", ylabel="seconds")
        ax.legend()
    return figure


def _compare_focal_sets(run: Run, seeds: list[int]) -> None:
    """Append the seconds of one iteration against the number of focal sets."""
    run.text(
        "The number f of focal sets: CPU seconds of one iteration (a sweep of EVCLUS, a step of L-BFGS for NN-EVCLUS) "
        "on 400 objects with 100 random partners each, with all f = 2^c sets of c clusters. The paper on NN-EVCLUS "
        "states n k f² operations for n objects with k partners. NN-EVCLUS multiplies the masses of each object by the "
        "matrix of conflicts only once here, so the loss takes n f² + n k f operations, besides those of the network. "
        f"The growth exponent is the slope from f = {SMALLEST_FAMILY} on."
    )
    clusters = np.array(run.choose(range(2, 8), range(2, 7)))
    sizes = 2**clusters
    found = {}
    claims = run.table("claim", quantity="what", short=None)
    table = run.table(
        "method", "f", quantity="seconds of one iteration", short=None, form=".2g"
    )
    for method, paper in {"EVCLUS": None, "NN-EVCLUS": "2 (stated)"}.items():
        flat = run.each(
            with_focal_sets,
            [
                {"method": method, "c": int(c), "seed": s}
                for c in clusters
                for s in seeds
            ],
        )
        found[method] = seconds = np.reshape(
            [one["time"] for one in flat], (len(clusters), -1)
        ).mean(axis=1)
        large = sizes >= SMALLEST_FAMILY
        slope = np.polyfit(np.log(sizes[large]), np.log(seconds[large]), 1)[0]
        claims.add(f"growth exponent of {method}", paper=paper, ours=f"{slope:.2f}")
        for f, value in zip(sizes, seconds, strict=True):
            table.add(method, f, ours=float(value))
    run.figure(
        "focal_sets",
        _draw_focal_sets(sizes, found),
        "CPU seconds of one iteration against the number of focal sets.",
    )


def _draw_focal_sets(sizes: np.ndarray, found: dict[str, np.ndarray]) -> Any:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
    for method, seconds in found.items():
        ax.loglog(sizes, seconds, marker="o", markersize=4, label=method)
    ax.loglog(
        sizes,
        found["EVCLUS"][-1] * (sizes / sizes[-1]) ** 2,
        color="gray",
        linestyle="--",
        label="f²",
    )
    ax.set(xlabel="number f of focal sets", ylabel="seconds of one iteration")
    ax.set_xticks(sizes, list(map(str, sizes)))
    ax.minorticks_off()
    ax.legend()
    return figure


@experiment(
    PAPER, "10,000 simulated objects", "ARI and seconds against the number of partners"
)
def partners(run: Run) -> None:
    """k-EVCLUS without constraints on 10,000 objects of the four classes, d0 at the 0.9 quantile, with single clusters,
    the frame and the empty set; one random start for each random set of pairs. The slides show two
    curves without numbers and state that "it might be possible" to use few dissimilarities of each
    object. Ten partners give almost the ARI of the best possible rule, the nearest of the four true
    centers (dashed line); five are not sufficient. A random start may end in a local minimum, in
    which two classes share a cluster (see the smallest ARI)."""
    seeds = run.seeds(10, 2)
    numbers = run.choose(PARTNERS, [10, 50, 100])
    flat = run.each(
        with_partners, [{"k": k, "seed": s} for k in numbers for s in seeds]
    )
    found = {
        k: flat[j * len(seeds) : (j + 1) * len(seeds)] for j, k in enumerate(numbers)
    }
    X, y = make_fourclass(10_000, random_state=0)
    best = float(adjusted_rand_score(y, (X > 2) @ [2, 1]))
    table = run.table(
        "k",
        "share of all pairs",
        "smallest ARI",
        "largest ARI",
        "N*",
        short=None,
        form=".3f",
    )
    for k, results in found.items():
        extremes = [
            f"{choose(one['ari'] for one in results):.3f}" for choose in (min, max)
        ]
        imprecise = summary(results, "nonspecificity").mean
        seconds = summary(results, "time").mean
        words = [f"{2 * k / (len(X) - 1):.2%}", *extremes, f"{imprecise:.2f}"]
        table.add(k, *words, ours=summary(results, "ari"), seconds=seconds)
    table.add("best possible", "", "", "", "", ours=best)
    run.figure(
        "curves",
        _draw_partners(found, best),
        f"{len(seeds)} random sets of pairs (points), and the largest ARI and mean CPU seconds (lines).",
    )


def _draw_partners(found: dict[int, Any], best: float) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    numbers = list(found)
    lines = {"ari": [max(one["ari"] for one in results) for results in found.values()]}
    lines["time"] = [summary(results, "time").mean for results in found.values()]
    for ax, (key, line), label in zip(
        axes, lines.items(), ("adjusted Rand index", "seconds"), strict=True
    ):
        points = [(k, one[key]) for k, results in found.items() for one in results]
        ax.scatter(*np.transpose(points), s=15)
        ax.plot(numbers, line)
        ax.set(xlabel="number k of partners", ylabel=label, xscale="log")
        ax.set_xticks(numbers, list(map(str, numbers)))
        ax.minorticks_off()
    axes[0].axhline(best, color="gray", linestyle="--")
    axes[1].set_yscale("log")
    return figure
