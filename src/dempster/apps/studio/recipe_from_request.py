"""Build a recipe from what was chosen on the page, and write the files that it needs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.recipe import Recipe
from dempster.apps.studio.routing import Params, parse_integer
from dempster.apps.studio.runs import Source
from dempster.apps.studio.sessions import Session
from dempster.registry import find_method, parse_value

LOCAL_PARAMETERS = ("device", "checkpoint", "n_jobs")
"""Parameters about this machine, which the page does not set: where files are written, how many threads there are."""


def build_recipe(session: Session, params: Params, source: Source, rows: np.ndarray | None = None) -> Recipe:
    """Build the recipe of a run.

    Parameters
    ----------
    session : Session
    params : dict
        ``columns``, ``categories``, ``scale``, ``missing``, ``method``, ``clusters``, ``seed``, ``parameters`` (numbers
        may be text), ``learn`` (whether to use the answers about pairs).
    source : Source
        The table, or the part of it that is clustered.
    rows : array of int, optional
        Which part, by the rows of the table; all by default.
    """
    columns, categories = list(params.get("columns") or []), list(params.get("categories") or [])
    if not columns and not categories:
        raise InvalidInputError("choose at least one column to cluster by")
    if unknown := [name for name in [*columns, *categories] if name not in set(source.table.columns)]:
        raise InvalidInputError(f"there is no column '{unknown[0]}'")
    method, clusters, options = str(params.get("method") or "evclus"), params.get("clusters"), source.options
    recipe = Recipe(
        files=(str(source.path),),
        header=options.get("header"),
        delimiter=options.get("delimiter"),
        decimal=options.get("decimal"),
        index=options.get("index_col"),
        columns=columns,
        categories=categories,
        scale=bool(params.get("scale", True)),
        missing=str(params.get("missing") or "refuse"),
        method=method,
        clusters="auto" if clusters in (None, "", "auto") else parse_integer(clusters, "the number of clusters"),
        seed=parse_integer(params.get("seed") or 0, "the seed"),
        parameters=_parse_parameters(params.get("parameters") or {}),
    )
    answers = []
    if params.get("learn"):
        answers = session.pair_answers.between(np.arange(len(session.table().table)) if rows is None else rows)
    if answers:
        if "constraints" not in find_method(method).capabilities:
            raise InvalidInputError(
                f"{method} does not learn from pairs; take evclus or cecm, or do not use what was taught"
            )
        path = session.new_file("answers.csv")
        # The rows of a part are numbered from zero if no column names them.
        is_renumbered = rows is not None and recipe.index is None
        write_answers(path, answers, range(len(source.table)) if is_renumbered else source.table.index)
        recipe = replace(recipe, constraints=str(path))
    return recipe


def _parse_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Parse numbers and words; empty fields are left at their defaults."""
    filled = {str(name): value for name, value in given.items() if value not in ("", None)}
    if refused := [name for name in filled if name in LOCAL_PARAMETERS]:
        raise InvalidInputError(f"parameters: {refused[0]} is not set on this page")
    return {name: parse_value(value.strip()) if isinstance(value, str) else value for name, value in filled.items()}


def selected_source(session: Session, rows: np.ndarray) -> Source:
    """Write some rows of the table to a file, so that a run of them can be repeated."""
    source = session.table()
    if len(rows) < 2:
        raise InvalidInputError(f"select at least two objects to cluster, {len(rows)} are selected")
    path = session.new_file(f"{Path(source.name).name.split('.')[0]}-selection.csv")
    some, index = source.table.iloc[rows], source.options.get("index_col")
    some.to_csv(path, index=index is not None, index_label=index)
    options = {"header": True, "delimiter": ",", "decimal": "."}
    return Source(path, path.name, options | ({} if index is None else {"index_col": index}), some)


def write_answers(path: Path, answers: list[tuple[int, int, str]], names: Any) -> None:
    """Write answers about pairs as a table of two objects and a word, by the names of the rows."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["object", "other", "answer"])
        writer.writerows([names[first], names[second], answer] for first, second, answer in answers)


def share_recipe(recipe: Recipe) -> Recipe:
    """Return the recipe for another machine: files by their names alone."""
    constraints = None if recipe.constraints is None else Path(recipe.constraints).name
    return replace(recipe, files=tuple(Path(file).name for file in recipe.files), constraints=constraints)
