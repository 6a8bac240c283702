"""Revision of EVCLUS by must-link and cannot-link constraints.

The clusters are those of a fit without constraints. The constraints revise the plausibilities of
their objects (`dempster.cluster._revision`). If other constraints confirm it, the changes are
extended to neighboring objects (`extend_changes`), or the metric is replaced (`adapted_metrics`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from dempster.cluster._mass_step import masses_from_plausibilities
from dempster.cluster._revision import (
    Links,
    are_satisfied,
    improvement,
    revise_plausibilities,
)
from dempster.cluster.evclus._model import DoubtModel
from dempster.dissimilarity.transform import decay

# distances, divided by the geometric mean of two local scales, at which the weight of a change is
# 0.05
_WIDTHS = (0.7, 1.0, 1.5)
_SHRINKAGE = 0.02  # weight of a spherical covariance matrix
# smallest improvements that select the two adapted metrics, larger for the one that is fitted to
# constraints
_SELECTING = 1.0, 2.0
_LEAST_WEIGHT = 0.01  # weight of directions in which classes do not differ


def extend_changes(
    squares: np.ndarray, links: Links, before: np.ndarray, changes: np.ndarray
) -> np.ndarray | None:
    """Return the plausibilities of clusters for all objects if changes extend to neighbors.

    ``before`` contains the plausibilities of n objects, and ``changes`` their changes by the
    constraints, which are zero for objects without constraints. ``squares`` contains the squared
    distances, in units of the local scales, from all objects to the q objects with constraints. The
    change of an object is the mean of the changes of its neighbors, weighted by a Gaussian function
    of the distance, or the weighted sum if the weights sum to less than one.

    To find out whether neighbors change alike, each constraint is predicted from the changes of the
    objects of all other constraints. The width of the Gaussian function with the largest
    `improvement` is used. The result is None if no improvement is larger than one.
    """
    linked = links.objects
    i, j, is_must_link = links.pairs
    columns = np.searchsorted(linked, [i, j])
    was_satisfied = are_satisfied(links, before.argmax(axis=1))
    best = None
    highest = 1.0
    for width in _WIDTHS:
        weights = np.exp(-decay(width) * squares)
        sums = weights @ changes[linked]
        totals = weights.sum(axis=1)
        labels = []
        for one, other, column in ((i, j, columns[1]), (j, i, columns[0])):
            weight = weights[one, column]
            rest = sums[one] - changes[one] - weight[:, None] * changes[other]
            total = np.maximum(totals[one] - 1 - weight, 1)
            predicted = before[one] + rest / total[:, None]
            labels.append(predicted.argmax(axis=1))
        is_satisfied = (labels[0] == labels[1]) == is_must_link
        score = improvement(was_satisfied, is_satisfied)
        if score > highest:
            highest = score
            best = before + sums / np.maximum(totals, 1)[:, None]
    return best


class Revision(NamedTuple):
    """Model and masses of objects after a revision by constraints.

    The first r of the m objects are the reference objects of the model.
    """

    model: DoubtModel
    masses: np.ndarray  # (m, f), revised masses
    former_labels: np.ndarray  # (m,), most plausible clusters before the revision
    labels: np.ndarray  # (m,), most plausible clusters

    @classmethod
    def from_constraints(
        cls,
        model: DoubtModel,
        D: np.ndarray,
        outside: Iterable[tuple[np.ndarray, np.ndarray]],
        links: Links,
        xi: float,
    ) -> Revision:
        """Revise a model by constraints between m objects.

        ``D`` contains the dissimilarities between the reference objects. ``outside`` contains
        blocks of the other objects: their dissimilarities to the reference objects, and the index
        of an equal reference object, or -1.
        """
        r = len(D)
        around = model.surroundings
        affinity = model.affinity
        parts = [affinity.by_distances(D, np.arange(r))]
        parts += [affinity.by_distances(*block) for block in outside]
        affinities, near = map(np.concatenate, zip(*parts, strict=True))
        contour = model.contrast.plausibilities(affinities)
        before, after = revise_plausibilities(contour, links, xi)
        among = links.among(np.arange(r))
        linked = among.objects
        units = np.outer(around.scales, around.scales[linked])
        squares = D[:, linked] ** 2 / units
        former = before[:r]
        extended = extend_changes(squares, among, former, after[:r] - former)
        is_revised = np.diff(links.indptr) > 0
        if extended is not None:
            free = np.flatnonzero(~is_revised[:r])
            after[free] = np.maximum(extended[free], 0)
            is_revised[:r] = True
        outlying = around.outlying(near)
        masses = masses_from_plausibilities(after, model.family, outlying)
        same = np.flatnonzero(~is_revised)
        masses[same] = model.reference_masses[same]
        former_labels = before.argmax(axis=1)
        labels = after.argmax(axis=1)
        is_moved = labels != former_labels
        moved = np.where(is_moved[:r], labels[:r], model.labels)
        revised = replace(model, labels=moved, reference_masses=masses[:r])
        return cls(revised, masses, former_labels, labels)


def adapted_metrics(
    X: np.ndarray, labels: np.ndarray, links: Links
) -> list[tuple[np.ndarray, float]]:
    """Return matrices of Mahalanobis distances, and the improvements that select them.

    The first one is the inverse covariance matrix within clusters. If there are more must-links
    than features, a covariance matrix W within classes is estimated from both, and the second
    matrix is the difference between the inverses of W and of the covariance matrix of all objects.
    Directions in which classes do not differ have a small weight in it (Koestinger et al., 2012,
    Large scale metric learning from equivalence constraints).
    """
    covariance = pooled_covariance(X, labels)
    total = pooled_covariance(X, np.zeros(len(X)))
    if covariance is None or total is None:
        return []
    matrices = [np.linalg.inv(covariance)]
    i, j, is_must_link = links.pairs
    gaps = (X[i] - X[j])[is_must_link]
    m, p = gaps.shape
    if m > p:
        within = (p * covariance + gaps.T @ gaps / 2) / (p + m)
        ratios, axes = linalg.eigh(within, total)
        weights = np.maximum(1 / ratios - 1, _LEAST_WEIGHT)
        matrices.append(axes * weights @ axes.T)
    return list(zip(matrices, _SELECTING, strict=False))


def pooled_covariance(X: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """Return the covariance matrix of the features within clusters, slightly regularized.

    The result is None if all features are constant within clusters, or if the matrix overflows.
    """
    n, p = X.shape
    residuals = np.empty((n, p))
    for k in np.unique(labels):
        is_member = labels == k
        members = X[is_member]
        residuals[is_member] = members - members.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        covariance = residuals.T @ residuals / n
    variance = np.trace(covariance) / p
    if not 0 < variance < np.inf:
        return None
    sphere = _SHRINKAGE * variance * np.eye(p)
    return (1 - _SHRINKAGE) * covariance + sphere
