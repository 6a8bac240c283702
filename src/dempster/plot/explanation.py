"""Displays of the explanation of an object, of cluster profiles, and of cautious trees."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np

from dempster._text import (
    format_answer,
    format_cell,
    format_cluster,
    format_count,
    printable,
    shorten,
    shorten_all,
)
from dempster.explain import CautiousTree, ObjectExplanation, Profile
from dempster.explain.cautious_tree import list_paths
from dempster.plot._canvas import Display, cluster_colors, finish_axes
from dempster.plot.palette import GREY, INK

MAX_BARS = 15
MAX_NAME_CHARACTERS = 34
MAX_CONDITION_CHARACTERS = 44
MAX_TITLE_CHARACTERS = 56
MAX_LINE_CHARACTERS = 64
# Minimum length of the bar "not from attributes", relative to the sum of the other bars.
MIN_BASE_SHARE = 1e-6
MAX_GROUPS = 20
MAX_FEATURES = 30
MAX_NUMBERED_CELLS = 400  # Larger heat maps have no numbers in their cells.
LEAF_INCHES = 0.5  # Vertical distance of leaves.
LETTER_INCHES = 0.072  # Width of a letter of a condition.
CHIP_INCHES = 0.34  # Width of the mark that shows the predicted set of a leaf.


class ObjectExplanationDisplay(Display):
    """Display of an `ObjectExplanation`, which its method `plot` creates and describes."""

    def __init__(self, explanation: ObjectExplanation):
        self.explanation = explanation
        names = explanation.clusters
        # With a single cluster, bars show the contributions to its evidence.
        self._is_single = len(names) == 1
        self.clusters = (names[0], names[:2][-1])
        evidence = explanation.evidence
        if self._is_single:
            self.pulls = explanation.parts[:, 0]
            self.total = float(evidence[0])
        else:
            self.pulls = explanation.difference
            self.total = float(evidence[1] - evidence[0])
        self.base = self.total - float(self.pulls.sum())

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the bars."""
        names, widths, n_attributes = self._bars()
        frame = list(self.explanation.masses.frame)
        palette = cluster_colors(len(frame))
        ax = self._open_axes(ax, (7.2, 1.7 + 0.3 * len(names)))
        left, right = (palette[frame.index(name)] for name in self.clusters)
        y = np.arange(len(names), dtype=float)
        y[-1] += 0.35  # A gap separates the total from the contributions.
        inks = np.where((widths < 0)[:, None], left, right)
        self.bars_ = list(ax.barh(y, widths, height=0.68, color=inks))
        for bar in self.bars_[n_attributes:-1]:
            bar.set_alpha(0.45)
        self.bars_[-1].set_height(0.8)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(y, names, parse_math=False)
        ax.set_ylim(y[-1] + 0.6, -0.6)
        self._name_sides(widths, left, right)
        finish_axes(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.yaxis.get_major_ticks()[-1].label1.set_fontweight("bold")
        quantity = self.explanation.quantity
        if not self._is_single:
            quantity = (
                f"contribution to the difference between the clusters ({quantity})"
            )
        ax.set_xlabel(fill(quantity, MAX_LINE_CHARACTERS), color=GREY, fontsize="small")
        if title is None:
            title = self.explanation.to_text().splitlines()[0].rstrip(".")
        ax.set_title(
            fill(title, MAX_TITLE_CHARACTERS),
            fontsize="medium",
            loc="left",
            pad=24,
            parse_math=False,
        )
        return self

    def _bars(self) -> tuple[list[str], np.ndarray, int]:
        """Return the names and lengths of the bars, and the number of single attributes."""
        pulls = self.pulls
        by = self.explanation.by
        shown = np.argsort(-np.abs(pulls), kind="stable")
        if len(pulls) > MAX_BARS + 1:
            shown = shown[:MAX_BARS]
        names = [self._attribute_label(int(d)) for d in shown]
        widths = list(pulls[shown])
        if len(shown) < len(pulls):
            names.append(f"{len(pulls) - len(shown)} other {by}")
            widths.append(float(pulls.sum() - pulls[shown].sum()))
        if abs(self.base) > MIN_BASE_SHARE * np.abs(pulls).sum():
            names.append(f"not from {by}")
            widths.append(self.base)
        return [*names, "total"], np.array([*widths, self.total]), len(shown)

    def _attribute_label(self, d: int) -> str:
        e = self.explanation
        name = shorten(printable(e.attributes[d]), MAX_NAME_CHARACTERS)
        if e.by == "objects":
            return f"object {name}"
        value = None if e.values is None else e.values[d]
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return f"{name} unknown"
        return f"{name} = {shorten(format_cell(value), MAX_NAME_CHARACTERS)}"

    def _name_sides(self, widths: np.ndarray, left: Any, right: Any) -> None:
        """Write the names of the clusters above the two halves, which have the same scale."""
        limit = 1.05 * float(np.abs(widths).max()) or 1.0
        first, second = (
            shorten(format_cluster(name), MAX_NAME_CHARACTERS) for name in self.clusters
        )
        if self._is_single:
            self.ax_.set_xlim(-limit, max(0.02 * limit, widths.max()))
            self._write_above(0.0, f"away from {first}", left, "left")
            return
        self.ax_.set_xlim(-limit, limit)
        self._write_above(0.0, f"\N{LEFTWARDS ARROW} {first}", left, "left")
        self._write_above(1.0, f"{second} \N{RIGHTWARDS ARROW}", right, "right")

    def _write_above(self, x: float, text: str, color: Any, ha: str) -> None:
        self.ax_.text(
            x,
            1.015,
            text,
            color=color,
            ha=ha,
            va="bottom",
            fontweight="bold",
            transform=self.ax_.transAxes,
            parse_math=False,
        )


class ProfileDisplay(Display):
    """Display of a `Profile`, which its method `plot` creates and describes."""

    def __init__(self, profile: Profile):
        self.profile = profile

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw a heat map."""
        # Clusters come first, then the largest ambiguous groups and the outliers.
        size = [
            len(group) if group.n_possible is None else np.inf
            for group in self.profile.groups
        ]
        self.groups_ = np.sort(np.argsort(-np.array(size), kind="stable")[:MAX_GROUPS])
        delta = np.abs(np.nan_to_num(self.profile.statistics["delta"][self.groups_]))
        self.features_ = np.sort(
            np.argsort(-delta.max(axis=0), kind="stable")[:MAX_FEATURES]
        )
        self._draw_heat(ax, title)
        return self

    def _group_labels(self) -> list[str]:
        groups = [self.profile.groups[g] for g in self.groups_]
        names = shorten_all([group.name for group in groups], 26)
        return [
            f"{name} ({len(group):,})"
            for name, group in zip(names, groups, strict=True)
        ]

    def _draw_heat(self, ax: Any, title: str | None) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        n_rows = len(self.features_)
        n_columns = len(self.groups_)
        features = [self.profile.features[q] for q in self.features_]
        labels = shorten_all([feature.label for feature in features], 40)
        longest = max(map(len, labels))
        size = (0.09 * longest + 0.62 * n_columns + 1.6, 0.34 * n_rows + 1.9)
        ax = self._open_axes(ax, size)
        values = self.profile.statistics["delta"][
            np.ix_(self.groups_, self.features_)
        ].T
        ends = ["#0072B2", "#F7F7F7", "#D55E00"]
        shades = LinearSegmentedColormap.from_list("lower to higher", ends)
        self.image_ = ax.imshow(
            np.ma.masked_invalid(values),
            cmap=shades.with_extremes(bad="white"),
            vmin=-1,
            vmax=1,
            aspect="auto",
        )
        ax.set_xticks(
            range(n_columns),
            self._group_labels(),
            parse_math=False,
            rotation=40,
            ha="left",
            rotation_mode="anchor",
        )
        ax.set_yticks(range(n_rows), labels, parse_math=False)
        ax.tick_params(
            length=0,
            top=False,
            bottom=False,
            labeltop=True,
            labelbottom=False,
            labelsize="small",
        )
        ax.spines[:].set_visible(False)
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value) and values.size <= MAX_NUMBERED_CELLS:
                ax.text(
                    column,
                    row,
                    f"{value:+.1f}",
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if abs(value) > 0.75 else INK,
                )
        bar = self.figure_.colorbar(
            self.image_, ax=ax, fraction=0.04, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1]
        )
        bar.ax.set_yticklabels(["−1 lower", "−0.5", "0", "+0.5", "+1 higher"])
        bar.ax.tick_params(labelsize="small", color=GREY)
        bar.outline.set_visible(False)
        if title is not None:
            ax.set_title(title, loc="left")


class CautiousTreeDisplay(Display):
    """Display of a `CautiousTree`, which its method `plot` creates and describes."""

    def __init__(self, tree: CautiousTree):
        self.tree = tree
        self.conditions = {
            number: shorten(path[-1], MAX_CONDITION_CHARACTERS)
            for number, path in list_paths(tree.nodes_).items()
            if path
        }
        self.positions = self._compute_positions()  # of the nodes, in inches

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the tree."""
        leaves = self.tree.leaves_
        frame = self.tree.frame_
        answers = shorten_all(
            [format_answer(leaf.answer, frame) for leaf in leaves], 40
        )
        right = max(x for x, _ in self.positions.values())
        width = right + CHIP_INCHES + 0.5 + max(0.085 * max(map(len, answers)), 1.9)
        height = LEAF_INCHES * len(answers)
        self.colors_ = cluster_colors(self.tree.n_clusters_)
        self._open_axes(ax, (width + 0.3, height + 0.5 + 0.3 * (title is not None)))
        self.texts_: list[Any] = []
        for node in self.tree.nodes_:
            for child in node.children:
                self._draw_branch(node, self.tree.nodes_[child])
        for leaf, text in zip(leaves, answers, strict=True):
            self._draw_leaf(leaf, text, right)
        self.ax_.set_xlim(-0.1, width)
        self.ax_.set_ylim(-height + 0.1, LEAF_INCHES * 0.6)
        self.ax_.set_axis_off()
        if title is not None:
            self.ax_.set_title(title, loc="left")
        return self

    def _draw_branch(self, parent: Any, child: Any) -> None:
        x, y = self.positions[parent.number]
        to_x, to_y = self.positions[child.number]
        self.ax_.plot(
            [x, x, to_x],
            [y, to_y, to_y],
            color="#C4C4C4",
            linewidth=0.8 + 5 * child.share,
            solid_joinstyle="miter",
        )
        text = self.ax_.text(
            x + 0.09,
            to_y + 0.035,
            self.conditions[child.number],
            fontsize=8.5,
            color=INK,
            va="bottom",
            parse_math=False,
        )
        self.texts_.append(text)

    def _draw_leaf(self, leaf: Any, answer: str, right: float) -> None:
        x, y = self.positions[leaf.number]
        if x < right:
            line = {
                "color": "#C4C4C4",
                "linewidth": 0.8 + 5 * leaf.share,
                "solid_capstyle": "butt",
            }
            self.ax_.plot([x, right], [y, y], **line)
        self._draw_mark(right, y, leaf.answer)
        x = right + CHIP_INCHES + 0.15
        count = f"{format_count(leaf.n_objects)} ({leaf.share:.0%}), fidelity {leaf.fidelity:.2f}"
        style = {"parse_math": False, "ha": "left"}
        self.texts_.append(
            self.ax_.text(
                x, y + 0.02, answer, fontsize=9.5, color=INK, va="bottom", **style
            )
        )
        self.ax_.text(x, y - 0.02, count, fontsize=7.5, color=GREY, va="top", **style)

    def _draw_mark(self, x: float, y: float, answer: Sequence[int]) -> None:
        """Draw a rectangle in the colors of the predicted clusters, with a cross for outliers."""
        if answer:
            starts, width = np.linspace(
                x, x + CHIP_INCHES, len(answer), endpoint=False, retstep=True
            )
            colors = self.colors_[list(answer)]
            ys = np.full(len(answer), y)
            self.ax_.barh(ys, width, 0.26, left=starts, color=colors, zorder=3)
        border: dict[str, Any] = {"edgecolor": INK, "linewidth": 0.8, "zorder": 4}
        self.ax_.barh(y, CHIP_INCHES, 0.26, left=x, color="none", **border)
        if not answer:
            self.ax_.plot(
                x + CHIP_INCHES / 2,
                y,
                marker="x",
                color="black",
                markersize=7,
                zorder=5,
            )

    def _compute_positions(self) -> dict[int, tuple[float, float]]:
        """Return the position (x, y) of each node.

        An inner node is at the mean height of its children.
        """
        nodes = self.tree.nodes_
        letters = np.zeros(1 + max(node.depth for node in nodes))
        for number, text in self.conditions.items():
            depth = nodes[number].depth
            letters[depth] = max(letters[depth], len(text))
        x = np.cumsum(np.where(letters > 0, LETTER_INCHES * letters + 0.3, 0))
        heights = {
            leaf.number: -LEAF_INCHES * row
            for row, leaf in enumerate(self.tree.leaves_)
        }
        for node in reversed(nodes):
            if not node.is_leaf:
                below = [heights[child] for child in node.children]
                heights[node.number] = float(np.mean(below))
        return {k: (float(x[nodes[k].depth]), heights[k]) for k in range(len(nodes))}
