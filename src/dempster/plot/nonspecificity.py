"""Nonspecificity of the partition against the number of clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, as_truth
from dempster.plot._drawing.arguments import numbers_of_clusters
from dempster.plot._drawing.canvas import GREY, INK, axes_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import PALETTE
from dempster.plot._drawing.options import checked_options

__all__ = ["NonspecificityDisplay"]


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
        from matplotlib.ticker import MaxNLocator

        quiet_frame(self.ax_)
        self.ax_.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_ylim(bottom=0)  # 0 means something: a precise partition
        self.ax_.set_xlabel("number of clusters")
        self.ax_.set_ylabel("nonspecificity N*")
        if not self.converged.all():
            corner = {"transform": self.ax_.transAxes, "ha": "right", "va": "top"}
            self.ax_.text(0.985, 0.98, "open: did not converge", color=GREY, fontsize="small", **corner)
        if title is not None:
            self.ax_.set_title(title)
