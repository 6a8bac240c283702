"""Local Fisher discriminant analysis."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Self

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._fitting import fit_transaction
from dempster._native import interruptible
from dempster._types import ArrayLike, TableLike
from dempster.metric._base import LinearMetricLearner, checked_n_components, signed_rows
from dempster.metric._fisher import ridged, unit_within
from dempster.metric._supervision import Classes, known_classes, labels_for

__all__ = ["LFDA"]

_SMALLEST = 1e-10  # eigenvalues below this part of the largest carry no separation


class LFDA(LinearMetricLearner):
    """Local Fisher discriminant analysis: linear features that keep near objects of a class near, not all of them.

    As `FDA`, but a pair of objects of one class counts by its affinity
    A_ij = exp(-|x_i - x_j|^2 / (sigma_i sigma_j)), with sigma_i the distance to the ``n_neighbors``-th neighbour in
    the class: classes of several pieces stay in pieces, and there may be more features than classes. For nonlinear
    features put scikit-learn's ``KernelPCA`` before it in a pipeline.

    Parameters
    ----------
    n_components : int, optional
        Number of features, at most n_features. None: all along which classes are separated.
    n_neighbors : int, default=7
        Neighbour that gives the local scale; in classes of fewer objects, the farthest object.
    embedding : {"weighted", "plain", "orthonormalized"}, default="weighted"
        "plain": features of unit local variance within classes. "weighted": these times the root of their eigenvalue,
        so that distances favour the features that separate most. "orthonormalized": orthonormal components.
    regularization : float >= 0, default=1e-3
        Ridge on the local scatter within classes, in units of its mean eigenvalue.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    eigenvalues_ : ndarray of shape (n_components,)
        Ratio of the local scatter between to that within classes along each component.
    objective_ : float
        Sum of these ratios.
    classes_ : ndarray
        Labels found, without -1.
    n_features_in_ : int

    References
    ----------
    M. Sugiyama (2007). Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis.
    Journal of Machine Learning Research 8.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.metric import LFDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2)) + np.repeat([[-10, 0], [0, 0], [10, 0]], 30, axis=0)
    >>> y = np.repeat([0, 1, 0], 30)  # one class lies on both sides of the other, and both have the same mean
    >>> z = LFDA(n_components=1).fit_transform(X, y)[:, 0]
    >>> bool(abs(z[y == 0]).min() > abs(z[y == 1]).max())
    True
    """

    _squares_attributes = True
    _rules = {
        "n_components": rule.choice(None) | rule.integer(1),
        "n_neighbors": rule.integer(1),
        "embedding": rule.choice("weighted", "plain", "orthonormalized"),
        "regularization": rule.real(0),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        embedding: str = "weighted",
        regularization: float = 1e-3,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.embedding = embedding
        self.regularization = regularization

    def fit(self, X: TableLike, y: ArrayLike = None, *, constraints: None = None) -> Self:
        """Learn the features from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All objects, labelled or not. float32 is kept.
        y : array-like of shape (n_samples,)
            Labels, -1 for unlabelled objects.
        constraints : None
            Refused: this method learns from labels.
        """
        with fit_transaction(self) as draft:
            draft._learn(X, y, constraints)
        return self

    def _learn(self, X: TableLike, y: ArrayLike, constraints: None) -> None:
        data = self._checked_objects(X, reset=True)
        classes = known_classes("LFDA", data, labels_for(X, y), constraints)
        q = checked_n_components(self.n_components, data.shape[1], f"n_features={data.shape[1]}")
        labelled = data[classes.positions].astype(np.float64, copy=False)
        within, between = local_scatters(labelled, classes, lambda rows: local_affinity(rows, self.n_neighbors))
        eigenvalues, vectors = self._leading(within, between, q)
        vectors = signed_rows(vectors * np.sqrt(len(labelled)))
        if self.embedding == "weighted":
            vectors = vectors * np.sqrt(eigenvalues)[:, None]
        elif self.embedding == "orthonormalized":
            vectors = signed_rows(np.linalg.qr(vectors.T)[0].T)
        self.components_ = vectors.astype(data.dtype)
        self.eigenvalues_ = eigenvalues
        self.objective_ = float(eigenvalues.sum())
        self.classes_ = classes.names

    def _leading(self, within: np.ndarray, between: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and (q, d) eigenvectors of S_b v = lambda (S_w + ridge) v, those without separation left out."""
        regular = ridged(within, self.regularization)
        try:
            eigenvalues, vectors = interruptible(linalg.eigh, between, regular)
        except linalg.LinAlgError:
            raise InvalidInputError(
                "regularization must be positive here: the scatter within classes is singular, "
                f"got {self.regularization:g}"
            ) from None
        eigenvalues, vectors = eigenvalues[::-1][:q], vectors.T[::-1][:q]
        kept = eigenvalues > _SMALLEST * max(eigenvalues[0], 0)
        if not kept.any():
            raise InvalidInputError(
                "X must separate the classes of y in at least one direction, but separates them in none"
            )
        if self.n_components is not None and not kept.all():
            warnings.warn(
                f"n_components={q} features were asked for, but the classes are separated in {kept.sum()} only",
                UserWarning,
                stacklevel=4,
            )
        return eigenvalues[kept], unit_within(vectors[kept], within, regular)


def local_affinity(rows: np.ndarray, n_neighbors: int) -> np.ndarray:
    """exp(-|x_i - x_j|^2 / (sigma_i sigma_j)) with local scales sigma (Sugiyama, 2007)."""
    squared = euclidean_distances(rows, squared=True)
    k = min(n_neighbors, len(rows) - 1)
    scales = np.sqrt(np.partition(squared, k, axis=1)[:, k])  # the object itself comes first
    # among more than k equal objects the scale is zero: they are alike, and like no other
    with np.errstate(over="ignore"):
        return np.exp(-squared / np.maximum(np.outer(scales, scales), np.finfo(float).tiny))


def local_scatters(
    labelled: np.ndarray, classes: Classes, affinity: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Local scatter within and between classes (Sugiyama, 2007).

    Pairs of one class weigh A_ij / n_k within and A_ij (1/n - 1/n_k) between, pairs of different classes 1/n between.
    The latter are all pairs less those of one class, so no matrix beyond one class is made.
    """
    n = len(labelled)
    centred = labelled - labelled.mean(axis=0)
    within = np.zeros((labelled.shape[1],) * 2)
    between = centred.T @ centred
    for k, count in enumerate(classes.counts):
        rows = centred[classes.codes == k]
        weights = affinity(rows)
        local = (rows * weights.sum(axis=1)[:, None] - weights @ rows).T @ rows
        local = (local + local.T) / 2
        alone = rows - rows.mean(axis=0)
        within += local / count
        between += local * (1 / n - 1 / count) - (count / n) * alone.T @ alone
    return within, between
