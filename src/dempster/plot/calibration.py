"""Belief-plausibility intervals beside the confidence intervals, or the truth, that they should match."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._types import Seed
from dempster._validation import check, choice, integer
from dempster.plot._drawing.arguments import finite_numbers
from dempster.plot._drawing.canvas import GREY, equal_units, panels_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import PALETTE
from dempster.plot._drawing.options import checked_options
from dempster.plot._drawing.pairs import (
    N_PAIRS,
    STYLES,
    draw_density,
    draw_points,
    draw_reference,
    style_for,
)

__all__ = ["CalibrationDisplay"]

_HEXAGONS = 40
_SHADES = (("#CFE3F0", PALETTE[0], "#00263D"), ("#F8DCC6", PALETTE[1], "#471F00"))  # a single pair can still be seen
_BOUNDS = ("belief", "plausibility")
_SYMBOLS = (("Bel", "P$^l$"), ("Pl", "P$^u$"))


class CalibrationDisplay:
    """Degrees of belief and plausibility that two objects share a cluster, beside what they should match.

    One point a pair of objects, in two panels. Over the bounds of the confidence intervals (``x="interval"``) the
    points of a good fit lie along the diagonal. Over the true probabilities (``x="probability"``, simulated data)
    beliefs should lie below the diagonal and plausibilities above it, but for a share of pairs given by the confidence
    level; the text tells the share of pairs whose true probability lies in the interval.

    Parameters
    ----------
    lower, upper : arrays of shape (p,)
        Bounds of the confidence interval of each pair.
    belief, plausibility : arrays of shape (p,)
        That the two objects belong to the same cluster.
    probability : array of shape (p,), optional
        The true probability that they do.
    confidence : float, optional
        Level of the intervals.

    Attributes
    ----------
    lower, upper, belief, plausibility, probability, confidence
        As given, as arrays.
    coverage : float or None
        Share of pairs whose true probability lies between belief and plausibility.
    root_mean_square : tuple of two floats
        Of belief minus lower bound, and of plausibility minus upper bound.
    axes_, figure_ : Matplotlib axes and figure
    points_ : list of two collections
        Points, or hexagons whose arrays hold the numbers of pairs.
    reference_ : list of lines
        The diagonals.
    texts_ : list of texts

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528,
    figures 5, 9, 10, 12 and 17.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot import CalibrationDisplay
    >>> lower = np.linspace(0, 0.8, 30)
    >>> display = CalibrationDisplay.from_arrays(lower, lower + 0.1, lower, lower + 0.2, probability=lower + 0.15)
    >>> display.coverage, round(display.root_mean_square[1], 3)
    (1.0, 0.1)
    """

    def __init__(
        self,
        *,
        lower: Any,
        upper: Any,
        belief: Any,
        plausibility: Any,
        probability: Any = None,
        confidence: float | None = None,
    ):
        self.lower = finite_numbers(lower, "lower")
        p = len(self.lower)
        self.upper = finite_numbers(upper, "upper", p)
        self.belief, self.plausibility = (
            finite_numbers(belief, "belief", p),
            finite_numbers(plausibility, "plausibility", p),
        )
        self.probability = None if probability is None else finite_numbers(probability, "probability", p)
        self.confidence = confidence
        self.root_mean_square = (_rms(self.belief - self.lower), _rms(self.plausibility - self.upper))
        self.coverage = None
        if self.probability is not None:
            inside = (self.belief <= self.probability) & (self.probability <= self.plausibility)
            self.coverage = float(np.mean(inside))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        posterior: Any = None,
        n_pairs: int | None = N_PAIRS,
        random_state: Seed = 0,
        axes: Any = None,
        **options: Any,
    ) -> Self:
        """Draw pairs of the objects that an estimator was fitted to.

        Parameters
        ----------
        estimator : fitted BootClus
            Or anything with ``intervals_``.
        posterior : array-like of shape (n, c), optional
            True probabilities of the clusters for all objects, where they are known. The truth is then drawn
            (``x="probability"``) unless the options say otherwise.
        n_pairs : int or None, default=20000
            Pairs to sample; None: all.
        random_state : int, RandomState, Generator or None, default=0
            Which pairs.
        axes : sequence of two Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        CalibrationDisplay
        """
        intervals = getattr(estimator, "intervals_", None)
        if intervals is None:
            raise InvalidInputError(f"estimator must be fitted and have intervals_, got {type(estimator).__name__}")
        values = {name: getattr(intervals, name) for name in ("lower", "upper", "belief", "plausibility")}
        if posterior is not None:
            values["probability"] = intervals.probabilities(posterior)
            options.setdefault("x", "probability")
        check(n_pairs, "n_pairs", choice(None) | integer(1))
        if n_pairs is not None and n_pairs < len(intervals):
            kept = generator(random_state).choice(len(intervals), n_pairs, replace=False)
            values = {name: value[kept] for name, value in values.items()}
        return cls(**values, confidence=intervals.confidence).plot(axes=axes, **options)

    @classmethod
    def from_arrays(
        cls,
        lower: Any,
        upper: Any,
        belief: Any,
        plausibility: Any,
        *,
        probability: Any = None,
        confidence: float | None = None,
        axes: Any = None,
        **options: Any,
    ) -> Self:
        """Draw given pairs; ``options`` are those of `plot`."""
        display = cls(
            lower=lower,
            upper=upper,
            belief=belief,
            plausibility=plausibility,
            probability=probability,
            confidence=confidence,
        )
        return display.plot(axes=axes, **options)

    @checked_options(x=("interval", "probability"), style=STYLES)
    def plot(
        self,
        *,
        axes: Any = None,
        x: str = "interval",
        style: str = "auto",
        marker_size: float = 12.0,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        axes : sequence of two Matplotlib axes, optional
            For belief and plausibility; on a new figure by default.
        x : {"interval", "probability"}, default="interval"
            Horizontal axis: bounds of the confidence intervals, or the true probabilities.
        style : {"auto", "points", "density"}, default="auto"
            "density": hexagons, darker for more pairs (logarithmic). "auto": points up to 5,000 pairs.
        marker_size : float, default=12
            Area of the points in square points.
        title : str, optional

        Returns
        -------
        CalibrationDisplay
        """
        if x == "probability" and self.probability is None:
            raise InvalidInputError("x='probability' needs the true probabilities, which were not given")
        drawn_as = style_for(style, len(self.lower))
        self.axes_ = panels_to_draw_on(axes, 2, 2, (4.6, 4.6))
        self.figure_ = self.axes_[0].figure
        self.points_: list[Any] = []
        self.reference_: list[Any] = []
        self.texts_: list[Any] = []
        for which, ax in enumerate(self.axes_):
            across = self.probability if x == "probability" else (self.lower, self.upper)[which]
            up = (self.belief, self.plausibility)[which]
            assert across is not None
            if drawn_as == "density":
                inside = np.clip(across, 0, 1), np.clip(up, 0, 1)
                self.points_.append(
                    draw_density(ax, *inside, shades=_SHADES[which], n_hexagons=_HEXAGONS, extent=(0.0, 1.0, 0.0, 1.0))
                )
            else:
                self.points_.append(draw_points(ax, across, up, size=marker_size, color=PALETTE[which]))
            self._finish(ax, which, x)
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _finish(self, ax: Any, which: int, x: str) -> None:
        self.reference_.append(draw_reference(ax, [0, 1], [0, 1]))
        quiet_frame(ax)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        equal_units(ax, "box")
        symbol, bound = _SYMBOLS[which]
        ax.set_xlabel("true probability" if x == "probability" else f"{('lower', 'upper')[which]} bound {bound}")
        ax.set_ylabel(f"{_BOUNDS[which]} {symbol} of “same cluster”")
        corner = {"transform": ax.transAxes, "ha": "right", "va": "bottom", "color": GREY, "fontsize": "small"}
        self.texts_.append(ax.text(0.985, 0.02, self._note(which, x), **corner))

    def _note(self, which: int, x: str) -> str:
        if x == "interval":
            return f"RMS of {_SYMBOLS[which][0]} − bound: {self.root_mean_square[which]:.3f}"
        assert self.probability is not None
        if which == 0:
            return f"belief too high: {np.mean(self.belief > self.probability):.1%} of pairs"
        level = "" if self.confidence is None else f" (confidence {self.confidence:.0%})"
        low = np.mean(self.plausibility < self.probability)
        return f"plausibility too low: {low:.1%} of pairs\ncoverage {self.coverage:.1%}{level}"


def _rms(gaps: np.ndarray) -> float:
    return float(np.sqrt(np.mean(gaps**2)))
