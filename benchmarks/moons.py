"""Command ``python -m benchmarks.moons``: compare HDBSCAN and dempster on two moons and write a table of OTHER.md.

The table has the mean adjusted Rand index of the labeled objects, over ten data sets for each level
of noise, and the mean share of labeled objects. Noise of HDBSCAN and outliers of dempster are not
labeled. The program takes some minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks.other import write_table
from dempster.cluster import EVCLUS, CredalClustering

N_OBJECTS = 500
SEEDS = range(10)
NOISE = (0.05, 0.08, 0.12)
METHODS: dict[str, Any] = {
    # min_cluster_size is 5, which is also a hundredth of the objects.
    "HDBSCAN()": HDBSCAN(copy=True),
    "HDBSCAN(min_cluster_size=25)": HDBSCAN(min_cluster_size=25, copy=True),
    "CredalClustering()": CredalClustering(random_state=0),
    'EVCLUS(2, shape="connected")': EVCLUS(2, shape="connected", random_state=0),
}


def evaluate(method: Any, noise: float, seed: int) -> tuple[float, float]:
    """Return the adjusted Rand index of the labeled objects and their share."""
    X, moon = make_moons(N_OBJECTS, noise=noise, random_state=seed)
    model = method.fit(X)
    partition = getattr(model, "credal_partition_", None)
    if partition is None:
        labels = model.labels_
    else:
        labels = partition.labels_with_outliers
    is_labeled = labels >= 0
    return adjusted_rand_score(moon[is_labeled], labels[is_labeled]), float(
        is_labeled.mean()
    )


def main() -> None:
    """Write the table."""
    rows = []
    for name, method in METHODS.items():
        means = [
            np.mean([evaluate(method, noise, seed) for seed in SEEDS], axis=0)
            for noise in NOISE
        ]
        rows.append(
            [f"`{name}`", *(f"{index:.2f} ({share:.0%})" for index, share in means)]
        )
        print(*rows[-1], flush=True)
    write_table("Two moons", ["method", *(f"noise {noise}" for noise in NOISE)], rows)


if __name__ == "__main__":
    main()
