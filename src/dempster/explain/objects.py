"""Explain one object: find out what was asked, what speaks for each cluster, and what would make the object certain."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import Index, TableLike
from dempster._validation import (
    as_reals,
    check,
    check_flags,
    integer,
    is_missing,
    listed,
    ordered_like,
)
from dempster.cluster.evidence import ClusterEvidence, ReadObject, attributes_of, read_object
from dempster.dissimilarity.input import with_columns
from dempster.dissimilarity.sources import AttributeSource, check_values
from dempster.dissimilarity.views import Views
from dempster.explain.changes import Target, smallest_changes
from dempster.explain.inputs import (
    Cells,
    ExplainedInput,
    ObjectTable,
    find_object,
    resolve_input,
    row_names,
    select_rows,
    to_array,
)
from dempster.explain.object_explanation import ComparedObject, Exemplar, ObjectExplanation
from dempster.partition import CredalPartition

MAX_COMPARED = 10  # objects compared with that are named
N_PROBES = 8  # objects by which the data of a fit are recognized
MASS_TOLERANCE = 1e-3  # masses that differ by less are the same, in single precision too
PATH_STEPS = 64
MAX_PATH_CELLS = 4_000_000  # of the objects for which masses are computed at once


def explain_object(
    estimator: Any,
    X: TableLike,
    i: Any,
    *,
    clusters: Sequence[Hashable] | None = None,
    attributes: TableLike = None,
    feature_names: Sequence[str] | None = None,
    metric: str | None = None,
    n_exemplars: int = 1,
    changes: bool = True,
) -> ObjectExplanation:
    """Why an object is where it is: what pulls it to each of the clusters in question, and what would make it certain.

    What speaks for a cluster is a number that belongs to the method, and attributes share it so that their parts add
    up:

    ===================================  =============================================================================
    ECM, CECM, CCM, SECM, BPEC, RECM     minus the squared distance to the center, attribute by attribute; with an
                                         adaptive metric, terms of two attributes go to both in equal parts
    CatECM                               minus the number of attributes that differ from the center
    WMVEC                                minus the squared distance to the center, attribute by attribute, each as much
                                         as its view counts; of matrices, to the medoids of each view
    MECM, ECMdd, WECMdd                  minus the dissimilarity to the medoids, shared as the attributes share it
    EGMM, BootClus                       logarithm of the weight times the density, in the mean over bootstrap fits
    EVCLUS                               logarithm of how alike it is with the members of the cluster, each of whom
                                         counts by its share; with masses that come from conflicts alone, minus the
                                         misfit of these, were it certain of the cluster
    EKNNClus                             logarithm of the weight of evidence of the neighbors in the cluster
    NNEVCLUS, all others                 plausibility: what it changes by on the line from the middle between the two
                                         clusters to the object (integrated gradients)
    a partition, labels                  minus the squared standardized distance to the mean of the certain objects
    ===================================  =============================================================================

    Parameters
    ----------
    estimator : fitted clusterer, CredalPartition, or array-like of labels
        Anything with ``predict_mass``, ``credal_partition_`` or ``labels_``. Of a partition or labels nothing but the
        members of the clusters is known.
    X : array-like or table
        The objects that were clustered, as `fit` took them, or others of the kind. For ``metric="precomputed"`` the
        dissimilarities. Several tables or matrices, for `WMVEC` or a partition, are a list or a dictionary of them;
        their attributes are called "view: column".
    i : int, name, or array-like of shape (n_features,)
        Position of the object in X; its name in the index, if X has one; or a new object: a row, a series or mapping by
        the names of the attributes, a table with one row, or one of these for each of several views. Of an image, also
        the tuple of coordinates of a pixel. Attributes that are missing (NaN) pull to nothing.
    clusters : sequence of names of clusters, optional
        Those in question. By default the ones that the object is torn between, or else the two most plausible ones.
    attributes : table of n objects, optional
        For dissimilarities: attributes of the objects, which then share what each of the objects adds, by their squared
        standardized differences. Without, contributions are those of the objects compared with.
    feature_names : sequence of str, optional
        Names of the attributes; by default those of the columns.
    metric : {"precomputed"} or None
        For a partition or labels: X holds dissimilarities.
    n_exemplars : int, default=1
        How many certain objects of each cluster in question are looked for.
    changes : bool, default=True
        Look for the smallest change that would make the object certain, by asking ``predict_mass``: of one attribute
        within its range, and of all of them towards a certain object.

    Returns
    -------
    ObjectExplanation

    Notes
    -----
    An object of the fit does not speak for itself. "Certain" is as in `CredalPartition.lower`: the largest mass is on a
    single cluster.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import explain_object
    >>> iris = load_iris()
    >>> model = ECM(3, random_state=0).fit(iris.data)
    >>> why = explain_object(model, iris.data, 70, feature_names=iris.feature_names)
    >>> why.contributions.shape == (4, len(why.clusters))
    True
    >>> bool(np.allclose(why.contributions.sum(axis=0), why.explained))
    True
    """
    check(n_exemplars, "n_exemplars", integer(1))
    check_flags(changes=changes)
    obj = _resolve_object(estimator, X, i, attributes, feature_names, metric)
    evidence = obj.evidence()
    candidates = _candidates(obj, evidence, clusters)
    if evidence is None:
        evidence = obj.evidence_along_path(candidates)
    decomposed, names, by = _decompose(obj, evidence, candidates)
    assert decomposed.parts is not None
    frame = obj.partition.frame
    exemplars = tuple(exemplar for k in candidates for exemplar in _exemplars(obj, k, n_exemplars))
    found: list = []
    if changes and obj.can_predict:
        targets, pulls = _targets(obj, exemplars, candidates), np.ptp(decomposed.parts, axis=1)
        found = smallest_changes(obj.table, obj.cells, targets, pulls, obj.certain_clusters)
    values, typical = None, None
    if by == "attributes":
        values = tuple(cell[0].item() if isinstance(cell[0], np.generic) else cell[0] for cell in obj.cells)
        typical = tuple(tuple(typical_cells(obj.partition, obj.table, k, obj.own_position)) for k in candidates)
    return ObjectExplanation(
        name=obj.name,
        masses=obj.masses,
        clusters=tuple(frame[k] for k in candidates),
        attributes=tuple(names),
        by=by,
        parts=decomposed.parts,
        evidence=decomposed.total,
        quantity=decomposed.quantity,
        values=values,
        typical=typical,
        exemplars=exemplars,
        compared=_compared(obj, evidence, candidates),
        changes=tuple(found),
        movable=bool(changes and obj.can_predict),
    )


def _candidates(obj: ExplainedObject, evidence: ClusterEvidence | None, wanted: Sequence[Hashable] | None) -> list[int]:
    """Return the positions of the clusters in question, the most plausible first."""
    plausible = np.asarray(obj.masses.contour[0], dtype=float)
    total = plausible if evidence is None else evidence.total
    order = np.lexsort((np.arange(len(plausible)), -total, -plausible))
    order = order[np.isfinite(total[order])]
    if wanted is not None:
        wanted = listed(wanted, "clusters", "names of clusters")
        chosen = [obj.cluster(name) for name in wanted]
        if len(chosen) == 0 or len(set(chosen)) < len(chosen):
            raise InvalidInputError(f"clusters must name at least one cluster, each once, got {list(wanted)}")
        if lost := [obj.partition.frame[k] for k in chosen if k not in order]:
            raise InvalidInputError(f"clusters must have objects to compare with; {lost[0]!r} has none")
        return [int(k) for k in order if k in chosen]
    if len(order) == 0:
        raise InvalidInputError("no cluster has an object to compare with: all objects are outliers")
    torn = obj.masses.focal_sets.membership[obj.masses.best_set[0]]
    number = max(2, int(torn[order].sum()))
    ranked = sorted(order, key=lambda k: not torn[k])  # stable: those it is torn between first
    return [int(k) for k in ranked[:number]]


def _decompose(
    obj: ExplainedObject, evidence: ClusterEvidence, candidates: Sequence[int]
) -> tuple[ClusterEvidence, list[str], str]:
    """Return the evidence for the candidates by attributes, otherwise by the objects compared with, and their names."""
    if evidence.parts is None and obj.can_share and len(evidence.positions):
        evidence = replace(evidence, parts=evidence.shared_by(obj.shares(evidence.positions)))
    if evidence.parts is not None and obj.has_attributes:
        found = replace(evidence, parts=evidence.parts[:, candidates], total=evidence.total[candidates])
        return found, obj.table.names, "attributes"
    counting = np.flatnonzero(evidence.coefficients[:, candidates].any(axis=1))  # medoids of others say nothing here
    found = evidence.by_objects(candidates)
    assert found.parts is not None
    names = [str(obj.name_in_fit(evidence, int(j))) for j in counting]
    return replace(found, parts=found.parts[counting]), names, "objects"


def _exemplars(obj: ExplainedObject, cluster: int, number: int) -> list[Exemplar]:
    """Return the nearest certain objects of a cluster."""
    name = obj.partition.frame[cluster]
    certain = obj.partition.lower(name)
    certain = certain[certain != obj.own_position]
    if len(certain) == 0:
        return []
    distance = obj.distances(certain)
    nearest = np.argsort(distance, kind="stable")[:number]  # those that are not known come last
    nearest = nearest[np.isfinite(distance[nearest])]
    return [Exemplar(name, obj.name_of(int(certain[j])), int(certain[j]), float(distance[j])) for j in nearest]


def _targets(obj: ExplainedObject, exemplars: Sequence[Exemplar], candidates: Sequence[int]) -> list[Target]:
    """Return certain objects to move to, for every candidate that the object is not certain of yet.

    These are the nearest one and the one with the largest belief in the cluster.
    """
    frame, here = obj.partition.frame, obj.masses.lower
    targets = []
    for k in candidates:
        if len(here(frame[k])):
            continue
        places = [exemplar.position for exemplar in exemplars if exemplar.cluster == frame[k]][:1]
        members = find_members(obj.partition, k, obj.own_position)
        if len(members):
            places.append(int(members[np.argmax(obj.partition.singleton_belief[members, k])]))
        targets += [Target(k, frame[k], obj.name_of(j), obj.table.row(j)) for j in dict.fromkeys(places)]
    return targets


def _compared(obj: ExplainedObject, evidence: ClusterEvidence, candidates: Sequence[int]) -> tuple[ComparedObject, ...]:
    """Return the objects that count most for the candidates."""
    weights = evidence.weights[:, candidates]
    order = np.argsort(-weights.max(axis=1, initial=0), kind="stable")[:MAX_COMPARED]
    order = order[weights[order].max(axis=1, initial=0) > 0]
    return tuple(
        ComparedObject(
            obj.name_in_fit(evidence, int(j)),
            int(evidence.positions[j]),
            tuple(float(weight) for weight in weights[j]),
        )
        for j in order
    )


# ---- the object -----------------------------------------------------------------------------------------------------


class ExplainedObject:
    """One object among others, as a model or a partition sees it.

    Attributes
    ----------
    model : the model that clustered, or None
    fitted : CredalPartition or None
        Partition of the objects of the fit.
    partition : CredalPartition
        Partition of the other objects, among which exemplars are found.
    masses : CredalPartition
        Masses of the object.
    position : int
        Position of the object among the others, -1 for a new one.
    itself : int
        Position of the object, or of an equal one, among the objects of the fit; -1 if there is none.
    among_fit : bool
        Whether the others are the objects of the fit.
    table, cells : attributes of the others and of the object, None where there are none
    row : (n,) array or None
        Dissimilarities to the others, where these are given; NaN where they are not known.
    """

    partition: CredalPartition
    masses: CredalPartition
    position: int = -1
    itself: int = -1
    among_fit: bool = True
    table: ObjectTable
    cells: Cells
    row: np.ndarray | None = None
    reader: ReadObject | None = None

    def __init__(self, found: ExplainedInput, names: Index, *, is_new: bool):
        self.model, self.fitted, self.names, self._is_new = found.model, found.partition, names, is_new

    @property
    def has_attributes(self) -> bool:
        return hasattr(self, "table")

    @property
    def name(self) -> Hashable | None:
        return None if self._is_new else self.name_of(self.position)

    @property
    def own_position(self) -> int:
        """Position of the object, or of an equal one, among the others; -1 if there is none."""
        return self.position if self.position >= 0 or not self.among_fit else self.itself

    def name_of(self, position: int) -> Hashable:
        return position if self.names is None else self.names[position]

    def name_in_fit(self, evidence: ClusterEvidence, which: int) -> Hashable:
        """Return the name of an object that the model compares with, with the view if there are several."""
        position = int(evidence.positions[which])
        if self.among_fit:
            name = self.name_of(position)
        else:
            index = None if self.fitted is None else self.fitted.index
            name = f"{position if index is None else index[position]} of the fit"
        views = getattr(self.model, "view_names_", [])
        return name if evidence.views is None or len(views) < 2 else f"{name} in {views[evidence.views[which]]}"

    def cluster(self, name: Hashable) -> int:
        """Return the position of a cluster."""
        try:
            rows, _ = self.partition.membership_rows((name,))
        except ValueError as error:
            known = ", ".join(map(str, self.partition.frame))
            raise InvalidParameterError("clusters", f"names of clusters ({known})", name) from error
        return int(rows[0].argmax())

    # ---- evidence -------------------------------------------------------------------------------------------------

    def evidence(self) -> ClusterEvidence | None:
        """Return what speaks for each cluster; None if masses along a path have to be computed."""
        if self.reader is not None:
            found = self.reader.evidence(self.itself)
            if found is not None:
                return found
        if self.row is not None:
            return evidence_from_dissimilarities(self.partition, self.row, self.own_position)
        if hasattr(self.model, "predict_mass") and self.table.all_numbers:
            return None
        return evidence_from_members(self.partition, self.table, self.cells, self.own_position)

    def evidence_along_path(self, candidates: Sequence[int]) -> ClusterEvidence:
        """Return the evidence along the path from the middle of the first two candidates to the object."""
        places = []
        for k in candidates[:2]:
            members = find_members(self.partition, k, self.own_position)
            if len(members):
                places.append(_means(self.table.numbers[members]))
        middle = np.mean(places, axis=0) if places else _means(self.table.numbers)
        point = np.array([cell[0] for cell in self.cells])
        return evidence_along_path(
            lambda rows: np.asarray(self.predict(list(rows.T)).contour, dtype=float), middle, point
        )

    # ---- masses with other attributes -----------------------------------------------------------------------------

    @property
    def can_predict(self) -> bool:
        """Whether the model gives masses of objects with other attributes."""
        return self.row is None and self.has_attributes and hasattr(self.model, "predict_mass")

    def predict(self, cells: Cells) -> CredalPartition:
        """Return the masses of objects with these attributes."""
        rows = self._rows(cells)
        if self.reader is not None:
            return self.reader.masses_with(rows)
        return CredalPartition(self.model.predict_mass(rows))

    def certain_clusters(self, cells: Cells) -> np.ndarray:
        """Return the (m,) cluster of which the model is certain for objects with these attributes, -1 for none.

        A new object that is very like one of the fit shares its doubts less than that one itself, which does not count
        for itself. So the model must be certain with the object where it was, and without.
        """
        found = _certain_clusters(self.predict(cells))
        moved = None if self.reader is None else self.reader.masses_of_moved(self._rows(cells), self.itself)
        return found if moved is None else np.where(found == _certain_clusters(moved), found, -1)

    def _rows(self, cells: Cells) -> Any:
        return self.table.like([np.ascontiguousarray(column) for column in cells])

    # ---- comparing ------------------------------------------------------------------------------------------------

    def distances(self, positions: np.ndarray) -> np.ndarray:
        """Return the (r,) distances to some of the others, by the metric of the method or else standardized."""
        if self.row is not None:
            return self.row[positions]
        point = np.array([cell[0] for cell in self.cells]) if self.table.all_numbers else None
        if point is None or self.reader is None or np.isnan(point).any() or np.isnan(self.table.numbers).any():
            apart = squared_differences(self.table, self.cells, positions)
            known = np.maximum((~np.isnan(apart)).sum(axis=1), 1)
            return np.sqrt(np.nansum(apart, axis=1) * apart.shape[1] / known)
        metric = getattr(self.model, "metric", "euclidean")
        own = isinstance(metric, str) and metric in ("gower", "adaptive", "precomputed")  # no metrics of two rows
        numbers, point = self.reader.placed(self.table.numbers[positions]), self.reader.placed(point[None])
        return AttributeSource(numbers, "euclidean" if own else metric).between(point, numbers, exact=True)[0]

    @property
    def can_share(self) -> bool:
        """Whether attributes can share what the objects compared with add."""
        return self.has_attributes and self.among_fit

    def shares(self, positions: np.ndarray) -> np.ndarray:
        """Return the (r, p) shares of the attributes in the squared standardized differences to some of the others."""
        apart = squared_differences(self.table, self.cells, positions)
        known = ~np.isnan(apart)
        total = np.where(known, apart, 0).sum(axis=1, keepdims=True)
        equal = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
        return np.where(total > 0, np.where(known, apart, 0) / np.where(total > 0, total, 1), equal)


def _means(numbers: np.ndarray) -> np.ndarray:
    """Return the (p,) means of the known values, 0 for attributes without any."""
    known = ~np.isnan(numbers)
    return np.where(known, numbers, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _certain_clusters(partition: CredalPartition) -> np.ndarray:
    sets = partition.focal_sets.membership[partition.best_set]
    return np.where(sets.sum(axis=1) == 1, sets.argmax(axis=1), -1)


def _resolve_object(
    estimator: Any,
    X: TableLike,
    i: Any,
    attributes: TableLike,
    feature_names: Sequence[str] | None,
    metric: str | None,
) -> ExplainedObject:
    """Return the object i of X, or a new one, as the estimator or partition sees it."""
    if hasattr(estimator, "steps"):
        raise InvalidInputError(
            "estimator must not be a pipeline: explain its last step with what the others make of X, "
            "explain_object(pipeline[-1], pipeline[:-1].transform(X), i)"
        )
    if getattr(getattr(i, "dtype", None), "kind", "") == "c":
        raise InvalidInputError("Complex data not supported: i must be a position, a name, or hold real numbers")
    found = resolve_input(estimator, "estimator", metric=metric, needs_partition=False)
    X, i = _resolve_views(found, X, i)
    if found.is_pairwise:
        return _among_dissimilarities(found, X, i, attributes, feature_names)
    if attributes is not None:
        raise InvalidInputError("attributes must be None when X holds attributes; they are for dissimilarities")
    return _among_attributes(found, X, i, feature_names)


def _resolve_views(found: ExplainedInput, X: TableLike, i: Any) -> tuple[TableLike, Any]:
    """Return X and i, where X may be several tables.

    A model that takes several tables takes them as they are, with a new object that has all its attributes in a row;
    for anything else the tables are joined.
    """
    if found.model is not None and not hasattr(found.model, "view_names_"):
        return (to_array(X) if isinstance(X, list | tuple) else X), i  # perhaps of pictures
    views = Views.of(X)
    if views is None:
        return X, i
    if found.model is not None:
        views = views.in_order(found.model.view_names_)
        return views.given(views.tables), i if found.is_pairwise else views.row(i)
    if not found.is_pairwise:
        return views.table(), views.row(i)
    is_known = isinstance(i, Hashable) and not isinstance(i, tuple)
    return views.dissimilarities(), i if is_known else np.sqrt(np.square(views.row_of_dissimilarities(i)).sum(axis=0))


# ---- attributes -----------------------------------------------------------------------------------------------------


def _among_attributes(
    found: ExplainedInput, X: TableLike, i: Any, feature_names: Sequence[str] | None
) -> ExplainedObject:
    model, partition, image = found.model, found.partition, found.image_shape
    ours = hasattr(model, "credal_partition_") and hasattr(model, "predict_mass")
    names = feature_names
    if names is None and not hasattr(X, "columns"):
        names = getattr(model, "feature_names_in_", None)
    categorical = hasattr(model, "categories_")
    numeric = ours and not categorical and getattr(model, "metric", None) != "gower"
    attributes = attributes_of(model, X) if ours else X
    table = ObjectTable(attributes, names=names, categorical=categorical, numeric=numeric)
    index = table.index if table.index is not None or partition is None else partition.index
    position = find_object(i, index, len(table), image)
    obj = ExplainedObject(found, index, is_new=position < 0)
    obj.table, obj.position = table, position
    obj.cells = table.read(i) if position < 0 else table.row(position)
    if ours:
        if position < 0:
            obj.reader = read_object(model, table.like(obj.cells), None)
        elif image is not None:
            obj.reader = read_object(model, X, position)
        else:
            obj.reader = read_object(model, select_rows(X, [position]), 0)
        obj.among_fit = _is_of_fit(model, X, len(table), partition, position)
    if partition is None or not obj.among_fit:
        partition = CredalPartition(model.predict_mass(X))
        obj.names = table.index
    elif not ours:
        partition = found.align_partition(attributes, len(table))
    obj.partition = partition
    twin = position if position >= 0 else table.find(obj.cells)
    obj.masses = _masses(obj, twin)
    obj.itself = twin if obj.among_fit else _place_in_fit(obj, table.index)
    return obj


def _place_in_fit(obj: ExplainedObject, names: Index) -> int:
    """Return the position of an object of another table in the fit: the only one of its name, with its masses."""
    fitted = obj.fitted
    if names is None or obj.position < 0 or fitted is None or fitted.index is None:
        return -1
    places = [k for k, name in enumerate(fitted.index) if name == names[obj.position]]
    if len(places) != 1 or np.abs(obj.masses.masses - fitted.masses[places]).max() > MASS_TOLERANCE:
        return -1
    return places[0]


def _masses(obj: ExplainedObject, twin: int) -> CredalPartition:
    """Return the masses of the object in the partition, otherwise those that the model predicts."""
    if twin >= 0:
        return obj.partition[[twin]]
    if obj.reader is not None:
        return obj.reader.masses()
    if hasattr(obj.model, "predict_mass"):
        return CredalPartition(obj.model.predict_mass(obj.table.like(obj.cells)))
    # a partition does not say where a new object belongs: the nearest members do
    evidence = evidence_from_members(obj.partition, obj.table, obj.cells, -1)
    return _nearest_cluster(obj.partition, evidence)


def _nearest_cluster(partition: CredalPartition, evidence: ClusterEvidence) -> CredalPartition:
    """Return all mass on the cluster of most evidence."""
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


def _is_of_fit(model: Any, X: TableLike, n: int, partition: CredalPartition | None, position: int) -> bool:
    """Return whether X holds the objects of the fit.

    There must be as many, and some of them, with the one at ``position`` (-1 for a new one), must have equal masses.
    """
    if partition is None or len(partition) != n:
        return False
    some = np.linspace(0, n - 1, N_PROBES).astype(int)
    some = np.unique(some if position < 0 else np.append(some, position))
    if hasattr(model, "image_shape_"):
        masses = model.predict_mass(X).masses[some]
    else:
        masses = model.predict_mass(select_rows(X, some)).masses
    return bool(np.abs(masses - partition.masses[some]).max(initial=0) <= MASS_TOLERANCE)


# ---- dissimilarities ------------------------------------------------------------------------------------------------


def _among_dissimilarities(
    found: ExplainedInput, X: TableLike, i: Any, attributes: TableLike, feature_names: Sequence[str] | None
) -> ExplainedObject:
    model, partition = found.model, found.partition
    views = Views.of(X)  # of a model that takes several
    X = X if views is not None else _check_matrix(X)
    n, n_rows = len(partition), X.shape[0] if views is None else len(views)
    index = row_names(X)
    names = index if index is not None else partition.index if n_rows == n else None
    position = find_object(i, names, n_rows)
    if views is None:
        X, position = _reorder_rows(X, position, partition.index)
        if partition.index is not None or n_rows == n:
            X = with_columns(X, index if partition.index is None else partition.index)
    names = names if partition.index is None else partition.index
    can_predict = hasattr(model, "predict_mass")
    if position >= 0:
        row = select_rows(X, [position])
    elif views is None:
        row = check_values(as_reals(i, "i").astype(float, copy=False).reshape(1, -1), "i")
    else:
        row = views.given(list(views.row_of_dissimilarities(i)[:, None]))
    obj = ExplainedObject(found, names, is_new=position < 0)
    obj.partition = partition
    square = n_rows == n and (not can_predict or _is_of_fit(model, X, n, partition, position))
    obj.position = obj.itself = position if square else -1
    obj._is_new = obj.position < 0
    if can_predict:
        obj.reader = read_object(model, row, 0)
    if views is None or obj.reader is None:
        obj.row = _full_row(model, row, n)
    else:
        obj.row = obj.reader.dissimilarities()
    if attributes is not None:
        obj.table = ObjectTable(ordered_like(attributes, names), names=feature_names, argument="attributes")
        if len(obj.table) != n:
            raise InvalidInputError(f"attributes must have {n} rows, one for each object, got {len(obj.table)}")
        if obj.position < 0:
            raise InvalidInputError("attributes must be None for a new object, whose own are not among them")
        obj.cells = obj.table.row(obj.position)
    if obj.position >= 0:
        obj.masses = partition[[obj.position]]
    elif obj.reader is not None:
        obj.masses = obj.reader.masses()
    else:
        obj.masses = _nearest_cluster(partition, evidence_from_dissimilarities(partition, obj.row, -1))
    return obj


def _reorder_rows(X: TableLike, position: int, names: Index) -> tuple[Any, int]:
    """Return the rows in the order of these names, and the new position of one of them."""
    rows = ordered_like(X, names)
    return rows, position if rows is X or position < 0 else list(names).index(X.index[position])


def _check_matrix(X: TableLike) -> Any:
    """Check dissimilarities of objects in rows."""
    if hasattr(X, "tocsr"):
        return X
    values = as_reals(X, "X")
    if values.ndim != 2:
        raise InvalidInputError(f"X must hold dissimilarities of objects in rows, got shape {values.shape}")
    check_values(values, "X")
    return X if hasattr(X, "iloc") else values


def _full_row(model: Any, row: Any, n: int) -> np.ndarray:
    """Return the (n,) dissimilarities to all objects, NaN where they are not known."""
    out = np.full(n, np.nan)
    if hasattr(row, "tocsr"):
        stored = row.tocsr()
        out[stored.indices] = stored.data
        return out
    values = np.asarray(row, dtype=float).reshape(-1)
    where = np.arange(n) if len(values) == n else getattr(model, "landmark_indices_", np.zeros(0, dtype=int))
    if len(values) != len(where):
        raise InvalidInputError(
            f"i must be a position, a name, or {n} dissimilarities to the objects, got {len(values)}"
        )
    out[where] = values
    return out


# ---- evidence from members ------------------------------------------------------------------------------------------


def find_members(partition: CredalPartition, cluster: int, itself: int) -> np.ndarray:
    """Return the positions of the objects that stand for a cluster.

    These are the certain ones except ``itself``, otherwise those of which it is the most plausible cluster.
    """
    certain = partition.lower(partition.frame[cluster])
    perhaps = np.flatnonzero((partition.labels == cluster) & (partition.contour[:, cluster] > 0))
    for some in (certain, perhaps):
        others = some[some != itself]
        if len(others):
            return others
    return certain  # perhaps the object itself


def squared_differences(table: ObjectTable, cells: Cells, positions: np.ndarray) -> np.ndarray:
    """Return the (r, p) squared differences to some objects: numbers in standard deviations, categories 0 or 1.

    Differences of missing cells, and of constant attributes, are NaN.
    """
    out = np.full((len(positions), len(cells)), np.nan)
    for d, (column, cell) in enumerate(zip(table.columns, cells, strict=True)):
        if table.is_number[d]:
            if table.deviations[d] > 0:
                out[:, d] = ((column[positions] - cell[0]) / table.deviations[d]) ** 2
        elif not is_missing(cell[0]):
            known = [not is_missing(other) for other in column[positions]]
            out[:, d] = np.where(known, np.asarray(column[positions] != cell[0], dtype=float), np.nan)
    return out


def evidence_from_members(partition: CredalPartition, table: ObjectTable, cells: Cells, itself: int) -> ClusterEvidence:
    """Return minus the squared standardized distance to the mean of the members of each cluster.

    For categories it is minus the share of the members that have another one.
    """
    parts = np.zeros((len(cells), partition.n_clusters))
    total = np.full(partition.n_clusters, -np.inf)
    for k in range(partition.n_clusters):
        members = find_members(partition, k, itself)
        if len(members) == 0:
            continue
        for d, cell in enumerate(cells):
            column = table.columns[d][members]
            if table.is_number[d]:
                known = column[~np.isnan(column)]
                if len(known) and table.deviations[d] > 0 and not np.isnan(cell[0]):
                    parts[d, k] = -(((cell[0] - known.mean()) / table.deviations[d]) ** 2)
            elif not is_missing(cell[0]):
                others = [other != cell[0] for other in column if not is_missing(other)]
                parts[d, k] = -float(np.mean(others)) if others else 0.0
        total[k] = parts[:, k].sum()
    found = ClusterEvidence.of_attributes("minus the squared standardized distance to the mean of its members", parts)
    return replace(found, total=total)


def evidence_from_dissimilarities(partition: CredalPartition, row: np.ndarray, itself: int) -> ClusterEvidence:
    """Return minus the mean dissimilarity to the members of each cluster, from the (n,) dissimilarities to all."""
    n, c = len(row), partition.n_clusters
    weights, total = np.zeros((n, c)), np.full(c, -np.inf)
    for k in range(c):
        members = find_members(partition, k, itself)
        members = members[~np.isnan(row[members])]
        if len(members):
            weights[members, k] = 1 / len(members)
            total[k] = -float(row[members].mean())
    used = np.flatnonzero(weights.any(axis=1))
    return ClusterEvidence("minus the mean dissimilarity to its members", total, None, used, weights[used], row[used])


def typical_cells(partition: CredalPartition, table: ObjectTable, cluster: int, itself: int) -> list:
    """Return what is usual in a cluster: means, the most frequent category; None where nothing is known."""
    members = find_members(partition, cluster, itself)
    out: list = []
    for d, column in enumerate(table.columns):
        cells = column[members]
        if table.is_number[d]:
            known = cells[~np.isnan(cells)]
            out.append(float(known.mean()) if len(known) else None)
        else:
            there = [cell for cell in cells if not is_missing(cell)]
            out.append(max(dict.fromkeys(there), key=there.count) if there else None)
    return out


# ---- evidence along a path ------------------------------------------------------------------------------------------


def evidence_along_path(
    plausibilities: Callable[[np.ndarray], np.ndarray], middle: np.ndarray, point: np.ndarray
) -> ClusterEvidence:
    """Share the change of the plausibilities from the middle to the object among the attributes.

    The change along the straight line is shared step by step, each attribute getting what it changes alone: integrated
    gradients (Sundararajan, Taly and Yan, 2017, "Axiomatic attribution for deep networks") by differences, so that any
    model will do and the shares add up to the last digit.

    Parameters
    ----------
    plausibilities : function of (m, p) objects that gives (m, c) plausibilities
    middle, point : (p,) arrays
    """
    p = len(point)
    move = np.nan_to_num(point - middle, nan=0.0)
    corners = middle + np.linspace(0, 1, PATH_STEPS + 1)[:, None] * move
    values = plausibilities(corners)
    total = np.zeros((p, values.shape[1]))
    moving = np.flatnonzero(move)
    size = max(1, MAX_PATH_CELLS // max(1, 2 * p * max(len(moving), 1)))
    for start in range(0, PATH_STEPS, size):
        stop = min(start + size, PATH_STEPS)
        first = np.repeat(corners[start:stop, None], len(moving), axis=1)
        last = np.repeat(corners[start + 1 : stop + 1, None], len(moving), axis=1)
        for j, d in enumerate(moving):  # the one attribute that goes first, and the one that goes last
            first[:, j, d], last[:, j, d] = corners[start + 1 : stop + 1, d], corners[start:stop, d]
        shape = (stop - start, len(moving), -1)
        gains = plausibilities(first.reshape(-1, p)).reshape(shape) - values[start:stop, None]
        losses = values[start + 1 : stop + 1, None] - plausibilities(last.reshape(-1, p)).reshape(shape)
        total[moving] += _make_additive((gains + losses) / 2, np.diff(values[start : stop + 1], axis=0)).sum(axis=0)
    return ClusterEvidence.of_attributes("plausibility", total, values[0].astype(float))


def _make_additive(parts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return (s, p, c) parts that add up to the (s, c) changes; the rest goes to attributes that do much."""
    if parts.shape[1] == 0:
        return parts
    size = np.abs(parts)
    sums = size.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, size / np.where(sums > 0, sums, 1), 1 / parts.shape[1])
    return parts + shares * (wanted - parts.sum(axis=1))[:, None]
