"""Examples 1 and 2: degrees of conflict and a credal partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster import FocalSets, MassFunctions
from dempster.cluster import EVCLUS
from dempster.datasets import load_butterfly
from reproduce.displays import draw_masses
from reproduce.runner import Run, experiment

PAPER = "NN-EVCLUS (Denoeux, 2021)"
# Masses of each object on the empty set, cluster 1, cluster 2 and both clusters, as printed.
TABLE_1 = {
    1: (0.11, 0, 0.89, 0), 2: (0.082, 0, 0.75, 0.17), 3: (0, 0, 0.83, 0.17), 4: (0.082, 0, 0.75, 0.17),
    5: (0, 0.077, 0.56, 0.36), 6: (0, 0.29, 0.30, 0.42), 7: (0, 0.55, 0.079, 0.37), 8: (0.082, 0.73, 0, 0.18),
    9: (0, 0.81, 0, 0.19), 10: (0.082, 0.73, 0, 0.18), 11: (0.11, 0.87, 0, 0.02), 12: (0.97, 0.03, 0, 0),
}  # fmt: skip


SENSOR: dict[str, dict[Any, float]] = {
    "o1": {("ω1",): 0.6, ("ω1", "ω2"): 0.3, ("ω1", "ω2", "ω3"): 0.1},
    "o2": {("ω1", "ω2"): 0.5, ("ω3",): 0.2, ("ω1", "ω2", "ω3"): 0.3},
    "o3": {("ω1",): 0.1, ("ω2",): 0.1, ("ω3",): 0.8},
}


@experiment(
    PAPER, "Example 1", "conflict and the plausibility of being in the same class"
)
def example_1(run: Run) -> None:
    """A sensor gives mass functions on the classes of three objects.

    One minus the degree of conflict of two mass
    functions is the plausibility that the two objects are in the same class."""
    first, second, third = (
        MassFunctions.from_dict(masses, frame=["ω1", "ω2", "ω3"])
        for masses in SENSOR.values()
    )
    table = run.table("objects", "quantity", quantity="value", short=None, form=".4f")
    for names, other, paper in (("1 and 2", second, 0.18), ("1 and 3", third, 0.78)):
        conflict = float(np.squeeze(first.conflict(other)))
        table.add(names, "conflict", paper=paper, ours=conflict)
        table.add(
            names, "plausibility of the same class", paper=1 - paper, ours=1 - conflict
        )


def butterfly(d0: float) -> dict[str, Any]:
    """Return the masses of the twelve objects, with the cluster of object 1 as second cluster as in the paper."""
    model = EVCLUS(2, focal_sets="full", d0=d0, random_state=0).fit(
        load_butterfly().data
    )
    masses = model.credal_partition_.masses
    if masses[0, 2] > masses[0, 1]:
        columns = [0, 1, 2, 3]
    else:
        columns = [0, 2, 1, 3]
    return {"masses": masses[:, columns].tolist()}


@experiment(PAPER, "Table 1", "the butterfly by EVCLUS")
def table_1(run: Run) -> None:
    """Two clusters, all subsets. The paper does not give d0.

    With d0 = 11 its masses are reproduced. (The caption of
    its Figure 1 names ECM, but the text and the numbers belong to EVCLUS.)"""
    (result,) = run.each(butterfly, [{"d0": 11.0}])
    table = run.table("object", "set", quantity="mass", short=None, form=".3f")
    worst = 0.0
    for number, printed in TABLE_1.items():
        for name, paper, ours in zip(
            ("∅", "{1}", "{2}", "{1, 2}"),
            printed,
            result["masses"][number - 1],
            strict=True,
        ):
            table.add(number, name, paper=float(paper), ours=ours)
            worst = max(worst, abs(paper - ours))
    run.text(f"Largest difference: {worst:.4f}.")
    run.figure(
        "masses",
        draw_masses(result["masses"], FocalSets.full(2), ("ω1", "ω2")),
        "Figure 1b: masses of the objects, which are numbered from zero.",
    )
