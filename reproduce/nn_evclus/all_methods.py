"""Section 4, extended: every method of the library in the plane of consistency and nonspecificity."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.data import is_available
from reproduce.nn_evclus import attribute_data, dissimilarity_data
from reproduce.nn_evclus.all_methods_fits import CLASSES, defaults
from reproduce.nn_evclus.attribute_fits import LARGEST, clustering
from reproduce.nn_evclus.butterfly import PAPER
from reproduce.nn_evclus.claims import table_of_claims
from reproduce.nn_evclus.planes import (
    Results,
    dominance,
    draw_planes,
    table_of_dominance,
)
from reproduce.runner import Run, experiment, summary

SHARED = ("BootClus",)  # already fitted with these settings for Table 3
METHODS = [*CLASSES, "BootClus"]
OF_DISSIMILARITIES = (
    "EVCLUS",
    "NN-EVCLUS",
    "sECMdd",
    "wECMdd",
    "MECM",
    "RECM",
    "EK-NNclus",
)


def cells(run: Run) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return data version, method and arguments of each group of fits, except fits shared with Table 3."""
    readings = attribute_data.available_readings(run)
    if is_available("Protein"):
        readings.append("Protein")
    chosen = []
    for reading in readings:
        data, standardise = attribute_data.READINGS.get(reading, (reading, True))
        own = [method for method in CLASSES if method not in SHARED]
        for method in OF_DISSIMILARITIES if reading == "Protein" else own:
            if run.quick and method == "NN-EVCLUS":
                continue
            if data in LARGEST:
                several = 2
            else:
                several = 3
            # BPEC is deterministic.
            n_seeds = 1 if method == "BPEC" else several
            seeds = run.seeds(3)[:n_seeds]
            arguments = [
                {"data": data, "method": method, "seed": s, "standardise": standardise}
                for s in seeds
            ]
            chosen.append((reading, method, arguments))
    return chosen


def shared_with_table_3(run: Run) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the results of Table 3 that are also used here."""
    chosen = [
        (reading, method, group)
        for reading, method, group in attribute_data.cells(run)
        if method in SHARED
    ]
    flat = iter(
        run.each(
            clustering, [arguments for _, _, group in chosen for arguments in group]
        )
    )
    return {
        (reading, method): [next(flat) for _ in group]
        for reading, method, group in chosen
    }


@experiment(PAPER, "Figures 23 to 26, extended", "all methods of the library")
def all_methods(run: Run) -> None:
    """Every method of the library that can cluster a numeric table without further information, with its defaults, on
    the data of Table 3. Methods that accept dissimilarities are also applied to Protein (for
    NN-EVCLUS with three principal components of the rows as attributes, as in the paper). All
    methods receive the number of classes, except EK-NNclus, which estimates the number of clusters.
    RECM squares the Euclidean distances that it computes, which makes it ECM with β = 1.5 instead
    of 2 and another δ; it uses the dissimilarities of Protein without squaring. sECMdd is the class
    ECMdd.

    Not included: CECM (without constraints it is ECM), SECM (needs an image), CatECM (needs
    categorical data), BeliefPeaks (returns labels without masses). Two settings differ from the
    defaults to save time. MECM searches for medoids among 500 candidates for each cluster on
    Letters4p1, S2, S4 and D31 (the default of the library from 5001 objects on; with seed 0 the
    results agree with those of all candidates to three digits, in a third of the time or less).
    BootClus uses 100 bootstrap samples instead of 500 for more than 1000 objects and for Leaves5p1.
    Values are means over three seeds (two for those four data sets); BPEC is deterministic and runs
    once. On attributes, BootClus is the fit of Table 3 with the same seeds.
    """
    chosen = cells(run)
    flat = iter(
        run.each(defaults, [arguments for _, _, group in chosen for arguments in group])
    )
    found = {
        (reading, method): [next(flat) for _ in group]
        for reading, method, group in chosen
    }
    found.update(shared_with_table_3(run))
    readings = list(dict.fromkeys(reading for reading, _, _ in chosen))
    planes = {r: {m: found[r, m] for m in METHODS if (r, m) in found} for r in readings}
    run.text(attribute_data.describe_missing(run))
    run.text(_figures_of(planes))
    run.text(_numbers_found(planes))
    run.text(
        "Dominance, computed from means over seeds and normalised masses as below Table 3:"
    )
    table_of_dominance(run, planes)
    run.text(_overview(planes))
    run.text(READING)
    run.text(
        "The paper's claims about Figures 23 to 26, checked with these partitions as far as its methods are included: "
        "first among the methods that the paper compares, then among all."
    )
    of_the_paper = {
        r: {m: of[m] for m in of if m in _compared(r)} for r, of in planes.items()
    }
    first, second = (
        dominance(attribute_data.nearest(some)) for some in (of_the_paper, planes)
    )
    table_of_claims(
        run, {"among the methods of the paper": first, "among all, holds in": second}
    )
    run.figure(
        "planes",
        draw_planes(planes),
        "Figures 23 to 26 for all methods. Up and to the left is better; filled markers are not dominated by any "
        "method.",
    )


READING = """A certain partition has nonspecificity 0, and its consistency is the Rand index; only a more consistent
certain partition can dominate it. EK-NNclus is close to this case, because Dempster's rule over many neighbours gives
almost certain masses. Where EK-NNclus finds more clusters than there are classes, the adjusted Rand index penalizes
this, but the Rand index hardly does. The last column therefore excludes EK-NNclus. A specific partition need not be
correct: with two of three seeds EGMM divides the patients of Heart by a binary attribute (40 of 270), with certainty
and with an ARI of 0."""


def _compared(reading: str) -> list[str]:
    """Return the methods in the paper's figure of these data."""
    if reading == "Protein":
        return list(dissimilarity_data.PRINTED)
    return attribute_data.METHODS


def _figures_of(planes: dict[str, Results]) -> str:
    lines = [
        "| data | method | ARI | consistency | nonspecificity | seconds |",
        "| --- " * 6 + "|",
    ]
    for data, methods in planes.items():
        for name, results in methods.items():
            numbers = [f"{summary(results, key):{form}}" for key, form in FORMS.items()]
            lines.append(
                f"| {data} | {name} | {' | '.join(numbers)} | {summary(results, 'seconds').mean:.2g} |"
            )
    return "\n".join(lines)


FORMS = {"ari": ".2f", "consistency": ".3f", "nonspecificity": ".3f"}


def _numbers_found(planes: dict[str, Results]) -> str:
    """Describe the numbers of clusters that EK-NNclus estimated, next to the true numbers."""
    words = []
    for data, methods in planes.items():
        given = methods["sECMdd"][0]["clusters"]
        numbers = [str(result["clusters"]) for result in methods["EK-NNclus"]]
        words.append(f"{data} {', '.join(dict.fromkeys(numbers))} (of {given})")
    return (
        "Numbers of clusters that EK-NNclus finds (number of classes in parentheses; one value per seed if they "
        f"differ): {'; '.join(words)}."
    )


def _overview(planes: dict[str, Results]) -> str:
    """Return a table with counts of dominance over all data."""
    above = dominance(planes)
    if {"Iris", "Glass"} <= set(planes):
        twice = " (Iris, Glass and DryBean are included in two versions)"
    else:
        twice = ""
    lines = [
        f"Over {len(planes)} versions of the data{twice}:",
        "",
        "| method | data sets | not dominated | mean number of methods it dominates | mean number of methods that "
        "dominate it | not dominated, except by EK-NNclus |",
        "| --- " * 6 + "|",
    ]
    for name in METHODS:
        there = [others for others in above.values() if name in others]
        if not there:
            continue
        free = sum(not others[name] for others in there)
        nearly = sum(set(others[name]) <= {"EK-NNclus"} for others in there)
        below = np.mean(
            [
                sum(name in dominating for dominating in others.values())
                for others in there
            ]
        )
        by = np.mean([len(others[name]) for others in there])
        lines.append(
            f"| {name} | {len(there)} | {free} | {below:.1f} | {by:.1f} | {nearly} |"
        )
    return "\n".join(lines)
