"""Pictures of pairs of objects: Shepard diagrams, calibration, and probabilities of sharing a cluster.

Each pair is a point or, where points would cover each other, counts in a hexagon.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._types import Seed
from dempster._validation import as_reals, check, choice, integer, shown
from dempster.partition import CredalPartition
from dempster.plot._canvas import (
    GREY,
    INK,
    PALETTE,
    axes_to_draw_on,
    checked_options,
    equal_units,
    finish_axes,
    finite_numbers,
    panels_to_draw_on,
    wanted,
)

N_PAIRS = 20_000  # pairs that are sampled
MAX_POINTS = 5_000  # pairs, beyond which points would cover each other
STYLES = ("auto", "points", "density")
N_HEXAGONS = 45  # along the horizontal axis
N_REFERENCE_POINTS = 400
_SHADES = (("#CFE3F0", PALETTE[0], "#00263D"), ("#F8DCC6", PALETTE[1], "#471F00"))  # a single pair can still be seen
N_CALIBRATION_HEXAGONS = 40
_BOUNDS = ("belief", "plausibility")
_SYMBOLS = (("Bel", "P$^l$"), ("Pl", "P$^u$"))


def style_for(style: str, n_pairs: int) -> str:
    """Return "points" or "density"; "auto" stands for points while there are few."""
    if style == "auto":
        return "density" if n_pairs > MAX_POINTS else "points"
    return style


def draw_points(ax: Any, across: np.ndarray, up: np.ndarray, *, size: float, color: Any) -> Any:
    """Draw points, fainter for more pairs: overlapping points show how dense they are."""
    alpha = float(np.clip(20 / np.sqrt(len(across)), 0.25, 0.9))
    raster = len(across) > MAX_POINTS
    return ax.scatter(across, up, s=size, color=[color], alpha=alpha, linewidths=0, zorder=2, rasterized=raster)


def draw_density(
    ax: Any,
    across: np.ndarray,
    up: np.ndarray,
    *,
    shades: Sequence[str],
    n_hexagons: int,
    extent: tuple[float, float, float, float],
) -> Any:
    """Draw hexagons, darker for more pairs (logarithmic), whose array holds the numbers of pairs."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    return ax.hexbin(
        across,
        up,
        gridsize=n_hexagons,
        extent=extent,
        mincnt=1,
        norm=LogNorm(vmin=1),
        cmap=LinearSegmentedColormap.from_list("pairs", shades),
        linewidths=0.1,
        zorder=2,
    )


def draw_reference(ax: Any, across: Any, up: Any) -> Any:
    """Draw the line of a perfect match, visible on dark hexagons too."""
    from matplotlib.patheffects import withStroke

    (line,) = ax.plot(across, up, color=INK, linewidth=1.1, zorder=3)
    line.set_path_effects([withStroke(linewidth=3, foreground="white")])
    return line


class ShepardDisplay:
    """Shepard diagram of a partition made from dissimilarities (EVCLUS and its kin).

    One point a pair of objects: across, the dissimilarity delta = phi(d) in [0, 1]; up, the degree of conflict of
    their mass functions, one minus the plausibility that they share a cluster. A good fit lies along the diagonal.
    Points above it are pairs held apart more than their dissimilarity asks for, points below are held together.

    Parameters
    ----------
    delta : array of shape (p,)
        Transformed dissimilarity of each pair.
    conflict : array of shape (p,)
        Degree of conflict of each pair.
    dissimilarity : array of shape (p,), optional
        As measured, for the horizontal axis ``x="dissimilarity"``.

    Attributes
    ----------
    delta, conflict, dissimilarity
        As given, as arrays.
    root_mean_square : float
        Of conflict minus delta.
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        The points, or the hexagons, whose array holds the numbers of pairs.
    reference_ : line
        Where conflict and delta are equal.
    colorbar_ : colour bar or None
    text_ : text
        The root mean square.

    References
    ----------
    T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of large dissimilarity data.
    Knowledge-Based Systems 106.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot import ShepardDisplay
    >>> delta = np.linspace(0, 1, 50)
    >>> display = ShepardDisplay.from_arrays(delta, delta**1.2)
    >>> round(display.root_mean_square, 3)
    0.049
    """

    def __init__(self, *, delta: Any, conflict: Any, dissimilarity: Any = None):
        self.delta = finite_numbers(delta, "delta")
        self.conflict = finite_numbers(conflict, "conflict", len(self.delta))
        self.dissimilarity = (
            None if dissimilarity is None else finite_numbers(dissimilarity, "dissimilarity", len(self.delta))
        )
        self.root_mean_square = float(np.sqrt(np.mean((self.conflict - self.delta) ** 2)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_pairs: int | None = N_PAIRS,
        random_state: Seed = 0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw pairs of the objects that an estimator was fitted to.

        Parameters
        ----------
        estimator : fitted estimator
            With the method ``shepard(n_pairs, random_state)``, which gives the dissimilarity, delta and conflict of
            sampled pairs.
        n_pairs : int or None, default=20000
            Pairs to sample, passed to ``shepard``; None: all that it has.
        random_state : int, RandomState, Generator or None, default=0
            Which pairs.
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        ShepardDisplay
        """
        if not callable(getattr(estimator, "shepard", None)):
            raise InvalidInputError(f"estimator must have the method shepard, got {type(estimator).__name__}")
        pairs = estimator.shepard(n_pairs=sys.maxsize if n_pairs is None else n_pairs, random_state=random_state)
        if all(hasattr(pairs, name) for name in ("dissimilarity", "delta", "conflict")):
            dissimilarity, delta, conflict = pairs.dissimilarity, pairs.delta, pairs.conflict
        else:
            dissimilarity, delta, conflict = pairs
        return cls(delta=delta, conflict=conflict, dissimilarity=dissimilarity).plot(ax=ax, **options)

    @classmethod
    def from_arrays(
        cls, delta: Any, conflict: Any, dissimilarity: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw given pairs; ``options`` are those of `plot`."""
        return cls(delta=delta, conflict=conflict, dissimilarity=dissimilarity).plot(ax=ax, **options)

    @checked_options(x=("delta", "dissimilarity"), style=STYLES)
    def plot(
        self,
        *,
        ax: Any = None,
        x: str = "delta",
        style: str = "auto",
        marker_size: float = 12.0,
        color: Any = PALETTE[0],
        colorbar: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        x : {"delta", "dissimilarity"}, default="delta"
            Horizontal axis. "dissimilarity": as measured; the line of a perfect fit is then the curve delta = phi(d).
        style : {"auto", "points", "density"}, default="auto"
            "density": hexagons, darker for more pairs (logarithmic). "auto": points up to 5,000 pairs.
        marker_size : float, default=12
            Area of the points in square points.
        color : colour
            Of the points.
        colorbar : bool or "auto"
            Scale of the hexagons. "auto": on a new figure only, as it takes room from the axes.
        title : str, optional

        Returns
        -------
        ShepardDisplay
        """
        across = self._across(x)
        drawn_as = style_for(style, len(self.delta))
        dense = drawn_as == "density"
        new_figure = ax is None
        self.ax_ = axes_to_draw_on(ax, (5.6, 5) if dense else (5, 5))
        self.figure_ = self.ax_.figure
        self.points_ = self._draw_pairs(across, drawn_as, marker_size, color)
        self.reference_ = draw_reference(self.ax_, *self._reference(x))
        self.colorbar_ = None
        if dense and wanted(colorbar, new_figure):
            self.colorbar_ = self.figure_.colorbar(self.points_, ax=self.ax_, label="pairs", shrink=0.8)
        self._finish(x, title)
        return self

    def _across(self, x: str) -> np.ndarray:
        if x == "delta":
            return self.delta
        if self.dissimilarity is None:
            raise InvalidInputError("x='dissimilarity' needs the dissimilarities, which were not given")
        return self.dissimilarity

    def _draw_pairs(self, across: np.ndarray, drawn_as: str, size: float, color: Any) -> Any:
        if drawn_as == "points":
            return draw_points(self.ax_, across, self.conflict, size=size, color=color)
        high = max(float(across.max()), 1.0 if across is self.delta else np.finfo(float).tiny)
        extent = (min(float(across.min()), 0.0), high, 0.0, 1.0)
        return draw_density(self.ax_, across, self.conflict, shades=_SHADES[0], n_hexagons=N_HEXAGONS, extent=extent)

    def _reference(self, x: str) -> tuple[np.ndarray, np.ndarray]:
        """The diagonal; over the measured dissimilarities, delta along them."""
        if x == "delta":
            return np.array([0.0, 1.0]), np.array([0.0, 1.0])
        assert self.dissimilarity is not None
        order = np.argsort(self.dissimilarity, kind="stable")
        kept = order[np.unique(np.linspace(0, len(order) - 1, N_REFERENCE_POINTS).round().astype(int))]
        return self.dissimilarity[kept], self.delta[kept]

    def _finish(self, x: str, title: str | None) -> None:
        xlabel = "transformed dissimilarity δ" if x == "delta" else "dissimilarity"
        finish_axes(self.ax_, xlabel, "degree of conflict", title)
        self.ax_.set_ylim(-0.03, 1.03)
        if x == "delta":
            self.ax_.set_xlim(-0.03, 1.03)
            equal_units(self.ax_, "box")
        corner = {"transform": self.ax_.transAxes, "ha": "right", "va": "bottom"}
        self.text_ = self.ax_.text(
            0.985, 0.02, f"RMS of conflict − δ: {self.root_mean_square:.3f}", color=GREY, fontsize="small", **corner
        )


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
                    draw_density(
                        ax,
                        *inside,
                        shades=_SHADES[which],
                        n_hexagons=N_CALIBRATION_HEXAGONS,
                        extent=(0.0, 1.0, 0.0, 1.0),
                    )
                )
            else:
                self.points_.append(draw_points(ax, across, up, size=marker_size, color=PALETTE[which]))
            self._finish(ax, which, x)
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _finish(self, ax: Any, which: int, x: str) -> None:
        self.reference_.append(draw_reference(ax, [0, 1], [0, 1]))
        symbol, bound = _SYMBOLS[which]
        xlabel = "true probability" if x == "probability" else f"{('lower', 'upper')[which]} bound {bound}"
        finish_axes(ax, xlabel, f"{_BOUNDS[which]} {symbol} of “same cluster”")
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        equal_units(ax, "box")
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


class PairProbabilityDisplay:
    """For some pairs of objects, how the probability of being together varies over the bootstrap fits.

    A histogram for each pair, with the bounds of the confidence interval (dashed), belief and plausibility
    (dash-dotted) and, where it is known, the true probability (solid).

    Parameters
    ----------
    values : array of shape (p, B)
        Probability of each pair under each fit.
    pairs : array of shape (p, 2)
        The two objects.
    intervals : array of shape (p, 2)
        Confidence intervals.
    beliefs : array of shape (p, 2), optional
        Belief-plausibility intervals.
    probability : array of shape (p,), optional
        True probabilities.

    Attributes
    ----------
    values, pairs, intervals, beliefs, probability
        As given, as arrays.
    axes_, figure_ : Matplotlib axes and figure
    lines_ : list of dict
        The vertical lines of each panel by name: "lower", "upper", "belief", "plausibility", "probability".

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528,
    figures 4 and 8.

    Examples
    --------
    >>> from dempster.cluster import BootClus
    >>> from dempster.datasets import make_gaussian_mixture
    >>> from dempster.plot import PairProbabilityDisplay
    >>> X, _ = make_gaussian_mixture(1, 60, random_state=0)
    >>> model = BootClus(3, n_bootstraps=50, mixture="EII", random_state=0).fit(X)
    >>> display = PairProbabilityDisplay.from_estimator(model, X, [(0, 1), (2, 3)])
    >>> display.values.shape, len(display.axes_)
    ((2, 50), 2)
    """

    def __init__(self, *, values: Any, pairs: Any, intervals: Any, beliefs: Any = None, probability: Any = None):
        self.values = as_reals(values, "values")
        places = as_reals(pairs, "pairs")
        if places.ndim != 2 or places.shape[1] != 2 or not ((places >= 0) & (places < 2**53) & (places % 1 == 0)).all():
            raise InvalidInputError(f"pairs must hold two positions each, shape (p, 2), got shape {places.shape}")
        self.pairs = places.astype(np.intp)
        p = len(self.pairs)
        if self.values.ndim != 2 or len(self.values) != p or p == 0:
            raise InvalidInputError(f"values must have a row for each of the {p} pairs, got shape {self.values.shape}")
        self.intervals = _bounds(intervals, "intervals", p)
        self.beliefs = None if beliefs is None else _bounds(beliefs, "beliefs", p)
        self.probability = None if probability is None else finite_numbers(probability, "probability", p)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, pairs: Any, *, posterior: Any = None, axes: Any = None, **options: Any
    ) -> Self:
        """Draw pairs of objects under a fitted estimator.

        Parameters
        ----------
        estimator : fitted BootClus
        X : array-like of shape (n, d)
            Objects, old or new.
        pairs : array-like of shape (p, 2)
            Positions of two objects each.
        posterior : array-like of shape (n, c), optional
            True probabilities of the clusters for the objects.
        axes : sequence of p Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        PairProbabilityDisplay
        """
        if not callable(getattr(estimator, "pair_probabilities", None)):
            raise InvalidInputError(
                f"estimator must have the method pair_probabilities, got {type(estimator).__name__}"
            )
        predicted = estimator.predict_mass(X)
        if not isinstance(predicted, CredalPartition):
            raise InvalidInputError("X must be in memory, but it comes in blocks: take the objects of the pairs")
        relations = predicted.relational(pairs).masses
        if len(relations) == 0:
            raise InvalidInputError(f"pairs must hold at least one pair of objects, got {shown(pairs)}")
        first, second = np.asarray(pairs).T
        true = None if posterior is None else as_reals(posterior, "posterior")
        if true is not None and true.shape != (len(predicted), predicted.n_clusters):
            shape = len(predicted), predicted.n_clusters
            raise InvalidInputError(f"posterior must have shape {shape}, got {true.shape}")
        display = cls(
            values=estimator.pair_probabilities(X, pairs),
            pairs=pairs,
            intervals=estimator.pair_intervals(X, pairs),
            beliefs=np.column_stack([relations[:, 1], 1 - relations[:, 2]]),
            probability=None if true is None else np.einsum("pc,pc->p", true[first], true[second]),
        )
        return display.plot(axes=axes, **options)

    @checked_options()
    def plot(self, *, axes: Any = None, bins: int = 25, n_columns: int | None = None, title: str | None = None) -> Self:
        """Draw, on the axes given (one for each pair) or on a new figure with ``n_columns`` columns."""
        p = len(self.pairs)
        columns = min(p, n_columns or (2 if p in (2, 4) else 3))
        self.axes_ = panels_to_draw_on(axes, p, columns, (4.2, 2.8))
        self.figure_ = self.axes_[0].figure
        self.lines_ = [self._panel(e, ax, bins) for e, ax in enumerate(self.axes_)]
        self.axes_[0].legend(fontsize="small", framealpha=0.85, edgecolor="none")
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _panel(self, e: int, ax: Any, bins: int) -> dict[str, Any]:
        ax.hist(self.values[e], bins=bins, range=(0, 1), color="#CFE3F0", edgecolor="white", linewidth=0.5)
        lines = {}
        lower, upper = self.intervals[e]
        style: dict[str, Any] = {"color": INK, "linestyle": "--", "linewidth": 1.2}
        lines["lower"] = ax.axvline(lower, label="confidence interval", **style)
        lines["upper"] = ax.axvline(upper, **style)
        if self.beliefs is not None:
            belief, plausibility = self.beliefs[e]
            style = {"color": PALETTE[0], "linestyle": "-.", "linewidth": 1.2}
            lines["belief"] = ax.axvline(belief, label="belief, plausibility", **style)
            lines["plausibility"] = ax.axvline(plausibility, **style)
        if self.probability is not None:
            lines["probability"] = ax.axvline(self.probability[e], color=PALETTE[1], linewidth=1.6, label="truth")
        finish_axes(ax, "probability of “same cluster”", "fits")
        ax.set_xlim(-0.02, 1.02)
        ax.set_title(f"objects {self.pairs[e][0]} and {self.pairs[e][1]}", fontsize="medium")
        return lines


def _bounds(values: Any, name: str, p: int) -> np.ndarray:
    array = as_reals(values, name)
    if array.shape != (p, 2) or not np.isfinite(array).all():
        raise InvalidInputError(
            f"{name} must hold two finite bounds for each of the {p} pairs, got shape {array.shape}"
        )
    return array
