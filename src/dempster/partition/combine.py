"""Combination of partitions of the same objects by their pairwise masses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

import dempster._validation as validation
from dempster._errors import InvalidParameterError
from dempster._native import interruptible
from dempster._random import as_generator
from dempster.belief import FocalSets
from dempster.belief.combination import remove_empty
from dempster.optimize.row_fit import (
    no_links,
    pair_distances,
    sweep_rows,
    symmetric_pairs,
)
from dempster.partition.credal_partition import (
    CredalPartition,
    as_credal_partitions,
    match_objects,
)
from dempster.partition.relational import pair_forms, sample_pairs

_RULES = ("dempster", "dubois_prade", "yager", "average", "disjunctive", "conjunctive")
_ALL_PAIRS_UP_TO = 500  # Maximum number of objects for which all pairs are used.
_FIRST_SWEEPS = 5  # Number of sweeps before the initial masses are compared.
_MAX_SETS = 256  # Maximum number of focal sets of the result.
_PAIRS_PER_OBJECT = 200
_LINKAGE_UP_TO = 2000  # Maximum number of objects for hierarchical clustering.

# Let a, b, g be the differences of the masses of empty, same and different. The Jousselme distance
# d is Euclidean: 2 d^2 = 2 a^2 + b^2 + g^2 + a (b + g) = |R (a, b, g)|^2 with an upper triangular
# matrix R.
_ROOT = np.linalg.cholesky(
    np.array([[2.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
).T


def combine_partitions(
    partitions: Sequence[Any],
    rule: str = "dubois_prade",
    *,
    n_clusters: int | None = None,
    focal_sets: FocalSets | str = "pairs",
    n_init: int = 5,
    max_iter: int = 200,
    tol: float = 1e-6,
    random_state: Any = None,
) -> CredalPartition:
    """Combine partitions of the same objects into one credal partition.

    For each pair of objects, every partition gives masses to "same cluster" and "different
    clusters". These masses are combined over the partitions. The result is the partition whose
    pairwise masses are nearest to the combined masses, that is, with the largest credal Rand index
    (Denoeux, Li and Sriboonchitta, 2018).

    Parameters
    ----------
    partitions : sequence of CredalPartition or hard labels
        Partitions of the same objects. Objects are matched by name if the partitions have names,
        else by position.
    rule : {"dubois_prade", "dempster", "yager", "average", "disjunctive", "conjunctive"}
        Rule of combination. Dempster's rule assumes independent partitions; the masses of pairs
        with total conflict are discounted by 1e-6 first. Here, "dubois_prade" and "yager" give the
        same result. Except with "conjunctive", the partitions are normalized first.
    n_clusters : int, optional
        Number of clusters of the result; by default the largest number of clusters of the
        partitions.
    focal_sets : FocalSets or {"simple", "pairs", "full"}
        Focal sets of the result.
    n_init : int
        Number of initial partitions, of which the best is used. The first ones are the given
        partitions, then follow a hierarchical clustering of the combined masses (up to 2,000
        objects) and random masses.
    max_iter : int
        Maximum number of sweeps over the objects.
    tol : float
        The sweeps stop when the relative increase of the credal Rand index is at most ``tol``.
    random_state : int, RandomState, Generator or None
        Seed for random masses and random pairs.

    Returns
    -------
    CredalPartition
        Combined partition. ``metadata["credal_rand_index"]`` measures how well it represents the
        combined masses.

    Notes
    -----
    The index uses all pairs of up to 500 objects, and 200 pairs per object above, so that the cost
    is linear in the number of objects.

    Examples
    --------
    >>> from dempster.partition import combine_partitions
    >>> a, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    >>> combined = combine_partitions([a, b], random_state=0)
    >>> combined.labels[[0, 1]], combined.labels[[3, 4, 5]]
    (array([0, 0]), array([1, 1, 1]))
    >>> combined.ambiguous  # the object on which they disagree
    array([2])
    """
    sources = as_credal_partitions(partitions)
    family = _check_inputs(sources, rule, n_clusters, focal_sets)
    if len(family) > _MAX_SETS:
        must = f"contain at most {_MAX_SETS} sets, got {len(family):,}; use 'simple' or 'pairs'"
        raise InvalidParameterError("focal_sets", must=must)
    validation.check(n_init, "n_init", validation.repetitions())
    validation.check(max_iter, "max_iter", validation.integer(1))
    validation.check(tol, "tol", validation.real(0))
    sources = [match_objects(p, sources[0]) for p in sources]
    if rule != "conjunctive":
        sources = [
            CredalPartition(
                *remove_empty(p.stored_masses, p.focal_sets), p.index, frame=p.frame
            )
            for p in sources
        ]
    rng = as_generator(random_state)
    n = len(sources[0])
    pairs = _select_pairs(n, rng)
    relation = combine_relations(
        [p.relational().pair_masses(pairs) for p in sources], rule
    )
    problem = _PartitionFit(pairs, relation, family, n)
    starts = islice(_generate_starts(sources, rule, family, n, rng), n_init)
    # Select the initial masses with the largest index after a few sweeps.
    if n_init > 1:
        runs = (problem.run(start, _FIRST_SWEEPS, tol) for start in starts)
        best = max(runs, key=lambda run: run[1])[0]
    else:
        best = next(starts)
    masses, index, n_sweeps = problem.run(best, max_iter, tol)
    return CredalPartition(
        masses,
        family,
        sources[0].index,
        metadata={
            "method": "combine_partitions",
            "rule": rule,
            "credal_rand_index": index,
            "n_iter": n_sweeps,
            "n_pairs": len(pairs),
        },
    )


def combine_relations(relations: Sequence[np.ndarray], rule: str) -> np.ndarray:
    """Combine the masses of empty, same, different and unknown for p pairs, shape (p, 4).

    On the frame {same, different}, the conjunctive rule multiplies plausibilities.
    """
    stacked = np.stack(relations).astype(float)
    if rule == "average":
        return stacked.mean(axis=0)
    if rule == "disjunctive":
        same = stacked[:, :, 1].prod(axis=0)
        different = stacked[:, :, 2].prod(axis=0)
        return np.column_stack(
            [np.zeros_like(same), same, different, 1 - same - different]
        )
    if rule == "dempster":
        total_conflict = _combine_conjunctively(stacked)[:, 0] >= 1 - 1e-12
        stacked[:, total_conflict] *= 1 - 1e-6
        stacked[:, total_conflict, 3] += 1e-6
    result = _combine_conjunctively(stacked)
    if rule == "conjunctive":
        return result
    conflict = result[:, 0].copy()
    result[:, 0] = 0
    if rule == "dempster":
        return result / (1 - conflict)[:, None]
    result[:, 3] += conflict  # The union of same and different is the frame (unknown).
    return result


def _combine_conjunctively(stacked: np.ndarray) -> np.ndarray:
    unknown = stacked[:, :, 3].prod(axis=0)
    same = (stacked[:, :, 1] + stacked[:, :, 3]).prod(axis=0) - unknown
    different = (stacked[:, :, 2] + stacked[:, :, 3]).prod(axis=0) - unknown
    return np.column_stack(
        [np.maximum(1 - same - different - unknown, 0), same, different, unknown]
    )


class _PartitionFit:
    """Fit of a partition to pairwise masses by iteratively reweighted quadratic programs.

    The sum of the distances has an upper bound, the sum of the squared distances divided by the
    current distances. This bound is minimized over the masses of one object at a time, which never
    decreases the credal Rand index.
    """

    def __init__(
        self, pairs: np.ndarray, relation: np.ndarray, family: FocalSets, n: int
    ):
        forms = pair_forms(family)[:3]
        root = _ROOT
        if family.empty_index is None and not relation[:, 0].any():
            forms = forms[1:]
            root = np.eye(2)
            relation = relation[:, 1:]
        self.forms = np.ascontiguousarray(np.einsum("ra,afg->rfg", root, forms))
        self.targets = np.ascontiguousarray(relation[:, : len(root)] @ root.T)
        self.pairs = np.ascontiguousarray(pairs)
        self.indptr, self.indices, self.weights, which = symmetric_pairs(n, pairs)
        self.entry_targets = np.ascontiguousarray(self.targets[which])
        self.links = no_links(n, len(family))
        self.order = np.arange(n)

    def index(self, masses: np.ndarray) -> float:
        return float(
            1 - pair_distances(masses, self.pairs, self.targets, self.forms).mean()
        )

    def run(
        self, start: np.ndarray, max_iter: int, tol: float
    ) -> tuple[np.ndarray, float, int]:
        """Return the fitted masses, their credal Rand index and the number of sweeps."""
        masses = np.array(start, float, order="C")
        index = self.index(masses)
        n_sweeps = 0
        for _ in range(max_iter):
            before = masses.copy()
            interruptible(
                sweep_rows,
                masses,
                self.order,
                self.indptr,
                self.indices,
                self.weights,
                self.entry_targets,
                self.forms,
                True,
                *self.links,
            )
            n_sweeps += 1
            new_index = self.index(masses)
            if new_index < index:  # A decrease is a rounding error.
                return before, index, n_sweeps
            gain = new_index - index
            index = new_index
            if gain <= tol * abs(index):
                break
        return masses, index, n_sweeps


def _generate_starts(
    sources, rule: str, family: FocalSets, n: int, rng
) -> Iterator[np.ndarray]:
    """Generate initial masses from partitions and hierarchical clustering, then at random."""
    for source in sources:
        if source.n_clusters <= family.n_clusters:
            yield _transfer_masses(source, family)
    if n <= _LINKAGE_UP_TO:
        yield _cut_hierarchy(sources, rule, family, n)
    while True:
        yield rng.dirichlet(np.ones(len(family)), size=n)


def _transfer_masses(source: CredalPartition, family: FocalSets) -> np.ndarray:
    """Move the mass of each focal set to the smallest set of ``family`` that contains it."""
    padded = np.zeros((len(source.focal_sets), family.n_clusters), bool)
    padded[:, : source.n_clusters] = source.focal_sets.membership
    if source.focal_sets.omega_index is not None:
        padded[source.focal_sets.omega_index] = True
    order = np.argsort(family.cardinality, kind="stable")
    masses = np.zeros((len(source), len(family)))
    for column, row in zip(source.masses.T, padded, strict=True):
        is_superset = (family.membership | ~row).all(axis=1) & (
            family.membership.any(axis=1) == row.any()
        )
        is_part = (family.cardinality == 1) & (family.membership & row).any(axis=1)
        targets = order[is_superset[order]][:1]
        if len(targets) == 0:
            targets = np.flatnonzero(is_part)
        if len(targets) == 0:
            targets = order
        masses[:, targets] += column[:, None] / len(targets)
    return masses


def _cut_hierarchy(sources, rule: str, family: FocalSets, n: int) -> np.ndarray:
    """Return initial masses from average-linkage clustering by the probability of "same"."""
    from scipy.cluster.hierarchy import fcluster, linkage

    relation = combine_relations([p.relational().masses for p in sources], rule)
    tree = linkage(np.maximum(1 - relation[:, 1] - relation[:, 3] / 2, 0), "average")
    labels = fcluster(tree, family.n_clusters, criterion="maxclust") - 1
    hard = np.zeros((n, len(family)))
    hard[np.arange(n), family.singleton_index[labels]] = 0.9
    return hard + 0.1 / len(family)


def _select_pairs(n: int, rng: np.random.Generator) -> np.ndarray:
    if n <= _ALL_PAIRS_UP_TO:
        return np.column_stack(np.triu_indices(n, 1))
    # A random cycle connects the graph of pairs. Otherwise its components would number their
    # clusters independently.
    cycle = rng.permutation(n)
    ring = np.sort(np.column_stack([cycle, np.roll(cycle, 1)]))
    pairs = sample_pairs(n, n * (_PAIRS_PER_OBJECT - 1), rng)
    return np.unique(np.concatenate([ring, pairs]), axis=0)


def _check_inputs(sources, rule, n_clusters, focal_sets) -> FocalSets:
    """Validate the partitions and the parameters; return the family of focal sets of the result."""
    if len(sources) < 1:
        raise InvalidParameterError("partitions", must="contain at least one partition")
    if len({len(p) for p in sources}) != 1:
        raise InvalidParameterError(
            "partitions",
            must=f"have the same number of objects, got {[len(p) for p in sources]}",
        )
    if len(sources[0]) < 2:
        raise InvalidParameterError("partitions", must="have at least two objects")
    validation.check_choice(rule, "rule", _RULES)
    validation.check(
        n_clusters, "n_clusters", validation.choice(None) | validation.integer(1)
    )
    if isinstance(focal_sets, FocalSets):
        if n_clusters is not None and focal_sets.n_clusters != n_clusters:
            raise InvalidParameterError(
                "focal_sets",
                must=f"have n_clusters={n_clusters}, got {focal_sets.n_clusters}",
            )
        return focal_sets
    build = {
        "simple": FocalSets.simple,
        "pairs": FocalSets.pairs,
        "full": FocalSets.full,
    }
    validation.check(
        focal_sets, "focal_sets", validation.kind(FocalSets) | validation.choice(*build)
    )
    c = n_clusters or max(p.n_clusters for p in sources)
    return build[focal_sets](c, empty=rule == "conjunctive")
