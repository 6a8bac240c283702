"""Evidential c-means for categorical data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import kernel
from dempster._types import ArrayLike, Seed, TableLike
from dempster._validation import validating_table
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import (
    COMMON_RULES,
    FUZZINESS_RULE,
    EvidentialClusterer,
    FitRequest,
)
from dempster.cluster._mass_step import MassMethod, StepModel, project_masses
from dempster.cluster._search import FitResult, Sample
from dempster.cluster._starts import check_distinct
from dempster.data import sampling
from dempster.dissimilarity.categories import CategoryEncoder, find_distinct_rows
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition
from dempster.posterior.boundaries import count_boundaries, neighbor_family
from dempster.posterior.evidence import ClusterEvidence


def mismatches(codes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the number of attributes in which n objects differ from k others, shape (n, k)."""
    return np.rint(cdist(codes, others, "hamming") * codes.shape[1])


_category_sums = kernel("""category_sums(
    codes: int64[n, p] below categories, weights: float64[n], table: float64[categories, g],
    share: float64[g, c], factor: float64[g], size: int64[g], delta2: float, beta: float,
    zero: float, counts: float64[categories, c] out) -> float""")
_category_masses = kernel("""category_masses(
    codes: int64[n, p] below categories or -1, table: float64[categories, g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: float64[n, f] out)""")


# delta^2 for "auto", relative to the cost of a mismatch in all attributes
_DELTA_SHARE = 0.9
_TIE = 1e-12  # relative difference below which two sums of weights are equal


@dataclass(frozen=True)
class CategoricalModel(StepModel):
    """Prototypes with one category per attribute."""

    modes: Annotated[np.ndarray, "c p:int"]  # category numbers of the prototypes
    # number of the first category of each attribute, and the total number of categories
    offsets: Annotated[np.ndarray, "p+1:int"]

    def masses(self, codes: np.ndarray, apply: Apply) -> np.ndarray:
        """Return the masses of encoded objects, shape (n, f)."""
        out = np.zeros((len(codes), len(self.family)))
        step = (*self.step.kernel_arguments(), *self.step.columns())
        arguments = (self._mismatches(), *step)
        blocks = row_blocks(len(codes))
        calls = [(codes[a:b], *arguments, out[a:b]) for a, b in blocks]
        apply(_category_masses, calls)
        return out

    def evidence(self, codes: np.ndarray, itself: int) -> ClusterEvidence:
        """Return minus the number of attributes that differ from each prototype."""
        differ = (self.modes != codes[0]).astype(float)
        quantity = "minus the number of attributes that differ from the center"
        return ClusterEvidence.from_attributes(quantity, -differ.T)

    def improve(
        self, codes: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> tuple[float, CategoricalModel]:
        """Return the objective, and a model whose prototypes are best for the current masses."""
        arguments = (self._mismatches(), self._shares(), *self.step.kernel_arguments())
        blocks = row_blocks(len(codes))
        counts = np.empty((len(blocks), int(self.offsets[-1]), len(self.modes)))
        calls = [
            (codes[a:b], weights[a:b], *arguments, out)
            for (a, b), out in zip(blocks, counts, strict=True)
        ]
        objectives = apply(_category_sums, calls)
        return float(sum(objectives)), self._select_modes(counts.sum(axis=0))

    def from_masses(self, codes: np.ndarray, masses: np.ndarray) -> CategoricalModel:
        """Return a model whose prototypes are best for given masses of the nonempty sets."""
        pull = masses**self.step.beta @ self._shares()
        counts = np.zeros((int(self.offsets[-1]), len(self.modes)))
        for column in codes.T:
            np.add.at(counts, column, pull)
        return self._select_modes(counts)

    def _mismatches(self) -> np.ndarray:
        """Return the mismatch of each category with each nonempty set, shape (categories, g)."""
        sets = self.step.sets
        # Counts are divided at the end, because a sum of fractions would not be exactly one.
        agree = np.zeros((int(self.offsets[-1]), len(sets)))
        for k, modes in enumerate(self.modes):
            agree[modes] += sets[:, k]
        return 1 - agree / sets.sum(axis=1)

    def _shares(self) -> np.ndarray:
        """Return |A|^(alpha - 1) for each nonempty set A and each cluster in A, else 0; (g, c)."""
        sets = self.step.sets
        factor = sets.sum(axis=1) ** (self.step.alpha - 1)
        return sets * factor[:, None]

    def _select_modes(self, counts: np.ndarray) -> CategoricalModel:
        """Return a model whose prototypes have the categories with the largest sums of weights.

        ``counts`` contains the sums of weights, shape (number of categories, c). In case of ties,
        the current category is kept if it is among the best categories; otherwise, the first of the
        best categories is selected.
        """
        modes = self.modes.copy()
        for d in range(modes.shape[1]):
            start, stop = self.offsets[d : d + 2]
            segment = counts[start:stop]
            least = segment.max(axis=0) * (1 - _TIE)
            first = (segment >= least).argmax(axis=0) + start
            column = modes[:, d]
            present = counts[column, np.arange(len(modes))]
            modes[:, d] = np.where(present >= least, column, first)
        return replace(self, modes=modes)


class CategoricalMethod(MassMethod[CategoricalModel]):
    """Categorical evidential c-means, fitted to distinct objects with their total weights."""

    zero = 1e-9

    def __init__(
        self, estimator: CatECM, sample: Sample[np.ndarray], request: FitRequest
    ):
        super().__init__(estimator, sample, request)
        self.init = estimator._encode_init(self.n_clusters)
        self.offsets = estimator._encoder.offsets
        # The distinct rows are the same for any order and any repetition of the rows.
        self.codes, self.inverse = find_distinct_rows(sample.values, self.offsets)
        totals = np.bincount(self.inverse, sample.weights, len(self.codes))
        self.weights = totals.astype(float)
        self.present = self.weights > 0
        n_present = int(self.present.sum())
        if n_present < self.n_clusters:
            raise _starts.too_few_objects_error(
                self.n_clusters, n_present, sample.weights
            )
        self.sample = self.codes
        self.sample_weights = self.weights
        if not self.has_user_start:
            order = np.arange(len(self.codes))
            which, self.sample_weights = sampling.sample_in_order(
                order, self.weights, sampling.SAMPLE_SIZE, self.rng
            )
            self.sample = self.codes[which]
        self._estimate_delta(estimator._resolve_families(self.n_clusters).first)

    def _estimate_delta(self, family: FocalSets) -> None:
        """Set delta="auto".

        delta^2 is just below the least cost of an object that agrees with no prototype.
        """
        if self.estimator.delta == "auto":
            varies = np.ptp(self.codes[self.present], axis=0) > 0
            n_varying = np.count_nonzero(varies)
            size = np.maximum(family.cardinality, 1).astype(float)
            least = n_varying * (size**self.estimator.alpha).min()
            delta = float(np.sqrt(_DELTA_SHARE * least)) or 1.0
            self._delta2 = delta**2

    # ---- starts ----------------------------------------------------------------------------------

    def _user_start(self, family: FocalSets) -> CategoricalModel:
        init = self.init
        if not isinstance(init, CredalPartition):
            return self._model(family, init)
        _starts.check_partition(init, len(self.inverse), self.n_clusters)
        blank = self._model(family, np.tile(self.offsets[:-1], (self.n_clusters, 1)))
        masses = project_masses(init.masses, init.focal_sets, family)
        return blank.from_masses(self.codes[self.inverse], masses)

    def _draw_start(
        self, family: FocalSets, rng: np.random.RandomState
    ) -> CategoricalModel:
        """Draw distinct objects as initial prototypes."""
        codes = self.sample
        weights = self.sample_weights
        c = self.n_clusters
        n = len(codes)
        if self.init == "random":
            chances = weights / weights.sum()
            which = rng.choice(n, c, replace=False, p=chances)
        else:
            which = _starts.draw_distant_objects(
                lambda which: mismatches(codes[which], codes),
                weights,
                np.arange(n),
                c,
                rng,
            )
        return self._model(family, codes[which])

    def _model(self, family: FocalSets, modes: np.ndarray) -> CategoricalModel:
        return CategoricalModel(self._mass_step(family), modes, self.offsets)

    # ---- runs ------------------------------------------------------------------------------------

    def refine(self, best: Run[CategoricalModel]) -> Run[CategoricalModel]:
        if len(self.sample) == self.present.sum():
            return best
        return self._run(best.model, on_sample=False)

    def add_neighbor_pairs(self, run: Run[CategoricalModel]) -> Run[CategoricalModel]:
        modes = run.model.modes
        costs = mismatches(self.sample, modes)
        counts = count_boundaries(costs, self.sample_weights)
        family = neighbor_family(counts)
        self._estimate_delta(family)
        return replace(run, model=self._model(family, modes))

    def _step(
        self, model: CategoricalModel, *, on_sample: bool
    ) -> tuple[float, CategoricalModel]:
        if on_sample:
            return model.improve(self.sample, self.sample_weights, self.apply)
        return model.improve(self.codes, self.weights, self.apply)

    # ---- results ---------------------------------------------------------------------------------

    def result(self, run: Run[CategoricalModel]) -> FitResult:
        masses = run.model.masses(self.codes, self.apply)
        return FitResult(run, run.model, masses[self.inverse])


class CatECM(EvidentialClusterer):
    r"""Categorical evidential c-means: `ECM` for tables of categories.

    A prototype has one category for each attribute. The method minimizes, over masses m and
    prototypes,

    .. math::

        \sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta \, \mathrm{mismatch}(x_i, A)
        + \delta^2 \sum_i m_i(\emptyset)^\beta,

    where the mismatch of an object with a cluster is the number of attributes in which it differs
    from the prototype, and the mismatch with a set is the mean over its clusters. Masses and
    prototypes are updated in turn. The objective never increases. The cost of an iteration is
    linear in the number of distinct objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    alpha : float, default=-0.25
        Penalty of large sets; larger values give smaller sets. It may be negative. The mean
        mismatch of a pair is at least that of its better cluster, so the largest mass can be on a
        pair only if ``alpha < 0``. With the default, the larger mismatch of the two clusters must
        then be at most 1.4 times the smaller one.
    beta : float > 1, default=1.2
        Fuzziness; values near 1 give nearly certain masses.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set; smaller values give more outliers. The cost of the empty set is
        ``delta**2``, in numbers of mismatches. With "auto", ``delta**2`` is 0.9 times the smallest
        cost of an object that agrees with no prototype, so such an object is an outlier.
    missing : {"error", "category"}, default="error"
        Whether missing values raise an error or are treated as a category.
    handle_unknown : {"error", "ignore"}, default="error"
        Categories of new objects that were not in X: raise an error, or differ from all prototypes.
    init : {"k-modes++", "random"}, table or CredalPartition, default="k-modes++"
        Initial prototypes. "k-modes++" selects objects far from each other, "random" random
        objects. A table has ``n_clusters`` rows. A deterministic start is used once, whatever
        ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 20,000
        different objects the starts are compared on a sample of that size, and the best one is
        continued with all objects.
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
        Masses of the objects.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features) of objects
        Categories of the prototypes.
    categories_ : list of arrays
        Categories of each attribute; the last category is None if missing values are a category.
    focal_sets_ : FocalSets
    delta_ : float
        Value of ``delta`` that was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    A. J. Djiberou Mahamadou, V. Antoine, G. J. Christie and S. Moreno (2019). Evidential clustering
    for categorical data. IEEE International Conference on Fuzzy Systems. This class implements a
    variant. The published program squares the mismatches and updates a prototype by the masses of
    its single cluster only, which may increase the objective.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.cluster import CatECM
    >>> table = pd.DataFrame({
    ...     "color": ["red", "red", "red", "blue", "blue", "blue", "red"],
    ...     "shape": ["round", "round", "oval", "square", "square", "square", "square"],
    ...     "size": ["s", "s", "s", "l", "l", "m", "m"],
    ... })
    >>> model = CatECM(2, random_state=0).fit(table)
    >>> sorted(model.cluster_centers_.tolist())
    [['blue', 'square', 'l'], ['red', 'round', 's']]
    >>> model.predict(table.iloc[[0, 3]]).tolist() == model.labels_[[0, 3]].tolist()
    True
    """

    _model: CategoricalModel
    _method_type = CategoricalMethod
    _encoder: Annotated[CategoryEncoder, ".offsets n_features+1:int"]
    cluster_centers_: Annotated[np.ndarray, "n_clusters n_features:any"]
    _prediction_state = (*EvidentialClusterer._prediction_state, "_encoder")
    _rules = {
        **COMMON_RULES,
        "alpha": rule.real(),
        "beta": FUZZINESS_RULE,
        "missing": rule.choice("error", "category"),
        "handle_unknown": rule.choice("error", "ignore"),
        "init": rule.choice("k-modes++", "random")
        | rule.kind(CredalPartition)
        | rule.array,
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
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.handle_unknown = handle_unknown
        self.init = init

    def fit(
        self, X: TableLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Columns of text, pandas categories, Booleans or numbers (every number is a category).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray:
        """Validate X and return its category numbers."""
        if reset:
            self._encoder = CategoryEncoder(missing=self.missing)
        return self._encoder.read(self, X, reset=reset, unknown=self.handle_unknown)

    def _comparison_source(self, values: np.ndarray) -> AttributeSource:
        return AttributeSource(values.astype(float), "hamming")

    def _encode_init(self, n_clusters: int) -> str | np.ndarray | CredalPartition:
        """Return ``init`` as category numbers if it contains prototypes.

        Otherwise return it unchanged.
        """
        if isinstance(self.init, str | CredalPartition):
            return self.init
        table: Any = self.init
        with validating_table(table, "init"):
            if not hasattr(table, "columns"):
                table = np.asarray(table, object)
        shape = (n_clusters, self.n_features_in_)
        if table.shape != shape:
            must = f"have shape {shape} (n_clusters, n_features), got {table.shape}"
            raise InvalidParameterError("init", must=must)
        try:
            modes = self._encoder.encode(table)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                "init", must=f"contain categories of X: {error}"
            ) from error
        check_distinct(modes)
        return modes

    def _fitted_attributes(
        self, method: CategoricalMethod, model: CategoricalModel
    ) -> dict[str, Any]:
        return {
            "cluster_centers_": self._encoder.decode(model.modes),
            "categories_": self._encoder.levels,
            "delta_": method.delta,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "category"
        # The precision of codes of categories has no meaning.
        tags.transformer_tags.preserves_dtype = []
        return tags
