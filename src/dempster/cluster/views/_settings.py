"""What the method with tables and the one with matrices are set by, and what both warn of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._types import ArrayLike
from dempster.cluster.views._weights import WeightRule
from dempster.partition import CredalPartition

__all__ = ["ViewSettings", "all_on_one_view"]

_ALL = 0.99  # of the weight: all of it


@dataclass(frozen=True)
class ViewSettings:
    """What a user may set. ``delta`` is None if it follows from the data, ``view_weights`` if they are learnt; ``init``
    is the name of a way to draw starts, or the prototypes, the medoids or the partition to start from."""

    n_clusters: int
    view_names: list[str]
    view_weights: np.ndarray | None
    evenness: float
    alpha: float
    beta: float
    delta: float | None
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float


def all_on_one_view(weights: np.ndarray, rule: WeightRule, settings: ViewSettings) -> list[str]:
    """A remark if the weights that were learnt leave one view only."""
    if rule.evenness is None or (rule.prior > 0).sum() < 2 or weights.max() < _ALL:
        return []
    name = settings.view_names[int(weights.argmax())]
    return [
        f"{name!r} has {weights.max():.1%} of the weight of all views; try a larger evenness, got {rule.evenness:g}"
    ]
