"""Simulated datasets of the papers on evidential clustering, drawn from known distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._random import as_random_state
from dempster._validation import check, check_flags, integer, real

MAX_SAMPLES = 100_000_000  # a few GB
_N_SAMPLES = integer(1, MAX_SAMPLES)

FOURCLASS_CENTERS = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]])
FOURCLASS_DEGREES_OF_FREEDOM = 5

_CORRELATED = np.array([[1.0, 0.5], [0.5, 1.0]])
_ANTICORRELATED = 1.5 * np.array([[1.0, -0.5], [-0.5, 1.0]])
_FAR_MEANS = np.array([[0.0, 0.0], [0.0, 3.0], [3.0, 0.0]])
_NEAR_MEANS = np.array([[0.0, 0.0], [0.0, 2.5], [2.5, 0.0]])

# Means and covariances of the mixtures 1, 2 and 3 in section 4.1 of Denoeux (2020). The proportions
# are equal.
GAUSSIAN_MIXTURES = {
    1: (_FAR_MEANS, np.stack([np.eye(2)] * 3)),
    2: (_NEAR_MEANS, np.stack([_CORRELATED] * 3)),
    3: (_FAR_MEANS, np.stack([_CORRELATED, _ANTICORRELATED, np.eye(2)])),
}


def make_fourclass(
    n_samples: int = 400, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw four overlapping clusters with heavy tails.

    Each cluster is a bivariate t distribution with five degrees of freedom and unit scale, centered
    at (0, 0), (0, 4), (4, 0) or (4, 4). Some objects are ambiguous and some are outliers.

    Parameters
    ----------
    n_samples : int, default=400
        Number of objects; the sizes of the clusters differ by at most one.
    random_state : int, RandomState, Generator or None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Cluster 0, 1, 2 or 3 of each object, in increasing order.

    References
    ----------
    M.-H. Masson, T. Denoeux. ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.datasets import make_fourclass
    >>> X, y = make_fourclass(10, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((10, 2), [3, 3, 2, 2])
    """
    check(n_samples, "n_samples", _N_SAMPLES)
    rng = as_random_state(random_state)
    y = np.repeat(np.arange(4), _equal_sizes(n_samples, 4))
    normal = rng.standard_normal((n_samples, 2))
    # Both coordinates of an object have the same denominator. With two, they would be independent t
    # variables.
    nu = FOURCLASS_DEGREES_OF_FREEDOM
    scale = np.sqrt(rng.chisquare(nu, (n_samples, 1)) / nu)
    return FOURCLASS_CENTERS[y] + normal / scale, y


def make_bananas(
    n_samples: int = 400,
    *,
    radius: float = 5.0,
    noise: float = 1.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two interlocked arcs, which cannot be separated without constraints or labels.

    A point at angle a is ``radius * (sin a, cos a)`` plus Gaussian noise. With U uniform in [0, 1],
    the angle is ``(0.125 + 1.25 U) pi`` in class 0 and ``(0.375 - 1.25 U) pi`` in class 1. Class 1
    is shifted by ``(-0.75, -0.75) * radius``.

    Parameters
    ----------
    n_samples : int, default=400
        Number of objects, half of them in each class. If it is odd, class 0 has one object more.
    radius : float, default=5.0
        Radius of both arcs.
    noise : float, default=1.0
        Standard deviation of the noise in each coordinate.
    random_state : int, RandomState, Generator or None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Class 0 or 1 of each object, in increasing order.

    References
    ----------
    F. Li, S. Li, T. Denoeux. k-CEVCLUS: Constrained evidential clustering of large dissimilarity
    data. Knowledge-Based Systems 142, 2018.

    Examples
    --------
    >>> from dempster.datasets import make_bananas
    >>> X, y = make_bananas(200, random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 2), 100)
    """
    check(n_samples, "n_samples", _N_SAMPLES)
    check(radius, "radius", real(0, open_low=True))
    check(noise, "noise", real(0))
    rng = as_random_state(random_state)
    n_first, n_second = _equal_sizes(n_samples, 2)
    uniform = rng.uniform(size=n_first), rng.uniform(size=n_second)
    normal = rng.standard_normal((n_first, 2)), rng.standard_normal((n_second, 2))
    return bananas_from_draws(uniform, normal, radius, noise)


def bananas_from_draws(
    uniform: tuple[np.ndarray, np.ndarray],
    normal: tuple[np.ndarray, np.ndarray],
    radius: float,
    noise: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the points and the classes from the uniform and normal draws for each class."""
    first, second = uniform
    angles = np.pi * (0.125 + 1.25 * first), np.pi * (0.375 - 1.25 * second)
    arcs = []
    for angle in angles:
        directions = np.column_stack([np.sin(angle), np.cos(angle)])
        arcs.append(radius * directions)
    arcs[1] -= 0.75 * radius
    X = np.concatenate(arcs) + noise * np.concatenate(normal)
    return X, np.repeat([0, 1], [len(first), len(second)])


def make_circles(
    n_samples: int = 500, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a disc (40 % of the objects) inside a ring (60 %).

    The disc is a Gaussian distribution with standard deviation 0.5. In the ring, the angle is
    uniform and the radius is Gaussian with mean 3 and standard deviation 0.3. Denoeux (2021) shows
    a similar dataset without giving parameters.

    Parameters
    ----------
    n_samples : int, default=500
        Number of objects.
    random_state : int, RandomState, Generator or None
        Seed of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        Class 0 (disc) or 1 (ring) of each object, in increasing order.

    References
    ----------
    T. Denoeux. NN-EVCLUS: Neural network-based evidential clustering. Information Sciences 572,
    2021, Example 5.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.datasets import make_circles
    >>> X, y = make_circles(random_state=0)
    >>> np.bincount(y).tolist()
    [200, 300]
    """
    check(n_samples, "n_samples", _N_SAMPLES)
    rng = as_random_state(random_state)
    n_disc = round(2 * n_samples / 5)
    n_ring = n_samples - n_disc
    disc = 0.5 * rng.standard_normal((n_disc, 2))
    radius = 3 + 0.3 * rng.standard_normal(n_ring)
    angle = rng.uniform(0, 2 * np.pi, n_ring)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    ring = radius[:, None] * directions
    y = np.repeat([0, 1], [n_disc, n_ring])
    return np.concatenate([disc, ring]), y


def make_gaussian_mixture(
    mixture: int = 1,
    n_samples: int = 300,
    *,
    as_bunch: bool = False,
    random_state: Any = None,
) -> Any:
    """Draw three Gaussian clusters in the plane with known posterior probabilities.

    The components of mixture 1 are spherical, those of mixture 2 have a common covariance matrix,
    and those of mixture 3 have different covariance matrices. The data can be used to check whether
    the belief and plausibility that two objects are in the same cluster are calibrated.

    Parameters
    ----------
    mixture : {1, 2, 3}, default=1
        Number of the mixture in Denoeux (2020).
    n_samples : int, default=300
        Number of objects, which are drawn independently from components with equal probabilities.
    as_bunch : bool, default=False
        Return a Bunch instead of ``(X, y)``.
    random_state : int, RandomState, Generator or None
        Seed of the draws.

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,)
        Objects and the number of the component of each object, in random order.
    bunch : Bunch
        Returned instead of ``(X, y)`` if ``as_bunch=True``. It contains ``data``, ``target``, the
        true posterior probabilities ``posterior`` of shape (n_samples, 3), the parameters
        ``weights``, ``means`` and ``covariances`` of the mixture, names, and ``DESCR``.

    References
    ----------
    T. Denoeux. Calibrated model-based evidential clustering using bootstrapping. Information
    Sciences 528, 2020, section 4.1.

    Examples
    --------
    >>> from dempster.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(3, as_bunch=True, random_state=0)
    >>> sample.data.shape, sample.posterior.shape
    ((300, 2), (300, 3))
    """
    check_flags(as_bunch=as_bunch)
    check(mixture, "mixture", integer(1, len(GAUSSIAN_MIXTURES)))
    check(n_samples, "n_samples", _N_SAMPLES)
    means, covariances = GAUSSIAN_MIXTURES[int(mixture)]
    c = len(means)
    weights = np.full(c, 1 / c)
    rng = as_random_state(random_state)
    y = rng.randint(c, size=n_samples)
    normal = rng.standard_normal((n_samples, 2))
    roots = np.linalg.cholesky(covariances)
    X = means[y] + np.einsum("ijk,ik->ij", roots[y], normal)
    if not as_bunch:
        return X, y

    # The module bundled imports this module.
    from dempster.datasets.bundled import to_bunch

    return to_bunch(
        X,
        y,
        description=(
            f"Mixture {mixture} of T. Denoeux, Calibrated model-based evidential clustering using "
            "bootstrapping,\n"
            f"Information Sciences 528, 2020: {n_samples} draws from three Gaussian components in "
            "the plane."
        ),
        target_names=["component 1", "component 2", "component 3"],
        posterior=gaussian_posterior(X, weights, means, covariances),
        weights=weights,
        means=means.copy(),
        covariances=covariances.copy(),
    )


def gaussian_posterior(
    X: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
) -> np.ndarray:
    """Return the posterior probabilities of the components for each object, shape (n, c)."""
    from scipy.special import softmax

    gap = X[:, None] - means
    roots = np.linalg.cholesky(covariances)
    whitened = np.einsum("kij,nkj->nki", np.linalg.inv(roots), gap)
    squares = (whitened**2).sum(axis=2)
    _, log_determinants = np.linalg.slogdet(covariances)
    log_density = -0.5 * squares - 0.5 * log_determinants
    return softmax(log_density + np.log(weights), axis=1)


def _equal_sizes(n_samples: int, n_parts: int) -> list[int]:
    """Return the sizes of groups with a given total size.

    They differ by at most one, larger groups first.
    """
    size, n_larger = divmod(n_samples, n_parts)
    return [size + (part < n_larger) for part in range(n_parts)]
