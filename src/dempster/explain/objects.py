"""Explain one object by the evidence for clusters and the changes that would make it certain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import Index, TableLike
from dempster._validation import as_floats, as_list, as_reals, check_flags, reorder_like
from dempster.cluster.explanation import (
    ObjectReader,
    read_object,
    row_attributes,
)
from dempster.dissimilarity.input import with_columns
from dempster.dissimilarity.sources import (
    AttributeSource,
    check_values,
    normalize_shares,
)
from dempster.dissimilarity.views import Views
from dempster.explain import inputs
from dempster.explain._changes import ChangeSearch, Target
from dempster.explain._evidence import (
    evidence_along_path,
    evidence_from_dissimilarities,
    evidence_from_members,
    find_members,
    squared_differences,
    typical_cells,
)
from dempster.explain.inputs import Cells, ExplainedInput, ObjectTable
from dempster.explain.object_explanation import (
    Exemplar,
    ObjectExplanation,
)
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence

# number of objects whose masses are compared to recognize the training data
N_PROBES = 8
MASS_TOLERANCE = 1e-3  # tolerance for equal masses, which allows for single precision


def explain_object(
    estimator: Any,
    X: TableLike,
    i: Any,
    *,
    clusters: Sequence[Hashable] | None = None,
    attributes: TableLike = None,
    feature_names: Sequence[str] | None = None,
    metric: str | None = None,
    changes: bool = True,
) -> ObjectExplanation:
    """Explain the mass function of one object.

    The explanation consists of the evidence for each candidate cluster, the contribution of each
    attribute to this evidence, the nearest certain objects, and the smallest changes that would
    make the object certain. The evidence is a sum of contributions of the attributes. Its
    definition depends on the method:

    ================================  ==============================================================
    ECM, CECM, CCM, SECM, BPEC, RECM  minus the squared distance to the center, divided among the
                                      attributes; with an adaptive metric, half of a product of two
                                      attributes goes to each of them
    CatECM                            minus the number of attributes that differ from the center
    WMVEC                             minus the squared distance to the center, divided among the
                                      attributes and weighted by view; for dissimilarities, the
                                      distance to the medoids of a view
    MECM, ECMdd, WECMdd               minus the dissimilarity to the medoids, divided among the
                                      attributes
    EGMM, BootClus                    logarithm of weight times density, averaged over bootstrap
                                      fits for BootClus
    EVCLUS                            logarithm of the weighted mean similarity to the members of
                                      the cluster; if masses depend on conflicts alone, minus the
                                      misfit that the conflicts would have if the object were a
                                      certain member of the cluster
    EKNNClus                          logarithm of the weight of evidence of the neighbors in the
                                      cluster
    NNEVCLUS, all others              change of the plausibility on the line from the midpoint of
                                      the two clusters to the object (integrated gradients)
    a partition, labels               minus the squared standardized distance to the mean of the
                                      certain objects
    ================================  ==============================================================

    Parameters
    ----------
    estimator : fitted clusterer, CredalPartition, or array-like of labels
        Any estimator with ``predict_mass``, ``credal_partition_`` or ``labels_``. Explanations of a
        partition or of labels use only the members of the clusters.
    X : array-like or table
        The objects that were clustered, as passed to `fit`, or other objects with the same
        attributes. With ``metric="precomputed"``, X contains dissimilarities. For `WMVEC` or a
        partition, X may be a list or dictionary of several tables or matrices, with attributes
        called "view: column".
    i : int, name, or array-like of shape (n_features,)
        Position of the object in X, its name if X has an index, or a new object. A new object is a
        row, or a series or mapping with attribute names as keys, with the attributes of all views
        if there are several. For an image, ``i`` may be a tuple with the
        coordinates of a pixel. Missing attributes (NaN) do not contribute.
    clusters : sequence of names of clusters, optional
        The candidate clusters. The default is the clusters between which the object is ambiguous,
        or the two most plausible clusters if the object is not ambiguous.
    attributes : table of n objects, optional
        Attributes of the objects if X contains dissimilarities. The evidence from each compared
        object is divided among the attributes in proportion to the squared standardized
        differences. Without attributes, the explanation contains the contributions of the compared
        objects.
    feature_names : sequence of str, optional
        Names of the attributes; by default the column names.
    metric : {"precomputed"} or None
        "precomputed" if ``estimator`` is a partition or labels, and X contains dissimilarities.
    changes : bool, default=True
        Whether to search for the smallest change that would make the object certain according to
        ``predict_mass``. A change is a new value of one attribute within its range, or a move of
        all attributes towards a certain object.

    Returns
    -------
    ObjectExplanation

    Notes
    -----
    A training object is not compared with itself. An object is certain if its largest mass is on a
    single cluster (see `CredalPartition.lower`).

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
    check_flags(changes=changes)
    obj = _resolve_object(estimator, X, i, attributes, feature_names, metric)
    evidence = obj.evidence()
    candidates = _select_candidates(obj, evidence, clusters)
    if evidence is None:
        evidence = obj.evidence_along_path(candidates)
    decomposed, names, by = _decompose(obj, evidence, candidates)
    assert decomposed.parts is not None
    frame = obj.partition.frame
    nearest = [_find_exemplar(obj, k) for k in candidates]
    exemplars = [exemplar for exemplar in nearest if exemplar is not None]
    searched = bool(changes and obj.can_predict)
    smallest = []
    if searched:
        targets = _select_targets(obj, exemplars, candidates)
        strengths = np.ptp(decomposed.parts, axis=1)
        search = ChangeSearch(
            obj.table, obj.cells, targets, strengths, obj.certain_clusters
        )
        smallest = search.find()
    values = None
    typical = None
    if by == "attributes":
        values = tuple(cell.tolist()[0] for cell in obj.cells)
        typical = tuple(
            typical_cells(obj.partition, obj.table, k, obj.own_position)
            for k in candidates
        )
    return ObjectExplanation(
        name=None if obj.position < 0 else obj.object_name(obj.position),
        masses=obj.masses,
        clusters=tuple(frame[k] for k in candidates),
        attributes=tuple(names),
        by=by,
        parts=decomposed.parts,
        evidence=decomposed.total,
        quantity=decomposed.quantity,
        values=values,
        typical=typical,
        exemplars=tuple(exemplars),
        changes=tuple(smallest),
        movable=searched,
    )


def _select_candidates(
    obj: ExplainedObject,
    evidence: ClusterEvidence | None,
    clusters: Sequence[Hashable] | None,
) -> list[int]:
    """Return the positions of the candidate clusters, the most plausible first."""
    plausible = np.asarray(obj.masses.contour[0], float)
    total = plausible if evidence is None else evidence.total
    order = np.lexsort((-total, -plausible))
    order = order[np.isfinite(total[order])]
    if clusters is not None:
        names = ", ".join(map(str, obj.partition.frame))
        expected = f"names of clusters ({names}), each once"
        clusters = as_list(clusters, "clusters", expected)
        try:
            members = obj.partition.membership_rows([(name,) for name in clusters])[0]
        except ValueError as error:
            raise InvalidParameterError("clusters", expected, clusters) from error
        selected = members.argmax(axis=1).tolist()
        if not selected or len(set(selected)) < len(selected):
            raise InvalidParameterError("clusters", expected, clusters)
        if empty := [obj.partition.frame[k] for k in selected if k not in order]:
            raise InvalidParameterError(
                "clusters", must=f"have objects to compare with; {empty[0]!r} has none"
            )
        return [int(k) for k in order if k in selected]
    if len(order) == 0:
        raise InvalidInputError(
            "no cluster has an object to compare with: all objects are outliers"
        )
    in_best_set = obj.masses.focal_sets.membership[obj.masses.best_set[0]]
    number = max(2, int(in_best_set[order].sum()))
    # The stable sort puts the clusters of the set first.
    ranked = sorted(order, key=lambda k: not in_best_set[k])
    return [int(k) for k in ranked[:number]]


def _decompose(
    obj: ExplainedObject, evidence: ClusterEvidence, candidates: Sequence[int]
) -> tuple[ClusterEvidence, list[str], str]:
    """Divide the evidence among attributes or, without them, compared objects.

    Return it, their names and the kind.
    """
    is_divisible = obj.has_attributes and obj.among_fit and len(evidence.positions)
    if evidence.parts is None and is_divisible:
        squares = squared_differences(obj.table, obj.cells, evidence.positions)
        parts = evidence.split_costs(normalize_shares(squares))
        evidence = replace(evidence, parts=parts)
    if evidence.parts is not None and obj.has_attributes:
        parts = evidence.parts[:, candidates]
        decomposed = replace(evidence, parts=parts, total=evidence.total[candidates])
        return decomposed, obj.table.names, "attributes"
    # Medoids of clusters that are not candidates do not contribute.
    counting = np.flatnonzero(evidence.coefficients[:, candidates].any(axis=1))
    decomposed = evidence.by_rows(candidates)
    assert decomposed.parts is not None
    names = [str(obj.compared_name(evidence, int(j))) for j in counting]
    return replace(decomposed, parts=decomposed.parts[counting]), names, "objects"


def _find_exemplar(obj: ExplainedObject, cluster: int) -> Exemplar | None:
    """Return the certain object of a cluster that is nearest to the explained object."""
    name = obj.partition.frame[cluster]
    certain = obj.partition.lower(name)
    certain = certain[certain != obj.own_position]
    distance = obj.distances(certain) if len(certain) else np.empty(0)
    if not np.isfinite(distance).any():
        return None
    j = int(np.nanargmin(distance))
    position = int(certain[j])
    return Exemplar(name, obj.object_name(position), position, float(distance[j]))


def _select_targets(
    obj: ExplainedObject, exemplars: Sequence[Exemplar], candidates: Sequence[int]
) -> list[Target]:
    """Return the nearest certain object and the most certain member of each candidate.

    Omit the candidate to which the object certainly belongs.
    """
    frame = obj.partition.frame
    targets = []
    for k in candidates:
        if len(obj.masses.lower(frame[k])):
            continue
        positions = [one.position for one in exemplars if one.cluster == frame[k]]
        members = find_members(obj.partition, k, obj.own_position)
        if len(members):
            positions.append(
                int(members[np.argmax(obj.partition.singleton_belief[members, k])])
            )
        targets += [
            Target(k, frame[k], obj.object_name(j), obj.table.row(j))
            for j in dict.fromkeys(positions)
        ]
    return targets


# ---- the object ----------------------------------------------------------------------------------


class ExplainedObject:
    """The object to explain, its masses, and the objects of X, with which it is compared."""

    partition: CredalPartition  # partition of the objects of X
    masses: CredalPartition  # masses of the explained object
    position: int  # position of the object in X, -1 for a new object
    # position of the same or an equal object in X, -1 if there is none
    own_position: int
    # position of the same or an equal object in the training data, -1 if there is none
    itself: int
    among_fit: bool = True  # whether X contains the training objects
    table: ObjectTable  # attribute values of all objects, not set if there are only dissimilarities
    # attribute values of the explained object, not set if there are only dissimilarities
    cells: Cells
    row: np.ndarray | None = None  # dissimilarity to each object of X; NaN if unknown
    reader: ObjectReader | None = None

    def __init__(self, resolved: ExplainedInput, names: Index, position: int):
        self.model = resolved.model
        self.fitted = resolved.partition
        self.names = names
        self.position = position

    @property
    def has_attributes(self) -> bool:
        return hasattr(self, "table")

    def object_name(self, position: int) -> Hashable:
        if self.names is None:
            return position
        return self.names[position]

    def compared_name(self, evidence: ClusterEvidence, which: int) -> Hashable:
        """Return the name of a compared object."""
        position = int(evidence.positions[which])
        if self.among_fit:
            return self.object_name(position)
        index = getattr(self.fitted, "index", None)
        return f"{position if index is None else index[position]} of the fit"

    # ---- evidence --------------------------------------------------------------------------------

    def evidence(self) -> ClusterEvidence | None:
        """Return the evidence for each cluster; None if `evidence_along_path` must be used."""
        if self.reader is not None:
            evidence = self.reader.evidence(self.itself)
            if evidence is not None:
                return evidence
        if self.row is not None:
            return evidence_from_dissimilarities(
                self.partition, self.row, self.own_position
            )
        if hasattr(self.model, "predict_mass") and self.table.is_numeric:
            return None
        return evidence_from_members(
            self.partition, self.table, self.cells, self.own_position
        )

    def evidence_along_path(self, candidates: Sequence[int]) -> ClusterEvidence:
        """Return the evidence along the path from the midpoint of two candidates to the object."""
        centers = []
        for k in candidates[:2]:
            members = find_members(self.partition, k, self.own_position)
            if len(members):
                centers.append(_column_means(self.table.numbers[members]))
        middle = np.mean(centers or [_column_means(self.table.numbers)], axis=0)

        def plausibilities(rows: np.ndarray) -> np.ndarray:
            return np.asarray(self.predict(list(rows.T)).contour, float)

        return evidence_along_path(plausibilities, middle, self._point)

    # ---- masses with other attributes ------------------------------------------------------------

    @property
    def can_predict(self) -> bool:
        """Whether the model can predict the masses of the object with other attributes."""
        return (
            self.row is None
            and self.has_attributes
            and hasattr(self.model, "predict_mass")
        )

    def predict(self, cells: Cells) -> CredalPartition:
        """Return the predicted masses of objects with the attribute values ``cells``."""
        rows = self._build_table(cells)
        if self.reader is not None:
            return self.reader.predict_changed(rows)
        return CredalPartition(self.model.predict_mass(rows))

    def certain_clusters(self, cells: Cells) -> np.ndarray:
        """Return the cluster to which each object with the attributes ``cells`` certainly belongs.

        -1 if uncertain.

        Some models compare a new object with all training objects. A changed copy of a training
        object is then compared with its original, although a training object is never compared with
        itself. Therefore a copy counts as certain only if the prediction is the same with and
        without the original among the training objects.
        """
        clusters = _certain_clusters(self.predict(cells))
        if self.reader is not None:
            moved = self.reader.predict_moved(self._build_table(cells), self.itself)
            if moved is not None:
                clusters[clusters != _certain_clusters(moved)] = -1
        return clusters

    def _build_table(self, cells: Cells) -> Any:
        return self.table.to_table([np.ascontiguousarray(column) for column in cells])

    # ---- comparing -------------------------------------------------------------------------------

    def distances(self, positions: np.ndarray) -> np.ndarray:
        """Return the distances to the objects at ``positions``.

        They are standardized Euclidean distances if the metric of the model is not applicable.
        """
        if self.row is not None:
            return self.row[positions]
        if (
            self.reader is None
            or not self.table.is_numeric
            or np.isnan(self._point).any()
            or np.isnan(self.table.numbers).any()
        ):
            squares = squared_differences(self.table, self.cells, positions)
            n_present = np.maximum((~np.isnan(squares)).sum(axis=1), 1)
            return np.sqrt(np.nansum(squares, axis=1) * squares.shape[1] / n_present)
        metric = getattr(self.model, "metric", "euclidean")
        # These values of the parameter are not metrics that compare two rows of numbers.
        if isinstance(metric, str) and metric in ("gower", "adaptive", "precomputed"):
            metric = "euclidean"
        numbers = self.reader.coordinates(self.table.numbers[positions])
        point = self.reader.coordinates(self._point[None])
        return AttributeSource(numbers, metric).between(point, numbers, exact=True)[0]

    @property
    def _point(self) -> np.ndarray:
        return np.array([cell[0] for cell in self.cells])


def _column_means(numbers: np.ndarray) -> np.ndarray:
    """Return the mean of each column without missing values; 0 for a column without values."""
    present = ~np.isnan(numbers)
    sums = np.where(present, numbers, 0).sum(axis=0)
    return sums / np.maximum(present.sum(axis=0), 1)


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
    """Return object ``i`` of X, or a new object with the attributes ``i``."""
    # ConformalClustering predicts other masses than those of its partition.
    estimator = getattr(estimator, "clusterer_", estimator)
    if hasattr(estimator, "steps"):
        call = "explain_object(pipeline[-1], pipeline[:-1].transform(X), i)"
        advice = f"explain its last step, {call}"
        raise InvalidParameterError("estimator", must=f"not be a pipeline; {advice}")
    if getattr(getattr(i, "dtype", None), "kind", "") == "c":
        raise InvalidInputError(
            "Complex data not supported: i must be a position, a name, or contain real numbers"
        )
    resolved = inputs.resolve_input(
        estimator, "estimator", metric=metric, needs_partition=False
    )
    X, i = _resolve_views(resolved, X, i)
    if resolved.is_pairwise:
        return _resolve_among_dissimilarities(resolved, X, i, attributes, feature_names)
    if attributes is not None:
        raise InvalidParameterError(
            "attributes",
            must="be None if X contains attributes; they are for dissimilarities",
        )
    return _resolve_among_attributes(resolved, X, i, feature_names)


def _resolve_views(
    resolved: ExplainedInput, X: TableLike, i: Any
) -> tuple[TableLike, Any]:
    """Return X and i in the form that the model or partition needs if X consists of several tables.

    For a multi-view model, X remains a list or dictionary of tables. For a partition, the tables
    are joined.
    """
    if resolved.model is not None and not hasattr(resolved.model, "view_names_"):
        if isinstance(X, list | tuple):
            X = inputs.to_array(X)
        return X, i
    views = None if resolved.is_pairwise else Views.from_input(X)
    if views is None:
        return X, i
    if resolved.model is None:
        return views.table(), i
    views = views.in_order(resolved.model.view_names_)
    return views.like_input(views.tables), i


# ---- attributes ----------------------------------------------------------------------------------


def _resolve_among_attributes(
    resolved: ExplainedInput, X: TableLike, i: Any, feature_names: Sequence[str] | None
) -> ExplainedObject:
    model = resolved.model
    partition = resolved.partition
    image = resolved.image_shape
    is_evidential = hasattr(model, "credal_partition_") and hasattr(
        model, "predict_mass"
    )
    names = feature_names
    if names is None and not hasattr(X, "columns"):
        names = getattr(model, "feature_names_in_", None)
    categorical = hasattr(model, "categories_")
    numeric = (
        is_evidential and not categorical and getattr(model, "metric", None) != "gower"
    )
    attributes = X
    if is_evidential:
        attributes = row_attributes(model, X)
    table = ObjectTable(
        attributes, names=names, categorical=categorical, numeric=numeric
    )
    index = table.index
    if index is None and partition is not None:
        index = partition.index
    position = inputs.find_object(i, index, len(table), image)
    is_new = position < 0
    obj = ExplainedObject(resolved, index, position)
    obj.table = table
    obj.cells = table.parse_row(i) if is_new else table.row(position)
    if is_evidential:
        if is_new:
            obj.reader = read_object(model, table.to_table(obj.cells), None)
        elif image is not None:
            obj.reader = read_object(model, X, position)
        else:
            obj.reader = read_object(model, inputs.select_rows(X, [position]), 0)
        obj.among_fit = _is_data_of_fit(model, X, len(table), partition, position)
    if partition is None or not obj.among_fit:
        partition = CredalPartition(model.predict_mass(X))
        obj.names = table.index
    elif not is_evidential:
        partition = resolved.align_partition(attributes, len(table))
    obj.partition = partition
    equal_object = position
    if is_new:
        equal_object = table.find(obj.cells)
    obj.masses = _compute_masses(obj, equal_object)
    obj.own_position = obj.itself = equal_object
    if not obj.among_fit:
        obj.own_position = position
        obj.itself = _find_in_fit(obj, table.index)
    return obj


def _find_in_fit(obj: ExplainedObject, names: Index) -> int:
    """Return the position of the training object with the same unique name and the same masses.

    -1 if there is none.
    """
    fitted = obj.fitted
    if names is None or obj.position < 0 or fitted is None or fitted.index is None:
        return -1
    positions = [
        k for k, name in enumerate(fitted.index) if name == names[obj.position]
    ]
    if len(positions) == 1:
        difference = np.abs(obj.masses.masses - fitted[positions].masses)
        if difference.max() <= MASS_TOLERANCE:
            return positions[0]
    return -1


def _compute_masses(obj: ExplainedObject, position: int) -> CredalPartition:
    """Return the masses of the object at a position in the partition.

    Predict the masses if the position is -1.
    """
    if position >= 0:
        return obj.partition[[position]]
    if obj.reader is not None:
        return obj.reader.masses()
    if obj.can_predict:
        return CredalPartition(obj.model.predict_mass(obj.table.to_table(obj.cells)))
    raise InvalidParameterError(
        "i", must="be an object of X, because a partition cannot predict masses"
    )


def _is_data_of_fit(
    model: Any, X: TableLike, n: int, partition: CredalPartition | None, position: int
) -> bool:
    """Return whether X contains the training objects.

    Compare the number of objects and the masses of a few of them.
    """
    if partition is None or len(partition) != n:
        return False
    probes = np.linspace(0, n - 1, N_PROBES).astype(int)
    probes = np.unique([*probes, max(position, 0)])
    if hasattr(model, "image_shape_"):
        predicted = model.predict_mass(X)[probes]
    else:
        predicted = model.predict_mass(inputs.select_rows(X, probes))
    difference = np.abs(predicted.masses - partition[probes].masses)
    return bool(difference.max(initial=0) <= MASS_TOLERANCE)


# ---- dissimilarities -----------------------------------------------------------------------------


def _resolve_among_dissimilarities(
    resolved: ExplainedInput,
    X: TableLike,
    i: Any,
    attributes: TableLike,
    feature_names: Sequence[str] | None,
) -> ExplainedObject:
    model = resolved.model
    partition = resolved.partition
    if not hasattr(X, "tocsr"):
        X = _check_dissimilarities(X)
    n = len(partition)
    n_rows = X.shape[0]
    index = inputs.row_names(X)
    names = index
    if index is None and n_rows == n:
        names = partition.index
    position = inputs.find_object(i, names, n_rows)
    rows = reorder_like(X, partition.index)
    if rows is not X and position >= 0 and partition.index is not None:
        position = list(partition.index).index(X.index[position])
    X = rows
    if partition.index is not None:
        names = partition.index
        X = with_columns(X, names)
    elif n_rows == n:
        X = with_columns(X, index)
    can_predict = hasattr(model, "predict_mass")
    if position >= 0:
        row = inputs.select_rows(X, [position])
    else:
        row = check_values(as_floats(i, "i").reshape(1, -1), "i")
    if n_rows != n or (
        can_predict and not _is_data_of_fit(model, X, n, partition, position)
    ):
        position = -1
    obj = ExplainedObject(resolved, names, position)
    obj.partition = partition
    obj.own_position = obj.itself = position
    if can_predict:
        obj.reader = read_object(model, row, 0)
    obj.row = _expand_row(model, row, n)
    if attributes is not None:
        ordered = reorder_like(attributes, names)
        table = ObjectTable(ordered, names=feature_names, argument="attributes")
        if len(table) != n:
            raise InvalidParameterError(
                "attributes",
                must=f"have {n} rows, one for each object, got {len(table)}",
            )
        if position < 0:
            raise InvalidParameterError(
                "attributes",
                must="be None for a new object, which has no row in the table",
            )
        obj.table = table
        obj.cells = table.row(position)
    obj.masses = _compute_masses(obj, position)
    return obj


def _check_dissimilarities(X: TableLike) -> Any:
    """Validate dissimilarities in rows; return a table, or an array of any other input."""
    values = as_reals(X, "X")
    if values.ndim != 2:
        raise InvalidParameterError(
            "X", must=f"contain dissimilarities in rows, got shape {values.shape}"
        )
    check_values(values, "X")
    if hasattr(X, "iloc"):
        return X
    return values


def _expand_row(model: Any, row: Any, n: int) -> np.ndarray:
    """Return the dissimilarities of the object to all n training objects.

    Unknown dissimilarities are NaN.
    """
    out = np.full(n, np.nan)
    if hasattr(row, "tocsr"):
        stored = row.tocsr()
        out[stored.indices] = stored.data
        return out
    values = np.asarray(row, float).reshape(-1)
    if len(values) == n:
        positions = np.arange(n)
    else:
        positions = getattr(model, "landmark_indices_", np.zeros(0, int))
    if len(values) != len(positions):
        raise InvalidParameterError(
            "i",
            must=f"be a position, a name, or {n} dissimilarities, got {len(values)}",
        )
    out[positions] = values
    return out
