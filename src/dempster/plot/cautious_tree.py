"""A tree of rules, from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import shorten, shorten_all
from dempster.explain import CautiousTree
from dempster.plot._drawing.canvas import GREY, INK, axes_to_draw_on
from dempster.plot._drawing.colors import cluster_colors
from dempster.plot._drawing.options import checked_options

__all__ = ["CautiousTreeDisplay"]

_ROW = 0.5  # inches for a leaf
_LETTER = 0.072  # inches of a letter of a condition
_CHIP = 0.34  # width of the mark of an answer, in inches
_BAR = 1.0  # width of the bar of what the objects of a leaf are


class CautiousTreeDisplay:
    """Picture of a `dempster.explain.CautiousTree`: the root at the left, conditions on the branches, answers at the
    right.

    A branch is as thick as its share of the objects. A leaf has a mark in the colors of the clusters that it answers,
    two for a pair, a cross for outliers, and a bar of what its objects answer themselves: of one color where the rule
    is right for all of them.

    Parameters
    ----------
    tree : CautiousTree
        Fitted.

    Attributes
    ----------
    tree : CautiousTree
    places : dict of int to (x, y)
        Where each node is drawn, by its number, in inches.
    ax_, figure_ : Matplotlib axes and figure
    colors_ : array of shape (c, 3)
    texts_ : list of texts
        Conditions, then answers.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import CautiousTree
    >>> from dempster.plot import CautiousTreeDisplay
    >>> X = load_iris(as_frame=True).data
    >>> tree = CautiousTree(max_leaves=3).fit(X, EVCLUS(3, random_state=0).fit(X))
    >>> display = CautiousTreeDisplay.from_estimator(tree)
    >>> len(display.places)
    5
    """

    def __init__(self, *, tree: CautiousTree):
        from sklearn.utils.validation import check_is_fitted

        if not isinstance(tree, CautiousTree):
            raise InvalidInputError(f"tree must be a CautiousTree, got {type(tree).__name__}")
        check_is_fitted(tree, "nodes_")
        self.tree = tree
        self.places = _places(tree)

    @classmethod
    def from_estimator(cls, tree: CautiousTree, *, ax: Any = None, **options: Any) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        tree : CautiousTree
        ax : Matplotlib axes, optional
            On a new figure by default, large enough for the tree.
        **options
            Passed to `plot`.

        Returns
        -------
        CautiousTreeDisplay
        """
        return cls(tree=tree).plot(ax=ax, **options)

    @checked_options()
    def plot(self, *, ax: Any = None, colors: Sequence[Any] | None = None, title: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        colors : sequence of colors, optional
            Of the clusters.
        title : str, optional

        Returns
        -------
        CautiousTreeDisplay
        """
        words = _answers(self.tree)
        right = max(x for x, _ in self.places.values())
        width = right + _CHIP + _BAR + 0.5 + max(0.085 * max(map(len, words)), 1.9)
        height = _ROW * len(words)
        self.colors_ = cluster_colors(self.tree.n_clusters_, colors)
        self.ax_ = axes_to_draw_on(ax, (width + 0.3, height + 0.5 + 0.3 * (title is not None)))
        self.figure_ = self.ax_.figure
        self.texts_: list[Any] = []
        for node in self.tree.nodes_:
            if not node.is_leaf:
                self._draw_branches(node)
        for leaf, text in zip(self.tree.leaves_, words, strict=True):
            self._draw_leaf(leaf, text, right)
        self.ax_.set_xlim(-0.1, width)
        self.ax_.set_ylim(-height + 0.1, _ROW * 0.6)
        self.ax_.set_axis_off()
        if title is not None:
            self.ax_.set_title(title, loc="left")
        return self

    def _draw_branches(self, node: Any) -> None:
        x, y = self.places[node.number]
        for child, left in zip(node.children, (True, False), strict=True):
            to_x, to_y = self.places[child]
            width = 0.8 + 5 * self.tree.nodes_[child].share
            self.ax_.plot([x, x, to_x], [y, to_y, to_y], color="#C4C4C4", linewidth=width, solid_joinstyle="miter")
            words = shorten(node.condition(left), 44)
            text = self.ax_.text(x + 0.09, to_y + 0.035, words, fontsize=8.5, color=INK, va="bottom", parse_math=False)
            self.texts_.append(text)

    def _draw_leaf(self, leaf: Any, words: str, right: float) -> None:
        x, y = self.places[leaf.number]
        if x < right:
            line = {"color": "#C4C4C4", "linewidth": 0.8 + 5 * leaf.share, "solid_capstyle": "butt"}
            self.ax_.plot([x, right], [y, y], **line)
        self._draw_mark(right, y, leaf.answer)
        self._draw_bar(right + _CHIP + 0.12, y, leaf.set_shares)
        at = right + _CHIP + _BAR + 0.25
        count = (
            f"{leaf.n_objects:,} object{'s' * (leaf.n_objects != 1)} ({leaf.share:.0%}), fidelity {leaf.fidelity:.2f}"
        )
        style = {"parse_math": False, "ha": "left"}
        self.texts_.append(self.ax_.text(at, y + 0.02, words, fontsize=9.5, color=INK, va="bottom", **style))
        self.ax_.text(at, y - 0.02, count, fontsize=7.5, color=GREY, va="top", **style)

    def _draw_mark(self, x: float, y: float, answer: Sequence[int]) -> None:
        """A square in the colors of the clusters; with a cross if there are none."""
        from matplotlib.patches import Rectangle

        half = 0.13
        for k, cluster in enumerate(answer):
            part = _CHIP / len(answer)
            self.ax_.add_patch(
                Rectangle(
                    (x + k * part, y - half), part, 2 * half, facecolor=self.colors_[cluster], linewidth=0, zorder=3
                )
            )
        rim: dict[str, Any] = {
            "facecolor": "none" if answer else "white",
            "edgecolor": INK,
            "linewidth": 0.8,
            "zorder": 4,
        }
        self.ax_.add_patch(Rectangle((x, y - half), _CHIP, 2 * half, **rim))
        if not answer:
            self.ax_.plot(x + _CHIP / 2, y, marker="x", color="black", markersize=7, zorder=5)

    def _draw_bar(self, x: float, y: float, shares: np.ndarray) -> None:
        """What the objects of a leaf answer themselves: plain where certain, striped in two colors between a pair,
        grey between more, white for outliers."""
        from matplotlib.patches import Rectangle

        sets = list(self.tree.focal_sets_)
        for j in np.flatnonzero(shares > 0):
            width = float(_BAR * shares[j])
            fill: dict[str, Any] = {"facecolor": "white" if not sets[j] else "0.6", "linewidth": 0}
            if len(sets[j]) in (1, 2):
                fill["facecolor"] = self.colors_[sets[j][0]]
            if len(sets[j]) == 2:
                fill |= {"hatch": "///", "edgecolor": self.colors_[sets[j][1]]}
            self.ax_.add_patch(Rectangle((x, y - 0.055), width, 0.11, zorder=3, **fill))
            x += width
        self.ax_.add_patch(
            Rectangle((x - _BAR, y - 0.055), _BAR, 0.11, facecolor="none", edgecolor=GREY, linewidth=0.5, zorder=4)
        )


def _answers(tree: CautiousTree) -> list[str]:
    """The answers of the leaves in words; names that are different stay so when they are shorten."""
    words = [leaf.answer_in(tree.frame_) for leaf in tree.leaves_]
    different = list(dict.fromkeys(words))
    short = dict(zip(different, shorten_all(different, 40), strict=True))
    return [short[text] for text in words]


def _places(tree: CautiousTree) -> dict[int, tuple[float, float]]:
    """Leaves below each other, a node in the middle of its children, and as far right as the conditions need."""
    letters = np.zeros(tree.get_depth() + 1)
    for node in tree.nodes_:
        if not node.is_leaf:
            longest = max(len(shorten(node.condition(left), 44)) for left in (True, False))
            letters[node.depth + 1] = max(letters[node.depth + 1], longest)
    x = np.cumsum(np.where(letters > 0, _LETTER * letters + 0.3, 0))
    heights = {leaf.number: -_ROW * row for row, leaf in enumerate(tree.leaves_)}
    for node in reversed(tree.nodes_):
        if not node.is_leaf:
            heights[node.number] = float(np.mean([heights[child] for child in node.children]))
    return {node.number: (float(x[node.depth]), heights[node.number]) for node in tree.nodes_}
