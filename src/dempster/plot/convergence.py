"""Display of the objective of one or several estimators after every iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, check, real
from dempster.plot import _canvas as canvas
from dempster.plot.palette import GREY

_MIN_LOG_RATIO = 20.0  # Minimum ratio of the largest to the smallest objective for a logarithmic axis.
_MAX_DOTS = 60  # With more iterations, no dots mark the iterations on the lines.


class ConvergenceDisplay(canvas.Display):
    """Display of the objective of one or several estimators after every iteration.

    Parameters
    ----------
    histories : mapping of str to array
        Objective after every iteration, by the name of the estimator.
    converged : mapping of str to bool, optional
        Whether each estimator converged. The line of an estimator that did not converge ends in an open circle.
    validation : mapping of str to array, optional
        Objective on held-out data, by the name of the estimator; drawn as dashed lines. Names may be missing.
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
            raise InvalidInputError(f"validation must have names of histories {list(self.histories)}, got {unknown}")
        self.references = {}
        for name, value in canvas.mapping_items(references, "references"):
            check(value, f"references[{name!r}]", real())
            self.references[str(name)] = float(value)

    @classmethod
    def from_estimator(cls, estimator: Any, *, names: Sequence[str] | None = None, **options: Any) -> Self:
        """Draw the history of one or several fitted estimators.

        Parameters
        ----------
        estimator : fitted estimator, sequence of estimators, or mapping of names to estimators
            Estimators with the attribute ``history_``. A nonempty ``validation_history_`` is also drawn. If a network
            was initialized by EVCLUS (``evclus_``), the loss of that fit is a reference value.
        names : sequence of str, optional
            Names of the estimators if ``estimator`` is a sequence; their class names by default.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ConvergenceDisplay
        """
        estimators = canvas.name_estimators(estimator, names)
        histories, converged, validation, references = {}, {}, {}, {}
        for name, one in estimators.items():
            canvas.validate_estimator(one, "history_")
            histories[name] = one.history_
            converged[name] = getattr(one, "converged_", True)
            if len(held_out := getattr(one, "validation_history_", ())):
                validation[name] = held_out
            if (start := getattr(one, "evclus_", None)) is not None:
                references["EVCLUS" if len(estimators) == 1 else f"{name}: EVCLUS"] = start.loss_
        display = cls(histories=histories, converged=converged, validation=validation, references=references)
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
            "excess" is the objective minus its lowest value for the same estimator. It shows the speed of convergence
            and makes estimators with different objectives comparable. Reference values are not drawn.
        scale : {"auto", "linear", "log"}
            Scale of the vertical axis. "auto" is logarithmic for the excess and for positive objectives of different
            orders of magnitude, otherwise linear.
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
        references = {} if is_excess else self.references
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
        self.lines_ = [self._draw_history(name, curve, palette[name]) for name, curve in curves.items()]
        self.validation_lines_ = []
        for name, curve in held_out.items():
            label = "held out" if len(self.histories) == 1 else f"{name}: held out"
            iterations = np.arange(1, len(curve) + 1)
            style = {"color": palette[name], "linewidth": 1.2, "linestyle": "--"}
            self.validation_lines_ += self.ax_.plot(iterations, curve, label=label, **style)
        self.reference_lines_ = [
            self.ax_.axhline(value, color=GREY, linewidth=1.2, linestyle=":", label=name, zorder=1.5)
            for name, value in references.items()
        ]
        ylabel = "objective above its lowest value" if is_excess else "objective"
        canvas.finish_axes(self.ax_, "iteration", ylabel, title, grid=True, integer_ticks=True)
        lines = [*self.lines_, *self.validation_lines_, *self.reference_lines_]
        if canvas.resolve_auto(legend, len(lines) > 1):
            canvas.draw_line_legend(self.ax_, lines)
        return self

    def _draw_history(self, name: str, curve: np.ndarray, color: np.ndarray) -> Any:
        iterations = np.arange(1, len(curve) + 1)
        dots = {"marker": ".", "markersize": 4} if len(curve) <= _MAX_DOTS else {}
        (line,) = self.ax_.plot(iterations, curve, color=color, linewidth=1.6, label=name, **dots)
        finite = np.flatnonzero(np.isfinite(curve))
        if len(finite):
            fill = color if self.converged[name] else "white"
            end = {"marker": "o", "markersize": 6, "markeredgecolor": color, "markerfacecolor": fill}
            self.ax_.plot(iterations[finite[-1]], curve[finite[-1]], linestyle="none", label="_end", **end)
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
        raise InvalidInputError("scale='log' needs positive objectives; use scale='linear' or quantity='excess'")
    return True


def _validate_histories(histories: Any, argument: str) -> dict[str, np.ndarray]:
    arrays = {}
    for name, history in canvas.mapping_items(histories, argument):
        array = as_reals(history, f"{argument}[{name!r}]")
        if array.ndim != 1 or len(array) == 0:
            raise InvalidInputError(f"{argument}[{name!r}] must be a nonempty sequence, got shape {array.shape}")
        arrays[str(name)] = array
    return arrays
