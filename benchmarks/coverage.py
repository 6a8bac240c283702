"""Command ``python -m benchmarks.coverage``: measure the coverage of BootClus and write two tables of OTHER.md.

The true probabilities are known for the three mixtures of the paper (Denoeux, 2020) and for other
mixtures drawn here. The tables have the share of pairs whose confidence interval, and whose
interval from belief to plausibility, contains the true probability. The program takes a minute and
a half on sixteen cores.
"""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import multivariate_t

from benchmarks.other import write_table
from dempster.cluster import BootClus
from dempster.datasets import make_gaussian_mixture

N_DRAWS = 240
N_BOOTSTRAPS = 200
LEVELS = (0.5, 0.9, 0.95)
PAPER = {
    "1, equal spheres": {"default": None, "EII (true)": "EII"},
    "2, equal ellipsoids": {
        "default": None,
        "EEE (true)": "EEE",
        "EII (too simple)": "EII",
    },
    "3, different ellipsoids": {
        "default": None,
        "VVV (true)": "VVV",
        "EII (too simple)": "EII",
    },
}
# Components, number of attributes, number of objects and degrees of freedom.
OTHERS = [
    (kind, d, n, np.inf)
    for d, n in ((2, 100), (2, 800), (4, 200), (4, 800), (8, 400))
    for kind in ("spheres", "ellipsoids")
] + [("spheres", 2, 300, 4), ("ellipsoids", 2, 300, 4)]


def draw_paper(mixture: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 300 objects drawn from a mixture of the paper, and their true probabilities."""
    sample = make_gaussian_mixture(
        mixture, 300, as_bunch=True, random_state=1000 + seed
    )
    return sample.data, sample.posterior


def draw_other(
    kind: str, d: int, n: int, df: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return objects from a random mixture of three overlapping components, and their true probabilities."""
    rng = np.random.default_rng([d, n, seed])
    roots = np.eye(d) + (0.0 if kind == "spheres" else 0.57 / np.sqrt(d)) * rng.normal(
        size=(3, d, d)
    )
    plane = np.linalg.qr(rng.normal(size=(d, d)))[0][:2]
    means = np.array([[0, 0], [3, 0], [1.5, 2.6]]) @ plane
    weights = rng.dirichlet(np.full(3, 12.0))
    components = [
        multivariate_t(m, root @ root.T, df, seed=rng)
        for m, root in zip(means, roots, strict=True)
    ]
    X = np.concatenate(
        [
            each.rvs(size)
            for each, size in zip(components, rng.multinomial(n, weights), strict=True)
        ]
    )
    joint = weights * np.stack([each.pdf(X) for each in components], axis=1)
    return X, joint / joint.sum(axis=1, keepdims=True)


def evaluate(
    X: np.ndarray, posterior: np.ndarray, model: str | None, seed: int
) -> list[list[float]]:
    """Return both coverages and the length of the confidence intervals, at each level, for one data set."""
    method = BootClus(
        3,
        mixture=model,
        n_bootstraps=N_BOOTSTRAPS,
        warm_start=True,
        random_state=seed,
        n_jobs=1,
    )
    found = []
    for level in LEVELS:
        result = (
            method.set_params(confidence=level).fit(X).intervals_.coverage(posterior)
        )
        found.append([result.confidence, result.belief, result.confidence_length])
    return found


def summarize(
    data: list[tuple[np.ndarray, np.ndarray]], model: str | None
) -> list[str]:
    """Return the cells of a row: both coverages at each level, and the mean length at 0.9."""
    found = np.array(
        Parallel(-1)(
            delayed(evaluate)(*each, model, seed) for seed, each in enumerate(data)
        )
    )
    means = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(data))
    cells = [f"{confidence:.2f}, {belief:.2f}" for confidence, belief, _ in means]
    print(
        model,
        means.round(3).tolist(),
        "standard errors",
        errors[:, :2].round(3).tolist(),
        flush=True,
    )
    return [*cells, f"{means[LEVELS.index(0.9), 2]:.2f}"]


def main() -> None:
    """Write the tables."""
    heads = [*map(str, LEVELS), "mean length at 0.9"]
    rows = []
    for name, models in PAPER.items():
        data = [draw_paper(int(name[0]), seed) for seed in range(N_DRAWS)]
        rows += [
            [name, title, *summarize(data, model)] for title, model in models.items()
        ]
    write_table(
        "Coverage of BootClus", ["mixture", "parameter `mixture`", *heads], rows
    )
    rows = []
    for kind, d, n, df in OTHERS:
        data = [draw_other(kind, d, n, df, seed) for seed in range(N_DRAWS // 4)]
        if np.isinf(df):
            components = kind
        else:
            components = f"{kind}, heavy tails"
        rows.append([components, str(d), str(n), *summarize(data, None)])
    write_table(
        "Coverage of BootClus: other mixtures",
        ["components", "attributes", "objects", *heads],
        rows,
    )


if __name__ == "__main__":
    main()
