"""Dempster's rule: the road scene and the example with three classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dempster import MassFunctions
from reproduce.lecture import PAPER
from reproduce.runner import Run, experiment

ROAD = "GRTOS"  # grass, road, tree or bush, obstacle, sky
LIDAR = {tuple("TO"): 0.9, tuple(ROAD): 0.1}
CAMERA = {tuple("GT"): 0.8, tuple(ROAD): 0.2}
OTHER_CAMERA = {tuple("GR"): 0.8, tuple(ROAD): 0.2}
FIRST = {("b",): 0.5, ("a", "b"): 0.2, ("a", "c"): 0.3}
SECOND = {("a",): 0.1, ("a", "b"): 0.4, ("c",): 0.5}

Masses = Mapping[tuple[str, ...], float]
# Name, frame, two mass functions, printed conflict, printed combination.
EXAMPLES: Sequence[tuple[str, str, Masses, Masses, float, Masses]] = (
    ("lidar {T, O}, camera {G, T}", ROAD, LIDAR, CAMERA, 0.0,
     {("T",): 0.72, tuple("TO"): 0.18, tuple("GT"): 0.08, tuple(ROAD): 0.02}),
    ("lidar {T, O}, camera {G, R}", ROAD, LIDAR, OTHER_CAMERA, 0.72,
     {tuple("TO"): 9 / 14, tuple("GR"): 4 / 14, tuple(ROAD): 1 / 14}),
    ("three classes", "abc", FIRST, SECOND, 0.4,
     {("a",): 0.17 / 0.6, ("b",): 0.2 / 0.6, ("a", "b"): 0.08 / 0.6, ("c",): 0.15 / 0.6}),
)  # fmt: skip


@experiment(PAPER, "Theory", "examples of Dempster's rule")
def dempster(run: Run) -> None:
    """Each example combines two independent pieces of evidence.

    The conflict is the mass on the empty set before
    normalisation."""
    table = run.table("example", "", quantity="value", short=None, form=".4f")
    worst = 0.0
    for name, frame, first, second, conflict, printed in EXAMPLES:
        one, two = (MassFunctions.from_dict(m, frame=frame) for m in (first, second))
        combined = one.combine(two)
        found = {"conflict": float(one.conflict(two)[0])}
        found |= {
            f"m({{{', '.join(s)}}})": float(combined.mass([s])[0, 0]) for s in printed
        }
        for (what, ours), paper in zip(
            found.items(), (conflict, *printed.values()), strict=True
        ):
            table.add(name, what, paper=paper, ours=ours)
            worst = max(worst, abs(paper - ours))
        spare = 1 - sum(list(found.values())[1:])
        worst = max(worst, abs(spare))
    run.text(f"Largest difference, including mass on other sets: {worst:.1e}.")
