"""Belief-plausibility intervals beside the confidence intervals, or the truth, that they should match."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from evidentia._random import generator
from evidentia.plot._canvas import GREY, INK, quiet_frame
from evidentia.plot._colors import PALETTE

__all__ = ["CalibrationDisplay", "PairProbabilityDisplay"]

_MOST_POINTS = 5_000  # pairs, beyond which points would cover each other
_N_PAIRS = 20_000
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
    >>> from evidentia.plot import CalibrationDisplay
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
        self.lower = _numbers(lower, "lower")
        p = len(self.lower)
        self.upper = _numbers(upper, "upper", p)
        self.belief, self.plausibility = _numbers(belief, "belief", p), _numbers(plausibility, "plausibility", p)
        self.probability = None if probability is None else _numbers(probability, "probability", p)
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
        n_pairs: int | None = _N_PAIRS,
        random_state: Any = 0,
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
        **options
            Passed to `plot`.

        Returns
        -------
        CalibrationDisplay
        """
        intervals = getattr(estimator, "intervals_", None)
        if intervals is None:
            raise TypeError(f"estimator must be fitted and have intervals_, got {type(estimator).__name__}")
        values = {name: getattr(intervals, name) for name in ("lower", "upper", "belief", "plausibility")}
        if posterior is not None:
            values["probability"] = intervals.probabilities(posterior)
            options.setdefault("x", "probability")
        if n_pairs is not None and n_pairs < len(intervals):
            kept = generator(random_state).choice(len(intervals), n_pairs, replace=False)
            values = {name: value[kept] for name, value in values.items()}
        return cls(**values, confidence=intervals.confidence).plot(**options)

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
        return display.plot(**options)

    def plot(
        self,
        axes: Any = None,
        *,
        x: str = "interval",
        kind: str = "auto",
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
        kind : {"auto", "points", "density"}, default="auto"
            "density": hexagons, darker for more pairs (logarithmic). "auto": points up to 5,000 pairs.
        marker_size : float, default=12
            Area of the points in square points.
        title : str, optional

        Returns
        -------
        CalibrationDisplay
        """
        if x not in ("interval", "probability"):
            raise ValueError(f"x must be 'interval' or 'probability', got {x!r}")
        if x == "probability" and self.probability is None:
            raise ValueError("x='probability' needs the true probabilities, which were not given")
        if kind not in ("auto", "points", "density"):
            raise ValueError(f"kind must be 'auto', 'points' or 'density', got {kind!r}")
        self.axes_ = _panels(axes, 2, 2, (4.6, 4.6))
        self.figure_ = self.axes_[0].figure
        self.points_: list[Any] = []
        self.reference_: list[Any] = []
        self.texts_: list[Any] = []
        dense = kind == "density" or (kind == "auto" and len(self.lower) > _MOST_POINTS)
        for which, ax in enumerate(self.axes_):
            across = self.probability if x == "probability" else (self.lower, self.upper)[which]
            up = (self.belief, self.plausibility)[which]
            assert across is not None
            draw = self._density if dense else self._points
            self.points_.append(draw(ax, across, up, which, marker_size))
            self._finish(ax, which, x)
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _points(self, ax: Any, across: np.ndarray, up: np.ndarray, which: int, size: float) -> Any:
        alpha = float(np.clip(20 / np.sqrt(len(across)), 0.25, 0.9))  # overlapping points show how dense they are
        raster = len(across) > _MOST_POINTS
        return ax.scatter(
            across, up, s=size, color=[PALETTE[which]], alpha=alpha, linewidths=0, zorder=2, rasterized=raster
        )

    def _density(self, ax: Any, across: np.ndarray, up: np.ndarray, which: int, size: float) -> Any:
        from matplotlib.colors import LinearSegmentedColormap, LogNorm

        shades = LinearSegmentedColormap.from_list(_BOUNDS[which], _SHADES[which])
        frame = (0.0, 1.0, 0.0, 1.0)
        style = {"gridsize": _HEXAGONS, "extent": frame, "mincnt": 1, "norm": LogNorm(vmin=1), "linewidths": 0.1}
        return ax.hexbin(np.clip(across, 0, 1), np.clip(up, 0, 1), cmap=shades, zorder=2, **style)

    def _finish(self, ax: Any, which: int, x: str) -> None:
        from matplotlib.patheffects import withStroke

        (line,) = ax.plot([0, 1], [0, 1], color=INK, linewidth=1.1, zorder=3)
        line.set_path_effects([withStroke(linewidth=3, foreground="white")])  # seen on dark hexagons too
        self.reference_.append(line)
        quiet_frame(ax)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        ax.set_aspect("equal", adjustable="box")
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
    >>> from evidentia.cluster import BootClus
    >>> from evidentia.datasets import make_gaussian_mixture
    >>> from evidentia.plot import PairProbabilityDisplay
    >>> X, _ = make_gaussian_mixture(1, 60, random_state=0)
    >>> model = BootClus(3, n_bootstraps=50, mixture="EII", random_state=0).fit(X)
    >>> display = PairProbabilityDisplay.from_estimator(model, X, [(0, 1), (2, 3)])
    >>> display.values.shape, len(display.axes_)
    ((2, 50), 2)
    """

    def __init__(self, *, values: Any, pairs: Any, intervals: Any, beliefs: Any = None, probability: Any = None):
        self.values = np.asarray(values, dtype=float)
        self.pairs = np.asarray(pairs)
        p = len(self.pairs)
        if self.values.ndim != 2 or len(self.values) != p or p == 0:
            raise ValueError(f"values must have a row for each of the {p} pairs, got shape {self.values.shape}")
        self.intervals = _bounds(intervals, "intervals", p)
        self.beliefs = None if beliefs is None else _bounds(beliefs, "beliefs", p)
        self.probability = None if probability is None else _numbers(probability, "probability", p)

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
            raise TypeError(f"estimator must have the method pair_probabilities, got {type(estimator).__name__}")
        relations = estimator.predict_mass(X).relational(np.asarray(pairs)).masses
        first, second = np.asarray(pairs).T
        true = None if posterior is None else np.asarray(posterior, dtype=float)
        display = cls(
            values=estimator.pair_probabilities(X, pairs),
            pairs=pairs,
            intervals=estimator.pair_intervals(X, pairs),
            beliefs=np.column_stack([relations[:, 1], 1 - relations[:, 2]]),
            probability=None if true is None else np.einsum("pc,pc->p", true[first], true[second]),
        )
        return display.plot(axes, **options)

    def plot(self, axes: Any = None, *, bins: int = 25, n_columns: int | None = None, title: str | None = None) -> Self:
        """Draw, on the axes given (one for each pair) or on a new figure with ``n_columns`` columns."""
        p = len(self.pairs)
        columns = n_columns or min(p, 2 if p in (2, 4) else 3)
        self.axes_ = _panels(axes, p, columns, (4.2, 2.8))
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
        quiet_frame(ax)
        ax.set_xlim(-0.02, 1.02)
        ax.set_title(f"objects {self.pairs[e][0]} and {self.pairs[e][1]}", fontsize="medium")
        ax.set_xlabel("probability of “same cluster”")
        ax.set_ylabel("fits")
        return lines


def _panels(axes: Any, number: int, columns: int, size: tuple[float, float]) -> list[Any]:
    """The axes given, as many as asked for, or those of a new figure."""
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != number:
            raise ValueError(f"axes must hold {number} Matplotlib axes, got {len(given)}")
        return given
    import matplotlib.pyplot as plt

    rows = -(-number // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="constrained", squeeze=False
    )
    for spare in grid.ravel()[number:]:
        figure.delaxes(spare)
    return list(grid.ravel()[:number])


def _rms(gaps: np.ndarray) -> float:
    return float(np.sqrt(np.mean(gaps**2)))


def _bounds(values: Any, name: str, p: int) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.shape != (p, 2) or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold two finite bounds for each of the {p} pairs, got shape {array.shape}")
    return array


def _numbers(values: Any, name: str, length: int | None = None) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a nonempty sequence of finite numbers, got shape {array.shape}")
    if length is not None and len(array) != length:
        raise ValueError(f"{name} must hold {length} numbers, one for each pair, got {len(array)}")
    return array
