"""Which d0: the dissimilarity at which two objects are almost surely in different clusters, found from the data.

Clusters are found at several scales on a sample of the objects, and the scale whose clusters explain the data best is
taken. What explains is the likelihood of a round Gaussian in each cluster, with a size of its own (Celeux and Govaert's
classification likelihood): for clusters of n_k objects with half the mean squared dissimilarity w_k within,

    sum_k (n_k / n) (log(n_k / n) - (p / 2) log(w_k + 0.02 w)),

with w the mean of the w_k, which keeps a cluster of twins from deciding everything, and p the number of dimensions:
that of the attributes, or for dissimilarities without any the one that the distances to the nearest objects speak of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = [
    "SCALES",
    "SAMPLE_SIZE",
    "Scale",
    "ScaleTrial",
    "likelihood_of_clusters",
]

SCALES = (0.06, 0.2, 0.35, 0.5, 0.8, 1.0)  # quantiles of the dissimilarities that are tried
SAMPLE_SIZE = 600  # objects on which they are
_FLOOR = 0.02


@dataclass(frozen=True, eq=False)
class ScaleTrial:
    """One scale that was tried.

    Attributes
    ----------
    quantile, d0 : float
    log_likelihood : float
        Per object, of the clusters found there.
    labels : (m,) array
        These clusters, of the objects of the sample.
    """

    quantile: float
    d0: float
    log_likelihood: float
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Scale:
    """Scales that were tried on a sample of the objects.

    Attributes
    ----------
    positions : (m,) array
        The sample.
    trials : tuple of ScaleTrial
    """

    positions: np.ndarray
    trials: tuple[ScaleTrial, ...]

    @property
    def best(self) -> ScaleTrial:
        """That of largest likelihood; the middle of equal ones."""
        values = np.array([trial.log_likelihood for trial in self.trials])
        equal = np.flatnonzero(values >= values.max() - 1e-9) if np.isfinite(values.max()) else values.argsort()[-1:]
        return self.trials[int(equal[len(equal) // 2])]

    @property
    def quantile(self) -> float:
        """Of the dissimilarities, at the best scale."""
        return self.best.quantile

    def reasons(self) -> str:
        """In words: the best scale, and how much worse the others explain the data."""
        best = self.best
        others = ", ".join(
            f"{trial.quantile:g} ({trial.log_likelihood - best.log_likelihood:+.2f})"
            for trial in self.trials
            if trial is not best
        )
        return f"d0 at the quantile {best.quantile:g} of the dissimilarities; log-likelihood elsewhere: {others}"


def likelihood_of_clusters(
    D: np.ndarray, labels: np.ndarray, dimension: float, weights: np.ndarray | None = None
) -> float:
    """Log-likelihood per object, up to a constant, of a round Gaussian in each cluster."""
    w = np.ones(len(D)) if weights is None else weights
    clusters = np.unique(labels)
    share = np.where(labels == clusters[:, None], w, 0.0)
    total = share.sum(axis=1)
    within = np.einsum("ki,ki->k", share @ np.square(D, dtype=float), share) / (2 * total**2)
    part = total / total.sum()
    mean = float(part @ within)
    if not mean > 0:  # every cluster is a place
        return np.inf
    return float(part @ (np.log(part) - dimension / 2 * np.log(within + _FLOOR * mean)))
