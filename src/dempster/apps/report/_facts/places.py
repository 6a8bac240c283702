"""Where the objects are drawn: by principal components, scaled dissimilarities or attributes, a sample of many."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dempster.apps.report._facts.case import Case
from dempster.apps.report._facts.described import Described
from dempster.apps.report._facts.frames import rows_of
from dempster.dissimilarity.views import joined_views
from dempster.explain import doubt_of

__all__ = ["Axis", "Places", "places_of"]

_MOST_AXES = 30
_TAIL = 0.025  # of the objects on each side, which may lie far away
_FITTED = 5000  # objects that components are found from
_LANDMARKS = 600  # objects whose dissimilarities are scaled; all others are placed by theirs to these


@dataclass(frozen=True, eq=False)
class Axis:
    """A coordinate of the objects that are drawn.

    Attributes
    ----------
    name : str
    kind : {"component", "number", "date", "category"}
    values : (m,) array
        NaN where it is not known; dates as days since 1970, categories by their numbers.
    categories : list of str
    """

    name: str
    kind: str
    values: np.ndarray
    categories: list[str] = field(default_factory=list)

    @cached_property
    def inner(self) -> tuple[float, float]:
        """Where the picture opens: all values, but for those that lie farther from most than most lie apart."""
        known = self.values[np.isfinite(self.values)]
        if not len(known):
            return 0.0, 1.0
        low, high = float(known.min()), float(known.max())
        if self.kind == "category":
            return low, high
        near, far = (float(q) for q in np.quantile(known, [_TAIL, 1 - _TAIL]))
        if not far > near:
            return low, high
        return max(low, near - (far - near)), min(high, far + (far - near))


@dataclass(frozen=True, eq=False)
class Places:
    """The objects that are drawn, and their coordinates.

    Attributes
    ----------
    rows : (m,) array
        Positions of the objects, increasing.
    axes : list of Axis
    first : (int, int)
        The two axes of the picture as it opens.
    how : str
        What these are, in a sentence.
    n_left_out : int
        Columns without an axis of their own.
    """

    rows: np.ndarray
    axes: list[Axis]
    first: tuple[int, int]
    how: str
    n_left_out: int = 0


def places_of(
    case: Case, found: Described | None, most: int, always: np.ndarray, rng: np.random.Generator
) -> Places | None:
    """Coordinates of at most so many objects, ``always`` among them; None where all objects lie at one place."""
    rows = np.arange(len(case.partition)) if found is None else found.rows
    if len(rows) > most:
        rows = rng.choice(rows, max(most - len(always), 1), replace=False)
    rows = np.unique(np.concatenate([rows, always]))
    components, how = _components(case, rows, rng)
    axes = components + [_doubt(case, rows)]
    left_out = 0
    if found is not None:
        shown = _attributes_shown(found)
        axes += _attribute_axes(case, found, shown, rows)
        left_out = found.n_columns - len(shown)
    numbers = [a for a, axis in enumerate(axes) if axis.kind in ("number", "date") and a > len(components)]
    if len(numbers) == 2 and found is not None and found.n_columns == 2:
        return Places(rows, axes, (numbers[0], numbers[1]), "the two attributes as they are")
    if len(components) >= 2:
        return Places(rows, axes, (0, 1), how, left_out)
    if not components and not numbers:
        return None
    first = numbers[0] if numbers else 0
    words = f"{axes[first].name} across, doubt upwards (0 certain, 1 torn between clusters, more for outliers)"
    return Places(rows, axes, (first, len(components)), words, left_out)


def _doubt(case: Case, rows: np.ndarray) -> Axis:
    return Axis("doubt", "number", doubt_of(case.partition[rows]))


# ---- attributes -----------------------------------------------------------------------------------------------------


def _attributes_shown(found: Described) -> list[Any]:
    """The attributes that differ most between the clusters, in the order of the table."""
    attributes = list(dict.fromkeys(feature.attribute for feature in found.profile.features))
    if len(attributes) <= _MOST_AXES:
        return attributes
    delta = np.abs(np.nan_to_num(found.profile.statistics["delta"])).max(axis=0)
    size = dict.fromkeys(attributes, 0.0)
    for feature, value in zip(found.profile.features, delta, strict=True):
        size[feature.attribute] = max(size[feature.attribute], float(value))
    chosen = set(sorted(attributes, key=lambda attribute: -size[attribute])[:_MOST_AXES])
    return [attribute for attribute in attributes if attribute in chosen]


def _attribute_axes(case: Case, found: Described, shown: list[Any], rows: np.ndarray) -> list[Axis]:
    """The values that the profile has; of the few objects that are not among its rows, none."""
    axes = []
    place = np.full(len(case.partition), -1)
    place[found.rows] = np.arange(len(found.rows))
    known = place[rows]
    for attribute in shown:
        values = np.where(known >= 0, attribute.values[known], np.nan)
        kind = attribute.kind if attribute.is_number else "category"
        axes.append(Axis(attribute.name, kind, values, [str(name) for name in attribute.categories]))
    return axes


# ---- components -----------------------------------------------------------------------------------------------------


def _components(case: Case, rows: np.ndarray, rng: np.random.Generator) -> tuple[list[Axis], str]:
    """Up to two coordinates that show most, and what they are."""
    if case.is_pairwise:
        xy = _scaled(joined_views(case.X, "precomputed"), rows, len(case.partition), rng)
        if xy is not None:
            return _axes(xy, "MDS"), "placed by classical scaling (MDS) of the dissimilarities: near means alike"
    matrix, what = _matrix(case, rows)
    if matrix is None:
        contour = np.asarray(case.partition[rows].contour, dtype=float)
        xy, share = _principal(contour, rng)
        what = "the plausibilities of the clusters, for want of attributes"
    else:
        xy, share = _principal(matrix, rng)
    return _axes(xy, "component"), f"first two principal components of {what}, which keep {share:.0%} of the variance"


def _axes(xy: np.ndarray, name: str) -> list[Axis]:
    return [Axis(f"{name} {k + 1}", "component", column) for k, column in enumerate(xy.T)]


def _matrix(case: Case, rows: np.ndarray) -> tuple[np.ndarray | None, str]:
    """Numbers of the objects that are drawn, none missing: as they were clustered, or standardised columns."""
    if case.model is not None and case.X is not None and not case.is_pairwise and not case.is_image:
        X = joined_views(case.X)
        numeric = all(getattr(d, "kind", "O") in "iuf" for d in getattr(X, "dtypes", [getattr(X, "dtype", None)]))
        if numeric and np.ndim(X) == 2 and not hasattr(case.model, "categories_"):
            return _filled(np.asarray(rows_of(X, rows), dtype=float)), "the attributes as they were clustered"
    if case.frame is None:
        return None, ""
    some = rows_of(case.frame, rows)
    columns = []
    for name in some.columns[:2000]:
        column = some[name]
        if column.dtype.kind in "iuf":
            columns.append(column.to_numpy(dtype=float)[:, None])
        elif column.dtype.kind == "M":
            columns.append(column.astype("int64").where(column.notna()).to_numpy(dtype=float)[:, None])
        else:
            codes, kinds = _codes(column)
            columns.append((codes[:, None] == np.arange(min(kinds, 12))).astype(float))
    matrix = _filled(np.hstack(columns))
    spread = matrix.std(axis=0)
    return (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1), "the standardised attributes"


def _codes(column: Any) -> tuple[np.ndarray, int]:
    """Numbers of the categories, the most frequent first."""
    counts = column.astype(str).value_counts()
    order = {name: k for k, name in enumerate(sorted(counts.index, key=lambda name: (-counts[name], name)))}
    return column.astype(str).map(order).to_numpy(), len(order)


def _filled(matrix: np.ndarray) -> np.ndarray:
    """Missing cells as the means of their columns."""
    missing = ~np.isfinite(matrix)
    if not missing.any():
        return matrix
    known = np.where(missing, 0, matrix).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, known, matrix)


def _principal(matrix: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """(m, 0..2) leading components that vary at all, and their share of the variance; their signs are fixed."""
    scale = float(np.abs(matrix).max(initial=0)) or 1.0
    centered = matrix / scale
    centered = centered - centered.mean(axis=0)
    total = float(np.square(centered).sum(axis=1).mean()) if len(centered) else 0.0
    if not total > 1e-20:
        return np.zeros((len(matrix), 0)), 1.0
    some = centered if len(centered) <= _FITTED else centered[rng.choice(len(centered), _FITTED, replace=False)]
    if some.shape[1] <= len(some):
        _, vectors = np.linalg.eigh(some.T @ some)
        directions = vectors[:, ::-1][:, :2]
    else:
        values, left = np.linalg.eigh(some @ some.T)
        lengths = np.sqrt(np.maximum(values[::-1][:2], 1e-300))
        directions = some.T @ left[:, ::-1][:, :2] / lengths
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])])
    xy = centered @ (directions * np.where(signs == 0, 1, signs))
    variance = np.square(xy).mean(axis=0)
    kept = variance > 1e-12 * total
    return xy[:, kept] * scale, float(min(variance[kept].sum() / total, 1.0))


def _scaled(D: Any, rows: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray | None:
    """(m, 0..2) coordinates by classical scaling of some objects, among which the others are placed (landmark scaling,
    de Silva and Tenenbaum, 2004); None where dissimilarities are not all there."""
    if hasattr(D, "tocsr") or np.shape(D) != (n, n):
        return None
    full = np.asarray(D)
    marks = rows if len(rows) <= _LANDMARKS else np.sort(rng.choice(rows, _LANDMARKS, replace=False))
    among = np.asarray(full[np.ix_(marks, marks)], dtype=float)
    among = ((among + among.T) / 2) ** 2
    means = among.mean(axis=0)
    values, vectors = np.linalg.eigh(-(among - means - means[:, None] + means.mean()) / 2)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    kept = values > 1e-9 * max(float(values.max(initial=0)), 1e-300)
    values, vectors = values[kept], vectors[:, kept]
    if not len(values):
        return np.zeros((len(rows), 0))
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    to_marks = np.asarray(full[np.ix_(rows, marks)], dtype=float) ** 2
    return -(to_marks - means) @ (vectors * np.where(signs == 0, 1, signs) / np.sqrt(values)) / 2
