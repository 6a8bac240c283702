"""Selection of the most useful pairs of objects for an expert."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import divide
from dempster._random import as_generator
from dempster._validation import check, kind
from dempster.constraints.constraints import (
    Constraints,
    must_link_components,
    pair_codes,
    validate_count,
)
from dempster.partition.credal_partition import CredalPartition, as_credal_partition


def suggest_pairs(
    partition: Any,
    n: int,
    *,
    constraints: Constraints | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Return the n most useful pairs of objects to ask an expert about.

    The question is "Are these two objects in the same cluster?". Each pair consists of an uncertain
    and a certain object (Antoine et al., 2012):

    - The *uncertainty* of an object is its nonspecificity, the sum of m(A) log2 |A| over nonempty
      sets A of clusters. Mass on the empty set is ignored, because an outlier contains little
      information about the clusters. Ties (in a fuzzy partition all values are 0) are resolved by
      the entropy of the pignistic probabilities.
    - The uncertain object is compared with the *representative* of its most plausible cluster k.
      The representative is the object with the largest mass on {k} among the objects whose most
      plausible cluster is k.
    - If the answer is "no", the next question is about the next most plausible cluster. The
      *usefulness* of a question is the uncertainty of the object times the probability (by
      normalized plausibilities) that the answers for all more plausible clusters are "no". It is 0
      for the least plausible cluster, which the previous answers determine.

    Pairs are sorted by decreasing usefulness. If more pairs are needed after all pairs with
    representatives, the next most certain object of each cluster is used in place of the
    representative.

    Must-linked objects are treated as one object, which has the masses of the most certain of these
    objects (largest mass on a single cluster). Clusters with a cannot-link between the object and
    the representative are excluded. The constraints therefore do not imply the answer to any
    question.

    Parameters
    ----------
    partition : CredalPartition or hard labels
        Partition of the objects.
    n : int
        Number of pairs.
    constraints : Constraints, optional
        Known constraints, which may contradict each other.
    random_state : int, numpy Generator or RandomState, optional
        If set, ties are resolved at random; by default by the lowest index.

    Returns
    -------
    (n, 2) int64 array
        Distinct pairs of an uncertain and a certain object, the most useful first. There are fewer
        than n rows if no other pairs are left.

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential c-means
    algorithm. Computational Statistics and Data Analysis 56.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.constraints import Constraints, suggest_pairs
    >>> certain, likely = [0, 1, 0, 0], [0, 0.8, 0, 0.2]
    >>> ambiguous, other = [0, 0.2, 0.1, 0.7], [0, 0, 1, 0]
    >>> cp = CredalPartition([certain, likely, ambiguous, other], FocalSets.full(2))
    >>> suggest_pairs(cp, 2)  # the ambiguous and the likely object, with the most certain object
    array([[2, 0],
           [1, 0]])
    >>> suggest_pairs(cp, 1, constraints=Constraints(must_link=[(2, 0)]))
    array([[1, 0]])
    """
    credal = as_credal_partition(partition)
    n_pairs = validate_count(n, "n")
    if constraints is None:
        constraints = Constraints()
    check(constraints, "constraints", kind(Constraints))
    constraints.check(len(credal))
    groups = _Groups(credal, constraints, random_state)
    # The first pair of an object precedes all pairs of less uncertain objects, and only
    # representatives and objects with constraints may lack it. Therefore n_pairs objects plus the
    # number of these exceptions are sufficient.
    enough = n_pairs + 2 * len(constraints) + credal.n_clusters
    return groups.select_pairs(n_pairs, min(enough, len(groups)))


class _Groups:
    """Groups of must-linked objects (or single objects), sorted by decreasing uncertainty."""

    def __init__(
        self, credal: CredalPartition, constraints: Constraints, random_state: Any
    ):
        n = len(credal)
        turn = np.arange(n)
        if random_state is not None:
            turn = as_generator(random_state).permutation(n)
        sizes = np.maximum(credal.focal_sets.cardinality, 1)
        nonspecificity = credal.stored_masses.astype(float) @ np.log2(sizes)
        probabilities = credal.pignistic().astype(float)
        zeros = np.zeros_like(probabilities)
        logarithms = np.log2(probabilities, out=zeros, where=probabilities > 0)
        entropy = -(probabilities * logarithms).sum(axis=1)
        own = credal.singleton_belief.astype(float)
        surest = own.max(axis=1)
        component = must_link_components(constraints.must_link, n)
        order = np.lexsort((turn, entropy, nonspecificity, -surest, component))
        # The most certain object of every component.
        _, first = np.unique(component[order], return_index=True)
        member = order[first]
        keys = turn[member], -entropy[member], -nonspecificity[member]
        member = member[np.lexsort(keys)]
        # Position of the group of each component.
        group = np.argsort(component[member])
        cannot = group[component[constraints.cannot_link]]
        label = credal.labels[member]
        sure = own[member, label]
        possible = credal.contour[member, label]
        # Most certain object of each group, shape (g,).
        self.member = member
        # Uncertainty of each group, and a second measure for ties, shape (g,).
        self.nonspecificity = nonspecificity[member]
        self.entropy = entropy[member]
        # Normalized plausibilities of the clusters for each group, shape (g, c).
        self.plausible = credal.plausibility_transform().astype(float)[member]
        # Groups sorted by their most plausible cluster, then by decreasing certainty, shape (g,).
        keys = turn[member], self.entropy, self.nonspecificity
        self.ranked = np.lexsort((*keys, -possible, -sure, label))
        # Number of groups of each cluster, shape (c,).
        self.size = np.bincount(label, minlength=credal.n_clusters)
        # Position in ``ranked`` of the first group of each cluster, shape (c,).
        self.start = np.cumsum(self.size) - self.size
        # Codes of the pairs of groups with a cannot-link.
        self.apart = pair_codes(cannot, len(member))

    def __len__(self) -> int:
        return len(self.member)

    def select_pairs(self, n_pairs: int, n_groups: int) -> np.ndarray:
        """Return at most ``n_pairs`` pairs of objects.

        The first object of a pair is in one of the ``n_groups`` most uncertain groups.
        """
        group, cluster = self._sort_by_usefulness(n_groups)
        pairs = np.empty((0, 2), np.int64)
        for depth in range(self.size.max()):
            if len(pairs) >= n_pairs:
                break
            there = self.size[cluster] > depth
            other = self.ranked[self.start[cluster[there]] + depth]
            added = np.column_stack([group[there], other])
            pairs = self._remove_known(np.concatenate([pairs, added]))
        return self.member[pairs[:n_pairs]]

    def _sort_by_usefulness(self, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the groups and the clusters of the questions, the most useful first."""
        groups = np.arange(n_groups)
        possible = np.zeros((n_groups, len(self.size)), bool)
        for k in np.flatnonzero(self.size):
            representative = np.full(n_groups, self.ranked[self.start[k]])
            pairs = np.column_stack([groups, representative])
            codes = pair_codes(pairs, len(self))
            possible[:, k] = ~np.isin(codes, self.apart)
        plausible = np.where(possible, self.plausible[:n_groups], 0)
        total = plausible.sum(axis=1, keepdims=True)
        plausible = divide(plausible, total, 0)
        ranking = np.where(possible, plausible, -1)
        cluster = np.argsort(-ranking, kind="stable")
        plausible = np.take_along_axis(plausible, cluster, axis=1)
        # probability that the answers for all more plausible clusters are "no"
        previous = np.cumsum(plausible, axis=1) - plausible
        needed = np.clip(1 - previous, 0, 1)
        group, turn = np.indices(cluster.shape)
        n_possible = possible.sum(axis=1, keepdims=True)
        needed[turn >= n_possible - 1] = 0
        useful = needed * self.nonspecificity[:n_groups, None]
        useful_in_ties = needed * self.entropy[:n_groups, None]
        keys = group, turn, -useful_in_ties, -useful
        order = np.lexsort([key.ravel() for key in keys])
        return group.ravel()[order], cluster.ravel()[order]

    def _remove_known(self, pairs: np.ndarray) -> np.ndarray:
        """Omit pairs within a group, repeated pairs, and pairs with a cannot-link."""
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        codes = pair_codes(pairs, len(self))
        _, first = np.unique(codes, return_index=True)
        first.sort()
        is_known = np.isin(codes[first], self.apart)
        return pairs[first[~is_known]]
