"""Displays of pairs of objects: Shepard diagrams, calibration and histograms.

Pairs are drawn as points. If there are more than 5,000 pairs, hexagons show their numbers.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._validation import check, positive_integer
from dempster.explain.scores import (
    count_pairs,
    encode_classes,
    match_one_to_one,
    validate_classes,
)
from dempster.partition.credal_partition import CredalPartition, as_credal_partition
from dempster.plot._canvas import (
    Display,
    finish_axes,
    halo,
    set_equal_units,
    validate_estimator,
    write_note,
)
from dempster.plot.palette import INK, PALETTE
from dempster.plot.quality import ReliabilityDisplay

N_PAIRS = 20_000  # Default number of sampled pairs.
MAX_POINTS = 5_000  # With more pairs, points would cover each other.
# The lightest shade is not white, so that a hexagon with a single pair is visible.
_SHADES = (("#CFE3F0", PALETTE[0], "#00263D"), ("#F8DCC6", PALETTE[1], "#471F00"))


def draw_pairs(ax: Any, x: np.ndarray, y: np.ndarray, which: int) -> Any:
    """Draw a point for each pair, or hexagons whose shades show the numbers of many pairs."""
    if len(x) > MAX_POINTS:
        from matplotlib.colors import LinearSegmentedColormap, LogNorm

        return ax.hexbin(
            np.clip(x, 0, 1),
            np.clip(y, 0, 1),
            gridsize=45,
            extent=(0, 1, 0, 1),
            mincnt=1,
            norm=LogNorm(vmin=1),
            cmap=LinearSegmentedColormap.from_list("pairs", _SHADES[which]),
            linewidths=0.1,
            zorder=2,
        )
    return ax.scatter(
        x,
        y,
        s=12,
        color=PALETTE[which],
        alpha=float(np.clip(20 / np.sqrt(len(x)), 0.25, 0.9)),
        linewidths=0,
        zorder=2,
    )


def draw_diagonal(ax: Any) -> Any:
    """Draw the line on which the points of a perfect fit lie, and limit the axes to [0, 1]."""
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    set_equal_units(ax, "box")
    (line,) = ax.plot(
        [0, 1], [0, 1], color=INK, linewidth=1.1, zorder=3, path_effects=halo(3)
    )
    return line


def _rms(gaps: np.ndarray) -> float:
    return float(np.sqrt(np.mean(gaps**2)))


class ShepardDisplay(Display):
    """Shepard diagram of a partition that was computed from dissimilarities.

    Each pair of objects is a point. The horizontal axis is the dissimilarity delta = phi(d) in [0,
    1]. The vertical axis is the degree of conflict of the two mass functions, which is one minus
    the plausibility that the objects belong to the same cluster. If the fit is good, the points are
    near the diagonal. The partition separates pairs above the diagonal more than their
    dissimilarity requires. It separates pairs below the diagonal less.

    Parameters
    ----------
    delta : array of shape (p,)
        Transformed dissimilarity of each pair.
    conflict : array of shape (p,)
        Degree of conflict of each pair.

    Attributes
    ----------
    root_mean_square : float
        Root mean square of conflict minus delta.
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        Points, or hexagons whose array contains the numbers of pairs.
    reference_ : line
        Line on which conflict and delta are equal.
    colorbar_ : color bar or None
        Color bar of the hexagons.
    text_ : text
        The root mean square.

    References
    ----------
    T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of large
    dissimilarity data. Knowledge-Based Systems 106.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot import ShepardDisplay
    >>> delta = np.linspace(0, 1, 50)
    >>> display = ShepardDisplay(delta=delta, conflict=delta**1.2).plot()
    >>> round(display.root_mean_square, 3)
    0.049
    """

    def __init__(self, *, delta: Any, conflict: Any):
        self.delta = np.asarray(delta, float)
        self.conflict = np.asarray(conflict, float)
        self.root_mean_square = _rms(self.conflict - self.delta)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw pairs of the training objects of an estimator, at most 20,000.

        Parameters
        ----------
        estimator : fitted estimator
            An estimator with the method ``shepard(n_pairs, random_state)``, which returns the
            dissimilarity, delta and conflict of sampled pairs.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ShepardDisplay
        """
        validate_estimator(estimator, "shepard")
        _, delta, conflict = estimator.shepard(n_pairs=N_PAIRS, random_state=0)
        return cls(delta=delta, conflict=conflict).plot(**options)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        is_dense = len(self.delta) > MAX_POINTS
        new_figure = ax is None
        ax = self._open_axes(ax, (5.6, 5) if is_dense else (5, 5))
        self.points_ = draw_pairs(ax, self.delta, self.conflict, 0)
        self.colorbar_ = None
        if is_dense and new_figure:
            self.colorbar_ = self.figure_.colorbar(
                self.points_, ax=ax, label="pairs", shrink=0.8
            )
        self.reference_ = draw_diagonal(ax)
        finish_axes(
            ax, "transformed dissimilarity δ", "degree of conflict", title=title
        )
        self.text_ = write_note(ax, f"RMS of conflict − δ: {self.root_mean_square:.3f}")
        return self


class CalibrationDisplay(Display):
    """Display of the belief and plausibility of "same cluster" against target values.

    `from_partition` draws a reliability diagram instead: probabilities of clusters against the
    frequencies of true classes.

    Each pair of objects is a point in two panels, one for belief and one for plausibility. The
    targets are the bounds of the confidence intervals or, if they are known (simulated data), the
    true probabilities. If the fit is good, beliefs and plausibilities against the bounds are near
    the diagonal. If the intervals are calibrated, the share of pairs with the belief below and the
    plausibility above the true probability is at least the confidence level. A text shows the share
    of pairs whose true probability lies between belief and plausibility.

    Parameters
    ----------
    lower, upper : arrays of shape (p,)
        Bounds of the confidence interval of each pair.
    belief, plausibility : arrays of shape (p,)
        Belief and plausibility that the two objects belong to the same cluster.
    probability : array of shape (p,), optional
        True probability that they belong to the same cluster.
    confidence : float, optional
        Confidence level of the intervals.

    Attributes
    ----------
    coverage : float or None
        Share of pairs whose true probability lies between belief and plausibility.
    root_mean_square : tuple of two floats
        Root mean square of belief minus lower bound, and of plausibility minus upper bound.
    axes_, figure_ : Matplotlib axes and figure
    points_ : list of two collections
        Points, or hexagons whose arrays contain the numbers of pairs.
    reference_ : list of lines
        The diagonals.
    texts_ : list of texts
        Texts in the panels with the root mean square or the coverage.

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information
    Sciences 528, figures 5, 9, 10, 12 and 17.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot import CalibrationDisplay
    >>> lower = np.linspace(0, 0.8, 30)
    >>> bounds = {"lower": lower, "upper": lower + 0.1, "probability": lower + 0.15}
    >>> display = CalibrationDisplay(**bounds, belief=lower, plausibility=lower + 0.2).plot()
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
        self.lower = np.asarray(lower, float)
        self.upper = np.asarray(upper, float)
        self.belief = np.asarray(belief, float)
        self.plausibility = np.asarray(plausibility, float)
        self.probability = None
        if probability is not None:
            self.probability = np.asarray(probability, float)
        self.confidence = confidence
        self.root_mean_square = (
            _rms(self.belief - self.lower),
            _rms(self.plausibility - self.upper),
        )
        self.coverage = None
        if self.probability is not None:
            inside = (self.belief <= self.probability) & (
                self.probability <= self.plausibility
            )
            self.coverage = float(np.mean(inside))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        posterior: Any = None,
        **options: Any,
    ) -> Self:
        """Draw pairs of the training objects of an estimator, at most 20,000.

        Parameters
        ----------
        estimator : fitted BootClus
            Estimator with the confidence intervals ``intervals_``.
        posterior : array-like of shape (n, c), optional
            True cluster probabilities of all objects.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        CalibrationDisplay
        """
        validate_estimator(estimator, "intervals_")
        intervals = estimator.intervals_
        names = ("lower", "upper", "belief", "plausibility")
        values = {name: getattr(intervals, name) for name in names}
        if posterior is not None:
            values["probability"] = intervals.probabilities(posterior)
        if len(intervals) > N_PAIRS:
            rng = np.random.default_rng(0)
            kept = rng.choice(len(intervals), N_PAIRS, replace=False)
            values = {name: value[kept] for name, value in values.items()}
        return cls(**values, confidence=intervals.confidence).plot(**options)

    @classmethod
    def from_partition(
        cls, partition: Any, y: Any, *, n_bins: int = 10, **options: Any
    ) -> ReliabilityDisplay:
        """Draw the pignistic probabilities of clusters against frequencies of the true classes.

        Clusters and classes are matched one to one, so that most objects of a cluster have its
        class. A cluster without a class has the frequency zero.

        Parameters
        ----------
        partition : CredalPartition or array-like of shape (n,)
            Clusters of n objects.
        y : array-like of shape (n,)
            True classes.
        n_bins : int, default=10
            Number of bins of equal width in [0, 1].
        **options
            Options of `ReliabilityDisplay.plot`, such as ``axes``.

        Returns
        -------
        ReliabilityDisplay
        """
        credal = as_credal_partition(partition)
        check(n_bins, "n_bins", positive_integer)
        names, codes = encode_classes(validate_classes(y, credal))
        table = count_pairs(credal.labels, codes, credal.n_clusters, len(names))
        is_class = (match_one_to_one(table) == codes[:, None]).ravel()
        probability = np.clip(np.asarray(credal.pignistic(), float), 0, 1).ravel()
        places = np.minimum((probability * n_bins).astype(int), n_bins - 1)
        counts = np.bincount(places, minlength=n_bins)
        total = np.where(counts > 0, counts, np.nan)
        reliability = ReliabilityDisplay(
            probability=np.bincount(places, probability, n_bins) / total,
            frequency=np.bincount(places, is_class, n_bins) / total,
            counts=counts,
        )
        return reliability.plot(**options)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw the two panels.

        Parameters
        ----------
        axes : sequence of two Matplotlib axes, optional
            Axes for belief and plausibility; by default on a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        self._open_panels(axes, 2, 2, (4.6, 4.6))
        self.points_ = []
        self.reference_ = []
        self.texts_ = []
        panels = (
            (self.lower, "lower bound", self.belief, "belief Bel"),
            (self.upper, "upper bound", self.plausibility, "plausibility Pl"),
        )
        for which, (across, xlabel, values, ylabel) in enumerate(panels):
            ax = self.axes_[which]
            if self.probability is not None:
                across = self.probability
                xlabel = "true probability"
            self.points_.append(draw_pairs(ax, across, values, which))
            self.reference_.append(draw_diagonal(ax))
            finish_axes(ax, xlabel, f"{ylabel} of “same cluster”")
            self.texts_.append(write_note(ax, self._note(which)))
        self._write_title(title)
        return self

    def _note(self, which: int) -> str:
        if self.probability is None:
            symbol = ("Bel", "Pl")[which]
            return f"RMS of {symbol} − bound: {self.root_mean_square[which]:.3f}"
        if which == 0:
            return f"belief too high: {np.mean(self.belief > self.probability):.1%} of pairs"
        level = ""
        if self.confidence is not None:
            level = f" (confidence {self.confidence:.0%})"
        low = np.mean(self.plausibility < self.probability)
        return f"plausibility too low: {low:.1%} of pairs\ncoverage {self.coverage:.1%}{level}"


class PairProbabilityDisplay(Display):
    """Histograms of the probability of "same cluster" over bootstrap fits.

    Each pair has a histogram. Vertical lines show the bounds of the confidence interval (dashed),
    the belief and the plausibility (dash-dotted), and the true probability if it is known (solid).

    Parameters
    ----------
    values : array of shape (p, B)
        Probability for each of the p pairs under each of the B bootstrap fits.
    pairs : array of shape (p, 2)
        Indices of the two objects.
    intervals : array of shape (p, 2)
        Confidence intervals.
    beliefs : array of shape (p, 2), optional
        Belief and plausibility that the two objects belong to the same cluster.
    probability : array of shape (p,), optional
        True probabilities.

    Attributes
    ----------
    axes_, figure_ : Matplotlib axes and figure
    lines_ : list of dict
        Vertical lines of each panel by name: "lower", "upper", "belief", "plausibility",
        "probability".

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information
    Sciences 528, figures 4 and 8.

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

    def __init__(
        self,
        *,
        values: Any,
        pairs: Any,
        intervals: Any,
        beliefs: Any = None,
        probability: Any = None,
    ):
        self.pairs = np.asarray(pairs)
        self.values = np.asarray(values, float)
        self.intervals = intervals
        self.beliefs = beliefs
        self.probability = probability

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        pairs: Any,
        **options: Any,
    ) -> Self:
        """Draw the histograms of the given pairs of objects for a fitted estimator.

        Parameters
        ----------
        estimator : fitted BootClus
            Estimator with the bootstrap fits.
        X : array-like of shape (n, d)
            Training objects or new objects.
        pairs : array-like of shape (p, 2)
            Indices of the two objects of each pair in X.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        PairProbabilityDisplay
        """
        validate_estimator(estimator, "pair_probabilities")
        predicted = estimator.predict_mass(X)
        if not isinstance(predicted, CredalPartition):
            raise InvalidParameterError(
                "X",
                must="be an array in memory, got blocks; select the rows of the pairs",
            )
        relations = predicted.relational(pairs).masses
        if len(relations) == 0:
            raise InvalidParameterError(
                "pairs", must="contain at least one pair of objects", value=pairs
            )
        display = cls(
            values=estimator.pair_probabilities(X, pairs),
            pairs=pairs,
            intervals=estimator.pair_intervals(X, pairs),
            beliefs=np.column_stack([relations[:, 1], 1 - relations[:, 2]]),
        )
        return display.plot(**options)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        axes : sequence of p Matplotlib axes, optional
            One axes for each pair; by default on a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        p = len(self.pairs)
        self._open_panels(axes, p, 2 if p in (2, 4) else 3, (4.2, 2.8))
        self.lines_ = [self._draw_panel(e, ax) for e, ax in enumerate(self.axes_)]
        self.axes_[0].legend(fontsize="small", framealpha=0.85, edgecolor="none")
        self._write_title(title)
        return self

    def _draw_panel(self, e: int, ax: Any) -> dict[str, Any]:
        ax.hist(
            self.values[e],
            bins=25,
            range=(0, 1),
            color="#CFE3F0",
            edgecolor="white",
            linewidth=0.5,
        )
        lower, upper = self.intervals[e]
        style: dict[str, Any] = {"color": INK, "linestyle": "--", "linewidth": 1.2}
        lines = {
            "lower": ax.axvline(lower, label="confidence interval", **style),
            "upper": ax.axvline(upper, **style),
        }
        if self.beliefs is not None:
            belief, plausibility = self.beliefs[e]
            style = {"color": PALETTE[0], "linestyle": "-.", "linewidth": 1.2}
            lines["belief"] = ax.axvline(belief, label="belief, plausibility", **style)
            lines["plausibility"] = ax.axvline(plausibility, **style)
        if self.probability is not None:
            lines["probability"] = ax.axvline(
                self.probability[e], color=PALETTE[1], linewidth=1.6, label="truth"
            )
        finish_axes(ax, "probability of “same cluster”", "fits")
        ax.set_xlim(-0.02, 1.02)
        ax.set_title(
            f"objects {self.pairs[e][0]} and {self.pairs[e][1]}", fontsize="medium"
        )
        return lines
