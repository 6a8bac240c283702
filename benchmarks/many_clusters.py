"""Command ``python -m benchmarks.many_clusters``: time and memory with hundreds of clusters.

Each fit runs in a new process on one thread. The command writes a table of OTHER.md in about
fifteen minutes. ``python -m benchmarks.many_clusters gpu`` writes the table of fits on a GPU.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.cluster import HDBSCAN, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.other import write_table
from dempster.cluster import ECM, EVCLUS

N_FEATURES = 10
N_OBJECTS = (10_000, 100_000, 1_000_000)
N_CLUSTERS = (50, 100, 200, 500, 1000)
USUAL_OBJECTS = 100_000
USUAL_CLUSTERS = 200
MAX_HDBSCAN_OBJECTS = 10_000  # More objects would take several minutes.
GPU_FEATURES = 50
GPU_SIZES = ((1_000_000, 500), (10_000_000, 500), (10_000_000, 1000))
METHODS = {
    "ECM": lambda c: ECM(c, random_state=0, n_jobs=1),
    "EVCLUS": lambda c: EVCLUS(c, random_state=0, n_jobs=1),
    "MiniBatchKMeans": lambda c: MiniBatchKMeans(c, n_init=3, random_state=0),
    "HDBSCAN": lambda c: HDBSCAN(min_cluster_size=10, copy=True),
}


def simulate(n: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return objects in spherical clusters, in single precision, and their clusters."""
    rng = np.random.default_rng(0)
    centers = 2.5 * rng.normal(size=(c, N_FEATURES)).astype(np.float32)
    y = rng.integers(0, c, n)
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X += centers[y]
    return X, y


def peak_memory() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit(method: str, n: int, c: int) -> dict[str, float]:
    """Return the processor time, the increase of the peak memory and the adjusted Rand index."""
    warnings.simplefilter("ignore")
    X, y = simulate(n, c)
    model = METHODS[method](c)
    before = peak_memory()
    start = time.process_time()
    labels = model.fit(X).labels_
    seconds = time.process_time() - start
    memory = peak_memory() - before
    return {
        "seconds": seconds,
        "memory": memory,
        "rand": adjusted_rand_score(y, labels),
    }


def measure(method: str, n: int, c: int) -> dict[str, float]:
    """Return the results of `fit` in a new process."""
    command = [sys.executable, "-m", "benchmarks.many_clusters", method, str(n), str(c)]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    output = subprocess.check_output(command, env={**os.environ, **one_thread})
    return json.loads(output)


def fit_on_gpu(n: int, c: int) -> list[str]:
    """Return the row of the table for a fit of ECM to a tensor on a GPU."""
    import torch

    generator = torch.Generator("cuda").manual_seed(0)
    size = (c, GPU_FEATURES)
    centers = 2.5 * torch.randn(size, generator=generator, device="cuda")
    y = torch.randint(0, c, (n,), generator=generator, device="cuda")
    X = torch.randn((n, GPU_FEATURES), generator=generator, device="cuda")
    X += centers[y]
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    labels = torch.as_tensor(ECM(c, random_state=0).fit(X).labels_)
    seconds = time.perf_counter() - start
    memory = torch.cuda.max_memory_allocated() / 1e9
    rand = adjusted_rand_score(y.cpu(), labels.cpu())
    head = f"{n:,} objects, {c:,} clusters"
    return [head, f"{seconds:.1f} s", f"{memory:.1f} GB", f"{rand:.3f}"]


def main() -> None:
    """Write a table, or print the results of one fit."""
    if sys.argv[1:] == ["gpu"]:
        rows = [fit_on_gpu(n, c) for n, c in GPU_SIZES]
        heads = ["fit", "time", "memory of the GPU", "ARI"]
        write_table("Many clusters on a GPU", heads, rows)
        return
    if len(sys.argv) > 1:
        name, *size = sys.argv[1:]
        print(json.dumps(fit(name, *map(int, size))))
        return
    sizes = [(USUAL_OBJECTS, c) for c in N_CLUSTERS]
    sizes += [(n, USUAL_CLUSTERS) for n in N_OBJECTS if n != USUAL_OBJECTS]
    rows = []
    for n, c in sizes:
        for method in METHODS:
            if method == "HDBSCAN" and n > MAX_HDBSCAN_OBJECTS:
                continue
            found = measure(method, n, c)
            seconds = f"{found['seconds']:.1f} s"
            cells = seconds, f"{found['memory']:.0f} MB", f"{found['rand']:.3f}"
            rows.append([f"{n:,} objects, {c:,} clusters, {method}", *cells])
            print(*rows[-1], sep=" | ", flush=True)
    write_table("Many clusters", ["fit", "processor time", "memory", "ARI"], rows)


if __name__ == "__main__":
    main()
