"""From what was chosen on the page to a recipe, and the files that it needs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.apps.recipe import Recipe
from dempster.apps.recipe.methods import method_takes, parse_value
from dempster.apps.studio.sessions import Session
from dempster.apps.studio.tables import Source

__all__ = ["NOT_ASKED", "lessons_among", "recipe_of", "selected_source", "shared_recipe", "write_lessons"]

# parameters that are about this machine: where files are written, how many threads there are
NOT_ASKED = ("device", "checkpoint", "n_jobs")
_WRITTEN = {"header": True, "delimiter": ",", "decimal": "."}  # how files are read that the studio wrote


def recipe_of(session: Session, given: dict[str, Any], source: Source, rows: np.ndarray | None = None) -> Recipe:
    """The recipe of a run of a table.

    Parameters
    ----------
    session : Session
    given : dict
        ``columns``, ``categories``, ``scale``, ``missing``, ``method``, ``clusters``, ``seed``, ``parameters`` (numbers
        may be text), ``learn`` (whether to use what was taught).
    source : Source
        The table, or the part of it that is clustered.
    rows : array of int, optional
        Which part, by the rows of the table; all by default.
    """
    columns = [str(name) for name in given.get("columns") or []]
    categories = [str(name) for name in given.get("categories") or []]
    known = set(source.table.columns)
    if not columns and not categories:
        raise InvalidInputError("choose at least one column to cluster by")
    if lost := [name for name in [*columns, *categories] if name not in known]:
        raise InvalidInputError(f"there is no column '{lost[0]}'")
    method = str(given.get("method") or "evclus")
    clusters = given.get("clusters")
    options = dict(source.options)
    recipe = Recipe(
        files=(str(source.path),),
        header=options.get("header"),
        delimiter=options.get("delimiter"),
        decimal=options.get("decimal"),
        index=options.get("index_col"),
        columns=columns,
        categories=categories,
        scale=bool(given.get("scale", True)),
        missing=str(given.get("missing") or "refuse"),
        method=method,
        clusters="auto" if clusters in (None, "", "auto") else _whole(clusters, "the number of clusters"),
        seed=_whole(given.get("seed") or 0, "the seed"),
        parameters=_parameters(given.get("parameters") or {}),
    )
    taught = lessons_among(session, rows) if given.get("learn") else []
    if taught:
        if not method_takes(method, "constraints"):
            raise InvalidInputError(
                f"{method} does not learn from pairs; take evclus or cecm, or do not use what was taught"
            )
        path = session.new_file("answers.csv")
        anew = rows is not None and recipe.index is None  # a part is numbered anew if no column names its rows
        write_lessons(path, taught, range(len(source.table)) if anew else source.table.index)
        recipe = replace(recipe, constraints=str(path))
    return recipe


def _whole(value: Any, what: str) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{what} must be a whole number, got {shown(value)}") from error
    if not number.is_integer():
        raise InvalidInputError(f"{what} must be a whole number, got {shown(value)}")
    return int(number)


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
    """What was typed, as numbers and words; fields that were left empty are left at their defaults."""
    typed = {str(name): value for name, value in given.items() if value not in ("", None)}
    if refused := [name for name in typed if name in NOT_ASKED]:
        raise InvalidInputError(f"parameters: {refused[0]} is not set on this page")
    return {name: parse_value(value.strip()) if isinstance(value, str) else value for name, value in typed.items()}


def selected_source(session: Session, rows: np.ndarray) -> Source:
    """Some rows of the table in a file of their own, so that what is done with them can be repeated."""
    source = session.table()
    if len(rows) < 2:
        raise InvalidInputError(f"select at least two objects to cluster, {len(rows)} are selected")
    stem = Path(source.name).name.split(".")[0]
    path = session.new_file(f"{stem}-selection.csv")
    some = source.table.iloc[rows]
    named = source.options.get("index_col") is not None
    some.to_csv(path, index=named, index_label=source.options.get("index_col"))
    options = dict(_WRITTEN)
    if named:
        options["index_col"] = source.options["index_col"]
    return Source(path, path.name, options, some)


def lessons_among(session: Session, rows: np.ndarray | None = None) -> list[tuple[int, int, str]]:
    """What was taught of pairs of these rows of the table, by their places among them; of all rows by default."""
    everyone = range(len(session.table().table)) if rows is None else rows
    place = {int(row): k for k, row in enumerate(everyone)}
    said = [one for one in session.lessons.answers if one[2] != "unknown"]
    return [(place[a], place[b], word) for a, b, word in said if a in place and b in place]


def write_lessons(path: Path, taught: list[tuple[int, int, str]], names: Any) -> None:
    """What was taught as a table of two objects and a word, by the names of the rows."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["object", "other", "answer"])
        writer.writerows([names[first], names[second], said] for first, second, said in taught)


def shared_recipe(recipe: Recipe) -> Recipe:
    """The same for another machine: files by their names alone."""
    constraints = None if recipe.constraints is None else Path(recipe.constraints).name
    return replace(recipe, files=tuple(Path(file).name for file in recipe.files), constraints=constraints)
