"""Fisher discriminant analysis."""

from __future__ import annotations

from typing import Self

import numpy as np

from dempster import _validation as rule
from dempster._fitting import fit_transaction
from dempster._types import ArrayLike, TableLike
from dempster.metric._base import LinearMetricLearner, checked_n_components, signed_rows
from dempster.metric._fisher import between_root, class_deviations, fisher_directions
from dempster.metric._supervision import known_classes, labels_for

__all__ = ["FDA"]


class FDA(LinearMetricLearner):
    """Fisher discriminant analysis: linear features that set labelled classes apart.

    The rows v of the map are the leading solutions of

        S_b v = lambda (S_w + rho tr(S_w)/d I) v,

    with S_w and S_b the scatter of the labelled objects within and between classes. There are at most one fewer than
    classes. The features have unit variance within classes, so Euclidean distances between them are comparable.

    Unlike scikit-learn's ``LinearDiscriminantAnalysis``, whose shrinkage also changes S_b, it leaves unlabelled
    objects out by itself, and copes with fewer labelled objects than attributes.

    Parameters
    ----------
    n_components : int, optional
        Number of features. None: the most there are, min(n_classes - 1, n_features).
    regularization : float >= 0, default=1e-3
        Ridge rho, in units of the mean eigenvalue of S_w.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    eigenvalues_ : ndarray of shape (n_components,)
        Ratio of the scatter between to that within classes along each component.
    objective_ : float
        Sum of these ratios.
    classes_ : ndarray
        Labels found, without -1.
    n_features_in_ : int

    References
    ----------
    R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics 7.
    K. Fukunaga (1990). Introduction to Statistical Pattern Recognition. Academic Press, chapter 10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.metric import FDA
    >>> X, y = load_iris(return_X_y=True)
    >>> y[1::2] = -1  # every second label is not known
    >>> FDA().fit_transform(X, y).shape
    (150, 2)
    """

    _squares_attributes = True
    _rules = {
        "n_components": rule.choice(None) | rule.integer(1),
        "regularization": rule.real(0),
    }

    def __init__(self, n_components: int | None = None, *, regularization: float = 1e-3):
        self.n_components = n_components
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
        classes = known_classes("FDA", data, labels_for(X, y), constraints)
        n_classes, n_features = len(classes.names), data.shape[1]
        q = checked_n_components(
            self.n_components,
            min(n_classes - 1, n_features),
            f"min(n_classes - 1, n_features) with {n_classes} classes and n_features={n_features}",
        )
        deviations, means = class_deviations(data[classes.positions].astype(np.float64, copy=False), classes)
        root = between_root(means, classes.counts)
        eigenvalues, vectors = fisher_directions(root, deviations.T @ deviations, self.regularization, q)
        self.components_ = signed_rows(vectors * np.sqrt(len(deviations))).astype(data.dtype)
        self.eigenvalues_ = eigenvalues
        self.objective_ = float(eigenvalues.sum())
        self.classes_ = classes.names
