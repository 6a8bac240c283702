"""Fit a method again to samples of its objects, and measure which objects, pairs and clusters stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._random import generator, seed_number
from dempster._text import join_some, printable
from dempster._types import Seed, TableLike
from dempster._validation import is_estimator, object_index, order_of_names, ordered_like, reading_table, shown
from dempster.constraints import Constraints
from dempster.dissimilarity.views import Views, square_part
from dempster.explain.inputs import resolve_input
from dempster.explain.scores import doubt_scores, one_to_one, shared_objects
from dempster.optimize.blocks import fits_in_threads, n_threads
from dempster.partition import CredalPartition
from dempster.partition.compare import jousselme_of_pairs
from dempster.partition.relational import sample_pairs

if TYPE_CHECKING:
    import pandas as pd


MAX_PAIRS = 20_000  # looked at unless the user wants more
DISSOLVED_BELOW, RECOVERED_FROM = 0.5, 0.75  # Jaccard indices below and above which Hennig (2007, 2008) speaks of these
MAX_NAMED_OBJECTS = 8
NO_PARTNER = -2  # a cluster of a resample that has no partner
_RULES = {
    "n_resamples": rule.repetitions(2),
    "fraction": rule.choice(None) | rule.real(0, 1, open_low=True),
    "bootstrap": rule.flag,
    "n_pairs": rule.choice("auto") | rule.integer(1),
    "n_jobs": rule.n_jobs,
    "random_state": rule.seed,
    "verbose": rule.flag,
}


@dataclass(frozen=True, eq=False)
class Refit:
    """One fit to some of the objects: their positions, each once, and their partition."""

    objects: np.ndarray
    partition: CredalPartition


@dataclass(frozen=True, eq=False)
class Resampling:
    """A method, its objects, and the other arguments of its fit."""

    estimator: Any
    X: Any
    fit_params: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not is_estimator(self.estimator):
            raise InvalidInputError(f"estimator must be a clusterer, got {shown(self.estimator)}")
        if isinstance(self.X, memoryview) or (hasattr(self.X, "__array__") and not hasattr(self.X, "__getitem__")):
            with reading_table(self.X, "X"):
                object.__setattr__(self, "X", np.asarray(self.X))

    @property
    def n_objects(self) -> int:
        with reading_table(self.X, "X"):
            return int(_num_samples(self.X)) if self._views is None else len(self._views)

    @cached_property
    def _views(self) -> Views | None:
        """Views of X, for a method that takes several tables."""
        takes = any(name.split("__")[-1] == "views" for name in self.estimator.get_params(deep=True))
        return Views.of(self.X) if takes or isinstance(self.X, dict) else None

    @property
    def is_pairwise(self) -> bool:
        """Whether X holds dissimilarities, so that objects are its rows and its columns."""
        return bool(get_tags(self.estimator).input_tags.pairwise)

    def reference(self, seed: int) -> CredalPartition:
        """Return the partition of all objects by the method as it is; steps without a seed get one."""
        model = _quiet(clone(self.estimator), {})
        _set_seeds(model, np.random.default_rng(seed), all_parts=False)
        partition = resolve_input(model.fit(self.X, **self.fit_params), "estimator").partition
        if len(partition) != self.n_objects:
            raise InvalidInputError(
                f"X must hold one object in each row, but {type(self.estimator).__name__} found {len(partition):,} "
                f"objects in {self.n_objects:,} rows"
            )
        return partition

    def refits(self, n_resamples: int, size: int, bootstrap: bool, seed: int, n_jobs: int | None) -> Iterator[Refit]:
        """Yield fits to samples of ``size`` objects in order; each has a seed of its own."""
        threads = min(n_threads(n_jobs), n_resamples)
        # nested pools of threads would compete for the same processors, and nested bars for the same line
        inside = {"n_jobs": 1} if threads > 1 else {}
        return fits_in_threads(self._refit, (([seed, b], size, bootstrap, inside) for b in range(n_resamples)), threads)

    def _refit(self, entropy: list[int], size: int, bootstrap: bool, inside: dict[str, Any]) -> Refit:
        rng = np.random.default_rng(np.random.SeedSequence(entropy))
        n = self.n_objects
        rows = np.sort(rng.integers(n, size=size) if bootstrap else rng.choice(n, size, replace=False))
        model = _quiet(clone(self.estimator), inside)
        _set_seeds(model, rng)  # samples differ in their starts too
        init = model.get_params(deep=False).get("init")
        if isinstance(init, CredalPartition) and len(init) == n:
            order = order_of_names(init.index, object_index(self.X))
            model.set_params(init=init[rows if order is None else order[rows]])
        try:
            partition = resolve_input(model.fit(self._rows_of_X(rows), **self._params(rows)), "estimator").partition
        except Exception as error:
            error.add_note(f"in resample {entropy[1]}: {size:,} of {n:,} objects{' with repetitions' * bootstrap}")
            raise
        objects, first = np.unique(rows, return_index=True)
        return Refit(objects, partition[first])

    def _rows_of_X(self, rows: np.ndarray) -> Any:
        if self._views is not None:
            return self._views.square_parts(rows) if self.is_pairwise else self._views.rows(rows)
        return square_part(self.X, rows) if self.is_pairwise else _safe_indexing(self.X, rows)

    def _params(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the arguments of fit for some objects: weights, labels, constraints, dissimilarities."""
        return {name: self._cut(value, rows) for name, value in self.fit_params.items()}

    def _cut(self, value: Any, rows: np.ndarray) -> Any:
        n = self.n_objects
        if isinstance(value, Constraints):
            known = Constraints(value.must_link, value.cannot_link, n_objects=n) if value.n_objects is None else value
            return known[rows]
        if isinstance(value, str) or not (hasattr(value, "shape") or isinstance(value, list | tuple)):
            return value
        value = ordered_like(value, object_index(self.X))
        shape = np.shape(value)
        if shape == (n, n) and n > 1:
            return square_part(value, rows)
        return _safe_indexing(value, rows) if shape[:1] == (n,) else value


def _quiet(model: Any, inside: dict[str, Any]) -> Any:
    """Return the model without progress bars, with the given settings in all steps that have them."""
    wanted = {"verbose": False, **inside}
    found = {name: name.split("__")[-1] for name in model.get_params(deep=True)}
    return model.set_params(**{name: wanted[last] for name, last in found.items() if last in wanted})


def _set_seeds(model: Any, rng: np.random.Generator, *, all_parts: bool = True) -> None:
    """Set the seeds of all steps of a model, or only of those that have none."""
    parameters = model.get_params(deep=True)
    names = sorted(name for name in parameters if name.split("__")[-1] == "random_state")
    seeds = {name: int(rng.integers(np.iinfo(np.int32).max)) for name in names}
    model.set_params(**{name: seed for name, seed in seeds.items() if all_parts or parameters[name] is None})


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How much of a partition comes back when the same method sees some of the objects only.

    Attributes
    ----------
    partition : CredalPartition
        That of all objects, with which the others are compared.
    n_resamples : int
    drawn : (n,) array
        In how many resamples each object was.
    objects : (n,) array
        Share of these in which it was in the same cluster as in `partition`, or an outlier as there; NaN for objects
        that were never drawn.
    jaccard : (n_resamples, c) array
        How well each cluster was found again: the largest Jaccard index of its objects in the resample with a
        cluster there; NaN where none of its objects was drawn.
    pairs : (p, 2) array
        Pairs of objects that were looked at: all of them, or a sample.
    together : (p,) array
        Share of the resamples with both objects in which they were in the same cluster; NaN if there is none.
    rand : (n_resamples,) array
        Credal Rand index of each resample with `partition`, over the pairs in it.
    rand_between : (n_resamples, n_resamples) array
        Credal Rand index of each two resamples, over the pairs in both.
    """

    partition: CredalPartition
    n_resamples: int
    drawn: np.ndarray
    objects: np.ndarray
    jaccard: np.ndarray
    pairs: np.ndarray
    together: np.ndarray
    rand: np.ndarray
    rand_between: np.ndarray

    @property
    def mean(self) -> float:
        """Mean stability of the objects."""
        return _mean(self.objects)

    @property
    def clusters(self) -> np.ndarray:
        """(c,) mean Jaccard index of each cluster (Hennig, 2007): below 0.6 do not trust it, from 0.75 it is stable,
        from 0.85 highly so. NaN for a cluster without objects."""
        return np.array([_mean(column) for column in self.jaccard.T])

    @cached_property
    def together_in_partition(self) -> np.ndarray:
        """(p,) whether the two objects of each pair are in the same cluster of `partition`."""
        return _together(self.partition.labels_with_outliers, self.pairs)

    @property
    def pairs_kept(self) -> float:
        """Mean over the pairs of the share of resamples that put them together, or apart, as `partition` does."""
        return _mean(np.where(self.together_in_partition, self.together, 1 - self.together))

    @property
    def mean_pairwise_rand(self) -> float:
        """Mean credal Rand index of two resamples."""
        return _mean(self.rand_between[np.triu_indices(self.n_resamples, 1)])

    @property
    def doubt_correlation(self) -> float:
        """Rank correlation of `doubt_scores` the objects with the share of resamples in which they changed: whether the
        doubt of the partition foresees them. NaN if either is the same for all."""
        from scipy.stats import rankdata

        known = self.drawn > 0
        ranks = [rankdata(values[known]) for values in (doubt_scores(self.partition), -self.objects)]
        if any(np.ptp(values) == 0 if len(values) else True for values in ranks):
            return float("nan")
        return float(np.corrcoef(ranks)[0, 1])

    @property
    def changing(self) -> np.ndarray:
        """Positions of the objects that ever changed, the least stable first."""
        changed = np.flatnonzero(self.objects < 1)
        return changed[np.argsort(self.objects[changed], kind="stable")]

    def to_frame(self) -> pd.DataFrame:
        """A row for each object: its set and its doubt in `partition`, and its stability."""
        import pandas as pd

        names = self.partition.focal_sets.names(self.partition.frame)
        columns = {
            "set": [names[j] for j in self.partition.best_set],
            "doubt": doubt_scores(self.partition),
            "drawn": self.drawn,
            "stability": self.objects,
        }
        return pd.DataFrame(columns, index=self.partition.index)

    def per_cluster(self) -> pd.DataFrame:
        """A row for each cluster: mean Jaccard index, resamples in which it dissolved (at most 0.5) and in which it
        was recovered (at least 0.75), and the mean stability of its objects."""
        import pandas as pd

        labels = self.partition.labels_with_outliers
        c = self.partition.n_clusters
        columns = {
            "n_objects": np.bincount(labels[labels >= 0], minlength=c),
            "jaccard": self.clusters,
            "dissolved": (self.jaccard <= DISSOLVED_BELOW).sum(axis=0),
            "recovered": (self.jaccard >= RECOVERED_FROM).sum(axis=0),
            "objects": [_mean(self.objects[labels == k]) for k in range(c)],
        }
        return pd.DataFrame(columns, index=pd.Index(list(self.partition.frame), name="cluster"))

    def to_text(self) -> str:
        """What a person wants to know: clusters, objects, pairs."""
        table = self.per_cluster()
        names = [f"cluster {printable(name)}" for name in table.index]
        width = max(map(len, names))
        lines = [f"{'':{width}}  objects  Jaccard  dissolved  recovered   ({self.n_resamples} resamples)"]
        for name, row in zip(names, table.itertuples(), strict=True):
            lines.append(
                f"{name:{width}}  {row.n_objects:7d}  {row.jaccard:7.3f}  {row.dissolved:9d}  {row.recovered:9d}"
            )
        index = self.partition.index
        some = [printable(i if index is None else index[i]) for i in self.changing[:MAX_NAMED_OBJECTS]]
        listed = f": {join_some(some, MAX_NAMED_OBJECTS, total=len(self.changing))}" if some else ""
        correlation = self.doubt_correlation
        lines += [
            f"objects stay in {self.mean:.1%} of the resamples; {len(self.changing):,} ever changed{listed}",
            f"pairs stay together or apart in {self.pairs_kept:.1%} ({len(self.pairs):,} pairs)",
            f"credal Rand index {_mean(self.rand):.3f} with the partition, {self.mean_pairwise_rand:.3f} between two",
        ]
        if np.isfinite(correlation):
            lines.append(f"rank correlation of doubt and change {correlation:.2f} (1: doubt foresees what changes)")
        return "\n".join(lines).replace(" nan", "   -")

    def plot(self, *, axes: Any = None, **options: Any) -> Any:
        """Draw clusters and objects (see `dempster.plot.StabilityDisplay`)."""
        from dempster.plot.quality import StabilityDisplay  # a view of this value, imported when looked at

        return StabilityDisplay(stability=self).plot(axes=axes, **options)

    def __len__(self) -> int:
        return len(self.objects)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return (
            f"Stability({self.n_resamples} resamples of {len(self)} objects, objects={self.mean:.3f}, "
            f"clusters={_mean(self.clusters):.3f}, rand={_mean(self.rand):.3f})"
        )


def stability(
    estimator: Any,
    X: TableLike,
    n_resamples: int = 20,
    *,
    fraction: float | None = None,
    bootstrap: bool = False,
    n_pairs: int | str = "auto",
    n_jobs: int | None = -1,
    random_state: Seed = None,
    verbose: int = 0,
    **fit_params: Any,
) -> Stability:
    """Fit a method again and again to some of the objects, and see what stays.

    The partition of all objects is compared with those of the resamples, each on the objects that were drawn. Clusters
    are matched one to one, so that as many objects as possible stay; a resample may have another number of them.

    Parameters
    ----------
    estimator : clusterer
        Any of the package, any other one with ``labels_``, or a pipeline that ends with one. It is copied.
    X : table, array or square matrix of dissimilarities
        What ``estimator.fit`` takes. Of dissimilarities (``metric="precomputed"``) rows and columns are drawn. Of
        several views, a list or a dictionary, the same objects are drawn from each.
    n_resamples : int, default=20
    fraction : float in (0, 1], optional
        Share of the objects in a resample; 0.8 by default, 1 with ``bootstrap``.
    bootstrap : bool, default=False
        Draw with replacement. An object that is drawn twice counts twice in the fit and once afterwards.
    n_pairs : int or "auto"
        How many pairs of objects are looked at; "auto": all up to 20,000, beyond that so many sampled ones.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. They share the
        resamples; each estimator then works with ``n_jobs=1``. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        For the resamples, each of which has a seed of its own, which its fit takes too: starts differ as well. The
        fit to all objects has the seed of the estimator, or this one if it has none.
    verbose : int, default=0
        1 shows a progress bar.
    **fit_params
        Passed to ``fit``: ``sample_weight``, ``constraints``, ``y``. What belongs to objects is cut along with them.

    Returns
    -------
    Stability
        With ``objects``, ``clusters``, ``together``, ``rand``, ``to_frame()``, ``to_text()`` and ``plot()``.

    Notes
    -----
    A stable partition need not be a good one: a method that always cuts a cluster in two at the same place is stable.
    Instability is the stronger evidence.

    References
    ----------
    C. Hennig (2007). Cluster-wise assessment of cluster stability. Computational Statistics and Data Analysis 52.

    C. Hennig (2008). Dissolution point and isolation robustness: robustness criteria for general cluster analysis
    methods. J. Multivariate Analysis 99.

    T. Denoeux, S. Li and S. Sriboonchitta (2018). Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory. IEEE Trans. Fuzzy Systems 26.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import stability
    >>> found = stability(ECM(3, random_state=0), load_iris().data, 5, random_state=0)
    >>> found.clusters.round(2)
    array([0.98, 1.  , 0.97])
    >>> found.to_frame().shape
    (150, 4)
    """
    given: dict[str, Any] = {"n_resamples": n_resamples, "fraction": fraction, "bootstrap": bootstrap}
    given |= {"n_pairs": n_pairs, "n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    for name, value in given.items():
        rule.check(value, name, _RULES[name])
    method = Resampling(estimator, X, fit_params)
    n = method.n_objects
    if n < 2:
        raise InvalidInputError(f"X must hold at least two objects, got {n}")
    share = (1.0 if bootstrap else 0.8) if fraction is None else float(fraction)
    seed = seed_number(random_state)
    reference = method.reference(seed)
    tally = _Tally(reference, _pairs(n, n_pairs, seed))
    refits: Iterable[Refit] = method.refits(n_resamples, max(2, round(share * n)), bool(bootstrap), seed, n_jobs)
    if verbose:
        from tqdm.auto import tqdm

        refits = tqdm(refits, total=n_resamples, desc=f"{type(estimator).__name__}, stability", unit="fit")
    for refit in refits:
        tally.add(refit)
    return tally.result()


class _Tally:
    """Counts of what stays, resample by resample."""

    def __init__(self, reference: CredalPartition, pairs: np.ndarray):
        n = len(reference)
        self.reference, self.pairs = reference, pairs
        self.labels = reference.labels_with_outliers
        self.drawn, self.kept = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
        self.both, self.joined = np.zeros(len(pairs), dtype=int), np.zeros(len(pairs), dtype=int)
        self.relations = reference.relational().of(pairs).astype(np.float32)
        self.found: list[np.ndarray] = []
        self.jaccard: list[np.ndarray] = []

    def add(self, refit: Refit) -> None:
        objects, partition = refit.objects, refit.partition
        ours, theirs = self.labels[objects], partition.labels_with_outliers
        shared = shared_objects(ours, theirs, self.reference.n_clusters, partition.n_clusters)
        self.drawn[objects] += 1
        self.kept[objects] += _renamed(theirs, one_to_one(shared), partition.n_clusters) == ours
        self.jaccard.append(_jaccard(shared, ours, theirs))
        place = np.full(len(self.labels), -1)
        place[objects] = np.arange(len(objects))
        here = place[self.pairs]
        known = (here >= 0).all(axis=1)
        self.both += known
        self.joined[known] += _together(theirs, here[known])
        relations = np.full((len(self.pairs), 4), np.nan, dtype=np.float32)
        relations[known] = partition.relational().of(here[known])
        self.found.append(relations)

    def result(self) -> Stability:
        n_resamples = len(self.found)
        between = np.eye(n_resamples)
        for a, b in combinations(range(n_resamples), 2):
            between[a, b] = between[b, a] = _alike(self.found[a], self.found[b])
        return Stability(
            partition=self.reference,
            n_resamples=n_resamples,
            drawn=self.drawn,
            objects=_share(self.kept, self.drawn),
            jaccard=np.array(self.jaccard),
            pairs=self.pairs,
            together=_share(self.joined, self.both),
            rand=np.array([_alike(relations, self.relations) for relations in self.found]),
            rand_between=between,
        )


def _pairs(n: int, n_pairs: int | str, seed: int) -> np.ndarray:
    every = n * (n - 1) // 2
    most = MAX_PAIRS if n_pairs == "auto" else int(n_pairs)
    if every <= most:
        return np.column_stack(np.triu_indices(n, 1))
    return sample_pairs(n, most, generator(seed))


def _renamed(labels: np.ndarray, partner: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the labels of a resample in the numbers of the reference; outliers stay -1."""
    name = np.full(n_clusters + 1, NO_PARTNER)
    known = np.flatnonzero(partner >= 0)
    name[partner[known]] = known
    name[n_clusters] = -1  # where -1 points to
    return name[labels]


def _jaccard(shared: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the (c,) largest Jaccard index of our clusters with theirs (Hennig, 2007); NaN for empty ones."""
    size_ours = np.bincount(ours[ours >= 0], minlength=shared.shape[0])
    size_theirs = np.bincount(theirs[theirs >= 0], minlength=shared.shape[1])
    best = (shared / np.maximum(size_ours[:, None] + size_theirs - shared, 1)).max(axis=1)
    return np.where(size_ours > 0, best, np.nan)


def _together(labels: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    first, second = labels[pairs[:, 0]], labels[pairs[:, 1]]
    return (first == second) & (first >= 0)


def _alike(a: np.ndarray, b: np.ndarray) -> float:
    """Return the credal Rand index over the pairs in both."""
    return 1 - _mean(jousselme_of_pairs(a - b))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def _mean(values: np.ndarray) -> float:
    """Return the mean without NaN, NaN if there is nothing else."""
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=float)) if len(known) else float("nan")
