"""How many clusters: candidates judged by four criteria on a sample, or by the nonspecificity of partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _num_samples

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import seed_number
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import (
    check,
    check_flags,
    is_estimator,
    is_integer,
    listed,
    object_index,
    object_weights,
    ordered_like,
    reading_table,
    verbosity,
)
from dempster.belief import FocalSets
from dempster.cluster.number import NumberOfClusters, compared_numbers
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import SparseSource
from dempster.optimize.blocks import block_map, fits_in_threads, n_threads
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


_MOST = 100_000
_RULES = {"metric": METRIC_RULE, "random_state": rule.seed, "n_jobs": rule.n_jobs}
_FEWEST = 6  # objects: three for each of two clusters


def _checked_candidates(given: Any, name: str) -> list[int]:
    """Different integers of at least 2, increasing; ``name`` is what the user calls them."""
    if not isinstance(given, Iterable):
        raise InvalidParameterError(name, "a range or a sequence of integers", given)
    values = listed(given, name, "integers")
    if len(values) > _MOST:
        raise InvalidParameterError(name, must=f"hold at most {_MOST:,} numbers", value=given)
    if not values:
        raise InvalidParameterError(name, must="hold at least one number", value=given)
    if not all(map(is_integer, values)):
        raise InvalidParameterError(name, must="hold integers", value=values)
    candidates = sorted(int(c) for c in values)
    if len(set(candidates)) < len(candidates):
        raise InvalidParameterError(name, must="hold different numbers", value=values)
    if candidates[0] < 2:
        raise InvalidParameterError(
            name, must=f"be at least 2 (a single cluster cannot be compared), got {candidates[0]}"
        )
    return candidates


# Pairs tell too many clusters from enough: a cluster cut in two puts mass on the pair. Single clusters and the frame
# alone often do not (the curve goes on falling or stays flat), so they serve only where pairs are too many.
_PAIRS_UP_TO = 10


@dataclass(frozen=True, eq=False, repr=False)
class NClustersCurve:
    """Partitions of the same objects into different numbers of clusters, and how imprecise each is.

    Attributes
    ----------
    n_clusters : (k,) int array
        Candidates, from the smallest to the largest.
    nonspecificity : (k,) array
        N* of each partition, from 0 (precise) to 1 (nothing known).
    objective : (k,) array
        What each fit minimised, NaN for estimators without ``objective_``. It usually falls with the number of
        clusters, so its minimum says nothing.
    converged : (k,) Boolean array
    partitions : list of k CredalPartition
    estimators : list of k fitted estimators, or None
        When they were asked for.
    """

    n_clusters: np.ndarray
    nonspecificity: np.ndarray
    objective: np.ndarray
    converged: np.ndarray
    partitions: list[CredalPartition]
    estimators: list[Any] | None = None

    @property
    def best(self) -> int:
        """Number of clusters of the smallest N*; the smaller number on ties."""
        return int(self.n_clusters[self.nonspecificity.argmin()])

    @property
    def best_partition(self) -> CredalPartition:
        """The partition into `best` clusters."""
        return self.partitions[int(self.nonspecificity.argmin())]

    def to_frame(self) -> pd.DataFrame:
        """Nonspecificity, objective and convergence by the number of clusters."""
        import pandas as pd

        columns = {"nonspecificity": self.nonspecificity, "objective": self.objective, "converged": self.converged}
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the curve (see `dempster.plot.NonspecificityDisplay`)."""
        from dempster.plot.number_of_clusters import NonspecificityDisplay  # above this package; needs matplotlib

        return NonspecificityDisplay.from_curve(self, ax=ax, **options)

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __repr__(self) -> str:
        values = ", ".join(f"{c}: {value:.3f}" for c, value in zip(self.n_clusters, self.nonspecificity, strict=True))
        return f"NClustersCurve(nonspecificity={{{values}}}, best={self.best})"


def n_clusters_curve(
    estimator: Any,
    X: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    n_jobs: int | None = -1,
    verbose: int = 0,
    return_estimators: bool = False,
    **fit_params: Any,
) -> NClustersCurve:
    """Fit an estimator with each number of clusters and measure the nonspecificity of the partitions.

    The average nonspecificity N* (Masson and Denoeux, 2008) is large when clusters are too few (mass on
    large sets or on the empty set) and again when they are too many (mass on the union of the parts of one cluster).
    Take the number where it is smallest, or where it stops falling.

    When it helps: with clusters that are compact and well apart, such as simulated ones, the minimum is clear and
    right; and to see how imprecise one's own method becomes with the number of clusters. When it does not: on data as
    they are met, where the curve mostly falls or rises along all candidates. Over 29 labelled public sets its minimum
    was the number of classes once with ECM and five times with EVCLUS. To choose a number, use `number_of_clusters`,
    or ``n_clusters="auto"`` in a clusterer.

    N* can only be compared between partitions with the *same kind* of focal sets, made by the same rule. So:

    - ``focal_sets="auto"`` finds single clusters and reads off the doubt between neighbors afterwards, so that its N*
      says how much clusters touch, not whether they are too many. It is replaced by sets that take part in the fit:
      ``"pairs"`` if the largest candidate is at most 10, ``"simple"`` beyond. With ``"simple"`` the curve often goes
      on falling slowly, or stays flat, after the right number; look for the elbow there.
    - A `FocalSets` object fits one number of clusters only and is refused.
    - Where the scale of the method is found for each number of clusters (``d0="auto"`` of EVCLUS, ``delta="auto"`` of
      ECM), a value given for it makes the candidates easier to compare.

    Parameters
    ----------
    estimator : clusterer
        With the parameter ``n_clusters`` and, once fitted, ``credal_partition_``. It is copied, not changed.
    X : table, array or square matrix of dissimilarities
        What ``estimator.fit`` takes.
    n_clusters : iterable of int, default=range(2, 11)
        Candidates, different, from 2 to the number of objects; in any order.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. They share
        the candidates; each estimator then works with ``n_jobs=1``. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar.
    return_estimators : bool, default=False
        Whether to keep the fitted estimators.
    **fit_params
        Passed to ``fit``: ``sample_weight``, ``constraints``, ...

    Returns
    -------
    NClustersCurve

    See Also
    --------
    number_of_clusters : four other witnesses, which need no partitions of a method and are right more often.

    Notes
    -----
    Each candidate has a seed of its own, made from the ``random_state`` of the estimator and the number of clusters,
    whatever the other candidates are.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41.

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
    candidates = _checked_candidates(n_clusters, "n_clusters")
    with reading_table(X, "X"):
        n = _num_samples(X)
    if candidates[-1] > n:
        raise InvalidParameterError(
            "n_clusters", must=f"not pass the number of objects in X, {n}, got {candidates[-1]}"
        )
    models = _models(estimator, candidates)
    check_flags(return_estimators=return_estimators)
    check(verbose, "verbose", verbosity)
    threads = min(n_threads(n_jobs), len(candidates))
    # nested pools of threads would compete for the same processors, and nested bars for the same line
    inside = {"verbose": 0, **({"n_jobs": 1} if threads > 1 else {})}
    jobs = ((model, inside, X, fit_params, return_estimators) for model in models)
    results = fits_in_threads(_fit, jobs, threads)
    fits = list(_with_progress(results, len(models), type(estimator).__name__) if verbose else results)
    partitions, objectives, converged, fitted = map(list, zip(*fits, strict=True))
    return NClustersCurve(
        n_clusters=np.array(candidates),
        nonspecificity=np.array([partition.nonspecificity_index() for partition in partitions]),
        objective=np.array(objectives, dtype=float),
        converged=np.array(converged, dtype=bool),
        partitions=partitions,
        estimators=fitted if return_estimators else None,
    )


def _fit(
    model: Any, inside: dict[str, Any], X: Any, fit_params: dict[str, Any], keep: bool
) -> tuple[CredalPartition, float, bool, Any]:
    """Fit one candidate: its partition, objective and convergence, and itself if it is to be kept."""
    parameters = model.get_params(deep=False)
    changed = {name: value for name, value in inside.items() if name in parameters}
    model.set_params(**changed).fit(X, **fit_params)
    model.set_params(**{name: parameters[name] for name in changed})
    partition = getattr(model, "credal_partition_", None)
    if not isinstance(partition, CredalPartition):
        raise InvalidParameterError(
            "estimator", must=f"have credal_partition_ once fitted, {type(model).__name__} has not"
        )
    objective = float(getattr(model, "objective_", np.nan))
    return partition.to_numpy(), objective, bool(getattr(model, "converged_", True)), model if keep else None


def _models(estimator: Any, candidates: list[int]) -> list[Any]:
    """A copy of the estimator for each candidate, with one kind of focal sets and seeds of their own."""
    if not is_estimator(estimator) or "n_clusters" not in estimator.get_params(deep=False):
        raise InvalidParameterError("estimator", "a clusterer with the parameter n_clusters", estimator)
    parameters = estimator.get_params(deep=False)
    common: dict[str, Any] = {}
    family = parameters.get("focal_sets")
    if isinstance(family, FocalSets):
        raise InvalidInputError(
            f"focal_sets of the estimator must be a name, which means the same kind of sets for any number of "
            f"clusters; got a family on {family.n_clusters} clusters"
        )
    if isinstance(family, str) and family == "auto":
        common["focal_sets"] = "pairs" if max(candidates) <= _PAIRS_UP_TO else "simple"
    models = [clone(estimator).set_params(n_clusters=c, **common) for c in candidates]
    if "random_state" in parameters:
        entropy = seed_number(parameters["random_state"])
        for model, c in zip(models, candidates, strict=True):
            seed = np.random.SeedSequence([entropy, c]).generate_state(1)[0]
            model.set_params(random_state=int(seed))
    return models


def _with_progress(results: Iterable[Any], total: int, name: str) -> Iterable[Any]:
    from tqdm.auto import tqdm

    return tqdm(results, total=total, desc=f"{name}, number of clusters", unit="fit")


def number_of_clusters(
    X: TableLike,
    *,
    metric: Metric = "euclidean",
    candidates: Iterable[int] | None = None,
    sample_weight: ArrayLike = None,
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> NumberOfClusters:
    """How many clusters these objects have, and what speaks for each candidate.

    Four witnesses are heard on a sample of at most 1,500 objects (their definitions are in `dempster.cluster.number`):
    the silhouette, the penalised likelihoods of round clusters of one size and of a size each, and the number of belief
    peaks. Each is scaled to [0, 1] over the candidates, and the candidate with the largest mean is the best.
    Clusterers with ``n_clusters="auto"`` ask the same question, and keep the answer in ``number_``.

    When to believe it:

    - *It helps* where clusters are compact, in any number, of unequal sizes or with some noise around them. There the
      witnesses rarely err together; look at the picture, and at how close the next candidate comes.
    - *It cannot find one cluster.* The silhouette has no value there, so the candidates begin at two: ask yourself
      first whether there are groups at all.
    - *Rings, spirals and other clusters without a center* are cut into compact pieces, and the pieces are counted.
    - *Classes are not clusters.* On labelled public data it finds the number of classes less than half of the time,
      as every method does that sees no labels (``benchmarks/DEFAULTS.md``). When the number is known, say it.

    Parameters
    ----------
    X : table, array or square matrix of dissimilarities
        Scale the attributes first if their units differ.
    metric : str or callable, default="euclidean"
        A metric of scikit-learn, a function of two rows, "gower" for a table of numbers and categories, or
        "precomputed" if X holds dissimilarities.
    candidates : iterable of int or None, default=None
        Different numbers of at least 2; None stands for 2 to 25 and the numbers within a fifth of that of the belief
        peaks, which may be more. Those above a third of the number of different objects are left out.
    sample_weight : array-like of shape (n,), optional
    random_state : int, RandomState, Generator or None
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. The result does not
        depend on it.

    Returns
    -------
    NumberOfClusters
        With ``best``, ``reasons()``, ``to_frame()`` and ``plot()``.

    See Also
    --------
    n_clusters_curve : the nonspecificity of a method's partitions against the number of clusters.

    References
    ----------
    P. J. Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of cluster analysis.
    J. Computational and Applied Mathematics 20.

    G. Schwarz (1978). Estimating the dimension of a model. Annals of Statistics 6.

    D. Peel and G. J. McLachlan (2000). Robust mixture modelling using the t distribution. Statistics and Computing 10.

    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems 27.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.model_selection import number_of_clusters
    >>> centers = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    >>> X = np.repeat(centers, 40, axis=0) + np.random.default_rng(0).normal(size=(160, 2))
    >>> numbers = number_of_clusters(X, candidates=range(2, 9), random_state=0)
    >>> numbers.best
    4
    >>> numbers.to_frame()["support"].round(2).tolist()
    [0.05, 0.44, 1.0, 0.78, 0.55, 0.33, 0.29]
    """
    reader = _Reader(metric, random_state, n_jobs)
    rule.check_parameters(reader, _RULES)
    wanted = None if candidates is None else _checked_candidates(candidates, "candidates")
    source = DissimilarityInput(metric, centered=True).training(reader, X)
    assert not isinstance(source, SparseSource)  # which this reading refuses
    if len(source) < _FEWEST:
        raise InvalidParameterError(
            "X", must=f"hold at least {_FEWEST} objects, for three in each of two clusters, got {len(source)}"
        )
    weights = object_weights(ordered_like(sample_weight, object_index(X)), len(source))
    with block_map(n_jobs) as apply:
        numbers = compared_numbers(source, weights, wanted, random_state, apply)
    if wanted is None and numbers.best < 2:
        raise InvalidParameterError(
            "X",
            must=f"hold at least {_FEWEST} different objects that are not far from all others, for three in each of "
            f"two clusters; {numbers.n_objects} were looked at",
        )
    if wanted is not None and not np.isin(numbers.n_clusters, wanted).all():
        raise InvalidParameterError(
            "candidates",
            must="hold a number of at most a third of the different objects that are looked at (of "
            f"{numbers.n_objects})",
            value=wanted,
        )
    return numbers


class _Reader(BaseEstimator):
    """Stands in for an estimator, for which parameters and X are checked."""

    def __init__(self, metric: Metric, random_state: Seed, n_jobs: int | None):
        self.metric, self.random_state, self.n_jobs = metric, random_state, n_jobs
