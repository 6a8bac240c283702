"""Cluster: methods and their parameters, runs, belief peaks, candidates for the number of clusters."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_count
from dempster.apps.map import pack, to_plain
from dempster.apps.recipe import Recipe
from dempster.apps.studio.recipe_from_request import LOCAL_PARAMETERS, build_recipe, selected_source
from dempster.apps.studio.routing import Params, parse_integer, route, run_route
from dempster.apps.studio.runs import Run, Source
from dempster.apps.studio.sessions import Session
from dempster.registry import find_method, method_names

_NOT_HERE = ("secm", "wmvec")  # images and several tables are no table of objects
_OWN = ("n_clusters", "random_state", "missing", "verbose", "init", "metric", *LOCAL_PARAMETERS)
# what a person would change first; the rest is folded away
_FIRST = ("focal_sets", "d0", "delta", "alpha", "beta", "n_neighbors", "confidence", "xi")
_MAX_FIRST = 4


@cache
def method_list() -> list[dict[str, Any]]:
    """For the page: every method with what it can do and its parameters, those that matter first."""
    found = []
    for name in method_names():
        if name in _NOT_HERE:
            continue
        info = find_method(name)
        shown = [p for p in info.parameters if p.name not in _OWN or (p.name == "metric" and "adaptive" in p.words)]
        first = [p.name for p in sorted(shown, key=_rank) if p.name in _FIRST][:_MAX_FIRST]
        parameters = [
            {
                "name": p.name,
                "default": to_plain(p.default),
                "kind": p.kind,
                "choices": list(p.choices),
                "flag": p.is_flag,
                "help": p.help,
                "first": p.name in first,
            }
            for p in sorted(shown, key=_rank)
        ]
        found.append(
            {
                "name": name,
                "title": info.class_name,
                "summary": info.summary,
                "parameters": parameters,
                "takes_number": info.parameter("n_clusters") is not None,
                "learns": "constraints" in info.capabilities,
                "takes_partial": "missing" in info.capabilities,
                "takes_categories": bool({"mixed", "categories"} & set(info.capabilities)),
            }
        )
    return found


def _rank(parameter: Any) -> tuple[int, str]:
    return (_FIRST.index(parameter.name) if parameter.name in _FIRST else len(_FIRST), "")


def _start(session: Session, params: Params) -> dict[str, Any]:
    """Cluster all objects, or those that are selected, or start from belief peaks."""
    source, origin, rows = session.table(), "all objects", None
    if params.get("only") == "selection":
        rows = np.flatnonzero(_selected(session))
        source, origin = selected_source(session, rows), f"{len(rows):,} selected objects"
    if params.get("start") is not None:
        if rows is not None:
            raise InvalidInputError("belief peaks are those of all objects: start from them without a selection")
        params, origin = _start_from_peaks(session, params)
    recipe = build_recipe(session, params, source, rows)
    if recipe.constraints is not None:
        n_answers = len(session.pair_answers.between(np.arange(len(session.table().table)) if rows is None else rows))
        origin += f", {format_count(n_answers, 'answer')}"
    session.settings = {name: value for name, value in params.items() if name not in ("session", "only", "start")}
    number = session.next_run()

    def finish(found: Any, warnings: list[str]) -> dict[str, Any]:
        run = _run(number, recipe, source, session.table(), found, warnings, origin, rows)
        about = run.describe()
        session.keep(run)
        return about

    return {"job": session.start("run", "cluster", {"recipe": recipe.to_dict()}, finish).describe()}


def _run(
    number: str,
    recipe: Recipe,
    source: Source,
    everyone: Source,
    found: dict[str, Any],
    warnings: list[str],
    origin: str,
    chosen: np.ndarray | None,
) -> Run:
    rows = found["rows"] if chosen is None else chosen[found["rows"]]
    model = found["estimator"]
    name = f"{type(model).__name__}, {model.credal_partition_.n_clusters} clusters"
    return Run(
        id=number,
        name=name,
        recipe=recipe,
        estimator=model,
        table=everyone.table.iloc[rows],
        attributes=found["attributes"],
        values=found["values"],
        preparation=found["preparation"],
        rows=rows,
        notes=[*found["notes"], *warnings],
        seconds=found["seconds"],
        origin=origin,
    )


def _selected(session: Session) -> np.ndarray:
    if session.selection is None or not session.selection.any():
        raise InvalidInputError("nothing is selected")
    return session.selection


def _start_from_peaks(session: Session, params: Params) -> tuple[Params, str]:
    """The same settings with centers at the objects that were chosen in the delta-Bel graph."""
    if session.peaks is None:
        raise InvalidInputError("find the belief peaks first")
    values = session.peaks["values"]
    chosen = list(params["start"])
    if not chosen or not all(0 <= i < len(values) for i in chosen):
        raise InvalidInputError("select the centers in the graph first")
    if len(chosen) > 100:
        raise InvalidInputError(f"{len(chosen)} centers are selected; choose at most 100")
    prominence = session.peaks["belief"] * session.peaks["delta"]
    chosen.sort(key=lambda i: -prominence[i])
    parameters = {**(params.get("parameters") or {}), "init": values[chosen].tolist()}
    settings = {
        **session.peaks["settings"],
        "method": params.get("method"),
        "clusters": len(chosen),
        "parameters": parameters,
    }
    return settings, f"{len(chosen)} chosen belief peaks"


def _forget(session: Session, params: Params) -> dict[str, Any]:
    with session.lock:
        session.runs.pop(str(params["run"]), None)
    return {}


def _rename(run: Run, params: Params) -> dict[str, Any]:
    name = str(params.get("name", "")).strip()
    if not name:
        raise InvalidInputError("a run needs a name")
    run.name = name[:80]
    return run.describe()


# ---- peaks and numbers ----------------------------------------------------------------------------------------------


def _find_peaks(session: Session, params: Params) -> dict[str, Any]:
    params = {**params, "method": "bpec", "parameters": {}, "clusters": "auto", "learn": False}
    recipe = build_recipe(session, params, session.table())
    kept = ("columns", "categories", "scale", "missing", "seed")
    settings = {name: params[name] for name in kept if name in params}

    def finish(found: Any, warnings: list[str]) -> dict[str, Any]:
        session.peaks = {**found, "settings": settings, "notes": warnings}
        return {"chosen": found["chosen"], "n_neighbors": found["n_neighbors"]}

    neighbors = params.get("n_neighbors")
    neighbors = "auto" if neighbors in (None, "", "auto") else parse_integer(neighbors, "n_neighbors")
    arguments = {"recipe": recipe.to_dict(), "n_neighbors": neighbors}
    return {"job": session.start("peaks", "peaks", arguments, finish).describe()}


def _peaks(session: Session, params: Params) -> bytes:
    found = session.peaks
    if found is None:
        raise InvalidInputError("find the belief peaks first")
    arrays = {"belief": found["belief"], "delta": found["delta"], "rows": found["rows"].astype(np.int32)}
    about = {name: found[name] for name in ("chosen", "n_neighbors", "min_belief", "notes")}
    return pack(arrays, n=len(found["belief"]), **about)


def _number(session: Session, params: Params) -> dict[str, Any]:
    params = {**params, "method": "evclus", "parameters": {}, "clusters": "auto", "learn": False}
    recipe = build_recipe(session, params, session.table())

    def finish(found: Any, warnings: list[str]) -> Any:
        session.number = to_plain(found)
        return session.number

    return {"job": session.start("number", "number", {"recipe": recipe.to_dict()}, finish).describe()}


ROUTES = [
    route("/runs", _start, "POST"),
    route("/runs/{run}", _forget, "DELETE"),
    run_route("/name", _rename, "POST"),
    route("/peaks", _find_peaks, "POST"),
    route("/peaks", _peaks),
    route("/number", _number, "POST"),
]
