"""Fits for Figures 23 to 26, extended: methods of the library with their defaults."""

from __future__ import annotations

import time
from typing import Any

from sklearn.metrics import adjusted_rand_score

from dempster.cluster import (
    BPEC,
    CCM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    RECM,
    ECMdd,
    EKNNClus,
    WECMdd,
)
from dempster.dissimilarity import DissimilarityPCA
from reproduce.data import table as data_of
from reproduce.nn_evclus.attribute_fits import LARGEST
from reproduce.nn_evclus.planes import place

CLASSES: dict[str, Any] = {
    "EVCLUS": EVCLUS,
    "NN-EVCLUS": NNEVCLUS,
    "ECM": ECM,
    "CCM": CCM,
    "BPEC": BPEC,
    "sECMdd": ECMdd,
    "wECMdd": WECMdd,
    "MECM": MECM,
    "RECM": RECM,
    "EGMM": EGMM,
    "EK-NNclus": EKNNClus,
}


def defaults(
    data: str, method: str, seed: int, standardise: bool = True
) -> dict[str, Any]:
    """Fit once with the defaults of the library, on attributes or (Protein) on dissimilarities."""
    X, y = data_of(data, standardise=standardise)
    settings: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    if method != "EK-NNclus":  # EK-NNclus estimates the number of clusters.
        settings["n_clusters"] = int(y.max()) + 1
    if (
        method == "MECM" and data in LARGEST
    ):  # The default of the library from 5001 objects on.
        settings["n_candidates"] = 500
    inputs: dict[str, Any] = {"X": X}
    began = time.process_time()
    # The network needs attributes; these are the paper's.
    if data == "Protein" and method == "NN-EVCLUS":
        inputs = {"X": DissimilarityPCA(3).fit_transform(X), "dissimilarities": X}
    elif data == "Protein":
        settings["metric"] = "precomputed"
    partition = CLASSES[method](**settings).fit(**inputs).credal_partition_
    seconds = time.process_time() - began
    return {
        "ari": float(adjusted_rand_score(y, partition.labels)),
        **place(partition, y),
        "clusters": partition.n_clusters,
        "seconds": seconds,
    }
