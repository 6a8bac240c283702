"""Look at a run: its objects, planes, reasons, boundaries, groups, curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.studio.answers import boundaries, contours, groups, objects, quality
from dempster.apps.studio.packing import packed, plain
from dempster.apps.studio.planes.plane import Plane, attribute_plane, principal_plane
from dempster.apps.studio.routes.asking import Given, route, run_of, whole
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session

__all__ = ["ROUTES"]

_MOST_ROWS = 500
_SHEPARD_PAIRS = 20_000


def _objects(session: Session, given: Given) -> bytes:
    return run_of(session, given).objects


# ---- planes ---------------------------------------------------------------------------------------------------------


def _make_plane(session: Session, given: Given) -> dict[str, Any]:
    """Scaling and UMAP take a while: they are work. The others are there at once."""
    run, kind = run_of(session, given), str(given.get("kind"))
    if kind in run.planes or kind not in ("mds", "umap"):
        return {"ready": True}

    def finish(plane: Plane, warnings: list[str]) -> dict[str, Any]:
        run.planes[kind] = plane
        return {"ready": True}

    arguments = {"kind": kind, "numbers": run.numbers}
    return {"job": session.start("plane", "plane", arguments, finish).describe()}


def plane_of(run: Run, given: Given) -> Plane:
    """The plane that is asked for."""
    kind = str(given.get("kind"))
    key = kind
    if kind == "attributes":
        numbers = run.preparation.numbers
        x, y = whole(given, "x"), whole(given, "y")
        if not (0 <= x < len(numbers) and 0 <= y < len(numbers)):
            raise InvalidInputError(f"x and y must be columns from 0 to {len(numbers) - 1}, got {x} and {y}")
        key = f"attributes {x} {y}"
    with run.lock:
        if key not in run.planes:
            if kind == "attributes":
                table = run.attributes[run.preparation.numbers]
                made = attribute_plane(table, run.numbers, x, y, run.preparation.center, run.preparation.scale)
            elif kind == "pca":
                made = principal_plane(run.numbers)
            else:
                raise InvalidInputError(f"there is no plane {kind!r} yet")
            run.planes[key] = made
        return run.planes[key]


def _plane(session: Session, given: Given) -> bytes:
    plane = plane_of(run_of(session, given), given)
    return packed({"points": plane.points.astype(np.float32)}, **plane.describe())


def _contours(session: Session, given: Given) -> bytes:
    run = run_of(session, given)
    try:
        left, bottom, right, top = (float(part) for part in str(given.get("box")).split(","))
    except ValueError as error:
        raise InvalidInputError("box must be four numbers: left, bottom, right, top") from error
    return contours.contours(run, plane_of(run, given), (left, bottom, right, top))


# ---- objects --------------------------------------------------------------------------------------------------------


def _rows(session: Session, given: Given) -> dict[str, Any]:
    """Cells of some objects, by their positions."""
    run = run_of(session, given)
    positions = (given.get("positions") or [])[:_MOST_ROWS]
    if not all(0 <= i < len(run) for i in positions):
        raise InvalidInputError(f"positions must lie between 0 and {len(run) - 1}")
    rows = run.table.iloc[positions]
    return {
        "names": [run.names[i] for i in positions],
        "cells": [plain(list(row)) for row in rows.itertuples(index=False, name=None)],
        "columns": [str(name) for name in run.table.columns],
    }


def _order(session: Session, given: Given) -> bytes:
    """Positions of the objects sorted by doubt, name, set, or a column; missing cells come last."""
    run, by = run_of(session, given), str(given.get("by"))
    down = given.get("down") == "1"
    if by == "doubt":
        keys: Any = run.doubt
    elif by == "mass":
        keys = run.partition.masses[np.arange(len(run)), run.partition.best_set]
    elif by == "set":
        keys = run.partition.best_set
    elif by == "name":
        keys = run.table.index.to_numpy()
    elif by.startswith("column:"):
        k = whole({"column": by.removeprefix("column:")}, "column")
        if not 0 <= k < run.table.shape[1]:
            raise InvalidInputError(f"there is no column {k}")
        keys = run.table.iloc[:, k].to_numpy()
    else:
        raise InvalidInputError(f"objects cannot be sorted by {by!r}")
    return packed({"order": _sorted(keys, down).astype(np.int32)})


def _sorted(keys: Any, down: bool) -> np.ndarray:
    import pandas as pd

    column = pd.Series(keys)
    if column.dtype.kind not in "iufbMm":
        column = column.astype(object).where(column.notna(), None).map(lambda cell: None if cell is None else str(cell))
    return column.sort_values(ascending=not down, kind="stable", na_position="last").index.to_numpy()


def _why(session: Session, given: Given) -> dict[str, Any]:
    return objects.why(run_of(session, given), whole(given, "object"))


def _find(session: Session, given: Given) -> dict[str, Any]:
    """The first objects whose name begins with, or else holds, what was typed."""
    run, text = run_of(session, given), str(given.get("text", "")).strip().lower()
    if not text:
        return {"found": []}
    begins = [i for i, name in enumerate(run.names) if name.lower().startswith(text)][:8]
    holds = [i for i, name in enumerate(run.names) if text in name.lower()][:16] if len(begins) < 8 else []
    return {"found": [{"position": i, "name": run.names[i]} for i in dict.fromkeys([*begins, *holds])][:8]}


# ---- the whole ------------------------------------------------------------------------------------------------------


def _boundaries(session: Session, given: Given) -> Any:
    return {"boundaries": boundaries.boundaries(run_of(session, given))}


def _boundary(session: Session, given: Given) -> Any:
    return boundaries.boundary(run_of(session, given), whole(given, "a"), whole(given, "b"))


def _profiles(session: Session, given: Given) -> Any:
    return groups.profiles(run_of(session, given))


def _curve(session: Session, given: Given) -> Any:
    return quality.curve(run_of(session, given), given.get("classes") or None)


def _history(session: Session, given: Given) -> Any:
    model = run_of(session, given).estimator
    history = np.asarray(getattr(model, "history_", ()), dtype=float)
    validation = np.asarray(getattr(model, "validation_history_", ()), dtype=float)
    return plain(
        {
            "history": history,
            "validation": validation,
            "converged": getattr(model, "converged_", None),
            "iterations": getattr(model, "n_iter_", None),
        }
    )


def _shepard(session: Session, given: Given) -> bytes:
    run = run_of(session, given)
    if not hasattr(run.estimator, "shepard"):
        raise InvalidInputError(f"{type(run.estimator).__name__} fits no dissimilarities: there is no Shepard diagram")
    _, delta, conflict = run.estimator.shepard(n_pairs=_SHEPARD_PAIRS, random_state=0)
    delta, conflict = np.asarray(delta, dtype=np.float32), np.asarray(conflict, dtype=np.float32)
    error = float(np.sqrt(np.mean((conflict.astype(float) - delta) ** 2))) if len(delta) else None
    return packed({"delta": delta, "conflict": conflict}, error=error, n=len(delta))


ROUTES = [
    route("/runs/{run}/objects", _objects),
    route("/runs/{run}/plane", _make_plane, "POST"),
    route("/runs/{run}/plane", _plane),
    route("/runs/{run}/contours", _contours),
    route("/runs/{run}/rows", _rows, "POST"),
    route("/runs/{run}/order", _order),
    route("/runs/{run}/why", _why),
    route("/runs/{run}/find", _find),
    route("/runs/{run}/boundaries", _boundaries),
    route("/runs/{run}/boundary", _boundary),
    route("/runs/{run}/profiles", _profiles),
    route("/runs/{run}/curve", _curve),
    route("/runs/{run}/history", _history),
    route("/runs/{run}/shepard", _shepard),
]
