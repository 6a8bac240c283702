"""Displays for the choice of the number of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_boolean
from dempster.plot import _canvas as canvas
from dempster.plot.palette import INK, PALETTE

_MARKERS = "osD^v<>P"


class NumberOfClustersDisplay(canvas.Display):
    """Display of the support for each number of clusters as bars, and of each criterion as a thin line.

    The bar of the best number is dark. A high bar on which all criteria agree is a reliable choice. If two bars are
    equally high, or the criteria favor different numbers, the data do not determine the number of clusters.

    Parameters
    ----------
    n_clusters : sequence of k int
        Candidates in increasing order.
    support : sequence of k floats
        Support of each candidate, in [0, 1].
    criteria : mapping of str to sequence of k floats, optional
        Values in [0, 1] of each criterion for the candidates, by the name of the criterion.

    Attributes
    ----------
    best : int
        Number of clusters with the largest support; on ties, the smallest number.
    ax_, figure_ : Matplotlib axes and figure
    bars_ : container of bars
        One bar for each candidate.
    criterion_lines_ : list of lines
        One line for each criterion; empty with ``criteria=False``.
    best_text_ : text or None
        Best number of clusters, written above its bar.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.model_selection import number_of_clusters
    >>> from dempster.plot import NumberOfClustersDisplay
    >>> X = np.repeat([[0, 0], [9, 0], [0, 9]], 30, axis=0) + np.random.default_rng(0).normal(size=(90, 2))
    >>> numbers = number_of_clusters(X, candidates=range(2, 8), random_state=0)
    >>> display = NumberOfClustersDisplay.from_numbers(numbers)
    >>> display.best
    3
    """

    def __init__(self, *, n_clusters: Any, support: Any, criteria: Mapping[str, Any] | None = None):
        self.n_clusters = canvas.validate_cluster_counts(n_clusters)
        k = len(self.n_clusters)
        self.support = canvas.validate_sequence(support, "support", k)
        self.criteria = {
            str(name): canvas.validate_sequence(values, f"criteria[{name!r}]", k)
            for name, values in canvas.mapping_items(criteria, "criteria")
        }
        self.best = int(self.n_clusters[self.support.argmax()])

    @classmethod
    def from_numbers(cls, numbers: Any, **options: Any) -> Self:
        """Draw the result of `dempster.model_selection.number_of_clusters`.

        Parameters
        ----------
        numbers : NumberOfClusters
            Result to draw. A clusterer with ``n_clusters="auto"`` has this result in its attribute ``number_``.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        NumberOfClustersDisplay
        """
        names = ("n_clusters", "support", "criteria")
        if not all(hasattr(numbers, name) for name in names):
            raise InvalidInputError(f"numbers must come from number_of_clusters, got {type(numbers).__name__}")
        return cls(**{name: getattr(numbers, name) for name in names}).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        color: Any = PALETTE[0],
        criteria: bool = True,
        mark_best: bool = True,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the bars and lines.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        color : color
            Color of the bars.
        criteria : bool, default=True
            Whether to draw the values of the criteria.
        mark_best : bool, default=True
            Whether to write the best number above its bar.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it if the criteria are drawn.
        title : str, optional

        Returns
        -------
        self
        """
        self._open_axes(ax, (7.2, 4))
        curves = self.criteria if criteria else {}
        self.bars_ = self.ax_.bar(self.n_clusters, self.support, width=0.8, color=color, label="support")
        for bar, number in zip(self.bars_, self.n_clusters, strict=True):
            bar.set_alpha(0.85 if number == self.best else 0.3)
        self.criterion_lines_ = []
        for i, (name, values) in enumerate(curves.items()):
            # Different markers distinguish lines that overlap.
            style = {"marker": _MARKERS[i % len(_MARKERS)], "markersize": 4, "markerfacecolor": "white"}
            style |= {"color": PALETTE[1 + i % (len(PALETTE) - 1)], "linewidth": 0.9, "alpha": 0.9}
            self.criterion_lines_ += self.ax_.plot(self.n_clusters, values, label=name, **style)
        self.best_text_ = None
        if mark_best:
            place = {"xytext": (0, 6), "textcoords": "offset points", "ha": "center", "va": "bottom"}
            top = (self.best, 1.0 if curves else float(self.support.max()))
            self.best_text_ = self.ax_.annotate(f"{self.best} clusters", top, fontsize="small", color=INK, **place)
        canvas.finish_axes(self.ax_, "number of clusters", "support", title, grid=True, integer_ticks=True)
        self.ax_.set_ylim(0, 1.12)  # Leave space for the text above the best bar.
        self.ax_.set_yticks([0, 0.25, 0.5, 0.75, 1])
        if canvas.resolve_auto(legend, bool(curves)):
            outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            handles = [self.bars_, *self.criterion_lines_]
            self.ax_.legend(handles=handles, fontsize="small", frameon=False, **outside)
        return self


class NonspecificityDisplay(canvas.Display):
    """Display of the average nonspecificity N* for each number of clusters, with a ring around the minimum.

    A clear minimum indicates a good number of clusters. If the curve has no minimum, choose the number at which it
    stops falling.

    Parameters
    ----------
    n_clusters : sequence of k int
        Numbers of clusters in increasing order.
    nonspecificity : sequence of k floats
        Average nonspecificity N* of the partitions, in [0, 1].
    converged : sequence of k bool, optional
        Whether each fit converged; fits that did not converge are open circles.

    Attributes
    ----------
    best : int
        Number of clusters with the smallest N*; on ties, the smallest number.
    ax_, figure_ : Matplotlib axes and figure
    line_ : line
        The curve.
    best_artist_ : line
        The ring around the minimum.
    best_text_ : annotation or None
        Best number of clusters, written beside the minimum.
    open_artist_ : line or None
        Markers of the fits that did not converge.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41.

    Examples
    --------
    >>> from dempster.plot import NonspecificityDisplay
    >>> display = NonspecificityDisplay(n_clusters=[2, 3, 4], nonspecificity=[0.2, 0.05, 0.1]).plot()
    >>> display.best
    3
    """

    def __init__(self, *, n_clusters: Any, nonspecificity: Any, converged: Any = None):
        self.n_clusters = canvas.validate_cluster_counts(n_clusters)
        k = len(self.n_clusters)
        self.nonspecificity = canvas.validate_sequence(nonspecificity, "nonspecificity", k)
        self.converged = np.ones(k, dtype=bool) if converged is None else as_boolean(converged, "converged")
        if self.converged.shape != (k,):
            raise InvalidInputError(f"converged must contain {k} values, got shape {self.converged.shape}")
        self.best = int(self.n_clusters[self.nonspecificity.argmin()])

    @classmethod
    def from_curve(cls, curve: Any, **options: Any) -> Self:
        """Draw the result of `dempster.model_selection.n_clusters_curve`.

        Parameters
        ----------
        curve : NClustersCurve
            Result to draw.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        NonspecificityDisplay
        """
        names = ("n_clusters", "nonspecificity", "converged")
        if not all(hasattr(curve, name) for name in names):
            raise InvalidInputError(f"curve must come from n_clusters_curve, got {type(curve).__name__}")
        return cls(**{name: getattr(curve, name) for name in names}).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        color: Any = PALETTE[0],
        mark_best: bool = True,
        label: str | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        color : color
            Color of the curve.
        mark_best : bool, default=True
            Whether to write the best number beside the minimum.
        label : str, optional
            Name of the curve in a legend of several curves.
        title : str, optional

        Returns
        -------
        self
        """
        self._open_axes(ax, (6.4, 4))
        style = {"color": color, "linewidth": 1.6, "marker": "o", "markersize": 5}
        (self.line_,) = self.ax_.plot(self.n_clusters, self.nonspecificity, label=label, **style)
        self.open_artist_ = None
        if not self.converged.all():
            circle = {"marker": "o", "markersize": 5, "markeredgecolor": color, "markerfacecolor": "white"}
            points = self.n_clusters[~self.converged], self.nonspecificity[~self.converged]
            (self.open_artist_,) = self.ax_.plot(*points, linestyle="none", label="_not converged", **circle)
            canvas.write_note(self.ax_, "open: did not converge", va="top")
        lowest = self.nonspecificity.min()
        ring = {"marker": "o", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}
        ring |= {"markeredgewidth": 1.4, "linestyle": "none"}
        (self.best_artist_,) = self.ax_.plot(self.best, lowest, label="_best", **ring)
        self.best_text_ = None
        if mark_best:
            is_below = lowest > 0.15 * self.nonspecificity.max()  # Otherwise there is no space below the ring.
            place = {"xytext": (0, -9 if is_below else 9), "textcoords": "offset points", "ha": "center"}
            style = {"va": "top" if is_below else "bottom", "color": INK, "path_effects": canvas.halo(3)}
            text, point = f"{self.best} clusters", (self.best, lowest)
            self.best_text_ = self.ax_.annotate(text, point, fontsize="small", **place, **style)
        canvas.finish_axes(self.ax_, "number of clusters", "nonspecificity N*", title, grid=True, integer_ticks=True)
        self.ax_.set_ylim(bottom=0)  # Zero is the value of a precise partition.
        return self
