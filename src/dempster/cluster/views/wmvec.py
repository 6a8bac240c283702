"""Weighted multi-view evidential clustering."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster import _parameters as rule
from dempster._errors import InvalidInputError
from dempster._random import as_random_state
from dempster._scale import as_reals
from dempster._tables import in_order_of
from dempster._types import ArrayLike, Index, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, Task
from dempster.cluster._scales import fuzziness, reasons
from dempster.cluster._search import Sample
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, asks_for_peaks, peaks_of_source
from dempster.cluster.views._input import ViewInput, ViewMatrices, given_views
from dempster.cluster.views._medoids import MedoidViewMethod, MedoidViewModel, dimension_of, joined_dissimilarities
from dempster.cluster.views._prototypes import Coordinates, ViewMethod, ViewModel
from dempster.cluster.views._settings import ViewSettings
from dempster.dissimilarity.input import mark_tags
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource
from dempster.dissimilarity.views import Views, index_of_views, split_views
from dempster.partition import CredalPartition

__all__ = ["WMVEC"]

_SHOWN = 6  # views that a summary names


class WMVEC(EvidentialClusterer):
    """Weighted multi-view evidential clustering: `ECM` for objects that several tables, or matrices, describe.

    All views share the masses. Every view has prototypes, and a weight, of its own. Minimises, over masses m,
    prototypes v and weights w that sum to one,

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta sum_q w_q d_q(i, A)^2  +  delta^2 sum_i m_i(empty)^beta
            +  evenness n sum_q w_q log(w_q / prior_q),

    by turns, each in closed form. The objective never rises. Cost per iteration: that of `ECM` on all tables joined.

    **Units.** Views are made comparable first: each is divided by its total dispersion, so that the mean squared
    distance to the mean is 1 in every view, whatever its unit and the number of its attributes. Attributes within a
    view keep their proportions: standardize them if their units differ.

    **Weights.** With e_q the share of the dispersion of view q that the clusters leave unexplained, the best weights
    are w_q ~ prior_q exp(-e_q / evenness). An even prior would give the entropy weights of the literature, and with
    them all weight to the view with the fewest degrees of freedom, noise or not: any clusters that follow it explain it
    well. Here prior_q ~ exp(s_q / evenness), where s_q is the share that as many clusters would leave of a Gaussian
    cloud with the covariance of the view. A view counts by what its clusters explain beyond that.

    **Dissimilarities.** With ``metric="precomputed"`` every cluster has a medoid, an object, in every view.
    Dissimilarities are squared first, so that Euclidean distances count as attributes would. A set of clusters lies in
    the middle of its medoids, by the rule that holds in a Euclidean space.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks where all views count alike (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        "precomputed": every view is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    views : None, "attributes" or array-like of shape (n_features,), default=None
        How the columns of one table make views. None: they are one view, or X is a list of tables. "attributes": each
        is a view of its own, so that attributes are weighted. An array names the view of each column.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        "auto": learnt. Given weights stay; they are divided by their sum. A pandas column is read by the names of the
        views, where it has them.
    evenness : float from 0.01 to 1000, default=0.4
        Larger values draw the weights together, smaller ones give all weight to one view (a warning says so). From 0.2
        to 0.5 results differ little.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness: towards 1 the masses become certain. "auto": 1.5 up to five attributes of all views, then less the
        more there are; for matrices by their intrinsic dimension.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, where 1 is the root mean squared distance to the mean: smaller values give more
        outliers. "auto": the upper fence of a box plot (two interquartile ranges above the third quartile) of the
        distances to the nearest prototype.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, prototypes, positions or CredalPartition, \
default="k-means++"
        Prototypes: tables of ``n_clusters`` rows, given as X is. Positions, for matrices: those of ``n_clusters``
        objects, the first medoids in all views. "k-means++": where all views count alike; for matrices medoids that are
        far from each other. "belief-peaks": the centres found by `BeliefPeaks`, which knows no weights, or by one with
        parameters of its own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    view_weights_ : ndarray of shape (n_views,)
        They sum to one; a view that does not vary has none.
    view_names_ : list of str
        Keys of a dictionary, "view 0" and so on for a list.
    attribute_weights_ : ndarray of shape (n_features,)
        With ``views="attributes"``.
    view_dispersion_ : ndarray of shape (n_views,)
        Share of the dispersion of each view that is left within the clusters, as the weights saw it.
    shapeless_dispersion_ : ndarray of shape (n_views,)
        Share that would be left if the view were a Gaussian cloud.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The columns of all views side by side.
    view_of_feature_ : ndarray of shape (n_features,)
        To which view each of these columns belongs.
    medoid_indices_ : ndarray of shape (n_views, n_clusters)
        With ``metric="precomputed"``, instead of the centers.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        What was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
        Of all views together.

    References
    ----------
    K. Zhou, M. Guo and M. Jiang (2021). Evidential weighted multi-view clustering. BELIEF 2021: shared masses, a weight
    for each view. Entropy weights: L. Jing, M. K. Ng and J. Z. Huang (2007). An entropy weighting k-means algorithm for
    subspace clustering of high-dimensional sparse data. IEEE Transactions on Knowledge and Data Engineering 19. What is
    left of a Gaussian cloud: T. M. Cover and J. A. Thomas (2006). Elements of Information Theory, section 10.3.3; this
    use of it is ours.

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

    _input: ViewInput
    _rules = {
        **COMMON_RULES,
        "metric": rule.choice("euclidean", "precomputed"),
        "symmetrize": rule.flag,
        "views": rule.choice(None) | rule.choice("attributes") | rule.array,
        "view_weights": rule.choice("auto", "equal") | rule.array,
        "evenness": rule.real(0.01, 1000),
        "alpha": rule.real(0),
        "beta": rule.choice("auto") | rule.real(1, 50, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random")
        | PEAKS_RULE
        | rule.kind(CredalPartition)
        | rule.Rule("tables or an array", lambda v: isinstance(v, list | tuple | dict) or rule.array.test(v)),
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        symmetrize: bool = False,
        views: str | ArrayLike | None = None,
        view_weights: str | ArrayLike = "auto",
        evenness: float = 0.4,
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        init: str | BeliefPeaks | TableLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbor_clusters: int = 1,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.symmetrize = symmetrize
        self.views = views
        self.view_weights = view_weights
        self.evenness = evenness
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : list of tables, dict of str to table, or one table
            Tables have shape (n_samples, n_features of the view), or (n_samples, n_samples) for dissimilarities. Rows
            are the same objects in all of them, in the same order unless pandas tables name them. float32 is kept.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        return self._fit(X, sample_weight=sample_weight)

    # ---- reading --------------------------------------------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray | ViewMatrices:
        if not reset:
            return self._input.new(self, X)
        self._input = ViewInput(self.metric, bool(self.symmetrize), self.views)
        return self._input.training(self, X)

    def _names(self, X: TableLike) -> Index:
        split = split_views(X)
        return super()._names(X) if split is None else index_of_views(split[1])

    def _attributes_of(self, X: TableLike) -> TableLike:
        views = None if given_views(X) is None else Views.of(X)
        return X if views is None else views.in_order(self.view_names_).table()

    def _read_objects(self, attributes: TableLike, like: Any) -> np.ndarray | ViewMatrices:
        return self._input.joined(self, attributes)

    def _compared(self, values: np.ndarray | ViewMatrices) -> DissimilaritySource:
        if isinstance(values, ViewMatrices):
            return MatrixSource(joined_dissimilarities(values))
        return AttributeSource(Coordinates.of(values, self._input.of_column, np.empty(0))(values))

    # ---- the method -----------------------------------------------------------------------------------------------

    def _method(self, sample: Sample[Any], task: Task) -> ViewMethod | MedoidViewMethod:
        values, rng = sample.values, as_random_state(self.random_state)
        precomputed = isinstance(values, ViewMatrices)
        if self.beta != "auto":
            beta = float(self.beta)
        else:
            beta = fuzziness(dimension_of(values) if precomputed else values.shape[1])
        settings = ViewSettings(
            n_clusters=task.n_clusters,
            view_names=self._input.names,
            view_weights=self._given_weights(),
            evenness=float(self.evenness),
            alpha=self.alpha,
            beta=beta,
            delta=None if self.delta == "auto" else float(self.delta),
            init=self._start(values, task.n_clusters),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        if precomputed:
            return MedoidViewMethod(settings, sample, rng, task.apply)
        return ViewMethod(settings, sample, self._input.of_column, rng, task.apply)

    def _given_weights(self) -> np.ndarray | None:
        """Weights of the views that were asked for, which sum to one; None if they are to be learnt."""
        n_views = len(self._input.names)
        if isinstance(self.view_weights, str):
            return None if self.view_weights == "auto" else np.full(n_views, 1 / n_views)
        weights = as_reals(in_order_of(self.view_weights, self._input.names), "view_weights")
        if weights.shape != (n_views,) or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
            raise InvalidInputError(
                f"view_weights must hold {n_views} numbers of at least 0, one for each view ("
                f"{_some(self._input.names)}), and not zeros only, got {rule.shown(self.view_weights)}"
            )
        return weights.astype(float) / weights.sum(dtype=float)

    def _start(self, values: np.ndarray | ViewMatrices, n_clusters: int) -> str | ArrayLike | CredalPartition:
        """What `init` stands for, as the method takes it."""
        init = self.init
        if asks_for_peaks(init):
            peaks = peaks_of_source(init, self._compared(values), n_clusters, self.random_state, self.n_jobs)
            assert peaks is not None
            return peaks.peak_indices_ if isinstance(values, ViewMatrices) else values[peaks.peak_indices_]
        if isinstance(init, str | CredalPartition) or isinstance(values, ViewMatrices):
            return init
        split = given_views(init, "init")
        if split is None:
            return as_reals(init, "init")
        tables = [as_reals(table, "init") for table in split[1]]
        wanted = np.bincount(self._input.of_column).tolist() if len(tables) == len(self._input.names) else []
        if [table.shape for table in tables] != [(n_clusters, width) for width in wanted]:
            shapes = ", ".join(str(table.shape) for table in tables)
            raise InvalidInputError(
                f"init must hold a table of {n_clusters} rows for each view ({_some(self._input.names)}), with the "
                f"columns of that view, got shapes {shapes}"
            )
        return np.hstack(tables)

    # ---- what is shown --------------------------------------------------------------------------------------------

    def _choices(self, method: Any) -> dict[str, str]:
        found = {**super()._choices(method), **reasons(self.beta, self.delta, method.settings.beta, method.delta)}
        if method.rule.evenness is not None and len(self._input.names) > 1:
            model: Any = self._model
            found["view_weights"] = _described(self._input.names, model.weights)
        return found

    def _attributes(self, method: Any, model: ViewModel | MedoidViewModel) -> dict[str, Any]:
        found = {
            "view_weights_": model.weights,
            "view_names_": list(self._input.names),
            "view_dispersion_": model.dispersion,
            "shapeless_dispersion_": method.shapeless,
            "delta_": method.delta,
            "beta_": method.settings.beta,
        }
        if isinstance(model, MedoidViewModel):
            return {**found, "medoid_indices_": model.medoids}
        found["cluster_centers_"] = model.coordinates.inverse(model.centers).astype(method.values.dtype)
        found["view_of_feature_"] = self._input.of_column
        return {**found, "attribute_weights_": model.weights} if isinstance(self.views, str) else found

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _described(names: list[str], weights: np.ndarray) -> str:
    """The weights in words, largest first."""
    order = np.argsort(-weights, kind="stable")
    return _some([f"{names[v]} {weights[v]:.2f}" for v in order])
