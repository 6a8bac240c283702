"""Command ``python -m benchmarks.nnevclus_gpu``: compare a GPU with all cores and write a table of OTHER.md.

`NNEVCLUS` clusters the objects of `benchmarks.scale.data`, with the labels and masses of all objects,
for several seeds. The first use of the GPU is not measured. The program takes two minutes.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.other import write_table
from benchmarks.scale import data
from dempster.cluster import NNEVCLUS

SIZES = (1_000_000, 10_000_000)
SEEDS = range(3)
_FIRST = 50_000  # objects of the first fit, which initializes the GPU


class Fits(NamedTuple):
    """Means over the seeds, and the seconds of a prediction of the same objects."""

    seconds: float
    loss: float
    ari: float
    prediction: float


def measure(X: Any, device: str) -> Fits:
    """Fit X with each seed, and predict the masses of X with the last model."""
    found = []
    for seed in SEEDS:
        model = NNEVCLUS(data.CLUSTERS, device=device, random_state=seed)
        began = time.perf_counter()
        model.fit(X)
        seconds = _seconds_since(began, device)
        labels = model.labels_[: data.ROWS].tolist()
        ari = adjusted_rand_score(data.truth(0)[: len(labels)], labels)
        found.append((seconds, model.loss_, ari))
    began = time.perf_counter()
    model.predict_mass(X)
    prediction = _seconds_since(began, device)
    seconds, loss, ari = np.mean(found, axis=0)
    return Fits(seconds, loss, ari, prediction)


def _seconds_since(began: float, device: str) -> float:
    """Return the time in seconds after the GPU has finished, because calls return earlier."""
    if device != "cpu":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter() - began


def main() -> None:
    """Measure the cores, then the GPU, and write the table."""
    places = {}
    for n in SIZES:  # before torch is imported
        places[n] = {f"{os.cpu_count()} cores": measure(data.in_memory(n), "cpu")}
    import torch

    gpu = torch.cuda.get_device_name().removeprefix("NVIDIA ")
    NNEVCLUS(data.CLUSTERS, device="cuda").fit(data.in_memory(_FIRST))
    for n in SIZES:
        X = data.in_memory(n)
        places[n][f"{gpu}, X in memory"] = measure(X, "cuda")
        places[n][f"{gpu}, X a tensor"] = measure(torch.as_tensor(X).cuda(), "cuda")
    rows = []
    for n, fits in places.items():
        cores = next(iter(fits.values()))
        for where, of_place in fits.items():
            rows.append(
                [
                    f"{n:,}",
                    where,
                    f"{of_place.seconds:.2f} s",
                    f"{cores.seconds / of_place.seconds:.1f}",
                    f"{of_place.prediction:.2f} s",
                    f"{of_place.loss:.5f}",
                    f"{of_place.ari:.4f}",
                ]
            )
    heads = ["objects", "where", "fit", "speedup", "prediction", "loss", "ARI"]
    write_table("NNEVCLUS on a GPU", heads, rows)


if __name__ == "__main__":
    main()
