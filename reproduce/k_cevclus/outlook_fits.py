"""Fits of CECM and EVCLUS with the answers to questions about random or suggested pairs."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import CECM
from dempster.constraints import Constraints, suggest_pairs
from reproduce.k_cevclus.settings import SETTINGS, fit, objects, wrong_share


def cluster(
    method: str, name: str, X: np.ndarray, known: Constraints, seed: int
) -> Any:
    """Fit CECM with defaults except for the metric, or EVCLUS with the settings of the paper."""
    if method == "EVCLUS":
        return fit(name, X, known, seed, n_init=1)
    if method.endswith("Euclidean"):
        metric = "euclidean"
    else:
        metric = "adaptive"
    return CECM(
        SETTINGS[name].n_clusters, metric=metric, random_state=seed, n_jobs=1
    ).fit(X, constraints=known)


def answers(
    name: str,
    method: str,
    selection: str,
    n_neighbors: int,
    seed: int,
    counts: list[int],
    closure: bool = False,
) -> dict[str, Any]:
    """Return results for increasing numbers of correct answers to questions about random or suggested pairs.

    The questions are suggested from the last partition. The transitive closure of the answers, or
    their expansion to neighbors, is used in the fit only.
    """
    X, y = objects(name)
    known = Constraints()
    model = None
    found = []
    for count in counts:
        if selection == "random":
            known = Constraints.from_labels(y, count, random_state=seed)
        elif model is not None:
            pairs = suggest_pairs(
                model.credal_partition_,
                count - len(known),
                constraints=known,
                random_state=seed,
            )
            known = known | Constraints.from_pairs(pairs, y)
        used = (known.closure() if closure else known).expand(
            X, n_neighbors, metric="euclidean"
        )
        began = process_time()
        model = cluster(method, name, X, used, seed)
        found.append(
            {
                "ari": float(adjusted_rand_score(y, model.labels_)),
                "time": process_time() - began,
                "constraints": len(used),
                "wrong": wrong_share(used, y),
            }
        )
    return {key: [one[key] for one in found] for key in found[0]}


def representatives(name: str, method: str, seed: int) -> dict[str, Any]:
    """Count the clusters whose representative, the object of largest mass, is not of the largest class of the cluster.

    `suggest_pairs` compares uncertain objects with these representatives.
    """
    X, y = objects(name)
    partition = cluster(method, name, X, Constraints(), seed).credal_partition_
    wrong = 0
    for k in range(partition.n_clusters):
        members = np.flatnonzero(partition.labels == k)
        representative = members[partition.singleton_belief[members, k].argmax()]
        wrong += int(y[representative] != np.bincount(y[members]).argmax())
    return {"wrong": wrong, "clusters": partition.n_clusters}
