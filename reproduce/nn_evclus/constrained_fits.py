"""Fits for Figures 27 and 28 and Table 8."""

from __future__ import annotations

import time
from typing import Any

from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets
from dempster.cluster import CECM, EVCLUS, NNEVCLUS
from dempster.constraints import Constraints
from dempster.metric import PCCA
from reproduce.data import table as data_of

DATA = {"Glass": 5, "Glass with row number": 5, "Iris": 3}  # features of PCCA


def constrained(
    data: str,
    method: str,
    adapted: bool,
    number: int,
    seed: int,
    convention: str = "program",
    standardise: bool = True,
) -> dict[str, Any]:
    """Fit once with random constraints, with or without a learned metric."""
    X, y = data_of(data, standardise=standardise)
    c = int(y.max()) + 1
    pairs = Constraints.from_labels(y, number, random_state=seed)
    began = time.process_time()
    metric = PCCA(DATA[data], random_state=seed)
    if adapted and method != "NN-EVCLUS":
        features = metric.fit(X, constraints=pairs).transform(X)
    else:
        features = X
    if c <= 4:
        few = "pairs"
    else:
        few = "simple"
    if (
        method == "NN-EVCLUS"
    ):  # The inputs are the attributes; the features define the distances.
        model = NNEVCLUS(
            c,
            focal_sets=few,
            d0_quantile=0.9,
            xi=0.5,
            convention=convention,
            metric=metric if adapted else "euclidean",
            random_state=seed,
            n_jobs=1,
        ).fit(X, constraints=pairs)
    elif method == "CEVCLUS":
        model = EVCLUS(
            c,
            focal_sets=few,
            d0_quantile=0.9,
            xi=0.5,
            convention=convention,
            random_state=seed,
            n_jobs=1,
        )
        model.fit(features, constraints=pairs)
    else:
        family = FocalSets.pairs(c, omega=False) if c <= 3 else "selected"
        model = CECM(c, focal_sets=family, xi=0.5, convention=convention, delta=5, n_init=5, random_state=seed,
                     n_jobs=1).fit(features, constraints=pairs)  # fmt: skip
    return {
        "ari": float(adjusted_rand_score(y, model.labels_)),
        "seconds": time.process_time() - began,
    }
