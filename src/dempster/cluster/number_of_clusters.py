"""Selection of the number of clusters by four criteria.

The criteria are computed on a sample of the rows. Each of them alone is unreliable.

- The *silhouette* (Rousseeuw, 1987) compares the distances from a row to its own cluster and to the
  nearest other cluster.
- The *log-likelihood of round clusters* of the same size, minus three times the penalty of the
  Bayesian information criterion. Each cluster has a spherical multivariate t distribution (Peel and
  McLachlan, 2000), because with Gaussians the tails of real data would always favor an additional
  cluster.
- The *Bayesian information criterion of a Gaussian mixture* with a common covariance matrix.
- The number of *belief peaks* (Su and Denoeux, 2019).

Each criterion is scaled to 1 for the number of clusters with the best value and 0 for the number
with the worst value. The number of clusters with the largest mean, its support, is selected. This
rule was developed on one half of a collection of data sets and confirmed on the other half
(``benchmarks/DEFAULTS.md``).

Whether there is only one cluster is decided by `dempster.cluster._separation.is_separated`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from dempster._arrays import divide, row_mean
from dempster._random import as_random_state
from dempster._types import Seed
from dempster._validation import has_missing
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._peaks import find_peaks
from dempster.cluster._separation import are_associated, is_separated
from dempster.data.sampling import (
    order_along_line,
    sample_in_order,
    systematic_draw,
)
from dempster.dissimilarity.neighbors import make_finder
from dempster.dissimilarity.partial import impute_missing
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.dissimilarity.transform import intrinsic_dimension
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.k_means import k_means
from dempster.partition.credal_partition import Deferred

if TYPE_CHECKING:
    import pandas as pd


_CANDIDATES = range(2, 26)
# Numbers that differ from the number of belief peaks by at most 20% are candidates as well.
_AROUND_PEAKS = 0.2
_SAMPLE_SIZE = 1500
_SEPARATION_SIZE = 1000  # rows that are tested for a single cluster
_MAX_COORDINATES = 5  # coordinates of these rows, if X contains dissimilarities
_MIN_DIFFERENT = 6  # Fewer different rows are clusters themselves.
_ROUNDING = (
    1e-7  # Dissimilarities below this share of the largest one are considered zero.
)
# More than _MANY_ROWS rows may form more clusters. These numbers are compared by the silhouette. If
# it is larger by _MIN_GAIN, the criteria are computed for _N_STEPS numbers around the best of them,
# up to the ratio _WIDTH. Samples of one distribution gain 0.028 at most, or most with the largest
# number, which is never selected. Overlapping clusters in 2 to 100 dimensions gain at least 0.036.
_MANY_ROWS = 5000
_MANY_CANDIDATES = (32, 48, 72, 108, 162, 243, 364)
_LARGE_SAMPLE_SIZE = 3000
_MAX_FEW = 20  # If all candidates are larger, two criteria are not used.
_MIN_GAIN = 0.03
_WIDTH = 1.5
_N_STEPS = 13
_STARTS = 5  # number of runs of k-means for each number of clusters
_PENALTY = 3.0  # The penalty of BIC is multiplied by this factor.
_FREEDOM = 3.0  # degrees of freedom of the t distributions
# numbers of EM iterations for the centers and for the size of the t distributions
_CENTERING = 10
_SCALING = 20
# largest number of EM iterations for the Gaussian mixture, and smallest gain of an iteration
_MIXING = 30
_CONVERGED = 1e-3
_REGULARIZATION = 1e-4  # of the common covariance, as a share of the variances
# difference of two supports that divides the plausibility of a number of clusters by e
_DOUBT = 0.08
# Let L be the logarithm of the distance from a row to its _NEAREST-th nearest neighbor. A row is an
# outlier if its L exceeds the third quartile by more than _FENCE interquartile ranges (an
# interquartile range is at least _MIN_RANGE).
_NEAREST = 5
_FENCE = 4.0
_MIN_RANGE = 0.1
_WIDE_FENCE = 6.0  # The fits leave out fewer rows than the comparison of numbers.
# Rows are also isolated if the distance to this neighbor exceeds this quantile of all distances.
# Logarithms of the distances in clusters of different densities vary too much to find them.
_LARGE_DISTANCE = 0.85
_MAX_ISOLATED = 0.1  # If this leaves out a larger share, only logarithms are compared.
# Isolated rows among more than _LARGE rows are found by a third of the sample, in blocks.
_LARGE = 20_000
_BLOCK_ROWS = 1 << 14
_QUANTILE = 0.9  # parameter q of `BeliefPeaks`
MIN_PLAUSIBILITY = 0.1  # Numbers with a smaller plausibility are not mentioned.


@dataclass(frozen=True, eq=False, repr=False)
class NumberOfClusters:
    """Comparison of several numbers of clusters (candidates) by four criteria.

    Attributes
    ----------
    n_clusters : ndarray of int, shape (k,)
        Candidates in increasing order.
    silhouette : ndarray of shape (k,)
        Mean silhouette of the partition into each number of clusters.
    likelihood_round, likelihood_elongated : ndarray of shape (k,)
        Penalized log-likelihoods per object, for round clusters of the same size and for clusters
        with a common covariance matrix.
    n_peaks : int
        Number of belief peaks.
    n_objects : int
        Number of objects in the sample on which the criteria were computed.
    is_separated : bool
        Whether the objects form several clusters; otherwise, one cluster is the best number.
    """

    n_clusters: Annotated[np.ndarray, "k:int"]
    silhouette: Annotated[np.ndarray, "k"]
    likelihood_round: Annotated[np.ndarray, "k"]
    likelihood_elongated: Annotated[np.ndarray, "k"]
    n_peaks: int
    n_objects: int
    is_separated: bool = True

    @property
    def criteria(self) -> dict[str, np.ndarray]:
        """Values of each criterion, scaled from 0 (worst candidate) to 1 (best)."""
        away = -np.abs(np.log(self.n_clusters / max(self.n_peaks, 1)))
        return {
            "silhouette": _scale(self.silhouette),
            "likelihood of round clusters": _scale(self.likelihood_round),
            "likelihood of elongated clusters": _scale(self.likelihood_elongated),
            "belief peaks": _scale(away),
        }

    @property
    def support(self) -> np.ndarray:
        """Mean of the four scaled criteria for each of the k candidates, shape (k,).

        If all candidates are larger than 20, it is the mean of the silhouette and of the likelihood
        of elongated clusters. The other two criteria prefer the smallest of such candidates.
        """
        criteria = self.criteria
        if self.n_clusters[0] > _MAX_FEW:
            del criteria["likelihood of round clusters"], criteria["belief peaks"]
        return np.mean(list(criteria.values()), axis=0)

    @property
    def plausibility(self) -> np.ndarray:
        """Plausibility of each of the k candidates, shape (k,); 1 for the best.

        In generated data, and with the default candidates, the true number had a plausibility of at
        least 0.1 in about nine of ten cases.
        """
        support = self.support
        return np.exp((support - support.max()) / _DOUBT)

    @property
    def best(self) -> int:
        """Number of clusters with the largest support; in case of ties, the smallest number.

        It is 1 if the objects do not form several clusters.
        """
        if not self.is_separated:
            return 1
        return int(self.n_clusters[self.support.argmax()])

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with the criteria and the support of each candidate.

        Returns
        -------
        pandas.DataFrame
            One row for each candidate.
        """
        import pandas as pd

        columns = {
            "silhouette": self.silhouette,
            "likelihood_round": self.likelihood_round,
            "likelihood_elongated": self.likelihood_elongated,
            "belief_peaks": self.criteria["belief peaks"],
            "support": self.support,
            "plausibility": self.plausibility,
        }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Draw the support of each number of clusters as bars, and each criterion as a thin line.

        The bar of the best number is dark. A high bar on which all criteria agree is a reliable
        choice. If two bars are equally high, or the criteria favor different numbers, the data do
        not determine the number of clusters.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``bars_``, ``criterion_lines_`` and
            ``best_text_``.
        """
        from dempster.plot.number_of_clusters import (
            NumberOfClustersDisplay,
        )  # needs matplotlib

        return NumberOfClustersDisplay(self).plot(ax=ax, title=title)

    def reasons(self) -> str:
        """Return a text with the best number, that of each criterion, and the other plausible ones.

        Returns
        -------
        str
        """
        if not self.is_separated:
            return "1; the objects do not form several clusters"
        parts = [str(self.best)]
        for name, values in self.criteria.items():
            parts.append(f"{name} {self.n_clusters[values.argmax()]}")
        plausibility = self.plausibility
        others = [
            f"{self.n_clusters[place]} ({plausibility[place]:.2f})"
            for place in np.argsort(-plausibility, kind="stable")
            if plausibility[place] >= MIN_PLAUSIBILITY
            and self.n_clusters[place] != self.best
        ]
        if others:
            parts.append(f"also plausible: {', '.join(others)}")
        return "; ".join(parts)

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __repr__(self) -> str:
        return f"NumberOfClusters({self.reasons()})"


def _scale(values: np.ndarray) -> np.ndarray:
    is_finite = np.isfinite(values)
    if not is_finite.any():
        return np.zeros(len(values))
    low = values[is_finite].min()
    spread = values[is_finite].max() - low
    if spread > 0:
        return (np.where(is_finite, values, low) - low) / spread
    return np.ones(len(values))


def compare_numbers(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    candidates: Iterable[int] | None,
    random_state: Seed,
    apply: Apply,
) -> NumberOfClusters:
    """Compute the criteria for several numbers of clusters on a sample of the rows.

    If ``candidates`` is None, the numbers from 2 to 25 and the numbers near the number of belief
    peaks are compared. Candidates larger than a third of the number of different rows are ignored,
    because the criteria need several rows per cluster. If there are many rows and the silhouette is
    larger for more clusters, up to some hundreds, numbers around the best of them are compared.
    """
    rng = as_random_state(random_state)
    sample = _remove_outliers(*draw_complete_rows(source, weights, rng, _SAMPLE_SIZE))
    found = _compare(*sample, candidates, rng, apply)
    if candidates is not None or len(source) <= _MANY_ROWS:
        return found
    drawn = draw_complete_rows(source, weights, rng, _LARGE_SAMPLE_SIZE)
    rows, w, D = _remove_outliers(*drawn)
    X = _coordinates(rows)
    squares = np.square(D)
    silhouettes = [-np.inf]
    numbers = [k for k in _MANY_CANDIDATES if 3 * k <= len(rows)]
    for k in numbers:
        labels = _fit_partitions(X, squares, w, np.array([k]), rng, 1)[0]
        silhouettes.append(_silhouette(D, labels, w))
        if silhouettes[-1] < found.silhouette.max() / 2:
            break
    gain = max(silhouettes) - found.silhouette.max()
    best = [1, *numbers][np.argmax(silhouettes)]
    if not gain >= _MIN_GAIN or best == numbers[-1]:
        return found
    around = np.geomspace(best / _WIDTH, best * _WIDTH, _N_STEPS)
    return _compare(rows, w, D, around.astype(int), rng, apply)


def _compare(
    sample: DissimilaritySource,
    w: np.ndarray,
    D: np.ndarray,
    candidates: Iterable[int] | None,
    rng: np.random.RandomState,
    apply: Apply,
) -> NumberOfClusters:
    """Compute the criteria on rows without outliers, with weights w and dissimilarities D."""
    n = len(sample)
    n_objects = round(w.sum())
    squares = np.square(D)
    n_peaks = 1
    if n > 2:
        finder = make_finder(sample, "auto", rng, 1)
        n_peaks = len(find_peaks(sample, finder, apply, _QUANTILE).indices)
    is_open = candidates is None
    if candidates is None:  # Many belief peaks indicate more than 25 clusters.
        low = (1 - _AROUND_PEAKS) * n_peaks
        high = (1 + _AROUND_PEAKS) * n_peaks
        candidates = {*_CANDIDATES, *range(max(int(np.ceil(low)), 2), int(high) + 1)}
    n_different = n - int((np.tril(D == 0, -1)).any(axis=1).sum())
    largest = max(n_different // 3, 1)
    if n_different < _MIN_DIFFERENT and n_objects >= 3 * n_different:
        largest = n_different
        if is_open:
            candidates = [n_different]
            is_open = False
    numbers = np.array(sorted({int(k) for k in candidates if 1 <= k <= largest}) or [1])
    X = _coordinates(sample)
    dimension = intrinsic_dimension(D) if X is None else float(X.shape[1])
    partitions = _fit_partitions(X, squares, w, numbers, rng, _STARTS)
    scores = [
        _score_partition(D, squares, labels, w, dimension) for labels in partitions
    ]
    silhouettes, round_ones = np.array(scores).T
    penalty = np.log(n_objects) / (2 * n_objects)
    round_ones = round_ones - _PENALTY * penalty * numbers * (dimension + 1)
    if X is None:
        X = principal_coordinates(squares, _MAX_COORDINATES)
    elongated = [_common_likelihood(X, labels, w) for labels in partitions]
    elongated = np.array(elongated) - penalty * numbers * (X.shape[1] + 1)
    has_clusters = not is_open or _has_clusters(sample, X, w, rng)
    return NumberOfClusters(
        numbers, silhouettes, round_ones, elongated, n_peaks, n_objects, has_clusters
    )


def draw_some(n: int) -> np.ndarray:
    """Return random indices of at most 20,000 of n rows, in time that does not depend on n."""
    if n <= _LARGE:
        return np.arange(n)
    return np.unique(np.random.RandomState(0).randint(n, size=_LARGE))


def defer_separation(
    source: DissimilaritySource, weights: np.ndarray | None
) -> Deferred:
    """Draw rows, and return whether they form several clusters, which is computed on access."""
    rng = np.random.RandomState(0)
    some = draw_some(len(source))
    if len(some) < len(source):
        source = source.subset(some)
        weights = None if weights is None else weights[some]
    drawn, weights = draw_complete_rows(source, weights, rng, _SAMPLE_SIZE)
    return Deferred(partial(_forms_clusters, drawn, weights, rng))


def _forms_clusters(
    source: DissimilaritySource, weights: np.ndarray, rng: np.random.RandomState
) -> bool:
    sample, w, D = _remove_outliers(source, weights)
    X = _coordinates(sample)
    if X is None:
        X = principal_coordinates(np.square(D), _MAX_COORDINATES)
    return _has_clusters(sample, X, w, rng)


def _coordinates(source: DissimilaritySource) -> np.ndarray | None:
    """Return the rows if their dissimilarities are Euclidean distances."""
    if source.is_euclidean and isinstance(source.objects, np.ndarray):
        return source.objects
    return None


def _has_clusters(
    source: DissimilaritySource,
    X: np.ndarray,
    weights: np.ndarray,
    rng: np.random.RandomState,
) -> bool:
    """Return whether the objects, with coordinates X, form several clusters."""
    size = min(round(weights.sum()), _SEPARATION_SIZE)
    drawn = systematic_draw(weights, size, rng)
    if source.metric == "hamming":
        return are_associated(source.objects[drawn], rng)
    return is_separated(X[drawn], rng)


def principal_coordinates(squares: np.ndarray, n_coordinates: int) -> np.ndarray:
    """Return coordinates by classical scaling, from squared dissimilarities of shape (n, n)."""
    from scipy.sparse.linalg import eigsh  # slow to import

    means = squares.mean(axis=0)
    products = (means + means[:, None] - means.mean() - squares) / 2
    n_coordinates = min(n_coordinates, len(products) - 1)
    first = np.arange(1.0, 1 + len(products))
    variances, axes = eigsh(products, k=n_coordinates, v0=first)
    return (axes * np.sqrt(np.maximum(variances, 0)))[:, ::-1]


def draw_complete_rows(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    rng: np.random.RandomState,
    size: int,
) -> tuple[DissimilaritySource, np.ndarray]:
    """Draw random rows (see `_draw_rows`), and impute their missing values.

    Return the rows and their new weights.
    """
    which, counts = _draw_rows(source, weights, rng, size)
    sample = source.subset(which)
    if isinstance(sample, AttributeSource) and has_missing(sample.objects):
        sample = AttributeSource(impute_missing(sample.objects), sample.metric)
    return sample, counts


def _draw_rows(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    rng: np.random.RandomState,
    size: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw random rows by their weights, independently of their order.

    Equal rows are drawn as one row with the sum of their weights. Return the indices of the rows
    and their new weights. Integer weights are numbers of objects; the mean of others becomes 1.
    """
    n = len(source)
    w = np.ones(n) if weights is None else weights.astype(float)
    if (w != np.rint(w)).any():
        w = w / w.mean()
    if isinstance(source.objects, np.ndarray):
        order = order_along_line(source.objects)
        rows = source.objects[order]
        first = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
        sums = np.add.reduceat(w[order], np.flatnonzero(first))
        order = order[first]
        w = np.zeros_like(w)
        w[order] = sums
    else:
        probes = np.arange(min(n, 200))
        order = np.argsort(
            source.block(np.arange(n), probes).sum(axis=1), kind="stable"
        )
    return sample_in_order(order, w, size, rng)


def _remove_outliers(
    source: DissimilaritySource, weights: np.ndarray
) -> tuple[DissimilaritySource, np.ndarray, np.ndarray]:
    """Remove isolated rows, which would form small clusters.

    Return the others, their weights and dissimilarities.
    """
    D = _symmetric_dissimilarities(source)
    inside = np.flatnonzero(_nearest_distances(D, weights) <= _fence(D, weights))
    return source.subset(inside), weights[inside], D[np.ix_(inside, inside)]


def _symmetric_dissimilarities(source: DissimilaritySource) -> np.ndarray:
    rows = np.arange(len(source))
    D = source.block(rows, rows).astype(float)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    smallest = _ROUNDING * D.max()
    return np.where(smallest < D, D, 0.0)


def _fence(D: np.ndarray, weights: np.ndarray, width: float = _FENCE) -> float:
    """Return the distance from the _NEAREST-th nearest neighbor above which rows are isolated."""
    near = _nearest_distances(D, weights)
    logs = np.log(near[near > 0])
    if len(logs) == 0:  # Equal rows; their computed distances may differ from zero.
        return _ROUNDING * float(D.max())
    low, high = np.quantile(logs, [0.25, 0.75])
    return float(np.exp(high + width * max(high - low, _MIN_RANGE)))


def _nearest_distances(D: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the distance to the _NEAREST-th nearest neighbor; a row of weight 2 is two objects."""
    nearest = np.argsort(D)[:, : _NEAREST + 1]
    n_objects = np.cumsum(weights[nearest], axis=1)
    place = np.minimum((n_objects <= _NEAREST).sum(axis=1), nearest.shape[1] - 1)
    rows = np.arange(len(D))
    return D[rows, nearest[rows, place]]


def _leave_out_isolated(
    are_near: np.ndarray, counts: np.ndarray, most: float
) -> np.ndarray:
    """Return the counts of the rows, zero for rows with too few others near them."""
    while True:
        left = np.where(are_near @ counts > most, counts, 0)
        if np.array_equal(left, counts):
            return left
        counts = left


def find_isolated(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    random_state: Seed,
    apply: Apply,
) -> np.ndarray:
    """Return which rows are isolated, far from all but a few rows of a sample, shape (n,)."""
    n = len(source)
    if isinstance(source.objects, np.ndarray) and has_missing(source.objects):
        return np.zeros(n, bool)
    rng = as_random_state(random_state)
    size = _SAMPLE_SIZE if n <= _LARGE else _SAMPLE_SIZE // 3
    which, counts = _draw_rows(source, weights, rng, size)
    D = _symmetric_dissimilarities(source.subset(which))
    most = min(_NEAREST, counts.sum() - 1)
    wide = _fence(D, counts, _WIDE_FENCE)
    fence = min(wide, float(np.quantile(D, _LARGE_DISTANCE)))
    left = _leave_out_isolated(fence >= D, counts, most)
    if left.sum() < (1 - _MAX_ISOLATED) * counts.sum():
        fence = wide
        left = counts

    def are_isolated(start: int, stop: int) -> np.ndarray:
        near = source.block(np.arange(start, stop), which) <= fence
        return near @ left <= most

    blocks = row_blocks(n, _BLOCK_ROWS, most=None)
    return np.concatenate(apply(are_isolated, blocks))


def _fit_partitions(
    X: np.ndarray | None,
    squares: np.ndarray,
    weights: np.ndarray,
    numbers: np.ndarray,
    rng: np.random.RandomState,
    n_runs: int,
) -> list[np.ndarray]:
    """Return labels for each number of clusters, by k-means or, if X is None, by medoids."""
    if X is None:
        generator = np.random.default_rng(rng.randint(2**31 - 1))
        medoids = (
            medoid_starts(squares, int(k), 1, generator, weights)[0] for k in numbers
        )
        return [squares[centers].argmin(axis=0) for centers in medoids]
    data = np.ascontiguousarray(X, float)
    data = data - row_mean(data)
    return [k_means(data, int(k), rng, weights, n_runs)[1] for k in numbers]


def _score_partition(
    D: np.ndarray,
    squares: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    dimension: float,
) -> tuple[float, float]:
    """Return the mean silhouette, and the log-likelihood of round clusters of the same size."""
    codes = np.unique(labels, return_inverse=True)[1]
    total = np.bincount(codes, weights)
    part = total / total.sum()
    away = _squares_from_centers(squares, codes, weights, dimension)
    size = _squared_size(away, weights, dimension) + np.finfo(float).tiny
    tails = (_FREEDOM + dimension) / 2 * np.log1p(away / (_FREEDOM * size))
    logs = np.log(part[codes]) - dimension / 2 * np.log(size) - tails
    likelihood = float(np.average(logs, weights=weights))
    return _silhouette(D, codes, weights), likelihood


def _common_likelihood(X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean log-likelihood of a Gaussian mixture with a common covariance matrix S.

    It is fitted by EM, starting from the labels. The logarithm of the density of row x in cluster k
    is m_k' S^-1 (x - m_k / 2) plus a term that does not depend on k.
    """
    X = X - np.average(X, axis=0, weights=weights)
    scatter = (X.T * weights) @ X / weights.sum()
    ridge = np.diag(_REGULARIZATION * np.diag(scatter) + np.finfo(float).tiny)
    share = np.eye(labels.max() + 1)[labels]
    likelihood = -np.inf
    for _ in range(_MIXING):
        share *= weights[:, None] / weights.sum()
        part = share.sum(axis=0) + np.finfo(float).tiny
        means = share.T @ X / part[:, None]
        covariance = scatter - (means.T * part) @ means + ridge
        inverse = np.linalg.pinv(covariance, hermitian=True)
        directions = inverse @ means.T
        logs = X @ directions - (means.T * directions).sum(axis=0) / 2 + np.log(part)
        top = logs.max(axis=1, keepdims=True)
        share = np.exp(logs - top)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        rest = np.vdot(inverse, scatter) + np.linalg.slogdet(covariance)[1]
        previous = likelihood
        likelihood = np.average((top + np.log(total))[:, 0], weights=weights) - rest / 2
        if likelihood < previous + _CONVERGED:
            break
    return float(likelihood)


def _squares_from_centers(
    squares: np.ndarray, labels: np.ndarray, weights: np.ndarray, dimension: float
) -> np.ndarray:
    """Return the squared distance from each row to the center of its cluster.

    The clusters have t distributions, whose centers are computed by EM. A center is a weighted mean
    of the rows of its cluster, with weights a_j that sum to one. The squared distance from row i to
    the center is therefore a function of the squared distances d_ij^2 between rows, sum_j a_j
    d_ij^2 - sum_jk a_j a_k d_jk^2 / 2.
    """
    away = np.zeros(len(labels))
    for cluster in range(labels.max() + 1):
        members = np.flatnonzero(labels == cluster)
        between = squares[np.ix_(members, members)]
        w = weights[members]
        trust = np.ones(len(members))
        for _ in range(_CENTERING):
            share = w * trust / (w @ trust)
            means = between @ share
            distant = np.maximum(means - share @ means / 2, 0)
            size = (w * trust) @ distant / (dimension * w.sum())
            if size <= 0:
                break
            trust = (_FREEDOM + dimension) / (_FREEDOM + distant / size)
        away[members] = distant
    return away


def _squared_size(away: np.ndarray, weights: np.ndarray, dimension: float) -> float:
    """Return the squared size of t distributions, from squared distances ``away``."""
    total = dimension * weights.sum()
    size = float(weights @ away) / total
    for _ in range(_SCALING):
        if size <= 0:
            break
        trust = (_FREEDOM + dimension) / (_FREEDOM + away / size)
        size = float((weights * trust) @ away) / total
    return size


def _silhouette(D: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Compute the weighted mean silhouette (b - a) / max(a, b) of the rows.

    a is the mean distance from a row to the other rows of its cluster, and b the smallest mean
    distance to another cluster. The silhouette of a row that is alone in its cluster is 0.
    """
    share = np.where(labels == np.unique(labels)[:, None], weights, 0.0)
    total = share.sum(axis=1)
    if len(total) < 2:
        return float("nan")
    rows = np.arange(len(D))
    sums = D @ share.T
    others = total[labels] - np.minimum(weights, 1)
    alone = others <= 1e-9 * total[labels]
    a = sums[rows, labels] / np.where(alone, 1, others)
    means = sums / total
    means[rows, labels] = np.inf
    b = means.min(axis=1)
    larger = np.maximum(a, b)
    values = divide(np.where(alone, 0, b - a), larger, 0)
    return float(np.average(values, weights=weights))
