"""Run a recipe: read, prepare, cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._progress import Listener, heard_by
from dempster._text import format_count
from dempster._validation import listed
from dempster.apps.recipe.attributes import choose_attributes
from dempster.apps.recipe.labels import check_labels, constraints_from_labels, encode_labels, find_labels
from dempster.apps.recipe.model import PreparedTable, RecipeResult
from dempster.apps.recipe.recipe import Recipe
from dempster.io import read_dissimilarities, read_table
from dempster.io.atomic import as_file, as_path
from dempster.io.tables import read_quietly

if TYPE_CHECKING:
    import pandas as pd

    from dempster.constraints import Constraints


IMAGE_KINDS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".npy")
Note = Callable[[str], None]


def read_views(files: Sequence[str | os.PathLike[str]], **options: Any) -> pd.DataFrame:
    """Several tables that describe the same objects, side by side.

    Parameters
    ----------
    files : sequence of paths
        Tables with the same rows, by their names if they have some, else in the same order.
    **options
        Of `dempster.io.read_table`.

    Returns
    -------
    DataFrame
        Columns are called ``file:column``; ``attrs["views"]`` tells the file of each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import read_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("shape", "color"):
    ...         _ = Path(folder, f"{name}.csv").write_text("a,b\\n1,2\\n3,4\\n")
    ...     read_views([Path(folder) / "shape.csv", Path(folder) / "color.csv"]).columns.tolist()
    ['shape:a', 'shape:b', 'color:a', 'color:b']
    """
    import pandas as pd

    tables: list[pd.DataFrame] = []
    views: dict[str, str] = {}
    paths = [as_path(file, "files") for file in listed(files, "files", "paths of tables")]
    if not paths:
        raise InvalidParameterError("files", message="files must hold at least one path, got none")
    for file in paths:
        table = read_table(file, **options)
        name = file.name.split(".")[0]
        if name in views.values():
            message = f"two files are called {name!r}: rename one, as views are known by the names of their files"
            raise InvalidParameterError("files", message=message)
        table.columns = [f"{name}:{column}" for column in table.columns]
        views |= dict.fromkeys(table.columns, name)
        tables.append(table)
    first = tables[0]
    for path, table in zip(paths, tables, strict=True):
        if len(table) != len(first) or set(table.index) != set(first.index):
            raise InvalidInputError(f"{path.name} must have the same rows as {paths[0].name}")
        if list(table.index) != list(first.index) and not table.index.is_unique:
            raise InvalidInputError(f"{path.name} has rows of the same name, which cannot be found in {paths[0].name}")
    ordered = [table.reindex(first.index) if table.index.is_unique else table for table in tables]
    joined = pd.concat(ordered, axis=1)
    joined.attrs = {"views": views}
    return joined


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """An image as (height, width, channels) floats: a picture, or an array in a ``.npy`` file.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dempster.apps.recipe import read_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "gray.npy", np.zeros((4, 5)))
    ...     read_image(Path(folder) / "gray.npy").shape
    (4, 5, 1)
    """
    path = as_file(path)
    if path.suffix.lower() not in IMAGE_KINDS:
        raise InvalidInputError(
            f"{path.name}: an image must be one of {', '.join(IMAGE_KINDS)}, got {path.suffix or 'none'}"
        )
    try:
        if path.suffix.lower() == ".npy":
            image = np.load(path, allow_pickle=False)
        else:
            from matplotlib.image import imread

            image = np.asarray(imread(path))
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        raise InvalidInputError(f"cannot read {path.name} as an image: {' '.join(str(error).split())}") from error
    if not isinstance(image, np.ndarray) or image.ndim not in (2, 3, 4) or image.dtype.kind not in "iufb":
        raise InvalidInputError(f"{path.name} must hold an array of numbers with two to four dimensions")
    return (image[..., None] if image.ndim == 2 else image).astype(float)


def notes_of_reading(table: pd.DataFrame, *, header: bool | None = None) -> list[str]:
    """What the reader of a table found out by itself, in words."""
    notes = []
    if table.attrs.get("header") is False and header is None:
        notes.append(f"the file has no header line: its columns are called {table.columns[0]}, ...")
    if "encoding" in table.attrs:
        notes.append(f"the file is not UTF-8: it was read as {table.attrs['encoding']}")
    if table.attrs.get("unnamed_index"):
        notes.append("the first column has no heading: it is taken as the names of the rows")
    for name, what in table.attrs.get("converted", {}).items():
        notes.append(f"read '{name}' as numbers: {what}")
    return notes


if TYPE_CHECKING:
    import pandas as pd

    from dempster.constraints import Constraints


def run(recipe: Recipe, progress: bool | Listener = False, note: Note | None = None) -> RecipeResult:
    """Read, prepare and cluster (see `Recipe.run`)."""
    prepared = prepare(recipe, note)
    estimator = recipe.estimator()
    if prepared.attributes is not None and len(recipe.files) > 1:
        assert prepared.table is not None
        views = prepared.table.attrs["views"]
        estimator.set_params(views=[views[name] for name in prepared.attributes.columns])
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
    return RecipeResult(recipe, estimator, prepared, time.perf_counter() - started)


def prepare(recipe: Recipe, note: Note | None = None) -> PreparedTable:
    """Read and prepare what a recipe names, without clustering it.

    Parameters
    ----------
    recipe : Recipe
    note : function, optional
        Is told in plain words what is found and done on the way.
    """
    if not isinstance(recipe, Recipe):
        raise InvalidParameterError("recipe", message=f"recipe must be a Recipe, got {type(recipe).__name__}")
    rule.check(note, "note", rule.told)
    notes: list[str] = []

    def tell(text: str) -> None:
        notes.append(text)
        if note is not None:
            note(text)

    if recipe.kind == "image":
        X = read_image(recipe.files[0])
        _check_enough(recipe, int(np.prod(X.shape[:-1])), "pixels")
        return PreparedTable(X, notes=notes)
    if recipe.kind == "dissimilarities":
        return _prepare_matrix(recipe, notes)
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
    y, constraints = _read_knowledge(recipe, table, table.index, tell)
    rows = attributes.rows
    truth = None if recipe.truth is None else find_labels("truth", recipe.truth, table).iloc[rows]
    return PreparedTable(
        attributes.values,
        table,
        attributes,
        None if y is None else y[rows],
        _join_constraints(recipe, None if y is None else y[rows], None if constraints is None else constraints[rows]),
        truth,
        notes,
    )


def _prepare_matrix(recipe: Recipe, notes: list[str]) -> PreparedTable:
    matrices = [read_dissimilarities(file, **recipe.reading_options()) for file in recipe.files]
    D = matrices[0]
    _check_enough(recipe, D.shape[0], "objects")
    if recipe.truth is None and recipe.labels is None and recipe.constraints is None:
        return PreparedTable(matrices if len(matrices) > 1 else D, notes=notes)
    import pandas as pd

    index = getattr(D, "index", pd.RangeIndex(D.shape[0]))
    frame = pd.DataFrame(index=index)
    y, constraints = _read_knowledge(recipe, frame, index, notes.append)
    truth = None if recipe.truth is None else find_labels("truth", recipe.truth, frame)
    X = matrices if len(matrices) > 1 else D
    return PreparedTable(X, None, None, y, _join_constraints(recipe, y, constraints), truth, notes)


def _read_knowledge(
    recipe: Recipe, table: pd.DataFrame, index: Any, tell: Note
) -> tuple[np.ndarray | None, Constraints | None]:
    """Labels and constraints, of all rows."""
    from dempster.constraints import read_constraints  # with scipy, which help and completion do without

    y, constraints = None, None
    if recipe.labels is not None:
        y, names = encode_labels(find_labels("labels", recipe.labels, table))
        labelled = format_count(int((y >= 0).sum()), "row")
        tell(f"{labelled} of {len(y):,} with a known label, {format_count(len(names), 'label')}")
    if recipe.constraints is not None:
        constraints = read_constraints(recipe.constraints, index)
        tell(
            f"{format_count(len(constraints.must_link), 'pair')} known to be together, "
            f"{format_count(len(constraints.cannot_link), 'pair')} known to be apart"
        )
    return y, constraints


def _join_constraints(recipe: Recipe, y: np.ndarray | None, constraints: Constraints | None) -> Constraints | None:
    """Constraints of the clustered rows: of the file, and of the labels where these are not taken as such."""
    if y is None or recipe.learns_labels:
        return constraints
    of_labels = constraints_from_labels(y, recipe.seed)
    return of_labels if constraints is None else of_labels | constraints


def _check_enough(recipe: Recipe, n: int, what: str) -> None:
    if recipe.clusters != "auto" and int(recipe.clusters) > n:
        message = f"clusters={recipe.clusters} is more than there are {what}, {n:,}"
        raise InvalidParameterError("clusters", message=message)
