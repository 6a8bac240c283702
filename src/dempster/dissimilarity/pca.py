"""Principal components of the rows of a dissimilarity matrix."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._random import as_random_state
from dempster._site import DocumentedEstimator
from dempster._validation import to_supported_type, validating
from dempster.dissimilarity.input import order_columns_as_in_fit, order_columns_as_rows
from dempster.dissimilarity.sources import check_square, check_values


class DissimilarityPCA(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    DocumentedEstimator,
    BaseEstimator,
):
    r"""Convert dissimilarities to attributes by principal component analysis.

    The row d_i = (d_i1, ..., d_in) of a dissimilarity matrix describes object i by its
    dissimilarities to all n objects. The attributes of i are the first p principal components of
    the rows,

    .. math::

        x_i = (d_i - \bar d)\, U_p,

    where :math:`\bar d` is the mean of the rows, and the columns of U_p are the first p principal
    directions. Unless ``whiten=False``, each attribute is divided by its standard deviation over
    the n objects. The same formula gives the attributes of a new object from its dissimilarities to
    the n objects. This is possible because, unlike in classical scaling, the matrix is not double
    centered. The dissimilarities need not satisfy the axioms of a metric.

    Parameters
    ----------
    n_components : int, default=3
        Number p of attributes, at most the number of objects. Denoeux (2021) uses 3 to 20, more for
        more clusters.
    whiten : bool, default=True
        Whether to scale the attributes to unit variance, which is better for neural networks.
        Denoeux (2021) does not scale them.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    random_state : int, RandomState, Generator or None
        Seed of the randomized decomposition that is used for more than 500 objects.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_objects)
        Principal directions, one per row.
    mean_ : ndarray of shape (n_objects,)
        Mean dissimilarity to each object.
    scale_ : ndarray of shape (n_components,)
        Numbers by which the projections are divided. With whitening these are the standard
        deviations (infinity if the projection is constant), without whitening ones.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of each projection before scaling, in absolute terms and as a proportion of the
        total variance.
    n_features_in_ : int
        Number n of training objects.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: neural network-based evidential clustering. Information Sciences
    572, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.dissimilarity import DissimilarityPCA
    >>> place = np.array([0.0, 1, 2, 7, 8, 10])
    >>> D = np.abs(place[:, None] - place)
    >>> pca = DissimilarityPCA(n_components=1).fit(D)
    >>> new = np.abs(np.array([[1.5], [9.0]]) - place)  # two more objects
    >>> np.sign(pca.transform(new)[:, 0]) == np.sign(pca.transform(D)[[0, 5], 0])
    array([ True,  True])
    """

    components_: Annotated[np.ndarray, "n_components n_objects"]
    mean_: Annotated[np.ndarray, "n_objects"]
    scale_: Annotated[np.ndarray, "n_components"]
    explained_variance_: Annotated[np.ndarray, "n_components"]
    explained_variance_ratio_: Annotated[np.ndarray, "n_components"]

    _rules = {
        "n_components": rule.positive_integer,
        "whiten": rule.flag,
        "symmetrize": rule.flag,
        "random_state": rule.seed,
    }

    def __init__(
        self,
        n_components: int = 3,
        *,
        whiten: bool = True,
        symmetrize: bool = False,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.whiten = whiten
        self.symmetrize = symmetrize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the principal directions.

        Parameters
        ----------
        X : array-like of shape (n_objects, n_objects)
            Symmetric matrix of nonnegative dissimilarities with a zero diagonal.
        y : ignored

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Compute the principal directions and return the attributes of the training objects.

        Parameters
        ----------
        X : array-like of shape (n_objects, n_objects)
            Symmetric matrix of nonnegative dissimilarities with a zero diagonal.
        y : ignored

        Returns
        -------
        array of shape (n_objects, n_components)
        """
        with fit_transaction(self) as draft:
            rows = draft._fit_rows(X)
        return self._project(rows)

    def transform(self, X: Any) -> np.ndarray:
        """Return the attributes of new objects.

        Parameters
        ----------
        X : array-like of shape (n_new, n_objects)
            Dissimilarities of each new object to the training objects, in the order of `fit`.

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self, "components_")
        X = order_columns_as_in_fit(self, to_supported_type(self, X))
        with validating(X, "X"):
            rows = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return self._project(check_values(rows, "X"))

    def _project(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.mean_) @ self.components_.T / self.scale_

    def _fit_rows(self, X: Any) -> np.ndarray:
        """Compute the principal directions and return the validated dissimilarity matrix."""
        from sklearn.decomposition import PCA

        rule.check_parameters(self, self._rules)
        X = order_columns_as_rows(self, to_supported_type(self, X))
        with validating(X, "X"):
            D = validate_data(
                self, X, dtype=[np.float64, np.float32], ensure_min_samples=2
            )
        D = check_square(D, symmetrize=bool(self.symmetrize))
        if self.n_components > len(D):
            expected = f"at most the number of objects, {len(D)}"
            raise InvalidParameterError("n_components", expected, self.n_components)
        # The variance is zero if all dissimilarities are equal.
        with np.errstate(invalid="ignore"):
            pca = PCA(
                self.n_components, random_state=as_random_state(self.random_state)
            ).fit(D)
        self.components_ = pca.components_
        self.mean_ = pca.mean_
        self.explained_variance_ = pca.explained_variance_
        self.explained_variance_ratio_ = np.nan_to_num(pca.explained_variance_ratio_)
        self.scale_ = np.ones_like(pca.explained_variance_)
        if self.whiten:
            self.scale_ = np.sqrt(pca.explained_variance_)
            rounding = len(D) * np.finfo(D.dtype).eps * self.scale_[0]
            # Rounding errors must not be scaled to unit variance.
            self.scale_[self.scale_ <= rounding] = np.inf
        return D

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.positive_only = True
        return tags
