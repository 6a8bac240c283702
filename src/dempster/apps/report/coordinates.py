"""Compute and pack coordinates of the objects on the map.

The axes are principal components or classical scaling, doubt, and attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dempster.apps.map import pack_objects
from dempster.apps.report.cluster_profiles import ClusterProfiles
from dempster.apps.report.report_input import (
    ReportInput,
    dates_to_numbers,
    is_numeric,
    short_name,
)
from dempster.dissimilarity.partial import impute_missing
from dempster.dissimilarity.views import joined_views
from dempster.explain import doubt_scores
from dempster.explain.inputs import select_rows

MAX_ATTRIBUTE_AXES = 30
MAX_LANDMARKS = 600
MAX_COMPONENT_ROWS = 5000
MAX_COMPONENT_COLUMNS = 2000
MAX_CATEGORIES = 12  # in a column; less frequent categories are joined
# object names are shortened if all of them together are longer
MAX_NAMES_CHARACTERS = 600_000
# largest integer that represents a coordinate; 65,535 represents a missing value
_N_LEVELS = 65_534
# share of the smallest and of the largest values that do not determine the initial range
_TAIL = 0.025
_DOUBT_AXIS = "doubt (vertical; 0 certain, 1 ambiguous, above 1 outliers)"


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of the map with the coordinates of the objects."""

    name: str
    kind: str  # "component", "number", "date" or "category"
    # for each object a number, days since 1970 or a position in categories; NaN if missing
    values: np.ndarray
    categories: list[str] = field(default_factory=list)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest finite value."""
        values = self.values[np.isfinite(self.values)]
        if not len(values):
            return 0.0, 1.0
        return float(values.min()), float(values.max())

    @cached_property
    def inner(self) -> tuple[float, float]:
        """Initial range of the map, which ignores values that are far from most other values."""
        values = self.values[np.isfinite(self.values)]
        if not len(values) or self.kind == "category":
            return self.ends
        low, high = np.quantile(values, [_TAIL, 1 - _TAIL]).tolist()
        if not high > low:
            return self.ends
        smallest, largest = self.ends
        return max(smallest, low - (high - low)), min(largest, high + (high - low))


@dataclass(frozen=True, eq=False)
class MapCoordinates:
    """Objects on the map, and their coordinates."""

    rows: np.ndarray  # positions of the objects in the partition, in increasing order
    axes: list[Axis]
    # positions of the horizontal and vertical axis that are shown first
    first: tuple[int, int]
    how: str  # description of these two axes
    n_left_out: int = 0  # number of columns of the table without an axis


def place_objects(
    data: ReportInput,
    profiles: ClusterProfiles | None,
    max_points: int,
    linked: np.ndarray,
    rng: np.random.Generator,
) -> MapCoordinates | None:
    """Return the coordinates of a sample that includes the objects ``linked``.

    None if all objects are equal.
    """
    rows = np.arange(len(data.partition))
    if profiles is not None:
        rows = profiles.rows
    if len(rows) > max_points:
        rows = rng.choice(rows, max(max_points - len(linked), 1), replace=False)
    rows = np.unique(np.concatenate([rows, linked]))
    axes, how = _compute_components(data, rows, rng)
    n_components = len(axes)
    axes.append(Axis("doubt", "number", doubt_scores(data.partition[rows])))
    left_out = 0
    if profiles is not None:
        attributes = _attribute_axes(data, profiles, rows)
        axes += attributes
        left_out = profiles.n_columns - len(attributes)
    numbers = [
        a
        for a, axis in enumerate(axes)
        if axis.kind in ("number", "date") and a > n_components
    ]
    if len(numbers) == 2 and profiles is not None and profiles.n_columns == 2:
        return MapCoordinates(
            rows, axes, (numbers[0], numbers[1]), "the two attributes"
        )
    if n_components >= 2:
        return MapCoordinates(rows, axes, (0, 1), how, left_out)
    if not n_components and not numbers:
        return None
    first = numbers[0] if numbers else 0
    how = f"{axes[first].name} (horizontal) and {_DOUBT_AXIS}"
    return MapCoordinates(rows, axes, (first, n_components), how, left_out)


def pack_coordinates(
    data: ReportInput,
    coordinates: MapCoordinates,
    layers: Sequence[Mapping[str, Any]] = (),
    **arrays: np.ndarray,
) -> bytes:
    """Pack the objects on the map, layers and further arrays for ``partition_map.js``.

    A layer contains the group of each cluster, and the names of the groups.
    """
    names = None
    if data.index is not None:
        names = [data.object_name(i) for i in coordinates.rows]
        if sum(map(len, names)) > MAX_NAMES_CHARACTERS:
            names = [
                short_name(name, max(MAX_NAMES_CHARACTERS // len(names), 8))
                for name in names
            ]
    axes = [
        {
            "name": axis.name,
            "kind": axis.kind,
            "low": axis.ends[0],
            "high": axis.ends[1],
            "inner": axis.inner,
            "categories": axis.categories,
        }
        for axis in coordinates.axes
    ]
    return pack_objects(
        data.partition[coordinates.rows],
        coordinates.rows,
        {
            "levels": np.concatenate([_quantize(axis) for axis in coordinates.axes]),
            **arrays,
        },
        axes=axes,
        first=coordinates.first,
        names=names,
        layers=layers,
        clusters=data.cluster_names,
        labels=[short_name(name, 24) for name in data.partition.frame],
    )


def _quantize(axis: Axis) -> np.ndarray:
    """Return the values of an axis as 16-bit integers that divide its range into equal steps."""
    low, high = axis.ends
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.round(
            (axis.values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0) * _N_LEVELS
        )
    return np.where(np.isfinite(axis.values), steps, _N_LEVELS + 1).astype(np.uint16)


def _attribute_axes(
    data: ReportInput, profiles: ClusterProfiles, rows: np.ndarray
) -> list[Axis]:
    """Return an axis for each attribute that differs most between the clusters.

    The coordinates of objects that were not profiled are NaN.
    """
    position = np.full(len(data.partition), -1)
    position[profiles.rows] = np.arange(len(profiles.rows))
    profiled = position[rows]
    delta = np.abs(np.nan_to_num(profiles.profile.statistics["delta"])).max(axis=0)
    attributes = [feature.attribute for feature in profiles.profile.features]
    by_size = dict.fromkeys(attributes[q] for q in np.argsort(-delta, kind="stable"))
    strongest = list(by_size)[:MAX_ATTRIBUTE_AXES]
    axes = []
    for attribute in dict.fromkeys(attributes):
        if attribute not in strongest:
            continue
        kind = "category"
        if attribute.is_number:
            kind = attribute.kind
        values = np.where(profiled >= 0, attribute.values[profiled], np.nan)
        categories = list(map(str, attribute.categories))
        axes.append(Axis(attribute.name, kind, values, categories))
    return axes


# ---- components ----------------------------------------------------------------------------------


def _compute_components(
    data: ReportInput, rows: np.ndarray, rng: np.random.Generator
) -> tuple[list[Axis], str]:
    """Return at most two axes with the largest variance, and their description."""
    if data.is_pairwise:
        xy = _scale_dissimilarities(data.X, rows, len(data.partition), rng)
        if xy is not None:
            return _component_axes(
                xy, "MDS"
            ), "classical scaling (MDS) of the dissimilarities"
    matrix, what = _numeric_matrix(data, rows)
    if matrix is None:
        matrix = np.asarray(data.partition[rows].contour, float)
        what = "the plausibilities of the clusters (no attributes are available)"
    xy, share = _principal_components(matrix, rng)
    how = f"first two principal components of {what}, with {share:.0%} of the variance"
    return _component_axes(xy, "component"), how


def _component_axes(xy: np.ndarray, name: str) -> list[Axis]:
    return [
        Axis(f"{name} {k + 1}", "component", column) for k, column in enumerate(xy.T)
    ]


def _numeric_matrix(
    data: ReportInput, rows: np.ndarray
) -> tuple[np.ndarray | None, str]:
    """Return the attributes as a matrix without missing values, and their description."""
    if (
        (data.model is not None or data.clustered is not None)
        and data.X is not None
        and not data.is_pairwise
        and not data.is_image
    ):
        X = joined_views(data.X)
        if is_numeric(X) and np.ndim(X) == 2 and not hasattr(data.model, "categories_"):
            return _fill(
                np.asarray(select_rows(X, rows), float)
            ), "the clustered attributes"
    if data.frame is None:
        return None, ""
    some = dates_to_numbers(select_rows(data.frame, rows))
    some = some.iloc[:, :MAX_COMPONENT_COLUMNS]
    parts = [some.select_dtypes("number").to_numpy(dtype=float)]
    texts = some.select_dtypes(exclude="number").astype(str)
    if texts.shape[1]:
        from sklearn.preprocessing import OneHotEncoder  # slow to import

        encoder = OneHotEncoder(max_categories=MAX_CATEGORIES, sparse_output=False)
        parts.append(encoder.fit_transform(texts))
    matrix = _fill(np.hstack(parts))
    spread = matrix.std(axis=0)
    scaled = (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return scaled, "the standardized attributes"


def _fill(matrix: np.ndarray) -> np.ndarray:
    return impute_missing(np.where(np.isfinite(matrix), matrix, np.nan))


def _principal_components(
    matrix: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Return coordinates on at most two principal components, and their share of the variance."""
    from sklearn.decomposition import PCA  # slow to import

    scale = float(np.abs(matrix).max(initial=0)) or 1.0
    scaled = matrix / scale
    some = scaled
    if len(scaled) > MAX_COMPONENT_ROWS:
        some = scaled[rng.choice(len(scaled), MAX_COMPONENT_ROWS, replace=False)]
    if not some.var(axis=0).sum() > 1e-20:
        return np.zeros((len(matrix), 0)), 1.0
    solver = "covariance_eigh" if some.shape[1] <= len(some) else "full"
    pca = PCA(min(2, *some.shape), svd_solver=solver).fit(some)
    has_variance = pca.explained_variance_ratio_ > 1e-12
    xy = pca.transform(scaled)[:, has_variance] * scale
    return xy, float(min(pca.explained_variance_ratio_[has_variance].sum(), 1.0))


def _scale_dissimilarities(
    D: Any, rows: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray | None:
    """Return at most two coordinates by landmark MDS, or None if D is not dense.

    See de Silva and Tenenbaum (2004).
    """
    if hasattr(D, "tocsr") or np.shape(D) != (n, n):
        return None
    full = np.asarray(D)
    landmarks = rows
    if len(rows) > MAX_LANDMARKS:
        landmarks = np.sort(rng.choice(rows, MAX_LANDMARKS, replace=False))
    between = np.asarray(full[np.ix_(landmarks, landmarks)], float)
    from sklearn.decomposition import KernelPCA  # slow to import

    # Classical scaling is kernel PCA of the squared dissimilarities.
    pca = KernelPCA(
        min(2, len(landmarks)),
        kernel="precomputed",
        eigen_solver="dense",
        remove_zero_eig=True,
    )
    pca.fit(-(((between + between.T) / 2) ** 2) / 2)
    return pca.transform(-(np.asarray(full[np.ix_(rows, landmarks)], float) ** 2) / 2)
