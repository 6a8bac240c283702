"""Fisher discriminant analysis (FDA), its kernel version (KFDA) and its local version (LFDA).

All of them look for directions of large scatter between classes for a given scatter within them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import interruptible
from dempster.metric._base import KERNEL_RULES, Classes, KernelMetricLearner, LinearMetricLearner, signed_rows

_MAX_RIDGE_SHARE = 0.99  # beyond this share of the ridge in a direction's within-class variance, the ridge scales it
_MIN_EIGENVALUE = 1e-10  # eigenvalues below this part of the largest carry no separation


def class_deviations(rows: np.ndarray, classes: Classes) -> tuple[np.ndarray, np.ndarray]:
    """Return rows minus the mean of their class, and the (c, p) means."""
    indicator = np.eye(len(classes.names))[:, classes.codes]
    means = (indicator @ rows) / classes.counts[:, None]
    return rows - means[classes.codes], means


def between_root(means: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the (c, p) matrix H with H'H = sum_k n_k (mean_k - mean)(mean_k - mean)'."""
    return np.sqrt(counts)[:, None] * (means - np.average(means, axis=0, weights=counts))


def ridged(within: np.ndarray, ridge: float) -> np.ndarray:
    """Add to a scatter matrix ``ridge`` times its mean eigenvalue on the diagonal."""
    mean = np.trace(within) / len(within)
    if mean <= 0:
        raise InvalidParameterError(
            "y", message="y must hold a class whose objects differ: the scatter within classes is zero"
        )
    return within + ridge * mean * np.eye(len(within))


def _singular_error(within: np.ndarray, ridge: float) -> InvalidParameterError:
    return InvalidParameterError(
        "regularization",
        message="regularization must be positive here: the scatter within classes is singular "
        f"({len(within)} dimensions), got {ridge:g}",
    )


def fisher_directions(root: np.ndarray, within: np.ndarray, ridge: float, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the leading eigenvalues and (q, p) eigenvectors of H'H v = lambda (W + ridge) v, scaled by `unit_within`.

    H has only c rows, so one Cholesky factor of W and an eigenproblem of size c do.
    """
    regular = ridged(within, ridge)
    try:
        factor = linalg.cho_factor(regular)
    except linalg.LinAlgError:
        raise _singular_error(within, ridge) from None
    solved = linalg.cho_solve(factor, root.T)
    eigenvalues, mixtures = interruptible(np.linalg.eigh, root @ solved)
    leading = slice(-1, -q - 1, -1)
    vectors = mixtures[:, leading].T @ solved.T
    return np.maximum(eigenvalues[leading], 0.0), unit_within(vectors, within, regular)


def unit_within(vectors: np.ndarray, within: np.ndarray, regular: np.ndarray) -> np.ndarray:
    """Scale rows v so that v' W v = 1.

    With few objects W may vanish along v; then no less than a hundredth of v' (W + ridge) v takes its place, or a
    feature that separates the labelled objects by chance would drown the others.
    """
    found = np.einsum("qi,ij,qj->q", vectors, within, vectors, optimize=True)
    bounded = np.einsum("qi,ij,qj->q", vectors, regular, vectors, optimize=True)
    size = np.maximum(found, (1 - _MAX_RIDGE_SHARE) * bounded)
    return vectors / np.sqrt(np.where(size > 0, size, 1.0))[:, None]


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

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        classes = self._classes(data, y, constraints)
        n_classes, n_features = len(classes.names), data.shape[1]
        q = self._number_of_features(
            min(n_classes - 1, n_features),
            f"min(n_classes - 1, n_features) with {n_classes} classes and n_features={n_features}",
        )
        deviations, means = class_deviations(data[classes.positions].astype(np.float64, copy=False), classes)
        root = between_root(means, classes.counts)
        eigenvalues, vectors = fisher_directions(root, deviations.T @ deviations, self.regularization, q)
        self.components_ = signed_rows(vectors * np.sqrt(len(deviations))).astype(data.dtype)
        self.eigenvalues_, self.objective_, self.classes_ = eigenvalues, float(eigenvalues.sum()), classes.names


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

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        classes = self._classes(data, y, constraints)
        q = self._number_of_features(data.shape[1], f"n_features={data.shape[1]}")
        labelled = data[classes.positions].astype(np.float64, copy=False)
        within, between = local_scatters(labelled, classes, lambda rows: local_affinity(rows, self.n_neighbors))
        eigenvalues, vectors = self._leading(within, between, q)
        vectors = signed_rows(vectors * np.sqrt(len(labelled)))
        if self.embedding == "weighted":
            vectors = vectors * np.sqrt(eigenvalues)[:, None]
        elif self.embedding == "orthonormalized":
            vectors = signed_rows(np.linalg.qr(vectors.T)[0].T)
        self.components_ = vectors.astype(data.dtype)
        self.eigenvalues_, self.objective_, self.classes_ = eigenvalues, float(eigenvalues.sum()), classes.names

    def _leading(self, within: np.ndarray, between: np.ndarray, q: int) -> tuple[np.ndarray, np.ndarray]:
        """Find (q, d) solutions of S_b v = lambda (S_w + ridge) v, leaving out those without separation."""
        regular = ridged(within, self.regularization)
        try:
            eigenvalues, vectors = interruptible(linalg.eigh, between, regular)
        except linalg.LinAlgError:
            raise _singular_error(within, self.regularization) from None
        eigenvalues, vectors = eigenvalues[::-1][:q], vectors.T[::-1][:q]
        kept = eigenvalues > _MIN_EIGENVALUE * max(eigenvalues[0], 0)
        if not kept.any():
            raise InvalidParameterError(
                "X", message="X must separate the classes of y in at least one direction, but separates them in none"
            )
        if self.n_components is not None and not kept.all():
            warnings.warn(
                f"n_components={q} features were asked for, but the classes are separated in {kept.sum()} only",
                UserWarning,
                stacklevel=4,
            )
        return eigenvalues[kept], unit_within(vectors[kept], within, regular)


def local_affinity(rows: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Compute exp(-|x_i - x_j|^2 / (sigma_i sigma_j)) with local scales sigma (Sugiyama, 2007)."""
    squared = euclidean_distances(rows, squared=True)
    k = min(n_neighbors, len(rows) - 1)
    scales = np.sqrt(np.partition(squared, k, axis=1)[:, k])  # the object itself comes first
    # among more than k equal objects the scale is zero: they are alike, and like no other
    with np.errstate(over="ignore"):
        return np.exp(-squared / np.maximum(np.outer(scales, scales), np.finfo(float).tiny))


def local_scatters(
    labelled: np.ndarray, classes: Classes, affinity: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the local scatter within and between classes (Sugiyama, 2007).

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

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        classes = self._classes(data, y, constraints)
        n_classes = len(classes.names)
        q = self._number_of_features(n_classes - 1, f"n_classes - 1 with {n_classes} classes")
        # Rows of K stand for objects, as attributes do in FDA: K is symmetric.
        deviations, means = class_deviations(self._gram(data, classes.positions), classes)
        root = between_root(means, classes.counts)
        within = interruptible(np.matmul, deviations.T, deviations)
        eigenvalues, vectors = interruptible(fisher_directions, root, within, self.regularization, q)
        self._set_support(data, classes.positions, signed_rows(vectors * np.sqrt(len(deviations))))
        self.eigenvalues_, self.objective_, self.classes_ = eigenvalues, float(eigenvalues.sum()), classes.names
