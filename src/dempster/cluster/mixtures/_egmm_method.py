"""How EGMM maximises its likelihood: starts, a sample for the first of them, given means."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from dempster._arrays import Array, to_host
from dempster._scale import mean_of_rows
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._search import Method, Sample
from dempster.cluster.mixtures._evidential_mixture import (
    EvidentialMixture,
    MixtureSums,
    neighbors_in_metric,
    positive_definite,
)
from dempster.cluster.mixtures._online import OnlineMixture, block_likelihood, block_sums
from dempster.cluster.on_device.rows import rows_on_device
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run, descend
from dempster.optimize.projection_torch import sent
from dempster.partition import CredalPartition

__all__ = ["EGMMSettings", "EGMMMethod"]

_FIRST_STEPS = 10  # of k-means, from the first means


@dataclass(frozen=True)
class EGMMSettings:
    """What a user may set. ``init`` names a way to draw starts, or is the means or the partition to start from."""

    n_clusters: int
    reg_covar: float
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float
    device: str = "cpu"


class EGMMMethod(Method[EvidentialMixture, EvidentialMixture]):
    """EM from several starts. The objects are measured from their mean, as products of attributes lose digits far away,
    and in units of their spread, so that relative changes of the likelihood do not depend on the units of X."""

    def __init__(self, settings: EGMMSettings, sample: Sample[np.ndarray], rng: np.random.RandomState, apply: Apply):
        self.settings, self.values, self.rng, self.apply = settings, sample.values, rng, apply
        self.everyone = sample.everyone
        self.weights = np.ones(len(self.values)) if sample.weights is None else sample.weights
        moments = None if self.everyone is None else self.everyone.moments
        self.on_device = None
        if self.everyone is None:
            self.on_device = rows_on_device(self.values, sample.kernel_weights, settings.device)
        if self.on_device is None:
            self.origin = moments.mean if moments else mean_of_rows(self.values, self.weights)
            gaps = self.values - self.origin
            spread = moments.mean_squared_deviation if moments else _starts.mean_squared_deviation(gaps, self.weights)
            self.unit = float(np.sqrt(spread / gaps.shape[1])) or 1.0
            self.data = gaps / self.unit
            self.sample, self.sample_weights = _starts.representative_sample(self.data, self.weights, rng)
        else:
            self.origin = self.on_device.mean()
            spread = self.on_device.mean_squared_deviation()
            self.unit = float(np.sqrt(spread / self.values.shape[1])) or 1.0
            self.on_device = self.on_device.standardized(self.origin, self.unit)
            self.data = self.on_device.rows
            self.sample, self.sample_weights = self.on_device.representative_sample(rng)
        _starts.check_different_objects(self.data, self.sample, settings.n_clusters, self.weights)
        self.n = moments.weight if moments else float(self.weights.sum())
        self.second = moments.scatter / self.unit**2 if moments else self._products()
        self.ridge = settings.reg_covar * self._mean_variance()

    def _products(self) -> np.ndarray:
        if self.on_device is not None:
            return self.on_device.products()
        return (self.data.T * self.weights) @ self.data

    def _mean_variance(self) -> float:
        return float(np.trace(self.second)) / self.n / self.data.shape[1]

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> EvidentialMixture | None:
        init = self.settings.init
        return None if isinstance(init, str) else self._from_means(family, self._given_means(init))

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[EvidentialMixture], int]:
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        return (self._drawn(family, np.random.RandomState(seed)) for seed in seeds), len(seeds)

    def _drawn(self, family: FocalSets, rng: np.random.RandomState) -> EvidentialMixture:
        init = self.settings.init
        assert isinstance(init, str)
        means = _starts.first_centers(self.sample, self.sample_weights, self.settings.n_clusters, init, rng)
        return self._from_means(family, _starts.k_means(self.sample, self.sample_weights, means, _FIRST_STEPS))

    def _given_means(self, init: ArrayLike | CredalPartition) -> np.ndarray:
        shape = (self.settings.n_clusters, self.data.shape[1])
        if isinstance(init, CredalPartition):
            _starts.check_partition(init, len(self.data), shape[0])
            share = to_host(init.pignistic()) * self.weights[:, None]
            return (share.T @ to_host(self.data)) / np.maximum(share.sum(axis=0), np.finfo(float).tiny)[:, None]
        return (_starts.checked_centers(init, shape) - self.origin) / self.unit

    def _from_means(self, family: FocalSets, means: np.ndarray) -> EvidentialMixture:
        """Equal weights, and the scatter of the objects about their nearest mean as covariance."""
        require_singletons(family, "each has a mean of its own")
        gap = self.sample - means[_starts.nearest_centers(self.sample, means)]
        scatter = (gap.T * self.sample_weights) @ gap / self.sample_weights.sum()
        # as many clusters as objects leave no scatter
        least = max(self.ridge, 1e-6 * self._mean_variance())
        covariance = positive_definite(scatter + least * np.eye(len(scatter)))
        g = int((family.cardinality > 0).sum())
        return EvidentialMixture(family, means, covariance, np.full(g, 1 / g))

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: EvidentialMixture) -> Run[EvidentialMixture]:
        second = (self.sample.T * self.sample_weights) @ self.sample
        return self._run(start, self.sample, self.sample_weights, second)

    def completed(self, best: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        all_competed = _starts.holds_all(self.sample, self.data, self.weights)
        all_competed &= self.everyone is None or self.everyone.are_drawn
        return best if all_competed else self.descend(best.model)

    def descend(self, start: EvidentialMixture) -> Run[EvidentialMixture]:
        everyone = self.everyone
        if everyone is None:
            weights = self.weights if self.on_device is None else self.on_device.weights
            return self._run(start, self.data, weights, self.second)

        def step(mixture: EvidentialMixture) -> tuple[float, EvidentialMixture]:
            shared = mixture, self.origin, self.unit, self.settings.device
            sums = everyone.sum(block_sums, shared, MixtureSums)
            return mixture.step(sums, self.second, self.n, self.ridge)

        return self._descended(step, start)

    def extended(self, run: Run[EvidentialMixture], family: FocalSets) -> Run[EvidentialMixture]:
        return self.descend(self._from_means(family, run.model.means))

    def with_neighbors(self, run: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        """A Gaussian between two others would take objects of neither, or none if they fit; so doubt comes from the
        probabilities."""
        neighbors = neighbors_in_metric(run.model.means, run.model.covariance)
        return Run(replace(run.model, doubtful=neighbors), run.history, run.converged)

    def _run(
        self, start: EvidentialMixture, data: Array, weights: Array | None, second: np.ndarray
    ) -> Run[EvidentialMixture]:
        n = float(len(data) if weights is None else weights.sum())
        return self._descended(
            lambda mixture: mixture.step(mixture.sums(data, weights, self.apply), second, n, self.ridge), start
        )

    def _descended(
        self, step: Callable[[EvidentialMixture], tuple[float, EvidentialMixture]], start: EvidentialMixture
    ) -> Run[EvidentialMixture]:
        return descend(step, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[EvidentialMixture]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def result(self, run: Run[EvidentialMixture]) -> tuple[EvidentialMixture, Array]:
        model = replace(run.model, origin=self.origin, unit=self.unit)
        if self.on_device is not None:
            return model, model.masses_on_device(self.values, self.on_device.rows.device)
        return model, model.masses(self.values, self.apply)

    def finished(self, run: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        """The objective in the units of X."""
        shift = self.n * self.data.shape[1] * np.log(self.unit)
        return replace(run, history=[float(value + shift) for value in run.history])

    def log_likelihood(self, model: EvidentialMixture) -> float:
        """Of all objects."""
        if self.everyone is not None:
            return self.everyone.sum(block_likelihood, (model, self.settings.device), float)
        values = self.values if self.on_device is None else sent(self.values, self.on_device.rows.device)
        return float(to_host(model.log_densities(values, self.apply)) @ self.weights)

    def online(self, model: EvidentialMixture, *, neighbors: bool) -> OnlineMixture:
        """Where learning block by block begins; ``neighbors``: whether doubt between neighbors is read off."""
        return OnlineMixture(model, self.origin, self.unit, self.settings.reg_covar, neighbors)
