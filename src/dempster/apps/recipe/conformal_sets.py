"""Describe the conformal sets of clusters of a recipe with a confidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.cluster import ConformalClustering
from dempster.cluster.conformal import MIN_STABILITY


def summarize_sets(conformal: ConformalClustering, sets: np.ndarray) -> dict[str, Any]:
    """Return the numbers of objects by the size of their set, the mean size and the stability."""
    size = sets.sum(axis=1)
    counts = {"one": size == 1, "several": size > 1, "none": size == 0}
    return {
        "confidence": conformal.confidence,
        **{name: int(np.count_nonzero(rows)) for name, rows in counts.items()},
        "mean_size": float(size.mean()),
        "stability": conformal.stability_,
    }


def describe_guarantee(conformal: ConformalClustering) -> str:
    """Return the coverage of the sets and its conditions."""
    return (
        "A set contains a cluster drawn from the estimated probabilities with a probability of "
        f"at least {conformal.confidence:.4g}.\nThis is a mean over all objects: those of a small "
        "cluster may get less.\nIt contains the true cluster with this probability "
        "only if the estimated probabilities are right."
    )


def describe_stability(conformal: ConformalClustering) -> str:
    """Return a sentence on the stability, with a warning if it is small."""
    text = (
        f"The mean agreement with {conformal.n_refits} refits to bootstrap samples is "
        f"{conformal.stability_:.2f} (1 is perfect)."
    )
    if conformal.stability_ < MIN_STABILITY:
        text += (
            f" Below {MIN_STABILITY}, the sets may contain the true clusters less often than "
            "the confidence states."
        )
    return text
