"""Display of the coverage and the size of conformal sets against the confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_labels, check, flag, kind
from dempster.belief import MassFunctions
from dempster.plot import _canvas as canvas
from dempster.plot.palette import GREY

_LEVELS = np.linspace(0.01, 0.99, 99)


class CoverageDisplay(canvas.Display):
    """Display of the share of sets that contain the true class, and of their mean size, against the confidence.

    The set of an object contains the classes whose plausibility is above 1 - confidence. The coverage of valid mass
    functions (see `dempster.classify.ConformalClassifier`) is on or above the diagonal, apart from random variation.
    The smaller the sets, the better the classifier.

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
            {str(key): canvas.validate_sequence(values, name, n) for key, values in canvas.mapping_items(given, name)}
            for given, name in ((coverage, "coverage"), (size, "size"))
        )
        if not self.coverage or self.coverage.keys() != self.size.keys():
            raise InvalidInputError("coverage and size must have the same names, and at least one")

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, by_class: bool = False, **options: Any) -> Self:
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
    def from_masses(cls, masses: MassFunctions, y: Any, *, by_class: bool = False, **options: Any) -> Self:
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
            raise InvalidParameterError("y", f"the classes of {len(masses)} objects, elements of {masses.frame}")
        codes, contour = np.array([places[name] for name in truth]), np.asarray(masses.contour, dtype=float)
        groups = {"all": np.ones(len(codes), dtype=bool)}
        if by_class:
            groups |= {str(name): codes == k for name, k in places.items() if (codes == k).any()}
        own = contour[np.arange(len(codes)), codes]
        coverage = {name: _share_above(own[rows]) for name, rows in groups.items()}
        size = {name: _share_above(contour[rows].ravel()) * contour.shape[1] for name, rows in groups.items()}
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
                self.lines_ += ax.plot(self.confidence, values, color=color, linewidth=1.6, label=name)
        left, right = self.axes_
        left.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", zorder=1)
        canvas.finish_axes(left, "confidence", "share of sets with the true class", title, grid=True)
        canvas.finish_axes(right, "confidence", "mean number of classes in a set", None, grid=True)
        if canvas.resolve_auto(legend, len(self.coverage) > 1):
            canvas.draw_line_legend(left, self.lines_[: len(self.coverage)])
        return self


def _share_above(plausibilities: np.ndarray) -> np.ndarray:
    """Return the share of plausibilities above 1 - confidence, for each confidence."""
    n_below = np.searchsorted(np.sort(plausibilities), 1 - _LEVELS + 1e-9, side="right")
    return 1 - n_below / len(plausibilities)
