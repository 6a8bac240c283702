"""Run a recipe: read, prepare, cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._progress import Listener, heard_by
from dempster.apps.recipe.attributes import choose_attributes
from dempster.apps.recipe.known import check_labels, label_codes, labels_as_constraints, labels_of
from dempster.apps.recipe.outcome import Outcome, Prepared
from dempster.apps.recipe.reading import notes_of_reading, read_image, read_views
from dempster.apps.recipe.recipe import Recipe
from dempster.apps.recipe.words import counted
from dempster.io import read_dissimilarities
from dempster.io.atomic import as_file
from dempster.io.tables import read_quietly

if TYPE_CHECKING:
    import pandas as pd

    from dempster.constraints import Constraints

__all__ = ["prepare", "run"]

Note = Callable[[str], None]


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
    if not isinstance(recipe, Recipe):
        raise InvalidInputError(f"recipe must be a Recipe, got {type(recipe).__name__}")
    rule.check(note, "note", rule.told)
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
    table = read_views(recipe.files, **options) if several else read_quietly(as_file(recipe.files[0]), **options)
    for text in notes_of_reading(table, header=recipe.header):
        tell(text)
    for name, source in (("labels", recipe.labels), ("truth", recipe.truth)):
        if source is not None:
            check_labels(name, source, table)
    attributes = choose_attributes(table, **recipe.choosing_options())
    for text in attributes.notes:
        tell(text)
    _check_enough(recipe, len(attributes.table), "rows")
    if attributes.is_scaled:
        notes.append("the columns were standardised: mean 0, standard deviation 1")
    y, constraints = _known(recipe, table, table.index, tell)
    rows = attributes.rows
    truth = None if recipe.truth is None else labels_of("truth", recipe.truth, table).iloc[rows]
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
    truth = None if recipe.truth is None else labels_of("truth", recipe.truth, frame)
    X = matrices if len(matrices) > 1 else D
    return Prepared(X, None, None, y, _joined(recipe, y, constraints), truth, notes)


def _known(recipe: Recipe, table: pd.DataFrame, index: Any, tell: Note) -> tuple[np.ndarray | None, Constraints | None]:
    """Labels and constraints, of all rows."""
    from dempster.constraints import read_constraints  # with scipy, which help and completion do without

    y, constraints = None, None
    if recipe.labels is not None:
        y, names = label_codes(labels_of("labels", recipe.labels, table))
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
        raise InvalidInputError(f"clusters={recipe.clusters} is more than there are {what}, {n:,}")


def _estimator(recipe: Recipe, prepared: Prepared) -> Any:
    estimator = recipe.estimator()
    if len(recipe.files) > 1 and recipe.kind == "table":
        assert prepared.table is not None
        assert prepared.attributes is not None
        views = prepared.table.attrs["views"]
        estimator.set_params(views=[views[name] for name in prepared.attributes.columns])
    return estimator
