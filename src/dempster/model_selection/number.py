"""How many clusters: candidates judged by four witnesses on a sample of the objects."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.base import BaseEstimator

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import object_index, object_weights, ordered_like
from dempster.cluster.number import NumberOfClusters, compared_numbers
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import SparseSource
from dempster.model_selection._candidates import checked_candidates
from dempster.optimize.blocks import block_map

__all__ = ["number_of_clusters"]

_FEWEST = 6  # objects: three for each of two clusters
_RULES = {"metric": METRIC_RULE, "random_state": rule.seed, "n_jobs": rule.n_jobs}


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
    wanted = None if candidates is None else checked_candidates(candidates, "candidates")
    source = DissimilarityInput(metric, centered=True).training(reader, X)
    assert not isinstance(source, SparseSource)  # which this reading refuses
    if len(source) < _FEWEST:
        raise InvalidInputError(
            f"X must hold at least {_FEWEST} objects, for three in each of two clusters, got {len(source)}"
        )
    weights = object_weights(ordered_like(sample_weight, object_index(X)), len(source))
    with block_map(n_jobs) as apply:
        numbers = compared_numbers(source, weights, wanted, random_state, apply)
    if wanted is None and numbers.best < 2:
        raise InvalidInputError(
            f"X must hold at least {_FEWEST} different objects that are not far from all others, for three in each of "
            f"two clusters; {numbers.n_objects} were looked at"
        )
    if wanted is not None and not np.isin(numbers.n_clusters, wanted).all():
        raise InvalidInputError(
            f"candidates must hold a number of at most a third of the different objects that are looked at "
            f"(of {numbers.n_objects}), got {wanted}"
        )
    return numbers


class _Reader(BaseEstimator):
    """Stands in for an estimator, for which parameters and X are checked."""

    def __init__(self, metric: Metric, random_state: Seed, n_jobs: int | None):
        self.metric, self.random_state, self.n_jobs = metric, random_state, n_jobs
