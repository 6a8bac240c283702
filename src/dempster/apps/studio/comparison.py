"""Compare the partitions of runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import to_plain
from dempster.apps.studio.routing import Params, route
from dempster.apps.studio.sessions import Run, Session
from dempster.explain.scores import count_pairs, match_one_to_one
from dempster.partition import CredalPartition, credal_rand_index, embed_partitions

MAX_LISTED_OBJECTS = 300
MAX_FLOWS = 24
MAX_FULL_OBJECTS, N_SAMPLED_PAIRS = 3_000, 200_000  # With more objects, pairs are sampled.
_STATES = ("outlier", "certain", "ambiguous")


def _compare(session: Session, params: Params) -> dict[str, Any]:
    """Compare two runs on their common objects, with the clusters of the second run matched with those of the first."""
    before, after = session.get_run(str(params.get("before"))), session.get_run(str(params.get("after")))
    common, i, j = np.intersect1d(before.rows, after.rows, return_indices=True)
    if len(common) < 2:
        raise InvalidInputError("the two runs have fewer than two objects in common")
    one, other = _select(before, i), _select(after, j)
    index = credal_rand_index(one, other, n_pairs=_n_pairs(len(common)), random_state=0)
    match = match_one_to_one(count_pairs(other.labels, one.labels, other.n_clusters, one.n_clusters))
    old_state, new_state = (np.minimum(p.focal_sets.cardinality[p.best_set], 2) for p in (one, other))
    states = count_pairs(old_state, new_state, len(_STATES), len(_STATES))
    # An unmatched cluster has the match -1, so that a set with this cluster is not a set of the first run.
    position = {frozenset(clusters): s for s, clusters in enumerate(one.focal_sets)}
    same_set = [position.get(frozenset(match[list(clusters)].tolist()), -1) for clusters in other.focal_sets]
    moved = np.flatnonzero(one.best_set != np.array(same_set)[other.best_set])

    def describe_sets(old: int, new: int) -> dict[str, Any]:
        names = {"from_name": before.set_names[old], "to_name": after.set_names[new]}
        return {"from": int(old), "to": int(new), **names}

    pairs, counts = np.unique(np.column_stack([one.best_set[moved], other.best_set[moved]]), axis=0, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:MAX_FLOWS]
    was, now = old_state[moved], new_state[moved]
    # Sort objects that became ambiguous first, then objects that became certain.
    kind = np.select([(was == 1) & (now == 2), (was == 2) & (now == 1)], [0, 1], 2)
    objects = [
        {
            "row": int(before.rows[i[k]]),
            "name": before.names[i[k]],
            **describe_sets(one.best_set[k], other.best_set[k]),
        }
        for k in moved[np.argsort(kind, kind="stable")][:MAX_LISTED_OBJECTS]
    ]
    return to_plain(
        {
            "n": len(common),
            "index": float(index),
            "error": index.standard_error,
            "states": list(_STATES),
            "table": states.tolist(),
            "moved": len(moved),
            "flows": [describe_sets(*pairs[k]) | {"n": int(counts[k])} for k in largest],
            "objects": objects,
        }
    )


def _select(run: Run, positions: np.ndarray) -> CredalPartition:
    """Return the partition of the objects at the given positions, without names because they need not be unique."""
    return CredalPartition(run.partition.masses[positions], run.partition.focal_sets)


def _n_pairs(n_objects: int) -> int | None:
    return None if n_objects <= MAX_FULL_OBJECTS else N_SAMPLED_PAIRS


def _embed_runs(session: Session, params: Params) -> dict[str, Any]:
    """Return positions of the runs in the plane; runs with similar partitions of their common objects are close."""
    runs = list(session.runs.values())
    if len(runs) < 2:
        return {"points": []}
    common = runs[0].rows
    for run in runs[1:]:
        common = np.intersect1d(common, run.rows)
    if len(common) < 2:
        raise InvalidInputError("the runs have fewer than two objects in common")
    partitions = [_select(run, np.searchsorted(run.rows, common)) for run in runs]
    embedding = embed_partitions(partitions, [run.id for run in runs], n_pairs=_n_pairs(len(common)))
    points = [
        {"id": run.id, "name": run.name, "x": float(x), "y": float(y)}
        for run, (x, y) in zip(runs, embedding.coordinates, strict=True)
    ]
    return to_plain({"points": points})


ROUTES = [route("/compare", _compare), route("/map", _embed_runs)]
