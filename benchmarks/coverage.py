"""Command ``python -m benchmarks.coverage``: measure the coverage of BootClus and write a table of OTHER.md.

The true probabilities are known for the three mixtures of the paper (Denoeux, 2020). The table has the share of pairs
whose confidence interval, and whose interval from belief to plausibility, contains the true probability. The program
takes some minutes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.other import write_table
from dempster.cluster import BootClus
from dempster.datasets import make_gaussian_mixture

N_DRAWS, N_BOOTSTRAPS, LEVELS = 60, 200, (0.5, 0.9, 0.95)
CASES = {
    "1, equal spheres": {"default": None, "EII (true)": "EII"},
    "2, equal ellipsoids": {"default": None, "EEE (true)": "EEE", "EII (too simple)": "EII"},
    "3, different ellipsoids": {"default": None, "VVV (true)": "VVV", "EII (too simple)": "EII"},
}


def evaluate(mixture: int, model: str | None, seed: int) -> list[Any]:
    """Return both coverages and the length of the confidence intervals, at each level, for one data set."""
    sample = make_gaussian_mixture(mixture, 300, as_bunch=True, random_state=1000 + seed)
    method = BootClus(3, mixture=model, n_bootstraps=N_BOOTSTRAPS, warm_start=True, random_state=seed, n_jobs=1)
    found = []
    for level in LEVELS:
        result = method.set_params(confidence=level).fit(sample.data).intervals_.coverage(sample.posterior)
        found.append([result.confidence, result.belief, result.confidence_length])
    return found


def main() -> None:
    """Write the table."""
    rows = []
    for name, models in CASES.items():
        for title, model in models.items():
            jobs = (delayed(evaluate)(int(name[0]), model, seed) for seed in range(N_DRAWS))
            found = np.array(Parallel(-1)(jobs))
            errors = found.std(axis=0, ddof=1) / np.sqrt(N_DRAWS)
            means = found.mean(axis=0)
            cells = [f"{confidence:.2f}, {belief:.2f}" for confidence, belief, _ in means]
            rows.append([name, title, *cells, f"{means[LEVELS.index(0.9), 2]:.2f}"])
            print(*rows[-1], "standard errors", errors[:, :2].round(3).tolist(), flush=True)
    write_table(
        "Coverage of BootClus", ["mixture", "parameter `mixture`", *map(str, LEVELS), "mean length at 0.9"], rows
    )


if __name__ == "__main__":
    main()
