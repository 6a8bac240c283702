"""Display of the decision values of an outlier detector over the plane of two attributes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster.plot import _canvas as canvas
from dempster.plot.mass_contour import draw_objects, make_grid_table, validate_grid
from dempster.plot.palette import INK

N_LEVELS = 12


class OutlierContourDisplay(canvas.Display):
    """Display of the decision values of an outlier detector as contours.

    Decision values are positive inside the region of the data. The thick line, where they are zero, is the border of
    this region.

    Parameters
    ----------
    xx, yy : arrays of shape (rows, columns)
        Coordinates of the grid points, in the format of `numpy.meshgrid`.
    values : array of shape (rows, columns)
        Decision value at each grid point.
    points : array of shape (n, 2), optional
        Objects to draw.
    axis_names : pair of str
        Names of the horizontal and the vertical axis.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    fill_ : contour set
        Filled contours.
    border_ : contour set or None
        The line where the decision values are zero; None if they all have the same sign.
    colorbar_ : color bar

    Examples
    --------
    >>> from sklearn.svm import OneClassSVM
    >>> from dempster.datasets import make_fourclass
    >>> from dempster.plot import OutlierContourDisplay
    >>> X, _ = make_fourclass(200, random_state=0)
    >>> detector = OneClassSVM(gamma=0.2, nu=0.2).fit(X)
    >>> OutlierContourDisplay.from_estimator(detector, X, grid_resolution=50).values.shape
    (50, 50)
    """

    def __init__(
        self,
        *,
        xx: Any,
        yy: Any,
        values: Any,
        points: Any = None,
        axis_names: tuple[str, str] = ("attribute 1", "attribute 2"),
    ):
        self.xx, self.yy = validate_grid(xx, yy)
        self.values = canvas.validate_points(values, "values", self.xx.shape)
        self.points = canvas.validate_points(np.empty((0, 2)) if points is None else points, "points")
        self.axis_names = tuple(canvas.validate_names(axis_names, "axis_names", 2))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, grid_resolution: int = 150, margin: float = 0.15, **options: Any
    ) -> Self:
        """Draw the decision values of a fitted detector on a grid around the objects X.

        Parameters
        ----------
        estimator : fitted detector
            An estimator with the method ``decision_function`` that was fitted to two attributes, such as
            `sklearn.svm.OneClassSVM`, or `dempster.cluster.NNEVCLUS` with an ``outlier_detector``.
        X : array-like or table of shape (n, 2)
            Objects to draw; they determine the range of the axes.
        grid_resolution : int, default=150
            Number of grid points along each axis.
        margin : float, default=0.15
            Margin around the objects, as a share of their range.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        OutlierContourDisplay
        """
        canvas.validate_estimator(estimator, "decision_function")
        plane, xx, yy, table = make_grid_table(estimator, X, grid_resolution, margin)
        values = np.reshape(estimator.decision_function(table), xx.shape)
        return cls(xx=xx, yy=yy, values=values, points=plane.points, axis_names=plane.axis_names).plot(**options)

    @canvas.validate_options()
    def plot(self, *, ax: Any = None, points: bool = True, title: str | None = None) -> Self:
        """Draw the contours.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        points : bool, default=True
            Whether to draw the objects.
        title : str, optional

        Returns
        -------
        self
        """
        from matplotlib.colors import TwoSlopeNorm

        self._open_axes(ax, (6.4, 5))
        low, high = min(self.values.min(), -1e-12), max(self.values.max(), 1e-12)  # The norm needs both signs.
        style: dict[str, Any] = {"levels": N_LEVELS, "cmap": "RdBu", "norm": TwoSlopeNorm(0, low, high), "zorder": 1}
        self.fill_ = self.ax_.contourf(self.xx, self.yy, self.values, **style)
        self.border_ = None
        if self.values.min() < 0 < self.values.max():
            line: dict[str, Any] = {"levels": [0.0], "colors": [INK], "linewidths": 1.8, "zorder": 2}
            self.border_ = self.ax_.contour(self.xx, self.yy, self.values, **line)
        if points:
            draw_objects(self.ax_, self.points, None, None, None)
        self.colorbar_ = self.figure_.colorbar(self.fill_, ax=self.ax_, label="decision value", shrink=0.8, aspect=30)
        canvas.finish_axes(self.ax_, title=title)
        self.ax_.set_xlabel(self.axis_names[0], parse_math=False)
        self.ax_.set_ylabel(self.axis_names[1], parse_math=False)
        return self
