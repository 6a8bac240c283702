"""Kernel Fisher discriminant analysis."""

from __future__ import annotations

from typing import Self

import numpy as np

from dempster import _validation as rule
from dempster._fitting import fit_transaction
from dempster._native import interruptible
from dempster._types import ArrayLike, TableLike
from dempster.metric._base import checked_n_components, signed_rows
from dempster.metric._fisher import between_root, class_deviations, fisher_directions
from dempster.metric._kernels import KERNEL_RULES, KernelMetricLearner
from dempster.metric._supervision import known_classes, labels_for

__all__ = ["KFDA"]


class KFDA(KernelMetricLearner):
    """Kernel Fisher discriminant analysis: nonlinear features that set labelled classes apart.

    With K the kernel matrix of the labelled objects, the coefficients of a feature z(x) = sum_i alpha_i k(x_i, x) are
    a leading solution of

        M alpha = lambda (N + rho tr(N)/n I) alpha,

    where M and N are the scatter of the columns of K between and within classes. There are at most one fewer features
    than classes, each of unit variance within classes. Cost: cubic in the number of labelled objects, linear in that
    of the others. The ridge is what keeps a few labels from being learnt by heart.

    Parameters
    ----------
    n_components : int, optional
        Number of features. None: the most there are, n_classes - 1.
    kernel : {"rbf", "laplacian", "linear", "precomputed"}, default="rbf"
        "precomputed": X holds kernel values, of all pairs of training objects for ``fit``, of objects with all
        training objects for ``transform``.
    gamma : float > 0 or "auto", default="auto"
        Inverse width of the Gaussian kernel exp(-gamma |x - x'|^2), or of the Laplacian one. "auto": two over the
        median squared distance of the objects (Laplacian: the median L1 distance).
    regularization : float >= 0, default=1
        Ridge rho, in units of the mean eigenvalue of N. The default suits tens of labels; with hundreds, 0.1 or less
        lets the features follow the classes more closely.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_support)
        Coefficients of the labelled objects.
    support_ : ndarray of shape (n_support,)
        Positions of the labelled objects.
    support_vectors_ : ndarray of shape (n_support, n_features)
        These objects; absent if the kernel is precomputed.
    gamma_ : float
    eigenvalues_ : ndarray of shape (n_components,)
        Ratio of the scatter between to that within classes along each component.
    objective_ : float
        Sum of these ratios.
    classes_ : ndarray
        Labels found, without -1.
    n_features_in_ : int

    References
    ----------
    S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller (1999). Fisher discriminant analysis with kernels.
    Neural Networks for Signal Processing IX. J. Yang, Z. Jin, J.-Y. Yang, D. Zhang and A. F. Frangi (2004). Essence of
    kernel Fisher discriminant: KPCA plus LDA. Pattern Recognition 37.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.datasets import make_circles
    >>> from dempster.metric import KFDA
    >>> X, y = make_circles(500, random_state=0)
    >>> known = np.full(500, -1)
    >>> known[::10] = y[::10]  # fifty labels
    >>> z = KFDA(gamma=0.3).fit_transform(X, known)[:, 0]
    >>> bool(z[y == 0].max() < z[y == 1].min() or z[y == 1].max() < z[y == 0].min())  # the disc and the ring
    True
    """

    _rules = {
        **KERNEL_RULES,
        "n_components": rule.choice(None) | rule.integer(1),
        "regularization": rule.real(0),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: str = "rbf",
        gamma: float | str = "auto",
        regularization: float = 1.0,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.regularization = regularization

    def fit(self, X: TableLike, y: ArrayLike = None, *, constraints: None = None) -> Self:
        """Learn the features from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if the kernel is precomputed
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
        classes = known_classes("KFDA", data, labels_for(X, y), constraints)
        n_classes = len(classes.names)
        q = checked_n_components(self.n_components, n_classes - 1, f"n_classes - 1 with {n_classes} classes")
        self._set_kernel(data)
        # rows of K stand for objects, as attributes do in FDA: K is symmetric
        deviations, means = class_deviations(self._gram(data, classes.positions), classes)
        root = between_root(means, classes.counts)
        within = interruptible(np.matmul, deviations.T, deviations)
        eigenvalues, vectors = interruptible(fisher_directions, root, within, self.regularization, q)
        self._set_support(data, classes.positions, signed_rows(vectors * np.sqrt(len(deviations))))
        self.eigenvalues_ = eigenvalues
        self.objective_ = float(eigenvalues.sum())
        self.classes_ = classes.names
