"""Evidential c-means for categories."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from dempster import _parameters as rule
from dempster._errors import InvalidInputError
from dempster._input import readable
from dempster._random import as_random_state
from dempster._reading import reading_labels, reading_table
from dempster._types import ArrayLike, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, Task
from dempster.cluster._search import Sample
from dempster.cluster._starts import check_different
from dempster.cluster.prototypes._categorical import CategoricalMethod, CategoricalModel, CategoricalSettings
from dempster.cluster.prototypes._categories import CategoryEncoder
from dempster.dissimilarity.sources import AttributeSource
from dempster.partition import CredalPartition

__all__ = ["CatECM"]


class CatECM(EvidentialClusterer):
    """Categorical evidential c-means: `ECM` for tables of categories.

    A prototype has one category for each attribute. The cost of a cluster for an object is the number of attributes
    in which the object differs from the prototype, that of a set of clusters the mean over its members:

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta mismatch(x_i, A)  +  delta^2 sum_i m_i(empty)^beta

    is minimised by turns over masses and prototypes, where the best category of a prototype is the one with the
    largest sum of weights. The objective never rises. Cost per iteration: linear in the number of different objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    alpha : float, default=-0.25
        Penalty of large sets: larger values give smaller sets. It may be negative here: the mean mismatch of a set is
        never below that of its best member, so a pair is the first choice of an object only if ``alpha < 0``; with
        the default, if one mismatch is at most 1.4 times the other.
    beta : float > 1, default=1.2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Its square is compared with numbers of mismatches: smaller values give more outliers. "auto": squared, 0.9
        times the smallest cost that a set of clusters can have for an object that agrees in nothing, so that such an
        object is an outlier.
    missing : {"error", "category"}, default="error"
        Whether missing cells are refused, or are a category of their own.
    handle_unknown : {"error", "ignore"}, default="error"
        Whether categories of new objects that `fit` has not seen are refused, or differ from all prototypes.
    init : {"k-modes++", "random"}, table of ``n_clusters`` rows or CredalPartition, default="k-modes++"
        "k-modes++": objects far from each other; "random": objects at random. A given start is used once, whatever
        ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 different objects the starts compete on a sample of that
        size and the winner goes on with all objects.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features) of objects
        The categories of the prototypes.
    categories_ : list of arrays
        The categories of each attribute; None last if missing cells are one.
    focal_sets_ : FocalSets
    delta_ : float
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    A. J. Djiberou Mahamadou, V. Antoine, G. J. Christie and S. Moreno (2019). Evidential clustering for categorical
    data. IEEE International Conference on Fuzzy Systems. This is a variant: the published program squares the
    mismatches and updates a prototype by the masses of its single cluster only, which need not lower the objective.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.cluster import CatECM
    >>> table = pd.DataFrame({
    ...     "colour": ["red", "red", "red", "blue", "blue", "blue", "red"],
    ...     "shape": ["round", "round", "oval", "square", "square", "square", "square"],
    ...     "size": ["s", "s", "s", "l", "l", "m", "m"],
    ... })
    >>> model = CatECM(2, random_state=0).fit(table)
    >>> sorted(model.cluster_centers_.tolist())
    [['blue', 'square', 'l'], ['red', 'round', 's']]
    >>> model.predict(table.iloc[[0, 3]]).tolist() == model.labels_[[0, 3]].tolist()
    True
    """

    _encoder: CategoryEncoder
    _rules = {
        **COMMON_RULES,
        "alpha": rule.real(),
        "beta": rule.real(1, 50, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "missing": rule.choice("error", "category"),
        "handle_unknown": rule.choice("error", "ignore"),
        "init": rule.choice("k-modes++", "random")
        | rule.kind(CredalPartition)
        | rule.Rule("a table", lambda v: not isinstance(v, str) and hasattr(v, "__len__")),
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        alpha: float = -0.25,
        beta: float = 1.2,
        delta: float | str = "auto",
        missing: str = "error",
        handle_unknown: str = "error",
        init: str | TableLike | CredalPartition = "k-modes++",
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
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.handle_unknown = handle_unknown
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
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Text, pandas categories, Booleans, numbers (every number is a category).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        return self._fit(X, sample_weight=sample_weight)

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray:
        """Numbers of categories."""
        X = readable(self, X)
        with reading_table(X, "X"):
            table = self._checked_table(X, reset=reset)
            if not reset:
                return self._encoder.encode(table, unknown=self.handle_unknown)
        names = list(X.columns) if hasattr(X, "columns") else list(range(self.n_features_in_))
        self._encoder = CategoryEncoder(names, missing=self.missing)
        return self._encoder.fit_encode(table)

    def _checked_table(self, X: TableLike, *, reset: bool) -> TableLike:
        """A table as it was given, anything else as an array with two dimensions."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0 or len(X.columns) == 0:
                raise InvalidInputError(f"X must have at least one row and one column, got shape {X.shape}")
            return X
        if not hasattr(X, "dtype") and not hasattr(X, "__array__"):
            with reading_labels(X, "X"):
                X = np.asarray(X, dtype=object)  # numbers beside text stay numbers
        # None and NaN are looked for column by column
        with reading_labels(X, "X"):
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")

    def _compared(self, values: np.ndarray) -> AttributeSource:
        return AttributeSource(values.astype(float), "hamming")

    def _method(self, sample: Sample[np.ndarray], task: Task) -> CategoricalMethod:
        settings = CategoricalSettings(
            n_clusters=task.n_clusters,
            alpha=self.alpha,
            beta=self.beta,
            delta=None if self.delta == "auto" else float(self.delta),
            init=self._encoded_start(task.n_clusters),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        family = self._families(task.n_clusters).first
        rng = as_random_state(self.random_state)
        return CategoricalMethod(settings, sample, self._encoder.offsets, family, rng, task.apply)

    def _encoded_start(self, n_clusters: int) -> str | np.ndarray | CredalPartition:
        """Given prototypes as numbers of categories; any other start as it is."""
        if isinstance(self.init, str | CredalPartition):
            return self.init
        with reading_table(self.init, "init"):
            table = self.init if hasattr(self.init, "columns") else np.asarray(self.init, dtype=object)
        shape = n_clusters, self.n_features_in_
        if table.shape != shape:
            raise InvalidInputError(f"init must have shape {shape} (n_clusters, n_features), got {table.shape}")
        try:
            modes = self._encoder.encode(table)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"init must hold categories of X: {error}") from error
        check_different(modes)
        return modes

    def _attributes(self, method: CategoricalMethod, model: CategoricalModel) -> dict[str, Any]:
        return {
            "cluster_centers_": self._encoder.decode(model.modes),
            "categories_": self._encoder.levels,
            "delta_": method.delta,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "category"
        return tags
