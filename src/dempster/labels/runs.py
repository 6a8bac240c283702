"""Several labelings of the same objects as memberships in the clusters of one of them.

The reference is the labeling that agrees most with the others, among those with the most frequent
number of clusters. The clusters of another run are matched one to one with those of the reference.

- If the run *divides* a cluster of the reference, the part that has no partner is a vote for the
  cluster that contains most of it.
- If the run *merges* clusters of the reference, an object of the merged cluster keeps its cluster
  of the reference, because the run does not contradict it.

The membership of an object is the share of the votes of the runs in which it has a cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dempster.explain.scores import count_pairs, match_one_to_one


def select_reference(runs: Sequence[np.ndarray]) -> int:
    """Return the index of the reference; ``runs`` contains -1 for objects without a cluster."""
    from sklearn.metrics import adjusted_rand_score  # slow to import

    numbers = [int(codes.max()) + 1 for codes in runs]
    most_frequent = max(Counter(numbers).values())
    agreement = np.full((len(runs), len(runs)), 1.0)
    for i, first in enumerate(runs):
        for j, second in enumerate(runs[:i]):
            both = (first >= 0) & (second >= 0)
            agreement[i, j] = adjusted_rand_score(first[both], second[both])
            agreement[j, i] = agreement[i, j]
    means = agreement.mean(axis=1)
    is_frequent = np.array([numbers.count(k) == most_frequent for k in numbers])
    return int(np.where(is_frequent, means, -np.inf).argmax())


def pool_runs(runs: Sequence[np.ndarray], reference: np.ndarray) -> np.ndarray:
    """Return the memberships of the objects in the clusters of the reference, shape (n, c).

    The memberships of an object that has no cluster in any run are zero.
    """
    c = int(reference.max()) + 1
    memberships = np.zeros((len(reference), c))
    for codes in runs:
        votes = align_run(codes, reference)
        voting = np.flatnonzero(votes >= 0)
        memberships[voting, votes[voting]] += 1
    return memberships / np.maximum(memberships.sum(axis=1, keepdims=True), 1)


def align_run(codes: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the cluster of the reference for which each object of a run votes, or -1."""
    counts = count_pairs(
        codes, reference, int(codes.max()) + 1, int(reference.max()) + 1
    )
    partner = match_one_to_one(counts)
    partner = np.where(partner < 0, counts.argmax(axis=1), partner)
    is_partner = np.isin(np.arange(counts.shape[1]), partner)
    # The cluster of the run that contains most of each cluster of the reference without a partner.
    container = np.where(is_partner, -1, counts.argmax(axis=0))
    votes = np.where(codes >= 0, partner[codes], -1)
    is_merged = (codes >= 0) & (reference >= 0) & (container[reference] == codes)
    return np.where(is_merged, reference, votes)
