"""Which letters, species and proteins are the data Letters4p1, Leaves5p1 and Mice of Tables 2 and 3?

The search takes about ten minutes on 16 processors, so it is not part of ``make reproduce``. The
command ``python -m reproduce.nn_evclus.identification --jobs 16`` runs it and writes
identification.json, from which the section of the results page is made. An interrupted run can be
resumed.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections import Counter
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np

from reproduce.nn_evclus.attribute_data import METHODS, TABLE_3
from reproduce.nn_evclus.butterfly import PAPER
from reproduce.nn_evclus.identification_fits import (
    CANDIDATES,
    CONFIRMING,
    IDENTIFIED,
    SCREENING,
    as_arguments,
    calibrate,
    climb,
    distance,
    nearest,
    screen,
)
from reproduce.runner import CACHE, SHORT, Run, experiment

RECORD = Path(__file__).with_suffix(".json")
# A method that differs more on identified data cannot identify anything.
MAX_TOLERANCE = 0.1
N_CONFIRMED = 96
NATURAL = "part 2 of 4, in the order of the file"  # is also fitted with the settings of the paper
N_STEPS = 150  # exchanges of proteins


# ---- search --------------------------------------------------------------------------------------


def printed_scores(data: str) -> dict[str, float]:
    """Return the scores of a data set in Table 3."""
    return {m: s for m, s in zip(METHODS, TABLE_3[data], strict=True) if s is not None}


def find_tolerances(run: Run, data: str) -> dict[str, float]:
    """Return the largest difference from the printed scores on identified data, at least 0.03, of usable methods."""
    confirming = [
        method for method in CONFIRMING[data] if method not in SCREENING[data]
    ]
    methods = [*SCREENING[data], *confirming]
    identified = IDENTIFIED[data]
    results = run.each(
        calibrate, [{"data": name, "methods": methods} for name in identified]
    )
    tolerances = {}
    for method in methods:
        printed = [printed_scores(name)[method] for name in identified]
        gaps = [
            abs(r["scores"][nearest(r["scores"], method, p)] - p)
            for r, p in zip(results, printed, strict=True)
        ]
        tolerances[method] = max(SHORT, *gaps)
    return {
        method: tolerance
        for method, tolerance in tolerances.items()
        if tolerance <= MAX_TOLERANCE
    }


def search(run: Run, data: str) -> dict[str, Any]:
    """Screen all candidates with fast fits, then compare those that agree, or are nearest, with the other methods."""
    printed = printed_scores(data)
    tolerances = find_tolerances(run, data)
    candidates = CANDIDATES[data]()
    if run.quick:
        candidates = [
            c
            for k, c in enumerate(candidates)
            if k % (len(candidates) // 20) == 0 or "part" in c.family
        ]
    usable = [method for method in SCREENING[data] if method in tolerances]
    blocks = as_arguments(candidates, 10)
    results = run.each(
        screen,
        [{"data": data, "candidates": block, "methods": usable} for block in blocks],
    )
    scores = [found for result in results for found in result["scores"]]
    distances = np.array([distance(found, printed, tolerances) for found in scores])
    order = list(np.argsort(distances, kind="stable")[: run.choose(N_CONFIRMED, 2)])
    order += [
        k
        for k, candidate in enumerate(candidates)
        if candidate.family == NATURAL and k not in order
    ]
    confirming = [method for method in CONFIRMING[data] if method in tolerances]
    quantiles = [""] * len(order)
    if "EVCLUS" in confirming:
        quantiles = [
            nearest(scores[k], "EVCLUS", printed["EVCLUS"]).partition(" ")[2]
            for k in order
        ]
    confirmed = run.each(
        screen,
        [
            {
                "data": data,
                "candidates": [asdict(candidates[k])],
                "methods": confirming,
                "quantile": float(quantile) if quantile else None,
            }
            for k, quantile in zip(order, quantiles, strict=True)
        ],
    )
    sets = []
    for k, quantile, result in zip(order, quantiles, confirmed, strict=True):
        # The settings of the paper replace the fast ones.
        found = {
            m: scores[k][nearest(scores[k], m, printed[m])] for m in usable
        } | result["scores"][0]
        about = {
            "family": candidates[k].family,
            "names": candidates[k].names,
            "standardise": candidates[k].standardise,
        }
        sets.append(
            about
            | {
                "quantile": quantile,
                "scores": found,
                "distance": distance(found, printed, tolerances),
            }
        )
    families = Counter(candidate.family for candidate in candidates)
    agreeing = Counter(
        c.family for c, d in zip(candidates, distances, strict=True) if d <= 1
    )
    return {
        "tolerances": tolerances,
        "families": {
            family: {"candidates": n, "agree": agreeing[family]}
            for family, n in families.items()
        },
        "nearest": sorted(sets, key=lambda found: found["distance"]),
    }


def climb_all(run: Run, tolerances: dict[str, float]) -> list[dict[str, Any]]:
    """Search for sets of proteins with the printed scores, from the sets of discriminant proteins."""
    starts = [
        candidate
        for candidate in CANDIDATES["Mice"]()
        if candidate.family.startswith("most discriminant")
    ]
    common = {
        "n_steps": run.choose(N_STEPS, 5),
        "printed": printed_scores("Mice"),
        "tolerances": tolerances,
    }
    return run.each(
        climb,
        [
            {"candidate": asdict(start), **common}
            for start in starts[: run.choose(None, 2)]
        ],
    )


@click.command()
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True
)
@click.option(
    "--only",
    type=click.Choice(list(CANDIDATES)),
    multiple=True,
    help="Search for these data only.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use a few candidates, and write the record to the cache.",
)
def main(jobs: int, only: tuple[str, ...], quick: bool) -> None:
    """Search for the subsets and write the record of the results page."""
    began = time.perf_counter()
    run = Run(identification, quick=quick, jobs=jobs, any_version=True)
    found: dict[str, Any] = {}
    for data in only or CANDIDATES:
        click.echo(f"{data}, after {time.perf_counter() - began:.0f} s")
        found[data] = search(run, data)
        if data == "Mice":
            found[data]["climbs"] = climb_all(run, found[data]["tolerances"])
    record = {
        "reduced": quick,
        "machine": f"{platform.machine()} with {os.cpu_count()} processors",
        "minutes": (time.perf_counter() - began) / 60,
        "minutes on one thread": run.seconds / 60,
        "data": found,
    }
    if quick or only:
        path = CACHE / RECORD.name
    else:
        path = RECORD
    path.write_text(json.dumps(record) + "\n")
    render(run, record)
    click.echo(f"{run.markdown()}\nwrote {path}")


# ---- section of the results page -----------------------------------------------------------------


@experiment(PAPER, "Table 2", "which letters, species and proteins?")
def identification(run: Run) -> None:
    """The paper does not name the six letters of Letters4p1 (4634 objects), the twenty species of Leaves5p1 (320
    leaves) and the 22 proteins of Mice. Candidates are all sets of six letters with 4634 objects;
    twenty species in a row or every fifth species, in the order of the names or of the file,
    described by shape, margin or texture; and the 22 proteins that discriminate best between one or
    two pairs of groups of trisomic mice. The names Letters4p1 and Leaves5p1 suggest part 1 of 4 and
    of 5, or part 2 if parts are numbered from 0. Of the four parts of six letters in the order in
    which the letters first occur in the file, only the second (B, A, J, M, X, O) has 4634 objects.
    Random sets of species and proteins show how often a set agrees by chance. All attributes are
    standardised or not. A set agrees if the scores of all usable methods differ from the printed
    ones by at most the tolerance of the method: the largest difference on identified data (Wine,
    Ecoli, Heart and Seeds for Mice; Segment, S2, S4 and D31 for the others), at least 0.03. Methods
    with a tolerance above 0.1 are not used. Letters4p1 and Leaves5p1: ECM, and EVCLUS with d0 at
    the 0.5, 0.2 or 0.1 quantile, whichever is nearest; the nearest sets are fitted again with the
    settings of the paper. Mice: ECM, CCM, ECM-bp, CCM-bp, wECMdd and EVCLUS; then NN-EVCLUS and
    BootClus for the nearest sets. All fits have one seed."""
    render(run, json.loads(RECORD.read_text()))


def render(run: Run, record: dict[str, Any]) -> None:
    """Append the tables and texts of a record."""
    lines = ["| data | candidates | number | agree |", "| --- | --- | --: | --: |"]
    for data, found in record["data"].items():
        for family, counts in found["families"].items():
            lines.append(
                f"| {data} | {family} | {counts['candidates']} | {counts['agree']} |"
            )
    run.text("\n".join(lines))
    if record["reduced"]:
        run.text(
            "This is a reduced search with about twenty candidates for each data set."
        )
    for data, found in record["data"].items():
        run.text(describe(data, found))
    run.text(
        f"The search took {record['minutes']:.0f} minutes on {record['machine']} "
        f"({record['minutes on one thread']:.0f} minutes on one thread)."
    )


def describe(data: str, found: dict[str, Any]) -> str:
    """Return a paragraph with the tolerances, the number of sets that agree and the nearest set."""
    printed = printed_scores(data)
    tolerances = ", ".join(
        f"{method} {tolerance:.2f}" for method, tolerance in found["tolerances"].items()
    )
    n_screened = sum(counts["agree"] for counts in found["families"].values())
    n_agreeing = sum(one["distance"] <= 1 for one in found["nearest"])
    if n_agreeing > 1:
        verdict = " The scores do not identify the set."
    else:
        verdict = ""
    if n_agreeing == 0 and n_screened <= len(found["nearest"]):
        verdict = " The set is not among these candidates."
    best, *others = found["nearest"]
    words = [
        f"**{data}.** Tolerances: {tolerances}. Number of candidates that agree in the screening: {n_screened}; with "
        f"all methods, of the {len(found['nearest'])} nearest: {n_agreeing}.{verdict} Nearest set, with the scores "
        f"(printed ones in parentheses): {describe_set(best, printed, named=True)}.",
        *(
            f"Also {describe_set(one, printed, named=False)}."
            for one in others
            if "part" in one["family"]
        ),
    ]
    if "climbs" in found:
        reached = [set(one["names"]) for one in found["climbs"] if one["distance"] <= 1]
        words.append(
            f"Of {len(found['climbs'])} searches that exchange single proteins of a discriminant set, {len(reached)} "
            "end at sets that agree with all methods of the screening."
        )
        if len(reached) > 1:
            shared = np.mean([len(a & b) for a, b in combinations(reached, 2)])
            words.append(
                f"Two of these sets share {shared:.1f} of 22 proteins on average."
            )
    return " ".join(words)


def describe_set(one: dict[str, Any], printed: dict[str, float], *, named: bool) -> str:
    """Return the family, the scale, perhaps the names, and the scores of a set."""
    if one["standardise"]:
        scale = "standardised"
    else:
        scale = "raw"
    scores = ", ".join(
        f"{method} {score:.2f} ({printed[method]:.2f})"
        for method, score in one["scores"].items()
    )
    if named:
        names = f": {', '.join(one['names'])}"
    else:
        names = ""
    return f"{one['family']}, {scale}{names}; {scores}"


if __name__ == "__main__":
    main()
