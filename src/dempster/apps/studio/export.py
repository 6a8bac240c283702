"""Export the results of a run, and code and a command that repeat the run."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from starlette.responses import Response

from dempster._errors import InvalidInputError
from dempster._text import format_cluster
from dempster.apps.recipe import Recipe, TableModel, reweight_sets
from dempster.apps.recipe.export import to_code
from dempster.apps.recipe.model import WEIGHTS
from dempster.apps.studio.errors import BadRequestError
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.routing import CSV, download, route, run_route
from dempster.apps.studio.sessions import Run, Session
from dempster.io import write_partition
from dempster.persistence import save


def stem(run: Run) -> str:
    """Return the name of the table of a run without its extension."""
    return Path(run.recipe.files[0]).name.split(".")[0]


def with_weights(session: Session, params: Json) -> Run:
    """Return a run with the weights of the sliders of the page, and with names of its clusters."""
    run = session.get_run(params["run"])
    try:
        weights: Json = {name: float(params.get(name) or 1) for name in WEIGHTS}
    except (TypeError, ValueError) as error:
        raise BadRequestError("weights must be numbers") from error
    estimator = copy(run.estimator)
    estimator.credal_partition_ = reweight_sets(run.named_partition, **weights)
    recipe = replace(run.recipe, **weights)
    return replace(run, estimator=estimator, recipe=recipe, layer=None, labels={})


def _portable_recipe(run: Run) -> Recipe:
    """Return the recipe of a run with file names instead of paths."""
    files = tuple(Path(file).name for file in run.recipe.files)
    constraints = run.recipe.constraints
    return replace(
        run.recipe, files=files, constraints=constraints and Path(constraints).name
    )


def _to_table_model(run: Run) -> TableModel:
    return TableModel(run.estimator, run.preparation, _portable_recipe(run).to_toml())


def _partition(session: Session, params: Json) -> Response:
    run = with_weights(session, params)
    path = session.new_file(f"{stem(run)}.partition.{params['kind']}")
    write_partition(run.partition, path)
    return download_once(path)


def _model(session: Session, params: Json) -> Response:
    """Return a model file for `dempster predict`, which prepares tables like the run."""
    run = with_weights(session, params)
    path = session.new_file(f"{stem(run)}.dempster")
    save(_to_table_model(run), path)
    return download_once(path)


def download_once(path: Path) -> Response:
    """Return a file as a download, and remove it."""
    content = path.read_bytes()
    path.unlink()
    return download(content, path.name)


def _data(session: Session, params: Json) -> Response:
    """Return the data file that the exported code and command read."""
    path = Path(session.get_run(params["run"]).recipe.files[0])
    source = session.get_source()
    if path == source.path:
        source.check_unchanged()
    return download(path.read_bytes(), path.name)


def _answers(run: Run, params: Json) -> Response:
    """Return the answers about pairs that a run used, as a CSV file."""
    if run.recipe.constraints is None:
        raise InvalidInputError("this run used no answers")
    return download(Path(run.recipe.constraints).read_bytes(), "answers.csv", CSV)


def _selection(session: Session, params: Json) -> Response:
    """Return the selected rows, with their sets of clusters and doubt, as a CSV file."""
    run = with_weights(session, params)
    positions = np.flatnonzero(session.get_selection()[run.rows])
    table = run.table.iloc[positions]
    sets = [run.set_names[k] for k in run.partition.best_set[positions]]
    results = {"assigned to": sets, "doubt": run.doubt[positions]}
    table = pd.concat([table, pd.DataFrame(results, index=table.index)], axis=1)
    text = table.to_csv(index=True, index_label=str(table.index.name or "row"))
    return download(text, f"{stem(run)}.selection.csv", CSV)


def _recipe(session: Session, params: Json) -> Json:
    """Return a command, Python code and a TOML file, each of which repeats the run exactly."""
    run = with_weights(session, params)
    recipe = _portable_recipe(run)
    source = session.get_source()
    frame = run.partition.frame
    names = {k: name for k, name in enumerate(frame) if name != k}
    return {
        "renamed": {k: format_cluster(name) for k, name in names.items()},
        "command": f"{recipe.to_command()} -o {stem(run)}.partition.csv",
        "code": to_code(recipe, names),
        "toml": recipe.to_toml(),
        "file": recipe.files[0],
        "answers": recipe.constraints is not None,
        "is_part": len(run) < len(source.table) and recipe.files[0] != source.name,
    }


def _start_report(session: Session, params: Json) -> Json:
    """Start a job that writes the report; the page downloads the report afterwards."""
    cache = session.get_run(params["run"]).cache
    run = with_weights(session, params)

    def finish(page: str, warnings: list[str]) -> Json:
        cache["report"] = page
        return {"ready": True}

    arguments = {
        "subject": _to_table_model(run),
        "table": run.table,
        "recipe": _portable_recipe(run),
        "title": str(params.get("title") or f"{stem(run)}: {run.name}"),
    }
    return session.start_job("report", "report", arguments, finish)


def _report(run: Run, params: Json) -> Response:
    if "report" not in run.cache:
        raise InvalidInputError("create the report first")
    return download(
        run.cache["report"], f"{stem(run)}.report.html", "text/html; charset=utf-8"
    )


ROUTES = [
    route("/runs/{run}/partition.{kind}", _partition),
    route("/runs/{run}/model", _model),
    route("/runs/{run}/data", _data),
    run_route("/answers", _answers),
    route("/runs/{run}/selected", _selection),
    route("/runs/{run}/recipe", _recipe),
    route("/runs/{run}/report", _start_report, "POST"),
    run_route("/report", _report),
]
