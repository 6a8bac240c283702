"""Conversion of partitions and intervals to and from lists, for the JSON results of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from dempster import CredalPartition, FocalSets
from dempster.cluster import BootClus
from dempster.plot import CalibrationDisplay

DIGITS = 4


def partition_as_lists(partition: CredalPartition) -> dict[str, Any]:
    """Return the masses and focal sets."""
    return {
        "masses": partition.masses.round(6).tolist(),
        "sets": [list(s) for s in partition.focal_sets],
    }


def partition_of(written: dict[str, Any]) -> CredalPartition:
    """Rebuild the partition from `partition_as_lists`, with rows that sum to one."""
    masses = np.array(written["masses"])
    c = 1 + max(k for s in written["sets"] for k in s)
    return CredalPartition(
        masses / masses.sum(axis=1, keepdims=True),
        FocalSets.from_sets(c, written["sets"]),
    )


def pairs_as_lists(
    model: BootClus, posterior: Any = None, most: int = 4000
) -> dict[str, Any]:
    """Return both intervals (and the true probability, if known) of all pairs, or of a sample of them."""
    intervals = model.intervals_
    values = {
        name: getattr(intervals, name)
        for name in ("lower", "upper", "belief", "plausibility")
    }
    if posterior is not None:
        values["probability"] = intervals.probabilities(posterior)
    kept = np.random.default_rng(0).permutation(len(intervals))[:most]
    return {name: value[kept].round(DIGITS).tolist() for name, value in values.items()}


def calibration(
    written: dict[str, Any], confidence: float | None = None
) -> CalibrationDisplay:
    """Draw the result of `pairs_as_lists`, against the true probabilities of a ``confidence``."""
    values: dict[str, Any] = {name: np.array(value) for name, value in written.items()}
    if confidence is None:
        values.pop("probability", None)
    return CalibrationDisplay(**values, confidence=confidence).plot()


def class_of_each_cluster(labels: np.ndarray, y: np.ndarray) -> list[int]:
    """Match clusters to different classes by the largest number of common objects."""
    common = np.array(
        [
            [np.sum((labels == k) & (y == j)) for j in np.unique(y)]
            for k in range(len(np.unique(y)))
        ]
    )
    return [int(j) for j in linear_sum_assignment(-common)[1]]


def set_name(members: Iterable[int], names: Sequence[str]) -> str:
    """Return a name like ``{ve, vi}``, with the classes in their order."""
    if list(members):
        return "{" + ", ".join(names[k] for k in sorted(members)) + "}"
    return "∅"


def sets_of_classes(
    partition: CredalPartition, y: np.ndarray, names: Sequence[str]
) -> list[str]:
    """Name the focal sets by the classes that match the clusters."""
    stands_for = class_of_each_cluster(partition.labels, y)
    return [set_name([stands_for[k] for k in s], names) for s in partition.focal_sets]


def confusion(
    partition: CredalPartition, y: np.ndarray, names: Sequence[str]
) -> dict[str, list[int]]:
    """Assign each object to its set of largest mass and count the objects of each class in each set."""
    sets = sets_of_classes(partition, y, names)
    counts: dict[str, list[int]] = {}
    for set_number, class_number in zip(
        partition.masses.argmax(axis=1), y, strict=True
    ):
        counts.setdefault(sets[set_number], [0] * len(names))[class_number] += 1
    return counts


def compare_counts(
    table: Any,
    paper: dict[str, list[int]],
    found: list[dict[str, list[int]]],
    classes: Any,
) -> float:
    """Add rows for all nonzero counts (means over seeds) and return the largest difference.

    The first leading column is the class, the second the set.
    """
    from reproduce.runner import summary

    worst = 0.0
    for number, name in enumerate(classes):
        for members in dict.fromkeys(
            [*paper, *(s for counts in found for s in counts)]
        ):
            printed = paper.get(members, [0] * len(classes))[number]
            ours = summary(
                (
                    {"n": counts.get(members, [0] * len(classes))[number]}
                    for counts in found
                ),
                "n",
            )
            if printed or ours.mean:
                table.add(name, members, paper=printed, ours=ours)
                worst = max(worst, abs(printed - ours.mean))
    return worst
