"""What speaks for each number of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals
from dempster.plot._drawing.arguments import named, numbers_of_clusters
from dempster.plot._drawing.canvas import INK, axes_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import PALETTE
from dempster.plot._drawing.options import checked_options, wanted

__all__ = ["NumberOfClustersDisplay"]

_MARKERS = "osD^v<>P"


class NumberOfClustersDisplay:
    """Support of each number of clusters as bars, the largest dark, and what each witness says as thin lines.

    A tall bar that all witnesses reach is a number to believe. Where two bars are alike, or the witnesses point to
    different numbers, the data do not say.

    Parameters
    ----------
    n_clusters : sequence of k int
        Candidates, increasing.
    support : sequence of k floats
        How much speaks for each, in [0, 1].
    witnesses : mapping of str to sequence of k floats, optional
        What each witness says, in [0, 1], by name.

    Attributes
    ----------
    n_clusters, support
        As given, as arrays.
    witnesses : dict of str to array
    best : int
        The number with the largest support; the smaller number on ties.
    ax_, figure_ : Matplotlib axes and figure
    bars_ : container of bars
    witness_lines_ : list of lines
        In the order of the witnesses; empty if they were not asked for.
    best_text_ : text or None

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.model_selection import number_of_clusters
    >>> from dempster.plot import NumberOfClustersDisplay
    >>> X = np.repeat([[0, 0], [9, 0], [0, 9]], 30, axis=0) + np.random.default_rng(0).normal(size=(90, 2))
    >>> numbers = number_of_clusters(X, candidates=range(2, 8), random_state=0)
    >>> display = NumberOfClustersDisplay.from_numbers(numbers)
    >>> display.best
    3
    """

    def __init__(self, *, n_clusters: Any, support: Any, witnesses: Mapping[str, Any] | None = None):
        self.n_clusters = numbers_of_clusters(n_clusters)
        self.support = self._values(support, "support")
        self.witnesses = {
            str(k): self._values(values, f"witnesses[{k!r}]") for k, values in named(witnesses, "witnesses")
        }
        self.best = int(self.n_clusters[self.support.argmax()])

    def _values(self, given: Any, name: str) -> np.ndarray:
        values = as_reals(given, name)
        if values.shape != self.n_clusters.shape or not np.isfinite(values).all():
            raise InvalidInputError(f"{name} must hold {len(self.n_clusters)} finite numbers, got {values.tolist()}")
        return values

    @classmethod
    def from_numbers(cls, numbers: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw what `dempster.model_selection.number_of_clusters` found.

        Parameters
        ----------
        numbers : NumberOfClusters
            Also the attribute ``number_`` of a clusterer with ``n_clusters="auto"``.
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        NumberOfClustersDisplay
        """
        if not all(hasattr(numbers, name) for name in ("n_clusters", "support", "witnesses")):
            raise InvalidInputError(f"numbers must come from number_of_clusters, got {type(numbers).__name__}")
        display = cls(n_clusters=numbers.n_clusters, support=numbers.support, witnesses=numbers.witnesses)
        return display.plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        color: Any = PALETTE[0],
        witnesses: bool = True,
        mark_best: bool = True,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        color : colour
            Of the bars.
        witnesses : bool, default=True
            Whether to draw what each witness says.
        mark_best : bool, default=True
            Whether to write the best number above its bar.
        legend : bool or "auto"
            "auto": when witnesses are drawn.
        title : str, optional

        Returns
        -------
        NumberOfClustersDisplay
        """
        self.ax_ = axes_to_draw_on(ax, (7.2, 4))
        self.figure_ = self.ax_.figure
        shown = self.witnesses if witnesses else {}
        shades = np.where(self.n_clusters == self.best, 0.85, 0.3)
        self.bars_ = self.ax_.bar(self.n_clusters, self.support, width=0.8, color=color, label="support")
        for bar, alpha in zip(self.bars_, shades, strict=True):
            bar.set_alpha(float(alpha))
        self.witness_lines_ = [
            self._draw_witness(name, values, number) for number, (name, values) in enumerate(shown.items())
        ]
        self.best_text_ = self._name_best(1.0 if shown else float(self.support.max())) if mark_best else None
        self._finish(title)
        if wanted(legend, bool(shown)):
            handles = [self.bars_, *self.witness_lines_]
            outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            self.ax_.legend(handles=handles, fontsize="small", frameon=False, **outside)
        return self

    def _draw_witness(self, name: str, values: np.ndarray, number: int) -> Any:
        """Thin, with a marker of its own, so that lines on top of each other can be told apart."""
        color = PALETTE[1 + number % (len(PALETTE) - 1)]
        style = {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 4, "markerfacecolor": "white"}
        return self.ax_.plot(self.n_clusters, values, color=color, linewidth=0.9, alpha=0.9, label=name, **style)[0]

    def _name_best(self, height: float) -> Any:
        place = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center", "va": "bottom"}
        return self.ax_.annotate(f"{self.best} clusters", (self.best, height), fontsize="small", color=INK, **place)

    def _finish(self, title: str | None) -> None:
        from matplotlib.ticker import MaxNLocator

        quiet_frame(self.ax_)
        self.ax_.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_ylim(0, 1.12)  # room for the words above the best bar
        self.ax_.set_yticks([0, 0.25, 0.5, 0.75, 1])
        self.ax_.set_xlabel("number of clusters")
        self.ax_.set_ylabel("support")
        if title is not None:
            self.ax_.set_title(title)
