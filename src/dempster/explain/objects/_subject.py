"""The object that is to be explained, and those it is among, whatever model, table or partition they come from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from dempster._errors import InvalidInputError
from dempster._types import Index, TableLike
from dempster._validation import as_reals, check, choice, object_index, order_of_names, ordered_like, shown
from dempster.cluster.evidence import ClusterEvidence, ReadObject, attributes_of, read_object
from dempster.dissimilarity.input import with_columns
from dempster.dissimilarity.sources import AttributeSource, check_values
from dempster.dissimilarity.views import Views
from dempster.explain.objects._along_path import evidence_along_path
from dempster.explain.objects._given import as_meant, checked_matrix, full_row, is_estimator, position_of
from dempster.explain.objects._members import (
    differences,
    evidence_from_dissimilarities,
    evidence_from_members,
    members_of,
)
from dempster.explain.objects._table import Cells, ObjectTable, rows_of
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import as_credal_partition

__all__ = ["Subject", "subject_of"]

_PROBES = 8  # objects by which the data of a fit are recognized
_SAME = 1e-3  # masses that differ by less are the same, in single precision too


class Subject:
    """One object among others.

    Attributes
    ----------
    partition : CredalPartition
        Of the others, among whom exemplars are found.
    masses : CredalPartition
        Of the object.
    position : int
        Of the object among the others, -1 for a new one.
    itself : int
        Of the object, or of one that is the same, among the objects of the fit; -1 if there is none.
    table, cells : attributes of the others and of the object, None where there are none
    row : (n,) array or None
        Dissimilarities to the others, where these are given; NaN where they are not known.
    """

    partition: CredalPartition
    masses: CredalPartition
    position: int = -1
    itself: int = -1
    table: ObjectTable | None = None
    cells: Cells | None = None
    row: np.ndarray | None = None

    def __init__(self, estimator: Any, names: Index, *, new: bool):
        self.estimator, self.names, self._is_new = estimator, names, new
        self.reader: ReadObject | None = None
        self.among_fit = True  # whether the others are the objects of the fit

    @property
    def name(self) -> Hashable | None:
        return None if self._is_new else self.name_of(self.position)

    @property
    def own_position(self) -> int:
        """Of the object, or of one that is the same, among the others; -1 if there is none."""
        return self.position if self.position >= 0 or not self.among_fit else self.itself

    def name_of(self, position: int) -> Hashable:
        return position if self.names is None else self.names[position]

    def name_in_fit(self, evidence: ClusterEvidence, which: int) -> Hashable:
        """Of one of the objects that the model compares with, and of the view in which it does where it has several."""
        position = int(evidence.positions[which])
        if self.among_fit:
            name = self.name_of(position)
        else:
            index = self.estimator.credal_partition_.index
            name = f"{position if index is None else index[position]} of the fit"
        views = getattr(self.estimator, "view_names_", [])
        return name if evidence.views is None or len(views) < 2 else f"{name} in {views[evidence.views[which]]}"

    def cluster(self, name: Hashable) -> int:
        """Position of a cluster that is given by its name."""
        try:
            rows, _ = self.partition.membership_rows((name,))
        except ValueError as error:
            known = ", ".join(map(str, self.partition.frame))
            raise InvalidInputError(f"clusters must be names of clusters ({known}), got {shown(name)}") from error
        return int(rows[0].argmax())

    # ---- evidence -------------------------------------------------------------------------------------------------

    def evidence(self) -> ClusterEvidence | None:
        """What speaks for each cluster; None if the model has to be asked along a line."""
        if self.reader is not None:
            found = self.reader.evidence(self.itself)
            if found is not None:
                return found
        if self.row is not None:
            return evidence_from_dissimilarities(self.partition, self.row, self.own_position)
        assert self.table is not None
        assert self.cells is not None
        if hasattr(self.estimator, "predict_mass") and self.table.all_numbers:
            return None
        return evidence_from_members(self.partition, self.table, self.cells, self.own_position)

    def evidence_along_path(self, candidates: Sequence[int]) -> ClusterEvidence:
        """From the middle between the two first candidates, each known by its members, to the object."""
        assert self.table is not None
        assert self.cells is not None
        places = []
        for k in candidates[:2]:
            members = members_of(self.partition, k, self.own_position)
            if len(members):
                places.append(_means(self.table.numbers[members]))
        middle = np.mean(places, axis=0) if places else _means(self.table.numbers)
        point = np.array([cell[0] for cell in self.cells])
        return evidence_along_path(lambda rows: np.asarray(self.ask(list(rows.T)).contour, dtype=float), middle, point)

    # ---- asking the model -----------------------------------------------------------------------------------------

    @property
    def can_ask(self) -> bool:
        """Whether the model can be asked about an object with other attributes."""
        return self.row is None and self.table is not None and hasattr(self.estimator, "predict_mass")

    def ask(self, cells: Cells) -> CredalPartition:
        """Masses of objects with these attributes."""
        rows = self._rows(cells)
        if self.reader is not None:
            return self.reader.masses_with(rows)
        return CredalPartition(self.estimator.predict_mass(rows))

    def certain(self, cells: Cells) -> np.ndarray:
        """(m,) the cluster of which the model is certain for objects with these attributes, -1 for none.

        A new object that is very like one of the fit shares its doubts less than that one itself, which does not count
        for itself. So the model must be certain with the object where it was, and without.
        """
        found = _certain_of(self.ask(cells))
        moved = None if self.reader is None else self.reader.masses_of_moved(self._rows(cells), self.itself)
        return found if moved is None else np.where(found == _certain_of(moved), found, -1)

    def _rows(self, cells: Cells) -> Any:
        assert self.table is not None
        return self.table.like([np.ascontiguousarray(column) for column in cells])

    # ---- comparing ------------------------------------------------------------------------------------------------

    def distances(self, positions: np.ndarray) -> np.ndarray:
        """(r,) distances to some of the others; by the metric of the method, or standardized where it has none."""
        if self.row is not None:
            return self.row[positions]
        assert self.table is not None
        assert self.cells is not None
        point = np.array([cell[0] for cell in self.cells]) if self.table.all_numbers else None
        if point is None or self.reader is None or np.isnan(point).any() or np.isnan(self.table.numbers).any():
            apart = differences(self.table, self.cells, positions)
            known = np.maximum((~np.isnan(apart)).sum(axis=1), 1)
            return np.sqrt(np.nansum(apart, axis=1) * apart.shape[1] / known)
        metric = getattr(self.estimator, "metric", "euclidean")
        own = isinstance(metric, str) and metric in ("gower", "adaptive", "precomputed")  # no metrics of two rows
        numbers, point = self.reader.placed(self.table.numbers[positions]), self.reader.placed(point[None])
        return AttributeSource(numbers, "euclidean" if own else metric).between(point, numbers, exact=True)[0]

    @cached_property
    def can_share(self) -> bool:
        """Whether what the objects compared with add can be shared by attributes that are given beside."""
        return self.table is not None and self.cells is not None and self.among_fit

    def shares(self, positions: np.ndarray) -> np.ndarray:
        """(r, p) shares of the attributes in the squared standardized differences to some of the others."""
        assert self.table is not None
        assert self.cells is not None
        apart = differences(self.table, self.cells, positions)
        known = ~np.isnan(apart)
        total = np.where(known, apart, 0).sum(axis=1, keepdims=True)
        equal = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
        return np.where(total > 0, np.where(known, apart, 0) / np.where(total > 0, total, 1), equal)


def _means(numbers: np.ndarray) -> np.ndarray:
    """(p,) means of what is known, zero for attributes of which nothing is."""
    known = ~np.isnan(numbers)
    return np.where(known, numbers, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _certain_of(partition: CredalPartition) -> np.ndarray:
    sets = partition.focal_sets.membership[partition.best_set]
    return np.where(sets.sum(axis=1) == 1, sets.argmax(axis=1), -1)


def subject_of(
    estimator: Any,
    X: TableLike,
    i: Any,
    attributes: TableLike,
    feature_names: Sequence[str] | None,
    metric: str | None,
) -> Subject:
    """The object i of X, or a new one, as the estimator or partition sees it."""
    check(metric, "metric", choice(None) | choice("precomputed"))
    X, i = as_meant(estimator, X, i, metric)
    if is_estimator(estimator):
        if get_tags(estimator).input_tags.pairwise:
            return _among_dissimilarities(estimator, X, i, attributes, feature_names)
    elif metric == "precomputed":
        return _among_dissimilarities(estimator, X, i, attributes, feature_names)
    if attributes is not None:
        raise InvalidInputError("attributes must be None when X holds attributes; they are for dissimilarities")
    return _among_attributes(estimator, X, i, feature_names)


def _partition_known(estimator: Any) -> CredalPartition | None:
    """The partition of the objects of the fit; None for a classifier."""
    if not is_estimator(estimator):
        return as_credal_partition(estimator, "estimator")
    if hasattr(estimator, "credal_partition_"):
        return estimator.credal_partition_
    return CredalPartition.from_hard(np.ravel(estimator.labels_)) if hasattr(estimator, "labels_") else None


# ---- attributes -----------------------------------------------------------------------------------------------------


def _among_attributes(estimator: Any, X: TableLike, i: Any, feature_names: Sequence[str] | None) -> Subject:
    image = getattr(estimator, "image_shape_", None)
    ours = hasattr(estimator, "credal_partition_") and hasattr(estimator, "predict_mass")
    names = feature_names
    if names is None and not hasattr(X, "columns"):
        names = getattr(estimator, "feature_names_in_", None)
    shown = attributes_of(estimator, X) if ours else X
    categorical = hasattr(estimator, "categories_")
    numeric = ours and not categorical and getattr(estimator, "metric", None) != "gower"
    table = ObjectTable(shown, names=names, categorical=categorical, numeric=numeric)
    partition = _partition_known(estimator)
    known = None if partition is None else partition.index
    position = position_of(i, table.index if table.index is not None else known, len(table), image)
    subject = Subject(estimator, table.index if table.index is not None else known, new=position < 0)
    subject.table, subject.position = table, position
    subject.cells = table.read(i) if position < 0 else table.row(position)
    if ours:
        row = table.like(subject.cells) if position < 0 or image is None else None
        whole = X if image is not None else (rows_of(X, [position]) if position >= 0 else None)
        place = position if image is not None else 0
        subject.reader = read_object(estimator, row, None) if position < 0 else read_object(estimator, whole, place)
        subject.among_fit = _is_of_fit(estimator, X, len(table), partition, position)
    elif partition is not None and len(partition) != len(table):
        raise InvalidInputError(f"X must hold the {len(partition)} objects of the partition, got {len(table)}")
    if partition is None or not subject.among_fit:
        partition = CredalPartition(estimator.predict_mass(X))
        subject.names = table.index
    elif not ours:
        order = order_of_names(partition.index, table.index)
        partition = partition if order is None else partition[order]
    subject.partition = partition
    twin = position if position >= 0 else table.find(subject.cells)
    subject.masses = _masses(subject, twin)
    subject.itself = twin if subject.among_fit else _place_in_fit(subject, table.index)
    return subject


def _place_in_fit(subject: Subject, names: Index) -> int:
    """Where an object of another table is among those of the fit: the only one there of its name, with its masses."""
    fitted = getattr(subject.estimator, "credal_partition_", None)
    if names is None or subject.position < 0 or fitted is None or fitted.index is None:
        return -1
    places = [k for k, name in enumerate(fitted.index) if name == names[subject.position]]
    if len(places) != 1 or np.abs(subject.masses.masses - fitted.masses[places]).max() > _SAME:
        return -1
    return places[0]


def _masses(subject: Subject, twin: int) -> CredalPartition:
    """Of the object: those it has in the partition, or else those the model gives it."""
    if twin >= 0:
        return subject.partition[[twin]]
    if subject.reader is not None:
        return subject.reader.masses()
    assert subject.table is not None
    assert subject.cells is not None
    if hasattr(subject.estimator, "predict_mass"):
        return CredalPartition(subject.estimator.predict_mass(subject.table.like(subject.cells)))
    # a partition does not say where a new object belongs: the nearest members do
    evidence = evidence_from_members(subject.partition, subject.table, subject.cells, -1)
    return _nearest_cluster(subject.partition, evidence)


def _nearest_cluster(partition: CredalPartition, evidence: ClusterEvidence) -> CredalPartition:
    """All mass on the cluster that most speaks for."""
    if not np.isfinite(evidence.total).any():
        raise InvalidInputError("no cluster has an object to compare with: all objects are outliers")
    masses = np.zeros((1, len(partition.focal_sets)))
    place = partition.focal_sets.singleton_index[int(np.argmax(evidence.total))]
    if place < 0:
        raise InvalidInputError(
            "i must be an object of the partition, which has no sets of single clusters for a new one"
        )
    masses[0, place] = 1
    return CredalPartition(masses, partition.focal_sets, frame=partition.frame)


def _is_of_fit(estimator: Any, X: TableLike, n: int, partition: CredalPartition | None, position: int) -> bool:
    """Whether X holds the objects that were clustered: as many, and some of them, with the one that is to be explained
    (at ``position``, -1 for a new one), have the masses they should."""
    if partition is None or len(partition) != n:
        return False
    some = np.linspace(0, n - 1, _PROBES).astype(int)
    some = np.unique(some if position < 0 else np.append(some, position))
    if hasattr(estimator, "image_shape_"):
        masses = estimator.predict_mass(X).masses[some]
    else:
        masses = estimator.predict_mass(rows_of(X, some)).masses
    return bool(np.abs(masses - partition.masses[some]).max(initial=0) <= _SAME)


# ---- dissimilarities ------------------------------------------------------------------------------------------------


def _among_dissimilarities(
    estimator: Any, X: TableLike, i: Any, attributes: TableLike, feature_names: Sequence[str] | None
) -> Subject:
    partition = _partition_known(estimator)
    assert partition is not None
    views = Views.of(X)  # of a model that takes several
    X = X if views is not None else checked_matrix(X)
    n, n_rows = len(partition), X.shape[0] if views is None else len(views)
    index = object_index(X) if views is None else views.index
    names = index if index is not None else partition.index if n_rows == n else None
    position = position_of(i, names, n_rows, None)
    if views is None:
        X, position = _arranged(X, position, partition.index)
        if partition.index is not None or n_rows == n:
            X = with_columns(X, index if partition.index is None else partition.index)
    names = names if partition.index is None else partition.index
    asked = is_estimator(estimator) and hasattr(estimator, "predict_mass")
    if position >= 0:
        row = rows_of(X, [position])
    elif views is None:
        row = check_values(as_reals(i, "i").astype(float, copy=False).reshape(1, -1), "i")
    else:
        row = views.given(list(views.row_of_dissimilarities(i)[:, None]))
    subject = Subject(estimator, names, new=position < 0)
    subject.partition = partition
    square = n_rows == n and (not asked or _is_of_fit(estimator, X, n, partition, position))
    subject.position = subject.itself = position if square else -1
    subject._is_new = subject.position < 0
    if asked:
        subject.reader = read_object(estimator, row, 0)
    if views is None or subject.reader is None:
        subject.row = full_row(estimator, row, n)
    else:
        subject.row = subject.reader.dissimilarities()
    if attributes is not None:
        subject.table = ObjectTable(ordered_like(attributes, names), names=feature_names, argument="attributes")
        if len(subject.table) != n:
            raise InvalidInputError(f"attributes must have {n} rows, one for each object, got {len(subject.table)}")
        if subject.position < 0:
            raise InvalidInputError("attributes must be None for a new object, whose own are not among them")
        subject.cells = subject.table.row(subject.position)
    if subject.position >= 0:
        subject.masses = partition[[subject.position]]
    elif subject.reader is not None:
        subject.masses = subject.reader.masses()
    else:
        subject.masses = _nearest_cluster(partition, evidence_from_dissimilarities(partition, subject.row, -1))
    return subject


def _arranged(X: TableLike, position: int, names: Index) -> tuple[Any, int]:
    """The rows in the order of the objects with these names, and where the one at a position went."""
    rows = ordered_like(X, names)
    return rows, position if rows is X or position < 0 else list(names).index(X.index[position])
