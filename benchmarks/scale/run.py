"""Run one measurement in a separate process: ``python -m benchmarks.scale.run '{"kind": "memory", ...}'``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale import data
from benchmarks.scale.plan import ON_GPU
from dempster.data.passes import peak_memory

__all__ = ["measure"]

_FIRST = 50_000  # objects of a first fit, which initializes the GPU for some seconds
_JUDGED = 100_000  # objects whose labels are compared with the true clusters


def measure(kind: str, method: str, n: int, folder: str) -> dict[str, Any]:
    """Measure wall and processor seconds of a fit with the labels of all objects, peak memory and the ARI."""
    with _source(kind, n, Path(folder)) as (X, of_workers):
        estimator = _estimator(method, kind)
        if kind in ON_GPU:
            _estimator(method, kind).fit(X[:_FIRST])
        before = peak_memory() or 0
        outside = _Outside()
        passes = _Passes()
        with outside.watched(), passes.counted():
            started = time.perf_counter()
            processors = time.process_time() + of_workers()
            estimator.fit(X)
            _everyones_labels(estimator, method)
            if kind == "tensor":
                _finished_on_gpu()
            seconds = time.perf_counter() - started
            processors = time.process_time() + of_workers() - processors
        after = peak_memory() or 0
        return {
            "kind": kind,
            "method": method,
            "n": n,
            "seconds": seconds,
            "processors": processors,
            "passes": passes.number,
            "peak": after,
            "rise": after - before,
            "ari": _agreement(estimator, n),
            "outside": outside.share(processors) if kind != "dask" else None,
        }


@contextmanager
def _source(
    kind: str, n: int, folder: Path
) -> Iterator[tuple[Any, Callable[[], float]]]:
    """Return X in the requested form, and a function that returns the processor seconds of the workers so far."""
    if kind in ("memory", "gpu", "beside"):
        yield data.in_memory(n), _nothing
    elif kind == "tensor":
        import torch

        yield torch.as_tensor(data.in_memory(n)).to("cuda"), _nothing
    elif kind == "parquet":
        yield str(data.parquet_folder(n, folder)), _nothing
    elif kind == "blocks":
        yield data.blocks(n), _nothing
    else:
        import dask.dataframe as dd
        from distributed import Client, LocalCluster

        path = data.parquet_folder(n, folder)
        workers = LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with workers as cluster, Client(cluster) as client:
            client.run(_imported)  # A running cluster has already done these imports.
            yield (
                dd.read_parquet(path),
                lambda: sum(client.run(time.process_time).values()),
            )


def _nothing() -> float:
    return 0.0


def _finished_on_gpu() -> None:
    """Wait until the GPU has finished, because calls return earlier."""
    import torch

    torch.cuda.synchronize()


def _imported() -> None:
    import dempster.cluster  # noqa: F401


def _estimator(method: str, kind: str) -> Any:
    c = data.CLUSTERS
    if method == "MiniBatchKMeans":
        from sklearn.cluster import MiniBatchKMeans

        return MiniBatchKMeans(c, n_init=10, random_state=0)
    if method == "Dask-ML KMeans":
        from dask_ml.cluster import KMeans

        return KMeans(c, random_state=0)
    from dempster import cluster

    if kind == "gpu":
        more = {"device": "cuda"}
    else:
        more = {}
    return getattr(cluster, method)(c, random_state=0, **more)


def _everyones_labels(estimator: Any, method: str) -> None:
    """Compute the labels of all objects, which a fit on blocks postpones.

    Count them without storing them.
    """
    if method == "Dask-ML KMeans":
        estimator.labels_.map_blocks(_counts, dtype=np.int64, chunks=(1,)).compute()
    elif hasattr(estimator, "credal_partition_") and hasattr(
        estimator.credal_partition_, "counts"
    ):
        estimator.credal_partition_.counts()


def _counts(labels: np.ndarray) -> np.ndarray:
    return np.array([len(labels)])


def _agreement(estimator: Any, n: int) -> float:
    from sklearn.metrics import adjusted_rand_score

    X = data.block(0, min(n, data.ROWS))
    y = data.truth(0, min(n, data.ROWS))
    if hasattr(estimator, "feature_names_in_"):
        import pandas as pd

        X = pd.DataFrame(X, columns=list(estimator.feature_names_in_))
    return float(
        adjusted_rand_score(y[:_JUDGED], np.asarray(estimator.predict(X[:_JUDGED])))
    )


class _Passes:
    """Count the passes that a fit logs."""

    number = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        import logging

        log = logging.getLogger("dempster")
        handler = logging.Handler()
        handler.emit = self._one_more  # type: ignore[method-assign]
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        yield
        log.removeHandler(handler)

    def _one_more(self, record: Any) -> None:
        self.number += "a pass over X begins" in record.getMessage()


class _Outside:
    """Return the proportion of time outside of the c-means kernels: reading, copies, Python."""

    def __init__(self) -> None:
        self.inside = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        from dempster.cluster import ecm as _kernels

        names = ("accumulate", "write_masses")
        before = {name: getattr(_kernels, name) for name in names}
        for name in names:
            setattr(_kernels, name, self._timed(before[name]))
        yield
        for name in names:
            setattr(_kernels, name, before[name])

    def _timed(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = time.thread_time()
            try:
                return kernel(*arguments)
            finally:
                self.inside += time.thread_time() - started

        return timed

    def share(self, processors: float) -> float | None:
        """Proportion of the processor seconds; None for methods without these kernels."""
        if self.inside:
            return 1 - self.inside / processors
        return None


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
