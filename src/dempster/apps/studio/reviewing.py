"""Review of single objects: their rows, pictures and texts, and the decisions of a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from starlette.responses import Response

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.apps.studio.errors import GoneError
from dempster.apps.studio.export import download_once, stem, with_weights
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.routing import parse_integer, route
from dempster.apps.studio.sessions import Decision, Run, Session
from dempster.explain.review import describe_assignments, join_columns
from dempster.io.partitions import write_table

KINDS = ("cluster", "outlier", "skip")
MAX_NOTE_CHARACTERS = 2000
MAX_NAMED_CLUSTERS = 9  # clusters that a key selects
MAX_COLUMNS = 200
MAX_TEXT_CHARACTERS = 20_000
MIN_TEXT_CHARACTERS = 80  # longer cells are shown as paragraphs
MAX_PICTURE_BYTES = 50 << 20
# Formats that cannot contain scripts.
_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
}
_TEXTS = (".txt", ".md")

# ---- one object ----------------------------------------------------------------------------------


def _describe_object(session: Session, params: Json) -> Json:
    """Return the row of an object, its pictures and texts, and its most plausible clusters."""
    run = session.get_run(params["run"])
    position = parse_integer(params, "object", (0, len(run)))
    contour = np.asarray(run.partition[position].contour, float)[0]
    order = np.argsort(-contour, kind="stable")[:MAX_NAMED_CLUSTERS]
    cells = [
        [str(name), cell]
        for name, cell in run.table.iloc[position].items()
        if not isinstance(cell, str) or len(cell) <= MIN_TEXT_CHARACTERS
    ]
    return {
        "name": run.names[position],
        "row": run.rows[position],
        "doubt": run.doubt[position],
        "clusters": [
            {"number": run.partition.frame[k], "plausibility": contour[k]}
            for k in order
        ],
        "media": list_media(session, run, position),
        "cells": cells[:MAX_COLUMNS],
    }


def list_media(session: Session, run: Run, position: int) -> list[Json]:
    """Return the pictures and texts in the row of an object, or in the files that it names."""
    row = run.table.iloc[position]
    cells = [(run.table.index.name, run.names[position]), *row.items()]
    media = [_describe_file(session, name, cell) for name, cell in cells]
    return [one for one in media if one is not None]


def _describe_file(session: Session, column: Any, cell: Any) -> Json | None:
    """Return the text of a long cell or of a text file, or the column of a picture, or None."""
    if not isinstance(cell, str):
        return None
    found: Json = {"column": str(column)}
    suffix = Path(cell).suffix.lower()
    if "\n" not in cell and (suffix in _PICTURES or suffix in _TEXTS):
        path = _find_file(session, cell)
        if path is None:
            return None
        if suffix in _PICTURES:
            return found | {"kind": "picture"}
        with open(path, encoding="utf-8", errors="replace") as file:
            return found | {"kind": "text", "text": file.read(MAX_TEXT_CHARACTERS)}
    if len(cell) > MIN_TEXT_CHARACTERS:
        return found | {"kind": "text", "text": cell[:MAX_TEXT_CHARACTERS]}
    return None


def _find_file(session: Session, address: str) -> Path | None:
    """Return the file at a path or an address, or None if it is not in the folder of the table.

    Nothing is loaded from the network, and links that leave the folder are not followed.
    """
    origin = session.get_source().origin
    if origin is None:
        return None
    try:
        parts = urlsplit(address)
        if parts.scheme == "file":
            address = unquote(parts.path)
        elif parts.netloc:
            return None
        folder = origin.parent.resolve(strict=True)
        path = (folder / address).resolve(strict=True)
        is_inside = path.is_relative_to(folder) and path.is_file()
    except (OSError, ValueError):  # no such file, or an invalid name
        return None
    return path if is_inside else None


def _get_picture(session: Session, params: Json) -> Response:
    """Return the picture that a cell names."""
    run = session.get_run(params["run"])
    position = parse_integer(params, "object", (0, len(run)))
    column = params["column"]
    cells: Any = run.names
    if column != str(run.table.index.name):
        if column not in run.table.columns:
            raise InvalidInputError(f"there is no column '{column}'")
        cells = list(run.table[column])
    cell = str(cells[position])
    path = _find_file(session, cell)
    if path is None or path.suffix.lower() not in _PICTURES:
        raise GoneError(f"{cell} is not a picture in the folder of the table")
    if path.stat().st_size > MAX_PICTURE_BYTES:
        raise InvalidInputError(f"{path.name} is larger than 50 MB")
    return Response(path.read_bytes(), media_type=_PICTURES[path.suffix.lower()])


# ---- decisions -----------------------------------------------------------------------------------


def _list_decisions(session: Session, params: Json) -> Json:
    """Return all decisions in the order of deciding."""
    names = session.get_source().names
    return {
        "decisions": [
            {
                "row": row,
                "name": names[row],
                "kind": decision.kind,
                "cluster": decision.cluster,
                "note": decision.note,
            }
            for row, decision in session.decisions.items()
        ]
    }


def _decide(session: Session, params: Json) -> Json:
    """Store a decision about an object of a run, or a note on it; the last one is valid."""
    run = session.get_run(params["run"])
    position = parse_integer(params, "object", (0, len(run)))
    kind = params["kind"]
    if kind not in KINDS:
        raise InvalidParameterError("kind", "'cluster', 'outlier' or 'skip'", kind)
    note = str(params.get("note") or "")[:MAX_NOTE_CHARACTERS].strip()
    decision = Decision(kind, note=note)
    with session.lock:
        if kind == "cluster":
            number = parse_integer(params, "cluster")
            decision = _assign(session, run, position, number, note)
        row = int(run.rows[position])
        others = {k: one for k, one in session.decisions.items() if k != row}
        session.decisions = {**others, row: decision}
    return _list_decisions(session, params)


def _assign(
    session: Session, run: Run, position: int, number: int, note: str
) -> Decision:
    """Return the decision for a cluster, with typical objects of this and of rival clusters.

    The rivals are the other clusters in the set of the object or, if there are none, the most
    plausible other cluster.
    """
    frame = list(run.partition.frame)
    if number not in frame:
        raise InvalidParameterError("cluster", f"one of {frame}", number)
    cluster = frame.index(number)
    members = list(run.partition.focal_sets)[run.partition.best_set[position]]
    rivals = [k for k in members if k != cluster]
    if not rivals and len(frame) > 1:
        contour = np.array(run.partition[position].contour, float)[0]
        contour[cluster] = -1
        rivals = [int(contour.argmax())]
    taken = {*session.decisions, int(run.rows[position])}
    typical = {k: _typical_row(run, k, taken) for k in (cluster, *rivals)}
    different = [typical[k] for k in rivals]
    return Decision(
        "cluster",
        number,
        note,
        same=tuple(row for row in [typical[cluster]] if row is not None),
        different=tuple(row for row in different if row is not None),
    )


def _typical_row(run: Run, cluster: int, taken: set[int]) -> int | None:
    """Return the row with the largest mass on a cluster that is not taken, or None."""
    belief = run.cached("belief", lambda: np.asarray(run.partition.singleton_belief))
    certain = np.flatnonzero(
        (run.partition.labels == cluster)
        & (run.partition.focal_sets.cardinality[run.partition.best_set] == 1)
    )
    order = certain[np.argsort(-belief[certain, cluster], kind="stable")]
    return next((row for row in run.rows[order].tolist() if row not in taken), None)


def _remove_decision(session: Session, params: Json) -> Json:
    row = parse_integer(params, "row")
    with session.lock:
        decision = session.decisions.get(row)
        if decision is not None:
            session.remember("deleted a decision", {"decisions": {row: decision}})
            session.decisions = {
                k: one for k, one in session.decisions.items() if k != row
            }
    return _list_decisions(session, params)


# ---- the corrected table -------------------------------------------------------------------------


def _corrected_table(session: Session, params: Json) -> Response:
    """Return the table with the clusters, of which a person decided some, as a CSV file."""
    run = with_weights(session, params)
    assigned = describe_assignments(run.partition)
    assigned["decided by"] = "model"
    assigned["note"] = ""
    numbers = session.get_run(params["run"]).partition.frame
    names = dict(zip(numbers, run.partition.frame, strict=True))
    position = {int(row): i for i, row in enumerate(run.rows)}
    for row, decision in session.decisions.items():
        i = position.get(row)
        if i is None:
            continue
        assigned.loc[i, "note"] = decision.note
        decided = "outlier"
        if decision.kind == "cluster":
            decided = str(names.get(decision.cluster, ""))
        if decision.kind != "skip" and decided:
            assigned.loc[i, ["cluster", "decided by"]] = [decided, "person"]
    table = join_columns(session.get_source().table, assigned, run.rows)
    path = session.new_file(f"{stem(run)}.corrected.csv")
    write_table(table, path)
    return download_once(path)


ROUTES = [
    route("/runs/{run}/object", _describe_object),
    route("/runs/{run}/picture", _get_picture),
    route("/runs/{run}/corrected", _corrected_table),
    route("/decisions", _list_decisions),
    route("/runs/{run}/decisions", _decide, "POST"),
    route("/decisions/remove", _remove_decision, "POST"),
]
