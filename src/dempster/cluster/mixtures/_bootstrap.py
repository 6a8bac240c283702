"""Bootstrap of a Gaussian mixture: the same model refitted to samples drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dempster._errors import InvalidInputError
from dempster._sizes import check_memory
from dempster._types import Advance
from dempster.cluster.mixtures import _kernels
from dempster.mixture.em import GaussianParameters, binary_unit, fit_em
from dempster.optimize.blocks import Apply, n_threads, row_blocks

__all__ = ["Bootstraps", "bootstrap_mixture"]

_MOST_REDRAWS = 100  # of one sample, before the model is called unfit for these data
_PLAIN_REDRAWS = 20  # of one sample, before a ridge keeps its components from collapsing
_RIDGE = 0.01  # of the variance of each attribute
_SAMPLES_A_TASK = 10
_ROWS = 64  # objects whose probabilities are computed together


class _Refit(NamedTuple):
    """What every sample is drawn from, where its fit starts, and how it is fitted; can be sent to other processes."""

    data: np.ndarray
    fitted: GaussianParameters
    posterior: np.ndarray
    tol: float
    max_iter: int
    regularization: float
    scaled: bool


class _Replicate(NamedTuple):
    proportions: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: float
    n_redrawn: int


@dataclass(frozen=True, eq=False)
class Bootstraps:
    """Parameters of B fits of a mixture of c components to bootstrap samples.

    Component k of every fit is the one that shares most objects with component k of the mixture fitted to the data.

    Attributes
    ----------
    proportions : ndarray of shape (B, c)
    means : ndarray of shape (B, c, d)
    covariances : ndarray of shape (B, c, d, d)
    log_likelihood : ndarray of shape (B,)
        Of each sample under its own fit.
    n_redrawn : int
        Samples thrown away because the fit lost a component, and drawn again.
    """

    proportions: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: np.ndarray
    n_redrawn: int

    def __len__(self) -> int:
        return len(self.proportions)

    @property
    def n_clusters(self) -> int:
        return int(self.proportions.shape[1])

    def posteriors(self, X: np.ndarray, apply: Apply | None = None) -> np.ndarray:
        """(n, c, B) float32 probabilities of the components given each object, under every fit.

        Parameters
        ----------
        X : (n, d) float64
        apply : Apply, optional
            Several blocks of objects at the same time.
        """
        return self.posterior_function()(X, apply)

    def posterior_function(self) -> Callable[..., np.ndarray]:
        """`posteriors` as a function, with what depends on the fits alone computed once."""
        prepared = self._prepared()

        def posteriors(X: np.ndarray, apply: Apply | None = None) -> np.ndarray:
            out = np.empty((len(X), self.n_clusters, len(self)), dtype=np.float32)
            if apply is None:
                _kernels.posteriors(X, *prepared, out, 0, len(X))
            else:
                blocks = row_blocks(len(X), _ROWS, most=None)
                apply(_kernels.posteriors, [(X, *prepared, out, *rows) for rows in blocks])
            return out

        return posteriors

    def _prepared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inverse Cholesky factors (c, d, d, B), means (c, d, B) and constants (c, B) of the log-densities."""
        factors = np.linalg.cholesky(self.covariances)
        whiteners = np.linalg.inv(factors)
        # in a unit that is a power of two, so that those of X change no digit
        unit = binary_unit(np.diagonal(self.covariances[0], axis1=1, axis2=2).mean())
        half_log_det = np.log(np.diagonal(factors, axis1=2, axis2=3) / unit).sum(axis=2)
        constants = np.log(np.maximum(self.proportions, 1e-300)) - half_log_det
        last = (np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in (whiteners, self.means, constants))
        return tuple(last)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Bootstraps({len(self)} fits of {self.n_clusters} components, {self.n_redrawn} samples redrawn)"


def bootstrap_mixture(
    data: np.ndarray,
    fitted: GaussianParameters,
    posterior: np.ndarray,
    n_bootstraps: int,
    seed: np.random.SeedSequence,
    *,
    tol: float,
    max_iter: int,
    regularization: float,
    scaled: bool,
    n_jobs: int | None,
    advance: Advance,
) -> Bootstraps:
    """Refit a mixture to samples drawn with replacement, each fit starting from the mixture of all data.

    Every sample has a seed of its own, so the result does not depend on how the work is shared out. The work goes
    through joblib: threads by default, whatever `joblib.parallel_config` says otherwise (processes, a Dask cluster).

    Parameters
    ----------
    data : (n, d) float64
    fitted : the mixture fitted to the data
    posterior : (n, c) its probabilities of the components, to recognise them in the fits
    n_bootstraps : int
    seed : numpy SeedSequence
    tol, max_iter, regularization, scaled : of the EM algorithm
    n_jobs : int or None
    advance : function called after every sample with a word on the state
    """
    refit = _Refit(data, fitted, posterior, tol, max_iter, regularization, scaled)
    check_memory(n_bootstraps * fitted.covariances.nbytes, f"n_bootstraps={n_bootstraps:,}", "take fewer")
    seeds = seed.spawn(n_bootstraps)
    tasks = [seeds[s : s + _SAMPLES_A_TASK] for s in range(0, n_bootstraps, _SAMPLES_A_TASK)]
    replicates: list[_Replicate] = []
    redrawn = 0
    for some in _in_parallel(n_jobs, refit, tasks):
        for replicate in some:
            replicates.append(replicate)
            redrawn += replicate.n_redrawn
            advance(f"{redrawn} redrawn" if redrawn else "")
    return Bootstraps(
        proportions=np.stack([r.proportions for r in replicates]),
        means=np.stack([r.means for r in replicates]),
        covariances=np.stack([r.covariances for r in replicates]),
        log_likelihood=np.array([r.log_likelihood for r in replicates]),
        n_redrawn=redrawn,
    )


def _in_parallel(
    n_jobs: int | None, refit: _Refit, tasks: list[list[np.random.SeedSequence]]
) -> Iterator[list[_Replicate]]:
    """Results of the tasks in their order, as they come."""
    from joblib import Parallel, delayed

    workers = min(n_threads(n_jobs), len(tasks))
    if workers == 1:
        return (_refit(refit, seeds) for seeds in tasks)
    return Parallel(n_jobs=workers, prefer="threads", return_as="generator")(
        delayed(_refit)(refit, seeds) for seeds in tasks
    )


def _refit(refit: _Refit, seeds: list[np.random.SeedSequence]) -> list[_Replicate]:
    """One task: a few samples."""
    return [_refit_once(refit, np.random.default_rng(seed)) for seed in seeds]


def _refit_once(refit: _Refit, rng: np.random.Generator) -> _Replicate:
    """Draw a sample and fit it; draw again as long as the fit loses a component, after a while with a ridge."""
    data, fitted, posterior, tol, max_iter, regularization, scaled = refit
    n = len(data)
    for redrawn in range(_MOST_REDRAWS + 1):
        weights = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
        if redrawn == _PLAIN_REDRAWS:  # very few objects: most samples are degenerate
            regularization = max(regularization, _RIDGE)
        result = fit_em(
            data,
            weights,
            fitted,
            fitted.model,
            tol=tol,
            max_iter=max_iter,
            regularization=regularization,
            scaled=scaled,
        )
        if result.problem is None:
            p = result.parameters
            assert p is not None
            assert result.responsibilities is not None
            order = _alignment(result.responsibilities, posterior)
            likelihood = float(result.log_likelihood)
            return _Replicate(p.proportions[order], p.means[order], p.covariances[order], likelihood, redrawn)
    raise InvalidInputError(
        f"X has too few objects for n_clusters={len(fitted.proportions)} components of model {fitted.model}: "
        f"{_MOST_REDRAWS + 1} bootstrap samples in a row lost a component (the last: {result.problem}); "
        "use fewer clusters or a simpler mixture"
    )


def _alignment(responsibilities: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """For each component of the mixture, the component of the refit that shares most objects with it."""
    shared = posterior.T @ responsibilities
    best = shared.argmax(axis=1)
    if np.array_equal(np.sort(best), np.arange(len(best))):
        return best
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(shared, maximize=True)[1]
