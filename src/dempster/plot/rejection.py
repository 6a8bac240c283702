"""Display of the error rate of classifiers against the share of rejected objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_boolean, as_labels, as_reals, check, check_choice, convert_fields, real
from dempster.belief import MassFunctions
from dempster.belief.decisions import SINGLE_RULES
from dempster.plot._canvas import CurvesDisplay, finish_axes, name_estimators, validate_estimator


@dataclass(frozen=True)
class RejectionCurve:
    """Error rate as a function of the share of rejected (undecided) objects.

    Attributes
    ----------
    rejection_rate : array of shape (t,)
        Shares of rejected objects, in increasing order from 0.
    error : array of shape (t,)
        Share of wrong decisions among the objects that are not rejected.
    threshold : array of shape (t,)
        Loss of rejection at which each share of objects is rejected. It is the largest expected loss among the objects
        that are not rejected.
    """

    rejection_rate: np.ndarray
    error: np.ndarray
    threshold: np.ndarray

    def __post_init__(self) -> None:
        convert_fields(self, rejection_rate="t", error="t", threshold="t")

    @classmethod
    def from_losses(cls, wrong: Any, expected_loss: Any) -> RejectionCurve:
        """Compute the curve from the expected losses of decisions; objects with equal losses are rejected together.

        Parameters
        ----------
        wrong : Boolean array-like of shape (n,)
            Whether each decision is wrong.
        expected_loss : array-like of shape (n,)
            Expected loss of each decision.

        Returns
        -------
        RejectionCurve
        """
        wrong, loss = as_boolean(wrong, "wrong"), as_reals(expected_loss, "expected_loss")
        if wrong.ndim != 1 or len(wrong) == 0 or loss.shape != wrong.shape:
            shapes = f"{wrong.shape} and {loss.shape}"
            raise InvalidInputError(f"wrong and expected_loss must have the same shape (n,) with n > 0, got {shapes}")
        if not np.isfinite(loss).all():
            raise InvalidInputError("expected_loss must be finite")
        order = np.argsort(loss, kind="stable")
        last_of_group = np.append(np.flatnonzero(np.diff(loss[order]) > 1e-12), len(loss) - 1)[::-1]
        n_decided = last_of_group + 1
        error = np.cumsum(wrong[order])[last_of_group] / n_decided
        return cls(1 - n_decided / len(loss), error, loss[order][last_of_group])

    @property
    def area(self) -> float:
        """Mean error over all rejection rates, which is the area under the curve; 0 is best."""
        return float(self.error @ np.diff(np.append(self.rejection_rate, 1.0)))

    def error_at(self, rejection_rate: float) -> float:
        """Return the error rate if at least the given share of the objects is rejected; 0 if all are rejected.

        Parameters
        ----------
        rejection_rate : float in [0, 1]
            Share of rejected objects.

        Returns
        -------
        float
        """
        check(rejection_rate, "rejection_rate", real(0, 1))
        reached = np.flatnonzero(self.rejection_rate >= rejection_rate - 1e-12)
        return float(self.error[reached[0]]) if len(reached) else 0.0


class RejectionCurveDisplay(CurvesDisplay):
    """Display of the error rate of the objects that are not rejected against the share of rejected objects.

    The curve of a classifier falls quickly if its wrong decisions have large expected losses.

    Parameters
    ----------
    curves : mapping of str to RejectionCurve
        Curves by the names of the classifiers.

    Attributes
    ----------
    areas : dict of str to float
        Mean error over all rejection rates.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One line for each curve.

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

    _curve_class = RejectionCurve
    _style = {"drawstyle": "steps-post"}

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
        **options: Any,
    ) -> Self:
        """Draw the curves of fitted classifiers on objects with known classes.

        Parameters
        ----------
        estimator : fitted classifier, sequence of classifiers, or mapping of names to classifiers
            Classifiers with ``predict_mass`` or, for comparison, ``predict_proba``.
        X : array-like of shape (n, n_features)
            Attributes of the objects.
        y : array-like of shape (n,)
            True classes.
        rule : {"pignistic", "maximin", "maximax", "hurwicz"}, default="pignistic"
            Rule that defines the expected loss, see `MassFunctions.decide`.
        optimism : float, default=0.5
            Parameter of the rule "hurwicz".
        names : sequence of str, optional
            Names of the classifiers if ``estimator`` is a sequence; their class names by default.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        RejectionCurveDisplay
        """
        estimators = name_estimators(estimator, names)
        curves = {name: _compute_curve(one, X, y, rule, optimism) for name, one in estimators.items()}
        return cls(curves=curves).plot(**options)

    @classmethod
    def from_masses(
        cls,
        masses: MassFunctions | Mapping[str, MassFunctions],
        y: Any,
        *,
        rule: str = "pignistic",
        optimism: float = 0.5,
        **options: Any,
    ) -> Self:
        """Draw the curves of mass functions that classifiers predict for objects with known classes.

        Parameters
        ----------
        masses : MassFunctions, or mapping of names to MassFunctions
            Predicted mass functions of the n objects.
        y : array-like of shape (n,)
            True classes, which are elements of the frame.
        rule, optimism, **options
            See `from_estimator`.

        Returns
        -------
        RejectionCurveDisplay
        """
        by_name = masses if isinstance(masses, Mapping) else {"masses": masses}
        curves = {str(name): _compute_mass_curve(one, y, rule, optimism) for name, one in by_name.items()}
        return cls(curves=curves).plot(**options)

    def _points(self, curve: Any) -> tuple[np.ndarray, np.ndarray]:
        return np.append(curve.rejection_rate, 1.0), np.append(curve.error, curve.error[-1])

    def _finish(self, title: str | None) -> None:
        finish_axes(self.ax_, "share of rejected objects", "error of decided objects", title, grid=True)
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(bottom=0)


def _compute_curve(estimator: Any, X: Any, y: Any, rule: str, optimism: float) -> RejectionCurve:
    validate_estimator(estimator)
    if callable(getattr(estimator, "predict_mass", None)):
        return _compute_mass_curve(estimator.predict_mass(X), y, rule, optimism)
    if not hasattr(estimator, "predict_proba"):
        raise InvalidInputError(f"estimator must have predict_mass or predict_proba, got {type(estimator).__name__}")
    probabilities = np.asarray(estimator.predict_proba(X))
    classes = _validate_classes(y, len(probabilities), estimator.classes_)
    wrong = estimator.classes_[probabilities.argmax(axis=1)] != classes
    return RejectionCurve.from_losses(wrong, 1 - probabilities.max(axis=1))


def _compute_mass_curve(masses: MassFunctions, y: Any, rule: str, optimism: float) -> RejectionCurve:
    check_choice(rule, "rule", SINGLE_RULES)
    classes = _validate_classes(y, len(masses), masses.frame)
    losses = masses.expected_losses(rule, optimism=optimism)
    frame = np.empty(masses.n_clusters, dtype=object)
    frame[:] = masses.frame
    return RejectionCurve.from_losses(frame[losses.argmin(axis=1)] != classes, losses.min(axis=1))


def _validate_classes(y: Any, n: int, known: Iterable[Any]) -> np.ndarray:
    classes = as_labels(y, "y")
    if classes.shape != (n,):
        raise InvalidInputError(f"y must contain the classes of {n} objects, got shape {classes.shape}")
    unknown = set(classes.tolist()).difference(known)
    if unknown:
        raise InvalidParameterError("y", must="contain only classes of the classifier", value=unknown.pop())
    return classes
