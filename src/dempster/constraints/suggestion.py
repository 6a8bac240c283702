"""Which pair of objects to ask an expert about next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._random import generator
from dempster.constraints.constraints import Constraints, checked_count, must_link_components, pair_codes
from dempster.partition.credal_partition import CredalPartition, as_credal_partition


def suggest_pairs(
    partition: Any, n: int, *, constraints: Constraints | None = None, random_state: Any = None
) -> np.ndarray:
    """The next questions to an expert: "are these two objects of the same cluster?"

    An uncertain object is set against a certain one, so that the answer places it (Antoine et al., 2012):

    - the *uncertainty* of an object is its nonspecificity, the sum of m(A) log2 |A| over nonempty sets of clusters.
      Mass on the empty set does not count: to which cluster an outlier belongs teaches little about the clusters.
      Equal uncertainties (all are 0 in a fuzzy partition) are ordered by the entropy of the pignistic probabilities;
    - it is set against the *representative* of the cluster that is most plausible for it: among the objects whose most
      plausible cluster is k, the one with the largest mass on {k};
    - if the expert says "no", the next most plausible cluster is the next question. The *usefulness* of a question is
      the uncertainty of the object times the probability that the questions about its more plausible clusters are all
      answered "no" (by normalised plausibilities); 0 for the last cluster, which the other answers determine.

    Questions come in decreasing usefulness. When every object has been set against all representatives, the next most
    certain object of each cluster takes its turn, until no pair is left.

    Must-linked objects count as one, as sure as the surest of them (largest mass on a single cluster), and clusters
    from whose representative an object is known to differ are struck off its list. So no question is asked whose
    answer is known or follows from known ones by transitivity, nor two questions that must have the same answer.

    Parameters
    ----------
    partition : CredalPartition (or hard labels)
    n : int
        How many questions.
    constraints : Constraints, optional
        What is known already. Contradictions among them do no harm here.
    random_state : int, numpy Generator or RandomState, optional
        If given, equal objects are taken in an order drawn at random; otherwise the lowest number comes first.

    Returns
    -------
    (n, 2) int64 array
        The uncertain object, then the certain one; all pairs different, the most useful first. Fewer rows if there
        are no more questions. Nothing of size n x n is made.

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential c-means algorithm.
    Computational Statistics and Data Analysis 56.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.constraints import Constraints, suggest_pairs
    >>> sure, fair, torn, other = [0, 1, 0, 0], [0, 0.8, 0, 0.2], [0, 0.2, 0.1, 0.7], [0, 0, 1, 0]
    >>> cp = CredalPartition([sure, fair, torn, other], FocalSets.full(2))
    >>> suggest_pairs(cp, 2)  # the torn object and the fairly sure one, each against the surest of its cluster
    array([[2, 0],
           [1, 0]])
    >>> suggest_pairs(cp, 1, constraints=Constraints(must_link=[(2, 0)]))
    array([[1, 0]])
    """
    credal = as_credal_partition(partition)
    wanted = checked_count(n, "n")
    known = Constraints() if constraints is None else constraints
    if not isinstance(known, Constraints):
        raise InvalidParameterError("constraints", "a Constraints", known)
    known.check(len(credal))
    groups = _Groups.of(credal, known, random_state)
    # A first question comes before all questions about less uncertain objects, and is dropped only for objects with
    # constraints and representatives: so many of the most uncertain objects are enough.
    enough = min(wanted + 2 * len(known) + credal.n_clusters, len(groups))
    return groups.questions(wanted, np.arange(enough))


@dataclass
class _Groups:
    """Groups of must-linked objects (most of a single object), the most uncertain first, and what is known of them.

    member : (g,) the surest object of each group, which stands for it
    uncertainty : (g, 2) nonspecificity and entropy
    plausible : (g, c) normalised plausibilities of the clusters
    ranked, start, size : groups by cluster, the surest first, and where each cluster starts and how many it has
    apart : codes of the pairs of groups known to differ
    """

    member: np.ndarray
    uncertainty: np.ndarray
    plausible: np.ndarray
    ranked: np.ndarray
    start: np.ndarray
    size: np.ndarray
    apart: np.ndarray

    def __len__(self) -> int:
        return len(self.member)

    @classmethod
    def of(cls, credal: CredalPartition, known: Constraints, random_state: Any) -> _Groups:
        n = len(credal)
        turn = np.arange(n) if random_state is None else generator(random_state).permutation(n)
        nonspecificity = credal.masses.astype(float) @ np.log2(np.maximum(credal.focal_sets.cardinality, 1))
        entropy = _entropy(credal.pignistic().astype(float))
        own = credal.singleton_belief.astype(float)
        surest = own.max(axis=1, initial=0)
        component = must_link_components(known.must_link, n)
        order = np.lexsort((turn, entropy, nonspecificity, -surest, component))
        member = order[np.unique(component[order], return_index=True)[1]]  # the first of every component
        member = member[np.lexsort((turn[member], -entropy[member], -nonspecificity[member]))]
        group = np.empty(len(member), dtype=np.int64)
        group[component[member]] = np.arange(len(member))
        cannot = group[component[known.cannot_link]]
        label = credal.labels[member] if n else np.empty(0, dtype=np.int64)
        sure, possible = own[member, label], credal.contour[member, label]
        size = np.bincount(label, minlength=credal.n_clusters)
        return cls(
            member=member,
            uncertainty=np.column_stack([nonspecificity, entropy])[member],
            plausible=credal.plausibility_transform().astype(float)[member],
            ranked=np.lexsort((turn[member], entropy[member], nonspecificity[member], -possible, -sure, label)),
            start=np.cumsum(size) - size,
            size=size,
            apart=np.unique(pair_codes(cannot, len(member))),
        )

    def questions(self, wanted: int, who: np.ndarray) -> np.ndarray:
        """Up to ``wanted`` pairs of objects whose first is among the given groups."""
        group, cluster = self._by_usefulness(who)
        found = np.empty((0, 2), dtype=np.int64)
        for depth in range(int(self.size.max(initial=0))):
            if len(found) >= wanted:
                break
            there = self.size[cluster] > depth
            other = self.ranked[self.start[cluster[there]] + depth]
            found = self._new(np.concatenate([found, np.column_stack([group[there], other])]))
        return self.member[found[:wanted]]

    def _by_usefulness(self, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Groups and clusters to set them against, the most useful first."""
        possible = np.tile(self.size > 0, (len(who), 1))
        for k in np.flatnonzero(self.size > 0):
            representative = np.full(len(who), self.ranked[self.start[k]])
            possible[:, k] &= ~np.isin(pair_codes(np.column_stack([who, representative]), len(self)), self.apart)
        plausible = np.where(possible, self.plausible[who], 0)
        total = plausible.sum(axis=1, keepdims=True)
        plausible = np.divide(plausible, total, out=plausible, where=total > 0)
        cluster = np.argsort(-np.where(possible, plausible, -1), axis=1, kind="stable")
        plausible = np.take_along_axis(plausible, cluster, axis=1)
        needed = np.clip(1 - (np.cumsum(plausible, axis=1) - plausible), 0, 1)
        turn = np.tile(np.arange(cluster.shape[1]), (len(who), 1))
        needed[turn >= possible.sum(axis=1, keepdims=True) - 1] = 0
        useful = needed[:, :, None] * self.uncertainty[who][:, None, :]
        place = np.repeat(np.arange(len(who)), cluster.shape[1])
        order = np.lexsort((place, turn.ravel(), -useful[:, :, 1].ravel(), -useful[:, :, 0].ravel()))
        return who[place[order]], cluster.ravel()[order]

    def _new(self, pairs: np.ndarray) -> np.ndarray:
        """Pairs of two different groups not known to differ, each once, in the given order."""
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        codes = pair_codes(pairs, len(self))
        first = np.sort(np.unique(codes, return_index=True)[1])
        return pairs[first[~np.isin(codes[first], self.apart)]]


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    """Shannon entropy of every row, in bits."""
    logarithm = np.log2(probabilities, out=np.zeros_like(probabilities), where=probabilities > 0)
    return -(probabilities * logarithm).sum(axis=1)
