"""How the objective of one or several estimators fell, iteration after iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals
from dempster.plot._canvas import (
    GREY,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    legend_of_lines,
    named,
    named_estimators,
    number,
    wanted,
)

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
    validation : mapping of str to array, optional
        The same on held-out data, for some of the names or all; dashed.
    references : mapping of str to float, optional
        Values to compare with, by their names; dotted horizontal lines.

    Attributes
    ----------
    histories, converged, validation, references
        As given.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One for each history, in their order.
    validation_lines_, reference_lines_ : lists of lines

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
        self.histories = _sequences(dict(named(histories, "histories")), "history")
        if not self.histories:
            raise InvalidInputError("histories must hold at least one history")
        known = dict(named(converged, "converged"))
        self.converged = {name: bool(known.get(name, True)) for name in self.histories}
        self.validation = _sequences(dict(named(validation, "validation")), "validation")
        unknown = [name for name in self.validation if name not in self.histories]
        if unknown:
            raise InvalidInputError(
                f"validation must have names of histories ({', '.join(self.histories)}), got {unknown}"
            )
        self.references = {
            str(name): number(value, f"references[{name!r}]") for name, value in named(references, "references")
        }

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Draw the history of a fitted estimator, or of several.

        Parameters
        ----------
        estimator : fitted estimator, sequence of them, or mapping of names to them
            With the attribute ``history_``. A nonempty ``validation_history_`` is drawn too, and so is the loss of
            the EVCLUS fit that a network started from (``evclus_``).
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
        named = named_estimators(estimator, names)
        histories = {name: _history(one) for name, one in named.items()}
        converged = {name: getattr(one, "converged_", True) for name, one in named.items()}
        validation = {name: getattr(one, "validation_history_", ()) for name, one in named.items()}
        validation = {name: held_out for name, held_out in validation.items() if len(held_out)}
        starts = {name: getattr(one, "evclus_", None) for name, one in named.items()}
        references = {
            "EVCLUS" if len(named) == 1 else f"{name}: EVCLUS": start.loss_
            for name, start in starts.items()
            if start is not None
        }
        display = cls(histories=histories, converged=converged, validation=validation, references=references)
        return display.plot(ax=ax, **options)

    @checked_options(quantity=("objective", "excess"), scale=("auto", "linear", "log"))
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
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        quantity : {"objective", "excess"}
            "excess": what the objective of each run is above the lowest value it reached. It shows the speed of
            convergence and makes estimators with different objectives comparable; there are no references then.
        scale : {"auto", "linear", "log"}
            Of the vertical axis. "auto": logarithmic for the excess and for objectives of different orders of
            magnitude, if all are positive.
        colors : sequence of colours, optional
        legend : bool or "auto"
            "auto": when there are several lines.
        title : str, optional

        Returns
        -------
        ConvergenceDisplay
        """
        excess = quantity == "excess"
        curves, held_out = (
            {name: curve - curve.min() if excess else curve for name, curve in group.items()}
            for group in (self.histories, self.validation)
        )
        references = {} if excess else self.references
        levels = [np.array([value]) for value in references.values()]
        logarithmic = _is_logarithmic(scale, quantity, [*curves.values(), *held_out.values(), *levels])
        palette = dict(zip(curves, cluster_colors(len(curves), colors), strict=True))
        self.ax_ = axes_to_draw_on(ax, (6.4, 4))
        self.figure_ = self.ax_.figure
        if logarithmic:
            curves, held_out = (
                {name: np.where(curve > 0, curve, np.nan) for name, curve in group.items()}
                for group in (curves, held_out)
            )
            self.ax_.set_yscale("log")
        self.lines_ = [self._draw(name, curve, palette[name]) for name, curve in curves.items()]
        self.validation_lines_ = [self._draw_held_out(name, curve, palette[name]) for name, curve in held_out.items()]
        self.reference_lines_ = [
            self.ax_.axhline(value, color=GREY, linewidth=1.2, linestyle=":", label=name, zorder=1.5)
            for name, value in references.items()
        ]
        n_lines = len(self.lines_) + len(self.validation_lines_) + len(self.reference_lines_)
        self._finish(quantity, wanted(legend, n_lines > 1), title)
        return self

    def _draw_held_out(self, name: str, curve: np.ndarray, color: np.ndarray) -> Any:
        label = "held out" if len(self.histories) == 1 else f"{name}: held out"
        (line,) = self.ax_.plot(np.arange(1, len(curve) + 1), curve, "--", color=color, linewidth=1.2, label=label)
        return line

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
        ylabel = "objective" if quantity == "objective" else "objective above its lowest value"
        finish_axes(self.ax_, "iteration", ylabel, title, grid=True, whole_numbers=True)
        if legend:
            legend_of_lines(self.ax_, [*self.lines_, *self.validation_lines_, *self.reference_lines_])


def _is_logarithmic(scale: str, quantity: str, curves: list[np.ndarray]) -> bool:
    values = np.concatenate(curves)
    positive = values[values > 0]
    if scale == "linear":
        return False
    if scale == "auto":
        if quantity == "excess":
            return len(positive) > 0
        return len(positive) == len(values) and positive.max() > _LOG_FROM * positive.min()
    if len(positive) == 0 or (quantity == "objective" and len(positive) < len(values)):
        raise InvalidInputError("scale='log' needs positive objectives; use scale='linear' or quantity='excess'")
    return True


def _sequences(histories: Mapping[str, Any], what: str) -> dict[str, np.ndarray]:
    arrays = {str(name): as_reals(history, f"the {what} of {name!r}") for name, history in histories.items()}
    for name, array in arrays.items():
        if array.ndim != 1 or len(array) == 0:
            raise InvalidInputError(f"the {what} of {name!r} must be a nonempty sequence, got shape {array.shape}")
    return arrays


def _history(estimator: Any) -> Any:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if not hasattr(estimator, "history_"):
        raise InvalidInputError(f"estimator must have the attribute history_, got {type(estimator).__name__}")
    return estimator.history_
