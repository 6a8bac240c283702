"""Of how many dimensions dissimilarities speak."""

from __future__ import annotations

import numpy as np

__all__ = ["intrinsic_dimension"]

_NEAREST = 10  # objects by which the dimension is told


def intrinsic_dimension(D: np.ndarray) -> float:
    """The dimension that the distances to the nearest objects speak of.

    By maximum likelihood (Levina and Bickel, 2004), with the inverses averaged over the objects, as MacKay and
    Ghahramani proposed.

    Parameters
    ----------
    D : array of shape (n, n)
        Dissimilarities.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.dissimilarity.dimension import intrinsic_dimension
    >>> x = np.random.default_rng(0).uniform(size=500)
    >>> round(intrinsic_dimension(np.abs(x[:, None] - x)))
    1
    """
    k = min(_NEAREST, len(D) - 1)
    if k < 2:
        return 1.0
    near = np.partition(D + np.diag(np.full(len(D), np.inf)), range(k), axis=1)[:, :k]
    apart = near[:, 0] > 0  # twins say nothing
    if not apart.any():
        return 1.0
    slopes = np.log(near[apart, -1:] / near[apart, :-1]).mean(axis=1)
    return float(1 / max(slopes.mean(), 1e-3))
