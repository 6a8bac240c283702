"""What users give to displays, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, check, listed, real, shown

__all__ = ["finite_numbers", "numbers_of_clusters", "named", "number", "named_estimators"]


def finite_numbers(values: Any, name: str, length: int | None = None) -> np.ndarray:
    """A nonempty sequence of finite numbers; ``length``: as many as there are pairs."""
    array = as_reals(values, name).astype(float, copy=False)
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be a nonempty sequence of finite numbers, got shape {array.shape}")
    if length is not None and len(array) != length:
        raise InvalidInputError(f"{name} must hold {length} numbers, one for each pair, got {len(array)}")
    return array


def numbers_of_clusters(n_clusters: Any) -> np.ndarray:
    """An increasing sequence of whole numbers."""
    array = as_reals(n_clusters, "n_clusters")
    if array.ndim != 1 or len(array) == 0 or (array % 1 != 0).any() or (np.diff(array) <= 0).any():
        raise InvalidInputError(
            f"n_clusters must be a nonempty increasing sequence of integers, got {shown(n_clusters)}"
        )
    return array.astype(np.intp)


def named(values: Any, name: str) -> list[tuple[Any, Any]]:
    """What a mapping holds, by names; nothing if there is none."""
    if values is None:
        return []
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"{name} must be a mapping of names, got {type(values).__name__}")
    return list(values.items())


def number(value: Any, name: str) -> float:
    """A finite number."""
    check(value, name, real())
    return float(value)


def named_estimators(estimator: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """One estimator, a sequence of them or a mapping, by their names: those given, or the names of their classes,
    numbered where they repeat."""
    if isinstance(estimator, Mapping):
        if names is not None:
            raise InvalidInputError("names must be None when the estimators come with their names in a mapping")
        return {str(name): one for name, one in estimator.items()}
    several = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
    if names is None:
        classes = [type(one).__name__ for one in several]
        names = [
            name if classes.count(name) == 1 else f"{name} {classes[:i].count(name) + 1}"
            for i, name in enumerate(classes)
        ]
    else:
        names = listed(names, "names", f"{len(several)} different names")
        if len(names) != len(several) or len(set(map(str, names))) != len(names):
            raise InvalidInputError(f"names must hold {len(several)} different names, got {shown(names)}")
    return dict(zip(map(str, names), several, strict=True))
