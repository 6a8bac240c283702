"""Evidential c-means for categories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._types import ArrayLike, Seed, TableLike
from dempster._validation import readable, reading_labels, reading_table
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest
from dempster.cluster._mass_step import MassStep, project_masses
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import check_different
from dempster.cluster.evidence import ClusterEvidence
from dempster.data import sampling
from dempster.dissimilarity.gower import GowerEncoder
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition

_ABSENT = -1  # number of a category that no prototype has
_MISSING = -1  # code of a missing cell in GowerEncoder, which gives categories that it has not seen another below zero


class CategoryEncoder:
    """Every category of every column has a number of its own; those of a column follow each other, in order."""

    def __init__(self, names: list, *, missing: str):
        self.names, self.missing = names, missing

    def fit_encode(self, table: TableLike) -> np.ndarray:
        """Learn the categories of a table; returns (n, p) numbers of its categories."""
        self._encoder = GowerEncoder(categorical=self.names)
        codes = self._encoder.fit_transform(table).codes
        self.levels: list[np.ndarray] = []
        for column, categories in enumerate(self._encoder.categories_):
            values = list(categories)
            if self.missing == "category" and (codes[:, column] == _MISSING).any():
                values.append(None)
            level = np.empty(len(values), dtype=object)
            level[:] = values
            self.levels.append(level)
        self.offsets = np.concatenate([[0], np.cumsum([len(level) for level in self.levels])]).astype(np.int64)
        return self._numbered(table, codes, "error")

    def encode(self, table: TableLike, *, unknown: str = "error") -> np.ndarray:
        """(n, p) numbers of the categories; those unknown are refused, or -1 if they are to be ignored."""
        return self._numbered(table, self._encoder.transform(table).codes, unknown)

    def _numbered(self, table: TableLike, codes: np.ndarray, unknown: str) -> np.ndarray:
        out = np.empty(codes.shape, dtype=np.int64)
        for column, level in enumerate(self.levels):
            code = codes[:, column]
            has_missing = len(level) > 0 and level[-1] is None
            if self.missing == "error" and (code == _MISSING).any():
                row = int((code == _MISSING).argmax())
                raise InvalidInputError(
                    f"X contains missing values (NaN, None) in column {self.names[column]!r}, the first in row {row}; "
                    "fill them in, or set missing='category' to make them a category of their own"
                )
            value = np.where(code < 0, _ABSENT, code)
            if has_missing:
                value[code == _MISSING] = len(level) - 1
            if unknown == "error" and (value == _ABSENT).any():
                raise self._unknown(table, column, int((value == _ABSENT).argmax()))
            out[:, column] = np.where(value == _ABSENT, _ABSENT, value + self.offsets[column])
        return out

    def _unknown(self, table: TableLike, column: int, row: int) -> InvalidInputError:
        cell = table.iloc[row, column] if hasattr(table, "iloc") else np.asarray(table, dtype=object)[row, column]
        return InvalidInputError(
            f"X holds a category in column {self.names[column]!r} that fit has not seen: {cell!r} in row {row}; "
            "set handle_unknown='ignore' to treat such categories as different from all others"
        )

    def decode(self, modes: np.ndarray) -> np.ndarray:
        """(c, p) categories with the given numbers."""
        out = np.empty(modes.shape, dtype=object)
        for column, level in enumerate(self.levels):
            out[:, column] = level[modes[:, column] - self.offsets[column]]
        return out


def different_rows(codes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of encoded objects in lexicographic order, and for each object which one it is."""
    sizes = np.diff(offsets)
    if np.log2(sizes.astype(float)).sum() >= 62:
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        return rows, inverse.reshape(-1)
    keys = np.zeros(len(codes), dtype=np.int64)  # the row as digits of one number: much faster to sort
    for column, size in enumerate(sizes):
        keys = keys * size + (codes[:, column] - offsets[column])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return codes[first], inverse.reshape(-1)


def mismatches(codes: np.ndarray, row: np.ndarray) -> np.ndarray:
    """(n,) number of attributes in which objects differ from one."""
    return (codes != row).sum(axis=1).astype(float)


_category_sums = kernel("""category_sums(
    codes: int64[n, p] below categories, weights: float64[n], table: float64[categories, g], share: float64[g, c],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    counts: float64[categories, c] out) -> float""")
_category_masses = kernel("""category_masses(
    codes: int64[n, p] below categories or -1, table: float64[categories, g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: float64[n, f] out)""")


def accumulate(
    codes: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    table: np.ndarray,
    share: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
) -> tuple[float, np.ndarray]:
    """Objective of rows start..stop, and for every category and cluster the sum of the weights with which it would
    lower the cost.

    ``table`` (categories, g) holds the mismatch of each category with each set, ``share`` (g, c) the weight with which
    a mass on a set counts for each of its clusters.
    """
    counts = np.empty((len(table), share.shape[1]))
    objective = _category_sums(
        codes[start:stop], weights[start:stop], table, share, factor, size, delta2, beta, zero, counts
    )
    return objective, counts


def write_masses(
    codes: np.ndarray,
    start: int,
    stop: int,
    table: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
    columns: np.ndarray,
    empty_column: int,
    out: np.ndarray,
) -> None:
    """Masses of rows start..stop into the columns of the family; a category that no prototype has is -1."""
    _category_masses(codes[start:stop], table, factor, size, delta2, beta, zero, columns, empty_column, out[start:stop])


_DELTA_SHARE = 0.9  # delta="auto": squared, this share of the cost of disagreeing in everything
_ZERO = 1e-9  # mismatches below this are none
_TIE = 1e-12  # relative difference below which two sums of weights are equal


@dataclass(frozen=True)
class CategoricalModel:
    """Prototypes: one category of each attribute for each cluster.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    modes : (c, p) numbers of categories
    offsets : (p + 1,) numbers of the first categories of the attributes, and of all
    """

    step: MassStep
    modes: np.ndarray
    offsets: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.step.family

    def masses(self, codes: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of encoded objects."""
        out = np.zeros((len(codes), len(self.family)))
        arguments = (self._mismatches(), *self.step.kernel_arguments(), *self.step.columns(), out)
        apply(write_masses, [(codes, a, b, *arguments) for a, b in row_blocks(len(codes))])
        return out

    def evidence(self, codes: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the fewer attributes differ from its prototype, the more."""
        differ = (self.modes != codes[0]).astype(float)
        return ClusterEvidence.from_attributes("minus the number of attributes that differ from the center", -differ.T)

    def improved(self, codes: np.ndarray, weights: np.ndarray, apply: Apply) -> tuple[float, CategoricalModel]:
        """The objective, and the prototypes that minimise it given the masses."""
        arguments = (self._mismatches(), self._shares(), *self.step.kernel_arguments())
        blocks = row_blocks(len(codes))
        parts = apply(accumulate, [(codes, weights, a, b, *arguments) for a, b in blocks])
        return float(sum(part[0] for part in parts)), self._updated(np.sum([part[1] for part in parts], axis=0))

    def from_masses(self, codes: np.ndarray, masses: np.ndarray) -> CategoricalModel:
        """The prototypes that minimise the objective for given (n, g) masses of the nonempty sets."""
        pull = masses**self.step.beta @ self._shares()
        counts = np.zeros((int(self.offsets[-1]), len(self.modes)))
        for column in codes.T:
            np.add.at(counts, column, pull)
        return self._updated(counts)

    def _mismatches(self) -> np.ndarray:
        """(categories, g) mismatch of each category with each set."""
        sets = self.step.sets
        # members are counted, then divided: a sum of fractions would not give exactly zero
        agree = np.zeros((int(self.offsets[-1]), len(sets)))
        for k, modes in enumerate(self.modes):
            agree[modes] += sets[:, k]
        return 1 - agree / sets.sum(axis=1)

    def _shares(self) -> np.ndarray:
        """(g, c) weight with which a mass on a set counts for each of its clusters."""
        sets = self.step.sets
        return sets * (sets.sum(axis=1) ** (self.step.alpha - 1))[:, None]

    def _updated(self, counts: np.ndarray) -> CategoricalModel:
        """The objective is linear in the prototypes: the best is the category with the largest sum of weights.

        Of equal ones the present category is kept, or else the first taken.
        """
        modes = self.modes.copy()
        for d in range(modes.shape[1]):
            segment = counts[self.offsets[d] : self.offsets[d + 1]]
            best = segment.max(axis=0)
            first = (segment >= best * (1 - _TIE)).argmax(axis=0) + self.offsets[d]
            present = counts[modes[:, d], np.arange(len(modes))]
            modes[:, d] = np.where(present >= best * (1 - _TIE), modes[:, d], first)
        return replace(self, modes=modes)


@dataclass(frozen=True)
class CategoricalSettings:
    """What a user may set. ``delta`` is None if it follows from the data; ``init`` is the name of a way to draw
    starts, or the encoded prototypes or the partition to start from."""

    n_clusters: int
    alpha: float
    beta: float
    delta: float | None
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float


class CategoricalMethod(Method[CategoricalModel, CategoricalModel]):
    """Categorical evidential c-means, on the different objects with their weights.

    Parameters
    ----------
    settings : CategoricalSettings
    sample : Sample
        Encoded objects.
    offsets : (p + 1,) array
        Where the categories of each attribute begin.
    family : FocalSets
        The first to be fitted, from which an automatic ``delta`` follows; pairs that are read off bring their own.
    rng, apply
    """

    def __init__(
        self,
        settings: CategoricalSettings,
        sample: Sample[np.ndarray],
        offsets: np.ndarray,
        family: FocalSets,
        rng: np.random.RandomState,
        apply: Apply,
    ):
        self.settings, self.offsets, self.rng, self.apply = settings, offsets, rng, apply
        # the same for all orders and repetitions of the rows
        self.codes, self.inverse = different_rows(sample.values, offsets)
        self.weights = np.bincount(self.inverse, sample.weights, minlength=len(self.codes)).astype(float)
        self.present = self.weights > 0
        if self.present.sum() < settings.n_clusters:
            raise _starts.too_few(settings.n_clusters, int(self.present.sum()), sample.weights)
        self.sample, self.sample_weights = self.codes, self.weights
        if isinstance(settings.init, str):
            self.sample, self.sample_weights = self._drawn_sample()
        self.delta = self._outlier_distance(family)

    def _drawn_sample(self) -> tuple[np.ndarray, np.ndarray]:
        """The different objects on which starts compete, with weights."""
        codes, weights = self.codes[self.present], self.weights[self.present]
        if len(codes) <= sampling.SAMPLE_SIZE:
            return codes, weights
        drawn, count = np.unique(sampling.systematic_draw(weights, sampling.SAMPLE_SIZE, self.rng), return_counts=True)
        return codes[drawn], count.astype(float)

    def _outlier_distance(self, family: FocalSets) -> float:
        """delta: what was given, or from how cheap the cheapest set of the family is for an object like no other."""
        if self.settings.delta is not None:
            return self.settings.delta
        varying = int(np.ptp(self.codes[self.present], axis=0).astype(bool).sum())
        size = np.maximum(family.cardinality, 1).astype(float)
        return float(np.sqrt(_DELTA_SHARE * varying * (size**self.settings.alpha).min())) or 1.0

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[CategoricalModel]:
        if not isinstance(self.settings.init, str):
            return [self._user_start(family, self.settings.init)]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        return [self._model(family, self._drawn(np.random.RandomState(seed))) for seed in seeds]

    def _user_start(self, family: FocalSets, init: np.ndarray | CredalPartition) -> CategoricalModel:
        if not isinstance(init, CredalPartition):
            return self._model(family, init)
        c = self.settings.n_clusters
        _starts.check_partition(init, len(self.inverse), c)
        blank = self._model(family, np.tile(self.offsets[:-1], (c, 1)))
        return blank.from_masses(self.codes[self.inverse], project_masses(init.masses, init.focal_sets, family))

    def _drawn(self, rng: np.random.RandomState) -> np.ndarray:
        """Different objects as prototypes, far from each other or just so."""
        codes, weights, c = self.sample, self.sample_weights, self.settings.n_clusters
        if self.settings.init == "random":
            return codes[rng.choice(len(codes), c, replace=False, p=weights / weights.sum())]

        def distances(which: Iterable[int]) -> np.ndarray:
            return np.stack([mismatches(codes, codes[k]) for k in which])

        return codes[_starts.far_objects(distances, weights, np.arange(len(codes)), c, rng)]

    def _model(self, family: FocalSets, modes: np.ndarray) -> CategoricalModel:
        require_singletons(family)
        step = MassStep(family, self.settings.alpha, self.settings.beta, self.delta**2, _ZERO)
        return CategoricalModel(step, modes, self.offsets)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: CategoricalModel) -> Run[CategoricalModel]:
        return self._run(start, self.sample, self.sample_weights)

    def refine(self, best: Run[CategoricalModel]) -> Run[CategoricalModel]:
        if sampling.holds_all(self.sample, self.codes, self.weights):
            return best
        return self._run(best.model, self.codes, self.weights)

    def extend(self, run: Run[CategoricalModel], family: FocalSets) -> Run[CategoricalModel]:
        return self._run(self._model(family, run.model.modes), self.codes, self.weights)

    def add_neighbor_pairs(self, run: Run[CategoricalModel]) -> Run[CategoricalModel]:
        """Mismatches are squared distances: those of the indicators of the categories."""
        modes = run.model.modes
        apart = np.stack([mismatches(modes, mode) for mode in modes])
        family = FocalSets.neighbors(squared_distances=apart)
        self.delta = self._outlier_distance(family)
        return Run(self._model(family, modes), run.history, run.converged)

    def _run(self, start: CategoricalModel, codes: np.ndarray, weights: np.ndarray) -> Run[CategoricalModel]:
        def step(model: CategoricalModel) -> tuple[float, CategoricalModel]:
            return model.improved(codes, weights, self.apply)

        return descend(step, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[CategoricalModel]) -> CredalPartition:
        return CredalPartition.unchecked(self._masses(run.model), run.model.family)

    def result(self, run: Run[CategoricalModel]) -> FitResult:
        return FitResult(run, run.model, self._masses(run.model))

    def _masses(self, model: CategoricalModel) -> np.ndarray:
        return model.masses(self.codes, self.apply)[self.inverse]


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
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.
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

    def _comparison_source(self, values: np.ndarray) -> AttributeSource:
        return AttributeSource(values.astype(float), "hamming")

    def _make_method(self, sample: Sample[np.ndarray], request: FitRequest) -> CategoricalMethod:
        settings = CategoricalSettings(
            n_clusters=request.n_clusters,
            alpha=self.alpha,
            beta=self.beta,
            delta=None if self.delta == "auto" else float(self.delta),
            init=self._encoded_start(request.n_clusters),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        family = self._resolve_families(request.n_clusters).first
        rng = as_random_state(self.random_state)
        return CategoricalMethod(settings, sample, self._encoder.offsets, family, rng, request.apply)

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

    def _fitted_attributes(self, method: CategoricalMethod, model: CategoricalModel) -> dict[str, Any]:
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
