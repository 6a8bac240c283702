"""Clusters that follow a stream: `update` of clusterers.

The model learns from new rows, and four events are looked for:

- A cluster is *born* if rows that are unlike all clusters form one. Such rows wait in a window of
  the latest rows. If they are more frequent than at the fit, partitions of the window are
  compared (`dempster.cluster.choice`). A cluster of one of them is new if most of its rows waited,
  if these are too many for outliers, and if the expected agreement of the clusters without it is
  not clearly larger. As few clusters are new as possible.
- Two clusters have *merged* if the rows between them are more frequent than at the fit, and the
  chosen partition merges them.
- A cluster has *died* if it has had no row for a time that is nearly impossible by its share.
- A cluster has *drifted* if its latest rows have clearly another mean than earlier ones.

Numbers of clusters never change: a new cluster gets the next number, and a cluster that died or
merged keeps its number, because it may return.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import to_host
from dempster._random import as_random_state
from dempster._types import MaybeUnset, TableLike
from dempster.belief import FocalSets
from dempster.cluster.choice.decision import CLEAR_GAIN, ROUNDS, Choice, choose
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply, block_map
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.posterior import PosteriorModel
from dempster.posterior.model import MAX_ROWS

WINDOW = ROUNDS[0][0]  # latest rows: as many as are compared by the choice
# probability of as many waiting rows, below which a choice is made
_SUSPICIOUS = 1e-3
_IMPOSSIBLE = 1e-6  # probability of a false birth, death or drift
_MORE = 1.25  # growth of the waiting rows after which the choice is repeated
_NEW_SHARE = 0.1  # of new rows, from which the probabilities are estimated again
_N_COMPARED = 100  # earlier and latest rows of a cluster whose means are compared


@dataclass(frozen=True)
class ClusterChanges:
    """What became of the clusters in one call of `update`.

    Attributes
    ----------
    born : list of int
        New clusters.
    died : list of int
        Clusters without rows for so long that this is nearly impossible by their shares.
    merged : list of tuple of int
        Pairs of clusters that are no longer separated.
    drifted : dict
        Distance that the mean of a cluster has moved, in standard deviations of the column in
        which it is largest.
    """

    born: list[int] = field(default_factory=list)
    died: list[int] = field(default_factory=list)
    merged: list[tuple[int, int]] = field(default_factory=list)
    drifted: dict[int, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.born or self.died or self.merged or self.drifted)

    def __str__(self) -> str:
        lines = [f"cluster {k} was born" for k in self.born]
        lines += [f"cluster {k} died" for k in self.died]
        lines += [f"clusters {a} and {b} merged" for a, b in self.merged]
        lines += [
            f"cluster {k} drifted by {shift:.1f} standard deviations"
            for k, shift in self.drifted.items()
        ]
        return "\n".join(lines or ["no changes"])


@dataclass(frozen=True)
class Stream:
    """The latest rows of a stream, and what is expected of its rows.

    The *set* of a row is its cluster twice, if the row is certain of it, two clusters, if it is
    ambiguous between them, and -1 twice otherwise.
    """

    rows: Annotated[np.ndarray, "m p"]
    sets: Annotated[np.ndarray, "m 2:int"]
    expected: Annotated[np.ndarray, "k k"]  # numbers of earlier rows with each set
    n_expected: float  # number of earlier rows
    unseen: Annotated[
        np.ndarray, "k"
    ]  # numbers of rows since the last row of a cluster
    n_seen: Annotated[np.ndarray, "k"]  # numbers of rows of the clusters
    earlier: Annotated[
        np.ndarray, "k 100 p"
    ]  # rows with which the latest ones are compared
    n_tried: int  # number of waiting rows when a choice found no new cluster
    is_dead: Annotated[np.ndarray, "k"]  # whether the death of a cluster was reported
    has_merged: Annotated[np.ndarray, "k k"]  # whether the merge of a pair was reported

    @classmethod
    def start(cls, partition: Any, n_columns: int, unlike: float) -> Self:
        """Return an empty stream that expects rows like those of a partition.

        ``unlike`` is the share of further rows that were unlike all clusters.
        """
        c = partition.n_clusters
        expected = np.zeros((c, c))
        family = partition.focal_sets
        if isinstance(partition, LazyCredalPartition):
            counts = np.array(list(partition.counts().values()))
        else:
            counts = np.bincount(to_host(partition.best_set), minlength=len(family))
        for (first, last), count in zip(_ends(family), counts, strict=True):
            if first >= 0:
                expected[first, last] += count * (1 - unlike)
        return cls(
            np.empty((0, n_columns)),
            np.empty((0, 2), int),
            expected,
            float(counts.sum()),
            np.zeros(c),
            np.zeros(c),
            np.full((c, _N_COMPARED, n_columns), np.nan),
            0,
            np.zeros(c, bool),
            np.zeros((c, c), bool),
        )

    @property
    def n_clusters(self) -> int:
        return len(self.expected)

    @property
    def certain(self) -> np.ndarray:
        """Cluster of which each row of the window is certain, or -1."""
        first, second = self.sets.T
        return np.where(first == second, first, -1)

    def append(self, rows: np.ndarray, sets: np.ndarray) -> Self:
        """Add rows to the window."""
        clusters = np.where(sets[:, 0] == sets[:, 1], sets[:, 0], -1)
        unseen = self.unseen + len(rows)
        n_seen = self.n_seen.copy()
        earlier = self.earlier.copy()
        is_dead = self.is_dead.copy()
        for k in np.unique(clusters[clusters >= 0]).tolist():
            which = np.flatnonzero(clusters == k)
            unseen[k] = len(rows) - 1 - which[-1]
            is_dead[k] = False
            start = int(min(n_seen[k], _N_COMPARED))
            first = rows[which[: _N_COMPARED - start]]
            earlier[k, start : start + len(first)] = first
            n_seen[k] += len(which)
        return replace(
            self,
            rows=np.vstack([self.rows, rows])[-WINDOW:],
            sets=np.vstack([self.sets, sets])[-WINDOW:],
            unseen=unseen,
            n_seen=n_seen,
            earlier=earlier,
            is_dead=is_dead,
        )

    # ---- new clusters and merges -----------------------------------------------------------------

    @property
    def is_waiting(self) -> np.ndarray:
        """Whether each row of the window is unlike all clusters."""
        return self.sets[:, 0] < 0

    @property
    def n_waiting(self) -> int:
        return int(self.is_waiting.sum())

    def has_more_waiting_rows(self) -> bool:
        """Return whether more rows than expected are unlike all clusters."""
        return self.n_waiting > _MORE * self.n_tried and self._are_unexpected(
            self.n_waiting, _SUSPICIOUS
        )

    def _are_unexpected(self, n_rows: int, level: float) -> bool:
        """Return whether so many rows of the window cannot be unlike all clusters by chance."""
        share = (self.n_expected - self.expected.sum() + 1) / (self.n_expected + 2)
        return _is_exceeded(n_rows, len(self.rows), share, level)

    def pairs_with_more_rows(self) -> list[tuple[int, int]]:
        """Return the pairs of clusters with more rows between them than expected."""
        first, second = self.sets[self.sets[:, 0] < self.sets[:, 1]].T
        counts = np.zeros_like(self.expected)
        np.add.at(counts, (first, second), 1)
        found = []
        for a, b in np.argwhere((counts > 0) & ~self.has_merged).tolist():
            share = (self.expected[a, b] + 1) / (self.n_expected + 2)
            level = _SUSPICIOUS / np.count_nonzero(counts)
            if _is_exceeded(int(counts[a, b]), len(self.rows), share, level):
                found.append((a, b))
        return found

    def choose(
        self, metric: Any, rng: np.random.RandomState, apply: Apply
    ) -> tuple[list[np.ndarray], list[list[int]]]:
        """Choose a partition of the window.

        Return the waiting rows of each new cluster, and the clusters that are merged.
        """
        from dempster.labels import match_clusters  # a higher layer

        source = AttributeSource(np.ascontiguousarray(self.rows), metric)
        choice = choose(source, None, rng, apply)
        old = self.certain[choice.rows.which]
        merged: list[list[int]] = []
        if (old >= 0).any():
            merged = list(match_clusters(old, choice.best.labels).merges.values())
        return self._find_groups(choice, apply), merged

    def _find_groups(self, choice: Choice, apply: Apply) -> list[np.ndarray]:
        """Return the waiting rows of each new cluster.

        The clusters of each candidate in which most rows wait are added to the known
        clusters. The smallest number of clusters is added whose expected agreement is not clearly
        smaller than the largest one, which may be that of the known clusters alone. The other rows
        that are not certain are assigned to the cluster of the nearest certain row.
        """
        which = choice.rows.which
        weights = choice.rows.weights
        old = self.certain[which]
        is_certain = old >= 0
        is_waiting = self.is_waiting[which]
        known = np.zeros(len(old), int)
        if is_certain.any():
            nearest = choice.rows.D[:, is_certain].argmin(axis=1)
            known = np.where(is_certain, old, old[is_certain][nearest])
        labelings = {}
        for candidate in choice.candidates:
            labels = known.copy()
            for k in range(candidate.n_clusters):
                inside = candidate.labels == k
                group = inside & is_waiting
                is_new = weights[group].sum() > weights[inside].sum() / 2
                if is_new and self._are_unexpected(int(group.sum()), _IMPOSSIBLE):
                    labels[group] = max(labels.max() + 1, self.n_clusters)
            if labels.max() >= self.n_clusters:
                labelings[labels.tobytes()] = labels
        if not labelings:
            return []
        compared = [known, *labelings.values()]
        expected = choice.judge.expect(choice.predict(compared, apply))
        is_good = expected >= expected.max() - CLEAR_GAIN
        is_good[0] = False
        if not is_good.any():
            return []
        sizes = np.array([labels.max() for labels in compared])
        is_smallest = is_good & (sizes == sizes[is_good].min())
        best = compared[np.where(is_smallest, expected, -np.inf).argmax()]
        new = range(self.n_clusters, best.max() + 1)
        return [which[best == k] for k in new]

    def with_new_clusters(self, n_new: int, sets: np.ndarray) -> Self:
        """Return the stream with new clusters, whose shares are those in the window.

        ``sets`` are the sets of the rows of the window with the new clusters.
        """
        c = self.n_clusters
        total = c + n_new
        counts = np.zeros((total, total))
        known = sets[(sets >= 0).all(axis=1)]
        np.add.at(counts, tuple(known.T), 1)
        counts[:c, :c] = 0
        expected = np.pad(self.expected, (0, n_new))
        share = counts.sum() / len(sets)
        scale = self.n_expected / max(len(sets) * (1 - share), 1)
        empty = np.full((n_new, *self.earlier.shape[1:]), np.nan)
        return replace(
            self,
            sets=sets,
            expected=expected + scale * counts,
            n_expected=self.n_expected + scale * counts.sum(),
            unseen=np.pad(self.unseen, (0, n_new)),
            n_seen=np.pad(self.n_seen, (0, n_new)),
            earlier=np.concatenate([self.earlier, empty]),
            is_dead=np.pad(self.is_dead, (0, n_new)),
            has_merged=np.pad(self.has_merged, (0, n_new)),
            n_tried=0,
        )

    # ---- deaths and drift ------------------------------------------------------------------------

    def find_deaths(self) -> list[int]:
        """Return clusters without rows for so long that this is nearly impossible."""
        shares = np.diagonal(self.expected) / max(self.n_expected, 1)
        with np.errstate(divide="ignore"):
            log_chances = self.unseen * np.log1p(-np.minimum(shares, 1))
        is_new = (log_chances < np.log(_IMPOSSIBLE)) & ~self.is_dead
        return np.flatnonzero(is_new).tolist()

    def find_drifts(self) -> dict[int, float]:
        """Return the shifts of clusters whose latest rows have clearly another mean."""
        clusters = self.certain
        found = {}
        for k in np.flatnonzero(self.n_seen >= 2 * _N_COMPARED).tolist():
            latest = self.rows[clusters == k][-_N_COMPARED:]
            shift = _shift(self.earlier[k], latest)
            if shift is not None:
                found[k] = shift
        return found

    def after(self, changes: ClusterChanges) -> Self:
        """Return the stream after changes were reported, so that they are reported once."""
        is_dead = self.is_dead.copy()
        is_dead[changes.died] = True
        has_merged = self.has_merged.copy()
        for pair in changes.merged:
            has_merged[pair] = True
        n_seen = self.n_seen.copy()
        earlier = self.earlier.copy()
        for k in changes.drifted:
            latest = self.rows[self.certain == k][-_N_COMPARED:]
            earlier[k] = np.nan
            earlier[k, : len(latest)] = latest
            n_seen[k] = len(latest)
        return replace(
            self, is_dead=is_dead, has_merged=has_merged, n_seen=n_seen, earlier=earlier
        )


@dataclass(frozen=True)
class Memory:
    """Rows from which the probabilities of clusters are estimated again."""

    rows: Annotated[np.ndarray, "m p"]
    members: Annotated[np.ndarray, "m k"]  # probabilities of the clusters
    weights: Annotated[np.ndarray, "m"]
    n_new: float = 0.0  # weight of the rows that were added after the last estimate

    @classmethod
    def start(cls, model: PosteriorModel) -> Self:
        """Return the rows of a model."""
        source = model.references.source
        assert source is not None
        rows = source.objects
        return cls(rows, model.probabilities(rows), model.neighbors.counts)

    @property
    def has_many_new_rows(self) -> bool:
        """Whether a tenth of the weight is new."""
        return self.n_new > _NEW_SHARE * self.weights.sum()

    def add(
        self, rows: np.ndarray, partition: CredalPartition, half_life: float | None
    ) -> Self:
        """Add the rows that are not outliers, and reduce the weights of earlier rows."""
        kept = np.setdiff1d(np.arange(len(rows)), partition.outliers)
        members = np.asarray(partition.pignistic())[kept]
        factor = 1.0 if half_life is None else 0.5 ** (len(rows) / half_life)
        return replace(
            self,
            rows=np.vstack([self.rows, rows[kept]]),
            members=np.vstack([self.members, members]),
            weights=np.append(self.weights * factor, np.ones(len(kept))),
            n_new=self.n_new * factor + len(kept),
        )._without_old()

    def add_clusters(self, stream: Stream, groups: list[np.ndarray]) -> Self:
        """Add new clusters, of rows of the window of a stream."""
        which = np.concatenate(groups)
        new = np.repeat(np.arange(len(groups)), list(map(len, groups)))
        members = np.zeros((len(which), len(groups)))
        members[np.arange(len(which)), new] = 1
        rows = stream.rows[which].astype(self.rows.dtype)
        # Rows between clusters may be in the memory already.
        known = {row.tobytes() for row in rows}
        others = [i for i, row in enumerate(self.rows) if row.tobytes() not in known]
        c = self.members.shape[1]
        return replace(
            self,
            rows=np.vstack([self.rows[others], rows]),
            members=np.vstack(
                [
                    np.pad(self.members[others], ((0, 0), (0, len(groups)))),
                    np.pad(members, ((0, 0), (c, 0))),
                ]
            ),
            weights=np.append(self.weights[others], np.ones(len(rows))),
        )

    def _without_old(self) -> Self:
        """Return at most 4,000 rows: the latest ones, and the latest ones of each cluster."""
        if len(self.rows) <= MAX_ROWS:
            return self
        clusters = self.members.argmax(axis=1)
        order = np.argsort(-self.weights, kind="stable")
        rank = np.empty(len(order), int)
        rank[order] = np.arange(len(order))
        half = MAX_ROWS // 2
        per_cluster = half // self.members.shape[1]
        kept = rank < half
        for k in range(self.members.shape[1]):
            own = np.flatnonzero(clusters == k)
            kept[own[np.argsort(rank[own])[:per_cluster]]] = True
        return replace(
            self,
            rows=self.rows[kept],
            members=self.members[kept],
            weights=self.weights[kept],
        )

    def estimate(
        self, metric: Any, rng: np.random.RandomState, apply: Apply
    ) -> tuple[PosteriorModel, Self]:
        """Return a new estimate, and the memory after it."""
        source = AttributeSource(np.ascontiguousarray(self.rows), metric)
        model = PosteriorModel.fit(
            source, self.members, self.weights, random_state=rng, apply=apply
        )
        return model, replace(self, n_new=0.0)


def _is_exceeded(count: int, n: int, share: float, level: float) -> bool:
    """Return whether a count among n rows is too large for the share of rows."""
    return bool(special.bdtrc(count - 1, n, min(share, 1.0)) < level)


def _shift(earlier: np.ndarray, latest: np.ndarray) -> float | None:
    """Return the largest shift of a mean in standard deviations, or None if it is not clear."""
    n = len(latest)
    if n < _N_COMPARED:
        return None
    variances = (np.nanvar(earlier, axis=0) + np.nanvar(latest, axis=0)) / 2
    gaps = np.abs(np.nanmean(latest, axis=0) - np.nanmean(earlier, axis=0))
    varies = variances > 0
    if not varies.any():
        return None
    shifts = gaps[varies] / np.sqrt(variances[varies])
    largest = float(shifts.max())
    chance = 2 * special.stdtr(2 * n - 2, -largest * np.sqrt(n / 2)) * len(shifts)
    return largest if chance < _IMPOSSIBLE else None


def sets_of(partition: CredalPartition) -> np.ndarray:
    """Return the sets of the rows as in `Stream`, shape (n, 2)."""
    return _ends(partition.focal_sets)[to_host(partition.best_set)]


def _ends(family: FocalSets) -> np.ndarray:
    """Return the set of a row with the largest mass on each focal set, shape (f, 2)."""
    ends = [
        (members[0], members[-1]) if len(members) in (1, 2) else (-1, -1)
        for members in family
    ]
    return np.array(ends)


class UpdatableClusterer:
    """Clusterer with `update`.

    A subclass has methods that learn from rows and add clusters.
    """

    _stream: MaybeUnset[Stream]
    changes_: MaybeUnset[ClusterChanges]
    # share of the rows of the fit that were unlike all clusters, if no set of the partition says so
    _unlike_share: float = 0.0

    def _find_sets(self, values: np.ndarray, partition: CredalPartition) -> np.ndarray:
        """Return the sets of rows as in `Stream`."""
        return sets_of(partition)

    def update(
        self, X: TableLike, *, half_life: float | None = WINDOW
    ) -> CredalPartition:
        """Learn from new rows of a stream, look for new clusters, and return the masses.

        Rows that are unlike all clusters wait among the latest 1,000 rows, and become a new
        cluster if the partition of these rows with the largest expected agreement contains it. A
        new cluster gets the next number; all other clusters keep their numbers.
        ``credal_partition_`` and ``labels_`` describe the new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows in memory, in the order in which they arrived.
        half_life : float > 0 or None, default=1000
            Number of new rows after which the weight of earlier rows is halved. None keeps the
            weights.

        Returns
        -------
        CredalPartition
            Masses of the new rows. ``changes_`` says which clusters were born, died, merged or
            drifted.
        """
        rule.check(half_life, "half_life", rule.none | rule.positive)
        check_is_fitted(self, "focal_sets_")
        learner = copy.copy(self)  # An error must not change the estimator.
        partition = learner._update(X, half_life)
        self.__dict__ = learner.__dict__
        return partition

    def _update(self: Any, X: TableLike, half_life: float | None) -> CredalPartition:
        values = to_host(self._read_update(X))
        stream = vars(self).get("_stream")
        if stream is None:
            stream = Stream.start(
                self.credal_partition_, values.shape[1], self._unlike_share
            )
        with block_map(self.n_jobs) as apply:
            self._learn_update(X, values, self.predict_mass(X), half_life, apply)
            partition = self.predict_mass(X)
            sets = self._find_sets(values, partition)
            stream = stream.append(values.astype(float), sets)
            born: list[int] = []
            merged: list[tuple[int, int]] = []
            pairs = stream.pairs_with_more_rows()
            if pairs or stream.has_more_waiting_rows():
                rng = as_random_state(self.random_state)
                groups, found = stream.choose(self._update_metric(), rng, apply)
                merged = [
                    pair
                    for pair in pairs
                    if any(set(pair) <= set(one) for one in found)
                ]
                stream = replace(stream, n_tried=stream.n_waiting)
                if groups:
                    born = [stream.n_clusters + j for j in range(len(groups))]
                    self._add_clusters(stream, groups, apply)
                    rows = stream.rows.astype(values.dtype)
                    masses = self._compute_masses(rows, apply)
                    window = CredalPartition.unchecked(masses, self.focal_sets_)
                    sets = self._find_sets(rows, window)
                    stream = stream.with_new_clusters(len(groups), sets)
                    partition = self.predict_mass(X)
        changes = ClusterChanges(
            born, stream.find_deaths(), merged, stream.find_drifts()
        )
        self._stream = stream.after(changes)
        self.changes_ = changes
        self.credal_partition_ = partition
        self.labels_ = partition.labels.copy()
        return partition
