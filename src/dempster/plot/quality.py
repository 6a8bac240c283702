"""Pictures of the quality of a partition: silhouettes, stability, and the objects it is surest of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import printable, shorten
from dempster.explain import (
    CredalSilhouette,
    RetentionCurve,
    Stability,
    credal_silhouette,
    doubt_scores,
    retention_curve,
    stability,
)
from dempster.plot._canvas import (
    GREY,
    INK,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    legend_of_lines,
    panels_to_draw_on,
    wanted,
)

_GAP = 0.015  # between clusters, as a share of the objects
_LIGHT = 0.35  # how much of its color an ambiguous object keeps
MAX_NAME_CHARACTERS = 22
_MAX_POINTS = 5_000
_BINS = 8
_WORDS = {"ari": "adjusted Rand index of those kept", "accuracy": "accuracy of those kept"}


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
        how = f" ({len(found):,} of {len(found.partition):,} objects)" if found.is_sampled else ""
        finish_axes(self.ax_, f"credal silhouette{how}", "cluster", title)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.axvline(0, color=GREY, linewidth=0.8)
        means = (("mean", found.mean, "--"), ("mean of the certain", found.certain_mean, ":"))
        self.lines_ = [
            self.ax_.axvline(value, color=INK, linewidth=1.1, linestyle=style, label=f"{name}: {value:.2f}")
            for name, value, style in means
            if np.isfinite(value)
        ]
        self.ax_.set_ylim(max(bottom, 1.0), 0)
        names = [shorten(printable(name), MAX_NAME_CHARACTERS) for name in found.partition.frame]
        self.ax_.set_yticks(ticks, names, parse_math=False)
        self.ax_.tick_params(axis="y", length=0)

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
        finish_axes(ax, "Jaccard index with the cluster found again", "cluster")
        names = [shorten(printable(name), MAX_NAME_CHARACTERS) for name in found.partition.frame]
        ax.set_yticks(range(c), names, parse_math=False)
        ax.set_ylim(c - 0.4, -0.6)
        ax.set_xlim(min(0.4, *found.jaccard[b, k], 1) - 0.03, 1.03)
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
        doubt, change = doubt_scores(found.partition), 1 - found.objects
        known = np.flatnonzero(found.drawn > 0)
        rng = np.random.default_rng(0)
        some = known if len(known) <= _MAX_POINTS else rng.choice(known, _MAX_POINTS, replace=False)
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
        finish_axes(ax, "doubt", "share of resamples in which it changed")
        if doubt[known].max(initial=0) > 1:
            ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
            right = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "bottom"}
            ax.annotate("▸ outliers", (1, 1), xytext=(3, 2), fontsize="x-small", color=GREY, **right)
        ax.set_ylim(-0.04, 1.04)
        ax.legend(fontsize="small", edgecolor="none", framealpha=0.85, loc="upper left")


class RetentionCurveDisplay:
    """Quality of one or several partitions when the most doubtful objects are put aside.

    Doubt that is worth something lifts the curve to the left: the surer objects are clustered better.

    Make one with `from_partition`; the constructor takes curves that are already computed.

    Parameters
    ----------
    curves : mapping of str to RetentionCurve
        Name of each partition, and its curve; all of one quality.

    Attributes
    ----------
    curves
        As given.
    areas : dict of str to float
        Mean quality over the shares of each curve.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines

    Examples
    --------
    >>> from dempster.cluster import ECM, EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import RetentionCurveDisplay
    >>> iris = load_iris()
    >>> models = {"EVCLUS": EVCLUS(3, random_state=0), "ECM": ECM(3, random_state=0)}
    >>> partitions = {name: model.fit(iris.data).credal_partition_ for name, model in models.items()}
    >>> display = RetentionCurveDisplay.from_partition(partitions, iris.target)
    >>> list(display.areas)
    ['EVCLUS', 'ECM']
    """

    def __init__(self, *, curves: Mapping[str, RetentionCurve]):
        if not curves or not all(isinstance(curve, RetentionCurve) for curve in curves.values()):
            raise InvalidInputError("curves must map at least one name to a RetentionCurve")
        self.curves = {str(name): curve for name, curve in curves.items()}
        measures = {curve.measure for curve in self.curves.values()}
        if len(measures) > 1:
            raise InvalidInputError(f"curves must be of one quality, got {', '.join(sorted(measures))}")
        self.areas = {name: curve.area for name, curve in self.curves.items()}

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        y: Any,
        *,
        shares: Any = None,
        doubt: Any = None,
        quality: str = "ari",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the curve of a partition of objects whose classes are known, or of several partitions of them.

        Parameters
        ----------
        partition : CredalPartition or labels, or mapping of names to them
        y : array-like of shape (n,)
            True classes.
        shares : array-like, optional
            As in `dempster.explain.retention_curve`.
        doubt : array-like of shape (n,), or mapping of names to them, optional
            Another ranking of the objects; with several partitions, for those that are named.
        quality : {"ari", "accuracy"}, default="ari"
            As in `dempster.explain.retention_curve`.
        ax : Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        RetentionCurveDisplay
        """
        several = isinstance(partition, Mapping)
        named = dict(partition) if several else {"partition": partition}
        if several and doubt is not None and not isinstance(doubt, Mapping):
            raise InvalidInputError("doubt must be a mapping of names to arrays, as partition is")
        rankings = dict(doubt or {}) if several else {"partition": doubt}
        if unknown := [name for name in rankings if name not in named]:
            raise InvalidInputError(
                f"doubt must have names of partitions ({', '.join(map(str, named))}), got {unknown}"
            )
        curves = {
            name: retention_curve(one, y, shares=shares, doubt=rankings.get(name), quality=quality)
            for name, one in named.items()
        }
        return cls(curves=curves).plot(ax=ax, **options)

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
            On a new figure by default.
        colors : sequence of colours, optional
        legend : bool or "auto"
            "auto": when there are several curves.
        title : str, optional

        Returns
        -------
        RetentionCurveDisplay
        """
        from matplotlib.ticker import PercentFormatter

        palette = cluster_colors(len(self.curves), colors)
        self.ax_ = axes_to_draw_on(ax, (6.4, 4))
        self.figure_ = self.ax_.figure
        self.lines_ = [
            self.ax_.plot(curve.share, curve.quality, color=color, linewidth=1.6, marker="o", markersize=3, label=name)[
                0
            ]
            for (name, curve), color in zip(self.curves.items(), palette, strict=True)
        ]
        measure = next(iter(self.curves.values())).measure
        finish_axes(self.ax_, "share of objects kept", _WORDS.get(measure, measure), title, grid=True)
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        if wanted(legend, len(self.curves) > 1):
            legend_of_lines(self.ax_, self.lines_)
        return self
