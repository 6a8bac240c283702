"""Compare runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.map import to_plain
from dempster.apps.studio.routing import Params, route
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session
from dempster.partition import CredalPartition, credal_rand_index, embed_partitions

MAX_LISTED_OBJECTS = 300
MAX_FLOWS = 24
MAX_MOVED_ROWS = 50_000
_STATES = ("outlier", "certain", "ambiguous")
MAX_FULL_OBJECTS, N_SAMPLED_PAIRS = 3_000, 200_000  # pairs of more objects are sampled


def compare(before: Run, after: Run) -> dict[str, Any]:
    """Compare two runs: the credal Rand index, states before and after, flows between sets, and objects that moved.

    Clusters of the second run are matched with those of the first.
    """
    common, i, j = np.intersect1d(before.rows, after.rows, return_indices=True)
    if len(common) < 2:
        raise InvalidInputError("the two runs have fewer than two objects in common")
    one, other = _bare(before, i), _bare(after, j)
    n_pairs = None if len(common) <= MAX_FULL_OBJECTS else N_SAMPLED_PAIRS
    index = credal_rand_index(one, other, n_pairs=n_pairs, random_state=0)
    match = _match_clusters(one, other)
    states = np.zeros((3, 3), dtype=int)
    state = [np.minimum(p.focal_sets.cardinality[p.best_set], 2) for p in (one, other)]
    np.add.at(states, (state[0], state[1]), 1)
    moved = np.flatnonzero(~_is_same_set(one, other, match))
    return to_plain(
        {
            "before": before.id,
            "after": after.id,
            "n": len(common),
            "index": float(index),
            "error": index.standard_error,
            "states": list(_STATES),
            "table": states.tolist(),
            "match": match.tolist(),
            "moved": len(moved),
            "flows": _count_flows(before, after, one, other, moved),
            "objects": _list_moved(before, after, i, j, one, other, state, moved),
            "rows": common[moved].tolist() if len(moved) <= MAX_MOVED_ROWS else None,
        }
    )


def run_map(runs: Sequence[Run]) -> dict[str, Any]:
    """Place runs in the plane, near each other if their partitions of the common objects are similar."""
    if len(runs) < 2:
        return {"points": [], "stress": 0.0}
    common = runs[0].rows
    for run in runs[1:]:
        common = np.intersect1d(common, run.rows)
    if len(common) < 2:
        raise InvalidInputError("the runs have fewer than two objects in common")
    partitions = [_bare(run, np.searchsorted(run.rows, common)) for run in runs]
    n_pairs = None if len(common) <= MAX_FULL_OBJECTS else N_SAMPLED_PAIRS
    found = embed_partitions(partitions, [run.id for run in runs], n_pairs=n_pairs)
    points = [
        {"id": run.id, "name": run.name, "x": float(x), "y": float(y)}
        for run, (x, y) in zip(runs, found.coordinates, strict=True)
    ]
    return to_plain({"points": points, "stress": found.stress, "n": len(common)})


def _bare(run: Run, positions: np.ndarray) -> CredalPartition:
    """Return the partition of some objects without their names, which need not be unique."""
    return CredalPartition(run.partition.masses[positions], run.partition.focal_sets)


def _match_clusters(one: CredalPartition, other: CredalPartition) -> np.ndarray:
    """Match each cluster of the second partition with one of the first by their common objects; -1 for the rest."""
    from scipy.optimize import linear_sum_assignment

    shared = np.zeros((one.n_clusters, other.n_clusters))
    np.add.at(shared, (one.labels, other.labels), 1)
    rows, columns = linear_sum_assignment(-shared)
    match = np.full(other.n_clusters, -1)
    match[columns] = rows
    return match


def _is_same_set(one: CredalPartition, other: CredalPartition, match: np.ndarray) -> np.ndarray:
    """Return whether the set of each object is the same in both partitions, whose clusters are matched."""
    width = one.n_clusters + other.n_clusters
    a = np.zeros((len(one.focal_sets), width), dtype=bool)
    a[:, : one.n_clusters] = one.focal_sets.membership
    b = np.zeros((len(other.focal_sets), width), dtype=bool)
    for k, partner in enumerate(match):
        b[:, partner if partner >= 0 else one.n_clusters + k] = other.focal_sets.membership[:, k]
    return (a[one.best_set] == b[other.best_set]).all(axis=1)


def _count_flows(before: Run, after: Run, one: CredalPartition, other: CredalPartition, moved: np.ndarray) -> list[Any]:
    """Count the objects that moved by the sets they moved from and to, the most first."""
    pairs, counts = np.unique(np.column_stack([one.best_set[moved], other.best_set[moved]]), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MAX_FLOWS]
    return [
        {
            "from": int(pairs[k, 0]),
            "to": int(pairs[k, 1]),
            "from_name": before.set_names[pairs[k, 0]],
            "to_name": after.set_names[pairs[k, 1]],
            "n": int(counts[k]),
        }
        for k in order
    ]


def _list_moved(
    before: Run,
    after: Run,
    i: np.ndarray,
    j: np.ndarray,
    one: CredalPartition,
    other: CredalPartition,
    state: list[np.ndarray],
    moved: np.ndarray,
) -> list[dict[str, Any]]:
    """List the objects that moved: first those that became ambiguous, then those that became certain, then others."""
    was, now = state[0][moved], state[1][moved]
    kind = np.select([(was == 1) & (now == 2), (was == 2) & (now == 1)], [0, 1], 2)
    order = moved[np.argsort(kind, kind="stable")][:MAX_LISTED_OBJECTS]
    return [
        {
            "row": int(before.rows[i[k]]),
            "position": int(j[k]),
            "name": before.names[i[k]],
            "was": _STATES[state[0][k]],
            "now": _STATES[state[1][k]],
            "from": int(one.best_set[k]),
            "to": int(other.best_set[k]),
            "from_name": before.set_names[one.best_set[k]],
            "to_name": after.set_names[other.best_set[k]],
        }
        for k in order
    ]


def _compare(session: Session, params: Params) -> dict[str, Any]:
    return compare(session.run(str(params.get("before"))), session.run(str(params.get("after"))))


def _map(session: Session, params: Params) -> dict[str, Any]:
    return run_map(list(session.runs.values()))


ROUTES = [route("/compare", _compare), route("/map", _map)]
