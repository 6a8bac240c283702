"""What a report is about: a partition, the table of its objects, and the model that made it, whatever was given."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import get_tags

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._types import TableLike
from dempster._validation import column_names, numbered_attributes, object_index, order_of_names
from dempster.apps.report._facts.frames import as_frame, naming_columns, plain_rows
from dempster.apps.report._facts.given import Given
from dempster.apps.report._facts.naming import ObjectNames, different, renamed_frame
from dempster.cluster.evidence import attributes_of
from dempster.dissimilarity.views import Views
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.partition.credal_partition import as_credal_partition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Case", "case_of"]


@dataclass(eq=False)
class Case:
    """What is reported.

    Attributes
    ----------
    partition : CredalPartition
        Objects without names, in the order of the rows of ``table``; clusters by short names.
    objects : ObjectNames
    frame : DataFrame or None
        Attributes of the objects by which clusters are described, in their own units.
    clustered : list of str or None
        Those columns of ``frame`` that were clustered; None if nobody knows.
    model : fitted clusterer or None
        With the partition of above.
    X : table, matrix of dissimilarities or None
        What the model was fitted to; for a partition alone, what is known of its objects.
    features : list of str or None
        Names of the columns of X.
    is_pairwise : bool
        Whether X holds dissimilarities.
    whole : estimator or None
        The model with the steps before it, as it was given.
    given : table or None
        What ``whole`` was fitted to.
    steps : list of str
        Classes of the steps before the model.
    learned : mapping
        What the model was given besides the table: constraints, labels, weights.
    naming : list of str
        Columns that name or number the rows, and so describe nothing; they are not in ``frame``.
    """

    partition: CredalPartition
    objects: ObjectNames
    frame: pd.DataFrame | None = None
    clustered: list[str] | None = None
    model: Any = None
    X: TableLike = None
    features: list[str] | None = None
    is_pairwise: bool = False
    whole: Any = None
    given: TableLike = None
    steps: list[str] = field(default_factory=list)
    learned: Mapping[str, Any] = field(default_factory=dict)
    naming: list[str] = field(default_factory=list)

    @property
    def is_image(self) -> bool:
        return hasattr(self.model, "image_shape_")

    @property
    def has_views(self) -> bool:
        return self.X is not None and Views.of(self.X) is not None

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.partition.metadata


def case_of(given: Given, *, names: Any = None, metric: str | None = None) -> Case:
    """The case of what was given; ``names`` are those of the clusters."""
    rule.check(metric, "metric", rule.choice(None) | rule.choice("precomputed"))
    whole, model, partition = _model_and_partition(given.subject)
    table, attributes = given.table, given.attributes
    if len(partition) == 0:
        raise InvalidInputError("subject must be the partition of at least one object, got none")
    pairwise = metric == "precomputed" if model is None else bool(get_tags(model).input_tags.pairwise)
    if table is None:
        if metric is not None:
            raise InvalidInputError("table must hold the dissimilarities when metric='precomputed', got None")
        if attributes is not None:
            raise InvalidInputError("attributes are shown beside table, which is None; give them as table")
        pairwise = False
    nameless = CredalPartition.unchecked(
        partition.masses,
        partition.focal_sets,
        None,
        _cluster_names(partition, names),
        metadata=partition.metadata,
    )
    if model is not None and hasattr(model, "credal_partition_"):
        model = copy.copy(model)
        model.credal_partition_ = nameless
    index = _names_of_objects(partition, table, attributes)
    case = Case(nameless, ObjectNames(index, len(nameless)), model=model, whole=whole, learned=given.learned)
    if table is not None:
        case.given, case.is_pairwise = _aligned(table, partition, model, pairwise), pairwise
        shown = case.given
        case.given = _as_fitted(whole, case.given)
        beside = shown if attributes is None else _aligned(attributes, partition, None, False)
        _add_table(case, beside, further=attributes is not None)
    return case


def _model_and_partition(subject: Any) -> tuple[Any, Any, CredalPartition]:
    """The estimator as given, its last step, and the partition; no estimator for a partition alone."""
    whole = model = None
    found = subject
    if hasattr(subject, "fit") and not isinstance(subject, type):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(subject)
        whole = model = subject
        while hasattr(model, "steps"):
            model = model.steps[-1][1]
        found = getattr(model, "credal_partition_", None)
        if found is None:
            found = getattr(model, "labels_", None)
        if found is None:
            raise InvalidInputError(
                "subject must be a clusterer that was fitted, a pipeline that ends with one, or a partition, got "
                f"{type(model).__name__}, which has neither credal_partition_ nor labels_"
            )
    if isinstance(found, LazyCredalPartition):
        found = found.compute()
        if model is not None:  # blocks are gone; the partition stands for the model
            whole = model = None
    elif not hasattr(found, "focal_sets") and (isinstance(found, str | Mapping) or np.ndim(found) != 1):
        raise InvalidInputError(
            "subject must be a fitted clusterer, a pipeline that ends with one, a CredalPartition, labels, or what a "
            f"Recipe.run gave, got {type(found).__name__}"
        )
    return whole, model, as_credal_partition(found)


def _cluster_names(partition: CredalPartition, names: Any) -> list[Hashable]:
    """Short names of the clusters: those given, for all or, by a mapping, for some, else those of the partition."""
    frame = list(partition.frame)
    if names is None:
        return renamed_frame(frame)
    if isinstance(names, Mapping):
        if unknown := [name for name in names if name not in frame]:
            raise InvalidInputError(f"names must name clusters of the partition ({frame[:20]}), got {unknown[0]!r}")
        return list(different([names.get(name, name) for name in frame], 40))
    if isinstance(names, str) or not isinstance(names, Sequence | np.ndarray) or len(names) != len(frame):
        raise InvalidInputError(
            f"names must hold a name for each of the {len(frame)} clusters, got {rule.shown(names)}"
        )
    return list(different(names, 40))


def _names_of_objects(partition: CredalPartition, table: TableLike, attributes: TableLike) -> Any:
    if partition.index is not None:
        return partition.index
    views = None if table is None else Views.of(table)
    found = object_index(table) if views is None else views.index
    return found if found is not None else object_index(attributes)


def _aligned(table: TableLike, partition: CredalPartition, model: Any, pairwise: bool) -> TableLike:
    """The table with its rows in the order of the objects of the partition, without names."""
    if table is None:
        return None
    if hasattr(table, "collect"):
        table = table.collect()  # lazily evaluated
    elif hasattr(table, "compute"):
        table = table.compute()
    n = len(partition)
    views = Views.of(table)
    if views is not None:
        _check_length(len(views), n)
        everyone = np.arange(n)
        parts = views.square_parts(everyone) if pairwise else views.rows(everyone)
        return {k: plain_rows(v) for k, v in parts.items()} if views.is_named else [plain_rows(v) for v in parts]
    if not hasattr(table, "shape"):
        table = np.asarray(table, dtype=object if _holds_text(table) else None)
    if hasattr(model, "image_shape_"):
        return table
    if len(table.shape) != 2:
        raise InvalidInputError(
            f"table must have two dimensions, objects and attributes, got shape {tuple(table.shape)}"
        )
    _check_length(int(table.shape[0]), n)
    order = order_of_names(object_index(table), partition.index)
    if order is not None:
        table = table.iloc[order, order] if pairwise else table.iloc[order]
    return plain_rows(table)


def _holds_text(table: Any) -> bool:
    return np.asarray(table).dtype.kind in "USO"


def _check_length(n_rows: int, n: int) -> None:
    if n_rows != n:
        raise InvalidInputError(
            f"table must have a row for each of the {n:,} objects of the partition, got {n_rows:,}; the partition of "
            "other objects is estimator.predict_mass(table)"
        )


def _as_fitted(whole: Any, table: TableLike) -> TableLike:
    """The table with names of columns if the model knows some, without if it does not: scikit-learn warns else."""
    known = getattr(whole, "feature_names_in_", None)
    if whole is None or Views.of(table) is not None:
        return table
    if known is None and hasattr(table, "iloc") and all(dtype.kind in "iuf" for dtype in table.dtypes):
        return table.to_numpy()
    if known is not None and isinstance(table, np.ndarray) and table.ndim == 2 and table.shape[1] == len(known):
        import pandas as pd

        return pd.DataFrame(table, columns=list(known))
    return table


def _add_table(case: Case, shown: TableLike, *, further: bool) -> None:
    """What is known of the objects: attributes to describe them by, and what the model was fitted to. What is shown is
    the table, or ``further`` attributes."""
    if case.is_pairwise:
        case.X = case.given
        if further:
            case.frame, case.clustered = as_frame(shown), []
    else:
        case.X, case.features = _seen_by_model(case)
        if not further and case.is_image:
            shown = attributes_of(case.model, case.X)
        case.frame = as_frame(shown)
        case.clustered = _clustered(case, shown, further=further)
        if not further and case.features is not None and not case.steps:
            case.features = list(case.frame.columns)  # the same columns, by the same short names
    if case.frame is not None:
        case.naming = naming_columns(case.frame, case.clustered)
        case.frame = case.frame.drop(columns=case.naming)


def _clustered(case: Case, shown: TableLike, *, further: bool) -> list[str] | None:
    """Columns of the frame that the clusters were made of; None if nobody knows."""
    assert case.frame is not None
    if case.model is None:
        return None
    if not further:
        return list(case.frame.columns)
    known, names = column_names(case.given), column_names(shown)
    if known is None or names is None:
        same = len(case.frame.columns) == np.shape(case.given)[-1]
        return list(case.frame.columns) if same else None
    used = set(map(str, known))
    return [short for short, name in zip(case.frame.columns, names, strict=True) if str(name) in used]


def _seen_by_model(case: Case) -> tuple[TableLike, list[str] | None]:
    """What the steps before the model make of the table, and the names of its columns."""
    steps = getattr(case.whole, "steps", [])[:-1]
    if not steps:
        several = case.is_image or Views.of(case.given) is not None
        return case.given, None if several else _columns(case.given)
    case.steps = [type(step).__name__ for _, step in steps if step not in ("passthrough", None)]
    before = case.whole[:-1]
    X = before.transform(case.given)
    if hasattr(X, "toarray"):
        X = X.toarray()
    return plain_rows(X), _names_out(before, X)


def _columns(table: TableLike) -> list[str]:
    names = column_names(table)
    return different(names if names is not None else numbered_attributes(np.shape(table)[1]))


def _names_out(before: Any, X: Any) -> list[str]:
    names = column_names(X)
    if names is None:
        try:
            names = list(before.get_feature_names_out())
        except (AttributeError, ValueError, NotImplementedError):
            names = None
    plain = names is None or all(str(name) == f"x{j}" for j, name in enumerate(names))
    return different(numbered_attributes(X.shape[1]) if plain else names)  # type: ignore[arg-type]
