"""Weights of the views in `WMVEC`, and the base class of its two algorithms."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from scipy.special import rel_entr

from dempster._random import as_random_state
from dempster.belief import FocalSets
from dempster.cluster._base import FitRequest
from dempster.cluster._mass_step import MassStep
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import default_beta
from dempster.optimize.descent import Run

# A row with at most this cost coincides with a prototype (every view is scaled to dispersion 1).
_ZERO = 1e-12
_ONE_VIEW = 0.99  # A view with at least this weight causes a warning.


@dataclass(frozen=True)
class WeightRule:
    """Rule that computes the optimal weights of V views from their within-cluster dispersions."""

    first: np.ndarray  # (V,), initial weights
    prior: (
        np.ndarray
    )  # (V,), prior weights; the weights approach them as ``evenness`` increases
    evenness: float | None  # strength of the prior; None if the weights are fixed

    @classmethod
    def from_dispersions(
        cls, shapeless: np.ndarray, varies: np.ndarray, evenness: float
    ) -> WeightRule:
        """Return the rule for learned weights.

        ``shapeless`` contains the shapeless dispersions; ``varies`` is False for constant views.
        """
        if not varies.any():
            varies = np.ones(len(varies), dtype=bool)
        even = varies / varies.sum()
        prior = np.where(
            varies, np.exp((shapeless - shapeless[varies].max()) / evenness), 0.0
        )
        return cls(even, prior / prior.sum(), evenness)

    def best_weights(self, dispersion: np.ndarray) -> np.ndarray:
        """Return the weights that minimize the objective, given the dispersions within clusters."""
        if self.evenness is None:
            return self.first
        smallest = dispersion[self.prior > 0].min()
        weights = self.prior * np.exp(-(dispersion - smallest) / self.evenness)
        return weights / weights.sum()

    def penalty(self, weights: np.ndarray) -> float:
        """Return the penalty for the difference from the prior, per unit of sample weight."""
        if self.evenness is None:
            return 0.0
        return max(self.evenness * float(rel_entr(weights, self.prior).sum()), 0.0)


def shapeless_dispersion(variances: np.ndarray, n_clusters: int) -> float:
    """Return the share of the variance of a Gaussian distribution that remains within clusters.

    ``variances`` contains the variances along the principal axes. The share follows from
    rate-distortion theory: with log(c) nats for c clusters, principal axes whose variance exceeds a
    certain level keep a variance equal to the level, and the other axes keep their variance
    (reverse water-filling; Cover and Thomas, 2006, section 10.3.3).
    """
    variances = np.sort(variances)[::-1]
    if not variances[0] > 0:
        return 0.0
    variances = np.maximum(variances / variances[0], 1e-12)
    n_axes = np.arange(1, len(variances) + 1)
    levels = np.exp((np.cumsum(np.log(variances)) - 2 * np.log(n_clusters)) / n_axes)
    level = levels[np.argmax(np.append(variances[1:], 0.0) <= levels)]
    return float(np.minimum(variances, level).sum() / variances.sum())


Model = TypeVar("Model")


class BaseViewMethod(Method[Model, Model]):
    """Common base class of the `WMVEC` algorithms for attributes and for dissimilarities."""

    rule: WeightRule
    shapeless: np.ndarray  # (V,), shapeless dispersions

    def __init__(self, params: Any, sample: Sample[Any], request: FitRequest):
        self.params = params
        self.values = sample.values
        self.apply = request.apply
        self.n_clusters = request.n_clusters
        self.rng = as_random_state(params.random_state)
        self.view_names = params._input.names
        if isinstance(params.beta, str):
            self.beta = default_beta(self._count_dimensions())
        else:
            self.beta = float(params.beta)
        self.view_weights = params._fixed_weights()
        self.init = params._resolve_init(sample.values, request.n_clusters)
        self._delta = None if isinstance(params.delta, str) else float(params.delta)

    @abstractmethod
    def _count_dimensions(self) -> float:
        """Return the number of dimensions that determines the value of ``beta="auto"``."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """Distance from each object to the empty set, estimated if ``delta`` is "auto"."""

    def _set_weight_rule(self, variances: list[np.ndarray], varies: np.ndarray) -> None:
        """Set the weight rule, given the variances along the principal axes of each view."""
        self.shapeless = np.array(
            [shapeless_dispersion(each, self.n_clusters) for each in variances]
        )
        if self.view_weights is None:
            evenness = float(self.params.evenness)
            self.rule = WeightRule.from_dispersions(self.shapeless, varies, evenness)
        else:
            self.rule = WeightRule(self.view_weights, self.view_weights, None)

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        return MassStep(family, self.params.alpha, self.beta, delta2, _ZERO)

    def result(self, run: Run[Model]) -> FitResult:
        """Return the result, with a warning if one view has nearly all of the learned weight."""
        model: Any = run.model
        result = FitResult(run, model, model.masses(self.values, self.apply))
        evenness = self.rule.evenness
        largest = model.weights.max()
        if evenness is None or (self.rule.prior > 0).sum() < 2 or largest < _ONE_VIEW:
            return result
        name = self.view_names[int(model.weights.argmax())]
        warning = (
            f"{name!r} has {largest:.1%} of the weight of all views; "
            f"increase evenness, got {evenness:g}"
        )
        return replace(result, warnings=(warning,))
