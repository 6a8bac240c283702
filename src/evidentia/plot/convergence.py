"""How the objective of one or several estimators fell, iteration after iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from evidentia.plot._canvas import axes_to_draw_on, quiet_frame
from evidentia.plot._colors import cluster_colors

__all__ = ["ConvergenceDisplay"]

_LOG_FROM = 20.0  # ratio of the largest to the smallest objective that a linear axis no longer shows
_FEW_ITERATIONS = 60  # of which each gets a dot


class ConvergenceDisplay:
    """Objective after every iteration.

    Parameters
    ----------
    histories : mapping of str to array
        Objective after every iteration, by the name of the estimator.
    converged : mapping of str to bool, optional
        Whether each run ended by itself; one that did not ends in an open circle.

    Attributes
    ----------
    histories, converged
        As given.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One for each history, in their order.

    Examples
    --------
    >>> from evidentia.cluster import ECM
    >>> from evidentia.datasets import load_butterfly
    >>> from evidentia.plot import ConvergenceDisplay
    >>> X = load_butterfly().data
    >>> models = {f"delta = {delta}": ECM(2, delta=delta, random_state=0).fit(X) for delta in (5, 10)}
    >>> display = ConvergenceDisplay.from_estimator(models)
    >>> list(display.histories)
    ['delta = 5', 'delta = 10']
    """

    def __init__(self, *, histories: Mapping[str, Any], converged: Mapping[str, bool] | None = None):
        self.histories = {str(name): np.asarray(history, dtype=float) for name, history in histories.items()}
        if not self.histories:
            raise ValueError("histories must hold at least one history")
        for name, history in self.histories.items():
            if history.ndim != 1 or len(history) == 0:
                raise ValueError(f"the history of {name!r} must be a nonempty sequence, got shape {history.shape}")
        self.converged = {name: bool((converged or {}).get(name, True)) for name in self.histories}

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the history of a fitted estimator, or of several.

        Parameters
        ----------
        estimator : fitted estimator, sequence of them, or mapping of names to them
            With the attribute ``history_``.
        names : sequence of str, optional
            Names of the estimators of a sequence; their classes by default.
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        if isinstance(estimator, Mapping):
            if names is not None:
                raise ValueError("names must be None when the estimators come with their names in a mapping")
            named = {str(name): one for name, one in estimator.items()}
        else:
            several = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
            named = dict(zip(_names(several, names), several, strict=True))
        histories = {name: _history(one) for name, one in named.items()}
        converged = {name: getattr(one, "converged_", True) for name, one in named.items()}
        return cls(histories=histories, converged=converged).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        quantity: str = "objective",
        scale: str = "auto",
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        quantity : {"objective", "excess"}
            "excess": what the objective of each run is above the lowest value it reached. It shows the speed of
            convergence and makes estimators with different objectives comparable.
        scale : {"auto", "linear", "log"}
            Of the vertical axis. "auto": logarithmic for the excess and for objectives of different orders of
            magnitude, if all are positive.
        colors : sequence of colours, optional
        legend : bool or "auto"
            "auto": when there are several estimators.
        title : str, optional

        Returns
        -------
        ConvergenceDisplay
        """
        if quantity not in ("objective", "excess"):
            raise ValueError(f"quantity must be 'objective' or 'excess', got {quantity!r}")
        curves = [history - history.min() if quantity == "excess" else history for history in self.histories.values()]
        logarithmic = _is_logarithmic(scale, quantity, curves)
        palette = cluster_colors(len(curves), colors)
        self.ax_ = axes_to_draw_on(ax, (6.4, 4))
        self.figure_ = self.ax_.figure
        self.lines_ = [
            self._draw(name, np.where(curve > 0, curve, np.nan) if logarithmic else curve, color)
            for (name, curve, color) in zip(self.histories, curves, palette, strict=True)
        ]
        if logarithmic:
            self.ax_.set_yscale("log")
        self._finish(quantity, len(curves) > 1 if legend == "auto" else bool(legend), title)
        return self

    def _draw(self, name: str, curve: np.ndarray, color: np.ndarray) -> Any:
        iterations = np.arange(1, len(curve) + 1)
        dots = {"marker": ".", "markersize": 4} if len(curve) <= _FEW_ITERATIONS else {}
        (line,) = self.ax_.plot(iterations, curve, color=color, linewidth=1.6, label=name, **dots)
        shown = np.flatnonzero(np.isfinite(curve))
        if len(shown):
            last = shown[-1]
            inside = color if self.converged[name] else "white"
            end = {"marker": "o", "markersize": 6, "markeredgecolor": color, "markerfacecolor": inside}
            self.ax_.plot(iterations[last], curve[last], linestyle="none", label="_end", **end)
        return line

    def _finish(self, quantity: str, legend: bool, title: str | None) -> None:
        from matplotlib.ticker import MaxNLocator

        quiet_frame(self.ax_)
        self.ax_.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_xlabel("iteration")
        self.ax_.set_ylabel("objective" if quantity == "objective" else "objective above its lowest value")
        if legend:
            self.ax_.legend(fontsize="small", frameon=False)
        if title is not None:
            self.ax_.set_title(title)


def _is_logarithmic(scale: str, quantity: str, curves: list[np.ndarray]) -> bool:
    values = np.concatenate(curves)
    positive = values[values > 0]
    if scale == "linear":
        return False
    if scale == "auto":
        if quantity == "excess":
            return len(positive) > 0
        return len(positive) == len(values) and positive.max() > _LOG_FROM * positive.min()
    if scale != "log":
        raise ValueError(f"scale must be 'auto', 'linear' or 'log', got {scale!r}")
    if len(positive) == 0 or (quantity == "objective" and len(positive) < len(values)):
        raise ValueError("scale='log' needs positive objectives; use scale='linear' or quantity='excess'")
    return True


def _history(estimator: Any) -> Any:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if not hasattr(estimator, "history_"):
        raise TypeError(f"estimator must have the attribute history_, got {type(estimator).__name__}")
    return estimator.history_


def _names(estimators: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """The names given, or the names of the classes, numbered where they repeat."""
    if names is not None:
        if len(names) != len(estimators) or len(set(names)) != len(names):
            raise ValueError(f"names must hold {len(estimators)} different names, got {list(names)}")
        return [str(name) for name in names]
    classes = [type(one).__name__ for one in estimators]
    return [
        name if classes.count(name) == 1 else f"{name} {classes[:i].count(name) + 1}" for i, name in enumerate(classes)
    ]
