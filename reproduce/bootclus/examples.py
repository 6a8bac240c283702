"""Examples 1 to 4: beliefs about pairs from the masses of objects, and masses from intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM, BootClus
from dempster.datasets import load_butterfly
from dempster.plot import (
    CredalPartitionDisplay,
    PairProbabilityDisplay,
)
from reproduce.bootclus import PAPER
from reproduce.bootclus.written import (
    calibration,
    pairs_as_lists,
    partition_as_lists,
    partition_of,
    set_name,
)
from reproduce.displays import draw_masses, draw_relations
from reproduce.runner import Run, experiment, summary

MEANS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
VARIANCE = 0.1
NAMES = ("ω1", "ω2", "ω3")
# Masses on the two clusters and on both, as printed.
OBJECTS_4_AND_5 = [[0.049, 0.863, 0.088], [0.074, 0.558, 0.368]]
RELATION = {
    "same": 0.485,
    "different": 0.0912,
    "unknown": 0.423,
    "plausibility of same": 0.908,
}


def relation(masses: list[list[float]]) -> dict[str, float]:
    """Return the masses on whether two objects are in the same cluster."""
    pair = (
        CredalPartition(masses, FocalSets.simple(2, empty=False))
        .relational([(0, 1)])
        .masses[0]
    )
    return {
        "same": pair[1],
        "different": pair[2],
        "unknown": pair[3],
        "plausibility of same": pair[1] + pair[3],
    }


def butterfly_partition() -> CredalPartition:
    """Return the normalised ECM partition of eleven objects, with the cluster of object 4 as second cluster."""
    model = ECM(2, focal_sets="full", beta=2.0, delta=100, random_state=0, n_jobs=1)
    model.fit(load_butterfly().data[:11])
    masses = model.credal_partition_.normalize().mass([(0,), (1,), (0, 1)])
    if masses[3, 1] > masses[3, 0]:
        order = [0, 1, 2]
    else:
        order = [1, 0, 2]
    return CredalPartition(
        masses[:, order], FocalSets.simple(2, empty=False), frame=NAMES[:2]
    )


def butterfly() -> dict[str, Any]:
    """Return the ECM masses of objects 4 and 5."""
    return {"masses": butterfly_partition().masses[[3, 4]].tolist()}


@experiment(
    PAPER, "Figures 1 and 2", "the butterfly: masses and relational representation"
)
def figures_1_and_2(run: Run) -> None:
    """ECM with two clusters on eleven objects, normalised.

    Objects are numbered from zero in the first figure and
    sorted by cluster in the second one (the paper: in the order of their numbers)."""
    partition = butterfly_partition()
    run.figure(
        "masses",
        draw_masses(partition.masses, partition.focal_sets, partition.frame),
        "Figure 1b: the object in the middle has most of its mass on both clusters.",
    )
    run.figure(
        "pairs",
        draw_relations(partition),
        "Figure 2: masses of the pairs, and plausibility of the same cluster.",
    )


@experiment(PAPER, "Example 2", "do objects 4 and 5 of the butterfly belong together?")
def example_2(run: Run) -> None:
    """ECM with two clusters on eleven objects (the butterfly without its outlier), normalised.

    Then equation (2). The
    first rows start from the masses that the paper prints, the last rows from ours."""
    (ecm,) = run.each(butterfly, [{}], alone=True)
    table = run.table("", "", quantity="value", short=None, form=".4f")
    for name, value in relation(OBJECTS_4_AND_5).items():
        table.add("from the printed masses", name, paper=RELATION[name], ours=value)
    for number, printed, ours in zip(
        (4, 5), OBJECTS_4_AND_5, ecm["masses"], strict=True
    ):
        for members, theirs, value in zip(
            ("{ω1}", "{ω2}", "Ω"), printed, ours, strict=True
        ):
            table.add(f"ECM, object {number}", members, paper=theirs, ours=value)
    for name, value in relation(ecm["masses"]).items():
        table.add("from our masses", name, paper=RELATION[name], ours=value)


def thirty_objects(seed: int) -> np.ndarray:
    """Draw thirty objects from three close spherical clusters."""
    rng = np.random.default_rng(seed)
    return MEANS[rng.integers(3, size=30)] + np.sqrt(VARIANCE) * rng.normal(
        size=(30, 2)
    )


def three_gaussians(seed: int, n_bootstraps: int) -> dict[str, Any]:
    """Fit BootClus to thirty objects."""
    X = thirty_objects(seed)
    truth = softmax(-((X[:, None] - MEANS) ** 2).sum(axis=2) / (2 * VARIANCE), axis=1)
    model = BootClus(
        3,
        focal_sets="pairs",
        mixture="EII",
        n_bootstraps=n_bootstraps,
        random_state=seed,
        n_jobs=1,
    ).fit(X)
    partition = model.credal_partition_
    ambiguous = np.flatnonzero(
        partition.focal_sets.cardinality[partition.masses.argmax(axis=1)] == 2
    )
    return {
        "ambiguous": ambiguous.tolist(),
        "n_ambiguous": len(ambiguous),
        "X": X.tolist(),
        "partition": partition_as_lists(partition),
        "pairs": pairs_as_lists(model, truth),
        "shown": _four_pairs(model, X, truth),
    }


def _four_pairs(model: BootClus, X: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Select four pairs by the length of their intervals, from short to long."""
    intervals = model.intervals_
    length = intervals.upper - intervals.lower
    order = np.argsort(length)
    pairs = intervals.pairs[
        order[[len(order) // 3, len(order) // 2, -len(order) // 6, -1]]
    ]
    masses = model.credal_partition_.relational(pairs).masses
    return {
        "values": model.pair_probabilities(X, pairs).round(4).tolist(),
        "pairs": pairs.tolist(),
        "intervals": model.pair_intervals(X, pairs).tolist(),
        "beliefs": np.column_stack([masses[:, 1], 1 - masses[:, 2]]).tolist(),
        "probability": np.einsum(
            "pc,pc->p", truth[pairs[:, 0]], truth[pairs[:, 1]]
        ).tolist(),
    }


@experiment(
    PAPER, "Table 1", "three close Gaussians (Examples 3 and 4, Figures 4 to 6)"
)
def table_1(run: Run) -> None:
    """Means (0, 1), (1, 0), (1, 1), variances 0.1.

    Model EII, level 0.9, single clusters and pairs, B = 1,000. The
    paper states 20 objects but mentions object 29, so we use 30. Its sample is not given, so only
    the type of result can be compared: a few objects have most of their mass on a pair of clusters
    (in the paper objects 3, 10 and 22, with 0.845 and 0.587 on {ω2, ω3} and 0.415 on {ω1, ω3})."""
    n_bootstraps = run.choose(1000, 200)
    found = run.each(
        three_gaussians,
        [{"seed": seed, "n_bootstraps": n_bootstraps} for seed in run.seeds(20, 4)],
    )
    counted = run.table(
        "samples",
        quantity="objects ambiguous between two clusters",
        short=None,
        form=".1f",
    )
    counted.add(
        f"{len(found)} of 30 objects",
        paper=3,
        ours=summary(found, "n_ambiguous"),
        seconds=found[0]["seconds"],
    )
    number, first = next((k, f) for k, f in enumerate(found) if f["n_ambiguous"])
    partition = partition_of(first["partition"])
    table = run.table(
        f"object (sample with seed {number})",
        "set",
        quantity="mass",
        short=None,
        form=".3f",
    )
    certain = [i for i in range(30) if i not in first["ambiguous"]][:3]
    for i in sorted(first["ambiguous"][:3] + certain):
        for members, mass in zip(
            partition.focal_sets, partition.masses[i], strict=True
        ):
            if mass >= 0.0005:
                table.add(i + 1, set_name(members, NAMES), ours=float(mass))
    shown = PairProbabilityDisplay(
        **{k: np.array(v) for k, v in first["shown"].items()}
    ).plot()
    run.figure(
        "pairs",
        shown.figure_,
        "Four pairs (Figure 4): probability of the same cluster in bootstrap fits.",
    )
    fit = calibration(first["pairs"])
    run.figure(
        "fit",
        fit.figure_,
        "Belief and plausibility against the bounds of the 90 % intervals (Figure 5).",
    )
    drawn = CredalPartitionDisplay.from_partition(
        partition, np.array(first["X"]), cluster_names=NAMES
    )
    run.figure(
        "partition",
        drawn.figure_,
        "The partition (Figure 6): objects between clusters are assigned to pairs.",
    )
