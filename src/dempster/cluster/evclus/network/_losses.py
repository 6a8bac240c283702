"""The terms of the loss of NN-EVCLUS with their gradients.

Numbers of equations and sections are those of Denoeux (2021). A term gives its value and its gradient with respect to
the masses (for the size of the weights, to these). The arrays are NumPy's or torch's: both understand what is written
here, so each formula stands once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

__all__ = [
    "Array",
    "Labels",
    "Links",
    "ValueAndGradient",
    "all_pairs_error",
    "pairs_error",
    "pairs_value",
    "links_error",
    "labels_error",
    "size_of_weights",
]

Array = Any
"""A NumPy array or a tensor of torch."""

ValueAndGradient = tuple[Any, Array]


class Links(NamedTuple):
    """Pairs of objects i and j with the sign 1 for a must-link and -1 for a cannot-link, and how many are of the
    second kind."""

    i: Array
    j: Array
    signs: Array
    n_cannot: int


class Labels(NamedTuple):
    """Different objects, and the indicators of their clusters, a row each."""

    who: Array
    indicators: Array


def all_pairs_error(masses: Array, delta: Array, conflict: Array, squares: Array) -> ValueAndGradient:
    """Mean over all pairs of (conflict - delta)^2 (eq. 9); delta is (n, n), symmetric with a zero diagonal, and squares
    the sum of delta^2.

    The square is multiplied out: one product of delta with the masses serves value and gradient, and there is no other
    (n, n) matrix.
    """
    n_pairs = len(masses) * (len(masses) - 1)
    image, product = masses @ conflict, (masses.T @ delta).T  # delta is symmetric, and wide products are faster
    gram, own = image.T @ image, (image * masses).sum(axis=1)
    value = (gram * (masses.T @ masses)).sum() - (own * own).sum() - 2 * (image * product).sum() + squares
    gradient = masses @ gram - own[:, None] * image - product @ conflict
    return value / n_pairs, gradient * (4 / n_pairs)


def pairs_error(masses: Array, i: Array, j: Array, delta: Array, conflict: Array) -> ValueAndGradient:
    """Mean over the given pairs of (conflict - delta)^2 (eq. 9)."""
    conflicts, gradient = _forms(masses, conflict, i, j)
    gap = conflicts - delta
    return _mean_square(gap), gradient(gap * (2 / len(gap)))


def pairs_value(masses: Array, i: Array, j: Array, delta: Array, conflict: Array) -> Any:
    """`pairs_error` without its gradient."""
    return _mean_square(_forms(masses, conflict, i, j)[0] - delta)


def links_error(masses: Array, links: Links, form: Array) -> ValueAndGradient:
    """Half the mean over the constraints of m_i' Z m_j (must-link) and 2 - m_i' Z m_j (cannot-link) (eq. 15)."""
    forms, gradient = _forms(masses, form, links.i, links.j)
    share = 1 / (2 * len(forms))
    return ((links.signs * forms).sum() + 2 * links.n_cannot) * share, gradient(links.signs * share)


def labels_error(masses: Array, labels: Labels, membership: Array) -> ValueAndGradient:
    """Mean over labelled objects of the squared distance of the plausibilities to the label (section 4)."""
    gap = masses[labels.who] @ membership - labels.indicators
    gradient = (gap @ membership.T) * (2 / len(gap))
    return _mean_square(gap), _sums(labels.who, gradient, len(masses))


def _mean_square(gap: Array) -> Any:
    """Mean over rows of the squared length."""
    return (gap * gap).sum() / len(gap)


def size_of_weights(weights: Array, shares: Array) -> ValueAndGradient:
    """Half the sum over layers of the mean squared weights, biases included (eq. 10), and its gradient with respect to
    the weights; ``shares`` holds one over the number of weights of its layer for each of them."""
    gradient = shares * weights
    return 0.5 * (gradient * weights).sum(), gradient


def _forms(masses: Array, form: Array, i: Array, j: Array) -> tuple[Array, Callable[[Array], Array]]:
    """m_i' F m_j of pairs, F symmetric, and the function that gives the gradient of a weighted sum of them."""
    image = masses @ form

    def gradient(weights: Array) -> Array:
        n = len(masses)
        return _sums(i, weights[:, None] * image[j], n) + _sums(j, weights[:, None] * image[i], n)

    return (image[i] * masses[j]).sum(axis=1), gradient


def _sums(who: Array, rows: Array, n: int) -> Array:
    """(n, f) sums of the rows that belong to each of n objects."""
    if not isinstance(rows, np.ndarray):
        return rows.new_zeros((n, rows.shape[1])).index_add_(0, who, rows)
    ones = np.ones(len(who), dtype=rows.dtype)
    return sparse.csc_matrix((ones, who, np.arange(len(who) + 1)), shape=(n, len(who))) @ rows
