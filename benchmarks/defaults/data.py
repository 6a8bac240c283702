"""Data for the evaluation of the defaults: public data sets, and generated families with several seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from reproduce.data import MissingDataError, stored

from benchmarks.harness import shared_folder

__all__ = [
    "FAMILIES",
    "PUBLIC",
    "PUBLIC_NAMES",
    "NOISE",
    "DataSet",
    "chosen_half",
    "generated_sets",
    "protein",
    "public_sets",
]

PUBLIC = "public"
# labelled data with 2 to 31 classes and at most 100 attributes without missing values
PUBLIC_NAMES = (
    *("a1", "aggregation", "compound", "d31", "diabetes", "drybean", "ecoli", "flame"),
    *("fourclass", "glass", "glass_evclass", "heart", "ionosphere", "iris", "jain"),
    *("letter", "pathbased", "pendigits", "r15", "s1", "s2", "s3", "s4", "satellite"),
    *(
        "seeds",
        "segment",
        "shuttle",
        "spiral",
        "unbalance",
        "vehicles",
        "vowel",
        "wine",
    ),
)
NOISE = -1  # class of a planted outlier
MAX_OBJECTS = 2500


@dataclass(frozen=True, eq=False)
class DataSet:
    """Standardised attributes, and classes from 0 on or NOISE."""

    name: str
    family: str
    X: np.ndarray
    y: np.ndarray

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y[self.y != NOISE]))


# ---- public sets ---------------------------------------------------------------------------------


def public_sets() -> list[DataSet]:
    """Return the public data sets that are available, standardized, with at most 2,500 objects."""
    found = []
    for name in PUBLIC_NAMES:
        try:
            data = stored(name)
        except MissingDataError:
            continue
        X = data["X"].astype(float)
        found.append(DataSet(name, PUBLIC, *_at_most(_standardized(X), data["y"])))
    return found


def protein() -> tuple[np.ndarray, np.ndarray] | None:
    """Return the dissimilarities of 213 proteins and their classes."""
    folder = shared_folder()
    if folder is None or not (folder / "data" / "protein.npz").exists():
        return None
    with np.load(folder / "data" / "protein.npz", allow_pickle=False) as z:
        return z["D"], z["y"]


def chosen_half(sets: list[DataSet]) -> set[str]:
    """Return the public data sets on which the rules of the defaults were selected.

    They are every second one of all names, whether or not they are available.
    """
    return {one.name for one in sets if one.name in PUBLIC_NAMES[::2]}


def _standardized(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


def _at_most(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(X) <= MAX_OBJECTS:
        return X, y
    some = np.random.default_rng(0).choice(len(X), MAX_OBJECTS, replace=False)
    return X[some], y[some]


# ---- generated families --------------------------------------------------------------------------

Made = tuple[np.ndarray, np.ndarray]


def _gaussians(
    rng, n_clusters, n_attributes, gap, n_objects, spreads=None, shares=None
) -> Made:
    """Generate round Gaussian clusters whose centers are at least ``gap`` apart."""
    if spreads is None:
        spreads = np.ones(n_clusters)
    if shares is None:
        shares = np.full(n_clusters, 1 / n_clusters)
    half_width = gap * n_clusters ** (1 / n_attributes)
    centers: list[np.ndarray] = []
    while len(centers) < n_clusters:
        place = rng.uniform(-half_width, half_width, n_attributes)
        half_width *= 1.001  # Increase the space until all centers fit.
        if all(np.linalg.norm(place - center) > gap for center in centers):
            centers.append(place)
    sizes = np.maximum(rng.multinomial(n_objects, shares), 5)
    y = np.repeat(np.arange(n_clusters), sizes)
    return np.array(centers)[y] + spreads[y, None] * rng.normal(
        size=(len(y), n_attributes)
    ), y


def _round(rng) -> Made:
    return _gaussians(
        rng,
        rng.integers(3, 9),
        rng.integers(2, 11),
        rng.uniform(3.5, 6),
        rng.integers(300, 2500),
    )


def _elongated(rng) -> Made:
    """Generate clusters with random orientations and elongations."""
    X, y = _gaussians(
        rng, rng.integers(2, 7), rng.integers(2, 6), 5, rng.integers(300, 2500)
    )
    p = X.shape[1]
    for k in np.unique(y):
        turned = np.linalg.qr(rng.normal(size=(p, p)))[0] * np.exp(
            rng.uniform(-1, 0.6, p)
        )
        center = X[y == k].mean(axis=0)
        X[y == k] = (X[y == k] - center) @ turned + center
    return X, y


def _unbalanced(rng) -> Made:
    """Generate clusters of different sizes and widths."""
    c = rng.integers(3, 7)
    shares = 0.9 * rng.dirichlet(np.full(c, 0.7)) + 0.1 / c
    return _gaussians(
        rng,
        c,
        rng.integers(2, 6),
        6,
        rng.integers(300, 2500),
        rng.uniform(0.5, 1.6, c),
        shares,
    )


def _in_a_row(rng) -> Made:
    """Generate three to six overlapping clusters of unequal sizes along a line, with one or two attributes.

    The line is a diagonal, so that standardising the attributes does not stretch the clusters
    across it.
    """
    c = rng.integers(3, 7)
    p = rng.integers(1, 3)
    y = np.repeat(np.arange(c), rng.integers(60, 600, c))
    X = rng.uniform(0.6, 0.8, c)[y, None] * rng.normal(size=(len(y), p))
    return X + 2.8 * y[:, None] / np.sqrt(p), y


def _noisy(rng) -> Made:
    """Generate round clusters and 5 % outliers in a box around them."""
    X, y = _gaussians(
        rng, rng.integers(3, 7), rng.integers(2, 5), 6, rng.integers(300, 2500)
    )
    low = X.min(axis=0)
    high = X.max(axis=0)
    margin = 0.3 * (high - low)
    number = max(3, len(X) // 20)
    outliers = rng.uniform(low - margin, high + margin, (number, X.shape[1]))
    return np.concatenate([X, outliers]), np.append(y, np.full(number, NOISE))


def _many(rng) -> Made:
    return _gaussians(
        rng, rng.integers(12, 25), rng.integers(2, 9), 5, rng.integers(1200, 2500)
    )


def _rings(rng) -> Made:
    """Generate two or three concentric rings, which no method with one center for each cluster can find."""
    sizes = rng.integers(100, 400, rng.integers(2, 4))
    y = np.repeat(np.arange(len(sizes)), sizes)
    angle = rng.uniform(0, 2 * np.pi, len(y))
    radius = 1.0 + 2 * y + rng.normal(0, 0.15, len(y))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


FAMILIES: dict[str, Callable[[np.random.Generator], Made]] = {
    "round": _round,
    "elongated": _elongated,
    "unbalanced": _unbalanced,
    "in a row": _in_a_row,
    "noisy": _noisy,
    "many": _many,
    "rings": _rings,
}


def generated_sets(n_seeds: int) -> list[DataSet]:
    """Return each family with several seeds, standardised."""
    made = []
    for number, (family, make) in enumerate(FAMILIES.items()):
        for seed in range(n_seeds):
            X, y = make(np.random.default_rng([seed, number]))
            made.append(DataSet(f"{family} {seed + 1}", family, _standardized(X), y))
    return made
