"""What users give to displays, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evidentia._scale import as_reals

__all__ = ["finite_numbers", "flag_or_auto", "named_estimators"]


def finite_numbers(values: Any, name: str, length: int | None = None) -> np.ndarray:
    """A nonempty sequence of finite numbers; ``length``: as many as there are pairs."""
    array = as_reals(values, name).astype(float, copy=False)
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a nonempty sequence of finite numbers, got shape {array.shape}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} must hold {length} numbers, one for each pair, got {len(array)}")
    return array


def flag_or_auto(value: Any, name: str, automatic: bool) -> bool:
    """True or False as given, or what "auto" stands for."""
    if isinstance(value, str) and value == "auto":
        return automatic
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True, False or 'auto', got {value!r}")
    return bool(value)


def named_estimators(estimator: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """One estimator, a sequence of them or a mapping, by their names: those given, or the names of their classes,
    numbered where they repeat."""
    if isinstance(estimator, Mapping):
        if names is not None:
            raise ValueError("names must be None when the estimators come with their names in a mapping")
        return {str(name): one for name, one in estimator.items()}
    several = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
    if names is None:
        classes = [type(one).__name__ for one in several]
        names = [
            name if classes.count(name) == 1 else f"{name} {classes[:i].count(name) + 1}"
            for i, name in enumerate(classes)
        ]
    elif len(names) != len(several) or len(set(names)) != len(names):
        raise ValueError(f"names must hold {len(several)} different names, got {list(names)}")
    return dict(zip(map(str, names), several, strict=True))
