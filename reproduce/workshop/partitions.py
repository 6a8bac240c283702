"""Credal partitions: the relational representation and the butterfly."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM, EVCLUS
from dempster.datasets import load_butterfly
from dempster.plot import CredalPartitionDisplay, ShepardDisplay
from reproduce.runner import Run, experiment
from reproduce.workshop import PAPER

# Masses of three objects on the empty set, cluster 1, cluster 2 and both, and masses of the pairs,
# as printed.
OBJECTS = [[0.3, 0.6, 0.1, 0.0], [0.0, 0.7, 0.1, 0.2], [0.0, 0.1, 0.6, 0.3]]
PAIRS = {
    (0, 1): (0.30, 0.43, 0.13, 0.14),
    (0, 2): (0.30, 0.12, 0.37, 0.21),
    (1, 2): (0.00, 0.13, 0.43, 0.44),
}
BUTTERFLY = {
    3: (0, 1, 0, 0),
    5: (0, 0.5, 0, 0.5),
    6: (0, 0, 0, 1),
    12: (0.9, 0, 0.1, 0),
}


@experiment(PAPER, "Relational representation", "three objects")
def relational(run: Run) -> None:
    """Mass functions of pairs of objects (same or different cluster), computed from mass functions of three objects."""
    partition = CredalPartition(np.array(OBJECTS), FocalSets.full(2))
    masses = partition.relational(list(PAIRS)).masses.tolist()
    table = run.table("pair", "set", quantity="mass", short=None)
    for (pair, printed), found in zip(PAIRS.items(), masses, strict=True):
        for words, paper, ours in zip(
            ("∅", "same", "different", "unknown"), printed, found, strict=True
        ):
            table.add(f"{pair[0] + 1}, {pair[1] + 1}", words, paper=paper, ours=ours)


@experiment(PAPER, "Butterfly", "EVCLUS and ECM")
def butterfly(run: Run) -> None:
    """Eleven objects in the shape of a butterfly and an outlier, two clusters, all sets.

    EVCLUS with d0 = 11, ECM with
    δ = 5. The printed masses are an illustration, and the slides do not name the method. The table
    therefore compares the pattern: object 3 is certain, object 5 leans to one cluster, object 6 is
    between the wings, and object 12 is an outlier."""
    X = load_butterfly().data
    models = {
        "EVCLUS": EVCLUS(2, focal_sets="full", d0=11.0, random_state=0, n_jobs=1).fit(
            X
        ),
        "ECM": ECM(
            2, focal_sets="full", beta=2.0, delta=5.0, random_state=0, n_jobs=1
        ).fit(X),
    }
    table = run.table("object", "set", "ECM", quantity="mass (EVCLUS)", short=None)
    masses = {
        name: _numbered(model.credal_partition_.masses)
        for name, model in models.items()
    }
    for number, printed in BUTTERFLY.items():
        for k, (words, paper) in enumerate(
            zip(("∅", "{1}", "{2}", "{1, 2}"), printed, strict=True)
        ):
            ours = {name: float(of[number - 1, k]) for name, of in masses.items()}
            table.add(
                number,
                words,
                f"{ours['ECM']:.2f}",
                paper=float(paper),
                ours=ours["EVCLUS"],
            )
    run.figure(
        "evclus",
        _drawn(models, X),
        "In both results object 6 is between the wings and object 12 is an outlier",
    )


def _numbered(masses: np.ndarray) -> np.ndarray:
    """Number the cluster of object 3 first, as on the slides."""
    if masses[2, 1] > masses[2, 2]:
        return masses
    return masses[:, [0, 2, 1, 3]]


def _drawn(models: dict[str, Any], X: Any) -> Any:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(14, 4), layout="constrained")
    for ax, (name, model) in zip(panels, models.items(), strict=False):
        CredalPartitionDisplay.from_estimator(model, X, ax=ax, title=name)
    ShepardDisplay.from_estimator(
        models["EVCLUS"], ax=panels[2], title="EVCLUS: conflict wanted and found"
    )
    return figure
