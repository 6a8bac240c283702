"""The mixture of the data and those of the samples: what takes most of the time of BootClus."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from dempster._progress import heard_by
from dempster._random import seed_sequence
from dempster._types import Advance, Seed
from dempster.cluster.mixtures._bootstrap import Bootstraps, bootstrap_mixture
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.mixture.em import unit_log_likelihood

__all__ = ["MixtureSettings", "MixtureFits", "fit_mixtures"]

_TOLERANCE, _TOLERANCE_UP_TO = 1e-5, 300  # of EM, and the number of objects beyond which it is tightened
# Samples are fitted until the log-likelihood changes by no more than this, whatever its size: the estimates of a sample
# differ from those of the data by half a unit a parameter, of which EM must not leave out much.
_LARGEST_CHANGE = 0.01


@dataclass(frozen=True)
class MixtureSettings:
    """What a user may set. ``n_clusters`` and ``mixture`` are None if BIC chooses."""

    n_clusters: int | None
    mixture: str | ParsimoniousGaussianMixture | None
    n_bootstraps: int
    random_state: Seed

    def fingerprint(self, data: np.ndarray) -> str:
        """Changes with the data, with every setting, and with the state of a generator of random numbers."""
        given = self.mixture.get_params() if isinstance(self.mixture, ParsimoniousGaussianMixture) else self.mixture
        parts = (data.shape, self.n_clusters, given, self.n_bootstraps, self.random_state)
        return hashlib.sha256(pickle.dumps(parts) + hashlib.sha256(data.data).digest()).hexdigest()


@dataclass(frozen=True, eq=False)
class MixtureFits:
    """Mixtures, and what they were fitted to.

    Attributes
    ----------
    mixture : ParsimoniousGaussianMixture
        Fitted to the data.
    posterior : (n, c) array
        Its probabilities of the components.
    bootstraps : Bootstraps
        Fitted to the samples.
    for_references : numpy SeedSequence
        For what is drawn afterwards.
    fingerprint : str
        Of the settings and the data, with the random state as this fit has left it: as long as nobody draws from it,
        it stands for these mixtures.
    """

    mixture: ParsimoniousGaussianMixture
    posterior: np.ndarray
    bootstraps: Bootstraps
    for_references: np.random.SeedSequence
    fingerprint: str


def fit_mixtures(
    settings: MixtureSettings,
    data: np.ndarray,
    n_jobs: int | None,
    progress: Callable[[int | None, str], AbstractContextManager[Advance]],
) -> MixtureFits:
    """Fit the mixture to the data, then to samples of them."""
    for_mixture, for_samples, for_references = seed_sequence(settings.random_state).spawn(3)
    mixture = _unfitted(settings, len(data), n_jobs)
    if mixture.random_state is None:
        mixture.set_params(random_state=int(for_mixture.generate_state(1)[0] >> 1))
    with progress(None, "models") as advance:

        def hear(name: str, done: int, total: int | None, unit: str, note: str) -> None:
            if done:
                advance(note)

        with heard_by(hear):
            mixture.fit(data)
    posterior = mixture.predict_proba(data)
    scaled = mixture.convention == "scaled"
    likelihood = mixture.log_likelihood_ - (unit_log_likelihood(data) if scaled else 0.0)
    with progress(settings.n_bootstraps, "samples") as advance:
        bootstraps = bootstrap_mixture(
            data,
            mixture.parameters_,
            posterior,
            settings.n_bootstraps,
            for_samples,
            tol=min(mixture.tol, _LARGEST_CHANGE / (1 + abs(likelihood))),
            max_iter=mixture.max_iter,
            regularization=mixture.reg_covar,
            scaled=scaled,
            n_jobs=n_jobs,
            advance=advance,
        )
    return MixtureFits(mixture, posterior, bootstraps, for_references, settings.fingerprint(data))


def _unfitted(settings: MixtureSettings, n: int, n_jobs: int | None) -> ParsimoniousGaussianMixture:
    """The mixture asked for."""
    if isinstance(settings.mixture, ParsimoniousGaussianMixture):
        mixture = clone(settings.mixture)
        return mixture if settings.n_clusters is None else mixture.set_params(n_components=settings.n_clusters)
    return ParsimoniousGaussianMixture(
        "auto" if settings.n_clusters is None else settings.n_clusters,
        model="auto" if settings.mixture is None else settings.mixture,
        tol=_TOLERANCE * min(1.0, _TOLERANCE_UP_TO / n),
        n_jobs=n_jobs,
    )
