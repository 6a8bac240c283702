"""How good labels are, without knowledge of the true clusters."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._random import as_random_state
from dempster._text import format_count, printable
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.cluster.choice.candidates import rand_index
from dempster.cluster.choice.decision import CLEAR_GAIN, Choice, choose
from dempster.cluster.choice.judge import load_judge
from dempster.cluster.choice.rows import N_NEIGHBORS, Rows
from dempster.dissimilarity.sources import AttributeSource
from dempster.labels.encoding import read_labels
from dempster.labels.graphs import diffusion_coordinates
from dempster.labels.labeled_partition import (
    Estimate,
    LabeledPartition,
    LazyLabeledPartition,
    estimate,
)
from dempster.labels.rows import InputValidator, LabeledRows
from dempster.optimize.blocks import Apply, block_map, row_blocks
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

_N_OBJECTS = 10  # objects to look at first
_MAX_LISTED_OBJECTS = 5
_MAX_LISTED_CLUSTERS = 15
_N_PERMUTATIONS = 99  # A test of independence at the level of 1 %.


@dataclass(frozen=True)
class ClusterEvaluation:
    """A cluster in an `Evaluation`.

    Attributes
    ----------
    name : label
    size : int
        Number of objects with this label.
    certain, ambiguous, outliers, other : float
        Shares of these objects that are certain of the cluster, ambiguous, outliers, and certain of
        another cluster.
    not_separated_from : label or None
        Neighboring cluster, if the partition in which both are merged has at least the same
        expected agreement with the true clusters.
    """

    name: Any
    size: int
    certain: float
    ambiguous: float
    outliers: float
    other: float
    not_separated_from: Any


@dataclass(frozen=True)
class DoubtfulLabel:
    """An object whose label is doubtful.

    Attributes
    ----------
    name : label or int
        Name of the object, or its position.
    label, rather : label
        Its label, and its most plausible cluster or, if this is its label, the next one.
    doubt : float
        One minus the pignistic probability of its label.
    """

    name: Any
    label: Any
    rather: Any
    doubt: float


@dataclass(frozen=True)
class BestPartition:
    """The partition that `dempster.cluster.CredalClustering` selects.

    Attributes
    ----------
    n_clusters : int
    shape : str
        "compact", "elongated" or "connected".
    method : str
        Method that found the partition.
    expected_agreement : float
        Expected agreement with the true clusters.
    with_labels : float
        Adjusted Rand index with the evaluated labels.
    """

    n_clusters: int
    shape: str
    method: str
    expected_agreement: float
    with_labels: float


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """How good labels are; ``str()`` returns a text of one screen.

    Attributes
    ----------
    expected_agreement : float
        Adjusted Rand index that is expected between the labels and the true clusters.
    low_agreement : float
        Agreement that nine of ten partitions with this expectation exceed.
    clusters : list of ClusterEvaluation
    n_unlabeled : int
        Number of objects without a label.
    objects : list of DoubtfulLabel
        The objects with the most doubtful labels, at most ten, whose doubt exceeds one half.
    best : BestPartition
        The partition that `dempster.cluster.CredalClustering` selects.
    is_best_better : bool
        Whether its expected agreement is clearly larger, by more than 0.1.
    partition : LabeledPartition, or LazyLabeledPartition for blocks
        Result of `doubt` for the labels.
    """

    expected_agreement: float
    low_agreement: float
    clusters: list[ClusterEvaluation]
    n_unlabeled: int
    objects: list[DoubtfulLabel]
    best: BestPartition
    partition: LabeledPartition | LazyLabeledPartition

    @property
    def is_best_better(self) -> bool:
        """Whether the best partition has a clearly larger expected agreement."""
        return self.best.expected_agreement > self.expected_agreement + CLEAR_GAIN

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each cluster.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        table = pd.DataFrame([vars(one) for one in self.clusters])
        return table.set_index("name").rename_axis("cluster")

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Draw the shares of certain, ambiguous and other objects of each cluster as bars.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional
            By default the expected agreement.

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_`` and ``bars_``.
        """
        from dempster.plot.evaluation import EvaluationDisplay

        return EvaluationDisplay(self).plot(ax=ax, title=title)

    def __str__(self) -> str:
        n_objects = format_count(len(self.partition), "object")
        n_clusters = format_count(len(self.clusters), "cluster")
        unlabeled = ""
        if self.n_unlabeled:
            unlabeled = f", {self.n_unlabeled:,} without a label"
        lines = [
            f"expected agreement with the true clusters {self.expected_agreement:.2f}, "
            f"above {self.low_agreement:.2f} in nine of ten such tables",
            f"{n_clusters}, {n_objects}{unlabeled}",
            "",
            *self._cluster_lines(),
        ]
        if self.objects:
            lines += ["", "look first at"]
        for one in self.objects[:_MAX_LISTED_OBJECTS]:
            label, rather = printable(one.label), printable(one.rather)
            text = f"doubt {one.doubt:.2f} in {label}, rather {rather}"
            lines.append(f"  {printable(one.name)}: {text}")
        best = self.best
        start = "better" if self.is_best_better else "nothing is clearly better; best"
        clusters = f"{format_count(best.n_clusters, 'cluster')} ({best.method})"
        lines += [
            "",
            f"{start}: {clusters}, expected agreement {best.expected_agreement:.2f}",
            f"agreement of the labels with this partition {best.with_labels:.2f}",
        ]
        return "\n".join(lines)

    def _cluster_lines(self) -> list[str]:
        shown = sorted(self.clusters, key=lambda one: one.certain)[
            :_MAX_LISTED_CLUSTERS
        ]
        width = max(len("cluster"), *(len(printable(one.name)) for one in shown))
        lines = [f"{'cluster':{width}}  objects  certain  not separated from"]
        for one in self.clusters:
            if one in shown:
                neighbor = one.not_separated_from
                text = "-" if neighbor is None else printable(neighbor)
                name = printable(one.name)
                lines.append(
                    f"{name:{width}}  {one.size:7d}  {one.certain:7.0%}  {text}"
                )
        n_others = len(self.clusters) - len(shown)
        if n_others:
            lines.append(f"... and {format_count(n_others, 'more certain cluster')}")
        return lines

    __repr__ = __str__


def evaluate(
    X: TableLike,
    labels: ArrayLike,
    *,
    metric: Metric = "euclidean",
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> Evaluation:
    """Estimate how well labels agree with the true clusters, and what is wrong with them.

    The labels are compared with the partitions among which `dempster.cluster.CredalClustering`
    chooses, on the same rows and by the same measures. Their expected agreement (adjusted Rand
    index) with the true clusters was learned from generated data; no real data were used. Columns
    whose spreads differ clearly are compared with and without scaling.

    Objects without a label (-1, None or NaN) count for their most plausible cluster. The nodes of a
    graph are compared by diffusion distances.

    Parameters
    ----------
    X : array-like of shape (n, p), table, (n, n) dissimilarities, graph, or blocks
        Objects, in the same forms as for `doubt`.
    labels : array-like of shape (n,)
        Cluster of each object: names or numbers; -1, None or NaN for noise.
    metric : {"euclidean", "gower", "precomputed", "graph"}, str or callable, default="euclidean"
        As in `doubt`.
    random_state : int, RandomState, Generator or None
        Seed for drawing objects and for initial values.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Returns
    -------
    Evaluation
        ``print`` shows it; ``expected_agreement`` is a number.

    See Also
    --------
    doubt : The doubt about the label of each object.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster import evaluate
    >>> from dempster.datasets import load_iris
    >>> X, species = load_iris(return_X_y=True)
    >>> evaluate(X, species, random_state=0).expected_agreement > 0.5
    True
    >>> random = np.random.default_rng(0).permutation(species)
    >>> evaluate(X, random, random_state=0).expected_agreement < 0.1
    True
    """
    rows = LabeledRows.open(InputValidator(metric, random_state, n_jobs), X)
    labels = rows.order_labels(labels)
    names, codes = read_labels(labels, "labels", rows.n, rows.index)
    estimated = estimate(rows, codes, names)
    partition = estimated.partition
    tally, codes = _count_objects(partition, codes, rows.n)
    rng = as_random_state(random_state)
    with block_map(n_jobs) as apply:
        choice = _choose(rows, estimated, rng, apply)
        drawn = codes[estimated.positions[choice.rows.which]]
        pairs = tally.neighboring_pairs()
        merged = [np.where(drawn == b, a, drawn) for a, b in pairs]
        score, *scores = _predict(choice, [drawn, *merged], rng, apply)
    best = choice.best
    judge = load_judge()
    return Evaluation(
        expected_agreement=float(judge.expect(np.array(score))),
        low_agreement=judge.expect_at_least(score),
        clusters=tally.evaluate_clusters(partition.frame, score, scores),
        n_unlabeled=tally.n_unlabeled,
        objects=tally.name_objects(partition),
        best=BestPartition(
            best.n_clusters,
            best.shape,
            best.method,
            float(choice.expected[choice.selected]),
            rand_index(best.labels, _renumber(drawn)),
        ),
        partition=partition,
    )


def compare_labels(
    X: TableLike,
    labelings: Mapping[Hashable, ArrayLike],
    *,
    metric: Metric = "euclidean",
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> pd.DataFrame:
    """Estimate how well several labelings of the same objects agree with the true clusters.

    The labelings of one program with different parameters, such as resolutions, numbers of clusters
    or smallest sizes, are compared as in `evaluate`.

    Parameters
    ----------
    X : array-like of shape (n, p), table, (n, n) dissimilarities, graph, or blocks
        Objects, in the same forms as for `doubt`.
    labelings : mapping of names to array-like of shape (n,)
        Cluster of each object; -1, None or NaN for noise.
    metric : {"euclidean", "gower", "precomputed", "graph"}, str or callable, default="euclidean"
        As in `doubt`.
    random_state : int, RandomState, Generator or None
        Seed for drawing objects and for initial values.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Returns
    -------
    pandas.DataFrame
        A row for each labeling, with the number of clusters, the expected agreement, and the
        agreement that nine of ten partitions with this expectation exceed.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from dempster.datasets import load_iris
    >>> from dempster.labels import compare_labels
    >>> X = load_iris().data
    >>> labelings = {k: KMeans(k, random_state=0).fit_predict(X) for k in (2, 3, 8)}
    >>> table = compare_labels(X, labelings, random_state=0)
    >>> int(table["expected_agreement"].idxmin())
    8
    """
    import pandas as pd

    if not isinstance(labelings, Mapping) or not labelings:
        expected = "a mapping of names to labels, with at least one labeling"
        raise InvalidParameterError("labelings", expected, labelings)
    rows = LabeledRows.open(InputValidator(metric, random_state, n_jobs), X)
    rng = as_random_state(random_state)
    counts = []
    all_codes = []
    estimated = None
    for labels in labelings.values():
        ordered = rows.order_labels(labels)
        names, codes = read_labels(ordered, "labelings", rows.n, rows.index)
        counts.append(len(names))
        if estimated is None or (codes < 0).any():
            found = estimate(rows, codes, names)
            _, codes = _count_objects(found.partition, codes, rows.n)
            estimated = estimated or found
        all_codes.append(codes)
    assert estimated is not None
    with block_map(n_jobs) as apply:
        choice = _choose(rows, estimated, rng, apply)
        which = estimated.positions[choice.rows.which]
        scores = _predict(choice, [codes[which] for codes in all_codes], rng, apply)
    judge = load_judge()
    columns = {
        "n_clusters": counts,
        "expected_agreement": judge.expect(np.array(scores)),
        "low_agreement": [judge.expect_at_least(score) for score in scores],
    }
    return pd.DataFrame(columns, index=pd.Index(list(labelings), tupleize_cols=False))


# ---- expected agreement --------------------------------------------------------------------------


def _choose(
    rows: LabeledRows, estimated: Estimate, rng: np.random.RandomState, apply: Apply
) -> Choice:
    """Compare the partitions of the objects; the nodes of a graph by diffusion distances."""
    if rows.graph is not None:
        source = AttributeSource(diffusion_coordinates(rows.graph), "euclidean")
        choice = choose(source, None, rng, apply, scale=False)
    else:
        assert estimated.source is not None
        choice = choose(estimated.source, estimated.weights, rng, apply)
    if len(choice.rows) == 1:
        raise InvalidParameterError("X", must="contain different rows, got equal ones")
    return choice


def _predict(
    choice: Choice,
    labelings: list[np.ndarray],
    rng: np.random.RandomState,
    apply: Apply,
) -> list[float]:
    """Predict the agreements of labelings of the drawn rows, which one program found."""
    own = choice.predict(labelings, apply)
    variants = [choice.rows, choice.rows.in_units]
    are_random = [
        all(_are_random(rows, one, rng) for rows in variants if rows is not None)
        for one in labelings
    ]
    return np.where(are_random, 0.0, own).tolist()


def _are_random(rows: Rows, labels: np.ndarray, rng: np.random.RandomState) -> bool:
    """Return whether neighbors agree as in one of 99 permutations of the labels.

    The judge was learned from partitions that methods found, none of which is random. Labels that
    do not depend on the positions of the objects have the adjusted Rand index 0 with all clusters.
    """
    near = rows.nearest[:, :N_NEIGHBORS]
    if (labels == labels[0]).all() or near.shape[1] == len(rows) - 1:
        return False  # All permutations are equivalent.
    found = (labels[near] == labels[:, None]).mean()
    for _ in range(_N_PERMUTATIONS):
        permuted = rng.permutation(labels)
        if (permuted[near] == permuted[:, None]).mean() >= found:
            return True
    return False


def _renumber(codes: np.ndarray) -> np.ndarray:
    """Return the numbers of clusters without those that do not occur."""
    return np.unique(codes, return_inverse=True)[1]


# ---- clusters and objects ------------------------------------------------------------------------


@dataclass
class _Tally:
    """Sums over the objects of each cluster, and the objects with the most doubtful labels."""

    probabilities: np.ndarray  # (c, c), sums of the pignistic probabilities
    counts: (
        np.ndarray
    )  # (c, 4), objects that are certain, ambiguous, outliers and others
    n_unlabeled: int
    objects: list[tuple[int, float, int, int]]  # position, doubt, cluster, rather

    def add(self, start: int, part: CredalPartition, codes: np.ndarray) -> None:
        """Add the objects of a part, which begins at the position ``start``."""
        rows = np.arange(len(part))
        P = np.asarray(part.pignistic())
        np.add.at(self.probabilities, codes, P)
        family = part.focal_sets
        best = part.best_set
        size = family.cardinality[best]
        state = np.full(len(part), 3)
        state[best == family.singleton_index[codes]] = 0
        state[size > 1] = 1
        state[size == 0] = 2
        np.add.at(self.counts, (codes, state), 1)
        doubts = 1 - P[rows, codes]
        first = np.argsort(-doubts, kind="stable")[:_N_OBJECTS]
        others = P[first]
        others[np.arange(len(first)), codes[first]] = -1
        self.objects += zip(
            (start + first).tolist(),
            doubts[first].tolist(),
            codes[first].tolist(),
            others.argmax(axis=1).tolist(),
            strict=True,
        )
        self.objects.sort(key=lambda one: -one[1])
        del self.objects[_N_OBJECTS:]

    def neighboring_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of a cluster and the other one that is most probable for its objects."""
        shared = self.probabilities.copy()
        np.fill_diagonal(shared, 0)
        pairs = {
            (min(k, m), max(k, m))
            for k, m in enumerate(shared.argmax(axis=1).tolist())
            if shared[k, m] > 0
        }
        return sorted(pairs)

    def evaluate_clusters(
        self, names: tuple[Any, ...], score_of_labels: float, merged: list[float]
    ) -> list[ClusterEvaluation]:
        """Return the clusters, given the scores if neighboring pairs are merged."""
        neighbors: dict[int, tuple[float, int]] = {}
        for (a, b), score in zip(self.neighboring_pairs(), merged, strict=True):
            if score >= score_of_labels:
                neighbors[a] = max(neighbors.get(a, (score, b)), (score, b))
                neighbors[b] = max(neighbors.get(b, (score, a)), (score, a))
        clusters = []
        for k, name in enumerate(names):
            size = int(self.counts[k].sum())
            certain, ambiguous, outliers, other = (self.counts[k] / size).tolist()
            neighbor = names[neighbors[k][1]] if k in neighbors else None
            clusters.append(
                ClusterEvaluation(
                    name, size, certain, ambiguous, outliers, other, neighbor
                )
            )
        return clusters

    def name_objects(self, partition: Any) -> list[DoubtfulLabel]:
        """Return the objects whose doubt exceeds one half."""
        index = getattr(partition, "index", None)
        return [
            DoubtfulLabel(
                name=position if index is None else index[position],
                label=partition.frame[cluster],
                rather=partition.frame[rather],
                doubt=doubt,
            )
            for position, doubt, cluster, rather in self.objects
            if doubt > 0.5
        ]


def _count_objects(
    partition: LabeledPartition | LazyLabeledPartition, codes: np.ndarray, n: int
) -> tuple[_Tally, np.ndarray]:
    """Read all masses once.

    Return the tally, and the clusters, in which noise has its most plausible cluster.
    """
    c = partition.n_clusters
    n_unlabeled = int((codes < 0).sum())
    tally = _Tally(np.zeros((c, c)), np.zeros((c, 4)), n_unlabeled, [])
    codes = codes.copy()
    start = 0
    for part in _parts(partition, n):
        own = codes[start : start + len(part)]
        noise = own < 0
        own[noise] = part.labels[noise]
        tally.add(start, part, own)
        start += len(part)
    return tally, codes


def _parts(
    partition: LabeledPartition | LazyLabeledPartition, n: int
) -> Iterator[CredalPartition]:
    if isinstance(partition, LazyLabeledPartition):
        yield from partition.partitions()
    else:
        for start, stop in row_blocks(n):
            yield partition[start:stop]
