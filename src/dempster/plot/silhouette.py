"""Silhouettes of the objects, cluster by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import printable
from dempster.explain import CredalSilhouette, credal_silhouette
from dempster.plot._drawing.canvas import GREY, INK, axes_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import cluster_colors
from dempster.plot._drawing.options import checked_options, wanted

__all__ = ["SilhouetteDisplay"]

_GAP = 0.015  # between clusters, as a share of the objects
_LIGHT = 0.35  # how much of its color an ambiguous object keeps
_LONGEST = 22  # letters of a name


class SilhouetteDisplay:
    """A bar for each object, by cluster and from the largest silhouette to the smallest.

    Objects that are certain of their cluster have its full color; ambiguous ones, in a lighter one, are with the
    cluster of their label. Outliers are left out. A cluster whose bars are short, or point to the left, lies as near to
    another one as to itself.

    Make one with `from_partition` or `CredalSilhouette.plot`.

    Parameters
    ----------
    silhouette : CredalSilhouette

    Attributes
    ----------
    silhouette
        As given.
    ax_, figure_ : Matplotlib axes and figure
    bars_ : list of filled areas
    lines_ : list of lines
        The mean over all objects but outliers, and over those that are certain.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import SilhouetteDisplay
    >>> X = load_iris().data
    >>> display = SilhouetteDisplay.from_partition(ECM(3, random_state=0).fit(X).credal_partition_, X)
    >>> display.ax_.get_xlabel()
    'credal silhouette'
    """

    def __init__(self, *, silhouette: CredalSilhouette):
        if not isinstance(silhouette, CredalSilhouette):
            raise InvalidInputError(f"silhouette must come from credal_silhouette, got {type(silhouette).__name__}")
        self.silhouette = silhouette

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        X: Any,
        *,
        metric: Any = "euclidean",
        sample_size: Any = "auto",
        random_state: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the silhouettes of a partition and draw them.

        Parameters
        ----------
        partition : CredalPartition or labels
        X, metric, sample_size, random_state
            As in `dempster.explain.credal_silhouette`.
        ax : Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        SilhouetteDisplay
        """
        silhouette = credal_silhouette(partition, X, metric=metric, sample_size=sample_size, random_state=random_state)
        return cls(silhouette=silhouette).plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default, higher for more clusters.
        colors : sequence of colors, optional
            Of the clusters.
        legend : bool or "auto"
            "auto": always.
        title : str, optional

        Returns
        -------
        SilhouetteDisplay
        """
        found = self.silhouette
        c = found.partition.n_clusters
        palette = cluster_colors(c, colors)
        self.ax_ = axes_to_draw_on(ax, (6.4, float(np.clip(2 + 0.35 * c, 4, 12))))
        self.figure_ = self.ax_.figure
        labels, sizes = found.partition.labels[found.objects], found.sizes
        gap = max(1.0, _GAP * len(found))
        self.bars_: list[Any] = []
        ticks, top = [], 0.0
        for k in range(c):
            begin = top
            for members, strength in (((labels == k) & (sizes == 1), 1.0), ((labels == k) & (sizes > 1), _LIGHT)):
                values = np.sort(found.values[members])[::-1]
                if len(values):
                    top = self._draw(values, top, 1 - strength * (1 - palette[k]))
            ticks.append((begin + top) / 2)
            top += gap
        self._finish(ticks, top - gap, title)
        if wanted(legend, True):
            self._legend()
        return self

    def _draw(self, values: np.ndarray, top: float, color: Any) -> float:
        """Bars side by side, as one area; gives where the next begin."""
        edges = top + np.arange(len(values) + 1)
        heights = np.append(values, values[-1])
        area = self.ax_.fill_betweenx(edges, 0, heights, step="post", facecolor=color, edgecolor="none", linewidth=0)
        self.bars_.append(area)
        return float(edges[-1])

    def _finish(self, ticks: list[float], bottom: float, title: str | None) -> None:
        found = self.silhouette
        quiet_frame(self.ax_)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.axvline(0, color=GREY, linewidth=0.8)
        means = (("mean", found.mean, "--"), ("mean of the certain", found.certain_mean, ":"))
        self.lines_ = [
            self.ax_.axvline(value, color=INK, linewidth=1.1, linestyle=style, label=f"{name}: {value:.2f}")
            for name, value, style in means
            if np.isfinite(value)
        ]
        self.ax_.set_ylim(max(bottom, 1.0), 0)
        names = [_short(printable(name)) for name in found.partition.frame]
        self.ax_.set_yticks(ticks, names, parse_math=False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.set_ylabel("cluster")
        how = f" ({len(found):,} of {len(found.partition):,} objects)" if found.is_sampled else ""
        self.ax_.set_xlabel(f"credal silhouette{how}")
        if title is not None:
            self.ax_.set_title(title)

    def _legend(self) -> None:
        from matplotlib.patches import Patch

        found = self.silhouette
        handles: list[Any] = list(self.lines_)
        if (found.sizes > 1).any():
            handles += [Patch(facecolor="0.35", label="certain"), Patch(facecolor="0.8", label="ambiguous")]
        if (found.sizes == 0).any():
            number = int((found.sizes == 0).sum())
            handles.append(Patch(facecolor="none", label=f"({number:,} outlier{'s' * (number > 1)} left out)"))
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 4.5}  # under the label of the axis
        self.ax_.legend(handles=handles, fontsize="small", frameon=False, ncols=2, **below)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
