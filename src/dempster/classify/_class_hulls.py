"""Distance of objects from all classes, which is small between classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from dempster._arrays import divide, row_slices
from dempster._types import ArrayPair
from dempster.dissimilarity.neighbors import PointTree

_N_NEIGHBORS = 5
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True)
class ClassHulls:
    """Reference objects of several classes, from which the distance of other objects is measured.

    The local mean of a class is the mean of its reference objects that are nearest to an object.
    The distance of the object is its distance to the convex hull of the local means of all classes.
    It is small within a class and between classes, and large outside. The hull is approximated:
    starting at the nearest local mean, the object is projected onto the segment from the last
    projection to the next nearest local mean, and so on.
    """

    rows: Annotated[np.ndarray, "n p"]  # reference objects, in units of ``scale``
    codes: Annotated[np.ndarray, "n:int"]  # classes of the reference objects
    center: Annotated[np.ndarray, "p"]  # values that replace missing ones
    scale: Annotated[np.ndarray, "p"]  # ranges of the attributes

    @classmethod
    def from_objects(cls, values: np.ndarray, codes: np.ndarray) -> ClassHulls:
        """Return the hulls of objects with missing values (NaN), shape (n, p), and their classes.

        The range limits the weight of an attribute that is constant except for a few objects.
        """
        is_known = ~np.isnan(values)
        counts = np.maximum(is_known.sum(axis=0), 1)
        totals = np.where(is_known, values, 0).sum(axis=0)
        center = totals / counts
        filled = np.where(is_known, values, center)
        spread = np.ptp(filled, axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        return cls(filled / scale, codes, center, scale)

    @cached_property
    def _trees(self) -> list[PointTree]:
        return [PointTree(self.rows[self.codes == k]) for k in np.unique(self.codes)]

    def project(self, values: np.ndarray, n_classes: int) -> ArrayPair:
        """Project each row of ``values``, shape (n, p), onto its hull.

        Return the distances, shape (n,), and the weights of the local means, shape (n, n_classes),
        which are zero if there are no attributes.
        """
        n, p = values.shape
        distances = np.zeros(n)
        weights = np.zeros((n, n_classes))
        if p == 0:
            return distances, weights
        rows = np.where(np.isnan(values), self.center, values)
        rows /= self.scale
        classes = np.unique(self.codes)
        cells_per_row = p * (len(classes) + _N_NEIGHBORS)
        for block in row_slices(n, max(1, _BLOCK_CELLS // cells_per_row)):
            projection = self._project_block(rows[block])
            distances[block], weights[block, classes] = projection
        return distances, weights

    def _project_block(self, rows: np.ndarray) -> ArrayPair:
        means = np.stack([_local_means(tree, rows) for tree in self._trees], axis=1)
        squared = ((means - rows[:, None]) ** 2).sum(axis=2)
        each = np.arange(len(rows))
        first, *others = squared.argsort(axis=1, kind="stable").T
        nearest = means[each, first]
        weights = np.zeros_like(squared)
        weights[each, first] = 1
        for following in others:
            step = means[each, following] - nearest
            length = (step**2).sum(axis=1)
            along = ((rows - nearest) * step).sum(axis=1)
            share = divide(along, length, 0).clip(0, 1)
            nearest = nearest + share[:, None] * step
            weights *= 1 - share[:, None]
            weights[each, following] += share
        return np.linalg.norm(rows - nearest, axis=1), weights


def _local_means(tree: PointTree, rows: np.ndarray) -> np.ndarray:
    k = min(_N_NEIGHBORS, len(tree))
    index = tree.kneighbors(rows, k)[1]
    return tree.points[index].mean(axis=1)


def numeric_attributes(model: Any, X: Any) -> np.ndarray:
    """Return the numeric attributes that a classifier receives, shape (n, p).

    They are those after the first steps of a pipeline. Text, categories and sparse matrices are
    left out.
    """
    if hasattr(model, "steps") and len(model.steps) > 1:
        X = model[:-1].transform(X)
    if hasattr(X, "toarray"):
        return np.empty((X.shape[0], 0))
    if not hasattr(X, "columns"):
        return np.asarray(X, float)
    columns = [np.asarray(X[name]) for name in X.columns]
    numeric = [column for column in columns if column.dtype.kind in "biuf"]
    return np.column_stack([np.empty((len(X), 0)), *numeric])
