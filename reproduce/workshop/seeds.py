"""Seeds: hard, fuzzy, rough and evidential partitions on one map, and their combination."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM, EVCLUS, ECMdd, RoughKMeans
from dempster.partition import (
    PartitionMap,
    combine_partitions,
    credal_rand_index,
    embed_partitions,
)
from dempster.plot import CredalPartitionDisplay, PartitionMapDisplay
from reproduce.data import table as load
from reproduce.runner import Run, experiment
from reproduce.workshop import PAPER

COMBINED = ("k-means", "complete linkage", "fuzzy c-means", "fuzzy medoids")
ROUGH = {"rough k-means, Peters": "peters", "rough k-means, pi": "pi"}


def partitions(X: np.ndarray) -> dict[str, CredalPartition]:
    """Fit the methods of the slides.

    Fuzzy c-means and fuzzy medoids are ECM and ECMdd with single clusters.
    """
    singles = FocalSets.simple(3, empty=False, omega=False)
    shared: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    means = KMeans(3, n_init=10, random_state=0).fit(X)
    # Ten times the mean squared distance to a mean, as square.
    delta = float(np.sqrt(10 * means.inertia_ / len(X)))
    models: dict[str, Any] = {
        "ECM": ECM(
            3,
            focal_sets=FocalSets.pairs(3, omega=False),
            beta=2.0,
            delta=delta,
            **shared,
        ),
        "EVCLUS simple": EVCLUS(3, focal_sets="simple", d0_quantile=0.8, **shared),
        "EVCLUS full": EVCLUS(3, focal_sets="full", d0_quantile=0.8, **shared),
    }
    evidential = {
        name: model.fit(X).credal_partition_ for name, model in models.items()
    }
    found = dict(evidential)
    for name, partition in evidential.items():
        found[f"{name}, hard"] = CredalPartition.from_hard(partition.labels)
        found[f"{name}, fuzzy"] = CredalPartition.from_fuzzy(
            partition.plausibility_transform()
        )
        found[f"{name}, rough"] = CredalPartition.from_rough(
            partition.assignment("interval_dominance", keep_outliers=False)
        )
    found["k-means"] = CredalPartition.from_hard(means.labels_)
    found["complete linkage"] = CredalPartition.from_hard(
        AgglomerativeClustering(3, linkage="complete").fit(X).labels_
    )
    found["fuzzy c-means"] = (
        ECM(3, focal_sets=singles, beta=2.0, **shared).fit(X).credal_partition_
    )
    found["fuzzy medoids"] = (
        ECMdd(3, focal_sets=singles, **shared).fit(X).credal_partition_
    )
    for name, rule in ROUGH.items():
        found[name] = RoughKMeans(3, rule=rule, **shared).fit(X).credal_partition_
    return found


def compare() -> dict[str, Any]:
    """Compute the map and combine hard, fuzzy and rough partitions by Dubois and Prade's rule."""
    X, y = load("Seeds")
    found = partitions(X)
    smaller, combined = (
        combine_partitions(
            [found[name] for name in names], "dubois_prade", random_state=0
        )
        for names in (COMBINED, (*COMBINED, *ROUGH))
    )
    found["combined"] = combined
    drawn = embed_partitions(list(found.values()), list(found))
    names = ("k-means", "fuzzy c-means", "rough k-means, Peters", "combined")
    shown = {name: np.array(found[name].assignment()).tolist() for name in names}
    return {
        "coordinates": drawn.coordinates.tolist(),
        "dissimilarity": drawn.dissimilarity.tolist(),
        "stress": drawn.stress,
        "names": drawn.names,
        "ari": {
            name: adjusted_rand_score(y, partition.labels)
            for name, partition in found.items()
        },
        "nonspecificity": {
            name: partition.nonspecificity_index() for name, partition in found.items()
        },
        "ambiguous": {
            name: len(partition.ambiguous) for name, partition in found.items()
        },
        "index": combined.metadata["credal_rand_index"],
        "agreement": credal_rand_index(smaller, combined),
        "shown": shown,
    }


@experiment(PAPER, "Seeds", "a map of partitions and a combination")
def seeds(run: Run) -> None:
    """Standardised attributes.

    Distances on the map are one minus the credal Rand index, which compares partitions of
    any type; the slides show the map and the combination only as pictures. Rough k-means has the
    rules of Peters (2006) and (2014), with default parameters; other rough partitions are derived
    from the evidential ones. Two hard, two fuzzy and two rough partitions are combined by Dubois
    and Prade's rule; objects on which they contradict each other become ambiguous. The slides show
    only hard and fuzzy partitions beside the combination; the rough ones do not change it, because
    they nowhere contradict k-means."""
    (result,) = run.each(compare, [{}])
    drawn = PartitionMap(
        np.array(result["coordinates"]),
        np.array(result["dissimilarity"]),
        result["stress"],
        result["names"],
    )
    caption = (
        "The type of a partition matters more than the method: hard partitions are at the bottom left, rough ones "
        "above them, fuzzy ones at the bottom right, evidential ones on the right"
    )
    run.figure("map", PartitionMapDisplay.from_map(drawn).figure_, caption)
    run.figure(
        "combination",
        _drawn(result),
        "Objects on which the partitions disagree become ambiguous (right)",
    )
    table = run.table("partition", "N*", "ambiguous objects")
    for name in result["names"]:
        table.add(
            name,
            f"{result['nonspecificity'][name]:.2f}",
            result["ambiguous"][name],
            ours=result["ari"][name],
        )
    run.text(
        f"Credal Rand index of the combined partition and the combined relation: {result['index']:.3f}; of the "
        f"combined partition and the combination without the two rough ones: {result['agreement']:.3f}."
    )


def _drawn(result: dict[str, Any]) -> Any:
    import matplotlib.pyplot as plt
    from sklearn.decomposition import PCA

    X, _ = load("Seeds")
    points = PCA(2).fit_transform(X)
    figure, panels = plt.subplots(1, 4, figsize=(19, 4.6), layout="constrained")
    for ax, (name, members) in zip(panels, result["shown"].items(), strict=True):
        axes = ("first component", "second component")
        display = CredalPartitionDisplay(
            points=points, assignment=np.array(members), axis_names=axes
        )
        display.plot(ax=ax, title=name, legend=name == "combined")
    return figure
