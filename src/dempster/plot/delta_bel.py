"""Display of the delta-Bel graph, which shows the candidates for cluster centers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._validation import as_reals, check, choice, real
from dempster.plot import _canvas as canvas
from dempster.plot.palette import GREY, INK

_MAX_POINTS = 5_000  # More points are drawn as an image, because a vector file would be too large.
_MAX_NUMBERS = 40  # With more peaks, their numbers would cover the plot.
_N_CURVE_POINTS = 200


class DeltaBelDisplay(canvas.Display):
    """Plot of the distance delta of every object against its belief of being a cluster center.

    The delta of an object is its distance to the nearest object with a higher belief. Cluster centers (peaks) are in
    the upper right, because their belief and their delta are large. Objects in the upper left are outliers. Dashed
    lines are the thresholds of belief and delta. The dotted curve is the threshold of the prominence (belief times
    delta).

    Parameters
    ----------
    belief, delta : arrays of shape (n,)
        Belief and delta of each object.
    peaks : sequence of int, optional
        Indices of the objects that are selected as centers; in the plot they are numbered from 0 in this order.
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
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems 27.

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
        for name, value in (("min_belief", min_belief), ("min_delta", min_delta), ("min_prominence", min_prominence)):
            check(value, name, choice(None) | real())
        self.min_belief, self.min_delta, self.min_prominence = min_belief, min_delta, min_prominence

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the beliefs, distances and peaks of a fitted estimator.

        Parameters
        ----------
        estimator : fitted BeliefPeaks
            Another estimator with the attributes ``belief_``, ``delta_`` and ``peak_indices_`` is also accepted. If the
            estimator has thresholds, they are drawn.
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
            min_delta=getattr(estimator, "min_delta_", None) or None,  # Zero means that there is no threshold.
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
            Whether to write the number of each peak beside it; "auto" writes them if there are at most 40 peaks.
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
        style: dict[str, Any] = {"color": [GREY], "linewidths": 0, "zorder": 2, "rasterized": n > _MAX_POINTS}
        alpha = float(np.clip(20 / np.sqrt(n), 0.25, 0.8))
        self.points_ = self.ax_.scatter(self.belief[others], self.delta[others], s=marker_size, alpha=alpha, **style)
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
                self.figure_.draw_without_rendering()  # The placement of labels needs the final size of the axes.
            names = [str(k) for k in range(len(self.peaks))]
            label_style: dict[str, Any] = {"fontsize": "small", "color": INK, "zorder": 5}
            self.labels_ = canvas.place_labels(self.ax_, np.column_stack(peaks), names, **label_style)
        return self

    def _draw_thresholds(self) -> None:
        (left, right), (bottom, top) = self.ax_.get_xlim(), self.ax_.get_ylim()
        dashed: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
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
