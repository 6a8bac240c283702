"""Error of a classifier against the share of objects it leaves undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_labels, as_reals, as_truth, check, read_fields, real
from dempster.belief import MassFunctions
from dempster.belief.decisions import SINGLE_RULES
from dempster.plot._canvas import (
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    legend_of_lines,
    named_estimators,
    wanted,
)


@dataclass(frozen=True)
class RejectionCurve:
    """What happens as more and more doubtful objects are left undecided.

    Attributes
    ----------
    rejection_rate : array of shape (t,)
        Shares of the objects that are not decided, increasing from 0.
    error : array of shape (t,)
        Share of wrong decisions among the others.
    threshold : array of shape (t,)
        Loss of not deciding that leads there: the largest expected loss among the objects that are decided.
    """

    rejection_rate: np.ndarray
    error: np.ndarray
    threshold: np.ndarray

    def __post_init__(self) -> None:
        read_fields(self, rejection_rate="t", error="t", threshold="t")

    @classmethod
    def from_losses(cls, wrong: Any, expected_loss: Any) -> RejectionCurve:
        """From what was decided wrongly and the loss that was expected; objects of equal loss go together."""
        wrong, loss = as_truth(wrong, "wrong"), as_reals(expected_loss, "expected_loss")
        if wrong.ndim != 1 or len(wrong) == 0 or loss.shape != wrong.shape:
            raise InvalidInputError(
                f"wrong and expected_loss must be two sequences alike, got {wrong.shape} and {loss.shape}"
            )
        if not np.isfinite(loss).all():
            raise InvalidInputError("expected_loss must be finite")
        order = np.argsort(loss, kind="stable")
        last = np.append(np.flatnonzero(np.diff(loss[order]) > 1e-12), len(loss) - 1)[::-1]  # of each group of equals
        decided = last + 1
        return cls(1 - decided / len(loss), np.cumsum(wrong[order])[last] / decided, loss[order][last])

    @property
    def area(self) -> float:
        """Mean error over all shares of rejection, 0 at best: the area under the curve as it is drawn."""
        return float(self.error @ np.diff(np.append(self.rejection_rate, 1.0)))

    def error_at(self, rejection_rate: float) -> float:
        """Error when at least this share of the objects is rejected; 0 when all are."""
        check(rejection_rate, "rejection_rate", real(0, 1))
        reached = np.flatnonzero(self.rejection_rate >= rejection_rate - 1e-12)
        return float(self.error[reached[0]]) if len(reached) else 0.0


class RejectionCurveDisplay:
    """Error of the decided objects against the share of undecided ones.

    A classifier that knows what it does not know errs less and less as it may refuse more: its curve falls quickly.

    Make one with `from_estimator` or `from_masses`; the constructor takes curves that are already computed.

    Parameters
    ----------
    curves : mapping of str to RejectionCurve
        Name of each classifier, and its curve.

    Attributes
    ----------
    curves
        As given.
    areas : dict of str to float
        Mean error over all shares of rejection.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines

    References
    ----------
    C. K. Chow (1970). On optimum recognition error and reject tradeoff. IEEE Trans. Information Theory 16.

    T. Denoeux (1997). Analysis of evidence-theoretic decision rules for pattern classification. Pattern Recognition
    30.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.classify import EKNNClassifier
    >>> from dempster.plot import RejectionCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EKNNClassifier(9).fit(X[::2], y[::2])
    >>> display = RejectionCurveDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> curve = display.curves["EKNNClassifier"]
    >>> round(curve.error_at(0.0), 3), curve.error_at(0.2)
    (0.013, 0.0)
    """

    def __init__(self, *, curves: Mapping[str, RejectionCurve]):
        if not curves or not all(isinstance(curve, RejectionCurve) for curve in curves.values()):
            raise InvalidInputError("curves must map at least one name to a RejectionCurve")
        self.curves = {str(name): curve for name, curve in curves.items()}
        self.areas = {name: curve.area for name, curve in self.curves.items()}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        rule: str = "pignistic",
        optimism: float = 0.5,
        names: Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the curves of fitted classifiers on objects whose classes are known.

        Parameters
        ----------
        estimator : fitted classifier, sequence of them, or mapping of names to them
            With ``predict_mass``; or, for comparison, with ``predict_proba`` alone.
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            True classes.
        rule : {"pignistic", "maximin", "maximax", "hurwicz"}, default="pignistic"
            Whose expected loss an object must not exceed to be decided; see ``decide``.
        optimism : float, default=0.5
            For "hurwicz".
        names : sequence of str, optional
            Names of the estimators of a sequence; their classes by default.
        ax : Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        RejectionCurveDisplay
        """
        named = named_estimators(estimator, names)
        curves = {name: _curve_of(one, X, y, rule, optimism) for name, one in named.items()}
        return cls(curves=curves).plot(ax=ax, **options)

    @classmethod
    def from_masses(
        cls,
        masses: MassFunctions | Mapping[str, MassFunctions],
        y: Any,
        *,
        rule: str = "pignistic",
        optimism: float = 0.5,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the curves of mass functions on the classes (of one classifier, or of several by name).

        Parameters
        ----------
        masses : MassFunctions, or mapping of names to them
        y : array-like of shape (n,)
            True classes: names of the frame.
        rule, optimism, ax, **options
            As in `from_estimator`.

        Returns
        -------
        RejectionCurveDisplay
        """
        named = masses if isinstance(masses, Mapping) else {"masses": masses}
        curves = {str(name): _curve_of_masses(one, y, rule, optimism) for name, one in named.items()}
        return cls(curves=curves).plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        colors : sequence of colours, optional
        legend : bool or "auto"
            "auto": when there are several curves.
        title : str, optional

        Returns
        -------
        RejectionCurveDisplay
        """
        palette = cluster_colors(len(self.curves), colors)
        self.ax_ = axes_to_draw_on(ax, (6.4, 4))
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for (name, curve), color in zip(self.curves.items(), palette, strict=True):
            x = np.append(curve.rejection_rate, 1.0)
            height = np.append(curve.error, curve.error[-1])
            (line,) = self.ax_.step(x, height, where="post", color=color, linewidth=1.6, label=name)
            self.lines_.append(line)
        finish_axes(self.ax_, "share of rejected objects", "error among the others", title, grid=True)
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(bottom=0)
        if wanted(legend, len(self.curves) > 1):
            legend_of_lines(self.ax_, self.lines_)
        return self


def _curve_of(estimator: Any, X: Any, y: Any, rule: str, optimism: float) -> RejectionCurve:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if callable(getattr(estimator, "predict_mass", None)):
        return _curve_of_masses(estimator.predict_mass(X), y, rule, optimism)
    if not hasattr(estimator, "predict_proba"):
        raise InvalidInputError(f"estimator must have predict_mass or predict_proba, got {type(estimator).__name__}")
    probabilities = np.asarray(estimator.predict_proba(X))
    right = estimator.classes_[probabilities.argmax(axis=1)] == _checked_truth(y, len(probabilities))
    return RejectionCurve.from_losses(~right, 1 - probabilities.max(axis=1))


def _curve_of_masses(masses: MassFunctions, y: Any, rule: str, optimism: float) -> RejectionCurve:
    if rule not in SINGLE_RULES:
        raise InvalidParameterError("rule", f"one of {', '.join(map(repr, SINGLE_RULES))}", rule)
    truth = _checked_truth(y, len(masses))
    losses = masses.expected_losses(rule, optimism=optimism)
    frame = np.empty(masses.n_clusters, dtype=object)
    frame[:] = masses.frame
    return RejectionCurve.from_losses(frame[losses.argmin(axis=1)] != truth, losses.min(axis=1))


def _checked_truth(y: Any, n: int) -> np.ndarray:
    truth = as_labels(y, "y")
    if truth.shape != (n,):
        raise InvalidInputError(f"y must hold the classes of {n} objects, got shape {truth.shape}")
    return truth
