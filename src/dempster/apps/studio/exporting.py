"""Take things away: the partition, the model, the report, the selection, the code and the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from starlette.responses import Response

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.apps.recipe import TableModel
from dempster.apps.studio.recipe_from_request import share_recipe
from dempster.apps.studio.routing import Params, as_file, route, run_route
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session
from dempster.io import write_partition
from dempster.persistence import save

_KINDS = ("csv", "npz", "parquet")


def _stem(run: Run) -> str:
    return Path(run.recipe.files[0]).name.split(".")[0]


def _partition(session: Session, params: Params) -> Response:
    run, kind = session.run(params["run"]), str(params["kind"])
    if kind not in _KINDS:
        raise InvalidInputError(f"a partition is written as {', '.join(_KINDS)}, got {shown(kind)}")
    path = session.new_file(f"{_stem(run)}.partition.{kind}")
    write_partition(run.partition, path)
    return _taken(path)


def _model(session: Session, params: Params) -> Response:
    """The model with what was done to the table before: `dempster predict` takes it."""
    run = session.run(params["run"])
    path = session.new_file(f"{_stem(run)}.dempster")
    save(TableModel(run.estimator, run.preparation, share_recipe(run.recipe).to_toml()), path)
    return _taken(path)


def _data(run: Run, params: Params) -> Response:
    """The table of a run, as code and command read it."""
    path = Path(run.recipe.files[0])
    return as_file(path.read_bytes(), path.name)


def _answers(run: Run, params: Params) -> Response:
    """The answers that a run learned from."""
    if run.recipe.constraints is None:
        raise InvalidInputError("this run learned from no answers")
    return as_file(Path(run.recipe.constraints).read_bytes(), "answers.csv", "text/csv; charset=utf-8")


def _selection(session: Session, params: Params) -> Response:
    """The rows that are selected, with what the run says of them."""
    run = session.run(params["run"])
    if session.selection is None or not session.selection.any():
        raise InvalidInputError("nothing is selected")
    chosen = np.flatnonzero(session.selection[run.rows])
    table = run.table.iloc[chosen].copy()
    said = [run.set_names[k] for k in run.partition.best_set[chosen]]
    for name, values in (("assigned to", said), ("doubt", run.doubt[chosen])):
        while name in table.columns:
            name += " "
        table[name] = values
    text = table.to_csv(index=True, index_label=str(table.index.name or "row"))
    return as_file(text, f"{_stem(run)}.selection.csv", "text/csv; charset=utf-8")


def _recipe(session: Session, params: Params) -> dict[str, Any]:
    """What does exactly the same: a command, Python code, and a file of settings."""
    run = session.run(params["run"])
    recipe = share_recipe(run.recipe)
    stem = _stem(run)
    return {
        "command": f"{recipe.to_command()} -o {stem}.partition.csv",
        "code": recipe.to_code(),
        "toml": recipe.to_toml(),
        "file": recipe.files[0],
        "answers": recipe.constraints is not None,
        "is_part": len(run) < len(session.table().table) and recipe.files[0] != session.table().name,
    }


def _report(session: Session, params: Params) -> dict[str, Any]:
    """A report as one page; made in a process, then fetched."""
    run = session.run(params["run"])

    def finish(page: str, warnings: list[str]) -> dict[str, Any]:
        run.cache["report"] = page
        return {"ready": True}

    recipe = share_recipe(run.recipe)
    arguments = {
        "subject": TableModel(run.estimator, run.preparation, recipe.to_toml()),
        "table": run.table,
        "recipe": recipe,
        "title": str(params.get("title") or f"{_stem(run)}: {run.name}"),
    }
    return {"job": session.start("report", "report", arguments, finish).describe()}


def _report_page(run: Run, params: Params) -> Response:
    if "report" not in run.cache:
        raise InvalidInputError("make the report first")
    return as_file(run.cache["report"], f"{_stem(run)}.report.html", "text/html; charset=utf-8")


def _taken(path: Path) -> Response:
    """A file that was written to be taken away, and is not needed here any more."""
    content = path.read_bytes()
    path.unlink()
    return as_file(content, path.name)


ROUTES = [
    route("/runs/{run}/partition.{kind}", _partition),
    route("/runs/{run}/model", _model),
    run_route("/data", _data),
    run_route("/answers", _answers),
    route("/runs/{run}/selected", _selection),
    route("/runs/{run}/recipe", _recipe),
    route("/runs/{run}/report", _report, "POST"),
    run_route("/report", _report_page),
]
