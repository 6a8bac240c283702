"""What comes with a table of objects besides its numbers: names and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from evidentia._scale import SMALLEST, check_size

__all__ = ["object_index", "object_weights"]


def object_index(X: Any) -> Any:
    """Names of the rows of a pandas table, None for anything else (a plain 0..n-1 index says nothing)."""
    if not hasattr(X, "iloc"):
        return None
    index = X.index
    plain = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return None if plain else index


def object_weights(sample_weight: Any, n_objects: int) -> np.ndarray | None:
    """Weights of the objects, checked; None if none are given."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    objects = np.empty((n_objects, 1))
    weights = _check_sample_weight(sample_weight, objects, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight must hold at least one non-zero weight")
    check_size(weights, "sample_weight")
    least = weights[weights > 0].min()
    if least < SMALLEST:
        raise ValueError(f"sample_weight must hold zeros or weights of at least {SMALLEST:g}, got {least:.6g}")
    return weights
