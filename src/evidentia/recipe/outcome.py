"""Run a recipe, and what comes out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evidentia._progress import heard_by
from evidentia.constraints import Constraints, read_constraints
from evidentia.io import read_dissimilarities, read_table
from evidentia.recipe.attributes import Attributes, choose_attributes
from evidentia.recipe.known import label_codes, labels_as_constraints, read_labels
from evidentia.recipe.model import TableModel
from evidentia.recipe.reading import notes_of_reading, read_image, read_views
from evidentia.recipe.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from evidentia._progress import Listener
    from evidentia.partition import CredalPartition
    from evidentia.recipe.recipe import Recipe

__all__ = ["Outcome", "Prepared", "prepare", "run"]

Note = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a recipe reads, ready for the estimator.

    Attributes
    ----------
    X : table, matrix or image
        What is clustered.
    table : DataFrame or None
        As it was read; None for dissimilarities and images.
    attributes : Attributes or None
        The columns and rows that are clustered; None for dissimilarities and images.
    y : array or None
        Known labels of the clustered rows as 0, 1, ..., -1 where nothing is known.
    constraints : Constraints or None
    truth : Series or None
        Labels to compare with.
    notes : list of str
    """

    X: Any
    table: pd.DataFrame | None = None
    attributes: Attributes | None = None
    y: np.ndarray | None = None
    constraints: Constraints | None = None
    truth: pd.Series | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a recipe gave.

    Attributes
    ----------
    recipe : Recipe
    estimator : fitted estimator
    prepared : Prepared
        What was read and clustered, with all notes on the way.
    seconds : float
        How long the fit took.
    """

    recipe: Recipe
    estimator: Any
    prepared: Prepared
    seconds: float

    @property
    def partition(self) -> CredalPartition:
        """The credal partition."""
        return self.estimator.credal_partition_

    @property
    def table(self) -> pd.DataFrame | None:
        """The table as it was read, all rows and columns; None for dissimilarities and images."""
        return self.prepared.table

    @property
    def attributes(self) -> Attributes | None:
        """The columns and rows that were clustered; None for dissimilarities and images."""
        return self.prepared.attributes

    @property
    def notes(self) -> list[str]:
        """What was left out, standardised or found on the way, in plain words."""
        return self.prepared.notes

    @property
    def truth(self) -> pd.Series | None:
        """Labels to compare with, of the clustered rows."""
        return self.prepared.truth

    @property
    def choices(self) -> dict[str, str]:
        """What "auto" stood for, by parameter, in words with the reason."""
        return dict(self.partition.metadata.get("choices", {}))

    @cached_property
    def model(self) -> TableModel:
        """The estimator with what was done to the table before: what `evidentia.io.save` takes."""
        preparation = None if self.attributes is None else self.attributes.preparation
        return TableModel(self.estimator, preparation, self.recipe.to_toml())


def run(recipe: Recipe, progress: bool | Listener = False, note: Note | None = None) -> Outcome:
    """Read, prepare and cluster (see `Recipe.run`)."""
    prepared = prepare(recipe, note)
    estimator = _estimator(recipe, prepared)
    if progress is True and "verbose" in estimator.get_params(deep=False):
        estimator.set_params(verbose=1)
    learned: dict[str, Any] = {}
    if prepared.y is not None and recipe.learns_labels:
        learned["y"] = prepared.y
    if prepared.constraints is not None:
        learned["constraints"] = prepared.constraints
    started = time.perf_counter()
    with heard_by(progress if callable(progress) else None):
        estimator.fit(prepared.X, **learned)
    if progress is True and "verbose" in estimator.get_params(deep=False):
        estimator.set_params(verbose=0)
    return Outcome(recipe, estimator, prepared, time.perf_counter() - started)


def prepare(recipe: Recipe, note: Note | None = None) -> Prepared:
    """Read and prepare what a recipe names, without clustering it.

    Parameters
    ----------
    recipe : Recipe
    note : function, optional
        Is told in plain words what is found and done on the way.
    """
    notes: list[str] = []

    def tell(text: str) -> None:
        notes.append(text)
        if note is not None:
            note(text)

    if recipe.kind == "image":
        X = read_image(recipe.files[0])
        _check_enough(recipe, int(np.prod(X.shape[:-1])), "pixels")
        return Prepared(X, notes=notes)
    if recipe.kind == "dissimilarities":
        return _prepared_matrix(recipe, notes)
    several = len(recipe.files) > 1
    options = recipe.reading_options()
    table = read_views(recipe.files, **options) if several else read_table(recipe.files[0], **options)
    for text in notes_of_reading(table, header=recipe.header):
        tell(text)
    attributes = choose_attributes(table, **recipe.choosing_options())
    for text in attributes.notes:
        tell(text)
    _check_enough(recipe, len(attributes.table), "rows")
    if attributes.is_scaled:
        notes.append("the columns were standardised: mean 0, standard deviation 1")
    y, constraints = _known(recipe, table, table.index, tell)
    rows = attributes.rows
    truth = None if recipe.truth is None else read_labels(recipe.truth, table).iloc[rows]
    return Prepared(
        attributes.values,
        table,
        attributes,
        None if y is None else y[rows],
        _joined(recipe, None if y is None else y[rows], None if constraints is None else constraints[rows]),
        truth,
        notes,
    )


def _prepared_matrix(recipe: Recipe, notes: list[str]) -> Prepared:
    matrices = [read_dissimilarities(file, **recipe.reading_options()) for file in recipe.files]
    D = matrices[0]
    _check_enough(recipe, D.shape[0], "objects")
    if recipe.truth is None and recipe.labels is None and recipe.constraints is None:
        return Prepared(matrices if len(matrices) > 1 else D, notes=notes)
    import pandas as pd

    index = getattr(D, "index", pd.RangeIndex(D.shape[0]))
    frame = pd.DataFrame(index=index)
    y, constraints = _known(recipe, frame, index, notes.append)
    truth = None if recipe.truth is None else read_labels(recipe.truth, frame)
    X = matrices if len(matrices) > 1 else D
    return Prepared(X, None, None, y, _joined(recipe, y, constraints), truth, notes)


def _known(recipe: Recipe, table: pd.DataFrame, index: Any, tell: Note) -> tuple[np.ndarray | None, Constraints | None]:
    """Labels and constraints, of all rows."""
    y, constraints = None, None
    if recipe.labels is not None:
        y, names = label_codes(read_labels(recipe.labels, table))
        tell(f"{counted(int((y >= 0).sum()), 'row')} of {len(y):,} with a known label, {counted(len(names), 'label')}")
    if recipe.constraints is not None:
        constraints = read_constraints(recipe.constraints, index)
        tell(
            f"{counted(len(constraints.must_link), 'pair')} known to be together, "
            f"{counted(len(constraints.cannot_link), 'pair')} known to be apart"
        )
    return y, constraints


def _joined(recipe: Recipe, y: np.ndarray | None, constraints: Constraints | None) -> Constraints | None:
    """Constraints of the clustered rows: of the file, and of the labels where these are not taken as such."""
    if y is None or recipe.learns_labels:
        return constraints
    of_labels = labels_as_constraints(y, recipe.seed)
    return of_labels if constraints is None else of_labels | constraints


def _check_enough(recipe: Recipe, n: int, what: str) -> None:
    if recipe.clusters != "auto" and int(recipe.clusters) > n:
        raise ValueError(f"clusters={recipe.clusters} is more than there are {what}, {n:,}")


def _estimator(recipe: Recipe, prepared: Prepared) -> Any:
    estimator = recipe.estimator()
    if len(recipe.files) > 1 and recipe.kind == "table":
        assert prepared.table is not None
        assert prepared.attributes is not None
        views = prepared.table.attrs["views"]
        estimator.set_params(views=[views[name] for name in prepared.attributes.columns])
    return estimator
