"""Fit every method to every suitable data set in parallel processes."""

from __future__ import annotations

import multiprocessing
import os
import platform
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from rich.console import Console
from rich.progress import track
from sklearn.metrics import adjusted_rand_score

from benchmarks.defaults.data import (
    DataSet,
    chosen_half,
    generated_sets,
    protein,
    public_sets,
)
from benchmarks.defaults.methods import FINDERS, GIVEN_NUMBER, run
from dempster.cluster import EVCLUS

__all__ = ["measured"]

_SEEDS = 6  # seeds of each generated family
_PROCESSES = max(os.cpu_count() or 2, 2)


def measured() -> dict[str, Any]:
    """Return the measures of every method on every suitable data set.

    Long fits start first for better load balance.
    """
    sets = public_sets() + generated_sets(_SEEDS)
    jobs = [
        (name, data)
        for data in sets
        for name, method in (GIVEN_NUMBER | FINDERS).items()
        if method.takes(data)
    ]
    jobs.sort(
        key=lambda job: (
            -len(job[1].X) * job[1].n_classes * (1 if job[0] in FINDERS else 0.5)
        )
    )
    # The processes read these when they start.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = "1"
    began = time.perf_counter()
    with ProcessPoolExecutor(
        _PROCESSES, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        results = pool.map(_one, jobs)
        rows = list(
            track(
                results,
                total=len(jobs),
                console=Console(stderr=True),
                description="fitting",
            )
        )
    half = chosen_half(sets)
    return {
        "where": f"in {_PROCESSES} processes on {os.cpu_count()} processors ({platform.machine()}), "
        f"Python {platform.python_version()}",
        "minutes": (time.perf_counter() - began) / 60,
        "sets": {
            data.name: {
                "family": data.family,
                "shape": data.X.shape,
                "n_classes": data.n_classes,
                "chosen": data.name in half,
            }
            for data in sets
        },
        "protein": _protein(),
        "rows": rows,
    }


def _one(job: tuple[str, DataSet]) -> dict[str, Any]:
    name, data = job
    with warnings.catch_warnings():
        # Ignore convergence warnings; the defaults are measured without changes.
        warnings.simplefilter("ignore")
        return {
            "method": name,
            "set": data.name,
            **run((GIVEN_NUMBER | FINDERS)[name], data),
        }


def _protein() -> float | None:
    """Return the adjusted Rand index of EVCLUS on the proteins, which have only dissimilarities."""
    data = protein()
    if data is None:
        return None
    model = EVCLUS(4, metric="precomputed", random_state=0).fit(data[0])
    return float(adjusted_rand_score(data[1], model.labels_))
