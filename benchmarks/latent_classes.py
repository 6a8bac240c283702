"""Command ``python -m benchmarks.latent_classes``: measure the coverage of BootClus for tables of categories.

The command writes a table of OTHER.md. Tables are drawn from latent class models whose true
probabilities are known. The table has the shares of pairs whose interval contains the true
probability. The program takes about ten minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.other import write_table
from dempster.cluster import BootClus
from dempster.mixture import LatentClassModel

LEVELS = 0.5, 0.9, 0.95
N_DRAWS = 100
N_BOOTSTRAPS = 200


@dataclass(frozen=True)
class Design:
    """Latent class model in which each class has a typical category of each attribute."""

    name: str
    proportions: tuple[float, ...]
    n_attributes: int
    n_categories: int
    typical: float  # probability of the typical category; the others have equal probabilities
    missing: float = 0.0  # share of values that are missing at random
    n_objects: int = 200

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a table of categories, with NaN for missing values, and the true probabilities of the classes."""
        rng = np.random.default_rng(seed)
        c = len(self.proportions)
        p = self.n_attributes
        L = self.n_categories
        theta = np.full((c, p, L), (1 - self.typical) / (L - 1))
        theta[
            np.arange(c)[:, None],
            np.arange(p),
            (np.arange(c)[:, None] * (1 + np.arange(p) % 2)) % L,
        ] = self.typical
        classes = rng.choice(c, self.n_objects, p=self.proportions)
        reach = theta.cumsum(axis=2)[classes]
        table = (
            (rng.random((self.n_objects, p, 1)) > reach)
            .sum(axis=2)
            .clip(max=L - 1)
            .astype(float)
        )
        observed = rng.random(table.shape) >= self.missing
        logs = np.log(theta[:, np.arange(p), table.astype(int)]) * observed  # (c, n, p)
        joint = np.log(self.proportions)[:, None] + logs.sum(axis=2)
        posterior = np.exp(joint - joint.max(axis=0))
        return np.where(observed, table, np.nan), (posterior / posterior.sum(axis=0)).T


DESIGNS = [
    Design("two classes, eight attributes", (0.6, 0.4), 8, 2, 0.8),
    Design("three classes, six attributes", (0.5, 0.3, 0.2), 6, 3, 0.7),
    Design("three classes, 20 % missing", (0.5, 0.3, 0.2), 8, 3, 0.7, missing=0.2),
    Design("three classes, 1,000 objects", (0.5, 0.3, 0.2), 6, 3, 0.7, n_objects=1000),
]


def measure(
    design: Design, seed: int, n_bootstraps: int = N_BOOTSTRAPS, **settings: Any
) -> np.ndarray:
    """Return the coverage of both intervals and the mean length of the confidence interval, for each level."""
    table, posterior = design.draw(seed)
    mixture = LatentClassModel(**settings)
    model = BootClus(
        len(design.proportions), mixture=mixture, n_bootstraps=n_bootstraps, n_partners=200, warm_start=True,
        random_state=seed,
    )  # fmt: skip
    found = [
        model.set_params(confidence=level).fit(table).intervals_.coverage(posterior)
        for level in LEVELS
    ]
    return np.array(
        [[each.confidence, each.belief, each.confidence_length] for each in found]
    )


def main() -> None:
    """Write the table."""
    rows = []
    for design in DESIGNS:
        measures = np.array([measure(design, seed) for seed in range(N_DRAWS)])
        means = measures.mean(axis=0)
        rows.append(
            [
                design.name,
                *(f"{ci:.2f}, {belief:.2f}" for ci, belief, _ in means),
                f"{means[1, 2]:.2f}",
            ]
        )
        errors = measures.std(axis=0, ddof=1) / np.sqrt(N_DRAWS)
        print(*rows[-1], "standard errors", errors[:, :2].round(3).tolist(), flush=True)
    write_table(
        "Coverage of BootClus: categories",
        ["tables", *map(str, LEVELS), "mean length at 0.9"],
        rows,
    )


if __name__ == "__main__":
    main()
