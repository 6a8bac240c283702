"""Displays of fitted models: convergence, mixtures, their selection by BIC, and learned features."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

import dempster.plot._canvas as canvas
from dempster._errors import InvalidInputError
from dempster._text import printable
from dempster._validation import as_reals, check, real, validating
from dempster.plot.credal_partition import MIN_RASTER_OBJECTS
from dempster.plot.palette import GREY, INK

# Minimum ratio of the largest to the smallest objective for a logarithmic axis.
_MIN_LOG_RATIO = 20.0
_MAX_DOTS = 60  # With more iterations, no dots mark the iterations on the lines.


class ConvergenceDisplay(canvas.Display):
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
    >>> models = {f"delta = {delta}": ECM(2, delta=delta, random_state=0).fit(X) for delta in (5, 10)}
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
        self.histories = _validate_histories(histories, "histories")
        if not self.histories:
            raise InvalidInputError("histories must contain at least one history")
        flags = dict(canvas.mapping_items(converged, "converged"))
        self.converged = {name: bool(flags.get(name, True)) for name in self.histories}
        self.validation = _validate_histories(validation, "validation")
        if unknown := [name for name in self.validation if name not in self.histories]:
            raise InvalidInputError(
                f"validation must have names of histories {list(self.histories)}, got {unknown}"
            )
        self.references = {}
        for name, value in canvas.mapping_items(references, "references"):
            check(value, f"references[{name!r}]", real())
            self.references[str(name)] = float(value)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, **options: Any
    ) -> Self:
        """Draw the history of one or several fitted estimators.

        Parameters
        ----------
        estimator : fitted estimator, sequence of estimators, or mapping of names to estimators
            Estimators with the attribute ``history_``. A nonempty ``validation_history_`` is also
            drawn. If a network was initialized by EVCLUS (``evclus_``), the loss of that fit is a
            reference value.
        names : sequence of str, optional
            Names of the estimators if ``estimator`` is a sequence; their class names by default.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ConvergenceDisplay
        """
        estimators = canvas.name_estimators(estimator, names)
        histories = {}
        converged = {}
        validation = {}
        references = {}
        for name, one in estimators.items():
            canvas.validate_estimator(one, "history_")
            histories[name] = one.history_
            converged[name] = getattr(one, "converged_", True)
            if len(held_out := getattr(one, "validation_history_", ())):
                validation[name] = held_out
            if (start := getattr(one, "evclus_", None)) is not None:
                references["EVCLUS" if len(estimators) == 1 else f"{name}: EVCLUS"] = start.loss_
        display = cls(
            histories=histories, converged=converged, validation=validation, references=references
        )
        return display.plot(**options)

    @canvas.validate_options(quantity=("objective", "excess"), scale=("auto", "linear", "log"))
    def plot(
        self,
        *,
        ax: Any = None,
        quantity: str = "objective",
        scale: str = "auto",
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the histories.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        quantity : {"objective", "excess"}
            "excess" is the objective minus its lowest value for the same estimator. It shows the
            speed of convergence and makes estimators with different objectives comparable.
            Reference values are not drawn.
        scale : {"auto", "linear", "log"}
            Scale of the vertical axis. "auto" is logarithmic for the excess and for positive
            objectives of different orders of magnitude, otherwise linear.
        colors : sequence of colors, optional
            Colors of the histories.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it if there are several lines.
        title : str, optional

        Returns
        -------
        self
        """
        is_excess = quantity == "excess"
        curves, held_out = (
            {name: curve - curve.min() if is_excess else curve for name, curve in group.items()}
            for group in (self.histories, self.validation)
        )
        if is_excess:
            references = {}
        else:
            references = self.references
        values = [*curves.values(), *held_out.values(), np.array(list(references.values()))]
        is_log = _is_logarithmic(scale, quantity, np.concatenate(values))
        palette = dict(zip(curves, canvas.cluster_colors(len(curves), colors), strict=True))
        self._open_axes(ax, (6.4, 4))
        if is_log:
            curves, held_out = (
                {name: np.where(curve > 0, curve, np.nan) for name, curve in group.items()}
                for group in (curves, held_out)
            )
            self.ax_.set_yscale("log")
        self.lines_ = [
            self._draw_history(name, curve, palette[name]) for name, curve in curves.items()
        ]
        self.validation_lines_ = []
        for name, curve in held_out.items():
            if len(self.histories) == 1:
                label = "held out"
            else:
                label = f"{name}: held out"
            iterations = np.arange(1, len(curve) + 1)
            style = {"color": palette[name], "linewidth": 1.2, "linestyle": "--"}
            self.validation_lines_ += self.ax_.plot(iterations, curve, label=label, **style)
        self.reference_lines_ = [
            self.ax_.axhline(
                value, color=GREY, linewidth=1.2, linestyle=":", label=name, zorder=1.5
            )
            for name, value in references.items()
        ]
        if is_excess:
            ylabel = "objective above its lowest value"
        else:
            ylabel = "objective"
        canvas.finish_axes(self.ax_, "iteration", ylabel, title, grid=True, integer_ticks=True)
        lines = [*self.lines_, *self.validation_lines_, *self.reference_lines_]
        if canvas.resolve_auto(legend, len(lines) > 1):
            canvas.draw_line_legend(self.ax_, lines)
        return self

    def _draw_history(self, name: str, curve: np.ndarray, color: np.ndarray) -> Any:
        iterations = np.arange(1, len(curve) + 1)
        if len(curve) <= _MAX_DOTS:
            dots = {"marker": ".", "markersize": 4}
        else:
            dots = {}
        (line,) = self.ax_.plot(iterations, curve, color=color, linewidth=1.6, label=name, **dots)
        finite = np.flatnonzero(np.isfinite(curve))
        if len(finite):
            fill = color if self.converged[name] else "white"
            end = {
                "marker": "o",
                "markersize": 6,
                "markeredgecolor": color,
                "markerfacecolor": fill,
            }
            self.ax_.plot(
                iterations[finite[-1]], curve[finite[-1]], linestyle="none", label="_end", **end
            )
        return line


def _is_logarithmic(scale: str, quantity: str, values: np.ndarray) -> bool:
    positive = values[values > 0]
    if scale == "linear":
        return False
    if scale == "auto":
        if quantity == "excess":
            return len(positive) > 0
        return len(positive) == len(values) and positive.max() > _MIN_LOG_RATIO * positive.min()
    if len(positive) == 0 or (quantity == "objective" and len(positive) < len(values)):
        raise InvalidInputError(
            "scale='log' needs positive objectives; use scale='linear' or quantity='excess'"
        )
    return True


def _validate_histories(histories: Any, argument: str) -> dict[str, np.ndarray]:
    arrays = {}
    for name, history in canvas.mapping_items(histories, argument):
        array = as_reals(history, f"{argument}[{name!r}]")
        if array.ndim != 1 or len(array) == 0:
            raise InvalidInputError(
                f"{argument}[{name!r}] must be a nonempty sequence, got shape {array.shape}"
            )
        arrays[str(name)] = array
    return arrays


SHARES = (0.5, 0.95)  # Probabilities of the regions inside the ellipses.
MAX_ATTRIBUTES = 6  # This number of attributes has 15 pairs.
MAX_COLUMNS = 3
_CIRCLE = np.exp(2j * np.pi * np.linspace(0, 1, 101))
_MARKERS = "osD^v<>P"


def ellipse_outlines(mean: np.ndarray, covariance: np.ndarray) -> list[np.ndarray]:
    """Return the ellipses of constant density that contain the shares `SHARES` of a Gaussian in the plane."""
    variances, axes = np.linalg.eigh(covariance)
    circle = np.column_stack([_CIRCLE.real, _CIRCLE.imag])
    unit = circle * np.sqrt(np.maximum(variances, 0)) @ axes.T
    return [mean + np.sqrt(-2 * np.log(1 - share)) * unit for share in SHARES]


class MixtureDisplay(canvas.Display):
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
    >>> display = MixtureDisplay.from_estimator(ParsimoniousGaussianMixture(3, model="VEV").fit(X), X)
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
        self.means = canvas.validate_points(means, "means", ("c", "d"))
        c, d = self.means.shape
        if not 2 <= d <= MAX_ATTRIBUTES:
            raise InvalidInputError(
                f"means must have 2 to {MAX_ATTRIBUTES} attributes, got {d}; select some of them"
            )
        self.points = canvas.validate_points(points, "points", ("n", d))
        self.covariances = as_reals(covariances, "covariances")
        if self.covariances.shape != (c, d, d) or not np.isfinite(self.covariances).all():
            got = self.covariances.shape
            raise InvalidInputError(
                f"covariances must be finite and have shape {(c, d, d)}, got {got}"
            )
        found = canvas.validate_sequence(labels, "labels", len(self.points))
        if not np.isin(found, np.arange(c)).all():
            raise InvalidInputError(f"labels must be integers from 0 to {c - 1}")
        self.labels = found.astype(np.intp)
        names = (
            [f"attribute {q}" for q in range(1, d + 1)]
            if attribute_names is None
            else attribute_names
        )
        self.attribute_names = canvas.validate_names(names, "attribute_names", d)
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
        canvas.validate_estimator(estimator, "means_", "covariances_", "predict")
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

    @canvas.validate_options()
    def plot(
        self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None
    ) -> Self:
        """Draw a panel for each pair of attributes.

        Parameters
        ----------
        axes : sequence of Matplotlib axes, optional
            One axes for each pair of attributes; by default the panels of a new figure.
        colors : sequence of c colors, optional
            Colors of the components.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        palette = canvas.cluster_colors(len(self.means), colors)
        n_panels = len(self.pairs)
        n = len(self.points)
        self._open_panels(
            axes, n_panels, min(n_panels, MAX_COLUMNS), (3.6, 3.2) if n_panels > 1 else (6, 5)
        )
        style: dict[str, Any] = {
            "s": float(np.clip(250 / np.sqrt(n), 1, 20)),
            "linewidths": 0,
            "alpha": 0.6,
        }
        self.ellipses_: list[list[Any]] = []
        for ax, pair in zip(self.axes_, self.pairs, strict=True):
            plane = list(pair)
            ax.scatter(
                *self.points[:, plane].T,
                c=palette[self.labels],
                rasterized=n > MIN_RASTER_OBJECTS,
                **style,
            )
            lines = []
            for mean, covariance, color in zip(self.means, self.covariances, palette, strict=True):
                for outline in ellipse_outlines(mean[plane], covariance[np.ix_(plane, plane)]):
                    lines += ax.plot(*outline.T, color=0.75 * color, linewidth=1.2)
            ax.scatter(
                *self.means[:, plane].T, marker="+", s=50, color=INK, linewidths=1.2, zorder=3
            )
            self.ellipses_.append(lines)
            canvas.finish_axes(ax)
            ax.set_xlabel(self.attribute_names[pair[0]], parse_math=False)
            ax.set_ylabel(self.attribute_names[pair[1]], parse_math=False)
        if title is not None:
            (self.figure_.suptitle if n_panels > 1 else self.axes_[0].set_title)(title)
        return self


class BICDisplay(canvas.Display):
    """Display of the BIC of covariance models against the number of clusters, with a ring around the largest value.

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
    >>> mixture = ParsimoniousGaussianMixture([1, 2, 3, 4], model=["EII", "VEV"]).fit(load_iris().data)
    >>> BICDisplay.from_estimator(mixture).best
    (2, 'VEV')
    """

    def __init__(self, *, n_clusters: Any, bic: Mapping[str, Any]):
        self.n_clusters = canvas.validate_cluster_counts(n_clusters)
        k = len(self.n_clusters)
        self.bic = {
            str(name): as_reals(values, "bic") for name, values in canvas.mapping_items(bic, "bic")
        }
        table = [
            values
            for values in self.bic.values()
            if values.shape == (k,) and not np.isinf(values).any()
        ]
        if len(table) < len(self.bic) or not np.isfinite(table).any():
            raise InvalidInputError(
                f"bic must contain {k} finite values or NaN for each model, and one finite value"
            )
        model, place = np.unravel_index(np.nanargmax(table), np.shape(table))
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
        canvas.validate_estimator(estimator, "bic_table_")
        values = estimator.bic_table_["bic"].replace(-np.inf, np.nan)
        # in the original order
        table = values.unstack()[list(dict.fromkeys(values.index.get_level_values("model")))]
        return cls(
            n_clusters=table.index, bic={name: table[name].to_numpy() for name in table}
        ).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of colors, optional
            Colors of the models.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it.
        title : str, optional

        Returns
        -------
        self
        """
        palette = canvas.cluster_colors(len(self.bic), colors)
        self._open_axes(ax, (6.4, 4))
        self.lines_ = []
        for i, (name, values) in enumerate(self.bic.items()):
            style: dict[str, Any] = {"marker": _MARKERS[i % len(_MARKERS)], "markersize": 4}
            style |= {"linewidth": 2.2 if name == self.best[1] else 1.0, "color": palette[i]}
            self.lines_ += self.ax_.plot(self.n_clusters, values, label=name, **style)
        ring = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
        self.ax_.plot(
            self.best[0], np.nanmax(self.bic[self.best[1]]), linestyle="none", label="_best", **ring
        )
        canvas.finish_axes(
            self.ax_, "number of clusters", "BIC", title, grid=True, integer_ticks=True
        )
        if canvas.resolve_auto(legend, True):
            outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            canvas.draw_legend(self.ax_, self.lines_, fontsize="small", frameon=False, **outside)
        return self


class FeatureBoxplotDisplay(canvas.Display):
    """Display of learned features as box plots, with a box for each class.

    A feature separates two classes if their boxes and whiskers do not overlap. The whiskers extend
    to the most distant objects within 1.5 interquartile ranges of the box.

    Parameters
    ----------
    features : array of shape (n, q)
        Features of the objects.
    labels : sequence of length n
        Classes of the objects.
    feature_names : sequence of q str, optional
        Names of the features.

    Attributes
    ----------
    class_names : list of str
        Classes, in sorted order.
    figure_ : Matplotlib figure
    axes_ : list of axes
        One panel for each feature.
    boxes_ : list of lists of patches
        Boxes of the classes in each panel.

    Examples
    --------
    >>> from dempster.datasets import make_circles
    >>> from dempster.metric import KFDA
    >>> from dempster.plot import FeatureBoxplotDisplay
    >>> X, y = make_circles(200, random_state=0)
    >>> display = FeatureBoxplotDisplay.from_estimator(KFDA(1, gamma=0.3).fit(X, y), X, y)
    >>> display.features.shape, display.class_names
    ((200, 1), ['0', '1'])
    """

    def __init__(
        self, *, features: Any, labels: Any, feature_names: Sequence[Hashable] | None = None
    ):
        self.features = canvas.validate_points(features, "features", ("n", "q"))
        n, q = self.features.shape
        classes, self._codes = canvas.encode_labels(labels, "labels", n)
        self.labels = classes[self._codes]
        self.class_names = [printable(name) for name in classes]
        names = (
            [f"feature {k}" for k in range(1, q + 1)] if feature_names is None else feature_names
        )
        self.feature_names = canvas.validate_names(names, "feature_names", q)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> Self:
        """Draw the features that a fitted transformer computes.

        Parameters
        ----------
        estimator : fitted transformer
            For example a metric learner of `dempster.metric`.
        X : array-like of shape (n, p)
            Objects to transform.
        y : array-like of shape (n,)
            Classes of the objects.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        FeatureBoxplotDisplay
        """
        canvas.validate_estimator(estimator, "transform")
        return cls(features=estimator.transform(X), labels=y).plot(**options)

    @canvas.validate_options()
    def plot(
        self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None
    ) -> Self:
        """Draw the box plots.

        Parameters
        ----------
        axes : sequence of Matplotlib axes, optional
            One axes for each feature; by default the panels of a new figure.
        colors : sequence of colors, optional
            Colors of the classes.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        palette = canvas.cluster_colors(len(self.class_names), colors)
        q = len(self.feature_names)
        self._open_panels(axes, q, min(q, MAX_COLUMNS), (3.4, 3.4) if q > 1 else (4.4, 4))
        style: dict[str, Any] = {"patch_artist": True, "widths": 0.6, "medianprops": {"color": INK}}
        style |= {"flierprops": {"marker": ".", "markersize": 4, "markeredgecolor": INK}}
        self.boxes_ = []
        for ax, values, name in zip(self.axes_, self.features.T, self.feature_names, strict=True):
            groups = [values[self._codes == k] for k in range(len(self.class_names))]
            parts = ax.boxplot(groups, **style)
            for box, color in zip(parts["boxes"], palette, strict=True):
                box.set(facecolor=(*color, 0.6), edgecolor=INK)
            self.boxes_.append(parts["boxes"])
            canvas.finish_axes(ax, "class", grid=True)
            ax.set_xticks(np.arange(1, len(groups) + 1), self.class_names, parse_math=False)
            ax.set_ylabel(name, parse_math=False)
        if title is not None:
            (self.figure_.suptitle if q > 1 else self.axes_[0].set_title)(title)
        return self
