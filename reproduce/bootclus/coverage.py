"""Section 4.1: coverage of the intervals for the true probabilities."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from dempster.cluster import BootClus
from dempster.datasets import make_gaussian_mixture
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.plot import CredalPartitionDisplay, PairProbabilityDisplay
from reproduce.bootclus import PAPER
from reproduce.bootclus.examples import thirty_objects
from reproduce.bootclus.written import calibration, pairs_as_lists
from reproduce.runner import Run, Summary, experiment, summary

TOLERANCE = 0.04
MODELS = ("EII", "EEE", "VVV", "Auto")
LEVELS = (0.90, 0.95)
INTERVALS = ("confidence", "belief")
# Mixture, level: for each model the mean (and standard deviation over 100 data sets) of coverage,
# then of length, of the confidence intervals and of [Bel, Pl]. None means that the value is not
# legible in the source.
Cell = tuple[float | None, float | None]
PRINTED: dict[tuple[int, float], list[tuple[Cell, Cell, Cell, Cell]]] = {
    (1, 0.90): [
        ((0.87, 0.159), (0.90, 0.101), (0.11, 0.017), (0.11, 0.017)),
        ((0.88, 0.125), (0.90, 0.091), (0.14, 0.028), (0.14, 0.028)),
        ((0.92, 0.102), (0.91, 0.088), (0.32, 0.085), (0.32, 0.088)),
        ((0.88, 0.15), (0.89, 0.12), (0.11, 0.018), (0.11, 0.018)),
    ],
    (1, 0.95): [
        ((0.93, None), (0.94, None), (0.13, 0.021), (0.13, 0.021)),
        ((0.94, None), (0.94, None), (0.17, 0.033), (0.17, 0.033)),
        ((0.96, None), (0.94, None), (0.39, 0.097), (None, 0.100)),
        ((0.93, None), (0.93, None), (0.133, 0.022), (0.132, 0.022)),
    ],
    (2, 0.90): [
        ((0.34, 0.033), (0.50, 0.038), (0.16, 0.032), (0.16, 0.032)),
        ((0.89, 0.122), (0.91, 0.080), (0.15, 0.031), (0.15, 0.031)),
        ((0.89, 0.125), (0.89, 0.114), (0.37, 0.082), (0.37, 0.084)),
        ((0.88, 0.155), (0.90, 0.107), (0.16, 0.036), (0.16, 0.036)),
    ],
    (2, 0.95): [
        ((0.40, 0.035), (0.56, 0.040), (0.19, 0.038), (0.19, 0.039)),
        ((0.95, 0.085), (0.95, 0.056), (0.18, 0.037), (0.19, 0.037)),
        ((0.95, 0.088), (0.92, 0.086), (0.45, 0.088), (0.46, 0.091)),
        ((0.94, 0.112), (0.94, 0.083), (0.19, 0.043), (0.19, 0.044)),
    ],
    (3, 0.90): [
        ((0.47, 0.078), (0.58, 0.077), (0.16, 0.039), (0.16, 0.040)),
        ((0.57, 0.136), (0.64, 0.139), (0.24, 0.083), (0.25, 0.087)),
        ((0.90, 0.126), (0.89, 0.110), (0.31, 0.080), (0.32, 0.083)),
        ((0.65, 0.195), (0.70, 0.162), (0.18, 0.037), (0.18, 0.037)),
    ],
    (3, 0.95): [
        ((0.55, 0.080), (0.65, 0.079), (0.19, 0.046), (0.20, 0.047)),
        ((0.67, 0.128), (0.73, 0.124), (0.30, 0.093), (0.31, 0.097)),
        ((0.95, 0.089), (0.93, 0.077), (0.39, 0.097), (0.40, 0.099)),
        ((0.74, 0.177), (0.78, 0.147), (0.22, 0.046), (0.22, 0.047)),
    ],
}


def covered(mixture: int, model: str, seed: int, n_bootstraps: int) -> dict[str, Any]:
    """Return coverage and length at both levels for one data set, computed from the same bootstrap samples."""
    sample = make_gaussian_mixture(mixture, 300, as_bunch=True, random_state=seed)
    if model == "Auto":
        covariances = ParsimoniousGaussianMixture(3, n_jobs=1).fit(sample.data).model_
    else:
        covariances = model
    settings: dict[str, Any] = {
        "focal_sets": "pairs",
        "n_bootstraps": n_bootstraps,
        "random_state": seed,
        "n_jobs": 1,
    }
    method = BootClus(3, mixture=covariances, warm_start=True, **settings)
    found: dict[str, Any] = {}
    for level in LEVELS:
        method.set_params(confidence=level).fit(sample.data)
        result = method.intervals_.coverage(sample.posterior)
        found |= {f"{name} {level}": value for name, value in result._asdict().items()}
    return found | {"model": method.mixture_.model_}


def _table(run: Run, mixture: int) -> None:
    n_bootstraps = run.choose(500, 60)
    seeds = run.seeds(100, 4)
    arguments = [
        {"mixture": mixture, "model": model, "seed": seed, "n_bootstraps": n_bootstraps}
        for model in MODELS
        for seed in seeds
    ]
    results = run.each(covered, arguments)
    of_model = {
        m: [r for a, r in zip(arguments, results, strict=True) if a["model"] == m]
        for m in MODELS
    }
    run.text(
        f"{len(seeds)} data sets of 300 objects, {n_bootstraps} bootstrap samples each (the paper: 100 and 1,000). "
        f"▼ marks values more than {TOLERANCE} below the paper's coverage."
    )
    coverage = run.table(
        "model",
        "level",
        "interval",
        "± paper",
        quantity="coverage",
        short=TOLERANCE,
        form=".3f",
    )
    length = run.table(
        "model",
        "level",
        "interval",
        "± paper",
        quantity="length",
        short=None,
        form=".3f",
    )
    gaps: list[float] = []
    ratios: list[float] = []
    for level in LEVELS:
        for number, model in enumerate(MODELS):
            seconds = summary(of_model[model], "seconds").mean / len(LEVELS)
            printed = PRINTED[mixture, level][number]
            for k, interval in enumerate(INTERVALS):
                if interval == "confidence":
                    name = "CI"
                else:
                    name = "[Bel, Pl]"
                (paper, spread), (paper_length, length_spread) = (
                    printed[k],
                    printed[2 + k],
                )
                ours = summary(of_model[model], f"{interval} {level}")
                assert paper is not None
                why = _standard_errors(paper, spread, ours)
                coverage.add(
                    model,
                    level,
                    name,
                    spread or "?",
                    paper=paper,
                    ours=ours,
                    seconds=seconds,
                    why=why,
                )
                gaps.append(ours.mean - paper)
                ours = summary(of_model[model], f"{interval}_length {level}")
                length.add(
                    model,
                    level,
                    name,
                    length_spread,
                    paper="?" if paper_length is None else paper_length,
                    ours=ours,
                )
                ratios += [] if paper_length is None else [ours.mean / paper_length]
    chosen = Counter(r["model"] for r in of_model["Auto"])
    run.text(
        f"Our coverage minus the paper's: {min(gaps):+.3f} to {max(gaps):+.3f}. Our lengths divided by the paper's: "
        f"{min(ratios):.2f} to {max(ratios):.2f}. BIC selected "
        + ", ".join(f"{name} {count} times" for name, count in chosen.most_common())
        + "."
    )


def _standard_errors(paper: float, spread: float | None, ours: Summary) -> str:
    """Describe the difference of two means over data sets in standard errors."""
    if ours.count < 30:
        return f"only {ours.count} data sets with few bootstrap samples each"
    spreads = (spread if spread is not None else ours.spread, ours.spread)
    error = np.sqrt(spreads[0] ** 2 / 100 + spreads[1] ** 2 / ours.count)
    if error:
        apart = abs(ours.mean - paper) / error
    else:
        apart = 0.0
    if apart < 2:
        chance = "which can be due to the random data sets"
    else:
        chance = "which is more than random data sets explain"
    return (
        f"the coverage of single data sets has a standard deviation of {ours.spread:.2f} over our {ours.count} data "
        f"sets; the two means differ by {apart:.1f} standard errors of their difference, {chance}. See also the remark "
        "below on the initialization of EM"
    )


@experiment(PAPER, "Figures 3 and 7", "data sets of the simulations")
def figures_3_and_7(run: Run) -> None:
    """Thirty objects of Example 3, and 300 objects from each of the three mixtures.

    The samples of the paper are not
    given; these are drawn from the same distributions."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(17, 4), layout="constrained")
    axes[0].plot(*thirty_objects(0).T, "o", color="black", markersize=4)
    axes[0].set_title("Example 3")
    for mixture, ax in enumerate(axes[1:], 1):
        X, y = make_gaussian_mixture(mixture, 300, random_state=0)
        style: dict[str, Any] = {"lower": False, "upper": False, "legend": False}
        CredalPartitionDisplay.from_partition(
            y, X, ax=ax, title=f"mixture {mixture}", **style
        )
    run.figure(
        "data", figure, "Figures 3 and 7: data sets; the colors are the components."
    )


@experiment(PAPER, "Table 2", "coverage and length, Mixture 1 (true model EII)")
def table_2(run: Run) -> None:
    """Proportion of pairs whose true probability is in the bootstrap confidence interval (CI) and in [Bel, Pl], and
    mean length of both intervals. All four models contain the true distribution here."""
    _table(run, 1)


@experiment(PAPER, "Table 3", "coverage and length, Mixture 2 (true model EEE)")
def table_3(run: Run) -> None:
    """Model EII is wrong here: its intervals are short and do not contain the true probabilities."""
    _table(run, 2)


@experiment(PAPER, "Table 4", "coverage and length, Mixture 3 (true model VVV)")
def table_4(run: Run) -> None:
    """Models EII and EEE are wrong here, and BIC often selects a model that is too simple."""
    _table(run, 3)


def started(seed: int, n_bootstraps: int, start: str) -> dict[str, Any]:
    """Compute confidence intervals of model VVV for Mixture 1 with one of two initializations of EM."""
    sample = make_gaussian_mixture(1, 300, as_bunch=True, random_state=seed)
    X = sample.data
    pairs = np.triu_indices(300, 1)
    fitted = ParsimoniousGaussianMixture(3, model="VVV", n_jobs=1).fit(X)
    init: Any = fitted.parameters_ if start == "fit of the data" else "hierarchical"
    rng = np.random.default_rng(seed)
    together: list[np.ndarray] = []
    while len(together) < n_bootstraps:
        again = X[rng.integers(len(X), size=len(X))]
        try:
            refitted = ParsimoniousGaussianMixture(
                3, model="VVV", init=init, n_jobs=1
            ).fit(again)
        except ValueError:  # A component collapsed; draw another sample.
            continue
        probability = refitted.predict_proba(X)
        together.append((probability @ probability.T)[pairs])
    lower, upper = np.quantile(together, [0.05, 0.95], axis=0)
    true = (sample.posterior @ sample.posterior.T)[pairs]
    return {
        "coverage": float(np.mean((lower <= true) & (true <= upper))),
        "length": float(np.mean(upper - lower)),
    }


@experiment(PAPER, "Tables 2 to 4, remark", "initialization of EM")
def start_of_em(run: Run) -> None:
    """Confidence intervals of level 0.9 for Mixture 1 and model VVV.

    Our bootstrap fits start from the fit to the data,
    which is fast and preserves the numbering of the clusters. A new hierarchical initialization for
    each sample can end in another maximum of the likelihood and gives longer intervals. The paper
    does not state how its fits start."""
    n_bootstraps = run.choose(100, 20)
    seeds = run.seeds(20, 2)
    for_paper = PRINTED[1, 0.90][MODELS.index("VVV")]
    coverage = run.table("start of EM", quantity="coverage", short=None, form=".3f")
    length = run.table("start of EM", quantity="length", short=None, form=".3f")
    starts = ("fit of the data", "hierarchical clustering of the sample")
    arguments = [
        {"seed": s, "n_bootstraps": n_bootstraps, "start": start}
        for start in starts
        for s in seeds
    ]
    results = run.each(started, arguments)
    for start in starts:
        found = [
            r for a, r in zip(arguments, results, strict=True) if a["start"] == start
        ]
        coverage.add(start, paper=for_paper[0][0], ours=summary(found, "coverage"))
        length.add(start, paper=for_paper[2][0], ours=summary(found, "length"))
    run.text(f"{len(seeds)} data sets, {n_bootstraps} bootstrap samples each.")


def mixture_2(seed: int, n_bootstraps: int) -> dict[str, Any]:
    """Compute the intervals of one data set."""
    sample = make_gaussian_mixture(2, 300, as_bunch=True, random_state=seed)
    settings: dict[str, Any] = {
        "focal_sets": "pairs",
        "n_bootstraps": n_bootstraps,
        "random_state": seed,
        "n_jobs": 1,
    }
    model = BootClus(3, mixture="EEE", **settings).fit(sample.data)
    intervals = model.intervals_
    true = intervals.probabilities(sample.posterior)
    doubtful = np.flatnonzero(intervals.upper - intervals.lower > 0.15)
    wanted = [
        doubtful[np.argmin(np.abs(true[doubtful] - p))] for p in (0.2, 0.4, 0.6, 0.8)
    ]
    pairs = intervals.pairs[wanted]
    return {
        "pairs": pairs_as_lists(model, sample.posterior, most=20_000),
        "shown": {
            "values": model.pair_probabilities(sample.data, pairs).round(4).tolist(),
            "pairs": pairs.tolist(),
            "intervals": np.column_stack([intervals.lower, intervals.upper])[
                wanted
            ].tolist(),
            "beliefs": np.column_stack([intervals.belief, intervals.plausibility])[
                wanted
            ].tolist(),
            "probability": true[wanted].tolist(),
        },
    }


@experiment(PAPER, "Figures 8 to 10", "one dataset of Mixture 2 in detail")
def figures_8_to_10(run: Run) -> None:
    """Model EEE, level 0.9, data set of seed 1.

    The four pairs have the true probabilities closest to 0.2, 0.4, 0.6 and
    0.8 among the pairs whose interval is longer than 0.15."""
    (found,) = run.each(
        mixture_2, [{"seed": 1, "n_bootstraps": run.choose(1000, 200)}], alone=True
    )
    shown = PairProbabilityDisplay(
        **{k: np.array(v) for k, v in found["shown"].items()}
    ).plot()
    run.figure(
        "pairs",
        shown.figure_,
        "Figure 8: both intervals and the true probability for four pairs.",
    )
    fit = calibration(found["pairs"])
    run.figure(
        "fit",
        fit.figure_,
        "Figure 9: belief and plausibility against the bounds of the confidence intervals.",
    )
    truth = calibration(found["pairs"], confidence=0.9)
    run.figure(
        "truth",
        truth.figure_,
        "Figure 10: belief and plausibility against the true probabilities.",
    )
