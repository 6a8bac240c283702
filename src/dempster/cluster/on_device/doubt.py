"""The masses of `_doubt.doubtful_masses`, with torch."""

from __future__ import annotations

from typing import Any

from dempster.belief import FocalSets
from dempster.cluster._mass_step import pair_columns
from dempster.data.device import sent

__all__ = ["DoubtOnDevice"]


class DoubtOnDevice:
    """Doubt between neighboring clusters, for one family of single clusters and pairs of neighbors."""

    def __init__(self, family: FocalSets, device: Any):
        self.n_sets, self.empty = len(family), family.empty_index
        self.pair_of, self.single_of = sent(pair_columns(family), device), sent(family.singleton_index, device)

    def masses(self, contour: Any, outlying: Any = 0.0) -> Any:
        """(b, f) masses for (b, c) plausibilities of the clusters, after those on the empty set."""
        import torch

        top, best = contour.max(dim=1)
        possible = self.pair_of[best]
        second_best, second = torch.where(possible >= 0, contour, 0).max(dim=1)
        column = possible.gather(1, second[:, None])[:, 0]
        ratio = torch.where(column >= 0, second_best / torch.where(top > 0, top, 1), 0)
        one = 1 - ratio
        masses = torch.zeros((len(contour), self.n_sets), dtype=contour.dtype, device=contour.device)
        if self.empty is not None:
            nowhere = torch.where(top > 0, outlying, 1.0).to(contour.dtype)
            one, ratio = one * (1 - nowhere), ratio * (1 - nowhere)
            masses[:, self.empty] = nowhere
        masses.scatter_(1, self.single_of[best][:, None], one[:, None])
        return masses.scatter_add_(1, column.clamp(min=0)[:, None], ratio[:, None])
