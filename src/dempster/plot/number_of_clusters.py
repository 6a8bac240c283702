"""Displays for the choice of the number of clusters, of the candidates of a selection, and of cluster centers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

import dempster.plot._canvas as canvas
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_boolean, as_reals, check, choice, flag, real
from dempster.plot.masses import draw_objects
from dempster.plot.palette import GREY, INK, PALETTE

_MARKERS = "osD^v<>P"


class NumberOfClustersDisplay(canvas.Display):
    """Display of the support for each number of clusters as bars, and of each criterion as a thin line.

    The bar of the best number is dark. A high bar on which all criteria agree is a reliable choice.
    If two bars are equally high, or the criteria favor different numbers, the data do not determine
    the number of clusters.

    Parameters
    ----------
    n_clusters : sequence of k int
        Candidates in increasing order.
    support : sequence of k floats
        Support of each candidate, in [0, 1].
    criteria : mapping of str to sequence of k floats, optional
        Values in [0, 1] of each criterion for the candidates, by the name of the criterion.

    Attributes
    ----------
    best : int
        Number of clusters with the largest support; on ties, the smallest number.
    ax_, figure_ : Matplotlib axes and figure
    bars_ : container of bars
        One bar for each candidate.
    criterion_lines_ : list of lines
        One line for each criterion; empty with ``criteria=False``.
    best_text_ : text or None
        Best number of clusters, written above its bar.

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

    def __init__(self, *, n_clusters: Any, support: Any, criteria: Mapping[str, Any] | None = None):
        self.n_clusters = canvas.validate_cluster_counts(n_clusters)
        k = len(self.n_clusters)
        self.support = canvas.validate_sequence(support, "support", k)
        self.criteria = {
            str(name): canvas.validate_sequence(values, f"criteria[{name!r}]", k)
            for name, values in canvas.mapping_items(criteria, "criteria")
        }
        self.best = int(self.n_clusters[self.support.argmax()])

    @classmethod
    def from_numbers(cls, numbers: Any, **options: Any) -> Self:
        """Draw the result of `dempster.model_selection.number_of_clusters`.

        Parameters
        ----------
        numbers : NumberOfClusters
            Result to draw. A clusterer with ``n_clusters="auto"`` has this result in its attribute
            ``number_``.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        NumberOfClustersDisplay
        """
        names = ("n_clusters", "support", "criteria")
        if not all(hasattr(numbers, name) for name in names):
            raise InvalidInputError(
                f"numbers must come from number_of_clusters, got {type(numbers).__name__}"
            )
        return cls(**{name: getattr(numbers, name) for name in names}).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        color: Any = PALETTE[0],
        criteria: bool = True,
        mark_best: bool = True,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the bars and lines.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        color : color
            Color of the bars.
        criteria : bool, default=True
            Whether to draw the values of the criteria.
        mark_best : bool, default=True
            Whether to write the best number above its bar.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it if the criteria are drawn.
        title : str, optional

        Returns
        -------
        self
        """
        self._open_axes(ax, (7.2, 4))
        if criteria:
            curves = self.criteria
        else:
            curves = {}
        self.bars_ = self.ax_.bar(
            self.n_clusters, self.support, width=0.8, color=color, label="support"
        )
        for bar, number in zip(self.bars_, self.n_clusters, strict=True):
            bar.set_alpha(0.85 if number == self.best else 0.3)
        self.criterion_lines_ = []
        for i, (name, values) in enumerate(curves.items()):
            # Different markers distinguish lines that overlap.
            style = {
                "marker": _MARKERS[i % len(_MARKERS)],
                "markersize": 4,
                "markerfacecolor": "white",
            }
            style |= {"color": PALETTE[1 + i % (len(PALETTE) - 1)], "linewidth": 0.9, "alpha": 0.9}
            self.criterion_lines_ += self.ax_.plot(self.n_clusters, values, label=name, **style)
        self.best_text_ = None
        if mark_best:
            place = {
                "xytext": (0, 6),
                "textcoords": "offset points",
                "ha": "center",
                "va": "bottom",
            }
            top = (self.best, 1.0 if curves else float(self.support.max()))
            self.best_text_ = self.ax_.annotate(
                f"{self.best} clusters", top, fontsize="small", color=INK, **place
            )
        canvas.finish_axes(
            self.ax_, "number of clusters", "support", title, grid=True, integer_ticks=True
        )
        self.ax_.set_ylim(0, 1.12)  # Leave space for the text above the best bar.
        self.ax_.set_yticks([0, 0.25, 0.5, 0.75, 1])
        if canvas.resolve_auto(legend, bool(curves)):
            outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            handles = [self.bars_, *self.criterion_lines_]
            self.ax_.legend(handles=handles, fontsize="small", frameon=False, **outside)
        return self


class NonspecificityDisplay(canvas.Display):
    """Display of the average nonspecificity N* for each number of clusters, with a ring around the minimum.

    A clear minimum indicates a good number of clusters. If the curve has no minimum, choose the
    number at which it stops falling.

    Parameters
    ----------
    n_clusters : sequence of k int
        Numbers of clusters in increasing order.
    nonspecificity : sequence of k floats
        Average nonspecificity N* of the partitions, in [0, 1].
    converged : sequence of k bool, optional
        Whether each fit converged; fits that did not converge are open circles.

    Attributes
    ----------
    best : int
        Number of clusters with the smallest N*; on ties, the smallest number.
    ax_, figure_ : Matplotlib axes and figure
    line_ : line
        The curve.
    best_artist_ : line
        The ring around the minimum.
    best_text_ : annotation or None
        Best number of clusters, written beside the minimum.
    open_artist_ : line or None
        Markers of the fits that did not converge.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm.
    Pattern Recognition 41.

    Examples
    --------
    >>> from dempster.plot import NonspecificityDisplay
    >>> display = NonspecificityDisplay(n_clusters=[2, 3, 4], nonspecificity=[0.2, 0.05, 0.1]).plot()
    >>> display.best
    3
    """

    def __init__(self, *, n_clusters: Any, nonspecificity: Any, converged: Any = None):
        self.n_clusters = canvas.validate_cluster_counts(n_clusters)
        k = len(self.n_clusters)
        self.nonspecificity = canvas.validate_sequence(nonspecificity, "nonspecificity", k)
        if converged is None:
            self.converged = np.ones(k, dtype=bool)
        else:
            self.converged = as_boolean(converged, "converged")
        if self.converged.shape != (k,):
            raise InvalidInputError(
                f"converged must contain {k} values, got shape {self.converged.shape}"
            )
        self.best = int(self.n_clusters[self.nonspecificity.argmin()])

    @classmethod
    def from_curve(cls, curve: Any, **options: Any) -> Self:
        """Draw the result of `dempster.model_selection.n_clusters_curve`.

        Parameters
        ----------
        curve : NClustersCurve
            Result to draw.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        NonspecificityDisplay
        """
        names = ("n_clusters", "nonspecificity", "converged")
        if not all(hasattr(curve, name) for name in names):
            raise InvalidInputError(
                f"curve must come from n_clusters_curve, got {type(curve).__name__}"
            )
        return cls(**{name: getattr(curve, name) for name in names}).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        color: Any = PALETTE[0],
        mark_best: bool = True,
        label: str | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        color : color
            Color of the curve.
        mark_best : bool, default=True
            Whether to write the best number beside the minimum.
        label : str, optional
            Name of the curve in a legend of several curves.
        title : str, optional

        Returns
        -------
        self
        """
        self._open_axes(ax, (6.4, 4))
        style = {"color": color, "linewidth": 1.6, "marker": "o", "markersize": 5}
        (self.line_,) = self.ax_.plot(self.n_clusters, self.nonspecificity, label=label, **style)
        self.open_artist_ = None
        if not self.converged.all():
            circle = {
                "marker": "o",
                "markersize": 5,
                "markeredgecolor": color,
                "markerfacecolor": "white",
            }
            points = self.n_clusters[~self.converged], self.nonspecificity[~self.converged]
            (self.open_artist_,) = self.ax_.plot(
                *points, linestyle="none", label="_not converged", **circle
            )
            canvas.write_note(self.ax_, "open: did not converge", va="top")
        lowest = self.nonspecificity.min()
        ring = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
        ring |= {"markeredgewidth": 1.4, "linestyle": "none"}
        (self.best_artist_,) = self.ax_.plot(self.best, lowest, label="_best", **ring)
        self.best_text_ = None
        if mark_best:
            # Otherwise there is no space below the ring.
            is_below = lowest > 0.15 * self.nonspecificity.max()
            place = {
                "xytext": (0, -9 if is_below else 9),
                "textcoords": "offset points",
                "ha": "center",
            }
            style = {
                "va": "top" if is_below else "bottom",
                "color": INK,
                "path_effects": canvas.halo(3),
            }
            text = f"{self.best} clusters"
            point = (self.best, lowest)
            self.best_text_ = self.ax_.annotate(text, point, fontsize="small", **place, **style)
        canvas.finish_axes(
            self.ax_,
            "number of clusters",
            "nonspecificity N*",
            title,
            grid=True,
            integer_ticks=True,
        )
        self.ax_.set_ylim(bottom=0)  # Zero is the value of a precise partition.
        return self


MAX_COLUMNS = 4


def match_labels(labels: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Renumber clusters so that as many objects as possible have the same label as in a reference partition."""
    c = 1 + max(int(labels.max()), int(reference.max()))
    counts = np.bincount(labels * c + reference, minlength=c * c).reshape(c, c)
    return linear_sum_assignment(-counts)[1][labels]


class CandidatesDisplay(canvas.Display):
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
    'EVCLUS, path distances (weight 1.00)'
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
        self.points = canvas.validate_points(points, "points")
        found = canvas.validate_points(labels, "labels", ("m", len(self.points)))
        if found.size == 0 or (found < 0).any() or (found % 1 != 0).any():
            raise InvalidInputError(
                "labels must contain nonnegative integers for at least one candidate"
            )
        self.labels = found.astype(np.intp)
        self.names = canvas.validate_names(names, "names", len(found))
        self.selected = as_boolean(selected, "selected")
        if self.selected.shape != (len(found),):
            raise InvalidInputError(
                f"selected must contain {len(found)} values, got shape {self.selected.shape}"
            )
        self.axis_names = tuple(canvas.validate_names(axis_names, "axis_names", 2))

    @classmethod
    def from_estimator(cls, estimator: Any, *, all_numbers: bool = False, **options: Any) -> Self:
        """Draw the candidates of a fitted `dempster.cluster.CredalClustering`.

        Parameters
        ----------
        estimator : fitted CredalClustering
            The display shows the rows on which the candidates were compared.
        all_numbers : bool, default=False
            Whether to draw the candidates with all numbers of clusters, instead of the selected
            number only.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        CandidatesDisplay
        """
        check(all_numbers, "all_numbers", flag)
        canvas.validate_estimator(estimator, "candidate_labels_", "candidate_points_")
        table = estimator.candidates_
        selected = int(table["selected"].argmax())
        shown = np.flatnonzero(all_numbers | (table["n_clusters"] == table["n_clusters"][selected]))
        reference = estimator.candidate_labels_[selected]
        axes = ("coordinate 1", "coordinate 2")
        if estimator.n_features_in_ == 2 and estimator.metric == "euclidean":
            axes = tuple(getattr(estimator, "feature_names_in_", ("attribute 1", "attribute 2")))
        display = cls(
            points=estimator.candidate_points_,
            labels=[match_labels(estimator.candidate_labels_[i], reference) for i in shown],
            names=[_describe(table.iloc[i], all_numbers) for i in shown],
            selected=shown == selected,
            axis_names=axes,
        )
        return display.plot(**options)

    @canvas.validate_options()
    def plot(
        self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None
    ) -> Self:
        """Draw a panel for each candidate.

        Parameters
        ----------
        axes : sequence of m Matplotlib axes, optional
            By default the panels of a new figure.
        colors : sequence of colors, optional
            Colors of the clusters.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        m = len(self.labels)
        palette = canvas.cluster_colors(int(self.labels.max()) + 1, colors)
        self._open_panels(axes, m, min(m, MAX_COLUMNS), (3.6, 3.5))
        for ax, labels, name, selected in zip(
            self.axes_, self.labels, self.names, self.selected, strict=True
        ):
            draw_objects(ax, self.points, labels, palette, None)
            canvas.finish_axes(ax)
            ax.set_xlabel(self.axis_names[0], parse_math=False)
            ax.set_ylabel(self.axis_names[1], parse_math=False)
            if selected:
                weight = "bold"
            else:
                weight = "normal"
            ax.set_title(
                name.replace(" (", "\n(", 1), fontsize="small", fontweight=weight, parse_math=False
            )
            if selected:
                for spine in ax.spines.values():
                    spine.set(visible=True, color=INK, linewidth=2)
        if title is not None:
            (self.figure_.suptitle if m > 1 else self.axes_[0].set_title)(title)
        return self


def _describe(candidate: Any, with_number: bool) -> str:
    """Return the method, agreement and weight of a row of the table of candidates."""
    if with_number:
        parts = [f"{candidate['n_clusters']} clusters"]
    else:
        parts = []
    parts += [] if np.isnan(candidate["agreement"]) else [f"agreement {candidate['agreement']:.2f}"]
    parts.append(f"weight {candidate['weight']:.2f}")
    return f"{candidate['method']} ({', '.join(parts)})"


_MAX_POINTS = 5_000  # More points are drawn as an image, because a vector file would be too large.
_MAX_NUMBERS = 40  # With more peaks, their numbers would cover the plot.
_N_CURVE_POINTS = 200


class DeltaBelDisplay(canvas.Display):
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
        self.belief = canvas.validate_sequence(belief, "belief")
        n = len(self.belief)
        self.delta = canvas.validate_sequence(delta, "delta", n)
        indices = as_reals(peaks, "peaks").reshape(-1)
        if not ((indices >= 0) & (indices < n) & (indices % 1 == 0)).all():
            raise InvalidParameterError("peaks", f"indices from 0 to {n - 1}", peaks)
        self.peaks = indices.astype(np.intp)
        for name, value in (
            ("min_belief", min_belief),
            ("min_delta", min_delta),
            ("min_prominence", min_prominence),
        ):
            check(value, name, choice(None) | real())
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
        canvas.validate_estimator(estimator, "belief_", "delta_", "peak_indices_")
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

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Any = None,
        marker_size: float = 14.0,
        labels: bool | str = "auto",
        thresholds: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw the graph.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of colors, optional
            Colors of the peaks; by default the colors that all displays use for clusters.
        marker_size : float, default=14
            Area of the points in square points; the markers of peaks are four times as large.
        labels : bool or "auto", default="auto"
            Whether to write the number of each peak beside it; "auto" writes them if there are at
            most 40 peaks.
        thresholds : bool, default=True
            Whether to draw the thresholds.
        title : str, optional

        Returns
        -------
        self
        """
        palette = canvas.cluster_colors(len(self.peaks), colors)
        new_figure = ax is None
        self._open_axes(ax, (6.4, 4.8))
        n = len(self.belief)
        others = np.ones(n, dtype=bool)
        others[self.peaks] = False
        style: dict[str, Any] = {
            "color": [GREY],
            "linewidths": 0,
            "zorder": 2,
            "rasterized": n > _MAX_POINTS,
        }
        alpha = float(np.clip(20 / np.sqrt(n), 0.25, 0.8))
        self.points_ = self.ax_.scatter(
            self.belief[others], self.delta[others], s=marker_size, alpha=alpha, **style
        )
        peaks = self.belief[self.peaks], self.delta[self.peaks]
        style = {"c": palette, "edgecolors": "white", "linewidths": 0.8, "zorder": 4}
        self.peak_points_ = self.ax_.scatter(*peaks, s=4 * marker_size, **style)
        ylabel = "δ: distance to the nearest object of higher belief"
        canvas.finish_axes(self.ax_, "belief to be a center", ylabel, title)
        self.ax_.margins(0.08)
        self.ax_.set_ylim(bottom=min(0, self.ax_.get_ylim()[1]))
        self.belief_line_ = self.delta_line_ = self.prominence_line_ = None
        if thresholds:
            self._draw_thresholds()
        self.labels_ = []
        if canvas.resolve_auto(labels, len(self.peaks) <= _MAX_NUMBERS):
            if new_figure:
                # The placement of labels needs the final size of the axes.
                self.figure_.draw_without_rendering()
            names = [str(k) for k in range(len(self.peaks))]
            label_style: dict[str, Any] = {"fontsize": "small", "color": INK, "zorder": 5}
            self.labels_ = canvas.place_labels(
                self.ax_, np.column_stack(peaks), names, **label_style
            )
        return self

    def _draw_thresholds(self) -> None:
        (left, right), (bottom, top) = self.ax_.get_xlim(), self.ax_.get_ylim()
        dashed: dict[str, Any] = {
            "color": GREY,
            "linewidth": 0.9,
            "linestyle": (0, (4, 3)),
            "zorder": 1,
        }
        if self.min_belief is not None:
            self.belief_line_ = self.ax_.axvline(self.min_belief, **dashed)
        if self.min_delta is not None:
            self.delta_line_ = self.ax_.axhline(self.min_delta, **dashed)
        if self.min_prominence is not None:
            start = max(left, np.finfo(float).tiny, self.min_prominence / top if top > 0 else 0)
            x = np.linspace(min(start, right), right, _N_CURVE_POINTS)
            style = {**dashed, "linestyle": (0, (1, 2))}
            (self.prominence_line_,) = self.ax_.plot(x, self.min_prominence / x, **style)
        self.ax_.set_xlim(left, right)
        self.ax_.set_ylim(bottom, top)
