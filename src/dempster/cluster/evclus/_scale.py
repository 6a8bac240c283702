"""Which d0: the dissimilarity at which two objects are almost surely in different clusters, found from the data.

Clusters are found at several scales, and the scale whose clusters explain the data best is taken. What explains is
the likelihood of a round Gaussian in each cluster, with a size of its own (Celeux and Govaert's classification
likelihood): for clusters of n_k objects with half the mean squared dissimilarity w_k within,

    sum_k (n_k / n) (log(n_k / n) - (p / 2) log(w_k + 0.02 w)),

with w the mean of the w_k, which keeps a cluster of twins from deciding everything, and p the number of dimensions:
that of the attributes, or for dissimilarities without any the one that the distances to the nearest objects speak of.
Where landmarks stand for many objects, half of them are enough to choose (`ScaleOnLandmarks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dempster.optimize.descent import as_likely

__all__ = ["SCALES", "Scale", "ScaleTrial", "PairDissimilarities", "likelihood_of_clusters"]

SCALES = (0.06, 0.2, 0.35, 0.5, 0.8, 1.0)  # quantiles of the dissimilarities that are tried
_FLOOR = 0.02


@dataclass(frozen=True)
class ScaleTrial:
    """One scale that was tried: the quantile of the dissimilarities, d0, and the log-likelihood, per object, of the
    clusters found there."""

    quantile: float
    d0: float
    log_likelihood: float


@dataclass(frozen=True)
class Scale:
    """Scales that were tried."""

    trials: tuple[ScaleTrial, ...]

    @property
    def best(self) -> ScaleTrial:
        """That of largest likelihood; the middle of equal ones."""
        equal = as_likely([trial.log_likelihood for trial in self.trials])
        return self.trials[equal[len(equal) // 2]]

    def reasons(self) -> str:
        """In words: the best scale, and how much worse the others explain the data."""
        best = self.best

        def behind(trial: ScaleTrial) -> float:
            same = trial.log_likelihood == best.log_likelihood  # perhaps both infinite
            return 0.0 if same else trial.log_likelihood - best.log_likelihood

        others = ", ".join(f"{trial.quantile:g} ({behind(trial):+.2f})" for trial in self.trials if trial is not best)
        where = f"{best.d0:.4g}, the quantile {best.quantile:g} of the dissimilarities"
        return f"{where}; log-likelihood at other quantiles: {others}" if others else where


class PairDissimilarities(NamedTuple):
    """Some pairs of objects i and j with their dissimilarities and weights."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray
    weight: np.ndarray


def likelihood_of_clusters(
    dissimilarities: np.ndarray | PairDissimilarities,
    labels: np.ndarray,
    dimension: float,
    weights: np.ndarray | None = None,
) -> float:
    """Log-likelihood per object, up to a constant, of a round Gaussian in each cluster.

    Parameters
    ----------
    dissimilarities : (n, n) array or PairDissimilarities
    labels : (n,) array
    dimension : float
    weights : (n,) array, optional
        Of the objects.
    """
    w = np.ones(len(labels)) if weights is None else weights
    clusters, at = np.unique(labels, return_inverse=True)
    total = np.bincount(at, w)
    if isinstance(dissimilarities, PairDissimilarities):
        within = _mean_of_pairs(dissimilarities, at, len(clusters)) * (1 - np.bincount(at, w**2) / total**2)
    else:
        share = np.where(labels == clusters[:, None], w, 0.0)
        within = np.einsum("ki,ki->k", share @ np.square(dissimilarities, dtype=float), share) / (2 * total**2)
    part = total / total.sum()
    mean = float(part @ within)
    if not mean > 0:  # every cluster is a place
        return np.inf
    return float(part @ (np.log(part) - dimension / 2 * np.log(within + _FLOOR * mean)))


def _mean_of_pairs(pairs: PairDissimilarities, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Half the mean squared dissimilarity of the pairs within each cluster; their mean over all where there is none."""
    together = labels[pairs.i] == labels[pairs.j]
    where, weight = labels[pairs.i[together]], pairs.weight[together]
    squares = np.bincount(where, weight * np.square(pairs.dissimilarity[together]), minlength=n_clusters)
    counts = np.bincount(where, weight, minlength=n_clusters)
    overall = squares.sum() / max(counts.sum(), np.finfo(float).tiny)
    return np.where(counts > 0, squares / np.where(counts > 0, counts, 1), overall) / 2
