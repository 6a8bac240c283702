"""Refit a method to random samples of the objects, and measure the stability of its partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._random import as_integer_seed
from dempster._text import join_some, printable
from dempster._types import Seed, TableLike
from dempster.constraints import Constraints
from dempster.dissimilarity.views import Views, square_part
from dempster.explain.inputs import resolve_input
from dempster.explain.scores import (
    count_pairs,
    doubt_scores,
    match_one_to_one,
    mean_of_present,
)
from dempster.optimize.blocks import n_threads, run_fits_in_threads
from dempster.partition import CredalPartition
from dempster.partition.compare import jousselme_distances
from dempster.partition.relational import sample_pairs

MAX_PAIRS = 20_000  # maximum number of pairs that are examined
# Jaccard indices of dissolved and recovered clusters (Hennig, 2007, 2008)
MAX_DISSOLVED = 0.5
MIN_RECOVERED = 0.75
MAX_NAMED_OBJECTS = 8
# label of the objects in a cluster of a resample without a matched reference cluster
NO_PARTNER = -2
Refit = tuple[np.ndarray, CredalPartition]
"""Positions of the objects in a resample, and their partition."""


@dataclass(frozen=True, eq=False)
class Resampling:
    """An estimator that is refitted to random samples of its training data X."""

    estimator: Any
    X: Any
    fit_params: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not rule.is_estimator(self.estimator):
            raise InvalidParameterError(
                "estimator",
                must=f"be a clusterer, got {rule.format_value(self.estimator)}",
            )

    @property
    def n_objects(self) -> int:
        with rule.validating_table(self.X, "X"):
            if self._views is None:
                return int(_num_samples(self.X))
            return len(self._views)

    @cached_property
    def _views(self) -> Views | None:
        is_multi_view = any(
            name.split("__")[-1] == "views"
            for name in self.estimator.get_params(deep=True)
        )
        if is_multi_view or isinstance(self.X, dict):
            return Views.from_input(self.X)
        return None

    @property
    def is_pairwise(self) -> bool:
        """Whether X contains dissimilarities."""
        return bool(get_tags(self.estimator).input_tags.pairwise)

    def fit_reference(self, seed: int) -> CredalPartition:
        """Return the partition of all objects.

        Derive seeds from ``seed`` for the steps that have no seed.
        """
        model = _set_params(clone(self.estimator), {"verbose": False})
        _set_seeds(model, np.random.default_rng(seed), all_steps=False)
        partition = resolve_input(
            model.fit(self.X, **self.fit_params), "estimator"
        ).partition
        if len(partition) != self.n_objects:
            sizes = f"{len(partition):,} objects for {self.n_objects:,} rows"
            raise InvalidParameterError(
                "X",
                must=f"contain one object in each row, but the partition has {sizes}",
            )
        return partition

    def refits(
        self,
        n_resamples: int,
        size: int,
        seed: int,
        n_jobs: int | None,
    ) -> Iterator[Refit]:
        """Yield the results of fits to random samples of ``size`` objects.

        Each fit has its own seed.
        """
        threads = min(n_threads(n_jobs), n_resamples)
        params: dict[str, Any] = {"verbose": False}
        if threads > 1:
            # Nested thread pools would compete for the same processors.
            params["n_jobs"] = 1
        arguments = (([seed, b], size, params) for b in range(n_resamples))
        return run_fits_in_threads(self._refit, arguments, threads)

    def _refit(self, entropy: list[int], size: int, params: dict[str, Any]) -> Refit:
        rng = np.random.default_rng(np.random.SeedSequence(entropy))
        n = self.n_objects
        rows = np.sort(rng.choice(n, size, replace=False))
        model = _set_params(clone(self.estimator), params)
        _set_seeds(model, rng)
        init = model.get_params(deep=False).get("init")
        if isinstance(init, CredalPartition) and len(init) == n:
            order = rule.match_names(init.index, rule.row_index(self.X))
            model.set_params(init=init[rows if order is None else order[rows]])
        try:
            model.fit(self.select_rows(rows), **self.select_params(rows))
            partition = resolve_input(model, "estimator").partition
        except Exception as error:
            error.add_note(f"in resample {entropy[1]}: {size:,} of {n:,} objects")
            raise
        return rows, partition

    def select_rows(self, rows: np.ndarray) -> Any:
        """Return the given rows of X; if X contains dissimilarities, select the same columns."""
        if self._views is not None:
            return self._views.rows(rows)
        if self.is_pairwise:
            return square_part(self.X, rows)
        return _safe_indexing(self.X, rows)

    def select_params(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the arguments of `fit`, such as weights or constraints, for the given objects."""
        return {
            name: self._select(value, rows) for name, value in self.fit_params.items()
        }

    def _select(self, value: Any, rows: np.ndarray) -> Any:
        n = self.n_objects
        if isinstance(value, Constraints):
            return (value | Constraints(n_objects=value.n_objects or n))[rows]
        if not hasattr(value, "shape") and not isinstance(value, list | tuple):
            return value
        value = rule.reorder_like(value, rule.row_index(self.X))
        shape = np.shape(value)
        if shape == (n, n) and n > 1:
            return square_part(value, rows)
        if shape[:1] == (n,):
            return _safe_indexing(value, rows)
        return value


def _set_params(model: Any, params: dict[str, Any]) -> Any:
    """Set the given parameters in every step of a model that has them."""
    names = ((name, name.split("__")[-1]) for name in model.get_params(deep=True))
    return model.set_params(
        **{name: params[last] for name, last in names if last in params}
    )


def _set_seeds(model: Any, rng: np.random.Generator, *, all_steps: bool = True) -> None:
    """Set the seeds of all steps of a model, or only of the steps without a seed."""
    parameters = model.get_params(deep=True)
    names = sorted(
        name for name in parameters if name.split("__")[-1] == "random_state"
    )
    for name in names:
        seed = int(rng.integers(np.iinfo(np.int32).max))
        if all_steps or parameters[name] is None:
            model.set_params(**{name: seed})


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Stability of a partition under resampling; returned by `stability`.

    Attributes
    ----------
    partition : CredalPartition
        Reference partition of all objects.
    n_resamples : int
        Number of random samples of the objects to which the method was refitted.
    drawn : array of shape (n,)
        Number of resamples that contain each object.
    objects : array of shape (n,)
        Stability of each object. It is the share of the resamples with the object in which the
        object has the same cluster as in `partition`, or is an outlier in both; NaN for objects
        that are in no resample.
    jaccard : array of shape (n_resamples, n_clusters)
        Jaccard index between each cluster of `partition`, restricted to the objects of the
        resample, and the most similar cluster of the resample; NaN if the resample contains no
        object of the cluster.
    rand : array of shape (n_resamples,)
        Credal Rand index between the partition of each resample and `partition`, over all pairs in
        the resample or a random sample of them.
    """

    partition: CredalPartition
    n_resamples: int
    drawn: np.ndarray
    objects: np.ndarray
    jaccard: np.ndarray
    rand: np.ndarray

    @property
    def mean(self) -> float:
        """Mean stability of the objects."""
        return mean_of_present(self.objects)

    @property
    def clusters(self) -> np.ndarray:
        """Mean Jaccard index of each cluster over the resamples, shape (n_clusters,).

        NaN for empty clusters.

        A cluster is unstable below 0.6, stable from 0.75, and highly stable from 0.85 (Hennig,
        2007).
        """
        return np.array([mean_of_present(column) for column in self.jaccard.T])

    @property
    def changing(self) -> np.ndarray:
        """Positions of the objects that changed in some resample, the least stable first."""
        changed = np.flatnonzero(self.objects < 1)
        return changed[np.argsort(self.objects[changed], kind="stable")]

    def to_frame(self) -> pd.DataFrame:
        """Return a table with the stability of each object, and its set and doubt in `partition`.

        Returns
        -------
        pandas.DataFrame
        """
        names = self.partition.focal_sets.names(self.partition.frame)
        columns = {
            "set": [names[j] for j in self.partition.best_set],
            "doubt": doubt_scores(self.partition),
            "drawn": self.drawn,
            "stability": self.objects,
        }
        return pd.DataFrame(columns, index=self.partition.index)

    def per_cluster(self) -> pd.DataFrame:
        """Return a table with a row for each cluster.

        The columns are the mean Jaccard index, the number of resamples in which the cluster
        dissolved (index at most 0.5) or was recovered (index at least 0.75), and the mean stability
        of its objects.

        Returns
        -------
        pandas.DataFrame
        """
        labels = self.partition.labels_with_outliers
        c = self.partition.n_clusters
        columns = {
            "n_objects": np.bincount(labels[labels >= 0], minlength=c),
            "jaccard": self.clusters,
            "dissolved": (self.jaccard <= MAX_DISSOLVED).sum(axis=0),
            "recovered": (self.jaccard >= MIN_RECOVERED).sum(axis=0),
            "objects": [mean_of_present(self.objects[labels == k]) for k in range(c)],
        }
        return pd.DataFrame(
            columns, index=pd.Index(list(self.partition.frame), name="cluster")
        )

    def to_text(self) -> str:
        """Return a summary of clusters and objects as text.

        Returns
        -------
        str
        """
        table = self.per_cluster()
        names = [f"cluster {printable(name)}" for name in table.index]
        width = max(map(len, names))
        lines = [
            f"{'':{width}}  objects  Jaccard  dissolved  recovered   ({self.n_resamples} resamples)"
        ]
        for name, row in zip(names, table.itertuples(), strict=True):
            counts = f"{row.dissolved:9d}  {row.recovered:9d}"
            lines.append(
                f"{name:{width}}  {row.n_objects:7d}  {row.jaccard:7.3f}  {counts}"
            )
        index = (
            range(len(self)) if self.partition.index is None else self.partition.index
        )
        changed = f"{len(self.changing):,} changed"
        if len(self.changing):
            named = [printable(index[i]) for i in self.changing[:MAX_NAMED_OBJECTS]]
            changed += (
                f": {join_some(named, MAX_NAMED_OBJECTS, total=len(self.changing))}"
            )
        lines += [
            f"objects stay in their cluster in {self.mean:.1%} of resamples; {changed}",
            f"credal Rand index: {mean_of_present(self.rand):.3f}",
        ]
        return "\n".join(lines).replace(" nan", "   -")

    def plot(self, *, axes: Any = None, title: str | None = None) -> Any:
        """Plot the stability of clusters and objects.

        The left panel shows the Jaccard index of every cluster with the most similar cluster of
        each resample, and the mean over the resamples. A cluster with a mean below 0.5 is
        dissolved, and a cluster with a mean of at least 0.75 is stable (Hennig, 2007). The right
        panel shows how often the cluster of each object changes, against the doubt of the object.
        If the doubt is informative, objects that change are on the right.

        Parameters
        ----------
        axes : two Matplotlib axes, optional
            By default on a new figure.
        title : str, optional
            Title of the left panel.

        Returns
        -------
        display
            Object with the attributes ``axes_``, ``figure_``, ``cluster_points_``,
            ``object_points_`` and ``mean_line_``.
        """
        # dempster.plot imports this package
        from dempster.plot.quality import StabilityDisplay

        return StabilityDisplay(self).plot(axes=axes, title=title)

    def __len__(self) -> int:
        return len(self.objects)

    __repr__ = to_text


def stability(
    estimator: Any,
    X: TableLike,
    n_resamples: int = 20,
    *,
    fraction: float = 0.8,
    n_jobs: int | None = -1,
    random_state: Seed = None,
    **fit_params: Any,
) -> Stability:
    """Refit a method to random samples of the objects, and measure the stability of its partition.

    The reference partition of all objects is compared with the partition of each resample, on the
    objects of the resample. Clusters are matched one to one to maximize the number of objects in
    matched clusters. The two partitions may have different numbers of clusters.

    Parameters
    ----------
    estimator : clusterer
        A clusterer of this package, another clusterer with the attribute ``labels_``, or a pipeline
        that ends with a clusterer. The estimator is cloned.
    X : table, array or square matrix of dissimilarities
        Input of ``estimator.fit``. If X contains dissimilarities (``metric="precomputed"``), rows
        and columns are sampled. If X is a list or dictionary of several views, the same objects are
        sampled from all views.
    n_resamples : int, default=20
        Number of random samples to which the estimator is refitted.
    fraction : float in (0, 1], default=0.8
        Share of the objects in a resample, which is drawn without replacement.
    n_jobs : int or None, default=-1
        Number of threads: -1 uses all processors, None means 1 unless `joblib.parallel_config` is
        set. With several threads the estimators use ``n_jobs=1``. The result does not depend on the
        number of threads.
    random_state : int, RandomState, Generator or None
        Seed for the resamples and for the fits to them. The fit to all objects uses the seed of the
        estimator, or this seed if the estimator has none.
    **fit_params
        Further arguments of ``fit``, such as ``sample_weight``, ``constraints`` or ``y``. Each
        refit gets only the entries of the sampled objects.

    Returns
    -------
    Stability
        Stability of objects, pairs and clusters, which can be converted to a table, text or a
        figure.

    Notes
    -----
    A stable partition is not necessarily good: a method that always splits a cluster in the same
    way is stable. An unstable partition is not reliable.

    References
    ----------
    C. Hennig (2007). Cluster-wise assessment of cluster stability. Computational Statistics and
    Data Analysis 52.

    C. Hennig (2008). Dissolution point and isolation robustness: robustness criteria for general
    cluster analysis methods. J. Multivariate Analysis 99.

    T. Denoeux, S. Li and S. Sriboonchitta (2018). Evaluating and comparing soft partitions: an
    approach based on Dempster-Shafer theory. IEEE Trans. Fuzzy Systems 26.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import stability
    >>> result = stability(ECM(3, random_state=0), load_iris().data, 5, random_state=0)
    >>> result.clusters.round(2)
    array([0.98, 1.  , 0.97])
    >>> result.to_frame().shape
    (150, 4)
    """
    rule.check(n_resamples, "n_resamples", rule.repetitions(2))
    rule.check(fraction, "fraction", rule.positive_share)
    rule.check(n_jobs, "n_jobs", rule.n_jobs)
    rule.check(random_state, "random_state", rule.seed)
    if hasattr(X, "__array__") and not hasattr(X, "shape"):
        with rule.validating_table(X, "X"):
            X = np.asarray(X)
    method = Resampling(estimator, X, fit_params)
    n = method.n_objects
    if n < 2:
        raise InvalidParameterError("X", must=f"contain at least two objects, got {n}")
    size = max(2, round(float(fraction) * n))
    seed = as_integer_seed(random_state)
    if n * (n - 1) // 2 <= MAX_PAIRS:
        pairs = np.column_stack(np.triu_indices(n, 1))
    else:
        pairs = sample_pairs(n, MAX_PAIRS, seed)
    reference = method.fit_reference(seed)
    refits = method.refits(n_resamples, size, seed, n_jobs)
    return _compare_refits(reference, pairs, refits)


def _compare_refits(
    reference: CredalPartition, pairs: np.ndarray, refits: Iterable[Refit]
) -> Stability:
    """Compare the reference partition with the partitions of the resamples."""
    n = len(reference)
    reference_labels = reference.labels_with_outliers
    reference_relations = reference.relational().pair_masses(pairs).astype(np.float32)
    drawn = np.zeros(n, int)
    kept = np.zeros(n, int)
    jaccard = []
    rand = []
    for objects, partition in refits:
        before = reference_labels[objects]
        labels = partition.labels_with_outliers
        counts = count_pairs(before, labels, reference.n_clusters, partition.n_clusters)
        drawn[objects] += 1
        kept[objects] += (
            _relabel(labels, match_one_to_one(counts), partition.n_clusters) == before
        )
        jaccard.append(_jaccard_indices(counts, before, labels))
        position = np.full(n, -1)
        position[objects] = np.arange(len(objects))
        is_drawn = (position[pairs] >= 0).all(axis=1)
        drawn_pairs = position[pairs[is_drawn]]
        relations = partition.relational().pair_masses(drawn_pairs).astype(np.float32)
        distances = jousselme_distances(relations - reference_relations[is_drawn])
        rand.append(1 - mean_of_present(distances))
    return Stability(
        partition=reference,
        n_resamples=len(rand),
        drawn=drawn,
        objects=np.divide(kept, drawn, out=np.full(n, np.nan), where=drawn > 0),
        jaccard=np.array(jaccard),
        rand=np.array(rand),
    )


def _relabel(labels: np.ndarray, partner: np.ndarray, n_clusters: int) -> np.ndarray:
    """Replace the labels of a resample by the numbers of the matched reference clusters.

    Outliers remain -1.
    """
    new_label = np.full(n_clusters + 1, NO_PARTNER)
    matched = np.flatnonzero(partner >= 0)
    new_label[partner[matched]] = matched
    new_label[-1] = -1
    return new_label[labels]


def _jaccard_indices(
    counts: np.ndarray, reference: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the Jaccard index of each reference cluster with the most similar cluster.

    NaN for empty clusters.
    """
    sizes = np.bincount(reference[reference >= 0], minlength=counts.shape[0])
    other_sizes = np.bincount(labels[labels >= 0], minlength=counts.shape[1])
    best = (counts / np.maximum(sizes[:, None] + other_sizes - counts, 1)).max(axis=1)
    return np.where(sizes > 0, best, np.nan)
