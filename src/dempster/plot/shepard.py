"""Degrees of conflict against the dissimilarities that they should match."""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import Seed
from dempster.plot._drawing.arguments import finite_numbers
from dempster.plot._drawing.canvas import GREY, axes_to_draw_on, equal_units, quiet_frame
from dempster.plot._drawing.colors import PALETTE
from dempster.plot._drawing.options import checked_options, wanted
from dempster.plot._drawing.pairs import (
    N_PAIRS,
    STYLES,
    draw_density,
    draw_points,
    draw_reference,
    style_for,
)

__all__ = ["ShepardDisplay"]

_HEXAGONS = 45  # along the horizontal axis
_REFERENCE_POINTS = 400
_SHADES = ("#CFE3F0", PALETTE[0], "#00263D")  # a single pair can still be seen


class ShepardDisplay:
    """Shepard diagram of a partition made from dissimilarities (EVCLUS and its kin).

    One point a pair of objects: across, the dissimilarity delta = phi(d) in [0, 1]; up, the degree of conflict of
    their mass functions, one minus the plausibility that they share a cluster. A good fit lies along the diagonal.
    Points above it are pairs held apart more than their dissimilarity asks for, points below are held together.

    Parameters
    ----------
    delta : array of shape (p,)
        Transformed dissimilarity of each pair.
    conflict : array of shape (p,)
        Degree of conflict of each pair.
    dissimilarity : array of shape (p,), optional
        As measured, for the horizontal axis ``x="dissimilarity"``.

    Attributes
    ----------
    delta, conflict, dissimilarity
        As given, as arrays.
    root_mean_square : float
        Of conflict minus delta.
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        The points, or the hexagons, whose array holds the numbers of pairs.
    reference_ : line
        Where conflict and delta are equal.
    colorbar_ : colour bar or None
    text_ : text
        The root mean square.

    References
    ----------
    T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of large dissimilarity data.
    Knowledge-Based Systems 106.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot import ShepardDisplay
    >>> delta = np.linspace(0, 1, 50)
    >>> display = ShepardDisplay.from_arrays(delta, delta**1.2)
    >>> round(display.root_mean_square, 3)
    0.049
    """

    def __init__(self, *, delta: Any, conflict: Any, dissimilarity: Any = None):
        self.delta = finite_numbers(delta, "delta")
        self.conflict = finite_numbers(conflict, "conflict", len(self.delta))
        self.dissimilarity = (
            None if dissimilarity is None else finite_numbers(dissimilarity, "dissimilarity", len(self.delta))
        )
        self.root_mean_square = float(np.sqrt(np.mean((self.conflict - self.delta) ** 2)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_pairs: int | None = N_PAIRS,
        random_state: Seed = 0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw pairs of the objects that an estimator was fitted to.

        Parameters
        ----------
        estimator : fitted estimator
            With the method ``shepard(n_pairs, random_state)``, which gives the dissimilarity, delta and conflict of
            sampled pairs.
        n_pairs : int or None, default=20000
            Pairs to sample, passed to ``shepard``; None: all that it has.
        random_state : int, RandomState, Generator or None, default=0
            Which pairs.
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        ShepardDisplay
        """
        if not callable(getattr(estimator, "shepard", None)):
            raise InvalidInputError(f"estimator must have the method shepard, got {type(estimator).__name__}")
        pairs = estimator.shepard(n_pairs=sys.maxsize if n_pairs is None else n_pairs, random_state=random_state)
        if all(hasattr(pairs, name) for name in ("dissimilarity", "delta", "conflict")):
            dissimilarity, delta, conflict = pairs.dissimilarity, pairs.delta, pairs.conflict
        else:
            dissimilarity, delta, conflict = pairs
        return cls(delta=delta, conflict=conflict, dissimilarity=dissimilarity).plot(ax=ax, **options)

    @classmethod
    def from_arrays(
        cls, delta: Any, conflict: Any, dissimilarity: Any = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw given pairs; ``options`` are those of `plot`."""
        return cls(delta=delta, conflict=conflict, dissimilarity=dissimilarity).plot(ax=ax, **options)

    @checked_options(x=("delta", "dissimilarity"), style=STYLES)
    def plot(
        self,
        *,
        ax: Any = None,
        x: str = "delta",
        style: str = "auto",
        marker_size: float = 12.0,
        color: Any = PALETTE[0],
        colorbar: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        x : {"delta", "dissimilarity"}, default="delta"
            Horizontal axis. "dissimilarity": as measured; the line of a perfect fit is then the curve delta = phi(d).
        style : {"auto", "points", "density"}, default="auto"
            "density": hexagons, darker for more pairs (logarithmic). "auto": points up to 5,000 pairs.
        marker_size : float, default=12
            Area of the points in square points.
        color : colour
            Of the points.
        colorbar : bool or "auto"
            Scale of the hexagons. "auto": on a new figure only, as it takes room from the axes.
        title : str, optional

        Returns
        -------
        ShepardDisplay
        """
        across = self._across(x)
        drawn_as = style_for(style, len(self.delta))
        dense = drawn_as == "density"
        new_figure = ax is None
        self.ax_ = axes_to_draw_on(ax, (5.6, 5) if dense else (5, 5))
        self.figure_ = self.ax_.figure
        self.points_ = self._draw_pairs(across, drawn_as, marker_size, color)
        self.reference_ = draw_reference(self.ax_, *self._reference(x))
        self.colorbar_ = None
        if dense and wanted(colorbar, new_figure):
            self.colorbar_ = self.figure_.colorbar(self.points_, ax=self.ax_, label="pairs", shrink=0.8)
        self._finish(x, title)
        return self

    def _across(self, x: str) -> np.ndarray:
        if x == "delta":
            return self.delta
        if self.dissimilarity is None:
            raise InvalidInputError("x='dissimilarity' needs the dissimilarities, which were not given")
        return self.dissimilarity

    def _draw_pairs(self, across: np.ndarray, drawn_as: str, size: float, color: Any) -> Any:
        if drawn_as == "points":
            return draw_points(self.ax_, across, self.conflict, size=size, color=color)
        high = max(float(across.max()), 1.0 if across is self.delta else np.finfo(float).tiny)
        extent = (min(float(across.min()), 0.0), high, 0.0, 1.0)
        return draw_density(self.ax_, across, self.conflict, shades=_SHADES, n_hexagons=_HEXAGONS, extent=extent)

    def _reference(self, x: str) -> tuple[np.ndarray, np.ndarray]:
        """The diagonal; over the measured dissimilarities, delta along them."""
        if x == "delta":
            return np.array([0.0, 1.0]), np.array([0.0, 1.0])
        assert self.dissimilarity is not None
        order = np.argsort(self.dissimilarity, kind="stable")
        kept = order[np.unique(np.linspace(0, len(order) - 1, _REFERENCE_POINTS).round().astype(int))]
        return self.dissimilarity[kept], self.delta[kept]

    def _finish(self, x: str, title: str | None) -> None:
        quiet_frame(self.ax_)
        self.ax_.set_ylim(-0.03, 1.03)
        if x == "delta":
            self.ax_.set_xlim(-0.03, 1.03)
            equal_units(self.ax_, "box")
        self.ax_.set_xlabel("transformed dissimilarity δ" if x == "delta" else "dissimilarity")
        self.ax_.set_ylabel("degree of conflict")
        corner = {"transform": self.ax_.transAxes, "ha": "right", "va": "bottom"}
        self.text_ = self.ax_.text(
            0.985, 0.02, f"RMS of conflict − δ: {self.root_mean_square:.3f}", color=GREY, fontsize="small", **corner
        )
        if title is not None:
            self.ax_.set_title(title)
