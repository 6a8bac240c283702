"""Display of learned features as box plots."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from dempster._text import printable
from dempster.plot import _canvas as canvas
from dempster.plot.palette import INK

MAX_COLUMNS = 3


class FeatureBoxplotDisplay(canvas.Display):
    """Display of learned features as box plots, with a box for each class.

    A feature separates two classes if their boxes and whiskers do not overlap. The whiskers extend to the most distant
    objects within 1.5 interquartile ranges of the box.

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

    def __init__(self, *, features: Any, labels: Any, feature_names: Sequence[Hashable] | None = None):
        self.features = canvas.validate_points(features, "features", ("n", "q"))
        n, q = self.features.shape
        classes, self._codes = canvas.encode_labels(labels, "labels", n)
        self.labels = classes[self._codes]
        self.class_names = [printable(name) for name in classes]
        names = [f"feature {k}" for k in range(1, q + 1)] if feature_names is None else feature_names
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
    def plot(self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None) -> Self:
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
