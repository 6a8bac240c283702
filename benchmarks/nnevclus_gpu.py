"""Command ``python -m benchmarks.nnevclus_gpu``: times of NNEVCLUS on the cores and on a GPU, a table of OTHER.md.

Objects with eight attributes (float32) in ten Gaussian clusters, with default parameters. The first
use of the GPU is not counted. The program needs torch and a GPU.
"""

from __future__ import annotations

import os
import time
from typing import Any

import torch
from sklearn.datasets import make_blobs

from benchmarks.other import write_table
from dempster.cluster import NNEVCLUS

NUMBERS = (1_000_000, 10_000_000)


def measure(X: Any, device: str) -> tuple[float, float]:
    """Return the times of a fit and of a prediction of the same objects."""
    start = time.perf_counter()
    model = NNEVCLUS(10, device=device, random_state=0).fit(X)
    fitted = time.perf_counter()
    model.predict_mass(X)
    torch.cuda.synchronize()
    return fitted - start, time.perf_counter() - fitted


def main() -> None:
    """Write the table."""
    gpu = torch.cuda.get_device_name().removeprefix("NVIDIA ")
    places = {
        f"{os.cpu_count()} cores": lambda X: (X, "cpu"),
        f"{gpu}, X in memory": lambda X: (X, "cuda"),
        f"{gpu}, X a tensor": lambda X: (torch.as_tensor(X, device="cuda"), "cuda"),
    }
    times: dict[str, list[float]] = {place: [] for place in places}
    NNEVCLUS(2, device="cuda").fit(make_blobs(1000)[0].astype("float32"))
    for n in NUMBERS:
        X = make_blobs(n, n_features=8, centers=10, random_state=0)[0].astype("float32")
        for place, prepare in places.items():
            fit, prediction = measure(*prepare(X))
            times[place].append(fit)
            if n == NUMBERS[-1]:
                times[place].append(prediction)
    heads = [*(f"{n:,} objects" for n in NUMBERS), f"prediction of {NUMBERS[-1]:,}"]
    rows = [
        [place, *(f"{s:.1f} s" for s in seconds)] for place, seconds in times.items()
    ]
    write_table("NNEVCLUS on a GPU", ["where", *heads], rows)


if __name__ == "__main__":
    main()
