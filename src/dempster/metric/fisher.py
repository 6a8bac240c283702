"""Fisher discriminant analysis (FDA), its kernel version (KFDA) and its local version (LFDA).

The three methods find directions with a large scatter between classes relative to the scatter
within classes.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import euclidean_distances

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import interruptible
from dempster._types import ArrayFunction, ArrayPair
from dempster.metric._base import (
    METRIC_RULES,
    Classes,
    ClassMetricLearner,
    KernelMetricLearner,
    LinearMetricLearner,
    fix_signs,
)

# Maximum share of the ridge in the regularized scatter within classes along a direction.
_MAX_RIDGE_SHARE = 0.99
# Directions with eigenvalues below this share of the largest one are dropped.
_MIN_EIGENVALUE = 1e-10


def add_ridge(within: np.ndarray, ridge: float) -> np.ndarray:
    """Add ``ridge`` times the mean eigenvalue to the diagonal of the scatter within classes."""
    mean = np.trace(within) / len(within)
    if mean <= 0:
        raise InvalidParameterError(
            "y", must="contain a class with at least two different objects"
        )
    return within + ridge * mean * np.eye(len(within))


def _singular_error(within: np.ndarray, ridge: float) -> InvalidParameterError:
    return InvalidParameterError(
        "regularization",
        message=f"regularization must be larger than {ridge:g}, because the scatter matrix within "
        f"classes is singular ({len(within)} dimensions)",
    )


def fisher_directions(
    rows: np.ndarray, classes: Classes, ridge: float, q: int
) -> ArrayPair:
    """Return the q largest eigenvalues and their directions, shape (q, p).

    The directions v have unit variance within classes. They are solutions of H'H v = lambda (W +
    ridge) v, where W and H'H are the scatter matrices within and between classes. H has only c rows
    for c classes, so a Cholesky factor of W + ridge and the eigenvalues of a c x c matrix are
    sufficient.
    """
    counts = classes.counts
    means = (np.eye(len(counts))[:, classes.codes] @ rows) / counts[:, None]
    deviations = rows - means[classes.codes]
    within = deviations.T @ deviations
    root = np.sqrt(counts)[:, None] * (
        means - np.average(means, axis=0, weights=counts)
    )
    regular = add_ridge(within, ridge)
    try:
        factor = linalg.cho_factor(regular)
    except linalg.LinAlgError:
        raise _singular_error(within, ridge) from None
    solved = linalg.cho_solve(factor, root.T)
    eigenvalues, mixtures = np.linalg.eigh(root @ solved)
    leading = slice(-1, -q - 1, -1)
    vectors = scale_within(mixtures[:, leading].T @ solved.T, within, regular)
    return np.maximum(eigenvalues[leading], 0.0), fix_signs(
        vectors * np.sqrt(len(rows))
    )


def scale_within(
    vectors: np.ndarray, within: np.ndarray, regular: np.ndarray
) -> np.ndarray:
    """Scale each row v of ``vectors`` so that v' W v = 1, where W is the scatter within classes.

    With few objects v' W v may be zero. It is therefore replaced by a hundredth of v' (W + ridge) v
    if it is smaller. Otherwise a feature that separates the labeled objects by chance would
    dominate all others.
    """
    variances = np.einsum("qi,ij,qj->q", vectors, within, vectors, optimize=True)
    regularized = np.einsum("qi,ij,qj->q", vectors, regular, vectors, optimize=True)
    size = np.maximum(variances, (1 - _MAX_RIDGE_SHARE) * regularized)
    return vectors / np.sqrt(np.where(size > 0, size, 1.0))[:, None]


class FDA(ClassMetricLearner, LinearMetricLearner):
    r"""Fisher discriminant analysis, which learns linear features that separate labeled classes.

    The rows v of the linear map are the solutions with the largest eigenvalues lambda of

    .. math::

        S_b v = \lambda \Bigl(S_w + \rho \frac{\operatorname{tr}(S_w)}{d} I\Bigr) v,

    where S_w and S_b are the scatter matrices of the labeled objects within and between classes, d
    is the number of attributes and I is the identity matrix. There are at most n_classes - 1
    features. They have unit variance within classes, so their Euclidean distances are comparable.

    Unlike scikit-learn's ``LinearDiscriminantAnalysis``, whose shrinkage also changes S_b, this
    class ignores unlabeled objects and accepts fewer labeled objects than attributes.

    Parameters
    ----------
    n_components : int, optional
        Number of features; by default the maximum, min(n_classes - 1, n_features).
    regularization : float >= 0, default=1e-3
        Ridge rho, in units of the mean eigenvalue of S_w.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Matrix of the linear map, one row per feature.
    eigenvalues_ : ndarray of shape (n_components,)
        Ratio of the scatter between classes to the scatter within classes along each component.
    objective_ : float
        Sum of the eigenvalues.
    classes_ : ndarray
        Distinct labels, without -1.
    n_features_in_ : int

    References
    ----------
    R. A. Fisher (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics
    7. K. Fukunaga (1990). Introduction to Statistical Pattern Recognition. Academic Press, chapter
    10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.metric import FDA
    >>> X, y = load_iris(return_X_y=True)
    >>> y[1::2] = -1  # every second object is unlabeled
    >>> FDA().fit_transform(X, y).shape
    (150, 2)
    """

    _needs_square_matrices = True

    def __init__(
        self, n_components: int | None = None, *, regularization: float = 1e-3
    ):
        self.n_components = n_components
        self.regularization = regularization

    def _learn_classes(self, data: np.ndarray, classes: Classes) -> np.ndarray:
        n_classes = len(classes.names)
        n_features = data.shape[1]
        q = self._number_of_components(
            min(n_classes - 1, n_features),
            f"min(n_classes - 1, n_features) with {n_classes} classes and n_features={n_features}",
        )
        labeled = data[classes.positions].astype(np.float64, copy=False)
        eigenvalues, vectors = interruptible(
            fisher_directions, labeled, classes, self.regularization, q
        )
        self.components_ = vectors.astype(data.dtype)
        return eigenvalues


class LFDA(ClassMetricLearner, LinearMetricLearner):
    r"""Local Fisher discriminant analysis, with linear features for classes of several clusters.

    The method is a variant of `FDA` in which two objects of the same class have the weight

    .. math::

        A_{ij} = \exp\Bigl(-\frac{\|x_i - x_j\|^2}{\sigma_i \sigma_j}\Bigr),

    where sigma_i is the distance from x_i to its ``n_neighbors``-th neighbor in the class. The
    method therefore brings only near objects of a class together and keeps the clusters of a class
    separate. Features of unit local variance within classes are multiplied by the square roots of
    their eigenvalues, which gives more weight to the features that separate the classes best. There
    may be more features than classes. For nonlinear features, apply scikit-learn's ``KernelPCA``
    first.

    Parameters
    ----------
    n_components : int, optional
        Number of features, at most n_features; by default all features that separate the classes.
    n_neighbors : int, default=7
        Rank of the neighbor that defines sigma_i. In smaller classes, it is the farthest object of
        the class.
    regularization : float >= 0, default=1e-3
        Ridge on the local scatter within classes, in units of its mean eigenvalue.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Matrix of the linear map, one row per feature.
    eigenvalues_, objective_, classes_
        Ratios of local scatters, their sum, and the distinct labels; see `FDA`.

    References
    ----------
    M. Sugiyama (2007). Dimensionality reduction of multimodal labeled data by local Fisher
    discriminant analysis. Journal of Machine Learning Research 8.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.metric import LFDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2)) + np.repeat([[-10, 0], [0, 0], [10, 0]], 30, axis=0)
    >>> y = np.repeat([0, 1, 0], 30)  # one class is on both sides of the other
    >>> z = LFDA(n_components=1).fit_transform(X, y)[:, 0]
    >>> bool(abs(z[y == 0]).min() > abs(z[y == 1]).max())
    True
    """

    _needs_square_matrices = True
    _rules = {**METRIC_RULES, "n_neighbors": rule.positive_integer}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        regularization: float = 1e-3,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.regularization = regularization

    def _learn_classes(self, data: np.ndarray, classes: Classes) -> np.ndarray:
        q = self._number_of_components(data.shape[1], f"n_features={data.shape[1]}")
        labeled = data[classes.positions].astype(np.float64, copy=False)
        affinity = partial(local_affinity, n_neighbors=self.n_neighbors)
        within, between = local_scatters(labeled, classes, affinity)
        regular = add_ridge(within, self.regularization)
        try:
            eigenvalues, vectors = interruptible(linalg.eigh, between, regular)
        except linalg.LinAlgError:
            raise _singular_error(within, self.regularization) from None
        eigenvalues = eigenvalues[::-1][:q]
        vectors = vectors.T[::-1][:q]
        kept = eigenvalues > _MIN_EIGENVALUE * max(eigenvalues[0], 0)
        if not kept.any():
            raise InvalidParameterError(
                "X", must="separate the classes of y in at least one direction"
            )
        if self.n_components is not None and not kept.all():
            message = f"n_components={q} exceeds the number of features that separate the classes"
            warnings.warn(f"{message}, {kept.sum()}", UserWarning, stacklevel=4)
        eigenvalues = eigenvalues[kept]
        vectors = scale_within(vectors[kept], within, regular)
        vectors = fix_signs(vectors * np.sqrt(len(labeled)))
        vectors = vectors * np.sqrt(eigenvalues)[:, None]
        self.components_ = vectors.astype(data.dtype)
        return eigenvalues


def local_affinity(rows: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return exp(-|x_i - x_j|^2 / (sigma_i sigma_j)).

    Sigma_i is the distance from x_i to neighbor ``n_neighbors``.
    """
    squared = euclidean_distances(rows, squared=True)
    k = min(n_neighbors, len(rows) - 1)
    # Position 0 is the object itself.
    scales = np.sqrt(np.partition(squared, k)[:, k])
    # If more than k objects are equal, sigma is 0. Their affinity is 1 to each other and 0 to
    # different objects.
    products = np.maximum(np.outer(scales, scales), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        return np.exp(-squared / products)


def local_scatters(
    labeled: np.ndarray, classes: Classes, affinity: ArrayFunction
) -> ArrayPair:
    """Return the local scatter matrices within and between classes (Sugiyama, 2007).

    Two objects i and j of class k (n_k of the n objects) have the weight A_ij / n_k in the scatter
    within classes and A_ij (1/n - 1/n_k) in the scatter between classes, where A_ij is their
    affinity. Two objects of different classes have the weight 1/n in the scatter between classes.
    The sum over pairs of different classes is the sum over all pairs minus the sums over the pairs
    of each class, so that only affinities within a class are stored.
    """
    n = len(labeled)
    centered = labeled - labeled.mean(axis=0)
    within = np.zeros((labeled.shape[1],) * 2)
    between = centered.T @ centered
    for k, count in enumerate(classes.counts):
        rows = centered[classes.codes == k]
        weights = affinity(rows)
        local = (rows * weights.sum(axis=1)[:, None] - weights @ rows).T @ rows
        local = (local + local.T) / 2
        alone = rows - rows.mean(axis=0)
        within += local / count
        between += local * (1 / n - 1 / count) - (count / n) * alone.T @ alone
    return within, between


class KFDA(ClassMetricLearner, KernelMetricLearner):
    r"""Kernel Fisher discriminant analysis, with nonlinear features that separate labeled classes.

    Let K be the kernel matrix of the n labeled objects. The coefficients alpha of a feature
    :math:`z(x) = \sum_i \alpha_i k(x_i, x)` are a solution with a large eigenvalue lambda of

    .. math::

        M \alpha = \lambda \Bigl(N + \rho \frac{\operatorname{tr}(N)}{n} I\Bigr) \alpha,

    where M and N are the scatter matrices of the columns of K between and within classes. There are
    at most n_classes - 1 features, each with unit variance within classes. The cost is cubic in the
    number of labeled objects and linear in the number of unlabeled objects. The ridge rho prevents
    overfitting to a few labels. For other kernels, apply `FDA` to the scores of scikit-learn's
    ``KernelPCA``.

    Parameters
    ----------
    n_components : int, optional
        Number of features; by default the maximum, n_classes - 1.
    gamma : float > 0 or "auto", default="auto"
        Inverse width of the Gaussian kernel k(x, x') = exp(-gamma |x - x'|^2). "auto" is 2 divided
        by the median squared distance between objects.
    regularization : float >= 0, default=1
        Ridge rho, in units of the mean eigenvalue of N. The default is suitable for tens of labels.
        With hundreds of labels, use 0.1 or less.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_support)
        Coefficients of the labeled objects.
    support_ : ndarray of shape (n_support,)
        Indices of the labeled objects.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Labeled objects.
    gamma_ : float
        Value of ``gamma``.
    eigenvalues_, objective_, classes_
        Ratios of scatters, their sum, and the distinct labels; see `FDA`.

    References
    ----------
    S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller (1999). Fisher discriminant
    analysis with kernels. Neural Networks for Signal Processing IX. J. Yang, Z. Jin, J.-Y. Yang, D.
    Zhang and A. F. Frangi (2004). Essence of kernel Fisher discriminant: KPCA plus LDA. Pattern
    Recognition 37.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.datasets import make_circles
    >>> from dempster.metric import KFDA
    >>> X, y = make_circles(500, random_state=0)
    >>> known = np.full(500, -1)
    >>> known[::10] = y[::10]  # fifty labels
    >>> z = KFDA(gamma=0.3).fit_transform(X, known)[:, 0]
    >>> disc, ring = z[y == 0], z[y == 1]
    >>> bool(disc.max() < ring.min() or ring.max() < disc.min())
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gamma: float | str = "auto",
        regularization: float = 1.0,
    ):
        self.n_components = n_components
        self.gamma = gamma
        self.regularization = regularization

    def _learn_classes(self, data: np.ndarray, classes: Classes) -> np.ndarray:
        n_classes = len(classes.names)
        q = self._number_of_components(
            n_classes - 1, f"n_classes - 1 with {n_classes} classes"
        )
        # K is symmetric, so that its rows can be used like the rows of X in FDA.
        positions = classes.positions
        gram = self._kernel_values(data[positions], data[positions])
        eigenvalues, vectors = interruptible(
            fisher_directions, gram, classes, self.regularization, q
        )
        self._set_support(data, positions, vectors)
        return eigenvalues
