"""Displays for the choice of the number of clusters, of candidates, and of cluster centers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._text import format_count
from dempster.explain.scores import count_pairs, match_one_to_one
from dempster.plot._canvas import (
    MARKERS,
    Display,
    cluster_colors,
    draw_outside_legend,
    finish_axes,
    halo,
    place_labels,
    validate_estimator,
    validate_names,
    write_note,
)
from dempster.plot.masses import draw_objects
from dempster.plot.palette import GREY, INK, PALETTE


class NumberOfClustersDisplay(Display):
    """Display of a `NumberOfClusters`, which its method `plot` creates and describes."""

    def __init__(self, numbers: Any):
        self.numbers = numbers

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the plausibility as bars, and the expected agreement as a line."""
        found = self.numbers
        ax = self._open_axes(ax, (7.2, 4))
        self.bars_ = ax.bar(
            found.n_clusters,
            found.plausibility,
            width=0.8,
            color=PALETTE[0],
            label="plausibility",
        )
        for bar, number in zip(self.bars_, found.n_clusters, strict=True):
            bar.set_alpha(0.85 if number == found.best else 0.3)
        (self.line_,) = ax.plot(
            found.n_clusters,
            found.expected_agreement,
            label="expected agreement",
            color=PALETTE[1],
            linewidth=1.2,
            marker=MARKERS[0],
            markersize=4,
            markerfacecolor="white",
        )
        self.best_text_ = _write_number(ax, found.best, 1.0)
        finish_axes(
            ax,
            "number of clusters",
            "",
            title=title,
            grid=True,
            integer_ticks=True,
        )
        # Leave space for the text above the best bar.
        ax.set_ylim(0, 1.12)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
        draw_outside_legend(ax, [self.bars_, self.line_])
        return self


def _write_number(ax: Any, n_clusters: int, y: float, *, above: bool = True) -> Any:
    """Write a number of clusters above or below a point."""
    return ax.annotate(
        format_count(n_clusters, "cluster"),
        (n_clusters, y),
        xytext=(0, 8 if above else -8),
        textcoords="offset points",
        ha="center",
        va="bottom" if above else "top",
        fontsize="small",
        color=INK,
        path_effects=halo(3),
    )


class NonspecificityDisplay(Display):
    """Display of a `NClustersCurve`, which its method `plot` creates and describes."""

    def __init__(self, curve: Any):
        self.curve = curve

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the curve, with a ring around its minimum."""
        numbers = self.curve.n_clusters
        values = self.curve.nonspecificity
        converged = np.asarray(self.curve.converged, bool)
        best = int(numbers[values.argmin()])
        lowest = values.min()
        ax = self._open_axes(ax, (6.4, 4))
        (self.line_,) = ax.plot(
            numbers,
            values,
            color=PALETTE[0],
            linewidth=1.6,
            marker="o",
            markersize=5,
        )
        self.open_artist_ = None
        if not converged.all():
            (self.open_artist_,) = ax.plot(
                numbers[~converged],
                values[~converged],
                linestyle="none",
                marker="o",
                markersize=5,
                markeredgecolor=PALETTE[0],
                markerfacecolor="white",
            )
            write_note(ax, "open: did not converge", va="top")
        (self.best_artist_,) = ax.plot(
            best,
            lowest,
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=INK,
        )
        # Near zero there is no space below the ring.
        above = lowest <= 0.15 * values.max()
        self.best_text_ = _write_number(ax, best, lowest, above=above)
        finish_axes(
            ax,
            "number of clusters",
            "nonspecificity N*",
            title=title,
            grid=True,
            integer_ticks=True,
        )
        ax.set_ylim(bottom=0)  # Zero is the value of a precise partition.
        return self


MAX_COLUMNS = 4


def match_labels(labels: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Renumber clusters so that as many objects as possible have their label in a reference."""
    c = 1 + max(int(labels.max()), int(reference.max()))
    return match_one_to_one(count_pairs(labels, reference, c, c))[labels]


class CandidatesDisplay(Display):
    """Display of the candidates of `dempster.cluster.CredalClustering` side by side.

    Each panel shows the sampled rows in the colors of the clusters of one candidate. Clusters of
    different candidates have the same color if they have many rows in common. The selected
    candidate has a frame.

    Parameters
    ----------
    points : array of shape (n, 2)
        Positions of the sampled rows.
    labels : int array of shape (m, n)
        Clusters of the rows for each of the m candidates.
    names : sequence of m str
        Titles of the panels.
    selected : sequence of m bool
        Whether each candidate is selected.
    axis_names : pair of str
        Names of the horizontal and the vertical axis.

    Attributes
    ----------
    figure_ : Matplotlib figure
    axes_ : list of m axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dempster.cluster import CredalClustering
    >>> from dempster.plot import CandidatesDisplay
    >>> X, moon = make_moons(200, noise=0.1, random_state=3)
    >>> display = CandidatesDisplay.from_estimator(CredalClustering(2, random_state=0).fit(X))
    >>> display.names[display.selected.argmax()]
    'merged t mixture (expected agreement 0.52)'
    """

    def __init__(
        self,
        *,
        points: Any,
        labels: Any,
        names: Sequence[str],
        selected: Any,
        axis_names: tuple[str, str] = ("", ""),
    ):
        self.points = np.asarray(points, float)
        self.labels = np.asarray(labels)
        self.names = validate_names(names, "names", len(self.labels))
        self.selected = np.asarray(selected)
        self.axis_names = tuple(validate_names(axis_names, "axis_names", 2))

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the candidates of a fitted `dempster.cluster.CredalClustering`.

        Parameters
        ----------
        estimator : fitted CredalClustering
            The display shows the rows on which the candidates were compared, and the candidates
            with the selected number of clusters.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        CandidatesDisplay
        """
        validate_estimator(estimator, "candidate_labels_", "candidate_points_")
        table = estimator.candidates_
        selected = int(table["selected"].argmax())
        shown = np.flatnonzero(table["n_clusters"] == table["n_clusters"][selected])
        reference = estimator.candidate_labels_[selected]
        axes = ("coordinate 1", "coordinate 2")
        if estimator.n_features_in_ == 2 and estimator.metric == "euclidean":
            axes = tuple(
                getattr(estimator, "feature_names_in_", ("attribute 1", "attribute 2"))
            )
        display = cls(
            points=estimator.candidate_points_,
            labels=[
                match_labels(estimator.candidate_labels_[i], reference) for i in shown
            ],
            names=[_describe(table.iloc[i]) for i in shown],
            selected=shown == selected,
            axis_names=axes,
        )
        return display.plot(**options)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw a panel for each candidate.

        Parameters
        ----------
        axes : sequence of m Matplotlib axes, optional
            By default the panels of a new figure.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        palette = cluster_colors(int(self.labels.max()) + 1)
        self._open_panels(axes, len(self.labels), MAX_COLUMNS, (3.6, 3.5))
        for ax, labels, name, selected in zip(
            self.axes_, self.labels, self.names, self.selected, strict=True
        ):
            draw_objects(ax, self.points, labels, palette)
            finish_axes(ax, *self.axis_names)
            heading = name.replace(" (", "\n(", 1)
            weight = "bold" if selected else "normal"
            ax.set_title(heading, fontsize="small", fontweight=weight, parse_math=False)
            if selected:
                for spine in ax.spines.values():
                    spine.set(visible=True, color=INK, linewidth=2)
        self._write_title(title)
        return self


def _describe(candidate: Any) -> str:
    """Return the method and the expected agreement of a row of the table of candidates."""
    return f"{candidate['method']} (expected agreement {candidate['expected_agreement']:.2f})"


_MAX_POINTS = 5_000  # More points are drawn as an image, because a vector file would be too large.
_MAX_NUMBERS = 40  # With more peaks, their numbers would cover the plot.
_N_CURVE_POINTS = 200


class DeltaBelDisplay(Display):
    """Plot of the distance delta of every object against its belief of being a cluster center.

    The delta of an object is its distance to the nearest object with a higher belief. Cluster
    centers (peaks) are in the upper right, because their belief and their delta are large. Objects
    in the upper left are outliers. Dashed lines are the thresholds of belief and delta. The dotted
    curve is the threshold of the prominence (belief times delta).

    Parameters
    ----------
    belief, delta : arrays of shape (n,)
        Belief and delta of each object.
    peaks : sequence of int, optional
        Indices of the objects that are selected as centers; in the plot they are numbered from 0 in
        this order.
    min_belief, min_delta, min_prominence : float, optional
        Thresholds to draw.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        Objects that are not peaks.
    peak_points_ : collection
        Peaks, in the colors of their clusters.
    labels_ : list of annotations
        Numbers of the peaks.
    belief_line_, delta_line_, prominence_line_ : lines or None
        Lines of the thresholds; None for a threshold that is not drawn.

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems
    27.

    Examples
    --------
    >>> from dempster.cluster import BeliefPeaks
    >>> from dempster.datasets import make_fourclass
    >>> from dempster.plot import DeltaBelDisplay
    >>> X, y = make_fourclass(400, random_state=0)
    >>> display = DeltaBelDisplay.from_estimator(BeliefPeaks(n_neighbors=50).fit(X))
    >>> [label.get_text() for label in display.labels_]
    ['0', '1', '2', '3']
    """

    def __init__(
        self,
        *,
        belief: Any,
        delta: Any,
        peaks: Any = (),
        min_belief: float | None = None,
        min_delta: float | None = None,
        min_prominence: float | None = None,
    ):
        self.belief = np.asarray(belief, float)
        self.delta = np.asarray(delta, float)
        self.peaks = np.asarray(peaks, np.intp)
        self.min_belief = min_belief
        self.min_delta = min_delta
        self.min_prominence = min_prominence

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the beliefs, distances and peaks of a fitted estimator.

        Parameters
        ----------
        estimator : fitted BeliefPeaks
            Another estimator with the attributes ``belief_``, ``delta_`` and ``peak_indices_`` is
            also accepted. If the estimator has thresholds, they are drawn.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        DeltaBelDisplay
        """
        validate_estimator(estimator, "belief_", "delta_", "peak_indices_")
        display = cls(
            belief=estimator.belief_,
            delta=estimator.delta_,
            peaks=estimator.peak_indices_,
            min_belief=getattr(estimator, "min_belief_", None),
            # Zero means that there is no threshold.
            min_delta=getattr(estimator, "min_delta_", None) or None,
            min_prominence=getattr(estimator, "min_prominence_", None) or None,
        )
        return display.plot(**options)

    def plot(
        self, *, ax: Any = None, labels: bool = True, title: str | None = None
    ) -> Self:
        """Draw the graph.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        labels : bool, default=True
            Whether to write the number of each peak beside it, if there are at most 40 peaks.
        title : str, optional

        Returns
        -------
        self
        """
        palette = cluster_colors(len(self.peaks))
        new_figure = ax is None
        ax = self._open_axes(ax, (6.4, 4.8))
        n = len(self.belief)
        others = np.ones(n, bool)
        others[self.peaks] = False
        self.points_ = ax.scatter(
            self.belief[others],
            self.delta[others],
            s=14,
            color=[GREY],
            alpha=float(np.clip(20 / np.sqrt(n), 0.25, 0.8)),
            linewidths=0,
            zorder=2,
            rasterized=n > _MAX_POINTS,
        )
        peaks = np.column_stack([self.belief, self.delta])[self.peaks]
        self.peak_points_ = ax.scatter(
            *peaks.T,
            s=56,
            c=palette,
            edgecolors="white",
            linewidths=0.8,
            zorder=4,
        )
        ylabel = "δ: distance to the nearest object of higher belief"
        finish_axes(ax, "belief to be a center", ylabel, title=title)
        ax.margins(0.08)
        ax.set_ylim(bottom=min(0, ax.get_ylim()[1]))
        self.belief_line_ = self.delta_line_ = self.prominence_line_ = None
        self._draw_thresholds()
        self.labels_ = []
        if labels and len(self.peaks) <= _MAX_NUMBERS:
            if new_figure:
                # The placement of labels needs the final size of the axes.
                self.figure_.draw_without_rendering()
            names = [str(k) for k in range(len(self.peaks))]
            self.labels_ = place_labels(
                ax, peaks, names, fontsize="small", color=INK, zorder=5
            )
        return self

    def _draw_thresholds(self) -> None:
        ax = self.ax_
        left, right = ax.get_xlim()
        bottom, top = ax.get_ylim()
        dashed: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "zorder": 1}
        dashed["linestyle"] = (0, (4, 3))
        if self.min_belief is not None:
            self.belief_line_ = ax.axvline(self.min_belief, **dashed)
        if self.min_delta is not None:
            self.delta_line_ = ax.axhline(self.min_delta, **dashed)
        if self.min_prominence is not None:
            x = np.linspace(max(left, np.finfo(float).tiny), right, _N_CURVE_POINTS)
            style = {**dashed, "linestyle": (0, (1, 2))}
            (self.prominence_line_,) = ax.plot(x, self.min_prominence / x, **style)
        ax.set_xlim(left, right)
        ax.set_ylim(bottom, top)
