"""The masses of `_doubt.doubtful_masses`, as operators of ONNX."""

from __future__ import annotations

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._doubt import pair_columns
from dempster.io.onnx.graph import Value, take, where

__all__ = ["doubtful_masses"]


def doubtful_masses(contour: Value, family: FocalSets, outlying: Value | None = None) -> Value:
    """(n, f) masses for (n, c) plausibilities of the clusters, after (n, 1) those on the empty set."""
    c, dtype = family.n_clusters, contour.dtype
    sets = np.eye(len(family) + 1, len(family))  # the last row stands for no set
    pair_of = pair_columns(family)
    best, top = contour.argmax(), contour.max()
    others = contour * take(pair_of >= 0, best, dtype)
    column = take(np.where(pair_of >= 0, pair_of, len(family)).ravel(), best * c + others.argmax(), np.int64)
    pair = take(sets, column, dtype)
    ratio = pair.sum() * others.max() / where(top > 0, top, 1.0)
    masses = (1 - ratio) * take(sets[family.singleton_index], best, dtype) + ratio * pair
    if family.empty_index is None:
        return masses
    nowhere = where(top > 0, 0.0 * top if outlying is None else outlying, 1.0)
    return (1 - nowhere) * masses + nowhere * sets[family.empty_index]
