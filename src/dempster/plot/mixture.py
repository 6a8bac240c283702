"""Displays of Gaussian mixtures and of their selection by BIC."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, validating
from dempster.plot import _canvas as canvas
from dempster.plot.credal_partition import MIN_RASTER_OBJECTS
from dempster.plot.palette import INK

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

    The ellipses of each component contain 50 % and 95 % of its probability in the plane of the two attributes. Crosses
    are the means. Objects have the color of their most probable component.

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
            raise InvalidInputError(f"means must have 2 to {MAX_ATTRIBUTES} attributes, got {d}; select some of them")
        self.points = canvas.validate_points(points, "points", ("n", d))
        self.covariances = as_reals(covariances, "covariances")
        if self.covariances.shape != (c, d, d) or not np.isfinite(self.covariances).all():
            got = self.covariances.shape
            raise InvalidInputError(f"covariances must be finite and have shape {(c, d, d)}, got {got}")
        found = canvas.validate_sequence(labels, "labels", len(self.points))
        if not np.isin(found, np.arange(c)).all():
            raise InvalidInputError(f"labels must be integers from 0 to {c - 1}")
        self.labels = found.astype(np.intp)
        names = [f"attribute {q}" for q in range(1, d + 1)] if attribute_names is None else attribute_names
        self.attribute_names = canvas.validate_names(names, "attribute_names", d)
        self.pairs = list(combinations(range(d), 2))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, **options: Any) -> Self:
        """Draw a fitted mixture and the objects X.

        Parameters
        ----------
        estimator : fitted mixture
            A `dempster.mixture.ParsimoniousGaussianMixture`, or another mixture with ``means_``, ``covariances_`` of
            shape (c, d, d) and ``predict``. The mixture of a fitted `dempster.cluster.BootClus` is ``mixture_``.
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
    def plot(self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None) -> Self:
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
        n_panels, n = len(self.pairs), len(self.points)
        self._open_panels(axes, n_panels, min(n_panels, MAX_COLUMNS), (3.6, 3.2) if n_panels > 1 else (6, 5))
        style: dict[str, Any] = {"s": float(np.clip(250 / np.sqrt(n), 1, 20)), "linewidths": 0, "alpha": 0.6}
        self.ellipses_: list[list[Any]] = []
        for ax, pair in zip(self.axes_, self.pairs, strict=True):
            plane = list(pair)
            ax.scatter(*self.points[:, plane].T, c=palette[self.labels], rasterized=n > MIN_RASTER_OBJECTS, **style)
            lines = []
            for mean, covariance, color in zip(self.means, self.covariances, palette, strict=True):
                for outline in ellipse_outlines(mean[plane], covariance[np.ix_(plane, plane)]):
                    lines += ax.plot(*outline.T, color=0.75 * color, linewidth=1.2)
            ax.scatter(*self.means[:, plane].T, marker="+", s=50, color=INK, linewidths=1.2, zorder=3)
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
        self.bic = {str(name): as_reals(values, "bic") for name, values in canvas.mapping_items(bic, "bic")}
        table = [values for values in self.bic.values() if values.shape == (k,) and not np.isinf(values).any()]
        if len(table) < len(self.bic) or not np.isfinite(table).any():
            raise InvalidInputError(f"bic must contain {k} finite values or NaN for each model, and one finite value")
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
        table = values.unstack()[list(dict.fromkeys(values.index.get_level_values("model")))]  # in the original order
        return cls(n_clusters=table.index, bic={name: table[name].to_numpy() for name in table}).plot(**options)

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
        self.ax_.plot(self.best[0], np.nanmax(self.bic[self.best[1]]), linestyle="none", label="_best", **ring)
        canvas.finish_axes(self.ax_, "number of clusters", "BIC", title, grid=True, integer_ticks=True)
        if canvas.resolve_auto(legend, True):
            outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            canvas.draw_legend(self.ax_, self.lines_, fontsize="small", frameon=False, **outside)
        return self
