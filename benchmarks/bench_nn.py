"""NN-EVCLUS: time of mini-batch epochs, and ten million objects on a GPU and on the processor."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, at_most, benchmark, memory, skipped, timings

_CLUSTERS = 15
_NO_GPU = "no GPU that torch can use"


def _overlapping(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate fifteen touching Gaussian clusters in the plane as float32, with the cluster of each object."""
    rng = np.random.default_rng(0)
    row, column = np.divmod(np.arange(_CLUSTERS), 4)
    centres = np.column_stack([column + 0.5 * (row % 2), row]) + rng.uniform(
        -0.15, 0.15, (_CLUSTERS, 2)
    )
    label = rng.integers(_CLUSTERS, size=n)
    X = (centres[label] + rng.normal(0, 0.2, (n, 2))).astype(np.float32)
    return X, label


def _estimator(device: str, threads: int | None, **keywords: Any) -> Any:
    from dempster.cluster import NNEVCLUS

    return NNEVCLUS(
        _CLUSTERS, device=device, n_jobs=threads or -1, random_state=0, **keywords
    )


def _fit(n: int, device: str, threads: int | None) -> Task:
    """Fit with default parameters, then predict the masses of all objects as if they were new."""
    from sklearn.metrics import adjusted_rand_score

    X, y = _overlapping(n)
    small = min(n, 20_000)
    # Initialize the device.
    _estimator(device, threads, max_iter=20).fit(X[:small]).predict_mass(X[:small])

    def work() -> tuple[float, float, Any]:
        began = time.perf_counter()
        model = _estimator(device, threads).fit(X)
        fitted = time.perf_counter()
        again = model.predict_mass(X)
        predicted = time.perf_counter()
        assert len(again) == n
        return fitted - began, predicted - fitted, model

    def judge(result: tuple[float, float, Any]) -> dict[str, Any]:
        fit, predict, model = result
        some = slice(min(n, 1_000_000))
        return {
            "fit": fit,
            "predict": predict,
            "loss": model.loss_,
            "quality": f"loss {model.loss_:.5f}, ARI {adjusted_rand_score(y[some], model.labels_[some]):.3f}, "
            f"{model.n_iter_} epochs",
        }

    return Task(work, judge)


def _epochs(n: int) -> Task:
    """Train five epochs of mini-batches from random weights."""
    X, _ = _overlapping(n)
    _estimator("cpu", 1, max_iter=10, init="random").fit(X[:5000])
    return Task(lambda: _estimator("cpu", 1, max_iter=50, init="random").fit(X))


def _gpu() -> str | None:
    """Return the name of the GPU, or None if torch cannot use one."""
    if find_spec("torch") is None:
        return None
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return None


@benchmark
def epoch(quick: bool) -> list[Row]:
    """Measure the time of mini-batches."""
    if quick:
        n = 20_000
    else:
        n = 100_000
    timing = timings([(_epochs, n)], rounds=3)[0]
    what = f"{n:,} x 2, c = {_CLUSTERS}, batches of 512, one thread"
    return [Row("NN-EVCLUS five epochs", what, timing.best, timing.noise)]


@benchmark
def large(quick: bool) -> list[Row]:
    """Compare a GPU with two threads of the processor on many objects."""
    gpu_name = _gpu()
    if quick:
        n = 100_000
    elif gpu_name:
        n = 10_000_000
    else:
        n = 1_000_000
    what = f"{n:,} x 2, float32, c = {_CLUSTERS}"
    peak, cpu = memory(_fit, n, "cpu", 2)
    rows = [
        Row(
            "NN-EVCLUS fit",
            f"{what}, two threads",
            cpu["fit"],
            peak_bytes=peak,
            quality=cpu["quality"],
        ),
        Row("NN-EVCLUS predict_mass", f"{what}, two threads", cpu["predict"]),
    ]
    if gpu_name is None:
        return [*rows, skipped("NN-EVCLUS on a GPU", _NO_GPU)]
    peak, gpu = memory(_fit, n, "cuda", None)
    ratio = f"{what}, {gpu_name}; ratio: times faster than two threads"
    quality = (
        f"{gpu['quality']}; loss {gpu['loss'] / cpu['loss']:.3f} of the processor's"
    )
    rows += [
        Row(
            "NN-EVCLUS fit",
            ratio,
            gpu["fit"],
            None,
            peak,
            quality,
            cpu["fit"] / gpu["fit"],
        ),
        Row(
            "NN-EVCLUS predict_mass",
            ratio,
            gpu["predict"],
            ratio=cpu["predict"] / gpu["predict"],
        ),
    ]
    if n == 10_000_000:
        rows[2].target, rows[2].met = at_most(gpu["fit"], 60, " s").values()
        rows[3].target, rows[3].met = at_most(gpu["predict"], 3, " s").values()
    return rows
