"""The choice of a partition: the candidate with the largest expected agreement with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dempster._errors import InvalidParameterError
from dempster.cluster.choice.candidates import (
    Candidate,
    list_numbers,
    make_candidates,
    rand_index,
    separate_rows,
    single_cluster,
)
from dempster.cluster.choice.judge import Judge, load_judge
from dempster.cluster.choice.measures import NAMES, measure_candidates
from dempster.cluster.choice.number import NumberOfClusters
from dempster.cluster.choice.rows import Rows
from dempster.data.sampling import draw_indices
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import Apply, block_map
from dempster.partition.credal_partition import Deferred

# numbers of rows that are drawn, and the largest number of clusters that is compared
ROUNDS = ((1000, 40), (3000, 250))
# mean error of the expected agreement on generated data; a smaller difference is not clear
CLEAR_GAIN = 0.1
_MIN_ROWS_PER_CLUSTER = 50  # With fewer, more rows are drawn if there are any.
# So few different rows are clusters themselves if they are repeated.
_MAX_REPEATED = 5
_MIN_REPETITIONS = 3
# rows and numbers of clusters by which the question is answered whether there are several clusters
SOME_ROWS = 500
_SOME_NUMBERS = list(range(1, 9))


@dataclass(frozen=True, eq=False)
class Choice:
    """Candidates for the rows that were drawn, and what is expected of them."""

    rows: Rows
    candidates: list[Candidate]
    measures: np.ndarray  # (candidates, measures)
    predicted: np.ndarray  # (candidates,), prediction of the agreement with the truth
    selected: int  # index of the selected candidate
    judge: Judge

    @property
    def best(self) -> Candidate:
        return self.candidates[self.selected]

    @property
    def expected(self) -> np.ndarray:
        """Expected adjusted Rand index of each candidate with the true clusters."""
        return self.judge.expect(self.predicted)

    @property
    def unit(self) -> np.ndarray | None:
        """Divisors of the attributes with which the best candidate was made."""
        return None if self.best.in_units else self.rows.unit

    @property
    def number(self) -> NumberOfClusters:
        """Comparison of the numbers of clusters."""
        n_clusters = np.array([one.n_clusters for one in self.candidates])
        numbers = np.unique(n_clusters)
        log_odds = self.judge.right_number.predict(self.measures)
        right = 1 / (1 + np.exp(-log_odds))
        plausibility = np.array([right[n_clusters == k].max() for k in numbers])
        best = self.best.n_clusters
        plausibility = np.minimum(plausibility / plausibility[numbers == best], 1)
        return NumberOfClusters(
            n_clusters=numbers,
            plausibility=plausibility,
            expected_agreement=np.array(
                [self.expected[n_clusters == k].max() for k in numbers]
            ),
            best=best,
            low_agreement=self.judge.expect_at_least(
                float(self.predicted[self.selected])
            ),
            n_objects=len(self.rows),
        )

    def predict(self, labelings: Sequence[np.ndarray], apply: Apply) -> np.ndarray:
        """Predict the agreements of labelings of the rows, which one program found."""
        numbered = [np.unique(one, return_inverse=True)[1] for one in labelings]
        family = self._find_family(numbered)
        units = [False] if self.rows.in_units is None else [False, True]
        added = [
            Candidate(family, one, in_units=in_units)
            for one in numbered
            for in_units in units
        ]
        measures = measure_candidates(self.rows, [*self.candidates, *added], apply)
        predicted = self.judge.agreement.predict(measures)
        return predicted[len(self.candidates) :].reshape(-1, len(units)).max(axis=1)

    def _find_family(self, labelings: Sequence[np.ndarray]) -> str:
        """Return the family whose candidates agree most with the labelings.

        The agreement with candidates of other families is a measure of quality, and the program
        that found the labels may be one of the families.
        """
        agreement: dict[str, float] = {}
        for labels in labelings:
            best: dict[str, float] = {}
            for one in self.candidates:
                found = rand_index(labels, one.labels)
                best[one.family] = max(best.get(one.family, -1.0), found)
            for family, value in best.items():
                agreement[family] = agreement.get(family, 0.0) + value
        return max(agreement, key=lambda family: agreement[family])


def choose(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    rng: np.random.RandomState,
    apply: Apply,
    *,
    n_clusters: int | None = None,
    numbers: list[int] | None = None,
    shape: str = "auto",
    scale: bool | str = "auto",
) -> Choice:
    """Choose a partition of the rows.

    ``n_clusters`` is the number of clusters if it is given, ``numbers`` are the numbers to compare
    if they are given, and ``shape`` is the shape of the candidates if only one is permitted.
    """
    seed = rng.randint(2**31 - 1)

    def draw(size: int) -> Rows:
        generator = np.random.RandomState(seed)
        return Rows.draw(source, weights, size, generator, scale=scale)

    def compare(rows: Rows, numbers: list[int]) -> Choice:
        choice = _compare(rows, numbers, seed, apply, shape=shape)
        return _refine(choice, seed, apply, shape)

    (few, largest), (many, largest_of_many) = ROUNDS
    if n_clusters is not None:
        rows = draw(few if few >= _MIN_ROWS_PER_CLUSTER * n_clusters else many)
        return _compare_at(rows, n_clusters, seed, apply, shape)
    rows = draw(few)
    if numbers is not None:
        return _compare(rows, numbers, seed, apply, shape=shape, exact=True)
    if len(rows) <= _MAX_REPEATED and len(source) >= _MIN_REPETITIONS * len(rows):
        return compare(rows, [len(rows)])
    first = compare(rows, [1, *list_numbers(len(rows), largest)])
    most = (
        len(rows) // _MIN_ROWS_PER_CLUSTER
    )  # clusters of which enough rows were drawn
    has_more = len(source) > len(rows) and len(rows) > few / 2
    if not has_more or 1 < first.best.n_clusters <= most:
        return first
    if first.best.n_clusters > 1:
        rows = draw(many)
        return compare(rows, [1, *list_numbers(len(rows), largest_of_many)])
    # A few clusters would have been seen, but of many clusters too few rows were drawn.
    if len(source) < 2 * len(rows):
        return first
    rows = draw(many)
    larger = [k for k in list_numbers(len(rows), largest_of_many) if k > most]
    second = compare(rows, [1, *larger])
    return second if second.best.n_clusters > 1 else first


def _compare_at(
    rows: Rows, n_clusters: int, seed: int, apply: Apply, shape: str
) -> Choice:
    """Compare partitions into a given number of clusters.

    Partitions into larger numbers, too, whose small clusters are joined, can have this number.
    """
    if n_clusters > len(rows):
        expected = f"at most the number of different objects, {len(rows)}"
        raise InvalidParameterError("n_clusters", expected, n_clusters)
    larger = [k for k in list_numbers(len(rows), 2 * n_clusters) if k > n_clusters]
    compared = [n_clusters, *larger]
    return _compare(rows, compared, seed, apply, n_clusters=n_clusters, shape=shape)


def _compare(
    rows: Rows,
    numbers: list[int],
    seed: int,
    apply: Apply,
    *,
    n_clusters: int | None = None,
    shape: str = "auto",
    known: Choice | None = None,
    exact: bool = False,
) -> Choice:
    """Make and judge the candidates; ``known`` contains others of the same rows.

    Some families also make other numbers of clusters; with ``exact``, these are left out.
    """
    candidates = [] if known is None else known.candidates.copy()
    several = [k for k in numbers if 1 < k <= len(rows)]
    if 1 in numbers or not (several or candidates):
        candidates.append(single_cluster(rows))
    if several == [len(rows)]:
        candidates.append(separate_rows(rows))
    elif several:
        candidates += make_candidates(rows, several, seed, apply, shape)
    if exact:
        requested = [one for one in candidates if one.n_clusters in numbers]
        candidates = requested or candidates
    if len(candidates) == 1:  # There is nothing to compare.
        measures = np.zeros((1, len(NAMES)))
    else:
        measures = measure_candidates(rows, candidates, apply)
    judge = load_judge()
    predicted = judge.agreement.predict(measures)
    numbers_of_candidates = np.array([one.n_clusters for one in candidates])
    permitted = np.full(len(candidates), True)
    if n_clusters is not None:
        permitted = numbers_of_candidates == n_clusters
    if not permitted.any():
        permitted[:] = True
    selected = int(np.where(permitted, predicted, -np.inf).argmax())
    return Choice(rows, candidates, measures, predicted, selected, judge)


def _refine(choice: Choice, seed: int, apply: Apply, shape: str) -> Choice:
    """Compare also the numbers next to the best one that were left out."""
    tried = {one.n_clusters for one in choice.candidates}
    best = choice.best.n_clusters
    lower = max((k for k in tried if k < best), default=best)
    upper = min((k for k in tried if k > best), default=best)
    between = [k for k in range(lower + 1, upper) if k != best]
    if not between:
        return choice
    return _compare(choice.rows, between, seed, apply, shape=shape, known=choice)


def defer_separation(
    source: DissimilaritySource, weights: np.ndarray | None
) -> Deferred:
    """Draw rows, and return whether they form several clusters, which is computed on access."""
    which = draw_indices(len(source), SOME_ROWS)
    weights = None if weights is None else weights[which]
    return Deferred(partial(_forms_clusters, source.subset(which), weights))


def _forms_clusters(source: DissimilaritySource, weights: np.ndarray | None) -> bool:
    with block_map(1) as apply:
        rng = np.random.RandomState(0)
        choice = choose(source, weights, rng, apply, numbers=_SOME_NUMBERS)
    return choice.best.n_clusters > 1
