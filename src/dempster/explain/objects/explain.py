"""Why this object: from a fitted model, or from a partition alone, to an explanation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import TableLike
from dempster._validation import check, check_flags, integer, listed
from dempster.cluster.evidence import ClusterEvidence
from dempster.explain.objects._changes import Target, smallest_changes
from dempster.explain.objects._members import members_of, typical_cells
from dempster.explain.objects._subject import Subject, subject_of
from dempster.explain.objects.explanation import ComparedObject, Exemplar, ObjectExplanation

__all__ = ["explain_object"]

_MOST_COMPARED = 10  # objects compared with that are named


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
    subject = subject_of(estimator, X, i, attributes, feature_names, metric)
    evidence = subject.evidence()
    candidates = _candidates(subject, evidence, clusters)
    if evidence is None:
        evidence = subject.evidence_along_path(candidates)
    seen, names, by = _seen(subject, evidence, candidates)
    assert seen.parts is not None
    frame = subject.partition.frame
    exemplars = tuple(exemplar for k in candidates for exemplar in _exemplars(subject, k, n_exemplars))
    table, cells = subject.table, subject.cells
    found: list = []
    if changes and subject.can_ask and table is not None and cells is not None:
        targets, pulls = _targets(subject, exemplars, candidates), np.ptp(seen.parts, axis=1)
        found = smallest_changes(table, cells, targets, pulls, subject.certain)
    values, typical = None, None
    if table is not None and cells is not None and by == "attributes":
        values = tuple(_plain(cell[0]) for cell in cells)
        typical = tuple(tuple(typical_cells(subject.partition, table, k, subject.own_position)) for k in candidates)
    return ObjectExplanation(
        name=subject.name,
        masses=subject.masses,
        clusters=tuple(frame[k] for k in candidates),
        attributes=tuple(names),
        by=by,
        parts=seen.parts,
        evidence=seen.total,
        quantity=seen.quantity,
        values=values,
        typical=typical,
        exemplars=exemplars,
        compared=_compared(subject, evidence, candidates),
        changes=tuple(found),
        movable=bool(changes and subject.can_ask),
    )


def _candidates(subject: Subject, evidence: ClusterEvidence | None, wanted: Sequence[Hashable] | None) -> list[int]:
    """Positions of the clusters in question, the most plausible first."""
    plausible = np.asarray(subject.masses.contour[0], dtype=float)
    total = plausible if evidence is None else evidence.total
    order = np.lexsort((np.arange(len(plausible)), -total, -plausible))
    order = order[np.isfinite(total[order])]
    if wanted is not None:
        wanted = listed(wanted, "clusters", "names of clusters")
        chosen = [subject.cluster(name) for name in wanted]
        if len(chosen) == 0 or len(set(chosen)) < len(chosen):
            raise InvalidInputError(f"clusters must name at least one cluster, each once, got {list(wanted)}")
        if lost := [subject.partition.frame[k] for k in chosen if k not in order]:
            raise InvalidInputError(f"clusters must have objects to compare with; {lost[0]!r} has none")
        return [int(k) for k in order if k in chosen]
    if len(order) == 0:
        raise InvalidInputError("no cluster has an object to compare with: all objects are outliers")
    torn = subject.masses.focal_sets.membership[subject.masses.best_set[0]]
    number = max(2, int(torn[order].sum()))
    ranked = sorted(order, key=lambda k: not torn[k])  # stable: those it is torn between first
    return [int(k) for k in ranked[:number]]


def _seen(
    subject: Subject, evidence: ClusterEvidence, candidates: Sequence[int]
) -> tuple[ClusterEvidence, list[str], str]:
    """The evidence for the candidates by attributes, or else by the objects compared with; what these are called."""
    if evidence.parts is None and subject.can_share and len(evidence.positions):
        evidence = replace(evidence, parts=evidence.shared_by(subject.shares(evidence.positions)))
    if evidence.parts is not None and subject.table is not None:
        found = replace(evidence, parts=evidence.parts[:, candidates], total=evidence.total[candidates])
        return found, subject.table.names, "attributes"
    counting = np.flatnonzero(evidence.coefficients[:, candidates].any(axis=1))  # medoids of others say nothing here
    found = evidence.by_objects(candidates)
    assert found.parts is not None
    names = [str(subject.name_in_fit(evidence, int(j))) for j in counting]
    return replace(found, parts=found.parts[counting]), names, "objects"


def _exemplars(subject: Subject, cluster: int, number: int) -> list[Exemplar]:
    """The nearest certain objects of a cluster."""
    name = subject.partition.frame[cluster]
    certain = subject.partition.lower(name)
    certain = certain[certain != subject.own_position]
    if len(certain) == 0:
        return []
    distance = subject.distances(certain)
    nearest = np.argsort(distance, kind="stable")[:number]  # those that are not known come last
    nearest = nearest[np.isfinite(distance[nearest])]
    return [Exemplar(name, subject.name_of(int(certain[j])), int(certain[j]), float(distance[j])) for j in nearest]


def _targets(subject: Subject, exemplars: Sequence[Exemplar], candidates: Sequence[int]) -> list[Target]:
    """Certain objects to move to, for every candidate that the object is not certain of yet: the nearest one, and the
    one that is nearest to the middle of the cluster."""
    assert subject.table is not None
    frame, here = subject.partition.frame, subject.masses.lower
    targets = []
    for k in candidates:
        if len(here(frame[k])):
            continue
        places = [exemplar.position for exemplar in exemplars if exemplar.cluster == frame[k]][:1]
        members = members_of(subject.partition, k, subject.own_position)
        if len(members):
            places.append(int(members[np.argmax(subject.partition.singleton_belief[members, k])]))
        targets += [Target(k, frame[k], subject.name_of(j), subject.table.row(j)) for j in dict.fromkeys(places)]
    return targets


def _compared(subject: Subject, evidence: ClusterEvidence, candidates: Sequence[int]) -> tuple[ComparedObject, ...]:
    """The objects that count most for the candidates."""
    weights = evidence.weights[:, candidates]
    order = np.argsort(-weights.max(axis=1, initial=0), kind="stable")[:_MOST_COMPARED]
    order = order[weights[order].max(axis=1, initial=0) > 0]
    return tuple(
        ComparedObject(
            subject.name_in_fit(evidence, int(j)),
            int(evidence.positions[j]),
            tuple(float(weight) for weight in weights[j]),
        )
        for j in order
    )


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell
