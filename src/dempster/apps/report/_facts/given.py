"""What may be given to a report: a model, a partition, a saved model of a table, or what a recipe gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import ArrayLike, TableLike
from dempster.apps.recipe import Outcome, Recipe, TableModel

__all__ = ["Given", "given_of"]


@dataclass(eq=False)
class Given:
    """What a report is about, taken apart.

    Attributes
    ----------
    subject : fitted estimator, pipeline, partition or labels
    table : what it was fitted to
    attributes : columns to describe the objects by, where these are others
    y : known classes
    recipe : Recipe or None
    learned : mapping
        What `fit` was given besides: constraints, labels, weights.
    notes : list of str
        What happened to the table on the way, in plain words.
    """

    subject: Any
    table: TableLike = None
    attributes: TableLike = None
    y: ArrayLike = None
    recipe: Recipe | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """Names of the files, without their folders; empty if they are not known."""
        return "" if self.recipe is None else ", ".join(PurePath(file).name for file in self.recipe.files)


def given_of(
    subject: Any,
    table: TableLike,
    *,
    attributes: TableLike,
    y: ArrayLike,
    recipe: Recipe | None,
    learned: Mapping[str, Any] | None,
) -> Given:
    """The parts of what was given, whatever it is."""
    given = Given(subject, table, attributes, y, recipe, dict(learned or {}))
    if isinstance(subject, Outcome):
        _from_outcome(given, subject)
    elif isinstance(subject, TableModel):
        _from_model(given, subject)
    return given


def _from_outcome(given: Given, outcome: Outcome) -> None:
    prepared = outcome.prepared
    if given.table is not None and given.attributes is not None:
        raise InvalidInputError(
            "table must be None when subject is what a recipe gave, which has its own; use attributes"
        )
    beside = given.attributes if given.attributes is not None else given.table
    given.subject, given.table = outcome.estimator, prepared.X
    if beside is None and outcome.attributes is not None and outcome.table is not None:
        beside = outcome.table.iloc[outcome.attributes.rows]
    given.attributes = beside
    given.y = outcome.truth if given.y is None else given.y
    given.recipe = given.recipe or outcome.recipe
    given.notes = list(outcome.notes)
    if prepared.constraints is not None:
        given.learned = {"constraints": prepared.constraints, **given.learned}
    if prepared.y is not None and outcome.recipe.learns_labels:
        given.learned = {"y": prepared.y, **given.learned}


def _from_model(given: Given, model: TableModel) -> None:
    """A saved model: the table goes through what was done to it before the fit."""
    given.subject = model.estimator
    if given.recipe is None and model.recipe:
        given.recipe = Recipe.from_toml(model.recipe)
    if given.table is None or model.preparation is None:
        return
    X = model.prepared(given.table, note=given.notes.append)
    if given.attributes is None:
        whole = len(X) == len(given.table)
        given.attributes = given.table if whole else given.table.iloc[_places(X, given.table)]
    given.table = X
    if model.preparation.is_scaled:
        given.notes.append("the columns were standardised: mean 0, standard deviation 1")


def _places(some: Any, table: Any) -> np.ndarray:
    """Where the rows of a part are in the whole table."""
    if not table.index.is_unique:
        raise InvalidInputError("table must have different names of rows, since some of them were left out of the fit")
    return np.asarray(table.index.get_indexer(some.index))
