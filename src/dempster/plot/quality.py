"""Displays of the quality of partitions and predictions, with confidence and rejection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

import dempster.explain as explain
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count, printable, shorten
from dempster._validation import (
    as_boolean,
    as_labels,
    as_numbers,
    check,
    convert_fields,
    flag,
    real,
)
from dempster.plot._canvas import (
    CurvesDisplay,
    Display,
    cluster_colors,
    draw_legend,
    finish_axes,
    validate_estimator,
    write_note,
)
from dempster.plot.credal_partition import MIN_RASTER_OBJECTS
from dempster.plot.palette import GREY, INK

_GAP_SHARE = 0.015  # Gap between clusters, as a share of the objects.
_LIGHT = 0.35  # Share of the cluster color in the lighter color of ambiguous objects.
MAX_NAME_CHARACTERS = 22
_N_BINS = 8


class SilhouetteDisplay(Display):
    """Display of a `CredalSilhouette`, which its method `plot` creates and describes."""

    def __init__(self, silhouette: explain.CredalSilhouette):
        self.silhouette = silhouette

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the silhouettes."""
        s = self.silhouette
        c = s.partition.n_clusters
        palette = cluster_colors(c)
        ax = self._open_axes(ax, (6.4, float(np.clip(2 + 0.35 * c, 4, 12))))
        labels = s.partition.labels[s.objects]
        gap = max(1.0, _GAP_SHARE * len(s))
        self.bars_ = []
        ticks = []
        y = 0.0
        for k in range(c):
            start = y
            for has_size, strength in ((s.sizes == 1, 1.0), (s.sizes > 1, _LIGHT)):
                values = np.sort(s.values[(labels == k) & has_size])[::-1]
                if len(values):
                    edges = y + np.arange(len(values) + 1)
                    bars = ax.fill_betweenx(
                        edges,
                        0,
                        np.append(values, values[-1]),
                        step="post",
                        facecolor=1 - strength * (1 - palette[k]),
                        edgecolor="none",
                        linewidth=0,
                    )
                    self.bars_.append(bars)
                    y = float(edges[-1])
            ticks.append((start + y) / 2)
            y += gap
        xlabel = "credal silhouette"
        if s.is_sampled:
            xlabel += f" ({len(s):,} of {len(s.partition):,} objects)"
        finish_axes(ax, xlabel, "cluster", title=title)
        ax.spines["left"].set_visible(False)
        ax.axvline(0, color=GREY, linewidth=0.8)
        means = (
            ("mean", s.mean, "--"),
            ("mean of certain objects", s.certain_mean, ":"),
        )
        self.lines_ = [
            ax.axvline(
                value,
                color=INK,
                linewidth=1.1,
                linestyle=style,
                label=f"{name}: {value:.2f}",
            )
            for name, value, style in means
            if np.isfinite(value)
        ]
        ax.set_ylim(max(y - gap, 1.0), 0)
        ax.set_yticks(ticks, _shorten_frame(s.partition), parse_math=False)
        ax.tick_params(axis="y", length=0)
        self._draw_legend()
        return self

    def _draw_legend(self) -> None:
        from matplotlib.patches import Patch

        sizes = self.silhouette.sizes
        handles: list[Any] = list(self.lines_)
        if (sizes > 1).any():
            handles.append(Patch(facecolor="0.35", label="certain"))
            handles.append(Patch(facecolor="0.8", label="ambiguous"))
        if n_outliers := int((sizes == 0).sum()):
            label = f"({format_count(n_outliers, 'outlier')} not shown)"
            handles.append(Patch(facecolor="none", label=label))
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
        draw_legend(self.ax_, handles, ncols=2, borderaxespad=4.5, **below)


class StabilityDisplay(Display):
    """Display of a `Stability`, which its method `plot` creates and describes."""

    def __init__(self, stability: explain.Stability):
        self.stability = stability

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw the stability of the clusters and of the objects."""
        c = self.stability.partition.n_clusters
        palette = cluster_colors(c)
        self._open_panels(axes, 2, 2, (5.2, float(np.clip(1.5 + 0.3 * c, 3.6, 12))))
        self._draw_clusters(self.axes_[0], palette)
        self._draw_objects(self.axes_[1], palette)
        if title is not None:
            # The padding leaves space for the texts above the lines.
            self.axes_[0].set_title(title, pad=14)
        return self

    def _draw_clusters(self, ax: Any, palette: np.ndarray) -> None:
        s = self.stability
        c = s.partition.n_clusters
        for value in (0.5, 0.75):
            ax.axvline(value, color=GREY, linewidth=0.8, linestyle=":")
        ax.axvspan(0.75, 1.0, color="#F1F1F1", linewidth=0, zorder=0)
        b, k = np.nonzero(~np.isnan(s.jaccard))
        self.cluster_points_ = ax.scatter(
            s.jaccard[b, k],
            k,
            s=60,
            c=palette[k],
            marker="|",
            linewidths=1.2,
            alpha=0.6,
        )
        seen = np.flatnonzero(~np.isnan(s.clusters))
        ax.scatter(
            s.clusters[seen],
            seen,
            s=46,
            c=palette[seen],
            edgecolors=INK,
            linewidths=0.8,
            zorder=3,
        )
        finish_axes(ax, "Jaccard index with the most similar cluster", "cluster")
        ax.set_yticks(range(c), _shorten_frame(s.partition), parse_math=False)
        ax.set_ylim(c - 0.4, -0.6)
        ax.set_xlim(min(0.4, *s.jaccard[b, k], 1) - 0.03, 1.03)
        _write_above(ax, 0.5, "dissolved ◂", "right")
        _write_above(ax, 0.75, "▸ stable", "left")

    def _draw_objects(self, ax: Any, palette: np.ndarray) -> None:
        s = self.stability
        doubt = explain.doubt_scores(s.partition)
        change = 1 - s.objects
        seen = np.flatnonzero(s.drawn > 0)
        rng = np.random.default_rng(0)
        labels = s.partition.labels_with_outliers[seen]
        inks = np.where((labels >= 0)[:, None], palette[labels], 0.1)
        # Reproducible jitter separates points at the same position.
        jitter = rng.uniform(-0.012, 0.012, len(seen))
        size = np.clip(4000 / max(len(seen), 1), 8, 22)
        self.object_points_ = ax.scatter(
            doubt[seen],
            np.clip(change[seen] + jitter, -0.02, 1.02),
            s=size * np.where(change[seen] > 0, 1.0, 0.5),
            c=inks,
            alpha=0.45,
            linewidths=0,
            rasterized=len(seen) > MIN_RASTER_OBJECTS,
        )
        inside = seen[doubt[seen] <= 1]  # Outliers have a doubt above 1.
        from scipy.stats import binned_statistic  # slow to import

        means = binned_statistic(
            doubt[inside], [doubt[inside], change[inside]], bins=_N_BINS, range=(0, 1)
        ).statistic
        (self.mean_line_,) = ax.plot(
            *means[:, ~np.isnan(means[0])],
            color=INK,
            linewidth=1.4,
            marker="o",
            markersize=3.5,
            label="mean",
        )
        finish_axes(ax, "doubt", "share of resamples with another assignment")
        if doubt[seen].max(initial=0) > 1:
            ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
            _write_above(ax, 1, "▸ outliers", "left")
        ax.set_ylim(-0.04, 1.04)
        ax.legend(fontsize="small", edgecolor="none", framealpha=0.85, loc="upper left")


def _shorten_frame(partition: Any) -> list[str]:
    return [shorten(printable(name), MAX_NAME_CHARACTERS) for name in partition.frame]


def _write_above(ax: Any, x: float, text: str, ha: str) -> None:
    """Write a small gray text above the axes at the horizontal position x."""
    ax.annotate(
        text,
        (x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-3 if ha == "right" else 3, 2),
        textcoords="offset points",
        ha=ha,
        va="bottom",
        fontsize="x-small",
        color=GREY,
    )


class RetentionCurveDisplay(CurvesDisplay):
    """Display of one or several `RetentionCurve`, which their method `plot` creates."""

    def _draw_curve(self, curve: Any, **style: Any) -> list[Any]:
        return self.ax_.plot(
            curve.share, curve.quality, marker="o", markersize=3, **style
        )

    def _finish(self, title: str | None) -> None:
        from matplotlib.ticker import PercentFormatter

        ylabel = "adjusted Rand index of retained objects"
        finish_axes(
            self.ax_, "share of retained objects", ylabel, title=title, grid=True
        )
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


_LEVELS = np.linspace(0.01, 0.99, 99)


class CoverageDisplay(Display):
    """Display of the coverage and the mean size of sets of classes against the confidence.

    The set of an object contains the classes whose plausibility is above 1 - confidence. The
    coverage of valid mass functions (see `dempster.classify.ConformalClassifier`) is on or above
    the diagonal, apart from random variation. The smaller the sets, the better the classifier.

    Parameters
    ----------
    confidence : array-like of shape (t,)
        Confidences.
    coverage : mapping of str to array-like of shape (t,)
        Share of sets that contain the true class, by the name of the curve.
    size : mapping of str to array-like of shape (t,)
        Mean number of classes in a set, by the name of the curve.

    Attributes
    ----------
    axes_, figure_ : list of Matplotlib axes, and figure
        Axes of the coverage and of the size.
    lines_ : list of lines
        One line for each curve in each panel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.classify import ConformalClassifier
    >>> from dempster.plot import CoverageDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(random_state=0).fit(X[::2], y[::2])
    >>> display = CoverageDisplay.from_estimator(model, X[1::2], y[1::2], by_class=True)
    >>> list(display.coverage)
    ['all', '0', '1', '2']
    """

    def __init__(
        self, *, confidence: Any, coverage: Mapping[str, Any], size: Mapping[str, Any]
    ):
        self.confidence = np.asarray(confidence, float)
        self.coverage = dict(coverage)
        self.size = dict(size)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, by_class: bool = False, **options: Any
    ) -> Self:
        """Compute the curves of a fitted classifier on objects with known classes, and draw them.

        Parameters
        ----------
        estimator : fitted classifier
            Classifier with ``predict_mass``, such as `dempster.classify.ConformalClassifier`.
        X : array-like of shape (n, n_features)
            Objects that were used neither for training nor for calibration.
        y : array-like of shape (n,)
            True classes.
        by_class : bool, default=False
            Whether to draw a curve for the objects of each class as well.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        CoverageDisplay
        """
        validate_estimator(estimator, "predict_mass")
        check(by_class, "by_class", flag)
        masses = estimator.predict_mass(X)
        places = {name: k for k, name in enumerate(masses.frame)}
        truth = _validate_classes(y, len(masses), places)
        codes = np.array([places[name] for name in truth.tolist()], np.intp)
        contour = np.asarray(masses.contour, float)
        groups = {"all": np.ones(len(codes), bool)}
        if by_class:
            groups |= {
                str(name): codes == k
                for name, k in places.items()
                if (codes == k).any()
            }
        own = contour[np.arange(len(codes)), codes]
        coverage = {}
        size = {}
        for name, rows in groups.items():
            coverage[name] = _share_above(own[rows])
            size[name] = _share_above(contour[rows].ravel()) * contour.shape[1]
        return cls(confidence=_LEVELS, coverage=coverage, size=size).plot(**options)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw the coverage on the left and the size on the right.

        Parameters
        ----------
        axes : sequence of two Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional
            Title of the left panel.

        Returns
        -------
        self
        """
        palette = cluster_colors(len(self.coverage))
        self._open_panels(axes, 2, 2, (4.6, 3.8))
        self.lines_ = []
        for ax, curves in zip(self.axes_, (self.coverage, self.size), strict=True):
            for (name, values), color in zip(curves.items(), palette, strict=True):
                self.lines_ += ax.plot(
                    self.confidence, values, color=color, linewidth=1.6, label=name
                )
        left, right = self.axes_
        left.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=1)
        finish_axes(
            left,
            "confidence",
            "share of sets with the true class",
            title=title,
            grid=True,
        )
        finish_axes(right, "confidence", "mean number of classes in a set", grid=True)
        if len(self.coverage) > 1:
            draw_legend(left, self.lines_[: len(self.coverage)])
        return self


def _share_above(plausibilities: np.ndarray) -> np.ndarray:
    """Return the share of plausibilities above 1 - confidence, for each confidence."""
    n_below = np.searchsorted(np.sort(plausibilities), 1 - _LEVELS + 1e-9, "right")
    return 1 - n_below / len(plausibilities)


class ReliabilityDisplay(Display):
    """Display of the probabilities of clusters against the frequencies of the matched classes.

    `CalibrationDisplay.from_partition` computes the data. Each pair of an object and a cluster
    counts once. The pairs are divided into bins of equal width by the pignistic probability. The
    points of calibrated probabilities are near the diagonal: of the pairs with a probability of
    about 0.8, eight in ten belong to the cluster. Below the diagonal, the probabilities are too
    large. Bars show the number of pairs in each bin.

    Parameters
    ----------
    probability : array-like of shape (b,)
        Mean probability in each bin, NaN for empty bins.
    frequency : array-like of shape (b,)
        Share of the pairs in each bin whose object has the class of the cluster, NaN for empty
        bins.
    counts : array-like of shape (b,)
        Number of pairs in each bin.

    Attributes
    ----------
    error : float
        Mean absolute difference between probability and frequency, weighted by the counts (the
        expected calibration error).
    axes_, figure_ : list of Matplotlib axes, and figure
        Axes of the frequencies and of the counts.
    line_ : line
        Points of the bins.
    bars_ : container of bars

    References
    ----------
    A. Niculescu-Mizil and R. Caruana (2005). Predicting good probabilities with supervised
    learning. ICML.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import CalibrationDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> partition = ECM(3, random_state=0).fit(X).credal_partition_
    >>> display = CalibrationDisplay.from_partition(partition, y)
    >>> int(display.counts.sum())  # 150 objects, 3 clusters
    450
    """

    def __init__(self, *, probability: Any, frequency: Any, counts: Any):
        self.probability = np.asarray(probability, float)
        self.frequency = np.asarray(frequency, float)
        self.counts = np.asarray(counts)
        gaps = np.abs(self.probability - self.frequency)
        filled = self.counts > 0
        self.error = float(np.average(gaps[filled], weights=self.counts[filled]))

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw the frequencies on the left and the counts on the right.

        Parameters
        ----------
        axes : sequence of two Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional
            Title of the left panel.

        Returns
        -------
        self
        """
        self._open_panels(axes, 2, 2, (4.4, 3.8))
        left, right = self.axes_
        left.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=1)
        filled = self.counts > 0
        (self.line_,) = left.plot(
            self.probability[filled],
            self.frequency[filled],
            color=INK,
            linewidth=1.4,
            marker="o",
            markersize=4,
        )
        finish_axes(
            left,
            "pignistic probability",
            "frequency of the class",
            title=title,
            grid=True,
        )
        left.set_xlim(-0.03, 1.03)
        left.set_ylim(-0.03, 1.03)
        write_note(left, f"mean error {self.error:.3f}")
        edges = np.linspace(0, 1, len(self.counts) + 1)
        self.bars_ = right.bar(
            edges[:-1],
            self.counts,
            np.diff(edges),
            align="edge",
            color=GREY,
            linewidth=0,
        )
        right.set_yscale("log", nonpositive="clip")
        right.set_xlim(-0.03, 1.03)
        right.set_ylim(bottom=0.7)  # A bar for a single pair is visible.
        finish_axes(right, "pignistic probability", "pairs of an object and a cluster")
        return self


@dataclass(frozen=True)
class RejectionCurve:
    """Error rate as a function of the share of rejected (undecided) objects.

    Attributes
    ----------
    rejection_rate : array of shape (t,)
        Shares of rejected objects, in increasing order from 0.
    error : array of shape (t,)
        Share of wrong decisions among the objects that are not rejected.
    threshold : array of shape (t,)
        Loss of rejection at which each share of objects is rejected. It is the largest expected
        loss among the objects that are not rejected.
    """

    rejection_rate: np.ndarray
    error: np.ndarray
    threshold: np.ndarray

    def __post_init__(self) -> None:
        convert_fields(self, rejection_rate="t", error="t", threshold="t")

    @classmethod
    def from_losses(cls, wrong: Any, expected_loss: Any) -> RejectionCurve:
        """Compute the curve from the expected losses of decisions.

        Objects with equal losses are rejected together.

        Parameters
        ----------
        wrong : Boolean array-like of shape (n,)
            Whether each decision is wrong.
        expected_loss : array-like of shape (n,)
            Expected loss of each decision.

        Returns
        -------
        RejectionCurve
        """
        wrong = as_boolean(wrong, "wrong")
        loss = as_numbers(expected_loss, "expected_loss")
        if wrong.ndim != 1 or len(wrong) == 0 or loss.shape != wrong.shape:
            shapes = f"{wrong.shape} and {loss.shape}"
            raise InvalidInputError(
                f"wrong and expected_loss must have the same shape (n,) with n > 0, got {shapes}"
            )
        order = np.argsort(loss, kind="stable")
        loss = loss[order]
        is_last_of_group = np.append(np.diff(loss) > 1e-12, True)
        n_decided = np.flatnonzero(is_last_of_group)[::-1] + 1
        error = np.cumsum(wrong[order])[n_decided - 1] / n_decided
        return cls(1 - n_decided / len(loss), error, loss[n_decided - 1])

    @property
    def area(self) -> float:
        """Mean error over all rejection rates, which is the area under the curve; 0 is best."""
        return float(self.error @ np.diff(np.append(self.rejection_rate, 1.0)))

    def error_at(self, rejection_rate: float) -> float:
        """Return the error rate if at least the given share of the objects is rejected.

        0 if all are rejected.

        Parameters
        ----------
        rejection_rate : float in [0, 1]
            Share of rejected objects.

        Returns
        -------
        float
        """
        check(rejection_rate, "rejection_rate", real(0, 1))
        reached = np.flatnonzero(self.rejection_rate >= rejection_rate - 1e-12)
        if len(reached):
            return float(self.error[reached[0]])
        return 0.0


class RejectionCurveDisplay(CurvesDisplay):
    """Display of the error rate of the decided objects against the share of rejected objects.

    The curve of a classifier falls quickly if its wrong decisions have large expected losses.

    Parameters
    ----------
    curves : mapping of str to RejectionCurve
        Curves by the names of the classifiers.

    Attributes
    ----------
    areas : dict of str to float
        Mean error over all rejection rates.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One line for each curve.

    References
    ----------
    C. K. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Trans. Information
    Theory 16.

    T. Denoeux (1997). Analysis of evidence-theoretic decision rules for pattern classification.
    Pattern Recognition 30.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.classify import EKNNClassifier
    >>> from dempster.plot import RejectionCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EKNNClassifier(9).fit(X[::2], y[::2])
    >>> display = RejectionCurveDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> curve = display.curves["EKNNClassifier"]
    >>> round(curve.error_at(0.0), 3), curve.error_at(0.2)
    (0.013, 0.0)
    """

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the curves of fitted classifiers on objects with known classes.

        Parameters
        ----------
        estimator : fitted classifier, or mapping of names to classifiers
            Classifiers with ``predict_mass`` or, for comparison, ``predict_proba``. The expected
            loss of a decision is one minus its pignistic or predicted probability.
        X : array-like of shape (n, n_features)
            Attributes of the objects.
        y : array-like of shape (n,)
            True classes.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        RejectionCurveDisplay
        """
        estimators = {type(estimator).__name__: estimator}
        if isinstance(estimator, Mapping):
            estimators = dict(estimator)
        curves = {name: _compute_curve(one, X, y) for name, one in estimators.items()}
        return cls(curves=curves).plot(**options)

    def _draw_curve(self, curve: Any, **style: Any) -> list[Any]:
        return self.ax_.plot(
            np.append(curve.rejection_rate, 1.0),
            np.append(curve.error, curve.error[-1]),
            drawstyle="steps-post",
            **style,
        )

    def _finish(self, title: str | None) -> None:
        finish_axes(
            self.ax_,
            "share of rejected objects",
            "error of decided objects",
            title=title,
            grid=True,
        )
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(bottom=0)


def _compute_curve(estimator: Any, X: Any, y: Any) -> RejectionCurve:
    validate_estimator(estimator)
    if callable(getattr(estimator, "predict_mass", None)):
        masses = estimator.predict_mass(X)
        classes = np.empty(masses.n_clusters, object)
        classes[:] = masses.frame
        losses = masses.expected_losses("pignistic")
    elif hasattr(estimator, "predict_proba"):
        classes = estimator.classes_
        losses = 1 - np.asarray(estimator.predict_proba(X))
    else:
        raise InvalidParameterError(
            "estimator",
            must=f"have predict_mass or predict_proba, got {type(estimator).__name__}",
        )
    truth = _validate_classes(y, len(losses), classes)
    wrong = classes[losses.argmin(axis=1)] != truth
    return RejectionCurve.from_losses(wrong, losses.min(axis=1))


def _validate_classes(y: Any, n: int, known: Iterable[Any]) -> np.ndarray:
    classes = as_labels(y, "y")
    if classes.shape != (n,) or n == 0:
        raise InvalidParameterError(
            "y", must=f"contain the classes of {n} objects, got shape {classes.shape}"
        )
    unknown = set(classes.tolist()).difference(known)
    if unknown:
        raise InvalidParameterError(
            "y", must="contain only classes of the classifier", value=unknown.pop()
        )
    return classes
