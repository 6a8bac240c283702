"""Measure `partial_fit` and prediction on a long stream, and write a table of OTHER.md.

``python -m benchmarks.streams`` (a minute): ECM learns from blocks of 100,000 generated rows with eight
attributes (float64) in five clusters; one row in a thousand is a fault. Memory is the peak of the
process so far, minus its memory before the first block. Times are processor times of one thread, without the
generation of the rows.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator

import numpy as np
from sklearn.frozen import FrozenEstimator

from benchmarks.other import write_table
from dempster.cluster import ECM, ConformalNoveltyDetector

ROWS = 100_000
NUMBERS = (1_000_000, 10_000_000)
FALSE_ALARMS = 0.001


def blocks(n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Generate blocks of rows, and whether each row is a fault."""
    centers = np.random.default_rng(0).normal(0, 6, (5, 8))
    rng = np.random.default_rng(seed)
    for _ in range(n // ROWS):
        X = centers[rng.integers(5, size=ROWS)] + rng.normal(size=(ROWS, 8))
        is_fault = rng.random(ROWS) < 0.001
        X[is_fault, rng.integers(8, size=is_fault.sum())] += 15
        yield X, is_fault


def peak_memory() -> float:
    """Return the largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n: int, before: float) -> list[str]:
    """Return a row of the table."""
    model = ECM(5, random_state=0, n_jobs=1)
    learning = predicting = 0.0
    for X, _ in blocks(n, seed=1):
        start = time.process_time()
        model.partial_fit(X)
        learning += time.process_time() - start
    X, is_fault = next(blocks(ROWS, seed=2))
    alarm = ConformalNoveltyDetector(
        FrozenEstimator(model), false_alarm_rate=FALSE_ALARMS
    ).fit(X[~is_fault])
    counts = np.zeros(4)
    for X, is_fault in blocks(n, seed=3):
        start = time.process_time()
        is_alarm = alarm.predict(X) == -1
        predicting += time.process_time() - start
        counts += [
            (is_alarm & is_fault).sum(),
            is_fault.sum(),
            (is_alarm & ~is_fault).sum(),
            (~is_fault).sum(),
        ]
    return [
        f"{n:,}",
        f"{learning:.1f} s",
        f"{predicting:.1f} s",
        f"{peak_memory() - before:.0f} MB",
        f"{counts[0] / counts[1]:.1%}",
        f"{counts[2] / counts[3]:.2%}",
    ]


def main() -> None:
    """Write the table."""
    before = peak_memory()
    rows = []
    for n in NUMBERS:
        rows.append(measure(n, before))
        print(rows[-1], flush=True)
    heads = ["rows", "partial_fit", "alarms", "memory", "faults found", "false alarms"]
    write_table("Streams", heads, rows)


if __name__ == "__main__":
    main()
