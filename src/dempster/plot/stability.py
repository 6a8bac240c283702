"""What stays when the objects are drawn again: clusters on one side, objects on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import printable
from dempster.explain import Stability, doubt_of, stability
from dempster.plot._drawing.canvas import GREY, INK, panels_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import cluster_colors
from dempster.plot._drawing.options import checked_options

__all__ = ["StabilityDisplay"]

_MOST_POINTS = 5_000
_BINS = 8
_LONGEST = 22  # letters of a name


class StabilityDisplay:
    """Two pictures of what stays: how well each cluster is found again, and which objects change.

    Left, the Jaccard index of every cluster with its nearest one in each resample, and their mean; below 0.5 a cluster
    has dissolved, from 0.75 on it is stable (Hennig, 2007). Right, how often each object changes against its doubt in
    the partition of all objects: a partition that knows what it does not know has its changes on the right.

    Make one with `from_estimator` or `Stability.plot`.

    Parameters
    ----------
    stability : Stability

    Attributes
    ----------
    stability
        As given.
    axes_ : list of two Matplotlib axes
    figure_ : Matplotlib figure
    cluster_points_, object_points_ : collections
    mean_line_ : line
        Mean share of changes of objects of similar doubt.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import StabilityDisplay
    >>> display = StabilityDisplay.from_estimator(ECM(3, random_state=0), load_iris().data, 5, random_state=0)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['Jaccard index with the cluster found again', 'doubt']
    """

    def __init__(self, *, stability: Stability):
        if not isinstance(stability, Stability):
            raise InvalidInputError(
                f"stability must come from dempster.explain.stability, got {type(stability).__name__}"
            )
        self.stability = stability

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        n_resamples: int = 20,
        *,
        fraction: float | None = None,
        bootstrap: bool = False,
        random_state: Any = None,
        n_jobs: int | None = -1,
        axes: Any = None,
        **options: Any,
    ) -> Self:
        """Resample, fit, and draw.

        Parameters
        ----------
        estimator, X, n_resamples, fraction, bootstrap, random_state, n_jobs
            As in `dempster.explain.stability`; for its other options call that, and `Stability.plot`.
        axes : two Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        StabilityDisplay
        """
        found = stability(
            estimator,
            X,
            n_resamples,
            fraction=fraction,
            bootstrap=bootstrap,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        return cls(stability=found).plot(axes=axes, **options)

    @checked_options()
    def plot(
        self,
        *,
        axes: Any = None,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        axes : two Matplotlib axes, optional
            On a new figure by default.
        colors : sequence of colors, optional
            Of the clusters.
        title : str, optional
            Above the left picture.

        Returns
        -------
        StabilityDisplay
        """
        c = self.stability.partition.n_clusters
        height = float(np.clip(1.5 + 0.3 * c, 3.6, 12))
        palette = cluster_colors(c, colors)
        self.axes_ = panels_to_draw_on(axes, 2, 2, (5.2, height))
        self.figure_ = self.axes_[0].figure
        self._draw_clusters(self.axes_[0], palette)
        self._draw_objects(self.axes_[1], palette)
        if title is not None:
            self.axes_[0].set_title(title, pad=14)  # above the words on the lines
        return self

    def _draw_clusters(self, ax: Any, palette: np.ndarray) -> None:
        found = self.stability
        c = found.partition.n_clusters
        for value in (0.5, 0.75):
            ax.axvline(value, color=GREY, linewidth=0.8, linestyle=":")
        ax.axvspan(0.75, 1.0, color="#F1F1F1", linewidth=0, zorder=0)
        b, k = np.nonzero(~np.isnan(found.jaccard))
        self.cluster_points_ = ax.scatter(
            found.jaccard[b, k], k, s=60, c=palette[k], marker="|", linewidths=1.2, alpha=0.6
        )
        known = np.flatnonzero(~np.isnan(found.clusters))
        ax.scatter(found.clusters[known], known, s=46, c=palette[known], edgecolors=INK, linewidths=0.8, zorder=3)
        quiet_frame(ax)
        names = [printable(name) for name in found.partition.frame]
        short = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
        ax.set_yticks(range(c), short, parse_math=False)
        ax.set_ylim(c - 0.4, -0.6)
        ax.set_xlim(min(0.4, *found.jaccard[b, k], 1) - 0.03, 1.03)
        ax.set_ylabel("cluster")
        ax.set_xlabel("Jaccard index with the cluster found again")
        for value, words in ((0.5, "dissolved ◂"), (0.75, "▸ stable")):
            side = "right" if value == 0.5 else "left"
            ax.annotate(
                words,
                (value, 1),
                xycoords=("data", "axes fraction"),
                xytext=(-3 if side == "right" else 3, 2),
                textcoords="offset points",
                ha=side,
                va="bottom",
                fontsize="x-small",
                color=GREY,
            )

    def _draw_objects(self, ax: Any, palette: np.ndarray) -> None:
        """Marks are moved a little, always alike, so that those at the same place can be seen."""
        found = self.stability
        doubt, change = doubt_of(found.partition), 1 - found.objects
        known = np.flatnonzero(found.drawn > 0)
        rng = np.random.default_rng(0)
        some = known if len(known) <= _MOST_POINTS else rng.choice(known, _MOST_POINTS, replace=False)
        labels = found.partition.labels_with_outliers[some]
        inks = np.where((labels >= 0)[:, None], palette[labels], 0.1)
        moved = np.clip(change[some] + rng.uniform(-0.012, 0.012, len(some)), -0.02, 1.02)
        size = float(np.clip(4000 / max(len(some), 1), 8, 22)) * np.where(change[some] > 0, 1.0, 0.5)
        self.object_points_ = ax.scatter(doubt[some], moved, s=size, c=inks, alpha=0.45, linewidths=0)
        inside = known[doubt[known] <= 1]  # outliers apart
        where = np.minimum((doubt[inside] * _BINS).astype(int), _BINS - 1)
        count = np.bincount(where, minlength=_BINS)
        filled = count > 0
        height = np.bincount(where, change[inside], minlength=_BINS)[filled] / count[filled]
        middle = np.bincount(where, doubt[inside], minlength=_BINS)[filled] / count[filled]
        (self.mean_line_,) = ax.plot(middle, height, color=INK, linewidth=1.4, marker="o", markersize=3.5, label="mean")
        quiet_frame(ax)
        if doubt[known].max(initial=0) > 1:
            ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
            right = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
            ax.annotate("▸ outliers", (1, 1), xytext=(3, 2), fontsize="x-small", color=GREY, **right)
        ax.set_ylim(-0.04, 1.04)
        ax.set_xlabel("doubt")
        ax.set_ylabel("share of resamples in which it changed")
        ax.legend(fontsize="small", edgecolor="none", framealpha=0.85, loc="upper left")
