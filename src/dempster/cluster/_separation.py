"""Decision of whether the rows form several clusters or a single one.

The rows are divided into parts. Each part is left out once. Two comparisons are made on the rows
that are left out:

- *Valley*: directions that separate a cluster found by k-means from the other rows. Rows form
  several clusters if the middle of one direction contains significantly fewer of them than either
  side.
- *Likelihood*, with two attributes or more: mixtures of Gaussian or t distributions, and a single
  cluster whose density is only assumed to be unimodal: along the attributes or the principal axes,
  which are then independent, or in the distance from the center of an elliptical distribution. Rows
  form several clusters if the mixture has a significantly larger likelihood.

Samples of a single normal, uniform, exponential, lognormal or t distribution, and of random
integers, pass neither comparison in at least 97 % of the cases (``benchmarks/one_cluster.py``).

Columns of categories are independent within a cluster (`are_associated`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.special import bdtr, gammaln

from dempster._types import ArrayPair
from dempster.mixture.em import fit_em, log_densities
from dempster.optimize.k_means import k_means

MIN_ROWS = 12  # Fewer rows are not compared.
_MAX_P = 0.05  # largest p-value of the valley
_MIN_GAIN = 2.5  # smallest gain of the mean log-likelihood, in standard errors
_NUMBERS = (2, 3, 5, 8)  # numbers of clusters
_MODELS = ("VVV", "EEE", "VVI", "t")
# Mixtures are only fitted if there are few attributes.
_MAX_DIMENSIONS = 20
_MIN_ROWS_PER_DIMENSION = 12
_N_DIVISIONS = 3  # random divisions into parts
_SMALL = 500  # Fewer rows are divided into five parts instead of two.
_REGULARIZATION = 0.01
_WIDTHS = (0.15, 0.3)  # widths of the windows, relative to the range of the projections
_GRID = 256
# Each density contains this share of a t distribution with three degrees of freedom.
_TAIL = 0.05
_FREEDOM = 3.0
_MAX_COLUMNS = 50  # More columns of categories are sampled.
_N_PERMUTATIONS = 39
_N_STEPS = 30  # iterations that fit a mixture of t distributions

Fold = tuple[np.ndarray, np.ndarray]  # rows that are used, rows that are left out


def is_separated(X: np.ndarray, rng: np.random.RandomState) -> bool:
    """Return whether the rows of X form several clusters."""
    if len(X) < MIN_ROWS:
        return True
    X = _prepare(X, rng)
    n, p = X.shape
    if p == 0:
        return False
    n_parts = 5 if n < _SMALL else 2
    for _ in range(_N_DIVISIONS):
        part = rng.permutation(n) % n_parts
        folds = [(X[part != k], X[part == k]) for k in range(n_parts)]
        if _valley_p_value(folds, rng) < _MAX_P:
            return True
    is_full = n >= _MIN_ROWS_PER_DIMENSION * p
    # Mixtures describe the edges of one attribute better than a smooth unimodal density does.
    is_plane = 1 < p <= _MAX_DIMENSIONS
    return is_full and is_plane and _has_likely_mixture(folds, rng)


def are_associated(X: np.ndarray, rng: np.random.RandomState) -> bool:
    """Return whether columns of categories are associated, by a permutation test.

    The statistic is the sum of the chi-squared statistics of all pairs of columns, up to constants.
    """
    drawn = rng.permutation(X.shape[1])[:_MAX_COLUMNS]
    X = X[:, drawn]
    n, p = X.shape
    if n < MIN_ROWS or p == 1:
        return True
    columns = [np.unique(column, return_inverse=True)[1] for column in X.T]
    n_categories = [column.max() + 1 for column in columns]
    starts = np.cumsum([0, *n_categories])
    codes = np.column_stack(columns) + starts[:-1]
    frequencies = np.bincount(codes.ravel())
    weights = 1 / np.sqrt(frequencies)
    row_starts = np.arange(0, n * p + 1, p)

    def statistic(codes: np.ndarray) -> float:
        categories = codes.ravel()
        entries = weights[categories]
        indicators = sparse.csr_array((entries, categories, row_starts))
        together = indicators.T @ indicators
        return float(np.square(together.data).sum())

    observed = statistic(codes)
    n_larger = 0
    for _ in range(_N_PERMUTATIONS):
        order = rng.random_sample((n, p)).argsort(axis=0)
        permuted = np.take_along_axis(codes, order, axis=0)
        n_larger += statistic(permuted) >= observed
    return (1 + n_larger) / (1 + _N_PERMUTATIONS) <= _MAX_P


def _prepare(X: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Replace rounded values by values that are rounded to them, and standardize."""
    X = X.astype(float)
    for column in X.T:
        values = np.unique(column)
        if 1 < len(values) < len(column):
            step = np.median(np.diff(values))
            column += rng.uniform(-step / 2, step / 2, len(column))
    varies = np.ptp(X, axis=0) > 0
    X = X[:, varies]
    return (X - X.mean(axis=0)) / X.std(axis=0)


# ---- valley --------------------------------------------------------------------------------------


def _valley_p_value(folds: list[Fold], rng: np.random.RandomState) -> float:
    """Return the p-value of the null hypothesis that no direction has a valley."""
    peak = 0
    valley = 0
    for used, left_out in folds:
        direction, windows = _find_valley(used, rng)
        projections = left_out @ direction
        sides, middle = _count(projections, *windows)
        peak += sides
        valley += middle
    return float(bdtr(valley, peak + valley, 0.5))


def _find_valley(
    X: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, tuple[np.ndarray, float]]:
    """Return the direction with the most significant valley, and the windows of its valley."""
    best = np.inf
    for group in _groups(X, rng):
        direction = _discriminant(X, group)
        projections = np.sort(X @ direction)
        low, high = np.quantile(projections, [0.01, 0.99])
        places = np.linspace(low, high, 40)
        for width in _WIDTHS:
            half = width * (high - low) / 2
            n_below = np.searchsorted(projections, places - half)
            n_until = np.searchsorted(projections, places + half, "right")
            counts = n_until - n_below
            left = np.maximum.accumulate(counts)
            right = np.maximum.accumulate(counts[::-1])[::-1]
            peaks = np.minimum(left, right)
            p_values = bdtr(counts, peaks + counts, 0.5)
            lowest = np.flatnonzero(p_values == p_values.min())
            middle = int(lowest[len(lowest) // 2])
            if p_values[middle] < best:
                best = p_values[middle]
                first = counts[: middle + 1].argmax()
                last = middle + counts[middle:].argmax()
                found = direction, (places[[first, middle, last]], half)
    return found


def _count(projections: np.ndarray, places: np.ndarray, half: float) -> tuple[int, int]:
    """Return the smaller of the numbers of rows on both sides, and the number in the middle."""
    distances = np.abs(projections - places[:, None])
    first, middle, last = (distances <= half).sum(axis=1)
    return min(first, last), middle


def _groups(X: np.ndarray, rng: np.random.RandomState) -> Iterator[np.ndarray]:
    """Yield the clusters of k-means on the rows and on the whitened rows, as Boolean arrays."""
    n = len(X)
    axes, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    whitened = axes[:, sizes > 1e-6 * sizes[0]]
    for rows in (X, whitened):
        for k in _NUMBERS:
            labels = k_means(rows, min(k, n // 4), rng)[1]
            for label in range(1, k):
                group = labels == label
                if 2 < np.count_nonzero(group) < n - 2:
                    yield group
    first = X[:, 0]
    yield first > np.median(first)


def _discriminant(X: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return Fisher's direction between the group and the other rows."""
    n, p = X.shape
    mean_of_others = X[~group].mean(axis=0)
    mean = X[group].mean(axis=0)
    away = X - np.where(group[:, None], mean, mean_of_others)
    within = away.T @ away / n
    mean_variance = np.trace(within) / p
    share = min(1.0, 2 * p / n)  # shrinkage of the covariance matrix
    sphere = (share + 1e-9) * mean_variance * np.eye(p)
    within = (1 - share) * within + sphere
    return np.linalg.solve(within, mean - mean_of_others)


# ---- likelihood ----------------------------------------------------------------------------------


def _has_likely_mixture(folds: list[Fold], rng: np.random.RandomState) -> bool:
    of_folds = [_single_cluster(*fold) for fold in folds]
    of_kinds = [np.concatenate(logs) for logs in zip(*of_folds, strict=True)]
    best_single = max(of_kinds, key=np.mean)
    for k in _NUMBERS:
        labels = [k_means(used, k, rng)[1] for used, _ in folds]
        starts = [np.eye(k)[group] for group in labels]
        for model in _MODELS:
            logs = [
                _mixture(*fold, start, model)
                for fold, start in zip(folds, starts, strict=True)
            ]
            gains = np.concatenate(logs) - best_single
            standard_error = gains.std() / np.sqrt(len(gains))
            if gains.mean() > _MIN_GAIN * standard_error:
                return True
    return False


def _mixture(
    used: np.ndarray, left_out: np.ndarray, start: np.ndarray, model: str
) -> np.ndarray:
    """Return the log densities of the rows ``left_out`` under a mixture."""
    if model == "t":
        return _t_mixture(used, left_out, start)
    result = fit_em(used, None, start, model, tol=1e-4, regularization=_REGULARIZATION)
    found = result.parameters
    if found is None:
        return np.full(len(left_out), -np.inf)
    of_components = log_densities(found, left_out)
    return _add_tail(np.logaddexp.reduce(of_components, axis=1), left_out)


def _t_mixture(used: np.ndarray, left_out: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the log densities of the rows ``left_out`` under a mixture of t distributions.

    ``share`` contains the initial probabilities of the k components, shape (n, k).
    """
    p = used.shape[1]
    trust = np.ones_like(share)
    for _ in range(_N_STEPS):
        sizes = share.sum(axis=0) + 1e-9
        weights = share * trust
        totals = weights.sum(axis=0)[:, None] + 1e-9
        means = weights.T @ used / totals
        scatter = np.empty((len(means), p, p))
        for k, mean in enumerate(means):
            away = used - mean
            scatter[k] = (weights[:, k] * away.T) @ away / sizes[k]
        scatter += _REGULARIZATION * np.eye(p)
        log_weights = np.log(sizes / sizes.sum())
        roots = np.linalg.cholesky(scatter)
        logs, squares = _t_components(used, log_weights, means, roots)
        total = np.logaddexp.reduce(logs, axis=1)
        share = np.exp(logs - total[:, None])
        trust = (_FREEDOM + p) / (_FREEDOM + squares)
    logs, _ = _t_components(left_out, log_weights, means, roots)
    return _add_tail(np.logaddexp.reduce(logs, axis=1), left_out)


def _t_components(
    X: np.ndarray, log_weights: np.ndarray, means: np.ndarray, roots: np.ndarray
) -> ArrayPair:
    """Return the weighted log densities and the Mahalanobis distances of n rows, shape (n, k)."""
    gaps = (X - means[:, None]).swapaxes(1, 2)
    scaled = np.linalg.solve(roots, gaps)
    squares = np.square(scaled).sum(axis=1).T
    diagonals = np.diagonal(roots, axis1=1, axis2=2)
    log_root = np.log(diagonals).sum(axis=1)
    logs = log_weights + _log_t(squares, X.shape[1]) - log_root
    return logs, squares


def _log_t(squares: np.ndarray, p: int) -> np.ndarray:
    """Return the log density of the t distribution with p attributes at squared distances."""
    order = (_FREEDOM + p) / 2
    norm = gammaln(order) - gammaln(_FREEDOM / 2) - p / 2 * np.log(_FREEDOM * np.pi)
    return norm - order * np.log1p(squares / _FREEDOM)


def _single_cluster(used: np.ndarray, left_out: np.ndarray) -> list[np.ndarray]:
    """Return the log densities of the rows ``left_out`` under several kinds of a single cluster."""
    p = used.shape[1]
    center, scatter = _robust_scatter(used)
    variances, axes = np.linalg.eigh(scatter)
    scaled = [(rows - center) @ axes / np.sqrt(variances) for rows in (used, left_out)]
    radii = [np.log(np.linalg.norm(rows, axis=1) + 1e-9) for rows in scaled]
    log_root = np.log(variances).sum() / 2
    log_sphere = np.log(2) + p / 2 * np.log(np.pi) - gammaln(p / 2)
    unimodal = (
        _independent(used, left_out),
        _independent(*scaled) - log_root,
        _unimodal(*radii) - p * radii[1] - log_sphere - log_root,
    )
    start = np.ones((len(used), 1))
    logs = [_mixture(used, left_out, start, model) for model in _MODELS]
    logs += [_add_tail(one, left_out) for one in unimodal]
    return logs


def _robust_scatter(X: np.ndarray) -> ArrayPair:
    """Return the center and the scatter matrix of a t distribution, by EM."""
    n, p = X.shape
    trust = np.ones(n)
    for _ in range(10):
        center = trust @ X / trust.sum()
        away = X - center
        scatter = (trust * away.T) @ away / n + 1e-6 * np.eye(p)
        solved = np.linalg.solve(scatter, away.T)
        squares = (solved * away.T).sum(axis=0)
        trust = (_FREEDOM + p) / (_FREEDOM + squares)
    return center, scatter


def _add_tail(logs: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the log densities after adding a share of a broad t distribution."""
    tail = _log_t(np.square(X).sum(axis=1), X.shape[1])
    return np.logaddexp(np.log(1 - _TAIL) + logs, np.log(_TAIL) + tail)


def _independent(used: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return the log density of independent attributes, each with a unimodal density."""
    columns = zip(used.T, left_out.T, strict=True)
    logs = [_unimodal(*column) for column in columns]
    return np.sum(logs, axis=0)


def _unimodal(used: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return the logarithm of a unimodal density that is estimated from the values ``used``.

    A kernel density estimate is made monotone on both sides of its maximum.
    """
    from sklearn.isotonic import isotonic_regression  # slow to import

    low, high = np.quantile(used, [0.25, 0.75])
    spread = min(used.std(), (high - low) / 1.34)
    width = 0.9 * spread * len(used) ** -0.2 + 1e-9
    margin = 4 * width
    grid = np.linspace(used.min() - margin, used.max() + margin, _GRID)
    step = grid[1] - grid[0]
    edges = np.append(grid, grid[-1] + step) - step / 2
    counts = np.histogram(used, edges)[0]
    away = (grid - grid[_GRID // 2]) / max(width, step / 2)
    bell = np.exp(-np.square(away) / 2)
    density = np.convolve(counts, bell, "same")
    peak = density.argmax()
    density[: peak + 1] = isotonic_regression(density[: peak + 1])
    density[peak:] = isotonic_regression(density[peak:], increasing=False)
    density /= density.sum() * step
    heights = np.interp(left_out, grid, density, left=0, right=0)
    return np.log(heights + 1e-12)
