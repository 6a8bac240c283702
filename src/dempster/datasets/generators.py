"""Data drawn from a known distribution: the simulated sets of the papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._random import as_random_state
from dempster._validation import LARGEST, check_flags, is_integer, is_number

if TYPE_CHECKING:
    from sklearn.utils import Bunch

FOURCLASS_CENTRES = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
FOURCLASS_DEGREES_OF_FREEDOM = 5

_CORRELATED = np.array([[1.0, 0.5], [0.5, 1.0]])
_ANTICORRELATED = 1.5 * np.array([[1.0, -0.5], [-0.5, 1.0]])
_FAR_MEANS = np.array([[0.0, 0.0], [0.0, 3.0], [3.0, 0.0]])
_NEAR_MEANS = np.array([[0.0, 0.0], [0.0, 2.5], [2.5, 0.0]])

# Means and covariances of mixtures 1, 2, 3 of Denoeux (2020), section 4.1; proportions are equal.
GAUSSIAN_MIXTURES = {
    1: (_FAR_MEANS, np.stack([np.eye(2)] * 3)),
    2: (_NEAR_MEANS, np.stack([_CORRELATED] * 3)),
    3: (_FAR_MEANS, np.stack([_CORRELATED, _ANTICORRELATED, np.eye(2)])),
}


def make_fourclass(n_samples: int = 400, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Four overlapping clusters with heavy tails: ambiguous objects between them, outliers around.

    Each cluster is a bivariate t distribution with five degrees of freedom and unit scale, centred on (0, 0), (0, 4),
    (4, 0) or (4, 4).

    Parameters
    ----------
    n_samples : int, default=400
        Number of objects, shared equally; a remainder goes one each to the first clusters.
    random_state : int, RandomState, Generator or None
        Fixes the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Cluster 0, 1, 2 or 3; objects come in this order.

    References
    ----------
    M.-H. Masson, T. Denoeux. ECM: an evidential version of the fuzzy c-means algorithm. Pattern Recognition 41, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.datasets import make_fourclass
    >>> X, y = make_fourclass(10, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((10, 2), [3, 3, 2, 2])
    """
    n_samples = _check_count(n_samples)
    rng = as_random_state(random_state)
    y = np.repeat(np.arange(4), _equal_sizes(n_samples, 4))
    normal = rng.standard_normal((n_samples, 2))
    # One denominator for both coordinates makes the t distribution bivariate rather than a product of two.
    scale = np.sqrt(rng.chisquare(FOURCLASS_DEGREES_OF_FREEDOM, (n_samples, 1)) / FOURCLASS_DEGREES_OF_FREEDOM)
    return FOURCLASS_CENTRES[y] + normal / scale, y


def make_bananas(
    n_samples: int = 400, *, radius: float = 5.0, noise: float = 1.0, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Two interlocked arcs, which no method finds without constraints or labels.

    Class 0 has angle ``(0.125 + 1.25 U) pi`` with U uniform, class 1 has ``(0.375 - 1.25 U) pi`` and is shifted by
    ``(-0.75, -0.75) * radius``; the point ``radius * (sin, cos)`` of the angle receives Gaussian noise.

    Parameters
    ----------
    n_samples : int, default=400
        Number of objects, half in each class (class 0 gets the odd one).
    radius : float, default=5.0
        Radius of both arcs.
    noise : float, default=1.0
        Standard deviation of the noise on each coordinate.
    random_state : int, RandomState, Generator or None
        Fixes the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Class 0 or 1; objects come in this order.

    References
    ----------
    F. Li, S. Li, T. Denoeux. k-CEVCLUS: Constrained evidential clustering of large dissimilarity data.
    Knowledge-Based Systems 142, 2018.

    Examples
    --------
    >>> from dempster.datasets import make_bananas
    >>> X, y = make_bananas(200, random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 2), 100)
    """
    n_samples = _check_count(n_samples)
    radius = _check_real(radius, "radius", minimum=0.0, exclusive=True)
    noise = _check_real(noise, "noise", minimum=0.0)
    rng = as_random_state(random_state)
    n_first, n_second = _equal_sizes(n_samples, 2)
    uniform = rng.uniform(size=n_first), rng.uniform(size=n_second)
    normal = rng.standard_normal((n_first, 2)), rng.standard_normal((n_second, 2))
    return bananas_from_draws(uniform, normal, radius, noise)


def bananas_from_draws(
    uniform: tuple[np.ndarray, np.ndarray], normal: tuple[np.ndarray, np.ndarray], radius: float, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """The bananas that given random draws make: pairs (first class, second class) of uniforms and of normals."""
    angles = np.pi * (0.125 + 1.25 * uniform[0]), np.pi * (0.375 - 1.25 * uniform[1])
    arcs = [radius * np.column_stack([np.sin(angle), np.cos(angle)]) for angle in angles]
    arcs[1] -= 0.75 * radius
    X = np.concatenate(arcs) + noise * np.concatenate(normal)
    return X, np.repeat([0, 1], [len(uniform[0]), len(uniform[1])])


def make_circles(n_samples: int = 500, *, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """A disc (two fifths of the objects) inside a ring (three fifths).

    The disc is Gaussian with standard deviation 0.5. The ring has a uniform angle and a Gaussian radius of mean 3 and
    standard deviation 0.3. The paper shows such a set without giving its distribution: these figures are ours.

    Parameters
    ----------
    n_samples : int, default=500
        Number of objects.
    random_state : int, RandomState, Generator or None
        Fixes the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 in the disc, 1 in the ring; objects come in this order.

    References
    ----------
    T. Denoeux. NN-EVCLUS: Neural network-based evidential clustering. Information Sciences 572, 2021, Example 5.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.datasets import make_circles
    >>> X, y = make_circles(random_state=0)
    >>> np.bincount(y).tolist()
    [200, 300]
    """
    n_samples = _check_count(n_samples)
    rng = as_random_state(random_state)
    n_disc = round(2 * n_samples / 5)
    n_ring = n_samples - n_disc
    disc = 0.5 * rng.standard_normal((n_disc, 2))
    radius = 3 + 0.3 * rng.standard_normal(n_ring)
    angle = rng.uniform(0, 2 * np.pi, n_ring)
    ring = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.concatenate([disc, ring]), np.repeat([0, 1], [n_disc, n_ring])


@overload
def make_gaussian_mixture(
    mixture: int = ..., n_samples: int = ..., *, as_bunch: Literal[False] = ..., random_state: Any = ...
) -> tuple[np.ndarray, np.ndarray]: ...


@overload
def make_gaussian_mixture(
    mixture: int = ..., n_samples: int = ..., *, as_bunch: Literal[True], random_state: Any = ...
) -> Bunch: ...


def make_gaussian_mixture(
    mixture: int = 1, n_samples: int = 300, *, as_bunch: bool = False, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray] | Bunch:
    """Three Gaussian clusters in the plane, with the probabilities a perfectly informed observer would give.

    Mixture 1 has spherical components, mixture 2 one common ellipse, mixture 3 three different covariances. They serve
    to check that the belief and plausibility that two objects belong together are calibrated.

    Parameters
    ----------
    mixture : {1, 2, 3}, default=1
        Which of the three mixtures of the paper.
    n_samples : int, default=300
        Number of independent draws; the components are equally likely.
    as_bunch : bool, default=False
        Return everything that is known of the sample, not only ``(X, y)``.
    random_state : int, RandomState, Generator or None
        Fixes the draws.

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,)
        Objects and their components, in random order.
    bunch : Bunch
        With ``as_bunch=True``: ``data``, ``target``, ``posterior`` (n_samples, 3) true probabilities of the
        components given each object, ``weights``, ``means``, ``covariances``, and the usual names and ``DESCR``.

    References
    ----------
    T. Denoeux. Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528, 2020,
    section 4.1.

    Examples
    --------
    >>> from dempster.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(3, as_bunch=True, random_state=0)
    >>> sample.data.shape, sample.posterior.shape
    ((300, 2), (300, 3))
    """
    check_flags(as_bunch=as_bunch)
    if not is_integer(mixture) or mixture not in GAUSSIAN_MIXTURES:
        raise InvalidParameterError("mixture", "1, 2 or 3", mixture)
    n_samples = _check_count(n_samples)
    means, covariances = GAUSSIAN_MIXTURES[int(mixture)]
    weights = np.full(len(means), 1 / len(means))
    rng = as_random_state(random_state)
    y = rng.randint(len(means), size=n_samples)
    normal = rng.standard_normal((n_samples, 2))
    X = means[y] + np.einsum("ijk,ik->ij", np.linalg.cholesky(covariances)[y], normal)
    if not as_bunch:
        return X, y

    from dempster.datasets.bundled import to_bunch  # which imports this module

    return to_bunch(
        X,
        y,
        description=(
            f"Mixture {mixture} of T. Denoeux, Calibrated model-based evidential clustering using bootstrapping,\n"
            f"Information Sciences 528, 2020: {n_samples} draws from three Gaussian components in the plane."
        ),
        target_names=["component 1", "component 2", "component 3"],
        posterior=gaussian_posterior(X, weights, means, covariances),
        weights=weights,
        means=means.copy(),
        covariances=covariances.copy(),
    )


def gaussian_posterior(X: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Probabilities (n, c) of the components of a Gaussian mixture given each object, by Bayes' rule in logarithms."""
    from scipy.special import softmax

    centred = X[:, None, :] - means
    whitened = np.einsum("kij,nkj->nki", np.linalg.inv(np.linalg.cholesky(covariances)), centred)
    log_density = -0.5 * (whitened**2).sum(axis=2) - 0.5 * np.linalg.slogdet(covariances)[1]
    return softmax(log_density + np.log(weights), axis=1)


def _equal_sizes(n_samples: int, n_parts: int) -> list[int]:
    """Sizes that differ by one at most, the larger ones first."""
    return [n_samples // n_parts + (part < n_samples % n_parts) for part in range(n_parts)]


MAX_SAMPLES = 100_000_000  # a few GB


def _check_count(n_samples: Any) -> int:
    if not is_integer(n_samples) or not 1 <= n_samples <= MAX_SAMPLES:
        raise InvalidParameterError("n_samples", f"an integer from 1 to {MAX_SAMPLES:,}", n_samples)
    return int(n_samples)


def _check_real(value: Any, name: str, *, minimum: float, exclusive: bool = False) -> float:
    if not is_number(value) or not minimum <= value <= LARGEST or (exclusive and value == minimum):
        relation = "greater than" if exclusive else "at least"
        raise InvalidParameterError(name, f"a finite number {relation} {minimum:g}", value)
    return float(value)
