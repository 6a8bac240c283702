"""Displays of the quality of partitions and predictions: silhouettes, stability, retention, coverage, rejection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

import dempster.explain as explain
import dempster.plot._canvas as canvas
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count, printable, shorten
from dempster._validation import (
    as_boolean,
    as_labels,
    as_reals,
    check,
    check_choice,
    convert_fields,
    flag,
    kind,
    real,
)
from dempster.belief import MassFunctions
from dempster.belief.decisions import SINGLE_RULES
from dempster.plot._canvas import CurvesDisplay, finish_axes, name_estimators, validate_estimator
from dempster.plot.palette import GREY, INK

_GAP_SHARE = 0.015  # Gap between clusters, as a share of the objects.
_LIGHT = 0.35  # Share of the cluster color in the lighter color of ambiguous objects.
MAX_NAME_CHARACTERS = 22
_MAX_POINTS = 5_000
_N_BINS = 8
_MEASURE_NAMES = {
    "ari": "adjusted Rand index of retained objects",
    "accuracy": "accuracy of retained objects",
}


class SilhouetteDisplay(canvas.Display):
    """Display of the silhouettes of the objects as bars, in decreasing order within each cluster.

    Objects that certainly belong to a cluster have its color. Ambiguous objects have a lighter
    color and appear in the cluster of their label. Outliers are not drawn. Short or negative bars
    belong to objects that are about as near to another cluster as to their own.

    Parameters
    ----------
    silhouette : CredalSilhouette
        Silhouettes to draw.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    bars_ : list of filled areas
        Bars of the objects.
    lines_ : list of lines
        Lines at the mean over all objects except outliers, and at the mean over the certain
        objects.

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

    def __init__(self, *, silhouette: explain.CredalSilhouette):
        check(silhouette, "silhouette", kind(explain.CredalSilhouette))
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
        **options: Any,
    ) -> Self:
        """Compute the silhouettes of a partition and draw them.

        Parameters
        ----------
        partition, X, metric, sample_size, random_state
            Arguments of `dempster.explain.credal_silhouette`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        SilhouetteDisplay
        """
        settings = {"metric": metric, "sample_size": sample_size, "random_state": random_state}
        return cls(silhouette=explain.credal_silhouette(partition, X, **settings)).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the silhouettes.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure, whose height depends on the number of clusters.
        colors : sequence of colors, optional
            Colors of the clusters.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it.
        title : str, optional

        Returns
        -------
        self
        """
        s = self.silhouette
        c = s.partition.n_clusters
        palette = canvas.cluster_colors(c, colors)
        self._open_axes(ax, (6.4, float(np.clip(2 + 0.35 * c, 4, 12))))
        labels = s.partition.labels[s.objects]
        gap = max(1.0, _GAP_SHARE * len(s))
        self.bars_ = []
        ticks = []
        y = 0.0
        for k in range(c):
            start = y
            for members, strength in (
                ((labels == k) & (s.sizes == 1), 1.0),
                ((labels == k) & (s.sizes > 1), _LIGHT),
            ):
                values = np.sort(s.values[members])[::-1]
                if len(values):
                    edges = y + np.arange(len(values) + 1)
                    widths = np.append(values, values[-1])
                    style = {
                        "facecolor": 1 - strength * (1 - palette[k]),
                        "edgecolor": "none",
                        "linewidth": 0,
                    }
                    self.bars_.append(
                        self.ax_.fill_betweenx(edges, 0, widths, step="post", **style)
                    )
                    y = float(edges[-1])
            ticks.append((start + y) / 2)
            y += gap
        if s.is_sampled:
            sampling = f" ({len(s):,} of {len(s.partition):,} objects)"
        else:
            sampling = ""
        canvas.finish_axes(self.ax_, f"credal silhouette{sampling}", "cluster", title)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.axvline(0, color=GREY, linewidth=0.8)
        self.lines_ = [
            self.ax_.axvline(
                value, color=INK, linewidth=1.1, linestyle=style, label=f"{name}: {value:.2f}"
            )
            for name, value, style in (
                ("mean", s.mean, "--"),
                ("mean of certain objects", s.certain_mean, ":"),
            )
            if np.isfinite(value)
        ]
        self.ax_.set_ylim(max(y - gap, 1.0), 0)
        self.ax_.set_yticks(ticks, _shorten_frame(s.partition), parse_math=False)
        self.ax_.tick_params(axis="y", length=0)
        if canvas.resolve_auto(legend, True):
            self._draw_legend()
        return self

    def _draw_legend(self) -> None:
        from matplotlib.patches import Patch

        sizes = self.silhouette.sizes
        handles: list[Any] = list(self.lines_)
        if (sizes > 1).any():
            handles += [
                Patch(facecolor="0.35", label="certain"),
                Patch(facecolor="0.8", label="ambiguous"),
            ]
        if n_outliers := int((sizes == 0).sum()):
            handles.append(
                Patch(facecolor="none", label=f"({format_count(n_outliers, 'outlier')} not shown)")
            )
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 4.5}
        self.ax_.legend(handles=handles, fontsize="small", frameon=False, ncols=2, **below)


class StabilityDisplay(canvas.Display):
    """Display of the stability of clusters and objects under resampling.

    The left panel shows the Jaccard index of every cluster with the most similar cluster of each
    resample, and the mean over the resamples. A cluster with a mean below 0.5 is dissolved. A
    cluster with a mean of at least 0.75 is stable (Hennig, 2007). The right panel shows how often
    the cluster of each object changes, against the doubt of the object in the partition of all
    objects. If the doubt is informative, objects that change are on the right.

    Parameters
    ----------
    stability : Stability
        Stability to draw.

    Attributes
    ----------
    axes_ : list of two Matplotlib axes
    figure_ : Matplotlib figure
    cluster_points_, object_points_ : collections
        Points of the left and the right panel.
    mean_line_ : line
        Mean share of changes of objects with similar doubt.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import StabilityDisplay
    >>> display = StabilityDisplay.from_estimator(ECM(3, random_state=0), load_iris().data, 5, random_state=0)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['Jaccard index with the most similar cluster', 'doubt']
    """

    def __init__(self, *, stability: explain.Stability):
        check(stability, "stability", kind(explain.Stability))
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
        **options: Any,
    ) -> Self:
        """Compute the stability of an estimator and draw it.

        Parameters
        ----------
        estimator, X, n_resamples, fraction, bootstrap, random_state, n_jobs
            Arguments of `dempster.explain.stability`. To set further arguments, call this function
            and then `Stability.plot`.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        StabilityDisplay
        """
        settings = {
            "fraction": fraction,
            "bootstrap": bootstrap,
            "random_state": random_state,
            "n_jobs": n_jobs,
        }
        return cls(stability=explain.stability(estimator, X, n_resamples, **settings)).plot(
            **options
        )

    @canvas.validate_options()
    def plot(
        self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None
    ) -> Self:
        """Draw the two panels.

        Parameters
        ----------
        axes : two Matplotlib axes, optional
            By default the panels of a new figure.
        colors : sequence of colors, optional
            Colors of the clusters.
        title : str, optional
            Title of the left panel.

        Returns
        -------
        self
        """
        c = self.stability.partition.n_clusters
        palette = canvas.cluster_colors(c, colors)
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
            s.jaccard[b, k], k, s=60, c=palette[k], marker="|", linewidths=1.2, alpha=0.6
        )
        seen = np.flatnonzero(~np.isnan(s.clusters))
        ax.scatter(
            s.clusters[seen], seen, s=46, c=palette[seen], edgecolors=INK, linewidths=0.8, zorder=3
        )
        canvas.finish_axes(ax, "Jaccard index with the most similar cluster", "cluster")
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
        if len(seen) <= _MAX_POINTS:
            points = seen
        else:
            points = rng.choice(seen, _MAX_POINTS, replace=False)
        labels = s.partition.labels_with_outliers[points]
        inks = np.where((labels >= 0)[:, None], palette[labels], 0.1)
        # Reproducible jitter separates points at the same position.
        jittered = np.clip(change[points] + rng.uniform(-0.012, 0.012, len(points)), -0.02, 1.02)
        size = float(np.clip(4000 / max(len(points), 1), 8, 22)) * np.where(
            change[points] > 0, 1.0, 0.5
        )
        self.object_points_ = ax.scatter(
            doubt[points], jittered, s=size, c=inks, alpha=0.45, linewidths=0
        )
        inside = seen[doubt[seen] <= 1]  # Outliers have a doubt above 1.
        bins = np.minimum((doubt[inside] * _N_BINS).astype(int), _N_BINS - 1)
        count = np.bincount(bins, minlength=_N_BINS)
        filled = count > 0
        x, y = (
            np.bincount(bins, values[inside], minlength=_N_BINS)[filled] / count[filled]
            for values in (doubt, change)
        )
        (self.mean_line_,) = ax.plot(
            x, y, color=INK, linewidth=1.4, marker="o", markersize=3.5, label="mean"
        )
        canvas.finish_axes(ax, "doubt", "share of resamples with another assignment")
        if doubt[seen].max(initial=0) > 1:
            ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":")
            _write_above(ax, 1, "▸ outliers", "left")
        ax.set_ylim(-0.04, 1.04)
        ax.legend(fontsize="small", edgecolor="none", framealpha=0.85, loc="upper left")


def _shorten_frame(partition: Any) -> list[str]:
    return [shorten(printable(name), MAX_NAME_CHARACTERS) for name in partition.frame]


def _write_above(ax: Any, x: float, text: str, ha: str) -> None:
    """Write a small gray text above the axes at the horizontal position x."""
    style: dict[str, Any] = {
        "xycoords": ("data", "axes fraction"),
        "textcoords": "offset points",
        "va": "bottom",
    }
    offset = (-3 if ha == "right" else 3, 2)
    ax.annotate(text, (x, 1), xytext=offset, ha=ha, fontsize="x-small", color=GREY, **style)


class RetentionCurveDisplay(canvas.CurvesDisplay):
    """Display of the quality of one or several partitions after removing the most doubtful objects.

    If the doubt is informative, the quality is higher on the left, where only the objects with the
    least doubt are retained.

    Parameters
    ----------
    curves : mapping of str to RetentionCurve
        Curves by the names of the partitions, all with the same measure of quality.

    Attributes
    ----------
    areas : dict of str to float
        Mean quality over the shares of each curve.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One line for each curve.

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

    _curve_class = explain.RetentionCurve
    _style = {"marker": "o", "markersize": 3}

    def __init__(self, *, curves: Mapping[str, explain.RetentionCurve]):
        super().__init__(curves=curves)
        measures = {curve.measure for curve in self.curves.values()}
        if len(measures) > 1:
            raise InvalidInputError(
                f"curves must have the same measure of quality, got {', '.join(sorted(measures))}"
            )

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        y: Any,
        *,
        shares: Any = None,
        doubt: Any = None,
        quality: str = "ari",
        **options: Any,
    ) -> Self:
        """Draw the curves of one or several partitions of objects with known classes.

        Parameters
        ----------
        partition : CredalPartition, labels, or mapping of names to partitions
            Partition, or several partitions of the same objects.
        y : array-like of shape (n,)
            True classes.
        shares : array-like, optional
            Shares of the objects to keep; see `dempster.explain.retention_curve`.
        doubt : array-like of shape (n,), or mapping of names to arrays, optional
            Doubt scores that replace the scores of the partition. For several partitions, pass a
            mapping; it need not contain all names.
        quality : {"ari", "accuracy"}, default="ari"
            Measure of quality; see `dempster.explain.retention_curve`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        RetentionCurveDisplay
        """
        if not isinstance(partition, Mapping):
            partition = {"partition": partition}
            doubt = {"partition": doubt}
        elif doubt is not None and not isinstance(doubt, Mapping):
            raise InvalidInputError(
                "doubt must be a mapping of names to arrays if partition is a mapping"
            )
        scores = dict(doubt or {})
        if unknown := [name for name in scores if name not in partition]:
            names = ", ".join(map(str, partition))
            raise InvalidInputError(
                f"doubt must have only names of partitions ({names}) as keys, got {unknown}"
            )
        curves = {
            name: explain.retention_curve(
                one, y, shares=shares, doubt=scores.get(name), quality=quality
            )
            for name, one in partition.items()
        }
        return cls(curves=curves).plot(**options)

    def _points(self, curve: Any) -> tuple[np.ndarray, np.ndarray]:
        return curve.share, curve.quality

    def _finish(self, title: str | None) -> None:
        from matplotlib.ticker import PercentFormatter

        measure = next(iter(self.curves.values())).measure
        canvas.finish_axes(
            self.ax_,
            "share of retained objects",
            _MEASURE_NAMES.get(measure, measure),
            title,
            grid=True,
        )
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


_LEVELS = np.linspace(0.01, 0.99, 99)


class CoverageDisplay(canvas.Display):
    """Display of the share of sets that contain the true class, and of their mean size, against the confidence.

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

    def __init__(self, *, confidence: Any, coverage: Mapping[str, Any], size: Mapping[str, Any]):
        self.confidence = canvas.validate_sequence(confidence, "confidence")
        n = len(self.confidence)
        self.coverage, self.size = (
            {
                str(key): canvas.validate_sequence(values, name, n)
                for key, values in canvas.mapping_items(given, name)
            }
            for given, name in ((coverage, "coverage"), (size, "size"))
        )
        if not self.coverage or self.coverage.keys() != self.size.keys():
            raise InvalidInputError("coverage and size must have the same names, and at least one")

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
        canvas.validate_estimator(estimator, "predict_mass")
        return cls.from_masses(estimator.predict_mass(X), y, by_class=by_class, **options)

    @classmethod
    def from_masses(
        cls, masses: MassFunctions, y: Any, *, by_class: bool = False, **options: Any
    ) -> Self:
        """Compute the curves of mass functions that were predicted for objects with known classes, and draw them.

        Parameters
        ----------
        masses : MassFunctions
            Predicted mass functions of the n objects.
        y : array-like of shape (n,)
            True classes, which are elements of the frame.
        by_class, **options
            See `from_estimator`.

        Returns
        -------
        CoverageDisplay
        """
        check(masses, "masses", kind(MassFunctions))
        check(by_class, "by_class", flag)
        truth = as_labels(y, "y").tolist()
        places = {name: k for k, name in enumerate(masses.frame)}
        unknown = [name for name in truth if name not in places]
        if unknown or len(truth) != len(masses) or not truth:
            raise InvalidParameterError(
                "y", f"the classes of {len(masses)} objects, elements of {masses.frame}"
            )
        codes = np.array([places[name] for name in truth])
        contour = np.asarray(masses.contour, dtype=float)
        groups = {"all": np.ones(len(codes), dtype=bool)}
        if by_class:
            groups |= {str(name): codes == k for name, k in places.items() if (codes == k).any()}
        own = contour[np.arange(len(codes)), codes]
        coverage = {name: _share_above(own[rows]) for name, rows in groups.items()}
        size = {
            name: _share_above(contour[rows].ravel()) * contour.shape[1]
            for name, rows in groups.items()
        }
        return cls(confidence=_LEVELS, coverage=coverage, size=size).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        axes: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the coverage on the left and the size on the right.

        Parameters
        ----------
        axes : sequence of two Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of colors, optional
            Colors of the curves.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it if there are several curves.
        title : str, optional
            Title of the left panel.

        Returns
        -------
        self
        """
        palette = canvas.cluster_colors(len(self.coverage), colors)
        self._open_panels(axes, 2, 2, (4.6, 3.8))
        self.lines_ = []
        for ax, curves in zip(self.axes_, (self.coverage, self.size), strict=True):
            for (name, values), color in zip(curves.items(), palette, strict=True):
                self.lines_ += ax.plot(
                    self.confidence, values, color=color, linewidth=1.6, label=name
                )
        left, right = self.axes_
        left.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=1)
        canvas.finish_axes(
            left, "confidence", "share of sets with the true class", title, grid=True
        )
        canvas.finish_axes(right, "confidence", "mean number of classes in a set", None, grid=True)
        if canvas.resolve_auto(legend, len(self.coverage) > 1):
            canvas.draw_line_legend(left, self.lines_[: len(self.coverage)])
        return self


def _share_above(plausibilities: np.ndarray) -> np.ndarray:
    """Return the share of plausibilities above 1 - confidence, for each confidence."""
    n_below = np.searchsorted(np.sort(plausibilities), 1 - _LEVELS + 1e-9, side="right")
    return 1 - n_below / len(plausibilities)


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
        loss = as_reals(expected_loss, "expected_loss")
        if wrong.ndim != 1 or len(wrong) == 0 or loss.shape != wrong.shape:
            shapes = f"{wrong.shape} and {loss.shape}"
            raise InvalidInputError(
                f"wrong and expected_loss must have the same shape (n,) with n > 0, got {shapes}"
            )
        if not np.isfinite(loss).all():
            raise InvalidInputError("expected_loss must be finite")
        order = np.argsort(loss, kind="stable")
        last_of_group = np.append(np.flatnonzero(np.diff(loss[order]) > 1e-12), len(loss) - 1)[::-1]
        n_decided = last_of_group + 1
        error = np.cumsum(wrong[order])[last_of_group] / n_decided
        return cls(1 - n_decided / len(loss), error, loss[order][last_of_group])

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
    """Display of the error rate of the objects that are not rejected against the share of rejected objects.

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

    _curve_class = RejectionCurve
    _style = {"drawstyle": "steps-post"}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        rule: str = "pignistic",
        optimism: float = 0.5,
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> Self:
        """Draw the curves of fitted classifiers on objects with known classes.

        Parameters
        ----------
        estimator : fitted classifier, sequence of classifiers, or mapping of names to classifiers
            Classifiers with ``predict_mass`` or, for comparison, ``predict_proba``.
        X : array-like of shape (n, n_features)
            Attributes of the objects.
        y : array-like of shape (n,)
            True classes.
        rule : {"pignistic", "maximin", "maximax", "hurwicz"}, default="pignistic"
            Rule that defines the expected loss, see `MassFunctions.decide`.
        optimism : float, default=0.5
            Parameter of the rule "hurwicz".
        names : sequence of str, optional
            Names of the classifiers if ``estimator`` is a sequence; their class names by default.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        RejectionCurveDisplay
        """
        estimators = name_estimators(estimator, names)
        curves = {
            name: _compute_curve(one, X, y, rule, optimism) for name, one in estimators.items()
        }
        return cls(curves=curves).plot(**options)

    @classmethod
    def from_masses(
        cls,
        masses: MassFunctions | Mapping[str, MassFunctions],
        y: Any,
        *,
        rule: str = "pignistic",
        optimism: float = 0.5,
        **options: Any,
    ) -> Self:
        """Draw the curves of mass functions that classifiers predict for objects with known classes.

        Parameters
        ----------
        masses : MassFunctions, or mapping of names to MassFunctions
            Predicted mass functions of the n objects.
        y : array-like of shape (n,)
            True classes, which are elements of the frame.
        rule, optimism, **options
            See `from_estimator`.

        Returns
        -------
        RejectionCurveDisplay
        """
        if isinstance(masses, Mapping):
            by_name = masses
        else:
            by_name = {"masses": masses}
        curves = {
            str(name): _compute_mass_curve(one, y, rule, optimism) for name, one in by_name.items()
        }
        return cls(curves=curves).plot(**options)

    def _points(self, curve: Any) -> tuple[np.ndarray, np.ndarray]:
        return np.append(curve.rejection_rate, 1.0), np.append(curve.error, curve.error[-1])

    def _finish(self, title: str | None) -> None:
        finish_axes(
            self.ax_, "share of rejected objects", "error of decided objects", title, grid=True
        )
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(bottom=0)


def _compute_curve(estimator: Any, X: Any, y: Any, rule: str, optimism: float) -> RejectionCurve:
    validate_estimator(estimator)
    if callable(getattr(estimator, "predict_mass", None)):
        return _compute_mass_curve(estimator.predict_mass(X), y, rule, optimism)
    if not hasattr(estimator, "predict_proba"):
        raise InvalidInputError(
            f"estimator must have predict_mass or predict_proba, got {type(estimator).__name__}"
        )
    probabilities = np.asarray(estimator.predict_proba(X))
    classes = _validate_classes(y, len(probabilities), estimator.classes_)
    wrong = estimator.classes_[probabilities.argmax(axis=1)] != classes
    return RejectionCurve.from_losses(wrong, 1 - probabilities.max(axis=1))


def _compute_mass_curve(
    masses: MassFunctions, y: Any, rule: str, optimism: float
) -> RejectionCurve:
    check_choice(rule, "rule", SINGLE_RULES)
    classes = _validate_classes(y, len(masses), masses.frame)
    losses = masses.expected_losses(rule, optimism=optimism)
    frame = np.empty(masses.n_clusters, dtype=object)
    frame[:] = masses.frame
    return RejectionCurve.from_losses(frame[losses.argmin(axis=1)] != classes, losses.min(axis=1))


def _validate_classes(y: Any, n: int, known: Iterable[Any]) -> np.ndarray:
    classes = as_labels(y, "y")
    if classes.shape != (n,):
        raise InvalidInputError(
            f"y must contain the classes of {n} objects, got shape {classes.shape}"
        )
    unknown = set(classes.tolist()).difference(known)
    if unknown:
        raise InvalidParameterError(
            "y", must="contain only classes of the classifier", value=unknown.pop()
        )
    return classes
