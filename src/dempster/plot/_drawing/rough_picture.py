"""Objects in the plane and the clusters each may belong to: who is certain, possible, ambiguous, outlying, and the
hulls around them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, as_truth
from dempster.plot._drawing.hulls import hull_vertices

__all__ = ["RoughPicture"]


class RoughPicture:
    """The data of the picture of a credal partition, whose display says what the parameters are."""

    def __init__(self, points: Any, assignment: Any, is_strip: bool):
        self.points = as_reals(points, "points")
        self.assignment = as_truth(assignment, "assignment")
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise InvalidInputError(f"points must have shape (n, 2), got {self.points.shape}")
        if not np.isfinite(self.points).all():
            raise InvalidInputError("points must be finite, but they hold NaN or infinity")
        if self.assignment.ndim != 2 or len(self.assignment) != len(self.points):
            raise InvalidInputError(f"assignment must have shape ({len(self.points)}, c), got {self.assignment.shape}")
        self.is_strip = is_strip

    @property
    def n_clusters(self) -> int:
        return int(self.assignment.shape[1])

    @cached_property
    def cardinality(self) -> np.ndarray:
        """Number of clusters each object may belong to."""
        return self.assignment.sum(axis=1)

    @cached_property
    def lower(self) -> list[np.ndarray]:
        """Objects that certainly belong to each cluster (positions)."""
        certain = self.cardinality == 1
        return [np.flatnonzero(column & certain) for column in self.assignment.T]

    @cached_property
    def upper(self) -> list[np.ndarray]:
        """Objects that possibly belong to each cluster (positions)."""
        return [np.flatnonzero(column) for column in self.assignment.T]

    @cached_property
    def ambiguous(self) -> np.ndarray:
        """Objects that may belong to several clusters (positions)."""
        return np.flatnonzero(self.cardinality > 1)

    @cached_property
    def outliers(self) -> np.ndarray:
        """Objects that belong to no cluster (positions)."""
        return np.flatnonzero(self.cardinality == 0)

    @cached_property
    def lower_hulls(self) -> list[np.ndarray]:
        """Objects at the corners of the hull of each lower approximation (positions)."""
        return [self._corners(members) for members in self.lower]

    @cached_property
    def upper_hulls(self) -> list[np.ndarray]:
        """Objects at the corners of the hull of each upper approximation (positions)."""
        return [self._corners(members) for members in self.upper]

    def _corners(self, members: np.ndarray) -> np.ndarray:
        points = self.points[members]
        if self.is_strip:  # heights are only there to keep points apart
            points = points * [1, 0]
        return members[hull_vertices(points)]

    @cached_property
    def extent(self) -> np.ndarray:
        """Width and height of the cloud, never zero."""
        width = np.ptp(self.points, axis=0) if len(self.points) else np.ones(2)
        return np.where(width > 0, width, 1.0)

    @cached_property
    def middles(self) -> np.ndarray:
        """(c, 2) where each cluster is: the mean of its certain objects, else of its possible ones; NaN if none."""
        groups = [low if len(low) else up for low, up in zip(self.lower, self.upper, strict=True)]
        nowhere = np.full(2, np.nan)
        return np.array([self.points[group].mean(axis=0) if len(group) else nowhere for group in groups])
