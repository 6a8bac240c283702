"""What speaks for each number of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, as_truth
from dempster.plot._canvas import (
    GREY,
    INK,
    PALETTE,
    axes_to_draw_on,
    checked_options,
    finish_axes,
    named,
    numbers_of_clusters,
    wanted,
)

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
        finish_axes(self.ax_, "number of clusters", "support", title, grid=True, whole_numbers=True)
        self.ax_.set_ylim(0, 1.12)  # room for the words above the best bar
        self.ax_.set_yticks([0, 0.25, 0.5, 0.75, 1])


class NonspecificityDisplay:
    """N* for each number of clusters, the smallest marked.

    A clear minimum is a good number of clusters; where the curve only stops falling, the elbow is.

    Parameters
    ----------
    n_clusters : sequence of k int
        Increasing.
    nonspecificity : sequence of k floats
        Average nonspecificity N* of the partitions, in [0, 1].
    converged : sequence of k bool, optional
        Whether each fit converged; one that did not is an open circle.

    Attributes
    ----------
    n_clusters, nonspecificity, converged
        As given, as arrays.
    best : int
        Number of clusters of the smallest N*; the smaller number on ties.
    ax_, figure_ : Matplotlib axes and figure
    line_ : line
    best_artist_ : line
        The marker of the minimum.
    best_text_ : annotation or None
    open_artist_ : line or None
        Markers of the fits that did not converge.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41.

    Examples
    --------
    >>> from dempster.plot import NonspecificityDisplay
    >>> display = NonspecificityDisplay(n_clusters=[2, 3, 4], nonspecificity=[0.2, 0.05, 0.1]).plot()
    >>> display.best
    3
    """

    def __init__(self, *, n_clusters: Any, nonspecificity: Any, converged: Any = None):
        self.n_clusters = numbers_of_clusters(n_clusters)
        self.nonspecificity = as_reals(nonspecificity, "nonspecificity")
        if self.nonspecificity.shape != self.n_clusters.shape or not np.isfinite(self.nonspecificity).all():
            raise InvalidInputError(
                f"nonspecificity must hold {len(self.n_clusters)} finite numbers, got {self.nonspecificity.tolist()}"
            )
        flags = np.ones(len(self.n_clusters), dtype=bool) if converged is None else as_truth(converged, "converged")
        if flags.shape != self.n_clusters.shape:
            raise InvalidInputError(f"converged must hold {len(self.n_clusters)} values, got shape {flags.shape}")
        self.converged = flags
        self.best = int(self.n_clusters[self.nonspecificity.argmin()])

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw what `dempster.model_selection.n_clusters_curve` found.

        Parameters
        ----------
        curve : NClustersCurve
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        NonspecificityDisplay
        """
        if not (hasattr(curve, "n_clusters") and hasattr(curve, "nonspecificity")):
            raise InvalidInputError(f"curve must come from n_clusters_curve, got {type(curve).__name__}")
        display = cls(
            n_clusters=curve.n_clusters,
            nonspecificity=curve.nonspecificity,
            converged=getattr(curve, "converged", None),
        )
        return display.plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        color: Any = PALETTE[0],
        mark_best: bool = True,
        label: str | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        color : colour
            Of the curve.
        mark_best : bool, default=True
            Whether to name the minimum beside its marker.
        label : str, optional
            Name of the curve for a legend, where several are drawn on the same axes.
        title : str, optional

        Returns
        -------
        NonspecificityDisplay
        """
        self.ax_ = axes_to_draw_on(ax, (6.4, 4))
        self.figure_ = self.ax_.figure
        (self.line_,) = self.ax_.plot(
            self.n_clusters, self.nonspecificity, color=color, linewidth=1.6, marker="o", markersize=5, label=label
        )
        self.open_artist_ = self._draw_open(color)
        at = int(self.nonspecificity.argmin())
        ring = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
        (self.best_artist_,) = self.ax_.plot(
            self.best, self.nonspecificity[at], linestyle="none", markeredgewidth=1.4, label="_best", **ring
        )
        self.best_text_ = self._name_best(self.nonspecificity[at]) if mark_best else None
        self._finish(title)
        return self

    def _draw_open(self, color: Any) -> Any:
        short = ~self.converged
        if not short.any():
            return None
        circle = {"marker": "o", "markersize": 5, "markeredgecolor": color, "markerfacecolor": "white"}
        points = self.n_clusters[short], self.nonspecificity[short]
        return self.ax_.plot(*points, linestyle="none", label="_not converged", **circle)[0]

    def _name_best(self, value: float) -> Any:
        """Below the ring, where the curve is not, if there is room."""
        from matplotlib.patheffects import withStroke

        below = value > 0.15 * self.nonspecificity.max()
        return self.ax_.annotate(
            f"{self.best} clusters",
            (self.best, value),
            xytext=(0, -9 if below else 9),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            fontsize="small",
            color=INK,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )

    def _finish(self, title: str | None) -> None:
        finish_axes(self.ax_, "number of clusters", "nonspecificity N*", title, grid=True, whole_numbers=True)
        self.ax_.set_ylim(bottom=0)  # 0 means something: a precise partition
        if not self.converged.all():
            corner = {"transform": self.ax_.transAxes, "ha": "right", "va": "top"}
            self.ax_.text(0.985, 0.98, "open: did not converge", color=GREY, fontsize="small", **corner)
