"""What BootClus leaves behind: reference objects with their masses, which all other objects are compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster._blas import one_blas_thread
from dempster.belief import FocalSets
from dempster.cluster.evidence import ClusterEvidence, quadratic_parts
from dempster.cluster.mixtures._bootstrap import Bootstraps
from dempster.cluster.mixtures._pair_fit import PairMasses
from dempster.dissimilarity.references import References
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.interval_fit import interval_hessian
from dempster.optimize.pair_quantiles import quantile_ranks, quantiles_between
from dempster.optimize.simplex_qp import simplex_qp_batch

__all__ = ["PairModel"]

_ROWS = 64  # objects projected together


@dataclass(frozen=True, eq=False)
class PairModel:
    """Each object is compared with the reference objects, whose masses stay as they are.

    Attributes
    ----------
    bootstraps : Bootstraps
    confidence : float
        Level of the intervals.
    references : References
        In double precision.
    fitted : PairMasses
        Of the references.
    compared : (r,) array
        The references, by their numbers, that other objects are compared with.
    """

    bootstraps: Bootstraps
    confidence: float
    references: References
    fitted: PairMasses
    compared: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.fitted.family.asked

    def masses(self, values: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of any objects; one with the attributes of a reference object has the masses of that one.

        For the others the intervals of their pairs with some of the reference objects are computed, and matched with
        the masses of these held fixed: a small convex quadratic program each.
        """
        out = np.zeros((len(values), len(self.family)), dtype=values.dtype)
        X = np.ascontiguousarray(values, dtype=float)
        same = self.references.equals(X)
        known, new = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
        out[np.ix_(known, self.fitted.family.columns)] = self.fitted.masses[same[known]]
        if len(new):
            # threads go over blocks, so the matrix products inside must not start their own
            with one_blas_thread():
                self._project(X, new, out, apply)
        return out

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the logarithm of the weight times the density of its Gaussian, in the mean over
        the bootstrap fits."""
        fits = self.bootstraps
        gap = np.asarray(values, dtype=float)[0] - fits.means
        parts = -quadratic_parts(gap, np.linalg.inv(fits.covariances)).mean(axis=0).T / 2
        determinants = np.linalg.slogdet(2 * np.pi * fits.covariances)[1]
        base = (np.log(np.maximum(fits.proportions, 1e-300)) - determinants / 2).mean(axis=0)
        return ClusterEvidence.of_attributes("mean logarithm of weight times density", parts, base)

    def without(self, position: int) -> PairModel:
        """The same, but that one object of the fit is not compared with."""
        others = self.compared[self.references.positions[self.compared] != position]
        return replace(self, compared=others) if len(others) else self

    def _project(self, X: np.ndarray, which: np.ndarray, out: np.ndarray, apply: Apply) -> None:
        assert self.references.source is not None
        family, fixed = self.fitted.family, self.fitted.masses[self.compared]
        posterior_of = self.bootstraps.posterior_function()
        Q = posterior_of(self.references.source.objects[self.compared], apply)
        ranks = quantile_ranks(len(self.bootstraps), self.confidence)
        H = interval_hessian(fixed, family.forms)
        same, different = (-2 * fixed @ form for form in family.forms)

        def work(start: int, stop: int) -> None:
            rows = which[start:stop]
            lower, upper = np.empty((len(rows), len(Q))), np.empty((len(rows), len(Q)))
            quantiles_between(posterior_of(X[rows]), Q, *ranks, lower, upper)
            linear = lower @ same + (1 - upper) @ different
            masses = np.zeros_like(linear)
            simplex_qp_batch(H, linear, masses, 0, len(rows))
            out[np.ix_(rows, family.columns)] = masses

        apply(work, row_blocks(len(which), _ROWS, most=None))
