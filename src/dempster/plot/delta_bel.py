"""The delta-Bel graph: where cluster centres stand out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, check, choice, real
from dempster.plot._canvas import (
    GREY,
    INK,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    finite_numbers,
    place_labels,
    wanted,
)

_MAX_POINTS = 5_000  # beyond which a vector file of all points would be unwieldy
_MAX_NUMBERS = 40  # peaks, beyond which their numbers would cover the picture
_CURVE_POINTS = 200


class DeltaBelDisplay:
    """delta of every object against its belief to be a cluster centre, the chosen peaks marked and numbered.

    Centres are up and to the right: believed by their neighbours and far from any object that is believed more.
    Objects up and to the left are outliers. Dashed lines are the thresholds of belief and delta; the dotted curve is
    that of equal prominence (belief times delta) between the last peak and the next object.

    Parameters
    ----------
    belief, delta : arrays of shape (n,)
    peaks : sequence of int, optional
        Objects chosen as centres, numbered in this order from 0.
    min_belief, min_delta, min_prominence : float, optional
        Thresholds to draw.

    Attributes
    ----------
    belief, delta, peaks, min_belief, min_delta, min_prominence
        As given, belief, delta and peaks as arrays.
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        Objects that are not peaks.
    peak_points_ : collection
        The peaks, in the colours of their clusters.
    labels_ : list of annotations
        Numbers of the peaks.
    belief_line_, delta_line_, prominence_line_ : lines or None

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
        self.belief = finite_numbers(belief, "belief")
        self.delta = finite_numbers(delta, "delta")
        if len(self.delta) != len(self.belief):
            raise InvalidInputError(
                f"delta must hold {len(self.belief)} numbers, one for each belief, got {len(self.delta)}"
            )
        positions = as_reals(peaks, "peaks").reshape(-1)
        if not ((positions >= 0) & (positions < len(self.belief)) & (positions % 1 == 0)).all():
            raise InvalidInputError(
                f"peaks must be positions from 0 to {len(self.belief) - 1}, "
                f"got {positions.min():g} to {positions.max():g}"
            )
        self.peaks = positions.astype(np.intp)
        for name, value in (("min_belief", min_belief), ("min_delta", min_delta), ("min_prominence", min_prominence)):
            check(value, name, choice(None) | real())
        self.min_belief, self.min_delta, self.min_prominence = min_belief, min_delta, min_prominence

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw what an estimator found.

        Parameters
        ----------
        estimator : fitted BeliefPeaks
            Or any with ``belief_``, ``delta_`` and ``peak_indices_``; thresholds are drawn where it has them.
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        DeltaBelDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        missing = [name for name in ("belief_", "delta_", "peak_indices_") if not hasattr(estimator, name)]
        if missing:
            raise InvalidInputError(f"estimator must have {', '.join(missing)}, got {type(estimator).__name__}")
        display = cls(
            belief=estimator.belief_,
            delta=estimator.delta_,
            peaks=estimator.peak_indices_,
            min_belief=getattr(estimator, "min_belief_", None),
            min_delta=getattr(estimator, "min_delta_", None) or None,  # 0 is no threshold
            min_prominence=getattr(estimator, "min_prominence_", None) or None,
        )
        return display.plot(ax=ax, **options)

    @checked_options()
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
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        colors : sequence of colours, optional
            Of the peaks; those of the clusters in the other displays by default.
        marker_size : float, default=14
            Area of the points in square points; peaks are drawn four times as large.
        labels : bool or "auto", default="auto"
            Whether to write the number of each peak beside it. "auto": up to 40 peaks.
        thresholds : bool, default=True
            Whether to draw the thresholds.
        title : str, optional

        Returns
        -------
        DeltaBelDisplay
        """
        palette = cluster_colors(len(self.peaks), colors)
        new_figure = ax is None
        self.ax_ = axes_to_draw_on(ax, (6.4, 4.8))
        self.figure_ = self.ax_.figure
        self._draw_points(palette, marker_size)
        self._finish(title)
        self.belief_line_ = self.delta_line_ = self.prominence_line_ = None
        if thresholds:
            self._draw_thresholds()
        self.labels_ = []
        if wanted(labels, len(self.peaks) <= _MAX_NUMBERS):
            if new_figure:
                self.figure_.draw_without_rendering()  # settles the size of the axes, which the numbers need
            where = np.column_stack([self.belief[self.peaks], self.delta[self.peaks]])
            names = [str(k) for k in range(len(self.peaks))]
            self.labels_ = place_labels(self.ax_, where, names, fontsize="small", color=INK, zorder=5)
        return self

    def _draw_points(self, palette: np.ndarray, size: float) -> None:
        others = np.ones(len(self.belief), dtype=bool)
        others[self.peaks] = False
        raster = len(self.belief) > _MAX_POINTS
        self.points_ = self.ax_.scatter(
            self.belief[others],
            self.delta[others],
            s=size,
            color=[GREY],
            alpha=float(np.clip(20 / np.sqrt(len(self.belief)), 0.25, 0.8)),
            linewidths=0,
            zorder=2,
            rasterized=raster,
        )
        self.peak_points_ = self.ax_.scatter(
            self.belief[self.peaks],
            self.delta[self.peaks],
            s=4 * size,
            c=palette,
            edgecolors="white",
            linewidths=0.8,
            zorder=4,
        )

    def _draw_thresholds(self) -> None:
        """Lines over the range of the data, which stays as it is."""
        (left, right), (bottom, top) = self.ax_.get_xlim(), self.ax_.get_ylim()
        dashed: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (4, 3)), "zorder": 1}
        if self.min_belief is not None:
            self.belief_line_ = self.ax_.axvline(self.min_belief, **dashed)
        if self.min_delta is not None:
            self.delta_line_ = self.ax_.axhline(self.min_delta, **dashed)
        if self.min_prominence is not None:
            start = max(left, np.finfo(float).tiny, self.min_prominence / top if top > 0 else 0)
            along = np.linspace(min(start, right), right, _CURVE_POINTS)
            style = {**dashed, "linestyle": (0, (1, 2))}
            (self.prominence_line_,) = self.ax_.plot(along, self.min_prominence / along, **style)
        self.ax_.set_xlim(left, right)
        self.ax_.set_ylim(bottom, top)

    def _finish(self, title: str | None) -> None:
        ylabel = "δ: distance to the nearest object of higher belief"
        finish_axes(self.ax_, "belief to be a centre", ylabel, title)
        self.ax_.margins(0.08)
        self.ax_.set_ylim(bottom=min(0, self.ax_.get_ylim()[1]))
