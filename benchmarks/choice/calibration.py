"""Compare what the choice of a partition expects with what it reaches, on new generated data.

    python -m benchmarks.choice.calibration [--sets 150] [--jobs 2]

The judge was learned from sets with smaller seeds. The results are written to ``calibration.csv``;
``docs/figures/judge.py`` draws them.
"""

from __future__ import annotations

import argparse
import csv
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from benchmarks.choice.generate import draw
from benchmarks.choice.tables import _agreement
from dempster.cluster.choice.decision import choose
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import block_map

FILE = Path(__file__).with_name("calibration.csv")
FIRST_SEED = 2_000_000


def measure(seed: int) -> dict[str, str | int | float]:
    """Choose a partition of a random data set, and compare it with the true clusters."""
    kind, X, y = draw(seed)
    source = AttributeSource(np.ascontiguousarray(X, float), "euclidean")
    with block_map(1) as apply:
        choice = choose(source, None, np.random.RandomState(0), apply)
    number = choice.number
    true_number = len(np.unique(y[y >= 0]))
    plausibility = number.plausibility[number.n_clusters == true_number].sum()
    return {
        "kind": kind,
        "seed": seed,
        "true_number": true_number,
        "number": number.best,
        "expected": round(number.expected_of(number.best), 4),
        "low": round(number.low_agreement, 4),
        "agreement": round(_agreement(y[choice.rows.which], choice.best.labels), 4),
        "plausibility": round(float(plausibility), 4),  # of the true number
        "n_plausible": len(number.plausible),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + options.sets)
    with Pool(options.jobs) as pool:
        results = pool.map(measure, seeds, chunksize=1)
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(results[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)


if __name__ == "__main__":
    main()
