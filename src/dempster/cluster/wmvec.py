"""Weighted multi-view evidential clustering."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, Index, MaybeUnset, Seed, TableLike
from dempster._validation import as_reals, reorder_by_names
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer
from dempster.cluster._starts import explain_auto_params
from dempster.cluster._view_input import ViewInput
from dempster.cluster._view_model import Coordinates, ViewMethod, ViewModel
from dempster.cluster.belief_peaks import (
    INIT_RULE,
    Init,
    fit_source_peaks,
    uses_belief_peaks,
)
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.dissimilarity.views import Views, index_of_views, split_views

_MAX_SHOWN_VIEWS = 6


class WMVEC(EvidentialClusterer):
    r"""Weighted multi-view evidential clustering: `ECM` for several tables (views).

    All views describe the same objects and share the masses. Every view has its own prototypes and
    its own weight. The method minimizes, over the masses m, the prototypes and the view weights w,
    which sum to one,

    .. math::

        \sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta \sum_q w_q d_q(i, A)^2
        + \delta^2 \sum_i m_i(\emptyset)^\beta
        + \mathrm{evenness} \cdot n \sum_q w_q \log \frac{w_q}{\mathrm{prior}_q},

    where d_q(i, A) is the distance in view q from object i to the prototype of the set A. Masses,
    prototypes and weights are updated in turn, each in closed form, so the objective never
    increases. An iteration costs as much as an iteration of `ECM` on one table with the columns of
    all views.

    **Units.** Each view is scaled so that the mean squared distance from the objects to their mean
    is 1. The units of a view and its number of attributes therefore do not matter. Attributes
    within a view keep their proportions; standardize them if their units differ.

    **Weights.** Let e_q be the share of the dispersion of view q that remains within the clusters.
    The optimal weights w_q are proportional to :math:`\mathrm{prior}_q \exp(-e_q /
    \mathrm{evenness})`. A uniform prior gives the entropy weights of the literature, which put all
    weight on the view with the fewest degrees of freedom, even if it is noise, because clusters
    that follow this view explain most of its dispersion. Here prior_q is proportional to
    :math:`\exp(s_q / \mathrm{evenness})`, where s_q is the share that would remain within the same
    number of clusters of a Gaussian distribution with the covariance of the view. A view gains
    weight only if the clusters explain more of its dispersion than they would in a Gaussian.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, with equal view weights (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    views : None, "attributes" or array-like of shape (n_features,), default=None
        Views of the columns if X is a single table; "attributes": every column is a view. The
        attributes are then weighted. An array contains the label of the view of each column. With
        None, the table is one view.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        Weights of the views; "auto" learns them. With "equal" or an array, the weights are fixed;
        an array is divided by its sum. A pandas Series is matched by the names of the views.
    evenness : float from 0.01 to 1000, default=0.4
        Larger values make the weights more equal; small values put all weight on one view. One view
        with all weight causes a warning. Results differ little between 0.2 and 0.5.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five attributes
        in all views together, smaller for more.
    delta : float > 0 or "auto", default="auto"
        Distance from objects to the empty set; smaller values give more outliers. The unit is the
        root mean squared distance from the objects to their mean. "auto" is the upper fence of a
        box plot (third quartile plus two interquartile ranges) of the distances from the objects to
        the nearest prototypes.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. "k-means++" uses equal view weights. "belief-peaks" or a `BeliefPeaks`
        uses its centers, without weights. An array contains the prototypes, shape (n_clusters,
        n_features), with the columns of all views. A deterministic start is used once, whatever
        ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 20,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views, which sum to one; a constant view has weight zero.
    attribute_weights_ : ndarray of shape (n_features,)
        Weights of the attributes; only with ``views="attributes"``, where every attribute is a
        view.
    view_names_ : list of str
        Names of the views: the keys if X is a dictionary, or "view 0", "view 1", ... if X is a
        list.
    view_dispersion_ : ndarray of shape (n_views,)
        Share of the dispersion of each view within the clusters, from which the weights were
        computed.
    shapeless_dispersion_ : ndarray of shape (n_views,)
        Share of the dispersion that would remain within the clusters if the view had a Gaussian
        distribution.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes, in one array with the columns of all views.
    view_of_feature_ : ndarray of shape (n_features,)
        View of each column of ``cluster_centers_``.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        Values of ``beta`` and ``delta`` that were used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
        Number of features of all views together.

    References
    ----------
    K. Zhou, M. Guo and M. Jiang (2021). Evidential weighted multi-view clustering. BELIEF 2021:
    shared masses, one weight per view. Entropy weights: L. Jing, M. K. Ng and J. Z. Huang (2007).
    An entropy weighting k-means algorithm for subspace clustering of high-dimensional sparse data.
    IEEE Transactions on Knowledge and Data Engineering 19. Dispersion within a Gaussian cloud: T.
    M. Cover and J. A. Thomas (2006). Elements of Information Theory, section 10.3.3; its use for
    view weights is specific to dempster.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import WMVEC
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 50)
    >>> views = {
    ...     "shape": rng.normal(size=(150, 2)) + 6 * np.eye(3)[y, :2],
    ...     "color": rng.normal(size=(150, 4)) + 6 * np.eye(3, 4)[y],
    ...     "noise": rng.normal(size=(150, 3)),
    ... }
    >>> model = WMVEC(3, random_state=0).fit(views)
    >>> dict(zip(model.view_names_, model.view_weights_.round(2).tolist()))
    {'shape': 0.43, 'color': 0.49, 'noise': 0.08}
    """

    _model: ViewModel
    _input: ViewInput
    _method_type = ViewMethod
    view_weights_: Annotated[np.ndarray, "n_views"]
    view_dispersion_: Annotated[np.ndarray, "n_views"]
    attribute_weights_: MaybeUnset[Annotated[np.ndarray, "n_features_in_"]]
    _rules = {
        **COMMON_RULES,
        "views": rule.none | rule.choice("attributes") | rule.array,
        "view_weights": rule.choice("auto", "equal") | rule.array,
        "evenness": rule.real(0.01, 1000),
        "init": INIT_RULE,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        views: str | ArrayLike | None = None,
        view_weights: str | ArrayLike = "auto",
        evenness: float = 0.4,
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.views = views
        self.view_weights = view_weights
        self.evenness = evenness
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.init = init

    def fit(
        self, X: TableLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : list of tables, dict of str to table, or one table
            Tables of shape (n_samples, n_features of the view). All tables have the same rows in
            the same order; rows of pandas tables are matched by their names. Data of type float32
            keep their precision.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two objects.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)

    # ---- input -----------------------------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray:
        if not reset:
            return self._input.read_new(self, X)
        self._input = ViewInput()
        return self._input.read_training(self, X, self.views)

    def _row_names(self, X: TableLike) -> Index:
        split = split_views(X)
        if split is None:
            return super()._row_names(X)
        return index_of_views(split[1])

    def _extract_attributes(self, X: TableLike) -> TableLike:
        views = Views.from_input(X)
        if views is None:
            return X
        return views.in_order(self.view_names_).table()

    def _read_objects(self, attributes: TableLike, like: Any) -> np.ndarray:
        return self._input.read_joined(self, attributes)

    def _comparison_source(self, values: np.ndarray) -> DissimilaritySource:
        coordinates = Coordinates.from_rows(values, self._input.of_column, np.empty(0))
        return AttributeSource(coordinates.transform(values))

    # ---- the method ------------------------------------------------------------------------------

    def _fixed_weights(self) -> np.ndarray | None:
        """Return the fixed weights of the views, with sum one, or None if they are learned."""
        names = self._input.names
        n_views = len(names)
        view_weights = self.view_weights
        if isinstance(view_weights, str):
            if view_weights == "auto":
                return None
            return np.full(n_views, 1 / n_views)
        weights = as_reals(reorder_by_names(view_weights, names), "view_weights")
        is_valid = (
            weights.shape == (n_views,) and np.isfinite(weights).all() and weights.any()
        )
        if not is_valid or (weights < 0).any():
            raise InvalidParameterError(
                "view_weights",
                f"{n_views} numbers of at least 0, not all zero, one per view ({_shorten(names)})",
                view_weights,
            )
        return weights.astype(float) / weights.sum(dtype=float)

    def _resolve_init(self, values: np.ndarray, n_clusters: int) -> Init:
        """Return ``init``, or the attributes of the belief peaks that it selects."""
        if not uses_belief_peaks(self.init):
            return self.init
        peaks = fit_source_peaks(
            self.init,
            self._comparison_source(values),
            n_clusters,
            self.random_state,
            self.n_jobs,
        )
        assert peaks is not None
        return values[peaks.peak_indices_]

    # ---- the result ------------------------------------------------------------------------------

    def _auto_params(self, method: Any) -> dict[str, str]:
        choices = explain_auto_params(self, method)
        names = self._input.names
        if method.rule.evenness is not None and len(names) > 1:
            weights = self._model.weights
            order = np.argsort(-weights, kind="stable")
            choices["view_weights"] = _shorten(
                [f"{names[v]} {weights[v]:.2f}" for v in order]
            )
        return choices

    def _fitted_attributes(self, method: Any, model: ViewModel) -> dict[str, Any]:
        centers = model.coordinates.inverse_transform(model.centers)
        fitted = {
            "view_weights_": model.weights,
            "view_names_": list(self._input.names),
            "view_dispersion_": model.dispersion,
            "shapeless_dispersion_": method.shapeless,
            "delta_": method.delta,
            "beta_": method.beta,
            "cluster_centers_": centers.astype(method.values.dtype),
            "view_of_feature_": self._input.of_column,
        }
        if isinstance(self.views, str):
            fitted["attribute_weights_"] = model.weights
        return fitted


def _shorten(names: list[str]) -> str:
    shown = ", ".join(names[:_MAX_SHOWN_VIEWS])
    if len(names) > _MAX_SHOWN_VIEWS:
        return f"{shown} and {len(names) - _MAX_SHOWN_VIEWS} more"
    return shown
