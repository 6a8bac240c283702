"""Display of the evaluation of labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._text import printable
from dempster.plot._canvas import Display, draw_outside_legend, finish_axes
from dempster.plot.palette import GREY, PALETTE

_HEIGHT = 0.35  # inches for each cluster
# states of the objects of a cluster, with their colors and names
_STATES = {
    "certain": (PALETTE[0], "certain"),
    "ambiguous": (PALETTE[1], "ambiguous"),
    "other": (PALETTE[2], "certain of another cluster"),
    "outliers": (GREY, "outliers"),
}


class EvaluationDisplay(Display):
    """Display of an `Evaluation`, which its method `plot` creates and describes."""

    def __init__(self, evaluation: Any):
        self.evaluation = evaluation

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the shares of the states of the objects of each cluster."""
        clusters = self.evaluation.clusters
        ax = self._open_axes(ax, (7.2, 1.2 + _HEIGHT * len(clusters)))
        places = np.arange(len(clusters))
        left = np.zeros(len(clusters))
        self.bars_ = []
        for state, (color, label) in _STATES.items():
            shares = np.array([getattr(one, state) for one in clusters])
            bars = ax.barh(
                places, shares, left=left, height=0.7, color=color, label=label
            )
            self.bars_.append(bars)
            left += shares
        names = [f"{printable(one.name)} ({one.size:,})" for one in clusters]
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.set_xlim(0, 1)
        if title is None:
            expected = self.evaluation.expected_agreement
            title = f"expected agreement with the true clusters {expected:.2f}"
        finish_axes(ax, "share of the objects", "", title=title)
        draw_outside_legend(ax, self.bars_)
        return self
