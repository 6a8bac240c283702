"""Places of the plane to ask a model about, and the sets of clusters worth asking for."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import is_integer, shown
from dempster.belief import FocalSets, MassFunctions

__all__ = ["check_two_attributes", "grid", "like", "chosen_sets"]

_FINEST = 2000  # places along each axis of a picture
_MATTERS_FROM = 0.25  # largest mass on the plane from which a set of several clusters is worth a panel
_MOST_PANELS = 12  # of those chosen here


def check_two_attributes(estimator: Any, X: Any) -> None:
    """Refuse what has no plane to be drawn over."""
    fitted = getattr(estimator, "n_features_in_", 2)
    if fitted != 2:
        raise InvalidInputError(
            f"estimator must be fitted to two attributes to be drawn over their plane, got {fitted}; "
            "fit it to two columns, or to two principal components"
        )
    shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        raise InvalidInputError(f"X must have shape (n, 2), objects by two attributes, got {shape}")


def grid(points: np.ndarray, resolution: int, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Places on and around the objects, as `numpy.meshgrid` gives them."""
    if not is_integer(resolution) or resolution < 2:
        raise InvalidInputError(f"grid_resolution must be an integer of at least 2, got {shown(resolution)}")
    if resolution > _FINEST:
        raise InvalidInputError(
            f"grid_resolution must be at most {_FINEST}, got {resolution}: a picture of {resolution:,} x "
            f"{resolution:,} places takes the masses of all of them"
        )
    if not isinstance(margin, int | float | np.number) or not 0 <= margin < np.inf:
        raise InvalidInputError(f"margin must be a number of at least 0, got {shown(margin)}")
    low, high = points.min(axis=0), points.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    room = np.where(high > low, margin, max(margin, 0.5)) * width  # something must be seen around a single place
    x, y = (np.linspace(a, b, resolution) for a, b in zip(low - room, high + room, strict=True))
    xx, yy = np.meshgrid(x, y)
    return xx, yy


def like(X: Any, places: np.ndarray) -> Any:
    """A table with the columns of X, if X is one: estimators remember the names they were fitted to."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return places
    return type(X)({name: places[:, k] for k, name in enumerate(columns)})


def chosen_sets(masses: MassFunctions, sets: Any, quantity: str) -> FocalSets:
    """The sets asked for, or those worth a panel: single clusters, the empty set, larger sets that hold mass."""
    if sets is not None:
        rows, _ = masses.membership_rows(sets)
        if len(rows) == 0 or len(np.unique(rows, axis=0)) < len(rows):
            raise InvalidInputError(f"sets must hold at least one set, each only once, got {shown(sets)}")
        return FocalSets(rows)
    singletons = FocalSets.simple(masses.n_clusters, empty=False, omega=False)
    if quantity != "mass":
        return singletons
    family = masses.focal_sets
    largest = masses.masses.max(axis=0)
    chosen: list[tuple[int, ...]] = [()] if family.empty_index is not None else []
    chosen += list(singletons)
    large = np.flatnonzero((family.cardinality > 1) & (largest >= _MATTERS_FROM))
    room = max(_MOST_PANELS - len(chosen), 0)
    kept = large[np.argsort(-largest[large], kind="stable")][:room]
    chosen += [tuple(np.flatnonzero(family.membership[j]).tolist()) for j in kept]
    return FocalSets.from_sets(masses.n_clusters, chosen).sorted()
