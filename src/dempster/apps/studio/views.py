"""Return the objects, planes, explanations, profiles and curves of a run, and compare runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dempster._arrays import row_max, select_columns
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_cluster
from dempster.apps.map import pack
from dempster.apps.recipe.model import Units
from dempster.apps.report.cluster_profiles import ClusterProfiles, profile_clusters
from dempster.apps.report.report_input import ReportInput, find_id_columns
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.planes import MapPlane, attribute_plane, principal_plane
from dempster.apps.studio.routing import (
    parse_integer,
    parse_positions,
    route,
    run_route,
)
from dempster.apps.studio.sessions import Run, Session
from dempster.data.blocks import sample_rows
from dempster.explain import (
    ObjectExplanation,
    credal_silhouette,
    explain_object,
    retention_curve,
)
from dempster.partition import CredalPartition, credal_rand_index
from dempster.plot.number_of_clusters import match_labels

# ---- planes --------------------------------------------------------------------------------------

CONTOUR_COLUMNS = 120
CONTOUR_ROWS = 90
MAX_CONTOUR_SETS = 40


def _get_plane(run: Run, params: Json) -> MapPlane:
    kind = params["kind"]
    if kind == "pca":
        return run.cached("plane", lambda: principal_plane(run.numbers))
    if kind != "attributes":
        raise InvalidInputError(f"there is no plane {kind!r}")
    preparation = run.preparation
    names = preparation.numbers
    x, y = (parse_integer(params, axis, (0, len(names))) for axis in ("x", "y"))
    scaling = (preparation.center, preparation.scale)
    return run.cached(
        f"plane {x} {y}",
        lambda: attribute_plane(run.attributes[names], run.numbers, x, y, *scaling),
    )


def _plane(run: Run, params: Json) -> bytes:
    plane = _get_plane(run, params)
    return pack(
        {"points": plane.points.astype(np.float32)},
        axes=plane.axes,
        distortion=plane.distortion,
        straight=plane.to_values is not None,
    )


def _contours(run: Run, params: Json) -> bytes:
    """Return masses (0 to 255) on a grid in a box of a plane.

    Attributes that it does not show have their median.
    """
    box = [float(part) for part in params["box"].split(",")]
    left, bottom, right, top = box
    grid = np.meshgrid(
        np.linspace(left, right, CONTOUR_COLUMNS),
        np.linspace(bottom, top, CONTOUR_ROWS),
    )
    to_values = _get_plane(run, params).to_values
    assert to_values is not None  # The page shows masses only on such planes.
    values = to_values(np.column_stack([axis.ravel() for axis in grid]))
    table = pd.DataFrame(values, columns=run.values.columns)
    masses = run.estimator.predict_mass(table).stored_masses
    largest = row_max(masses.T)
    sets = np.sort(np.argsort(-largest, kind="stable")[:MAX_CONTOUR_SETS])
    shades = np.round(255 * select_columns(masses, sets)).astype(np.uint8)
    return pack(
        {"shades": shades.T},
        width=CONTOUR_COLUMNS,
        height=CONTOUR_ROWS,
        sets=sets,
        box=box,
    )


# ---- tables of objects ---------------------------------------------------------------------------

MAX_ROWS = 500


def _rows(run: Run, params: Json) -> Json:
    """Return the names and all cells of the objects at the given positions."""
    positions = parse_positions(params, "positions", len(run))[:MAX_ROWS]
    rows = run.table.iloc[positions]
    return {
        "names": [run.names[i] for i in positions],
        "cells": list(rows.itertuples(index=False, name=None)),
        "columns": [str(name) for name in run.table.columns],
    }


def _order(run: Run, params: Json) -> bytes:
    """Return the positions of the objects in the order of a quantity, missing values last."""
    by = params["by"]
    keys = {
        "doubt": run.doubt,
        "set": run.partition.best_set,
        "name": run.table.index.to_numpy(),
    }
    if by not in keys:
        number = {"by": by.removeprefix("column:")}
        k = parse_integer(number, "by", (0, run.table.shape[1]))
        keys[by] = run.table.iloc[:, k].to_numpy()
    column = pd.Series(keys[by])
    if column.dtype.kind not in "iufbMm":
        column = column.astype(object).map(str, na_action="ignore")
    ordered = column.sort_values(
        ascending=params.get("down") != "1", kind="stable", na_position="last"
    )
    return pack({"order": ordered.index.to_numpy().astype(np.int32)})


def _find(run: Run, params: Json) -> Json:
    """Return the first object whose name starts with a text, or else contains it."""
    text = params["text"].lower()
    names = [name.lower() for name in run.names]
    matches = [i for i, name in enumerate(names) if text in name]
    first = min(matches, key=lambda i: not names[i].startswith(text), default=None)
    return {"position": first}


# ---- explanation of an object --------------------------------------------------------------------

MAX_EXPLAINED_ATTRIBUTES = 40
MAX_EXPLAINED_SETS = 6
MAX_COMPARED_OBJECTS = 50_000
MIN_SHOWN_MASS = 0.005


def _why(run: Run, params: Json) -> Json:
    """Return the explanation of an object with its masses, contributions and exemplars."""
    n = len(run)
    position = parse_integer(params, "object", (0, n))
    compared = sample_rows(n, MAX_COMPARED_OBJECTS, 0)
    compared = np.union1d(compared, position)
    subject = run.named_estimator
    if run.layer is not None:
        subject = run.named_partition[compared]
    index = run.values.index
    reference = index[position] if index.is_unique else run.values.iloc[position]
    with run.lock:
        explanation = explain_object(
            subject,
            run.values.iloc[compared],
            reference,
        )
    explanation = Units.from_preparation(run.preparation).convert_explanation(
        explanation
    )
    numbers = dict(zip(run.named_partition.frame, run.partition.frame, strict=True))
    masses = run.partition[position].masses[0]
    order = np.argsort(-masses, kind="stable")[:MAX_EXPLAINED_SETS]
    exemplars = []
    for exemplar in explanation.exemplars:
        i = int(compared[exemplar.position])
        exemplars.append(
            {
                "cluster": numbers[exemplar.cluster],
                "name": run.names[i],
                "position": i,
                "values": run.cells(i),
            }
        )
    sentences = explanation.to_text().splitlines()
    if len(compared) < n:
        sentences.append(
            f"Compared with a sample of {len(compared):,} of the {len(run):,} objects."
        )
    return {
        "name": run.names[position],
        "doubt": run.doubt[position],
        "sentences": sentences,
        "masses": [
            {"set": j, "name": run.set_names[j], "mass": masses[j]}
            for j in order
            if masses[j] >= MIN_SHOWN_MASS
        ],
        "by": explanation.by,
        "quantity": explanation.quantity,
        "clusters": [numbers[name] for name in explanation.clusters],
        "cluster_names": [format_cluster(name) for name in explanation.clusters],
        "attributes": _contributions(run, explanation, position),
        "exemplars": exemplars,
        "values": run.cells(position),
        "columns": [str(name) for name in run.attributes.columns],
    }


def _contributions(
    run: Run, explanation: ObjectExplanation, position: int
) -> list[Json]:
    """Return the contributions of the attributes in decreasing order, with their values."""
    pull = explanation.contributions
    strength = np.abs(pull[:, 0])
    if pull.shape[1] > 1:
        strength = np.ptp(pull, axis=1)
    values = run.attributes.iloc[position].rename(str)
    rows = []
    for a in np.argsort(-strength, kind="stable")[:MAX_EXPLAINED_ATTRIBUTES]:
        name = explanation.attributes[a]
        usual = [column[a] for column in explanation.typical or ()] or None
        rows.append(
            {"name": name, "value": values.get(name), "usual": usual, "pull": pull[a]}
        )
    return rows


# ---- profiles of clusters ------------------------------------------------------------------------

MAX_PROFILE_FEATURES = 60
MAX_PROFILE_GROUPS = 40


def _profile_run(run: Run) -> ClusterProfiles:
    clustered = list(run.values.columns)
    identifiers = find_id_columns(run.table, clustered)
    table = run.table.drop(columns=identifiers).reset_index(drop=True)
    partition = _select(run, slice(None)).name_clusters(run.named_partition.frame)
    data = ReportInput(partition, frame=table, clustered=clustered)
    profiles = profile_clusters(data, np.random.default_rng(0))
    assert profiles is not None  # There is a table.
    return profiles


def _profiles(run: Run, params: Json) -> Json:
    """Return the size, the typical objects and the attributes of each group."""
    profiles = run.cached("profiles", lambda: _profile_run(run))
    statistics = profiles.profile.statistics
    strength = np.nan_to_num(np.abs(statistics["delta"])).max(axis=0, initial=0)
    features = np.sort(np.argsort(-strength, kind="stable")[:MAX_PROFILE_FEATURES])
    groups = []
    for g, group in enumerate(profiles.profile.groups[:MAX_PROFILE_GROUPS]):
        groups.append(
            {
                "name": group.name,
                "clusters": run.number_clusters(group.clusters),
                "n": len(group),
                "typical": [run.names[i] for i in profiles.typical(g)],
                **{
                    name: statistics[name][g, features]
                    for name in ("mean", "std", "delta")
                },
            }
        )
    return {
        "features": [profiles.profile.features[k].label for k in features],
        "groups": groups,
        "n_profiled": len(profiles.rows),
        "more_groups": max(0, len(profiles.profile.groups) - MAX_PROFILE_GROUPS),
    }


# ---- boundaries between clusters -----------------------------------------------------------------

MAX_BOUNDARIES = 60
MAX_BOUNDARY_OBJECTS = 400
MAX_BOUNDARY_ATTRIBUTES = 12
# minimum plausibility shares of the second cluster
MIN_RIVAL_SHARE = 0.02
MIN_CLOSE_SHARE = 0.2


def _boundaries(run: Run, params: Json) -> Json:
    """Return the pairs of clusters with ambiguous or nearly ambiguous objects, largest first."""
    first, second, share = _rivals(run)
    is_ambiguous = run.partition.focal_sets.cardinality[run.partition.best_set] > 1
    c = run.partition.n_clusters
    code = np.minimum(first, second) * c + np.maximum(first, second)
    ambiguous = np.bincount(code[is_ambiguous], minlength=c * c)
    close = np.bincount(code[share >= MIN_CLOSE_SHARE], minlength=c * c)
    order = [k for k in np.lexsort((-close, -ambiguous)) if ambiguous[k] or close[k]]
    pairs = []
    for k in order[:MAX_BOUNDARIES]:
        a, b = divmod(k, c)
        pairs.append({**_describe_pair(run, a, b), "ambiguous": ambiguous[k]})
    return {"boundaries": pairs}


def _boundary(run: Run, params: Json) -> Json:
    """Return the objects between two clusters a and b, sorted by increasing plausibility of b."""
    bounds = (0, run.partition.n_clusters)
    a = parse_integer(params, "a", bounds)
    b = parse_integer(params, "b", bounds)
    if a == b:
        raise InvalidParameterError("b", "a cluster other than a", b)
    first, second, share = _rivals(run)
    is_between = ((first == a) & (second == b)) | ((first == b) & (second == a))
    objects = np.flatnonzero(is_between & (share >= MIN_RIVAL_SHARE))
    n = len(objects)
    middle = np.argsort(-share[objects], kind="stable")[:MAX_BOUNDARY_OBJECTS]
    objects = np.sort(objects[middle])
    # 0 for a, 1 for b
    towards = np.where(first == b, 1 - share, share)
    listed = [
        {
            "position": i,
            "name": run.names[i],
            "towards": towards[i],
            "set": run.partition.best_set[i],
        }
        for i in objects[np.argsort(towards[objects], kind="stable")]
    ]
    frame = run.named_partition.frame
    rules = _separating_attributes(run, frame[a], frame[b])
    return {**_describe_pair(run, a, b), "objects": listed, "n": n, "apart": rules}


def _describe_pair(run: Run, a: int, b: int) -> Json:
    names = [format_cluster(run.named_partition.frame[k]) for k in (a, b)]
    return {"a": a, "b": b, "names": names, "numbers": run.number_clusters((a, b))}


def _rivals(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two most plausible clusters of each object, and the share of the second."""
    contour = np.asarray(run.partition.contour, float)
    rows = np.arange(len(contour))
    order = np.argsort(-contour, kind="stable")
    first = order[:, 0]
    share = np.zeros(len(contour))
    if contour.shape[1] < 2:
        return first, first, share
    second = order[:, 1]
    total = contour[rows, first] + contour[rows, second]
    np.divide(contour[rows, second], total, out=share, where=total > 0)
    return first, second, share


def _separating_attributes(run: Run, a: Any, b: Any) -> list[Any]:
    """Return the attributes that separate the certain objects of two clusters, best first."""
    profiles = run.cached("profiles", lambda: _profile_run(run))
    try:
        table = profiles.profile.discriminating_features(a, b)
    except ValueError:  # One of the clusters has no certain object.
        return []
    table = table.head(MAX_BOUNDARY_ATTRIBUTES).query("separation > 0")
    return table[["separation", "rule", "clustered"]].to_dict("records")


# ---- quality of a run ----------------------------------------------------------------------------

MAX_SILHOUETTES = 2000
N_SHEPARD_PAIRS = 20_000
_RETAINED_SHARES = np.arange(10, 101, 5) / 100


def _curve(run: Run, params: Json) -> Json:
    """Return the quality of the partition of the objects with the least doubt, by their share."""
    classes = params.get("classes")
    if classes:
        curve = run.cached(f"curve {classes}", lambda: _agreement_curve(run, classes))
    else:
        curve = run.cached("curve", lambda: _silhouette_curve(run))
    measure, share, quality = curve
    return {
        "share": share,
        "quality": quality,
        "measure": measure,
        "low": quality.min(initial=0.0),
    }


def _agreement_curve(run: Run, classes: str) -> tuple[str, np.ndarray, np.ndarray]:
    if classes not in run.table.columns:
        raise InvalidInputError(f"there is no column '{classes}'")
    has_class = run.table[classes].notna().to_numpy()
    if has_class.sum() < 2:
        raise InvalidInputError(
            f"the column '{classes}' contains fewer than two values"
        )
    partition = _select(run, has_class)
    labels = run.table[classes][has_class].astype(str).to_numpy()
    curve = retention_curve(partition, labels, shares=_RETAINED_SHARES)
    return f"adjusted Rand index with {classes}", curve.share, curve.quality


def _silhouette_curve(run: Run) -> tuple[str, np.ndarray, np.ndarray]:
    if run.partition.n_clusters < 2 or len(run) < 4:
        return "silhouette", np.zeros(0), np.zeros(0)
    partition = _select(run, slice(None))
    silhouette = credal_silhouette(
        partition, run.numbers, sample_size=MAX_SILHOUETTES, random_state=0
    )
    order = np.argsort(run.doubt[silhouette.objects], kind="stable")
    values = np.nan_to_num(silhouette.label_values[order])
    counts = np.maximum((_RETAINED_SHARES * len(values) + 1e-9).astype(int), 1)
    quality = np.array([values[:count].mean() for count in counts])
    measure = "mean silhouette"
    if silhouette.is_sampled:
        measure += f" of {len(values):,} sampled objects"
    return measure, _RETAINED_SHARES, quality


def _history(run: Run, params: Json) -> Json:
    model = run.estimator
    return {
        "history": getattr(model, "history_", []),
        "validation": getattr(model, "validation_history_", []),
        "converged": getattr(model, "converged_", None),
        "iterations": getattr(model, "n_iter_", None),
    }


def _shepard(run: Run, params: Json) -> bytes:
    if not hasattr(run.estimator, "shepard"):
        raise InvalidInputError(
            f"{type(run.estimator).__name__} has no Shepard diagram"
        )
    _, delta, conflict = run.estimator.shepard(n_pairs=N_SHEPARD_PAIRS, random_state=0)
    delta = np.asarray(delta, np.float32)
    conflict = np.asarray(conflict, np.float32)
    error = np.sqrt(np.mean((conflict.astype(float) - delta) ** 2))
    return pack({"delta": delta, "conflict": conflict}, error=error, n=len(delta))


def _candidates(run: Run, params: Json) -> bytes:
    """Return the candidates of `CredalClustering`, and labels of those with the selected number."""
    model = run.estimator
    if not hasattr(model, "candidates_"):
        raise InvalidInputError(f"{type(model).__name__} does not compare candidates")
    table = model.candidates_.to_dict("records")
    arrays = {}
    shown = []
    if table:
        labels = model.candidate_labels_
        [selected] = [k for k, one in enumerate(table) if one["selected"]]
        n_clusters = table[selected]["n_clusters"]
        shown = [k for k, one in enumerate(table) if one["n_clusters"] == n_clusters]
        matched = np.stack([match_labels(labels[k], labels[selected]) for k in shown])
        matched = np.asarray(run.partition.frame)[matched]
        arrays = {
            "points": _orient(run, model.candidate_points_).astype(np.float32),
            "labels": matched.astype(np.int32),
        }
    reasons = run.partition.metadata["choices"]
    return pack(arrays, candidates=table, shown=shown, reasons=reasons)


def _orient(run: Run, points: np.ndarray) -> np.ndarray:
    """Return principal components with the signs that they have on the map.

    Both show nearly the same objects, so that the quantiles of each axis agree.
    """
    if run.numbers.shape[1] < 3:  # The points are attributes, which have a direction.
        return points
    shares = np.linspace(0, 1, 101)
    expected = np.quantile(_get_plane(run, {"kind": "pca"}).points, shares, axis=0)
    found = np.quantile(points, shares, axis=0)
    same = np.abs(expected - found).sum(axis=0)
    mirrored = np.abs(expected + found[::-1]).sum(axis=0)
    return points * np.where(mirrored < same, -1, 1)


# ---- comparison of runs --------------------------------------------------------------------------

MAX_LISTED_OBJECTS = 300
MAX_FLOWS = 24
# With more objects, pairs are sampled.
MAX_FULL_OBJECTS = 3_000
N_SAMPLED_PAIRS = 200_000


def _compare(session: Session, params: Json) -> Json:
    """Compare two runs on their common objects; the same clusters have the same number."""
    before = session.get_run(params["before"])
    after = session.get_run(params["after"])
    common, i, j = np.intersect1d(before.rows, after.rows, return_indices=True)
    n_common = len(common)
    if n_common < 2:
        raise InvalidInputError("the two runs have fewer than two objects in common")
    one = _select(before, i)
    other = _select(after, j)
    n_pairs = None
    if n_common > MAX_FULL_OBJECTS:
        n_pairs = N_SAMPLED_PAIRS
    index = credal_rand_index(one, other, n_pairs=n_pairs, random_state=0)
    position = {
        frozenset(before.number_clusters(clusters)): s
        for s, clusters in enumerate(one.focal_sets)
    }
    same_set = [
        position.get(frozenset(after.number_clusters(clusters)), -1)
        for clusters in other.focal_sets
    ]
    moved = np.flatnonzero(one.best_set != np.array(same_set)[other.best_set])

    def describe_sets(old: int, new: int) -> Json:
        names = {"from_name": before.set_names[old], "to_name": after.set_names[new]}
        return {"from": old, "to": new, **names}

    moves = pd.DataFrame({"old": one.best_set[moved], "new": other.best_set[moved]})
    sizes = moves.groupby(["old", "new"]).size()
    sizes = sizes.sort_values(ascending=False, kind="stable").head(MAX_FLOWS)
    largest = sizes.reset_index(name="n").itertuples(index=False)
    objects = [
        {
            "row": common[k],
            "name": before.names[i[k]],
            **describe_sets(one.best_set[k], other.best_set[k]),
        }
        for k in moved[:MAX_LISTED_OBJECTS]
    ]
    return {
        "n": n_common,
        "index": float(index),
        "error": index.standard_error,
        "moved": len(moved),
        "flows": [describe_sets(old, new) | {"n": n} for old, new, n in largest],
        "objects": objects,
    }


def _select(run: Run, positions: Any) -> CredalPartition:
    """Return the partition of some objects, without names because they need not be unique."""
    return CredalPartition.unchecked(
        run.partition.stored_masses[positions],
        run.partition.focal_sets,
        None,
        run.partition.frame,
    )


ROUTES = [
    run_route("/objects", lambda run, params: run.objects),
    run_route("/plane", _plane),
    run_route("/contours", _contours),
    run_route("/rows", _rows, "POST"),
    run_route("/order", _order),
    run_route("/why", _why),
    run_route("/find", _find),
    run_route("/boundaries", _boundaries),
    run_route("/boundary", _boundary),
    run_route("/profiles", _profiles),
    run_route("/curve", _curve),
    run_route("/history", _history),
    run_route("/shepard", _shepard),
    run_route("/candidates", _candidates),
    route("/compare", _compare),
]
