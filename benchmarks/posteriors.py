"""Compare doubt with posterior probabilities that are known: ``python -m benchmarks.posteriors``.

The data are generated. The clusters are those of `CredalClustering` with the true number. The
script writes ``benchmarks/POSTERIORS.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from dempster.cluster import CredalClustering

PAGE = Path(__file__).with_name("POSTERIORS.md")
_SEEDS = range(100, 103)
_HEADS = ("clusters", "objects", "dimensions", "error", "ambiguous (true)", "inside")
Family = Callable[
    [np.random.Generator, int, int], tuple[np.ndarray, np.ndarray, np.ndarray]
]


def normal(
    n_clusters: int,
    apart: float,
    *,
    shares: tuple[float, ...] | None = None,
    spreads: tuple[float, ...] | None = None,
    freedom: float = np.inf,
    stretch: float = 1.0,
    correlation: float = 0.0,
) -> Family:
    """Return a generator of clusters whose nearest centers have a distance.

    Each cluster is stretched in a random direction of its own. The generator returns the rows,
    their clusters and the posterior probabilities.
    """
    weights = np.array(shares or np.ones(n_clusters), float)
    weights /= weights.sum()
    scales = np.array(spreads or np.ones(n_clusters), float)

    def draw(
        rng: np.random.Generator, n: int, d: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y = rng.choice(n_clusters, n, p=weights)
        centers = _spread_centers(rng, n_clusters, d) * apart
        common = (1 - correlation) * np.eye(d) + correlation * np.ones((d, d))
        Z = rng.normal(size=(n, d))
        if np.isfinite(freedom):
            Z /= np.sqrt(rng.chisquare(freedom, n) / freedom)[:, None]
        X = np.empty((n, d))
        logs = np.empty((n, n_clusters))
        roots = []
        for k in range(n_clusters):
            direction = rng.normal(size=d)
            direction /= np.linalg.norm(direction)
            stretched = np.eye(d) + (stretch - 1) * np.outer(direction, direction)
            roots.append(scales[k] * stretched @ np.linalg.cholesky(common).T)
            X[y == k] = centers[k] + Z[y == k] @ roots[k]
        for k in range(n_clusters):
            squares = np.square((X - centers[k]) @ np.linalg.inv(roots[k])).sum(axis=1)
            tail = squares / 2
            if np.isfinite(freedom):
                tail = (freedom + d) / 2 * np.log1p(squares / freedom)
            _, log_determinant = np.linalg.slogdet(roots[k])
            logs[:, k] = np.log(weights[k]) - log_determinant - tail
        return X, y, softmax(logs, axis=1)

    return draw


def _spread_centers(rng: np.random.Generator, n_clusters: int, d: int) -> np.ndarray:
    """Return centers whose nearest ones have the distance one, in a plane if there are few."""
    if n_clusters <= 3:
        plane = np.array([[0, 0], [1, 0], [0.5, 0.75**0.5]])[:n_clusters]
        return np.pad(plane, ((0, 0), (0, d - 2)))
    centers = rng.normal(size=(n_clusters, d))
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(gaps, np.inf)
    return centers / np.median(gaps.min(axis=1))


FAMILIES: list[tuple[str, Family, int, int]] = [
    ("two, 3 sd apart", normal(2, 3), 2, 600),
    ("two, 3 sd apart", normal(2, 3), 50, 600),
    ("two, 3 sd apart", normal(2, 3), 200, 600),
    ("two, 6 sd apart", normal(2, 6), 2, 600),
    ("two, 6 sd apart", normal(2, 6), 200, 600),
    ("three, equal", normal(3, 3), 10, 600),
    ("three, equal", normal(3, 3), 50, 600),
    ("three, sizes 6 : 1 : 1", normal(3, 4, shares=(6, 1, 1)), 50, 600),
    ("three, t with 4 degrees of freedom", normal(3, 4, freedom=4), 50, 600),
    ("three, correlated attributes", normal(3, 3, correlation=0.5), 50, 600),
    ("three, spreads 1 : 1.3 : 1.6", normal(3, 4, spreads=(1, 1.3, 1.6)), 50, 600),
    ("three, each elongated", normal(3, 5, stretch=3), 20, 600),
    ("twelve", normal(12, 3.5), 10, 600),
    ("three, equal", normal(3, 3), 10, 100),
    ("three, equal", normal(3, 3), 10, 20_000),
]


def measure(draw: Family, d: int, n: int) -> Iterator[tuple[float, ...]]:
    """Yield the error, the ambiguous shares (found and true), and the coverage of each draw."""
    for seed in _SEEDS:
        rng = np.random.default_rng([seed, d, n])
        X, _, P = draw(rng, n, d)
        c = P.shape[1]
        partition = CredalClustering(c, random_state=0).fit(X).credal_partition_
        pignistic = np.asarray(partition.pignistic())
        order = linear_sum_assignment(-P.T @ pignistic)[1]
        rows = np.arange(n)
        best = P.argmax(axis=1)
        low = partition.singleton_belief[rows, order[best]]
        high = partition.contour[rows, order[best]]
        true = P[rows, best]
        yield (
            np.abs(pignistic[:, order] - P).mean(),
            len(partition.ambiguous) / n,
            np.mean(true < 0.9),
            np.mean((low <= true + 1e-9) & (true <= high + 1e-9)),
        )


def write_page() -> None:
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("dempster", "scikit-learn")
    )
    lines = [
        "# Doubt beside known posterior probabilities",
        "",
        f"Written by `python -m benchmarks.posteriors` with {packages}.",
        "",
        "## Known posteriors",
        "",
        "Clusters of `CredalClustering` with the true number, means of three draws. *Error* is the mean of",
        "|pignistic - posterior|, *true* is the share of objects whose largest posterior is below .9, and *inside* is how",
        "often the interval of the best cluster contains its posterior.",
        "",
        "| " + " | ".join(_HEADS) + " |",
        "|:--" + "|--:" * (len(_HEADS) - 1) + "|",
    ]
    for name, draw, d, n in FAMILIES:
        error, found, true, inside = np.mean(list(measure(draw, d, n)), axis=0)
        figures = f"{error:.3f} | {found:.2f} ({true:.2f}) | {inside:.2f}"
        lines.append(f"| {name} | {n} | {d} | {figures} |")
        print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_page()
