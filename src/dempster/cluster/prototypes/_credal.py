"""The model of credal c-means, and what its method does otherwise than that of evidential c-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._search import MassModel
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.prototypes._lifted import LiftedMethod, grounded_evidence
from dempster.cluster.prototypes._method import PrototypeSettings
from dempster.cluster.prototypes._model import PrototypeModel, Statistics
from dempster.optimize.normal_equations import solve_normal_equations

__all__ = ["CredalSettings", "CredalModel", "CredalMethod"]

_COINCIDE = 0.05  # prototypes nearer to each other, in standard deviations of the data, are one


@dataclass(frozen=True, kw_only=True)
class CredalSettings(PrototypeSettings):
    """Those of ECM, and the weight of the distance to the barycentre."""

    gamma: float


@dataclass(frozen=True)
class CredalModel(PrototypeModel):
    """Prototypes of credal c-means, in one dimension more than the data.

    Because sum_{k in A} |x - v_k|^2 = |A| |x - v_A|^2 + sum_{k in A} |v_k - v_A|^2, the cost of a set is that of its
    barycentre plus a constant, D_i(A)^2 = |x_i - v_A|^2 + s_A / (|A| + gamma) with s_A the spread of its prototypes:
    the squared distance to a barycentre lifted off the space of the data. So the kernels of ECM serve.
    """

    gamma: float = 1.0

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        return grounded_evidence(super().evidence(X, itself))

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        barycentres, *others = super().kernel_arguments(dtype)
        sets = self.step.sets
        size = sets.sum(axis=1)
        bary = sets @ self.centers / size[:, None]
        gap = self.centers[None] - bary[:, None]
        spread = np.einsum("jk,jkd,jkd->j", sets, gap, gap)
        barycentres[-1] = np.sqrt(spread / (size + self.gamma))
        return (barycentres, *others)

    def _present_squares(self, X: np.ndarray) -> np.ndarray:
        """The spread of the prototypes of a set counts in the attributes that an object has."""
        sets, size = self.step.sets, self.step.sets.sum(axis=1)
        gap = self.centers[None] - (self.step.averages @ self.centers)[:, None]
        spreads = np.einsum("jk,jkd->jd", sets, gap**2) / (size + self.gamma)[:, None]
        return super()._present_squares(X) + ~np.isnan(X) @ spreads.T

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Solve H V = R, the condition for a minimum given the masses (Liu et al., 2015)."""
        sets = self.step.sets
        size = sets.sum(axis=1)
        share = 1 / (size + self.gamma)
        H = np.diag(sets.T @ (share * statistics.total))
        H += (sets.T * (self.gamma * share * statistics.total / size**2)) @ sets
        return solve_normal_equations(H, (sets.T * ((1 + self.gamma / size) * share)) @ statistics.first.T)


class CredalMethod(LiftedMethod):
    """Credal c-means, on objects whose last coordinate is zero."""

    settings: CredalSettings

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> CredalModel:
        step = self._mass_step(family)
        return CredalModel(step, np.asarray(centers, float), metrics, self.within, self.settings.gamma)

    def remarks(self, model: MassModel[Any]) -> list[str]:
        """A large beta in many dimensions draws all prototypes to the mean of the data."""
        assert isinstance(model, CredalModel)
        gap = model.centers[:, None] - model.centers[None]
        apart = np.einsum("kld,kld->kl", gap, gap) + np.diag(np.full(len(gap), np.inf))
        k, other = np.unravel_index(apart.argmin(), apart.shape)
        if apart[k, other] >= _COINCIDE**2 * self.mean_squared_deviation:
            return []
        return [f"clusters {k} and {other} coincide; try a smaller beta, got {self.settings.beta:g}, or fewer sets"]
