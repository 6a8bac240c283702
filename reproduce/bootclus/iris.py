"""Section 4.2, Iris: the overlap of versicolor and virginica."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets
from dempster.cluster import ECM, EVCLUS, BootClus
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.partition import nearest_pairs
from dempster.plot import CredalPartitionDisplay
from reproduce import data
from reproduce.bootclus import PAPER
from reproduce.bootclus.written import (
    calibration,
    class_of_each_cluster,
    compare_counts,
    confusion,
    pairs_as_lists,
    partition_as_lists,
    partition_of,
    sets_of_classes,
)
from reproduce.displays import draw_mixture
from reproduce.runner import Run, experiment, summary

CLASSES = ("setosa", "versicolor", "virginica")
SHORT = ("se", "ve", "vi")
SETS = ("{se}", "{ve}", "{vi}", "{se, ve}", "{se, vi}", "{ve, vi}")
TABLE_5 = {
    69: (0.012, 0, 0.007, 0, 0, 0.991),
    71: (0, 0.005, 0.077, 0, 0, 0.918),
    73: (0, 0.003, 0.202, 0, 0, 0.795),
    78: (0, 0.051, 0.052, 0, 0, 0.897),
    84: (0, 0, 0.882, 0, 0, 0.117),
}
# Set: numbers of setosa, versicolor and virginica.
TABLE_6 = {
    "{se}": [50, 0, 0],
    "{ve}": [0, 38, 0],
    "{vi}": [0, 1, 47],
    "{ve, vi}": [0, 11, 3],
}
TABLE_7 = {
    "{se}": [50, 0, 0],
    "{ve}": [0, 34, 1],
    "{vi}": [0, 0, 32],
    "{ve, vi}": [0, 16, 17],
}
TABLE_8 = {
    "∅": [2, 0, 2],
    "{se}": [48, 0, 0],
    "{ve}": [0, 32, 6],
    "{vi}": [0, 10, 33],
    "{ve, vi}": [0, 8, 9],
}


def bootstrap(seed: int, n_bootstraps: int) -> dict[str, Any]:
    """Fit three clusters with a covariance model selected by BIC and 90 % intervals."""
    X, y = data.table("Iris", standardise=False)
    selected = ParsimoniousGaussianMixture(3, n_jobs=1).fit(X).model_
    settings: dict[str, Any] = {
        "focal_sets": "pairs",
        "n_bootstraps": n_bootstraps,
        "random_state": seed,
        "n_jobs": 1,
    }
    model = BootClus(3, mixture=selected, **settings).fit(X)
    hard = model.mixture_.predict(X)
    stands_for = np.array(class_of_each_cluster(hard, y))
    sets = sets_of_classes(model.credal_partition_, y, SHORT)
    columns = [sets.index(name) for name in SETS]
    return {
        "model": model.mixture_.model_,
        "ARI of the mixture": adjusted_rand_score(y, hard),
        "ARI": adjusted_rand_score(y, model.labels_),
        "wrong": (np.flatnonzero(stands_for[hard] != y) + 1).tolist(),
        "masses": {
            number: model.credal_partition_.masses[number - 1, columns].tolist()
            for number in TABLE_5
        },
        "counts": confusion(model.credal_partition_, y, SHORT),
        "pairs": pairs_as_lists(model),
        "partition": partition_as_lists(model.credal_partition_),
        "stands for": class_of_each_cluster(model.labels_, y),
    }


def fit_ecm(seed: int, tol: float) -> ECM:
    """Fit ECM with single clusters, then add the pair of mutually nearest clusters, without the frame."""
    X, _ = data.table("Iris", standardise=False)
    settings: dict[str, Any] = {
        "alpha": 1,
        "beta": 2,
        "delta": 100,
        "tol": tol,
        "random_state": seed,
        "n_jobs": 1,
    }
    first = ECM(
        3, focal_sets=FocalSets.simple(3, omega=False), n_init=5, **settings
    ).fit(X)
    family = FocalSets.with_pairs(
        3, nearest_pairs(first.credal_partition_), omega=False
    )
    return ECM(3, focal_sets=family, init=first.cluster_centers_, **settings).fit(X)


def two_steps_of_ecm(seed: int, tol: float) -> dict[str, Any]:
    """Return the classes of the sets of ECM, and the difference between the two largest masses of each object."""
    _, y = data.table("Iris", standardise=False)
    partition = fit_ecm(seed, tol).credal_partition_
    sets = sets_of_classes(partition, y, SHORT)
    best = np.sort(partition.masses, axis=1)[:, -2:]
    return {
        "counts": confusion(partition, y, SHORT),
        "chosen": [sets[s] for s in partition.masses.argmax(axis=1)],
        "lead": (best[:, 1] - best[:, 0]).tolist(),
    }


def fit_k_evclus(seed: int) -> EVCLUS:
    """Fit single clusters with 50 random partners of each object, then add the selected pair."""
    X, _ = data.table("Iris")
    return EVCLUS(
        3,
        focal_sets="selected",
        sampling="random",
        n_partners=50,
        d0_quantile=0.9,
        random_state=seed,
        n_jobs=1,
    ).fit(X)


def k_evclus(seed: int) -> dict[str, Any]:
    """Return the classes of the sets of k-EVCLUS."""
    _, y = data.table("Iris")
    return {"counts": confusion(fit_k_evclus(seed).credal_partition_, y, SHORT)}


@experiment(PAPER, "Figures 11, 14 and 15", "Iris: the mixture, ECM and k-EVCLUS")
def figures_11_to_15(run: Run) -> None:
    """The mixture of three components with model VEV, which BIC selects, and the partitions of Tables 7 and 8."""
    import matplotlib.pyplot as plt

    X, y = data.table("Iris", standardise=False)
    columns = ["sepal length", "sepal width", "petal length", "petal width"]
    mixture = ParsimoniousGaussianMixture(
        3, model="VEV", convention="mclust", n_jobs=1
    ).fit(X)
    run.figure(
        "mixture",
        draw_mixture(mixture, X, columns),
        "Figure 11: the mixture; the ellipses contain 50 % and 95 % of a component.",
    )
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.8), layout="constrained")
    models = (
        ("ECM", fit_ecm(0, 1e-6), X),
        ("k-EVCLUS", fit_k_evclus(0), data.table("Iris")[0]),
    )
    for ax, (title, model, rows) in zip(axes, models, strict=True):
        names = [SHORT[j] for j in class_of_each_cluster(model.labels_, y)]
        CredalPartitionDisplay.from_partition(
            model.credal_partition_, rows, cluster_names=names, ax=ax, title=title
        )
    run.figure(
        "partitions",
        figure,
        "Figures 14 and 15: partitions of ECM and of k-EVCLUS on principal components.",
    )


@experiment(PAPER, "Tables 5 and 6", "Iris by bootstrapping")
def tables_5_and_6(run: Run) -> None:
    """Three clusters, model selected by BIC, B = 1,000, level 0.9, single clusters and pairs, raw data. The mixture
    assigns five versicolor to virginica (numbers 69, 71, 73, 78 and 84); the partition assigns four
    of them to both."""
    n_bootstraps = run.choose(1000, 200)
    found = run.each(
        bootstrap,
        [{"seed": seed, "n_bootstraps": n_bootstraps} for seed in run.seeds(5)],
    )
    first = found[0]
    seconds = summary(found, "seconds").mean
    ari = run.table("partition", quantity="ARI")
    ari.add(
        f"mixture {first['model']} (paper: VEV)",
        paper=0.90,
        ours=first["ARI of the mixture"],
    )
    ari.add("largest plausibility", ours=summary(found, "ARI"), seconds=seconds)
    run.text(
        f"Objects that the mixture assigns to a wrong class: {', '.join(map(str, first['wrong']))}."
    )

    masses = run.table("object", "set", quantity="mass", short=None, form=".3f")
    for number, printed in TABLE_5.items():
        for k, members in enumerate(SETS):
            ours = summary(
                ({"m": f["masses"][str(number)][k]} for f in _string_keys(found)), "m"
            )
            if printed[k] or ours.mean >= 0.0005:
                masses.add(number, members, paper=float(printed[k]), ours=ours)
    counts = run.table(
        "class", "set of largest mass", quantity="objects", short=None, form=".1f"
    )
    worst = compare_counts(counts, TABLE_6, [f["counts"] for f in found], CLASSES)
    run.text(f"Largest difference between counts: {worst:.1f}.")

    run.figure(
        "fit",
        calibration(first["pairs"]).figure_,
        "Figure 12: fit of the masses to the intervals.",
    )
    names = [SHORT[j] for j in first["stands for"]]
    X, _ = data.table("Iris", standardise=False)
    drawn = CredalPartitionDisplay.from_partition(
        partition_of(first["partition"]), X, cluster_names=names
    )
    run.figure(
        "partition",
        drawn.figure_,
        "Figure 13: setosa is separate, versicolor and virginica overlap.",
    )


def _string_keys(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert the numbers of objects to strings, as in results loaded from JSON."""
    return [
        f | {"masses": {str(number): masses for number, masses in f["masses"].items()}}
        for f in found
    ]


@experiment(PAPER, "Tables 7 and 8", "Iris by ECM and by k-EVCLUS")
def tables_7_and_8(run: Run) -> None:
    """ECM: α = 1, β = 2, δ = 100, raw data.

    k-EVCLUS: k = 50, standardised data, d0 at the 0.9 quantile. Both methods
    run in two steps and select the pair {ve, vi}."""
    ecm = run.each(
        two_steps_of_ecm, [{"seed": 0, "tol": tol} for tol in (1e-4, 1e-6)], alone=True
    )
    for tol, result in zip(("1e-4", "1e-6, the default"), ecm, strict=True):
        run.text(f"ECM, stopped at a relative change of the objective of {tol}:")
        table = run.table(
            "class", "set of largest mass", quantity="objects", short=None, form=".0f"
        )
        compare_counts(table, TABLE_7, [result["counts"]], CLASSES)
    loose, tight = ecm
    moved = [
        i
        for i in range(len(loose["chosen"]))
        if loose["chosen"][i] != tight["chosen"][i]
    ]
    run.text(
        "The tolerance changes the set of these objects: "
        + "; ".join(
            f"number {i + 1} from {loose['chosen'][i]} to {tight['chosen'][i]} (the final masses on the two differ by "
            f"{tight['lead'][i]:.3f})"
            for i in moved
        )
        + "."
    )
    run.text("k-EVCLUS:")
    found = run.each(k_evclus, [{"seed": seed} for seed in run.seeds(5)], alone=True)
    table = run.table(
        "class", "set of largest mass", quantity="objects", short=None, form=".1f"
    )
    worst = compare_counts(table, TABLE_8, [f["counts"] for f in found], CLASSES)
    run.text(
        f"Largest difference between counts: {worst:.1f}; {summary(found, 'seconds').mean:.2g} s for one fit."
    )
