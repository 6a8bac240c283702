"""Random data sets of many kinds, from which the choice of a partition is learned.

`draw` returns a table and the true clusters of its rows (-1: noise). Only random numbers are used,
so that every measured data set is new to the judge.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
Data = tuple[np.ndarray, np.ndarray]
_SMALLEST = 4  # Clusters with fewer rows are left out.


def draw(seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the kind, the table and the true clusters of a random data set."""
    rng = np.random.default_rng([58, seed])
    names = list(KINDS)
    shares = np.array([share for _, share in KINDS.values()])
    kind = str(rng.choice(names, p=shares / shares.sum()))
    X, y = KINDS[kind][0](rng)
    if rng.random() < 0.25:
        X = _change_units(rng, X)
    if rng.random() < 0.08:
        X = np.round(X / X.std(axis=0) * rng.choice([2, 5, 10]))
    clusters, count = np.unique(y, return_counts=True)
    small = clusters[(count < _SMALLEST) & (clusters >= 0)]
    kept = ~np.isin(y, small)
    X = X[kept]
    y = y[kept]
    codes = np.unique(y[y >= 0], return_inverse=True)[1]
    y[y >= 0] = codes
    order = rng.permutation(len(X))
    return kind, X[order], y[order]


def _change_units(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Multiply the columns by factors of very different sizes, as units of measurement do."""
    return X * np.exp(rng.normal(0, rng.choice([0.7, 2.0, 4.0]), X.shape[1]))


def _n_rows(rng: Rng, n_clusters: int, most: int = 1500) -> int:
    n = int(np.exp(rng.uniform(np.log(60), np.log(most))))
    return max(n, 15 * n_clusters)


def _assign(rng: Rng, n_clusters: int, n: int) -> np.ndarray:
    """Draw the clusters of n rows; their sizes are nearly equal to very unequal."""
    share = rng.dirichlet(np.full(n_clusters, rng.choice([1.5, 4.0, 30.0])))
    share = np.maximum(share, 0.25 / n_clusters)
    return rng.choice(n_clusters, n, p=share / share.sum())


def _covariance_root(rng: Rng, d: int) -> np.ndarray:
    kind = rng.integers(4)
    if kind == 0:
        return np.eye(d)
    if kind == 1:
        return np.diag(rng.uniform(0.3, 1.5, d))
    if kind == 2:
        noise = rng.normal(size=(d, d)) / np.sqrt(d)
        return np.eye(d) + rng.uniform(0.2, 1.2) * noise
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return axes * rng.choice([0.15, 1.0], d, p=[0.4, 0.6])


def _centers(rng: Rng, n_clusters: int, d: int, gap: float) -> np.ndarray:
    """Draw centers; the distance to the nearest other center is ``gap`` for most or half of them."""
    centers = rng.normal(size=(n_clusters, d)) * rng.uniform(0.5, 1.5, d)
    if rng.random() < 0.2 and d <= 3:
        side = int(np.ceil(n_clusters ** (1 / d)))
        grid = np.stack(np.meshgrid(*[np.arange(float(side))] * d), axis=-1).reshape(
            -1, d
        )
        places = rng.permutation(len(grid))[:n_clusters]
        centers = grid[places] + rng.normal(0, 0.1, (n_clusters, d))
    if n_clusters == 1:
        return centers
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(gaps, np.inf)
    return centers * gap / np.quantile(gaps.min(axis=1), rng.choice([0.1, 0.5]))


def _components(rng: Rng, y: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Draw the rows of normal, t or uniform clusters around their centers."""
    d = centers.shape[1]
    X = np.empty((len(y), d))
    common = rng.random() < 0.35
    root = _covariance_root(rng, d)
    spread = rng.uniform(0, 0.6)
    freedom = rng.choice([np.inf, np.inf, 8.0, 4.0, 3.0])
    for k, center in enumerate(centers):
        members = y == k
        m = np.count_nonzero(members)
        if not common:
            root = _covariance_root(rng, d)
        Z = rng.normal(size=(m, d))
        if rng.random() < 0.1:
            Z = rng.uniform(-1.7, 1.7, (m, d))
        if np.isfinite(freedom):
            Z *= 0.85 / np.sqrt(rng.chisquare(freedom, m) / freedom)[:, None]
        X[members] = center + Z @ root.T * np.exp(rng.normal(0, spread))
    return X


def mixture(rng: Rng) -> Data:
    """Normal, t and uniform clusters in 1 to 20 dimensions."""
    c = int(np.exp(rng.uniform(np.log(2), np.log(40))))
    if rng.random() < 0.05:
        c = 1
    d = int(rng.choice([1, 2, 2, 3, 4, 6, 10, 20]))
    y = _assign(rng, c, _n_rows(rng, c))
    return _components(rng, y, _centers(rng, c, d, rng.uniform(2.5, 7))), y


def factor(rng: Rng) -> Data:
    """Measurements: few latent variables separate the groups; size and noise hide them."""
    c = int(rng.integers(2, 7))
    q = int(rng.integers(1, 4))
    d = int(rng.choice([4, 5, 8, 13, 30]))
    y = _assign(rng, c, _n_rows(rng, c))
    n = len(y)
    z = _centers(rng, c, q, rng.uniform(3, 7))[y] + rng.normal(size=(n, q))
    loadings = rng.normal(size=(q, d)) * rng.choice([0.3, 1.0], d)
    size = rng.normal(size=(n, 1)) * rng.choice([0, 1.0, 3.0])
    X = z @ loadings + size * rng.uniform(0.5, 1.5, d)
    X += rng.normal(size=(n, d)) * rng.uniform(0.2, 1.0, d)
    if rng.random() < 0.4:
        X = np.exp((X - X.mean(axis=0)) / X.std(axis=0) * rng.uniform(0.1, 0.7))
    return X, y


def classes(rng: Rng) -> Data:
    """Classes that people name: few, of several overlapping components each, beside useless columns."""
    c = int(rng.choice([2, 2, 3, 3, 4, 6]))
    parts = rng.integers(1, 4, c)
    d = int(rng.choice([3, 4, 6, 9, 15, 30]))
    of_parts = np.repeat(np.arange(c), parts)
    component = _assign(rng, len(of_parts), _n_rows(rng, c))
    homes = _centers(rng, c, d, rng.uniform(2.0, 5.0))
    centers = homes[of_parts] + rng.uniform(0.3, 1.2) * rng.normal(
        size=(len(of_parts), d)
    )
    X = _components(rng, component, centers)
    noise = rng.normal(size=(len(X), int(rng.integers(0, 4))))
    X = np.column_stack([X, noise])
    if rng.random() < 0.3:
        X = np.exp((X - X.mean(axis=0)) / X.std(axis=0) * rng.uniform(0.2, 0.8))
    return X, of_parts[component]


def skewed(rng: Rng) -> Data:
    """Clusters after an exponential transformation of the columns."""
    X, y = mixture(rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.exp(rng.uniform(0.2, 0.9, X.shape[1]) * X), y


def useless(rng: Rng) -> Data:
    """Clusters in some columns, and columns of noise with their own or with equal spreads."""
    X, y = mixture(rng)
    if rng.random() < 0.5:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    n_useless = int(rng.choice([1, 2, 3, 5, 10, 30]))
    return np.column_stack([X, rng.normal(size=(len(X), n_useless))]), y


def noisy(rng: Rng) -> Data:
    """Clusters and uniform noise."""
    X, y = mixture(rng)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    m = int(len(X) * rng.choice([0.03, 0.1, 0.2, 0.5]))
    low = X.min(axis=0)
    high = X.max(axis=0)
    margin = 0.1 * (high - low)
    noise = rng.uniform(low - margin, high + margin, (m, X.shape[1]))
    return np.vstack([X, noise]), np.append(y, np.full(m, -1))


def _curve(rng: Rng, n: int) -> np.ndarray:
    t = rng.uniform(size=n)
    kind = rng.integers(5)
    if kind == 0:
        angle = rng.uniform(0.6, 2) * np.pi * t
        points = np.column_stack([np.cos(angle), np.sin(angle)])
    elif kind == 1:
        points = np.column_stack([2 * t - 1, np.zeros(n)]) * rng.uniform(0.5, 2)
    elif kind == 2:
        points = np.column_stack([2 * t - 1, np.sin(rng.uniform(2, 7) * t)])
    elif kind == 3:
        angle = 2 * np.pi * t
        points = np.column_stack([np.cos(angle), np.sin(angle) * rng.uniform(0.4, 1)])
    else:
        radius = np.sqrt(0.05 + 0.95 * t) * rng.uniform(2, 5) * np.pi
        points = np.column_stack([radius * np.cos(radius), radius * np.sin(radius)]) / 8
    turn = rng.uniform(0, 2 * np.pi)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return points @ rotation


def _are_apart(X: np.ndarray, y: np.ndarray, noise: float) -> bool:
    from scipy.spatial import cKDTree

    for k in range(y.max() + 1):
        own = X[y == k]
        others = X[y != k]
        if len(own) < 8:
            return False
        inside = np.quantile(cKDTree(own).query(own, k=3)[0][:, 2], 0.95)
        between = np.quantile(cKDTree(others).query(own)[0], 0.01)
        if between < max(1.3 * inside, 2.2 * noise):
            return False
    return True


def curves(rng: Rng) -> Data:
    """Curves and round clusters that do not touch."""
    for _ in range(200):
        c = int(rng.integers(2, 8))
        y = _assign(rng, c, _n_rows(rng, c, 1000))
        X = np.empty((len(y), 2))
        noise = rng.uniform(0.01, 0.07)
        box = rng.uniform(1.2, 1.9) * np.sqrt(c)
        for k in range(c):
            m = np.count_nonzero(y == k)
            if rng.random() < 0.65:
                points = _curve(rng, m)
            else:
                points = rng.normal(size=(m, 2)) * rng.uniform(0.1, 0.35)
            place = rng.uniform(-box, box, 2) * 0.7
            X[y == k] = (
                points * rng.uniform(0.5, 1.2) + place + rng.normal(0, noise, (m, 2))
            )
        if _are_apart(X, y, noise):
            return X, y
    return nested(rng)


def _rings(rng: Rng, n: int, noise: float) -> Data:
    y = _assign(rng, int(rng.integers(2, 5)), n)
    angle = rng.uniform(0, 2 * np.pi, n)
    radius = y + rng.choice([0.0, 0.7])
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X + rng.normal(0, 1.2 * noise, X.shape), y


def _moons(rng: Rng, n: int, noise: float) -> Data:
    y = _assign(rng, 2, n)
    angle = rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), rng.uniform(0.2, 0.6) - np.sin(angle)])
    X = np.where(y[:, None] == 0, upper, lower)
    return X + rng.normal(0, rng.choice([1.0, 1.6]) * noise, X.shape), y


def _spirals(rng: Rng, n: int, noise: float) -> Data:
    c = int(rng.integers(2, 4))
    y = rng.integers(0, c, n)
    t = np.sqrt(rng.uniform(0.05, 1, n)) * rng.uniform(2, 3) * np.pi
    turn = t + 2 * np.pi * y / c
    X = np.column_stack([t * np.cos(turn), t * np.sin(turn)]) / 9
    return X + rng.normal(0, 0.4 * noise, X.shape), y


def _sticks(rng: Rng, n: int, noise: float) -> Data:
    y = _assign(rng, int(rng.integers(2, 6)), n)
    along = rng.normal(0, rng.uniform(3, 6), n)
    across = y * rng.uniform(1.8, 3) + rng.normal(0, 0.3, n)
    return np.column_stack([along, across]), y


def _links(rng: Rng, n: int, noise: float) -> Data:
    y = _assign(rng, 2, n)
    angle = rng.uniform(0, 2 * np.pi, n)
    zero = np.zeros(n)
    first = np.column_stack([np.cos(angle), np.sin(angle), zero])
    second = np.column_stack([1 + np.cos(angle), zero, np.sin(angle)])
    X = np.where(y[:, None] == 0, first, second)
    return X + rng.normal(0, noise, X.shape), y


def _shells(rng: Rng, n: int, noise: float) -> Data:
    y = _assign(rng, 2, n)
    direction = rng.normal(size=(n, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    inside = 0.3 * rng.normal(size=(n, 3))
    X = np.where(y[:, None] == 0, inside, direction * rng.uniform(1.5, 2.5))
    return X + rng.normal(0, noise, X.shape), y


def nested(rng: Rng) -> Data:
    """Rings, moons, spirals, sticks, links of a chain, and shells."""
    kinds = (_rings, _moons, _spirals, _sticks, _links, _shells)
    kind = kinds[rng.integers(len(kinds))]
    return kind(rng, _n_rows(rng, 2, 1000), rng.uniform(0.02, 0.1))


def solids(rng: Rng) -> Data:
    """Balls, boxes and diamonds of uniform density that nearly touch."""
    for _ in range(200):
        d = int(rng.choice([2, 2, 3]))
        c = int(rng.integers(2, 9))
        y = _assign(rng, c, _n_rows(rng, c))
        box = rng.uniform(0.9, 1.6) * c ** (1 / d)
        centers = rng.uniform(-box, box, (c, d))
        radii = rng.uniform(0.4, 1.0, c)
        gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
        gaps -= 0.95 * (radii[:, None] + radii)
        np.fill_diagonal(gaps, np.inf)
        if gaps.min() < 0.05:
            continue
        X = np.empty((len(y), d))
        for k in range(c):
            m = np.count_nonzero(y == k)
            Z = rng.uniform(-1, 1, (20 * m + 100, d))
            Z = Z[(np.abs(Z) ** rng.choice([1, 2, 2, 20])).sum(axis=1) <= 1][:m]
            X[y == k] = centers[k] + radii[k] * Z
        return X, y
    return mixture(rng)


def densities(rng: Rng) -> Data:
    """Clusters whose spreads differ by a factor of up to ten, in two to five dimensions."""
    for _ in range(200):
        c = int(rng.integers(2, 9))
        d = int(rng.choice([2, 2, 3, 5]))
        spread = np.exp(rng.uniform(np.log(0.1), 0, c))
        centers = rng.uniform(-1, 1, (c, d)) * rng.uniform(1.5, 4) * c ** (1 / d)
        gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
        gaps /= spread[:, None] + spread
        np.fill_diagonal(gaps, np.inf)
        if gaps.min() > 1.6:
            y = _assign(rng, c, _n_rows(rng, c))
            return centers[y] + rng.normal(size=(len(y), d)) * spread[y][:, None], y
    return mixture(rng)


def far_groups(rng: Rng) -> Data:
    """One or two large clusters, and small groups far from them."""
    d = int(rng.choice([1, 2, 3, 5, 10]))
    large = int(rng.integers(1, 3))
    small = int(rng.integers(1, 4))
    n = int(rng.uniform(300, 1000))
    count = np.append(np.full(large, n // large), rng.integers(8, 30, small))
    y = np.repeat(np.arange(large + small), count)
    X = rng.normal(size=(len(y), d))
    directions = rng.normal(size=(large + small, d))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    centers = directions * rng.uniform(6, 25, large + small)[:, None]
    centers[0] = 0
    return centers[y] + X, y


def wide(rng: Rng) -> Data:
    """Few rows and many columns; few or all columns carry the clusters."""
    c = int(rng.integers(2, 9))
    d = int(rng.choice([30, 60, 100, 200]))
    y = _assign(rng, c, int(np.exp(rng.uniform(np.log(60), np.log(500)))))
    q = int(rng.choice([2, 5, d]))
    centers = np.zeros((c, d))
    centers[:, :q] = _centers(rng, c, q, rng.uniform(4, 12))
    X = centers[y] + rng.normal(size=(len(y), d))
    if rng.random() < 0.5:
        X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    return X, y


def texts(rng: Rng) -> Data:
    """Documents of topics: leading singular vectors of weighted word counts."""
    c = int(np.exp(rng.uniform(np.log(2), np.log(30))))
    n_words = 500
    n = _n_rows(rng, c, 1000)
    y = _assign(rng, c, n)
    common = rng.dirichlet(np.full(n_words, 0.1))
    topics = rng.dirichlet(np.full(n_words, 0.02), c)
    mix = rng.uniform(0.15, 0.6)
    lengths = rng.integers(20, 200, n)
    counts = np.array(
        [
            rng.multinomial(length, mix * topics[k] + (1 - mix) * common)
            for k, length in zip(y, lengths, strict=True)
        ]
    )
    rarity = np.log((1 + n) / (1 + (counts > 0).sum(axis=0)))
    weighted = np.log1p(counts) * rarity
    weighted /= np.maximum(np.linalg.norm(weighted, axis=1), 1e-12)[:, None]
    left, sizes, _ = np.linalg.svd(weighted, full_matrices=False)
    q = int(rng.choice([10, 20, 50]))
    X = left[:, :q] * sizes[:q]
    if rng.random() < 0.5:
        X /= np.maximum(np.linalg.norm(X, axis=1), 1e-12)[:, None]
    return X, y


def single(rng: Rng) -> Data:
    """One cluster: normal, uniform, with tails, skewed, curved, integers."""
    d = int(rng.choice([1, 2, 3, 5, 10, 20, 50]))
    n = _n_rows(rng, 1)
    t = rng.uniform(-1, 1, n)
    kinds = [
        rng.normal(size=(n, d)),
        rng.uniform(-1, 1, (n, d)),
        rng.normal(size=(n, d))
        / np.sqrt(rng.chisquare(rng.choice([2, 4]), (n, 1)) / 4),
        np.exp(rng.uniform(0.3, 1) * rng.normal(size=(n, d))),
        rng.exponential(size=(n, d)),
        np.column_stack([t, t**2 + rng.normal(0, 0.1, n)]),
        rng.integers(0, rng.choice([2, 3, 5, 10]), (n, max(d, 2))).astype(float),
        np.column_stack([np.cos(np.pi * t), np.sin(np.pi * t)])
        + rng.normal(0, 0.05, (n, 2)),
    ]
    X = kinds[rng.integers(len(kinds))]
    if rng.random() < 0.5:
        X = X @ _covariance_root(rng, X.shape[1]).T
    return X, np.zeros(len(X), int)


def many(rng: Rng) -> Data:
    """Dozens of clusters, more than a hundred."""
    c = int(np.exp(rng.uniform(np.log(25), np.log(180))))
    d = int(rng.choice([2, 3, 5, 10, 20, 50]))
    y = _assign(rng, c, 3000)
    return _components(rng, y, _centers(rng, c, d, rng.uniform(3, 7))), y


KINDS: dict[str, tuple[Callable[[Rng], Data], float]] = {
    "mixture": (mixture, 0.20),
    "factor": (factor, 0.10),
    "classes": (classes, 0.10),
    "skewed": (skewed, 0.06),
    "useless": (useless, 0.06),
    "noisy": (noisy, 0.06),
    "curves": (curves, 0.07),
    "nested": (nested, 0.06),
    "solids": (solids, 0.05),
    "densities": (densities, 0.05),
    "far groups": (far_groups, 0.03),
    "wide": (wide, 0.05),
    "texts": (texts, 0.03),
    "single": (single, 0.10),
    "many": (many, 0.025),
}
