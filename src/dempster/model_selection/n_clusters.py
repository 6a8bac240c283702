"""Selection of the number of clusters, by expected agreement or by nonspecificity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _num_samples

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._random import as_integer_seed, as_random_state
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import (
    as_list,
    is_estimator,
    is_integer,
    reorder_like,
    row_index,
    validate_weights,
    validating_table,
)
from dempster.belief import FocalSets
from dempster.cluster.choice.decision import choose
from dempster.cluster.choice.number import NumberOfClusters
from dempster.data.identifiers import warn_about_rows
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import SparseSource
from dempster.optimize.blocks import block_map, n_threads, run_fits_in_threads
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


_RULES = {"metric": METRIC_RULE, "random_state": rule.seed, "n_jobs": rule.n_jobs}
_MIN_ROWS = 6  # Three objects in each of two clusters.
# If a cluster is split in two, the pair of its two parts gets mass, so that focal sets with all
# pairs detect too many clusters. Without pairs the curve often continues to decrease or is flat.
# Pairs are therefore omitted only if there are too many of them.
_PAIRS_UP_TO = 10  # Maximum number of clusters for focal sets with all pairs.


def _check_candidates(candidates: Any, name: str) -> list[int]:
    """Return the sorted candidates.

    Raise an error if they are not distinct integers greater than or equal to 2.
    """
    values = as_list(candidates, name, "integers")
    is_valid = all(is_integer(c) and c >= 2 for c in values)
    if not is_valid or not 0 < len(values) == len(set(values)):
        must = "contain distinct integers greater than or equal to 2"
        raise InvalidParameterError(name, must=must, value=candidates)
    return sorted(map(int, values))


@dataclass(frozen=True, eq=False, repr=False)
class NClustersCurve:
    """Partitions of the same objects into different numbers of clusters, and their nonspecificity.

    Attributes
    ----------
    n_clusters : (k,) int array
        Numbers of clusters, in increasing order.
    nonspecificity : (k,) array
        Mean nonspecificity N* of each partition, from 0 (precise) to 1 (vacuous).
    objective : (k,) array
        Final objective of each fit, NaN for estimators without ``objective_``. It usually decreases
        with the number of clusters, so its minimum is not informative.
    converged : (k,) Boolean array
        Whether each fit converged.
    partitions : list of k CredalPartition
        Partition into each number of clusters.
    """

    n_clusters: np.ndarray
    nonspecificity: np.ndarray
    objective: np.ndarray
    converged: np.ndarray
    partitions: list[CredalPartition]

    @property
    def best(self) -> int:
        """Number of clusters with the smallest nonspecificity.

        The smallest number in case of ties.
        """
        return int(self.n_clusters[self.nonspecificity.argmin()])

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with nonspecificity, objective and convergence.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        columns = {
            "nonspecificity": self.nonspecificity,
            "objective": self.objective,
            "converged": self.converged,
        }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Plot the nonspecificity against the number of clusters, with a ring around the minimum.

        A clear minimum indicates a good number of clusters. If the curve has no minimum, choose the
        number at which it stops falling. Open circles mark fits that did not converge.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``line_``, ``best_artist_``,
            ``best_text_`` and ``open_artist_``.
        """
        # This module needs matplotlib.
        from dempster.plot.number_of_clusters import NonspecificityDisplay

        return NonspecificityDisplay(self).plot(ax=ax, title=title)

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{c}: {value:.3f}"
            for c, value in zip(self.n_clusters, self.nonspecificity, strict=True)
        )
        return f"NClustersCurve(nonspecificity={{{values}}}, best={self.best})"


def n_clusters_curve(
    estimator: Any,
    X: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    n_jobs: int | None = -1,
    **fit_params: Any,
) -> NClustersCurve:
    """Fit an estimator with each number of clusters and compute the nonspecificity.

    The mean nonspecificity N* (Masson and Denoeux, 2008) is large if there are too few clusters
    (mass on large sets or on the empty set) and if there are too many (mass on the union of the
    parts of one cluster). Choose the number of clusters where it is smallest, or where it stops
    decreasing.

    The minimum is clear and correct for compact, well separated clusters, which are common in
    simulated data. On most real data the curve only decreases or only increases. For 29 labeled
    public data sets, its minimum was at the number of classes once with ECM and five times with
    EVCLUS. To choose a number, use `number_of_clusters`, or ``n_clusters="auto"`` in a clusterer.

    N* can only be compared between partitions with the *same type* of focal sets. Therefore:

    - ``focal_sets="auto"`` is replaced by ``"pairs"`` if the largest candidate is at most 10,
      otherwise by ``"simple"``. It would add pairs of neighboring clusters after the fit, so that
      N* would measure the overlap of the clusters. With ``"simple"`` the curve often continues to
      decrease slowly, or is flat, above the right number; look for the elbow.
    - A `FocalSets` object raises an error, because it is valid for one number of clusters only.
    - Some parameters are estimated for each number of clusters (``d0="auto"`` of EVCLUS,
      ``delta="auto"`` of ECM). Fixed values make the partitions easier to compare.

    Parameters
    ----------
    estimator : clusterer
        Estimator with the parameter ``n_clusters`` and the fitted attribute ``credal_partition_``.
        It is copied.
    X : table, array or square matrix of dissimilarities
        Data for ``estimator.fit``.
    n_clusters : iterable of int, default=range(2, 11)
        Distinct numbers of clusters to compare, from 2 to the number of objects, in any order.
    n_jobs : int or None, default=-1
        Number of threads, each of which fits one estimator. -1 uses all processors; None uses one
        unless `joblib.parallel_config` sets another number. With more than one thread, the
        estimators use ``n_jobs=1``.
    **fit_params
        Arguments of ``estimator.fit``, such as ``sample_weight``.

    Returns
    -------
    NClustersCurve
        Partitions and their nonspecificity.

    See Also
    --------
    number_of_clusters : Expected agreement, which does not depend on an estimator and is right more
        often.

    Notes
    -----
    The seed of each fit depends only on the ``random_state`` of the estimator and on the number of
    clusters.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm.
    Pattern Recognition 41.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import ECM
    >>> from dempster.model_selection import n_clusters_curve
    >>> centers = np.array([[0, 0], [9, 0], [0, 9]])
    >>> X = np.repeat(centers, 30, axis=0) + np.random.default_rng(0).normal(size=(90, 2))
    >>> curve = n_clusters_curve(ECM(n_init=2, random_state=0), X, range(2, 6))
    >>> curve.best
    3
    >>> curve.to_frame().index.tolist()
    [2, 3, 4, 5]
    """
    candidates = _check_candidates(n_clusters, "n_clusters")
    with validating_table(X, "X"):
        n = _num_samples(X)
    if candidates[-1] > n:
        raise InvalidParameterError(
            "n_clusters", f"at most the number of objects in X, {n}", candidates[-1]
        )
    models = _clone_for_candidates(estimator, candidates)
    threads = min(n_threads(n_jobs), len(candidates))
    if threads > 1 and "n_jobs" in estimator.get_params(deep=False):
        # Nested threads would compete for the processors.
        models = [model.set_params(n_jobs=1) for model in models]
    fits = run_fits_in_threads(
        _fit_candidate, ((model, X, fit_params) for model in models), threads
    )
    partitions, objectives, converged = map(list, zip(*fits, strict=True))
    return NClustersCurve(
        n_clusters=np.array(candidates),
        nonspecificity=np.array(
            [partition.nonspecificity_index() for partition in partitions]
        ),
        objective=np.array(objectives, float),
        converged=np.array(converged, bool),
        partitions=partitions,
    )


def _fit_candidate(
    model: Any, X: Any, fit_params: dict[str, Any]
) -> tuple[CredalPartition, float, bool]:
    """Fit a clusterer, and return the partition, the objective and whether it converged."""
    model.fit(X, **fit_params)
    partition = getattr(model, "credal_partition_", None)
    if not isinstance(partition, CredalPartition):
        raise InvalidParameterError(
            "estimator",
            must=f"set credal_partition_ in fit, but {type(model).__name__} does not",
        )
    objective = float(getattr(model, "objective_", np.nan))
    converged = bool(getattr(model, "converged_", True))
    return partition.to_numpy(), objective, converged


def _clone_for_candidates(estimator: Any, candidates: list[int]) -> list[Any]:
    """Return a copy of the estimator for each number, with the same type of focal sets."""
    if not is_estimator(estimator) or "n_clusters" not in estimator.get_params(
        deep=False
    ):
        raise InvalidParameterError(
            "estimator", "a clusterer with the parameter n_clusters", estimator
        )
    parameters = estimator.get_params(deep=False)
    common: dict[str, Any] = {}
    family = parameters.get("focal_sets")
    if isinstance(family, FocalSets):
        must = "have a name as focal_sets, which is valid for every number of clusters"
        found = f"a FocalSets object for {family.n_clusters} clusters"
        raise InvalidParameterError("estimator", must=f"{must}, got {found}")
    if family == "auto":
        common["focal_sets"] = "pairs" if max(candidates) <= _PAIRS_UP_TO else "simple"
    models = [clone(estimator).set_params(n_clusters=c, **common) for c in candidates]
    if "random_state" in parameters:
        entropy = as_integer_seed(parameters["random_state"])
        for model, c in zip(models, candidates, strict=True):
            seed = np.random.SeedSequence([entropy, c]).generate_state(1)[0]
            model.set_params(random_state=int(seed))
    return models


def number_of_clusters(
    X: TableLike,
    *,
    metric: Metric = "euclidean",
    candidates: Iterable[int] | None = None,
    sample_weight: ArrayLike = None,
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> NumberOfClusters:
    """Estimate the number of clusters by the expected agreement with the true clusters.

    Partitions into many numbers of clusters, made by several families of methods, are compared on
    at most 1,000 rows, or 3,000 rows if these form many clusters. The number of the partition with
    the largest expected agreement with the true clusters is the best one. The expectation is
    learned from generated data (`dempster.cluster.choice`). `dempster.cluster.CredalClustering` and
    clusterers with ``n_clusters="auto"`` use the same law, and store the result in ``number_``.

    Classes are not clusters. On labeled public data the estimate is the number of classes less than
    half of the time, like that of all methods without labels (``benchmarks/DEFAULTS.md``). If you
    know the number, use it.

    Parameters
    ----------
    X : table, array or square matrix of dissimilarities
        Data. Attributes whose spreads differ clearly are compared with and without scaling.
    metric : str or callable, default="euclidean"
        A metric of scikit-learn, a function of two rows, "gower" for a table of numbers and
        categories, or "precomputed" if X contains dissimilarities.
    candidates : iterable of int or None, default=None
        Distinct numbers of clusters to compare, at least 2. By default 1 to 40 and, if there are
        many rows that form many clusters, up to 250; at most a sixth of the number of different
        rows.
    sample_weight : array-like of shape (n,), optional
        Weights of the objects.
    random_state : int, RandomState, Generator or None
        Seed for drawing objects and for initial values.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config`
        sets another number.

    Returns
    -------
    NumberOfClusters
        Object with ``best``, ``reasons()``, ``to_frame()`` and ``plot()``.

    See Also
    --------
    n_clusters_curve : Nonspecificity of the partitions of an estimator for each number of clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.model_selection import number_of_clusters
    >>> centers = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    >>> X = np.repeat(centers, 40, axis=0) + np.random.default_rng(0).normal(size=(160, 2))
    >>> numbers = number_of_clusters(X, candidates=range(2, 9), random_state=0)
    >>> numbers.best
    4
    """
    reader = _Reader(metric, random_state, n_jobs)
    rule.check_parameters(reader, _RULES)
    numbers = None
    if candidates is not None:
        numbers = _check_candidates(candidates, "candidates")
    source = DissimilarityInput(metric, centered=True).training(reader, X)
    assert not isinstance(source, SparseSource)
    if metric != "precomputed":
        warn_about_rows("number_of_clusters", X, "pass metric='precomputed'")
    if len(source) < _MIN_ROWS:
        must = f"contain at least {_MIN_ROWS} objects, got {len(source)}"
        raise InvalidParameterError("X", must=must)
    weights = validate_weights(reorder_like(sample_weight, row_index(X)), len(source))
    with block_map(n_jobs) as apply:
        rng = as_random_state(random_state)
        choice = choose(source, weights, rng, apply, numbers=numbers)
    result = choice.number
    if numbers is not None and not np.isin(result.n_clusters, numbers).any():
        expected = (
            f"contain a number below that of the {result.n_objects} different objects"
        )
        raise InvalidParameterError("candidates", must=expected, value=numbers)
    return result


class _Reader(BaseEstimator):
    """Estimator with the parameters that the validation of X requires."""

    def __init__(self, metric: Metric, random_state: Seed, n_jobs: int | None):
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
