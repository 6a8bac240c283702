"""A mixture that learns from blocks of objects: the sums of a step of EM, of a block or of all blocks so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dempster._arrays import Array, same_place, to_host
from dempster.cluster.mixtures._evidential_mixture import EvidentialMixture, MixtureSums, neighbors_in_metric
from dempster.cluster.on_device.rows import block_on_device
from dempster.optimize.blocks import Apply

__all__ = ["OnlineMixture", "block_sums", "block_likelihood"]


def block_sums(
    block: np.ndarray, weights: np.ndarray, shared: tuple[EvidentialMixture, np.ndarray, float, str], apply: Apply
) -> MixtureSums:
    """The sums of one block of objects, measured from an origin and in a unit, on a device."""
    model, origin, unit, device = shared
    rows = block_on_device(block, device)
    return model.sums((rows - same_place(origin, rows)) / unit, same_place(weights, rows), apply)


def block_likelihood(
    block: np.ndarray, weights: np.ndarray, shared: tuple[EvidentialMixture, str], apply: Apply
) -> float:
    """Logarithm of the likelihood of one block of objects, on a device."""
    model, device = shared
    logs = to_host(model.log_densities(block_on_device(block, device), apply))
    return float(logs @ weights if len(weights) else logs.sum())


@dataclass(frozen=True)
class OnlineMixture:
    """A mixture and the sums over the objects that it was learned from.

    The masses of a block are those under the mixture of its time (Neal and Hinton, 1998: incremental variants of EM;
    forgetting as in Cappe and Moulines, 2009: online EM).

    Attributes
    ----------
    model : EvidentialMixture
        What moves, measured from ``origin`` in ``unit``.
    origin : (p,) array
    unit : float
    reg_covar : float
    neighbors : bool
        Whether doubt between neighboring clusters is read off.
    sums : MixtureSums or None
        None before the first block.
    second : (p, p) array
        Sum of x x'.
    n : float
        Sum of the weights.
    """

    model: EvidentialMixture
    origin: np.ndarray
    unit: float
    reg_covar: float
    neighbors: bool
    sums: MixtureSums | None = None
    second: np.ndarray | float = 0.0
    n: float = 0.0

    @property
    def objective(self) -> float:
        """Minus the log-likelihood of all objects so far, each under the mixture of its time."""
        assert self.sums is not None
        return self.n * self.model.means.shape[1] * float(np.log(self.unit)) - self.sums.likelihood

    def after(self, X: Array, weights: np.ndarray, kept: float, *, update: bool, apply: Apply) -> Self:
        """After one more block; ``kept`` is the share of the earlier sums that is not forgotten."""
        data = (X - same_place(self.origin, X)) / self.unit
        w = same_place(weights if len(weights) else np.ones(len(X)), X)
        sums, second, n = self.model.sums(data, w, apply), to_host((data.T * w) @ data), float(w.sum())
        if self.sums is not None:
            sums, second, n = self.sums.scaled(kept) + sums, kept * self.second + second, kept * self.n + n
        later = replace(self, sums=sums, second=second, n=n)
        return replace(later, model=later._maximizer()) if update else later

    def _maximizer(self) -> EvidentialMixture:
        assert self.sums is not None
        assert isinstance(self.second, np.ndarray)
        mean = self.sums.first.sum(axis=0) / self.n  # masses sum to one
        variance = max(float(np.trace(self.second)) / self.n - float(mean @ mean), 0.0) / len(mean)
        return self.model.step(self.sums, self.second, self.n, self.reg_covar * variance)[1]

    def fitted(self) -> EvidentialMixture:
        """The model for new objects, in their coordinates."""
        model = self.model
        doubtful = neighbors_in_metric(model.means, model.covariance) if self.neighbors else None
        return replace(model, origin=self.origin, unit=self.unit, doubtful=doubtful)
