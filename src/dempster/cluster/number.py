"""How many clusters: candidates, what speaks for each of them, and the one for which most does.

Four witnesses are heard on a sample of the objects, because each of them alone is easily misled:

- the *silhouette* (Rousseeuw, 1987): are the objects nearer to their own cluster than to the next?
- two *likelihoods*, of round clusters that share one size and of clusters with a size each, less three times the
  penalty of the Bayesian information criterion: does another cluster explain more than it costs? The clusters are
  multivariate t distributions (Peel and McLachlan, 2000): under Gaussians, objects far out in the tails of real data
  would always speak for one cluster more;
- *belief peaks* (Su and Denoeux, 2019): how many objects stand out as centers?

Each is scaled so that its best candidate has 1 and its worst 0, and the candidate with the largest sum is taken. The
rule was chosen on one half of a collection of data sets and confirmed on the other (``benchmarks/DEFAULTS.md``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._random import as_random_state
from dempster._types import Seed
from dempster._validation import has_missing, mean_of_rows
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._peaks import find_peaks
from dempster.data.sampling import order_along_line, sample_in_order
from dempster.dissimilarity.neighbors import finder
from dempster.dissimilarity.partial import filled
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.dissimilarity.transform import intrinsic_dimension
from dempster.optimize.blocks import Apply
from dempster.optimize.k_means import k_means

if TYPE_CHECKING:
    import pandas as pd


_CANDIDATES = range(2, 26)
_AROUND_PEAKS = 0.2  # candidates this near to the number of peaks are heard, too
_SAMPLE_SIZE = 1500
_STARTS = 5  # of k-means
_PENALTY = 3.0  # times that of BIC
_FREEDOM = 3.0  # of the t distributions: the smaller, the heavier their tails
_CENTERING, _SCALING = 10, 20  # iterations for centers and sizes
_FLOOR = 0.02  # of the mean size, added to each
_NEAR, _FENCE, _LEAST_RANGE = 5, 4.0, 0.1  # neighbors, and interquartile ranges beyond which one is far from all
_BELIEF = 0.9  # of the neighbors that bear witness for a peak


@dataclass(frozen=True, eq=False, repr=False)
class NumberOfClusters:
    """Numbers of clusters that were compared, and what speaks for each.

    Attributes
    ----------
    n_clusters : (k,) int array
        Candidates, increasing.
    silhouette : (k,) array
        Mean silhouette of the partition into so many clusters.
    likelihood_one_size, likelihood_own_sizes : (k,) arrays
        Penalised log-likelihoods per object.
    n_peaks : int
        Belief peaks.
    n_objects : int
        How many objects were looked at.
    """

    n_clusters: np.ndarray
    silhouette: np.ndarray
    likelihood_one_size: np.ndarray
    likelihood_own_sizes: np.ndarray
    n_peaks: int
    n_objects: int

    @property
    def witnesses(self) -> dict[str, np.ndarray]:
        """What each witness says of each candidate, from 0 (worst) to 1 (best)."""
        away = -np.abs(np.log(self.n_clusters / max(self.n_peaks, 1)))
        return {
            "silhouette": _scaled(self.silhouette),
            "likelihood, one size": _scaled(self.likelihood_one_size),
            "likelihood, own sizes": _scaled(self.likelihood_own_sizes),
            "belief peaks": _scaled(away),
        }

    @property
    def support(self) -> np.ndarray:
        """(k,) mean of the witnesses."""
        return np.mean(list(self.witnesses.values()), axis=0)

    @property
    def best(self) -> int:
        """The number with the largest support; the smaller on ties."""
        return int(self.n_clusters[self.support.argmax()])

    def to_frame(self) -> pd.DataFrame:
        """A row for each candidate: what was measured, and its support."""
        import pandas as pd

        columns = {
            "silhouette": self.silhouette,
            "likelihood_one_size": self.likelihood_one_size,
            "likelihood_own_sizes": self.likelihood_own_sizes,
            "belief_peaks": self.witnesses["belief peaks"],
            "support": self.support,
        }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the support of each candidate (see `dempster.plot.NumberOfClustersDisplay`)."""
        from dempster.plot.number_of_clusters import (
            NumberOfClustersDisplay,  # a view of this value, imported when looked at
        )

        return NumberOfClustersDisplay.from_numbers(self, ax=ax, **options)

    def reasons(self) -> str:
        """In words: what was chosen, which number each witness would have taken, and the next best."""
        favorites = {name: int(self.n_clusters[values.argmax()]) for name, values in self.witnesses.items()}
        said = "; ".join(f"{name} {k}" for name, k in favorites.items())
        words = f"{self.best}; {said}"
        order = np.argsort(-self.support, kind="stable")
        if len(order) > 1:
            k = int(self.n_clusters[order[1]])
            ratio = self.support[order[1]] / max(self.support[order[0]], np.finfo(float).tiny)
            words += f"; next {k}, with {ratio:.0%} of the support"
        return words

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __repr__(self) -> str:
        return f"NumberOfClusters({self.reasons()})"


def _scaled(values: np.ndarray) -> np.ndarray:
    finite = np.where(np.isfinite(values), values, np.nanmin(np.where(np.isfinite(values), values, np.inf)))
    if not np.isfinite(finite).all():
        return np.zeros(len(values))
    spread = np.ptp(finite)
    return (finite - finite.min()) / spread if spread > 0 else np.ones(len(values))


def compared_numbers(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    candidates: Iterable[int] | None,
    random_state: Seed,
    apply: Apply,
) -> NumberOfClusters:
    """Compare numbers of clusters of these objects, on a sample if they are many.

    Without ``candidates``, 2 to 25 and the numbers near that of the belief peaks. Candidates above a third of the
    number of different objects are left out: of so few a cluster nothing can be said.
    """
    rng = as_random_state(random_state)
    some, w, D = _without_outliers(*_sample(source, weights, rng))
    n, squares = len(some), np.square(D)
    n_peaks = len(find_peaks(some, finder(some, "auto", rng, 1), apply, _BELIEF).indices) if n > 2 else 1
    if candidates is None:  # many peaks speak for more clusters than the usual candidates have
        low, high = (1 - _AROUND_PEAKS) * n_peaks, (1 + _AROUND_PEAKS) * n_peaks
        candidates = {*_CANDIDATES, *range(max(int(np.ceil(low)), 2), int(high) + 1)}
    different = n - int((np.tril(D == 0, -1)).any(axis=1).sum())
    numbers = np.array(sorted({int(k) for k in candidates if 1 <= k <= max(different // 3, 1)}) or [1])
    euclidean = some.is_euclidean and isinstance(some.objects, np.ndarray)
    dimension = float(some.objects.shape[1]) if euclidean else intrinsic_dimension(D)
    partitions = _partitions(some.objects if euclidean else None, squares, w, numbers, rng)
    silhouettes, one, own = np.array([_measured(D, squares, labels, w, dimension) for labels in partitions]).T
    cost = _PENALTY * numbers * np.log(n) / (2 * n)
    return NumberOfClusters(
        numbers,
        silhouettes,
        one - (dimension + 1) * cost,
        own - (dimension + 2) * cost,
        n_peaks,
        n,
    )


def _sample(
    source: DissimilaritySource, weights: np.ndarray | None, rng: np.random.RandomState
) -> tuple[DissimilaritySource, np.ndarray]:
    """Some of the objects, drawn in proportion to the weights along an order that has nothing to do with the rows."""
    w = np.ones(len(source)) if weights is None else weights.astype(float)
    if isinstance(source.objects, np.ndarray):
        order = order_along_line(source.objects)
    else:
        probes = np.arange(min(len(source), 200))
        order = np.argsort(source.block(np.arange(len(source)), probes).sum(axis=1), kind="stable")
    which, counts = sample_in_order(order, w, _SAMPLE_SIZE, rng)
    some = source.subset(which)
    if isinstance(some, AttributeSource) and has_missing(some.objects):
        some = AttributeSource(filled(some.objects), some.metric)
    return some, counts / counts.mean()


def _without_outliers(
    source: DissimilaritySource, weights: np.ndarray
) -> tuple[DissimilaritySource, np.ndarray, np.ndarray]:
    """The objects that are not far from all others, for which clusters of their own would speak, their weights, and
    the dissimilarities between them."""
    everyone = np.arange(len(source))
    D = source.block(everyone, everyone).astype(float)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    k = min(_NEAR, len(D) - 1)
    if k < 1:
        return source, weights, D
    near = np.partition(D, k, axis=1)[:, k]
    logs = np.log(np.maximum(near, np.finfo(float).tiny))
    low, high = np.quantile(logs, [0.25, 0.75])
    kept = np.flatnonzero(logs <= high + _FENCE * max(high - low, _LEAST_RANGE))
    return source.subset(kept), weights[kept], D[np.ix_(kept, kept)]


def _partitions(
    X: np.ndarray | None, squares: np.ndarray, weights: np.ndarray, numbers: np.ndarray, rng: np.random.RandomState
) -> list[np.ndarray]:
    """For each number the best of several k-means, or of medoids where there are no coordinates."""
    if X is None:
        generator = np.random.default_rng(rng.randint(2**31 - 1))
        medoids = (medoid_starts(squares, int(k), 1, generator, weights)[0] for k in numbers)
        return [squares[chosen].argmin(axis=0) for chosen in medoids]
    data = np.ascontiguousarray(X, dtype=float)
    data = data - mean_of_rows(data)

    def best(k: int) -> np.ndarray:
        runs = [k_means(data, k, rng, weights) for _ in range(_STARTS)]
        return min(runs, key=lambda run: float(weights @ np.square(data - run[0][run[1]]).sum(axis=1)))[1]

    return [best(int(k)) for k in numbers]


def _measured(
    D: np.ndarray, squares: np.ndarray, labels: np.ndarray, weights: np.ndarray, dimension: float
) -> tuple[float, float, float]:
    """Mean silhouette, and log-likelihoods per object of round clusters of one size and of a size each."""
    clusters = np.unique(labels)
    share = np.where(labels == clusters[:, None], weights, 0.0)
    total = share.sum(axis=1)
    part = total / total.sum()
    numbered = np.searchsorted(clusters, labels)
    away = _squares_from_centers(squares, numbered, weights, dimension)
    own = _sizes(away, numbered, weights, dimension)
    one = _sizes(away, np.zeros_like(numbered), weights, dimension)

    def likelihood(size: np.ndarray) -> float:
        tails = (_FREEDOM + dimension) / 2 * np.log1p(away / (_FREEDOM * size))
        return float(np.average(np.log(part[numbered]) - dimension / 2 * np.log(size) - tails, weights=weights))

    floored = own[numbered] + _FLOOR * (part @ own) + np.finfo(float).tiny
    return (
        _silhouette(D, share, total, numbered, weights),
        likelihood(np.full(len(D), one[0] + np.finfo(float).tiny)),
        likelihood(floored),
    )


def _squares_from_centers(squares: np.ndarray, labels: np.ndarray, weights: np.ndarray, dimension: float) -> np.ndarray:
    """Squared distances to the centers of t distributions, one for each cluster, by expectation and maximisation.

    A center is a weighted mean of its objects, so squared distances between them are enough: with weights a that sum to
    one, object i is at sum_j a_j d_ij^2 - sum_jk a_j a_k d_jk^2 / 2 from it.
    """
    away = np.zeros(len(labels))
    for cluster in range(labels.max() + 1):
        members = np.flatnonzero(labels == cluster)
        between, w = squares[np.ix_(members, members)], weights[members]
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


def _sizes(away: np.ndarray, groups: np.ndarray, weights: np.ndarray, dimension: float) -> np.ndarray:
    """Squared sizes of t distributions around given centers, one for each group of objects."""
    total = np.bincount(groups, weights)
    sizes = np.bincount(groups, weights * away) / (dimension * total)
    for _ in range(_SCALING):
        mine = sizes[groups]
        relative = np.divide(away, mine, out=np.zeros_like(away), where=mine > 0)
        trust = (_FREEDOM + dimension) / (_FREEDOM + relative)
        sizes = np.bincount(groups, weights * trust * away) / (dimension * total)
    return sizes


def _silhouette(D: np.ndarray, share: np.ndarray, total: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean of (b - a) / max(a, b); an object alone in its cluster counts as 0."""
    if len(total) < 2:
        return float("nan")
    rows = np.arange(len(D))
    sums = D @ share.T
    others = total[labels] - weights  # of its own cluster, itself left out
    alone = others <= 1e-9 * total[labels]
    a = sums[rows, labels] / np.where(alone, 1, others)
    means = sums / total
    means[rows, labels] = np.inf
    b = means.min(axis=1)
    larger = np.maximum(a, b)
    values = np.where(alone | (larger <= 0), 0, (b - a) / np.where(larger > 0, larger, 1))
    return float(np.average(values, weights=weights))
