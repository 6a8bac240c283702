"""Handle requests about methods, runs, belief peaks and the number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dempster._errors import InvalidInputError
from dempster._text import (
    MAX_NAME_CHARACTERS,
    format_count,
    to_plain,
)
from dempster.apps.map import pack
from dempster.apps.methods import METHODS, default_method, method_names, parse_value
from dempster.apps.recipe import Recipe
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.opening import restore_state
from dempster.apps.studio.routing import parse_integer, parse_positions, route
from dempster.apps.studio.saving import save_session
from dempster.apps.studio.sessions import Run, Session, Source

MAX_MAIN_PARAMETERS = 4
MAX_DESCRIPTION_CHARACTERS = 1000
_OTHER_INPUT_METHODS = ("secm", "wmvec")  # methods for images and for several tables
# parameters that depend on the machine
_LOCAL_PARAMETERS = (
    "device",
    "checkpoint",
    "n_jobs",
)
_HIDDEN_PARAMETERS = (
    "n_clusters",
    "random_state",
    "missing",
    "verbose",
    "init",
    "clusterer",
    *_LOCAL_PARAMETERS,
)
# The page shows these parameters first and collapses all other parameters.
_MAIN_PARAMETERS = (
    "focal_sets",
    "d0",
    "delta",
    "alpha",
    "beta",
    "n_neighbors",
    "confidence",
    "xi",
)

# ---- methods -------------------------------------------------------------------------------------


@cache
def list_methods() -> list[Json]:
    """Return descriptions of the methods with their capabilities and parameters."""
    plain = METHODS[default_method(constrained=False)].class_name
    constrained = METHODS[default_method(constrained=True)].class_name
    automatic = {
        "name": "auto",
        "title": "Automatic",
        "summary": f"{plain}, or {constrained} if answers about pairs are used. "
        "Select a method to set its parameters.",
        "parameters": [],
        "takes_number": True,
        "learns": True,
        "learner": constrained,
    }
    names = [name for name in method_names() if name not in _OTHER_INPUT_METHODS]
    given = _describe_method("doubt") | {"title": "I have clusters already"}
    return [automatic, given, *map(_describe_method, names)]


def _describe_method(name: str) -> Json:
    info = METHODS[name]
    # The parameter metric is hidden if it allows "precomputed", because the studio clusters tables
    # only.
    parameters = [
        p
        for p in info.parameters
        if p.name not in _HIDDEN_PARAMETERS
        and (p.name != "metric" or (p.choices and "precomputed" not in p.choices))
    ]
    order = {main: k for k, main in enumerate(_MAIN_PARAMETERS)}
    parameters.sort(key=lambda p: order.get(p.name, len(order)))
    main = [p.name for p in parameters if p.name in order][:MAX_MAIN_PARAMETERS]
    return {
        "name": name,
        "title": info.class_name,
        "summary": info.summary,
        "parameters": [
            {
                "name": p.name,
                "default": to_plain(p.default),
                "kind": p.kind,
                "choices": p.choices,
                "help": p.help,
                "first": p.name in main,
            }
            for p in parameters
        ],
        "takes_number": info.parameter("n_clusters") is not None,
        "learns": "constraints" in info.capabilities,
        "takes_labels": info.package == "labels",
    }


# ---- recipes -------------------------------------------------------------------------------------


def build_recipe(
    session: Session,
    params: Json,
    source: Source,
    answers: Sequence[tuple[int, int, str]] = (),
) -> Recipe:
    """Return the recipe for a run, and write the answers about pairs to a file."""
    source.check_unchanged()
    labels = None
    if params.get("method") == "doubt":
        labels = str(params.get("given") or "")
        if labels not in source.table.columns:
            raise InvalidInputError("select the column with your clusters")
    columns = [name for name in params.get("columns") or [] if name != labels]
    categories = [name for name in params.get("categories") or [] if name != labels]
    if not columns and not categories:
        raise InvalidInputError("select at least one column to cluster by")
    for name in [*columns, *categories]:
        if name not in source.table.columns:
            raise InvalidInputError(f"there is no column '{name}'")
    constraints = None
    if answers:
        path = session.new_file("answers.csv")
        path.write_text(format_answers(answers, source.table.index), encoding="utf-8")
        constraints = str(path)
    clusters: int | str = "auto"
    if params.get("clusters", clusters) != clusters:
        clusters = parse_integer(params, "clusters")
    options = source.options
    return Recipe(
        files=(str(source.path),),
        header=options.get("header"),
        delimiter=options.get("delimiter"),
        decimal=options.get("decimal"),
        index=options.get("index_col"),
        columns=columns,
        categories=categories,
        scale=params.get("scale", "auto"),
        missing=str(params.get("missing") or "refuse"),
        method=str(params.get("method") or "auto"),
        clusters=clusters,
        seed=parse_integer({"seed": params.get("seed") or 0}, "seed"),
        parameters=_parse_parameters(params.get("parameters") or {}),
        constraints=constraints,
        labels=labels,
    )


def _parse_parameters(fields: Json) -> Json:
    """Return the parameters entered on the page, which sends no empty fields."""
    parameters = {}
    for name, value in fields.items():
        if name in _LOCAL_PARAMETERS:
            raise InvalidInputError(f"parameters: {name} cannot be set in the studio")
        parameters[name] = parse_value(value) if isinstance(value, str) else value
    return parameters


def format_answers(answers: Sequence[tuple[int, int, str]], names: Any) -> str:
    """Return answers about pairs as CSV with the columns object, other and answer."""
    rows = [(names[first], names[second], answer) for first, second, answer in answers]
    table = pd.DataFrame(rows, columns=["object", "other", "answer"])
    return table.to_csv(index=False, lineterminator="\n")


# ---- runs ----------------------------------------------------------------------------------------


def _start_run(session: Session, params: Json) -> Json:
    """Start a clustering run of all objects or of the selection.

    Belief peaks can be its initial centers.
    """
    source = session.get_source()
    if any(job.kind == "load" for job in session.running_jobs()):
        raise InvalidInputError("a table is being read; wait until it is shown")
    table = source.table
    rows = np.arange(len(table))
    origin = "all objects"
    if params.get("only") == "selection":
        rows = np.flatnonzero(session.get_selection())
        source = _write_rows(session, rows)
        origin = f"{len(rows):,} selected objects"
    if params.get("start") is not None:
        params, origin = _start_from_peaks(session, params)
    answers = []
    if params.get("learn"):
        answers = session.all_pairs().select(rows)
    recipe = build_recipe(session, params, source, answers)
    if answers:
        origin += f", {format_count(len(answers), 'answer')}"
    session.settings = {
        name: value
        for name, value in params.items()
        if name not in ("session", "only", "start")
    }
    session.n_runs += 1
    number = str(session.n_runs)

    def finish(result: Any, warnings: list[str]) -> Json:
        model = result["estimator"]
        partition = model.credal_partition_
        # The clusters of runs have numbers, which select their colors, and separate names.
        model.credal_partition_ = partition.name_clusters(range(partition.n_clusters))
        about = type(model).__name__
        if recipe.keeps_labels:
            about = str(recipe.labels)
        run_rows = rows[result["rows"]]
        run = Run(
            id=number,
            name=f"{about}, {partition.n_clusters} clusters",
            recipe=recipe,
            estimator=model,
            table=table.iloc[run_rows],
            attributes=result["attributes"],
            values=result["values"],
            preparation=result["preparation"],
            rows=run_rows,
            notes=[*result["notes"], *warnings],
            seconds=result["seconds"],
            n_left_out=len(rows) - len(run_rows),
            origin=origin,
        )
        session.add_run(run)
        if recipe.keeps_labels:
            numbers = run.partition.frame
            names = ((str(name), "") for name in partition.frame)
            run.labels = dict(zip(numbers, names, strict=True))
        save_session(session)
        return run.describe()

    return session.start_job("run", "cluster", {"recipe": recipe.to_dict()}, finish)


def _write_rows(session: Session, rows: np.ndarray) -> Source:
    """Write rows of the table to a file, so that the run can be repeated from this file."""
    source = session.get_source()
    if len(rows) < 2:
        raise InvalidInputError(
            f"select at least two objects to cluster, got {len(rows)}"
        )
    path = session.new_file(f"{Path(source.name).name.split('.')[0]}-selection.csv")
    part = source.table.iloc[rows]
    index = source.options.get("index_col", False)
    options = {"header": True, "delimiter": ",", "decimal": ".", "index_col": index}
    if not index:
        part = part.reset_index(drop=True)
    part.to_csv(path, index=bool(index), index_label=index or None)
    return Source(path, path.name, options, part)


def _start_from_peaks(session: Session, params: Json) -> tuple[Json, str]:
    """Return the settings with the selected belief peaks as initial centers, and a description."""
    if session.peaks is None:
        raise InvalidInputError("find the belief peaks first")
    values = session.peaks["values"]
    prominence = session.peaks["belief"] * session.peaks["delta"]
    centers = parse_positions(params, "start", len(values))
    centers.sort(key=lambda i: -prominence[i])
    if not centers:
        raise InvalidInputError("select at least one belief peak")
    settings = {
        **session.peaks["settings"],
        "method": params.get("method"),
        "clusters": len(centers),
        "parameters": {
            **(params.get("parameters") or {}),
            "init": values[centers].tolist(),
        },
    }
    return settings, f"{len(centers)} chosen belief peaks"


def _delete_run(session: Session, params: Json) -> Json:
    session.delete_run(str(params["run"]))
    return session.describe()


def _name_clusters(session: Session, params: Json) -> Json:
    """Give the clusters of a run names and descriptions, which may be empty."""
    labels = {}
    for one in params["labels"]:
        name = " ".join(str(one.get("name") or "")[:MAX_NAME_CHARACTERS].split())
        text = str(one.get("text") or "")[:MAX_DESCRIPTION_CHARACTERS].strip()
        if name or text:
            labels[parse_integer(one, "number")] = (name, text)
    with session.lock:
        run = session.get_run(str(params["run"]))
        session.runs[run.id] = run.name_clusters(labels)
    return session.describe()


def _undo(session: Session, params: Json) -> Json:
    session.undo(restore_state)
    return session.describe()


# ---- belief peaks and number of clusters ---------------------------------------------------------


def _prepare(session: Session, params: Json, method: str) -> Json:
    """Return the arguments of a task that prepares the table as for a method."""
    params = {**params, "method": method, "parameters": {}, "clusters": "auto"}
    recipe = build_recipe(session, params, session.get_source())
    return {"recipe": recipe.to_dict()}


def _start_peaks(session: Session, params: Json) -> Json:
    settings = {
        name: params[name]
        for name in ("columns", "categories", "scale", "missing", "seed")
        if name in params
    }

    def finish(result: Any, warnings: list[str]) -> None:
        session.peaks = {**result, "settings": settings}

    arguments = _prepare(session, params, "bpec")
    return session.start_job("peaks", "peaks", arguments, finish)


def _get_peaks(session: Session, params: Json) -> bytes:
    peaks = session.peaks
    if peaks is None:
        raise InvalidInputError("find the belief peaks first")
    arrays = {
        "belief": peaks["belief"],
        "delta": peaks["delta"],
        "rows": peaks["rows"].astype(np.int32),
    }
    values = {name: peaks[name] for name in ("chosen", "n_neighbors")}
    return pack(arrays, n=len(peaks["belief"]), **values)


def _start_number(session: Session, params: Json) -> Json:
    def finish(result: Any, warnings: list[str]) -> Any:
        session.number = result
        return result

    arguments = _prepare(session, params, "auto")
    return session.start_job("number", "number", arguments, finish)


ROUTES = [
    route("/runs", _start_run, "POST"),
    route("/runs/{run}", _delete_run, "DELETE"),
    route("/runs/{run}/names", _name_clusters, "POST"),
    route("/undo", _undo, "POST"),
    route("/peaks", _start_peaks, "POST"),
    route("/peaks", _get_peaks),
    route("/number", _start_number, "POST"),
]
