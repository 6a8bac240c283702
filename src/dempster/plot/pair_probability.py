"""How the probability that two objects are together varies over bootstrap fits."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, shown
from dempster.partition import CredalPartition
from dempster.plot._drawing.arguments import finite_numbers
from dempster.plot._drawing.canvas import INK, panels_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import PALETTE
from dempster.plot._drawing.options import checked_options

__all__ = ["PairProbabilityDisplay"]


class PairProbabilityDisplay:
    """For some pairs of objects, how the probability of being together varies over the bootstrap fits.

    A histogram for each pair, with the bounds of the confidence interval (dashed), belief and plausibility
    (dash-dotted) and, where it is known, the true probability (solid).

    Parameters
    ----------
    values : array of shape (p, B)
        Probability of each pair under each fit.
    pairs : array of shape (p, 2)
        The two objects.
    intervals : array of shape (p, 2)
        Confidence intervals.
    beliefs : array of shape (p, 2), optional
        Belief-plausibility intervals.
    probability : array of shape (p,), optional
        True probabilities.

    Attributes
    ----------
    values, pairs, intervals, beliefs, probability
        As given, as arrays.
    axes_, figure_ : Matplotlib axes and figure
    lines_ : list of dict
        The vertical lines of each panel by name: "lower", "upper", "belief", "plausibility", "probability".

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528,
    figures 4 and 8.

    Examples
    --------
    >>> from dempster.cluster import BootClus
    >>> from dempster.datasets import make_gaussian_mixture
    >>> from dempster.plot import PairProbabilityDisplay
    >>> X, _ = make_gaussian_mixture(1, 60, random_state=0)
    >>> model = BootClus(3, n_bootstraps=50, mixture="EII", random_state=0).fit(X)
    >>> display = PairProbabilityDisplay.from_estimator(model, X, [(0, 1), (2, 3)])
    >>> display.values.shape, len(display.axes_)
    ((2, 50), 2)
    """

    def __init__(self, *, values: Any, pairs: Any, intervals: Any, beliefs: Any = None, probability: Any = None):
        self.values = as_reals(values, "values")
        places = as_reals(pairs, "pairs")
        if places.ndim != 2 or places.shape[1] != 2 or not ((places >= 0) & (places < 2**53) & (places % 1 == 0)).all():
            raise InvalidInputError(f"pairs must hold two positions each, shape (p, 2), got shape {places.shape}")
        self.pairs = places.astype(np.intp)
        p = len(self.pairs)
        if self.values.ndim != 2 or len(self.values) != p or p == 0:
            raise InvalidInputError(f"values must have a row for each of the {p} pairs, got shape {self.values.shape}")
        self.intervals = _bounds(intervals, "intervals", p)
        self.beliefs = None if beliefs is None else _bounds(beliefs, "beliefs", p)
        self.probability = None if probability is None else finite_numbers(probability, "probability", p)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, pairs: Any, *, posterior: Any = None, axes: Any = None, **options: Any
    ) -> Self:
        """Draw pairs of objects under a fitted estimator.

        Parameters
        ----------
        estimator : fitted BootClus
        X : array-like of shape (n, d)
            Objects, old or new.
        pairs : array-like of shape (p, 2)
            Positions of two objects each.
        posterior : array-like of shape (n, c), optional
            True probabilities of the clusters for the objects.
        axes : sequence of p Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        PairProbabilityDisplay
        """
        if not callable(getattr(estimator, "pair_probabilities", None)):
            raise InvalidInputError(
                f"estimator must have the method pair_probabilities, got {type(estimator).__name__}"
            )
        predicted = estimator.predict_mass(X)
        if not isinstance(predicted, CredalPartition):
            raise InvalidInputError("X must be in memory, but it comes in blocks: take the objects of the pairs")
        relations = predicted.relational(pairs).masses
        if len(relations) == 0:
            raise InvalidInputError(f"pairs must hold at least one pair of objects, got {shown(pairs)}")
        first, second = np.asarray(pairs).T
        true = None if posterior is None else as_reals(posterior, "posterior")
        if true is not None and true.shape != (len(predicted), predicted.n_clusters):
            shape = len(predicted), predicted.n_clusters
            raise InvalidInputError(f"posterior must have shape {shape}, got {true.shape}")
        display = cls(
            values=estimator.pair_probabilities(X, pairs),
            pairs=pairs,
            intervals=estimator.pair_intervals(X, pairs),
            beliefs=np.column_stack([relations[:, 1], 1 - relations[:, 2]]),
            probability=None if true is None else np.einsum("pc,pc->p", true[first], true[second]),
        )
        return display.plot(axes=axes, **options)

    @checked_options()
    def plot(self, *, axes: Any = None, bins: int = 25, n_columns: int | None = None, title: str | None = None) -> Self:
        """Draw, on the axes given (one for each pair) or on a new figure with ``n_columns`` columns."""
        p = len(self.pairs)
        columns = min(p, n_columns or (2 if p in (2, 4) else 3))
        self.axes_ = panels_to_draw_on(axes, p, columns, (4.2, 2.8))
        self.figure_ = self.axes_[0].figure
        self.lines_ = [self._panel(e, ax, bins) for e, ax in enumerate(self.axes_)]
        self.axes_[0].legend(fontsize="small", framealpha=0.85, edgecolor="none")
        if title is not None:
            self.figure_.suptitle(title)
        return self

    def _panel(self, e: int, ax: Any, bins: int) -> dict[str, Any]:
        ax.hist(self.values[e], bins=bins, range=(0, 1), color="#CFE3F0", edgecolor="white", linewidth=0.5)
        lines = {}
        lower, upper = self.intervals[e]
        style: dict[str, Any] = {"color": INK, "linestyle": "--", "linewidth": 1.2}
        lines["lower"] = ax.axvline(lower, label="confidence interval", **style)
        lines["upper"] = ax.axvline(upper, **style)
        if self.beliefs is not None:
            belief, plausibility = self.beliefs[e]
            style = {"color": PALETTE[0], "linestyle": "-.", "linewidth": 1.2}
            lines["belief"] = ax.axvline(belief, label="belief, plausibility", **style)
            lines["plausibility"] = ax.axvline(plausibility, **style)
        if self.probability is not None:
            lines["probability"] = ax.axvline(self.probability[e], color=PALETTE[1], linewidth=1.6, label="truth")
        quiet_frame(ax)
        ax.set_xlim(-0.02, 1.02)
        ax.set_title(f"objects {self.pairs[e][0]} and {self.pairs[e][1]}", fontsize="medium")
        ax.set_xlabel("probability of “same cluster”")
        ax.set_ylabel("fits")
        return lines


def _bounds(values: Any, name: str, p: int) -> np.ndarray:
    array = as_reals(values, name)
    if array.shape != (p, 2) or not np.isfinite(array).all():
        raise InvalidInputError(
            f"{name} must hold two finite bounds for each of the {p} pairs, got shape {array.shape}"
        )
    return array
