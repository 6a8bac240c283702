"""Command ``python -m benchmarks.tails``: mixtures of Gaussian and of t distributions.

The command writes a table of OTHER.md: the mean adjusted Rand index of `EGMM` with the true number
of clusters on random mixtures whose components are Gaussian, or have t distributions with four
degrees of freedom. The program takes a few minutes.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.other import write_table
from dempster.cluster import EGMM

N_DRAWS = 12
FREEDOM = 4


def draw_mixture(seed: int, *, tails: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return standardized objects of 3 to 8 overlapping clusters, and their clusters."""
    rng = np.random.default_rng([seed, tails])
    n_clusters = int(rng.integers(3, 9))
    p = int(rng.integers(2, 9))
    n = 100 * n_clusters
    y = np.arange(n) % n_clusters
    centers = rng.normal(size=(n_clusters, p))
    between = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(between, np.inf)
    centers *= 3.5 / np.median(between.min(axis=1))
    noise = rng.normal(size=(n, p))
    if tails:
        noise /= np.sqrt(rng.chisquare(FREEDOM, (n, 1)) / FREEDOM)
    axes = np.eye(p) + 0.4 * rng.normal(size=(n_clusters, p, p)) / np.sqrt(p)
    X = centers[y] + np.einsum("ni,nij->nj", noise, axes[y])
    return StandardScaler().fit_transform(X), y


def score(distribution: str, *, tails: bool) -> float:
    """Return the mean adjusted Rand index."""
    found = []
    for seed in range(N_DRAWS):
        X, y = draw_mixture(seed, tails=tails)
        model = EGMM(
            int(y.max()) + 1,
            covariance="own",
            distribution=distribution,
            reg_covar=1e-3,
            random_state=0,
        ).fit(X)
        found.append(adjusted_rand_score(y, model.labels_))
    return float(np.mean(found))


def main() -> None:
    rows = [
        [
            name,
            *(f"{score(distribution, tails=tails):.2f}" for tails in (False, True)),
        ]
        for name, distribution in (("Gaussian", "gaussian"), ("t", "t"))
    ]
    write_table("Tails", ["distribution", "Gaussian clusters", "t tails"], rows)


if __name__ == "__main__":
    main()
