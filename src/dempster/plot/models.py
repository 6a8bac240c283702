"""Displays of fitted models: convergence, mixtures, and their selection by BIC."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from dempster._errors import InvalidParameterError
from dempster._validation import default_feature_names, validating
from dempster.plot._canvas import (
    MARKERS,
    Display,
    cluster_colors,
    draw_legend,
    draw_outside_legend,
    draw_ring,
    finish_axes,
    name_estimators,
    validate_estimator,
    validate_names,
)
from dempster.plot.credal_partition import MIN_RASTER_OBJECTS
from dempster.plot.palette import GREY, INK

# Minimum ratio of the largest to the smallest objective for a logarithmic axis.
_MIN_LOG_RATIO = 20.0
_MAX_DOTS = 60  # With more iterations, no dots mark the iterations on the lines.


class ConvergenceDisplay(Display):
    """Display of the objective of one or several estimators after every iteration.

    Parameters
    ----------
    histories : mapping of str to array
        Objective after every iteration, by the name of the estimator.
    converged : mapping of str to bool, optional
        Whether each estimator converged. The line of an estimator that did not converge ends in an
        open circle.
    validation : mapping of str to array, optional
        Objective on held-out data, by the name of the estimator; drawn as dashed lines. Names may
        be missing.
    references : mapping of str to float, optional
        Reference values by name; drawn as dotted horizontal lines.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One line for each history.
    validation_lines_, reference_lines_ : lists of lines
        Lines of the validation objectives and of the reference values.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> from dempster.plot import ConvergenceDisplay
    >>> X = load_butterfly().data
    >>> models = {f"delta = {d}": ECM(2, delta=d, random_state=0).fit(X) for d in (5, 10)}
    >>> display = ConvergenceDisplay.from_estimator(models)
    >>> list(display.histories)
    ['delta = 5', 'delta = 10']
    """

    def __init__(
        self,
        *,
        histories: Mapping[str, Any],
        converged: Mapping[str, bool] | None = None,
        validation: Mapping[str, Any] | None = None,
        references: Mapping[str, float] | None = None,
    ):
        self.histories = {
            name: np.asarray(values, dtype=float) for name, values in histories.items()
        }
        self.converged = dict(converged or {})
        self.validation = {
            name: np.asarray(values, dtype=float)
            for name, values in (validation or {}).items()
        }
        self.references = dict(references or {})

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the history of one or several fitted estimators.

        Parameters
        ----------
        estimator : fitted estimator, or mapping of names to estimators
            Estimators with the attribute ``history_``. A nonempty ``validation_history_`` is also
            drawn. If a network was initialized by EVCLUS (``evclus_``), the loss of that fit is a
            reference value.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ConvergenceDisplay
        """
        estimators = name_estimators(estimator)
        histories = {}
        converged = {}
        validation = {}
        references = {}
        for name, one in estimators.items():
            validate_estimator(one, "history_")
            histories[name] = one.history_
            converged[name] = getattr(one, "converged_", True)
            if len(held_out := getattr(one, "validation_history_", ())):
                validation[name] = held_out
            if (start := getattr(one, "evclus_", None)) is not None:
                prefix = f"{name}: " * (len(estimators) > 1)
                references[f"{prefix}EVCLUS"] = start.loss_
        display = cls(
            histories=histories,
            converged=converged,
            validation=validation,
            references=references,
        )
        return display.plot(**options)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the histories.

        The axis is logarithmic for positive objectives of different orders of magnitude.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        histories = self.histories
        references = np.array(list(self.references.values()))
        values = np.concatenate(
            [*histories.values(), *self.validation.values(), references]
        )
        is_log = values.min() > 0 and values.max() > _MIN_LOG_RATIO * values.min()
        palette = cluster_colors(len(histories))
        ax = self._open_axes(ax, (6.4, 4))
        if is_log:
            ax.set_yscale("log")
        self.lines_ = []
        self.validation_lines_ = []
        for (name, curve), color in zip(histories.items(), palette, strict=True):
            iterations = np.arange(1, len(curve) + 1)
            self.lines_ += ax.plot(
                iterations,
                curve,
                color=color,
                linewidth=1.6,
                label=name,
                marker="." if len(curve) <= _MAX_DOTS else None,
                markersize=4,
            )
            last = np.flatnonzero(np.isfinite(curve))[-1:]
            ax.plot(
                iterations[last],
                curve[last],
                linestyle="none",
                marker="o",
                markersize=6,
                markeredgecolor=color,
                markerfacecolor=color if self.converged.get(name, True) else "white",
            )
            if name in self.validation:
                held_out = self.validation[name]
                self.validation_lines_ += ax.plot(
                    np.arange(1, len(held_out) + 1),
                    held_out,
                    label=f"{name}: " * (len(histories) > 1) + "held out",
                    color=color,
                    linewidth=1.2,
                    linestyle="--",
                )
        self.reference_lines_ = [
            ax.axhline(
                value, color=GREY, linewidth=1.2, linestyle=":", label=name, zorder=1.5
            )
            for name, value in self.references.items()
        ]
        finish_axes(
            ax, "iteration", "objective", title=title, grid=True, integer_ticks=True
        )
        lines = [*self.lines_, *self.validation_lines_, *self.reference_lines_]
        if len(lines) > 1:
            draw_legend(ax, lines)
        return self


SHARES = (0.5, 0.95)  # Probabilities of the regions inside the ellipses.
MAX_ATTRIBUTES = 6  # This number of attributes has 15 pairs.
MAX_COLUMNS = 3
_CIRCLE = np.exp(2j * np.pi * np.linspace(0, 1, 101))


def ellipse_outlines(mean: np.ndarray, covariance: np.ndarray) -> list[np.ndarray]:
    """Return the ellipses of constant density that contain the shares `SHARES` of a Gaussian."""
    variances, axes = np.linalg.eigh(covariance)
    circle = np.column_stack([_CIRCLE.real, _CIRCLE.imag])
    unit = circle * np.sqrt(np.maximum(variances, 0)) @ axes.T
    return [mean + np.sqrt(-2 * np.log(1 - share)) * unit for share in SHARES]


class MixtureDisplay(Display):
    """Display of a Gaussian mixture in all pairs of attributes.

    The ellipses of each component contain 50 % and 95 % of its probability in the plane of the two
    attributes. Crosses are the means. Objects have the color of their most probable component.

    Parameters
    ----------
    points : array of shape (n, d)
        Attributes of the objects.
    labels : array of n int
        Component of each object.
    means : array of shape (c, d)
        Means of the components.
    covariances : array of shape (c, d, d)
        Covariance matrices of the components.
    attribute_names : sequence of d str, optional
        Names of the attributes.

    Attributes
    ----------
    pairs : list of pairs of int
        Attributes on the horizontal and the vertical axis of each panel.
    figure_ : Matplotlib figure
    axes_ : list of axes
        One panel for each pair of attributes.
    ellipses_ : list of lists of lines
        Ellipses in each panel, two for each component.

    Examples
    --------
    >>> from dempster.datasets import load_iris
    >>> from dempster.mixture import ParsimoniousGaussianMixture
    >>> from dempster.plot import MixtureDisplay
    >>> X = load_iris().data
    >>> mixture = ParsimoniousGaussianMixture(3, model="VEV").fit(X)
    >>> display = MixtureDisplay.from_estimator(mixture, X)
    >>> len(display.axes_), len(display.ellipses_[0])
    (6, 6)
    """

    def __init__(
        self,
        *,
        points: Any,
        labels: Any,
        means: Any,
        covariances: Any,
        attribute_names: Sequence[Hashable] | None = None,
    ):
        self.means = np.asarray(means, dtype=float)
        c, d = self.means.shape
        if not 2 <= d <= MAX_ATTRIBUTES:
            raise InvalidParameterError(
                "means",
                must=f"have 2 to {MAX_ATTRIBUTES} attributes, got {d}; select some of them",
            )
        self.points = np.asarray(points, dtype=float)
        self.labels = np.asarray(labels)
        self.covariances = np.asarray(covariances, dtype=float)
        if self.covariances.shape != (c, d, d):
            raise InvalidParameterError(
                "covariances",
                must=f"have shape {(c, d, d)}, got {self.covariances.shape}",
            )
        if attribute_names is None:
            attribute_names = default_feature_names(d)
        self.attribute_names = validate_names(attribute_names, "attribute_names", d)
        self.pairs = list(combinations(range(d), 2))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Draw a fitted mixture and the objects X.

        Parameters
        ----------
        estimator : fitted mixture
            A `dempster.mixture.ParsimoniousGaussianMixture`, or another mixture with ``means_``,
            ``covariances_`` of shape (c, d, d) and ``predict``. The mixture of a fitted
            `dempster.cluster.BootClus` is ``mixture_``.
        X : array-like or table of shape (n, d)
            Objects to draw, with two to six attributes.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        MixtureDisplay
        """
        validate_estimator(estimator, "means_", "covariances_", "predict")
        with validating(X, "X"):
            points = check_array(X, dtype=np.float64, input_name="X")
        display = cls(
            points=points,
            labels=estimator.predict(X),
            means=estimator.means_,
            covariances=estimator.covariances_,
            attribute_names=getattr(X, "columns", None),
        )
        return display.plot(**options)

    def plot(self, *, axes: Any = None, title: str | None = None) -> Self:
        """Draw a panel for each pair of attributes.

        Parameters
        ----------
        axes : sequence of Matplotlib axes, optional
            One axes for each pair of attributes; by default the panels of a new figure.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        palette = cluster_colors(len(self.means))
        n_panels = len(self.pairs)
        n = len(self.points)
        self._open_panels(
            axes, n_panels, MAX_COLUMNS, (3.6, 3.2) if n_panels > 1 else (6, 5)
        )
        self.ellipses_: list[list[Any]] = []
        for ax, pair in zip(self.axes_, self.pairs, strict=True):
            plane = list(pair)
            ax.scatter(
                *self.points[:, plane].T,
                c=palette[self.labels],
                s=float(np.clip(250 / np.sqrt(n), 1, 20)),
                linewidths=0,
                alpha=0.6,
                rasterized=n > MIN_RASTER_OBJECTS,
            )
            lines = []
            for mean, covariance, color in zip(
                self.means, self.covariances, palette, strict=True
            ):
                for outline in ellipse_outlines(
                    mean[plane], covariance[np.ix_(plane, plane)]
                ):
                    lines += ax.plot(*outline.T, color=0.75 * color, linewidth=1.2)
            ax.scatter(
                *self.means[:, plane].T,
                marker="+",
                s=50,
                color=INK,
                linewidths=1.2,
                zorder=3,
            )
            self.ellipses_.append(lines)
            finish_axes(ax, *(self.attribute_names[q] for q in pair))
        self._write_title(title)
        return self


class BICDisplay(Display):
    """Display of the BIC of covariance models against the number of clusters.

    A ring marks the largest value.

    Parameters
    ----------
    n_clusters : sequence of k int
        Numbers of clusters in increasing order.
    bic : mapping of str to sequence of k floats
        BIC of each covariance model; larger is better. NaN marks models that could not be fitted.

    Attributes
    ----------
    best : tuple of int and str
        Number of clusters and model with the largest BIC.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One line for each model.

    Examples
    --------
    >>> from dempster.datasets import load_iris
    >>> from dempster.mixture import ParsimoniousGaussianMixture
    >>> from dempster.plot import BICDisplay
    >>> mixture = ParsimoniousGaussianMixture([1, 2, 3, 4], model=["EII", "VEV"])
    >>> mixture = mixture.fit(load_iris().data)
    >>> BICDisplay.from_estimator(mixture).best
    (2, 'VEV')
    """

    def __init__(self, *, n_clusters: Any, bic: Mapping[str, Any]):
        self.n_clusters = np.asarray(n_clusters)
        self.bic = {
            name: np.asarray(values, dtype=float) for name, values in bic.items()
        }
        table = np.array(list(self.bic.values()))
        model, place = np.unravel_index(np.nanargmax(table), table.shape)
        self.best = int(self.n_clusters[place]), list(self.bic)[model]

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Draw the BIC of all models that a mixture compared.

        Parameters
        ----------
        estimator : fitted ParsimoniousGaussianMixture
            Mixture whose ``bic_table_`` is drawn.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        BICDisplay
        """
        validate_estimator(estimator, "bic_table_")
        values = estimator.bic_table_["bic"].replace(-np.inf, np.nan)
        table = values.unstack()
        models = values.index.unique("model")  # in the original order
        bic = {name: table[name].to_numpy() for name in models}
        return cls(n_clusters=table.index, bic=bic).plot(**options)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        palette = cluster_colors(len(self.bic))
        ax = self._open_axes(ax, (6.4, 4))
        number, best_model = self.best
        self.lines_ = []
        for i, (name, values) in enumerate(self.bic.items()):
            self.lines_ += ax.plot(
                self.n_clusters,
                values,
                label=name,
                color=palette[i],
                linewidth=2.2 if name == best_model else 1.0,
                marker=MARKERS[i % len(MARKERS)],
                markersize=4,
            )
        draw_ring(ax, number, np.nanmax(self.bic[best_model]))
        finish_axes(
            ax, "number of clusters", "BIC", title=title, grid=True, integer_ticks=True
        )
        draw_outside_legend(ax, self.lines_)
        return self
