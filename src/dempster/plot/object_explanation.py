"""Why an object is where it is: bars that pull to one cluster or to the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_cluster, printable
from dempster.explain import ObjectExplanation, explain_object
from dempster.plot._drawing.canvas import GREY, INK, axes_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import cluster_colors
from dempster.plot._drawing.options import checked_options

__all__ = ["ObjectExplanationDisplay"]

_LONGEST_NAME = 34  # characters of an attribute; of longer names the middle is left out
_LONGEST_TITLE, _LONGEST_LINE = 56, 64  # characters
_LEAST_BASE = 1e-6  # of all pulls, below which there is nothing besides the attributes


class ObjectExplanationDisplay:
    """What pulls an object to one of two clusters: a bar for each attribute, to the left or to the right.

    The last bar is their sum, with what speaks for either cluster besides the attributes.

    Make one with `from_explanation` or `from_estimator`; the constructor takes an explanation.

    Parameters
    ----------
    explanation : ObjectExplanation
    clusters : pair of names of clusters, optional
        On the left and on the right; the two most plausible ones by default.

    Attributes
    ----------
    explanation, clusters
        As given.
    pulls : (p,) array
        Of the attributes: negative to the left, positive to the right.
    base, total : float
        What speaks for the right cluster besides them, and all together.
    ax_, figure_ : Matplotlib axes and figure
    bars_ : list of bars, from top to bottom

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import ObjectExplanationDisplay
    >>> iris = load_iris()
    >>> model = ECM(3, random_state=0).fit(iris.data)
    >>> display = ObjectExplanationDisplay.from_estimator(model, iris.data, 70, feature_names=iris.feature_names)
    >>> len(display.bars_)
    5
    """

    def __init__(self, *, explanation: ObjectExplanation, clusters: Sequence[Hashable] | None = None):
        if not isinstance(explanation, ObjectExplanation):
            raise InvalidInputError(f"explanation must come from explain_object, got {type(explanation).__name__}")
        self.explanation = explanation
        names = explanation.clusters
        if clusters is None:
            self.clusters = (names[0], names[min(1, len(names) - 1)])
        else:
            chosen = tuple(clusters)
            if len(chosen) != 2 or not set(chosen) <= set(names):
                raise InvalidInputError(f"clusters must be two of {', '.join(map(str, names))}, got {list(chosen)}")
            self.clusters = chosen
        left, right = (names.index(name) for name in self.clusters)
        alone = left == right  # a single cluster: what each attribute adds
        self.pulls = explanation.parts[:, left] if alone else explanation.between(*self.clusters)
        evidence = explanation.evidence
        self.total = float(evidence[left] if alone else evidence[right] - evidence[left])
        self.base = self.total - float(self.pulls.sum())

    @classmethod
    def from_explanation(
        cls,
        explanation: ObjectExplanation,
        *,
        clusters: Sequence[Hashable] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw an explanation.

        Parameters
        ----------
        explanation : ObjectExplanation
        clusters : pair of names of clusters, optional
        ax : Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        ObjectExplanationDisplay
        """
        return cls(explanation=explanation, clusters=clusters).plot(ax=ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        i: Any,
        *,
        feature_names: Sequence[str] | None = None,
        attributes: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Explain an object and draw it.

        Parameters
        ----------
        estimator, X, i, feature_names, attributes
            As in `dempster.explain.explain_object`.
        ax : Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        ObjectExplanationDisplay
        """
        found = explain_object(estimator, X, i, feature_names=feature_names, attributes=attributes, changes=False)
        return cls(explanation=found).plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        most: int = 15,
        sort: bool = True,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        most : int, default=15
            Attributes that get a bar of their own; the others share one.
        sort : bool, default=True
            The strongest first; otherwise in the order of the attributes.
        colors : sequence of colours, optional
            Of all clusters.
        title : str, optional
            By default, where the object is.

        Returns
        -------
        ObjectExplanationDisplay
        """
        names, widths, kinds = self._bars(int(most), sort)
        frame = list(self.explanation.masses.frame)
        palette = cluster_colors(len(frame), colors)
        self.ax_ = axes_to_draw_on(ax, (7.2, 1.7 + 0.3 * len(names)))
        self.figure_ = self.ax_.figure
        left, right = (palette[frame.index(name)] for name in self.clusters)
        places = np.arange(len(names), dtype=float)
        places[-1] += 0.35  # the sum stands apart
        self.bars_ = list(self.ax_.barh(places, widths, height=0.68, color=[left if w < 0 else right for w in widths]))
        for bar, kind in zip(self.bars_, kinds, strict=True):
            bar.set_alpha({"attribute": 1.0, "other": 0.45, "sum": 1.0}[kind])
            if kind == "sum":
                bar.set_height(0.8)
        self.ax_.axvline(0, color=INK, linewidth=0.8)
        self.ax_.set_yticks(places, names, parse_math=False)
        self.ax_.set_ylim(places[-1] + 0.6, -0.6)
        self._name_the_sides(widths, left, right)
        quiet_frame(self.ax_)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.get_yticklabels()[-1].set_fontweight("bold")
        self.ax_.set_xlabel(_difference_of(self.explanation.quantity, self.clusters), color=GREY, fontsize="small")
        heading = self.explanation.to_text().splitlines()[0].rstrip(".") if title is None else title
        self.ax_.set_title(fill(heading, _LONGEST_TITLE), fontsize="medium", loc="left", pad=24, parse_math=False)
        return self

    def _bars(self, most: int, sort: bool) -> tuple[list[str], np.ndarray, list[str]]:
        """Names, lengths and kinds of the bars, from top to bottom."""
        pulls, e = self.pulls, self.explanation
        strongest = np.argsort(-np.abs(pulls), kind="stable")
        shown = strongest[:most] if len(pulls) > most + 1 else strongest
        shown = shown if sort else np.sort(shown)
        names = [_named(e, int(d)) for d in shown]
        widths = list(pulls[shown])
        kinds = ["attribute"] * len(shown)
        if len(shown) < len(pulls):
            names.append(f"{len(pulls) - len(shown)} other {e.by}")
            widths.append(float(pulls.sum() - pulls[shown].sum()))
            kinds.append("other")
        if abs(self.base) > _LEAST_BASE * np.abs(pulls).sum():
            names.append(f"besides the {e.by}")
            widths.append(self.base)
            kinds.append("other")
        return [*names, "together"], np.array([*widths, self.total]), [*kinds, "sum"]

    def _name_the_sides(self, widths: np.ndarray, left: Any, right: Any) -> None:
        """The clusters above the bars that pull to them; both sides are as wide, so that lengths can be compared."""
        reach = 1.05 * float(np.abs(widths).max()) or 1.0
        self.ax_.set_xlim(-reach, reach if self.clusters[0] != self.clusters[1] else max(0.02 * reach, widths.max()))
        first, second = map(format_cluster, self.clusters)
        style = {"transform": self.ax_.transAxes, "va": "bottom", "fontweight": "bold", "parse_math": False}
        if first == second:
            self.ax_.text(0.0, 1.015, f"away from {_short(first)}", ha="left", color=left, **style)
            return
        self.ax_.text(0.0, 1.015, f"\N{LEFTWARDS ARROW} {_short(first)}", ha="left", color=left, **style)
        self.ax_.text(1.0, 1.015, f"{_short(second)} \N{RIGHTWARDS ARROW}", ha="right", color=right, **style)


def _named(e: ObjectExplanation, d: int) -> str:
    name = _short(printable(e.attributes[d]))
    if e.by == "objects":
        return f"object {name}"
    value = None if e.values is None else e.values[d]
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return f"{name} unknown"
    return f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {_short(printable(value))}"


def _short(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    half = _LONGEST_NAME // 2 - 1
    return f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[-half:]}"


def _difference_of(quantity: str, clusters: Sequence[Hashable]) -> str:
    return fill(quantity if clusters[0] == clusters[1] else f"difference in: {quantity}", _LONGEST_LINE)
