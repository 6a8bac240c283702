"""Convert the arguments of `make_report` to a partition, its tables and the fitted model."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from dempster._errors import InvalidParameterError
from dempster._text import (
    MAX_NAME_CHARACTERS,
    format_cluster,
    one_line,
    shorten,
    unique_names,
)
from dempster._types import ArrayLike, TableLike
from dempster._validation import column_names, default_feature_names
from dempster.apps.recipe import Recipe, RecipeResult, TableModel
from dempster.apps.recipe.attributes import (
    choose_recorded_attributes,
    find_name_column,
)
from dempster.cluster import ConformalClustering
from dempster.cluster.explanation import row_attributes
from dempster.dissimilarity.views import Views, joined_views
from dempster.explain.inputs import resolve_input, row_names
from dempster.partition import CredalPartition

MAX_CLUSTER_NAME_CHARACTERS = 40
# minimum number of distinct texts or consecutive integers in an identifier column
_MIN_IDENTIFIERS = 20


@dataclass(eq=False)
class ReportInput:
    """The partition, tables and model that a report describes."""

    # objects in the order of the rows of the table, without names
    partition: CredalPartition
    index: Any = None  # names of the objects
    # text for each cluster, empty if there is none
    descriptions: list[str] = field(default_factory=list)
    estimator: Any = None  # fitted estimator or pipeline
    # last step of the estimator, whose credal_partition_ is ``partition``
    model: Any = None
    table: TableLike = None  # training data of the estimator
    X: TableLike = None  # training data of the model; the table if there is no model
    features: list[str] | None = None  # column names of X
    is_pairwise: bool = False  # whether X contains dissimilarities
    # attributes of the objects in their original units
    frame: pd.DataFrame | None = None
    # columns of the frame that were clustered, None if unknown
    clustered: list[str] | None = None
    # columns that identify rows, not in frame
    id_columns: list[str] = field(default_factory=list)
    # class names of the steps before the model
    steps: list[str] = field(default_factory=list)
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    y: ArrayLike = None  # known classes
    recipe: Recipe | None = None
    # notes on the preparation of the table, and warnings of the fit
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    conformal: ConformalClustering | None = None  # sets of clusters with a confidence

    @property
    def is_image(self) -> bool:
        return hasattr(self.model, "image_shape_")

    def object_name(self, position: int) -> str:
        """Return the short name of an object, or its position if the objects have no names."""
        if self.index is None:
            return str(int(position))
        return short_name(self.index[int(position)])

    @cached_property
    def cluster_names(self) -> list[str]:
        """Names of the clusters; a cluster whose name is the number 2 is called "cluster 2"."""
        return list(map(format_cluster, self.partition.frame))

    @property
    def file_names(self) -> str:
        """Names of the data files without their folders; empty if there is no recipe."""
        if self.recipe is None:
            return ""
        return ", ".join(PurePath(file).name for file in self.recipe.files)


def resolve_report_input(
    subject: Any,
    table: TableLike = None,
    *,
    attributes: TableLike = None,
    y: ArrayLike = None,
    recipe: Recipe | None = None,
    fit_params: Mapping[str, Any] | None = None,
    names: Any = None,
    metric: str | None = None,
    argument: str = "table",
) -> ReportInput:
    """Validate and convert the arguments of `make_report`.

    ``argument`` is the name of ``table`` for errors.
    """
    notes: list[str] = []
    warnings: list[str] = []
    fit_params = dict(fit_params or {})
    conformal = None
    if isinstance(subject, ConformalClustering):
        check_is_fitted(subject)
        conformal = subject
        subject = conformal.clusterer_
    elif isinstance(subject, RecipeResult):
        result = subject
        if table is not None:
            raise InvalidParameterError(
                "table",
                must="be None if subject is the result of a recipe, which contains its table; "
                "pass columns that describe the objects as attributes",
            )
        if attributes is None and result.table is not None:
            assert result.attributes is not None
            attributes = result.table.iloc[result.attributes.rows]
        subject = result.estimator
        conformal = result.conformal
        table = result.prepared.X
        notes += result.prepared.notes
        warnings += result.warnings
        recipe = recipe or result.recipe
        if y is None:
            y = result.prepared.truth
        fit_params = result.prepared.fit_params | fit_params
    elif isinstance(subject, TableModel):
        model = subject
        subject = model.estimator
        conformal = model.conformal
        if recipe is None and model.recipe:
            recipe = Recipe.from_toml(model.recipe)
        if table is not None and model.preparation is not None:
            table = model.preparation.name_rows(table)
            X = model.prepare(table, note=notes.append)
            if attributes is None:
                attributes = _select_prepared_rows(table, X)
            table = X
            if model.preparation.is_scaled:
                notes.append("the columns were standardized")
    data = _resolve_partition(subject, table, attributes, names, metric, argument)
    data.fit_params = fit_params
    data.y = y
    data.recipe = recipe
    data.notes = notes
    data.warnings = warnings
    data.conformal = conformal
    return data


def _select_prepared_rows(table: pd.DataFrame, prepared: pd.DataFrame) -> pd.DataFrame:
    if len(prepared) == len(table):
        return table
    if not table.index.is_unique:
        raise InvalidParameterError(
            "table", must="have unique row names, because some rows are not clustered"
        )
    return table.loc[prepared.index]


def _resolve_partition(
    subject: Any,
    table: TableLike,
    attributes: TableLike,
    names: Any,
    metric: str | None,
    argument: str,
) -> ReportInput:
    resolved = resolve_input(subject, "subject", metric=metric)
    partition = resolved.partition
    if names is not None:
        partition = partition.name_clusters(names)
    if len(partition) == 0:
        raise InvalidParameterError(
            "subject", must="be a partition of at least one object, got none"
        )
    if table is None and metric is not None:
        raise InvalidParameterError(
            argument, "the dissimilarities if metric='precomputed'", None
        )
    if table is None and attributes is not None:
        raise InvalidParameterError(
            "attributes", must=f"be None if {argument} is None; pass it as {argument}"
        )
    record = partition.metadata.get("clustered")
    is_plain = resolved.estimator is None and attributes is None and metric is None
    if is_plain and record is not None and isinstance(table, pd.DataFrame):
        attributes = table
        table = choose_recorded_attributes(table, record).values
    data = ReportInput(
        CredalPartition.unchecked(
            partition.stored_masses,
            partition.focal_sets,
            None,
            _short_cluster_names(partition.frame),
            metadata=partition.metadata,
        )
    )
    texts = partition.metadata.get("descriptions", {})
    data.descriptions = [texts.get(str(name), "") for name in partition.frame]
    if not resolved.is_blockwise:  # otherwise the training data are not in memory
        data.estimator = resolved.estimator
        data.model = resolved.model
    if hasattr(data.model, "credal_partition_"):
        data.model = copy.copy(data.model)
        data.model.credal_partition_ = data.partition
    data.index = partition.index
    if data.index is None:
        data.index = row_names(table, attributes)
    if table is not None:
        data.is_pairwise = resolved.is_pairwise
        rows = _drop_row_names(resolved.align_table(table, argument))
        data.table = _match_fitted_columns(data.estimator, rows)
        if attributes is not None:
            aligned = resolved.align_table(attributes, "attributes", of_fit=False)
            attributes = _drop_row_names(aligned)
        _add_attributes(data, rows, attributes)
    return data


def _short_cluster_names(frame: Sequence[Hashable]) -> list[Hashable]:
    """Return different names of at most 40 characters; integers remain."""
    if all(isinstance(name, int) for name in frame):
        return list(frame)
    return list(unique_names(frame, MAX_CLUSTER_NAME_CHARACTERS))


# ---- tables --------------------------------------------------------------------------------------


def _drop_row_names(table: TableLike) -> Any:
    if isinstance(table, dict):
        return {name: _drop_row_names(part) for name, part in table.items()}
    if isinstance(table, list):
        return [_drop_row_names(part) for part in table]
    if hasattr(table, "reset_index"):
        return table.reset_index(drop=True)
    if hasattr(table, "detach"):
        return table.detach().cpu().numpy()
    return table


def _match_fitted_columns(estimator: Any, table: TableLike) -> TableLike:
    """Give the table column names only if the estimator was fitted with column names.

    Otherwise scikit-learn warns.
    """
    if estimator is None or Views.from_input(table) is not None:
        return table
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        if hasattr(table, "iloc") and is_numeric(table):
            return table.to_numpy()
    elif (
        isinstance(table, np.ndarray)
        and table.ndim == 2
        and table.shape[1] == len(names)
    ):
        return pd.DataFrame(table, columns=list(names))
    return table


def _add_attributes(data: ReportInput, rows: TableLike, attributes: TableLike) -> None:
    """Set the training data of the model, and the frame of ``attributes`` or ``rows``."""
    if data.is_pairwise:
        data.X = data.table
        if attributes is not None:
            data.frame = to_frame(attributes)
            data.clustered = []
    else:
        data.X, data.features = _apply_steps(data)
        if attributes is not None:
            shown = attributes
        elif data.is_image:
            shown = row_attributes(data.model, data.X)
        else:
            shown = rows
        data.frame = to_frame(shown)
        data.clustered = _clustered_columns(data, shown, is_table=attributes is None)
        if attributes is None and data.features is not None and not data.steps:
            data.features = list(data.frame.columns)
    if data.frame is not None:
        names = None
        if data.index is None:
            names = find_name_column(data.frame, data.clustered or ())
        if names is not None and data.frame.shape[1] > 1:
            data.index = pd.Index(data.frame.pop(names), name=names)
        data.id_columns = find_id_columns(data.frame, data.clustered)
        data.frame = data.frame.drop(columns=data.id_columns)


def _apply_steps(data: ReportInput) -> tuple[TableLike, list[str] | None]:
    """Return the table transformed by the steps before the model, and its column names."""
    X = data.table
    steps = getattr(data.estimator, "steps", [])[:-1]
    if steps:
        data.steps = [
            type(step).__name__
            for _, step in steps
            if step not in ("passthrough", None)
        ]
        before = data.estimator[:-1]
        X = before.transform(X)
        if issparse(X):
            X = X.toarray()
        X = _drop_row_names(X)
    elif data.is_image or Views.from_input(X) is not None:
        return X, None
    names = column_names(X)
    if names is None and steps:
        with suppress(AttributeError, TypeError, ValueError, NotImplementedError):
            names = list(before.get_feature_names_out())
    is_numbered = names is not None and all(
        name == f"x{j}" for j, name in enumerate(names)
    )
    if names is None or (steps and is_numbered):
        names = default_feature_names(np.shape(X)[1])
    return X, unique_names(names, MAX_NAME_CHARACTERS)


def _clustered_columns(
    data: ReportInput, shown: TableLike, *, is_table: bool
) -> list[str] | None:
    """Return the names of the columns of the frame that were clustered, or None if unknown."""
    assert data.frame is not None
    if data.model is None and is_table:
        return None
    columns = list(data.frame.columns)
    if is_table:
        return columns
    fitted = column_names(data.table)
    names = column_names(shown)
    if fitted is not None and names is not None:
        used = set(map(str, fitted))
        return [
            short
            for short, name in zip(columns, names, strict=True)
            if str(name) in used
        ]
    if len(columns) == np.shape(data.table)[-1]:
        return columns
    return None


def find_id_columns(frame: pd.DataFrame, clustered: list[str] | None) -> list[str]:
    """Return columns that identify the rows and were not clustered; no column if all do."""
    others = [name for name in frame.columns if name not in (clustered or ())]
    columns = [name for name in others if _is_identifier(frame[name])]
    if len(columns) < frame.shape[1]:
        return columns
    return []


def _is_identifier(column: pd.Series) -> bool:
    """Return whether a column contains consecutive integers or mostly distinct texts."""
    kind = column.dtype.kind
    if kind in "iu":
        return len(column) > _MIN_IDENTIFIERS and bool(
            (np.diff(column.to_numpy()) == 1).all()
        )
    if kind in "fbmM":
        return False
    return column.astype(str).nunique() > max(_MIN_IDENTIFIERS, len(column) // 2)


def to_frame(table: TableLike) -> pd.DataFrame:
    """Convert a table, or several joined tables, to a DataFrame with short, unique names."""
    table = joined_views(table)
    if issparse(table):
        raise InvalidParameterError(
            "table", must="be dense, got a sparse matrix; use table.toarray()"
        )
    names = column_names(table)
    if hasattr(table, "iloc"):
        frame = table.copy(deep=False)
    elif hasattr(table, "columns"):
        columns = [pd.Series(table[name].to_numpy()) for name in table.columns]
        frame = pd.concat(columns, axis=1)
    else:
        frame = pd.DataFrame(np.asarray(table).reshape(len(table), -1))
        frame = frame.infer_objects()
    if frame.shape[1] == 0:
        raise InvalidParameterError("table", must="have at least one column, got none")
    if names is None:
        names = default_feature_names(frame.shape[1])
    frame.columns = pd.Index(unique_names(names, MAX_NAME_CHARACTERS))
    return frame.reset_index(drop=True)


def dates_to_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with numbers instead of dates."""
    dates = frame.select_dtypes(["datetime", "datetimetz"])
    return frame.assign(**dates.astype("int64").where(dates.notna()))


def is_numeric(table: Any) -> bool:
    """Return whether all columns of a table, or all entries of an array, are numbers."""
    dtypes = getattr(table, "dtypes", [getattr(table, "dtype", None)])
    return all(getattr(dtype, "kind", "O") in "iuf" for dtype in dtypes)


def short_name(name: Any, limit: int = MAX_NAME_CHARACTERS) -> str:
    """Return a name as one line of at most ``limit`` characters."""
    return shorten(one_line(str(name)[: 40 * limit]), limit)
