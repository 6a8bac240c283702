"""Evidential c-means for categories."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia._tables import object_index, object_weights
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.prototypes._categories import CategoricalModel, CategoryEncoder, different_rows, mismatches
from evidentia.cluster.prototypes._method import check_partition, require_singletons
from evidentia.cluster.prototypes._model import carried_masses
from evidentia.optimize.blocks import block_map
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["CatECM"]

_DELTA_SHARE = 0.9  # delta="auto": squared, this share of the cost of disagreeing in everything


class CatECM(EvidentialClusterer):
    """Categorical evidential c-means: `ECM` for tables of categories.

    A prototype has one category for each attribute. The cost of a cluster for an object is the number of attributes
    in which the object differs from the prototype, that of a set of clusters the mean over its members:

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta mismatch(x_i, A)  +  delta^2 sum_i m_i(empty)^beta

    is minimised by turns over masses and prototypes, where the best category of a prototype is the one with the
    largest sum of weights. The objective never rises. Cost per iteration: linear in the number of different objects.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
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
    n_neighbors : int, default=1
        For ``focal_sets="selected"``: pairs among the ``n_neighbors`` nearest clusters of each other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None
        Threads; None and -1 use all processors.
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
    n_features_in_ : int

    References
    ----------
    A. J. Djiberou Mahamadou, V. Antoine, G. J. Christie and S. Moreno (2019). Evidential clustering for categorical
    data. IEEE International Conference on Fuzzy Systems. This is a variant: the published program squares the
    mismatches and updates a prototype by the masses of its single cluster only, which need not lower the objective.

    Examples
    --------
    >>> import pandas as pd
    >>> from evidentia.cluster import CatECM
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

    _rules = {
        **COMMON_RULES,
        "alpha": rule.real(),
        "beta": rule.real(1, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "missing": rule.choice("error", "category"),
        "handle_unknown": rule.choice("error", "ignore"),
        "init": rule.choice("k-modes++", "random")
        | rule.Rule("a table", lambda v: not isinstance(v, str) and hasattr(v, "__len__")),
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        alpha: float = -0.25,
        beta: float = 1.2,
        delta: float | str = "auto",
        missing: str = "error",
        handle_unknown: str = "error",
        init: Any = "k-modes++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
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
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CatECM:
        """Cluster the objects.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array-like of shape (n_samples, n_features)
            Text, pandas categories, Booleans, numbers (every number is a category).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        self._check_parameters()
        table = self._checked_table(X, reset=True)
        if len(table) < self.n_clusters:
            raise ValueError(f"n_samples={len(table)} should be >= n_clusters={self.n_clusters}")
        weights = object_weights(sample_weight, len(table), default=np.ones(len(table)))
        self._encoder = CategoryEncoder(_column_names(X, self.n_features_in_), missing=self.missing)
        codes = self._encoder.fit_encode(table)
        rng = as_random_state(self.random_state)
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, self._encoder, codes, weights.astype(float), rng, apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            masses = run.model.masses(codes, apply)
        self._model = run.model
        self.cluster_centers_ = self._encoder.decode(run.model.modes)
        self.categories_ = self._encoder.levels
        self.delta_ = run.model.delta
        self._set_result(run, masses, run.model.family, object_index(X))
        return self

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects under the fitted model."""
        check_is_fitted(self, "credal_partition_")
        codes = self._encoder.encode(self._checked_table(X, reset=False), unknown=self.handle_unknown)
        with block_map(self.n_jobs) as apply:
            masses = self._model.masses(codes, apply)
        return CredalPartition.unchecked(masses, self.focal_sets_, object_index(X))

    def _checked_table(self, X: Any, *, reset: bool) -> Any:
        """A table as it was given, anything else as an array with two dimensions."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0 or len(X.columns) == 0:
                raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
            return X
        if not hasattr(X, "dtype") and not hasattr(X, "__array__"):
            X = np.asarray(X, dtype=object)  # numbers beside text stay numbers
        # None and NaN are looked for column by column
        return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "category"
        return tags


def _column_names(X: Any, n_features: int) -> list:
    return list(X.columns) if hasattr(X, "columns") else list(range(n_features))


class _Solver:
    """The different objects of one fit with their weights, and how to descend for one family of focal sets."""

    def __init__(self, estimator: CatECM, encoder: CategoryEncoder, codes, weights, rng, apply: Callable):
        self.estimator, self.encoder, self.rng, self.apply = estimator, encoder, rng, apply
        self.offsets = encoder.offsets
        # the same for all orders and repetitions of the rows
        self.codes, self.inverse = different_rows(codes, self.offsets)
        self.weights = np.bincount(self.inverse, weights, minlength=len(self.codes))
        present = self.weights > 0
        if present.sum() < estimator.n_clusters:
            raise ValueError(
                f"n_clusters={estimator.n_clusters} is more than the {present.sum()} different objects in X"
            )
        self.sample, self.sample_weights = self._drawn_sample(present)
        varying = int(np.ptp(self.codes[present], axis=0).astype(bool).sum())
        if estimator.delta == "auto":
            size = np.maximum(estimator._family().cardinality, 1).astype(float)
            self.delta = float(np.sqrt(_DELTA_SHARE * varying * (size**estimator.alpha).min())) or 1.0
        else:
            self.delta = float(estimator.delta)

    def _drawn_sample(self, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes, weights = self.codes[present], self.weights[present]
        if len(codes) <= _starts.SAMPLE_SIZE:
            return codes, weights
        reach = np.cumsum(weights)
        size = _starts.SAMPLE_SIZE
        at = (np.arange(size) + self.rng.random_sample(size)) / size * reach[-1]
        places = np.searchsorted(reach, at, side="right").clip(max=len(codes) - 1)
        drawn, count = np.unique(places, return_counts=True)
        return codes[drawn], count.astype(float)

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        """Best run for a family, from several starts or from the prototypes of the run before."""
        require_singletons(family)
        if previous is not None:
            return self._run(self._model(family, previous.model.modes))
        init = self.estimator.init
        if not isinstance(init, str):
            return self._run(self._given(init, family))
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.estimator.n_init)
        starts = (self._model(family, self._drawn(init, seed)) for seed in seeds)
        best = self.estimator._best_of(starts, len(seeds), partial(self._run, on_sample=True))
        return best if len(self.sample) == len(self.codes) else self._run(best.model)

    def partition_of(self, run: Run) -> CredalPartition:
        masses = run.model.masses(self.codes, self.apply)[self.inverse]
        return CredalPartition.unchecked(masses, run.model.family)

    def _model(self, family: FocalSets, modes: np.ndarray) -> CategoricalModel:
        e = self.estimator
        return CategoricalModel(family, modes, self.offsets, e.alpha, e.beta, self.delta)

    def _drawn(self, method: str, seed: int) -> np.ndarray:
        """Different objects as prototypes, far from each other or just so."""
        rng = np.random.RandomState(seed)
        c = self.estimator.n_clusters
        codes, weights = self.sample, self.sample_weights
        if method == "random":
            return codes[rng.choice(len(codes), c, replace=False, p=weights / weights.sum())]
        trials = 2 + int(np.log(c))
        chosen = [int(_draw(weights, rng, 1)[0])]
        nearest = mismatches(codes, codes[chosen[0]])
        while len(chosen) < c:
            candidates = _draw(nearest * weights, rng, trials)
            after = [np.minimum(nearest, mismatches(codes, codes[k])) for k in candidates]
            best = int(np.argmin([float(gap @ weights) for gap in after]))
            chosen.append(int(candidates[best]))
            nearest = after[best]
        return codes[chosen]

    def _given(self, init: Any, family: FocalSets) -> CategoricalModel:
        c, p = self.estimator.n_clusters, len(self.offsets) - 1
        if isinstance(init, CredalPartition):
            check_partition(init, len(self.inverse), c)
            masses = carried_masses(init.masses, init.focal_sets, family)
            blank = self._model(family, np.tile(self.offsets[:-1], (c, 1)))
            return blank.from_masses(self.codes[self.inverse], masses, np.ones(len(self.inverse)))
        table = init if hasattr(init, "columns") else np.asarray(init, dtype=object)
        if table.shape != (c, p):
            raise ValueError(f"init must have shape {(c, p)} (n_clusters, n_features), got {table.shape}")
        try:
            return self._model(family, self.encoder.encode(table))
        except ValueError as error:
            raise ValueError(f"init must hold categories of X: {error}") from error

    def _run(self, start: CategoricalModel, *, on_sample: bool = False) -> Run:
        codes, weights = (self.sample, self.sample_weights) if on_sample else (self.codes, self.weights)
        e = self.estimator
        return descend(lambda model: model.step(codes, weights, self.apply), start, max_iter=e.max_iter, tol=e.tol)


def _draw(chances: np.ndarray, rng: np.random.RandomState, size: int) -> np.ndarray:
    reach = np.cumsum(chances)
    return np.searchsorted(reach, rng.random_sample(size) * reach[-1], side="right").clip(max=len(chances) - 1)
