"""Run a recipe, that is, read, prepare and cluster the data."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._progress import Listener, report_progress_to
from dempster._text import format_count
from dempster.apps.recipe.attributes import (
    Note,
    choose_attributes,
    find_name_column,
)
from dempster.apps.recipe.labels import (
    check_repeated,
    constraints_from_labels,
    encode_labels,
    find_labels,
    is_file_name,
)
from dempster.apps.recipe.model import PreparedTable, RecipeResult, reweight_sets
from dempster.apps.recipe.recipe import Recipe
from dempster.constraints import Constraints, read_constraints
from dempster.io import read_dissimilarities, read_table
from dempster.io.atomic import as_file, as_path
from dempster.io.tables import check_columns_exist, read_quietly


def read_views(files: Sequence[str | os.PathLike[str]], **options: Any) -> pd.DataFrame:
    r"""Read several tables of the same objects and join their columns.

    Parameters
    ----------
    files : sequence of paths
        Tables with the same rows. Rows are matched by name if they have names, otherwise by
        position.
    **options
        Arguments of `dempster.io.read_table`.

    Returns
    -------
    DataFrame
        Columns are named ``file:column``; ``attrs["views"]`` maps each column to its file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import read_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("shape", "color"):
    ...         _ = Path(folder, f"{name}.csv").write_text("a,b\n1,2\n3,4\n")
    ...     read_views([Path(folder) / "shape.csv", Path(folder) / "color.csv"]).columns.tolist()
    ['shape:a', 'shape:b', 'color:a', 'color:b']
    """
    tables: list[pd.DataFrame] = []
    views: dict[str, str] = {}
    paths = [
        as_path(file, "files")
        for file in rule.as_list(files, "files", "paths of tables")
    ]
    if not paths:
        raise InvalidParameterError("files", must="contain at least one path")
    for file in paths:
        table = read_table(file, **options)
        names = None
        if "index_col" not in options and rule.row_index(table) is None:
            names = find_name_column(table, ())
        if names is not None:
            table = table.set_index(names)
        name = file.name.split(".")[0]
        if name in views.values():
            must = f"have different names, which are the names of the views, got {name!r} twice"
            raise InvalidParameterError("files", must=must)
        table.columns = [f"{name}:{column}" for column in table.columns]
        views |= dict.fromkeys(table.columns, name)
        tables.append(table)
    first = tables[0]
    ordered = []
    for path, table in zip(paths, tables, strict=True):
        try:
            order = rule.match_names(table.index, first.index)
        except InvalidInputError as error:
            message = f"{path.name} must have the same rows as {paths[0].name}: {error}"
            raise InvalidInputError(message) from error
        ordered.append(table if order is None else table.iloc[order])
    joined = pd.concat(ordered, axis=1)
    joined.attrs = {"views": views}
    return joined


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """Read an image from a picture or from an array in a ``.npy`` file.

    Parameters
    ----------
    path : str or path
        Picture (such as ``.png``) or array with two to four dimensions (``.npy``).

    Returns
    -------
    (height, width, channels) float array

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
    try:
        if path.suffix.lower() == ".npy":
            content = np.load(path, allow_pickle=False)
        else:
            from matplotlib.image import imread

            content = imread(path)
        image = np.asarray(content)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(
            f"cannot read {path.name} as an image: {reason}"
        ) from error
    if image.ndim not in (2, 3, 4) or image.dtype.kind not in "iufb":
        expected = "an array of numbers with two to four dimensions"
        raise InvalidInputError(f"{path.name} must contain {expected}")
    if image.ndim == 2:
        image = image[..., None]
    return image.astype(float)


def run(
    recipe: Recipe, progress: Listener | None = None, note: Note | None = None
) -> RecipeResult:
    """Read, prepare and cluster the data of a recipe (see `Recipe.run`)."""
    prepared = prepare(recipe, note)
    estimator = recipe.estimator()
    attributes = prepared.attributes
    if attributes is not None and len(recipe.files) > 1:
        assert prepared.table is not None
        views = prepared.table.attrs["views"]
        estimator.set_params(views=[views[name] for name in attributes.columns])
    started = time.perf_counter()
    conformal = None
    with report_progress_to(progress), _record_warnings() as texts:
        if recipe.confidence is None:
            estimator.fit(prepared.X, **prepared.fit_params)
        else:
            from dempster.cluster import ConformalClustering

            conformal = ConformalClustering(
                estimator, confidence=recipe.confidence, random_state=recipe.seed
            )
            estimator = conformal.fit(prepared.X).clusterer_
    if attributes is not None and len(recipe.files) == 1:
        record = attributes.preparation.describe()
        estimator.credal_partition_.metadata["clustered"] = record
    estimator.credal_partition_ = reweight_sets(
        estimator.credal_partition_,
        outlier_weight=recipe.outlier_weight,
        ambiguity_weight=recipe.ambiguity_weight,
    )
    seconds = time.perf_counter() - started
    return RecipeResult(recipe, estimator, prepared, seconds, conformal, texts)


@contextmanager
def _record_warnings() -> Iterator[list[str]]:
    """Yield a list that receives the texts of warnings for users, which are shown afterwards."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield texts
    for one in caught:
        if issubclass(one.category, UserWarning):
            texts.append(str(one.message))
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def prepare(recipe: Recipe, note: Note | None = None) -> PreparedTable:
    """Read and prepare the data of a recipe without clustering them.

    Parameters
    ----------
    recipe : Recipe
        Recipe that names the files and their preparation.
    note : function, optional
        Function that is called with each note on the data, for example about columns that are left
        out.

    Returns
    -------
    PreparedTable
    """
    rule.check(recipe, "recipe", rule.kind(Recipe))
    rule.check(note, "note", rule.callback)
    notes: list[str] = []

    def add_note(text: str) -> None:
        notes.append(text)
        if note is not None:
            note(text)

    if recipe.kind == "image":
        image = read_image(recipe.files[0])
        _check_clusters(recipe, int(np.prod(image.shape[:-1])), "pixels")
        return PreparedTable(image, notes=notes)
    options = recipe.reading_options()
    if recipe.kind == "dissimilarities":
        matrix = read_dissimilarities(recipe.files[0], **options)
        n = matrix.shape[0]
        _check_clusters(recipe, n, "objects")
        frame = pd.DataFrame(index=getattr(matrix, "index", pd.RangeIndex(n)))
        y, constraints, truth = _read_supervision(recipe, frame, np.arange(n), add_note)
        return PreparedTable(matrix, None, None, y, constraints, truth, notes)
    if len(recipe.files) > 1:
        table = read_views(recipe.files, **options)
    else:
        table = read_quietly(as_file(recipe.files[0]), **options)
    for text in table.attrs.get("notes", ()):
        add_note(text)
    for name, source in (("labels", recipe.labels), ("truth", recipe.truth)):
        if source is not None and not is_file_name(source):
            check_columns_exist(table, name, [source])
    attributes = choose_attributes(table, **recipe.choosing_options())
    for text in attributes.notes:
        add_note(text)
    _check_clusters(recipe, len(attributes.table), "rows")
    if attributes.is_scaled:
        notes.append("the columns were standardized")
    table = attributes.source
    y, constraints, truth = _read_supervision(recipe, table, attributes.rows, add_note)
    return PreparedTable(
        attributes.values, table, attributes, y, constraints, truth, notes
    )


def _read_supervision(
    recipe: Recipe, table: pd.DataFrame, rows: np.ndarray, add_note: Note
) -> tuple[np.ndarray | None, Constraints | None, pd.Series | None]:
    """Return labels, constraints and true labels of rows.

    Convert labels to constraints if the method needs them.
    """
    y = constraints = truth = None
    if recipe.labels is not None:
        found = find_labels("labels", recipe.labels, table)
        check_repeated("labels", found)
        if recipe.keeps_labels:
            return found.iloc[rows].to_numpy(object), None, None
        codes, names = encode_labels(found)
        labeled = format_count(int((codes >= 0).sum()), "row")
        labels = format_count(len(names), "label")
        add_note(f"{labeled} of {len(codes):,} with a known label, {labels}")
        y = codes[rows]
    if recipe.constraints is not None:
        constraints = read_constraints(recipe.constraints, table.index)
        add_note(
            f"{format_count(len(constraints.must_link), 'pair')} known to be in the same cluster, "
            f"{format_count(len(constraints.cannot_link), 'pair')} in different clusters"
        )
        constraints = constraints[rows]
    if recipe.truth is not None:
        truth = find_labels("truth", recipe.truth, table).iloc[rows]
    if y is not None and not recipe.learns_labels:
        converted = constraints_from_labels(y, recipe.seed)
        constraints = converted if constraints is None else converted | constraints
        y = None
    return y, constraints, truth


def _check_clusters(recipe: Recipe, n: int, unit: str) -> None:
    if recipe.clusters != "auto" and int(recipe.clusters) > n:
        expected = f"at most the number of {unit}, {n:,}"
        raise InvalidParameterError("clusters", expected, recipe.clusters)
