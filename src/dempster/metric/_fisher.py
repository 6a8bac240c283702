"""Fisher's criterion: directions of large scatter between classes for a given scatter within them."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dempster._errors import InvalidInputError
from dempster._native import interruptible
from dempster.metric._supervision import Classes

__all__ = ["class_deviations", "between_root", "fisher_directions", "ridged", "unit_within"]

_MOST_RIDGE = 0.99  # beyond this share of the ridge in a direction's within-class variance, the ridge scales it


def class_deviations(rows: np.ndarray, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Rows minus the mean of their class, and the (c, p) means."""
    indicator = np.eye(len(classes.names))[:, classes.codes]
    means = (indicator @ rows) / classes.counts[:, None]
    return rows - means[classes.codes], means


def between_root(means: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(c, p) matrix H with H'H = sum_k n_k (mean_k - mean)(mean_k - mean)'."""
    return np.sqrt(counts)[:, None] * (means - np.average(means, axis=0, weights=counts))


def ridged(within: np.ndarray, ridge: float) -> np.ndarray:
    """Scatter plus ``ridge`` times its mean eigenvalue on the diagonal."""
    mean = np.trace(within) / len(within)
    if mean <= 0:
        raise InvalidInputError("y must hold a class whose objects differ: the scatter within classes is zero")
    return within + ridge * mean * np.eye(len(within))


def fisher_directions(root: np.ndarray, within: np.ndarray, ridge: float, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvalues and (q, p) eigenvectors of H'H v = lambda (W + ridge) v, scaled by `unit_within`.

    H has only c rows, so one Cholesky factor of W and an eigenproblem of size c do.
    """
    regular = ridged(within, ridge)
    try:
        factor = linalg.cho_factor(regular)
    except linalg.LinAlgError:
        raise InvalidInputError(
            "regularization must be positive here: the scatter within classes is singular "
            f"({len(within)} dimensions), got {ridge:g}"
        ) from None
    solved = linalg.cho_solve(factor, root.T)
    eigenvalues, mixtures = interruptible(np.linalg.eigh, root @ solved)
    leading = slice(-1, -q - 1, -1)
    vectors = mixtures[:, leading].T @ solved.T
    return np.maximum(eigenvalues[leading], 0.0), unit_within(vectors, within, regular)


def unit_within(vectors: np.ndarray, within: np.ndarray, regular: np.ndarray) -> np.ndarray:
    """Rows v with v' W v = 1.

    With few objects W may vanish along v; then no less than a hundredth of v' (W + ridge) v takes its place, or a
    feature that separates the labelled objects by chance would drown the others.
    """
    found = np.einsum("qi,ij,qj->q", vectors, within, vectors, optimize=True)
    bounded = np.einsum("qi,ij,qj->q", vectors, regular, vectors, optimize=True)
    size = np.maximum(found, (1 - _MOST_RIDGE) * bounded)
    return vectors / np.sqrt(np.where(size > 0, size, 1.0))[:, None]
