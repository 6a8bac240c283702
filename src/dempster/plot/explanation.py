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
from dempster.plot._canvas import (
    Display,
    cluster_colors,
    finish_axes,
    validate_options,
)
from dempster.plot.credal_partition import MAX_SECTORS, split_markers
from dempster.plot.palette import GREY, INK

MAX_NAME_CHARACTERS = 34
MAX_CONDITION_CHARACTERS = 44
MAX_TITLE_CHARACTERS = 56
MAX_LINE_CHARACTERS = 64
# Minimum length of the bar "not from attributes", relative to the sum of the other bars.
MIN_BASE_SHARE = 1e-6
MAX_GROUPS = 20
MAX_NUMBERED_CELLS = 400  # Larger heat maps have no numbers in their cells.
LEAF_INCHES = 0.5  # Vertical distance of leaves.
LETTER_INCHES = 0.072  # Width of a letter of a condition.
CHIP_INCHES = 0.34  # Width of the mark that shows the predicted set of a leaf.
BAR_INCHES = 1.0  # Width of the bar of a leaf.


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
            self.pulls = explanation.between(*self.clusters)
            self.total = float(evidence[1] - evidence[0])
        self.base = self.total - float(self.pulls.sum())

    @validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        most: int = 15,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the bars."""
        names, widths, n_attributes = self._bars(int(most))
        frame = list(self.explanation.masses.frame)
        palette = cluster_colors(len(frame), colors)
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

    def _bars(self, most: int) -> tuple[list[str], np.ndarray, int]:
        """Return the names and lengths of the bars, and the number of single attributes."""
        pulls = self.pulls
        by = self.explanation.by
        shown = np.argsort(-np.abs(pulls), kind="stable")
        if len(pulls) > most + 1:
            shown = shown[:most]
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

    @validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        n_features: int = 30,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw a heat map."""
        self.colors_ = cluster_colors(self.profile.partition.n_clusters, colors)
        # Clusters come first, then the largest ambiguous groups and the outliers.
        size = [
            len(group) if group.n_possible is None else np.inf
            for group in self.profile.groups
        ]
        self.groups_ = np.sort(np.argsort(-np.array(size), kind="stable")[:MAX_GROUPS])
        delta = np.abs(np.nan_to_num(self.profile.statistics["delta"][self.groups_]))
        self.features_ = np.sort(
            np.argsort(-delta.max(axis=0), kind="stable")[: int(n_features)]
        )
        self._draw_heat(ax, title)
        return self

    def _feature_labels(self) -> list[str]:
        features = [self.profile.features[q] for q in self.features_]
        names = shorten_all([feature.label for feature in features], 40)
        return [
            name + " *" * bool(feature.attribute.clustered)
            for name, feature in zip(names, features, strict=True)
        ]

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
        labels = self._feature_labels()
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
        ax.tick_params(axis="x", pad=10)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
        positions = np.column_stack([np.arange(n_columns), np.ones(n_columns)])
        self._draw_marks(ax, positions, 42, ax.get_xaxis_transform(), 6)
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value) and values.size <= MAX_NUMBERED_CELLS:
                color = "white" if abs(value) > 0.75 else INK
                text = (
                    f"{value:+.1f}".replace("-", "−")
                    .replace("+0.0", "0")
                    .replace("−0.0", "0")
                )
                ax.text(
                    column,
                    row,
                    text,
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color=color,
                )
        bar = self.figure_.colorbar(
            self.image_, ax=ax, fraction=0.04, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1]
        )
        bar.ax.set_yticklabels(["−1 lower", "−0.5", "0", "+0.5", "+1 higher"])
        bar.ax.tick_params(labelsize="small", color=GREY)
        bar.outline.set_visible(False)
        if any(self.profile.features[q].attribute.clustered for q in self.features_):
            ax.set_xlabel("* clustered", fontsize="small", color=GREY, loc="left")
        if title is not None:
            ax.set_title(title, loc="left")

    def _draw_marks(
        self,
        ax: Any,
        positions: np.ndarray,
        size: float,
        transform: Any,
        lift: float,
    ) -> None:
        """Draw a disc in the colors of its clusters, or a cross for outliers, for each group."""
        from matplotlib.transforms import ScaledTranslation

        shifted = transform + ScaledTranslation(0, lift / 72, ax.figure.dpi_scale_trans)
        style: dict[str, Any] = {"transform": shifted, "clip_on": False, "zorder": 3}
        clusters = [list(self.profile.groups[g].clusters) for g in self.groups_]
        number = np.where(
            np.isfinite(positions).all(axis=1), [len(k) for k in clusters], -1
        )
        colors = [self.colors_[clusters[row][0]] for row in np.flatnonzero(number == 1)]
        looks = (
            (
                number == 0,
                {"s": 0.8 * size, "marker": "x", "color": "black", "linewidths": 1.3},
            ),
            (
                number > MAX_SECTORS,
                {"s": size, "color": "0.5", "edgecolors": INK, "linewidths": 0.7},
            ),
            (
                number == 1,
                {"s": size, "color": colors, "edgecolors": "white", "linewidths": 0.5},
            ),
        )
        for members, look in looks:
            if members.any():
                ax.scatter(*positions[members].T, **look, **style)
        for row in np.flatnonzero((number > 1) & (number <= MAX_SECTORS)):
            marks = split_markers(
                positions[row][None],
                self.colors_[clusters[row]],
                np.pi,
                size,
                linewidths=[0.7],
                zorder=3,
                offset_transform=shifted,
                clip_on=False,
            )
            ax.add_collection(marks, autolim=False)


class CautiousTreeDisplay(Display):
    """Display of a `CautiousTree`, which its method `plot` creates and describes."""

    def __init__(self, tree: CautiousTree):
        self.tree = tree
        self.positions = _compute_positions(tree)  # of the nodes, in inches

    @validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the tree."""
        answers = shorten_all(
            [
                format_answer(leaf.answer, self.tree.frame_)
                for leaf in self.tree.leaves_
            ],
            40,
        )
        right = max(x for x, _ in self.positions.values())
        width = (
            right
            + CHIP_INCHES
            + BAR_INCHES
            + 0.5
            + max(0.085 * max(map(len, answers)), 1.9)
        )
        height = LEAF_INCHES * len(answers)
        self.colors_ = cluster_colors(self.tree.n_clusters_, colors)
        self._open_axes(ax, (width + 0.3, height + 0.5 + 0.3 * (title is not None)))
        self.texts_: list[Any] = []
        for node in self.tree.nodes_:
            if not node.is_leaf:
                self._draw_branches(node)
        for leaf, text in zip(self.tree.leaves_, answers, strict=True):
            self._draw_leaf(leaf, text, right)
        self.ax_.set_xlim(-0.1, width)
        self.ax_.set_ylim(-height + 0.1, LEAF_INCHES * 0.6)
        self.ax_.set_axis_off()
        if title is not None:
            self.ax_.set_title(title, loc="left")
        return self

    def _draw_branches(self, node: Any) -> None:
        x, y = self.positions[node.number]
        for child, left in zip(node.children, (True, False), strict=True):
            to_x, to_y = self.positions[child]
            width = 0.8 + 5 * self.tree.nodes_[child].share
            self.ax_.plot(
                [x, x, to_x],
                [y, to_y, to_y],
                color="#C4C4C4",
                linewidth=width,
                solid_joinstyle="miter",
            )
            text = self.ax_.text(
                x + 0.09,
                to_y + 0.035,
                shorten(node.condition(left), MAX_CONDITION_CHARACTERS),
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
        self._draw_bar(right + CHIP_INCHES + 0.12, y, leaf.set_shares)
        x = right + CHIP_INCHES + BAR_INCHES + 0.25
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
        width = CHIP_INCHES / max(len(answer), 1)
        for k, cluster in enumerate(answer):
            self._draw_rectangle(
                x + k * width, y, width, 0.26, facecolor=self.colors_[cluster]
            )
        inside = "none" if answer else "white"
        border: dict[str, Any] = {"edgecolor": INK, "linewidth": 0.8, "zorder": 4}
        self._draw_rectangle(x, y, CHIP_INCHES, 0.26, facecolor=inside, **border)
        if not answer:
            self.ax_.plot(
                x + CHIP_INCHES / 2,
                y,
                marker="x",
                color="black",
                markersize=7,
                zorder=5,
            )

    def _draw_bar(self, x: float, y: float, shares: np.ndarray) -> None:
        """Draw the shares of the sets in a leaf.

        Pairs are hatched, larger sets gray, and outliers white.
        """
        border: dict[str, Any] = {"edgecolor": GREY, "linewidth": 0.5, "zorder": 4}
        self._draw_rectangle(x, y, BAR_INCHES, 0.11, facecolor="none", **border)
        sets = list(self.tree.focal_sets_)
        for j in np.flatnonzero(shares > 0):
            width = float(BAR_INCHES * shares[j])
            style: dict[str, Any] = {"facecolor": "0.6" if sets[j] else "white"}
            if len(sets[j]) in (1, 2):
                style["facecolor"] = self.colors_[sets[j][0]]
            if len(sets[j]) == 2:
                style |= {"hatch": "///", "edgecolor": self.colors_[sets[j][1]]}
            self._draw_rectangle(x, y, width, 0.11, **style)
            x += width

    def _draw_rectangle(
        self, x: float, y: float, width: float, height: float, **style: Any
    ) -> None:
        from matplotlib.patches import Rectangle

        style = {"linewidth": 0, "zorder": 3, **style}
        self.ax_.add_patch(Rectangle((x, y - height / 2), width, height, **style))


def _compute_positions(tree: CautiousTree) -> dict[int, tuple[float, float]]:
    """Return the position (x, y) of each node.

    An inner node is at the mean height of its children.
    """
    letters = np.zeros(1 + max(leaf.depth for leaf in tree.leaves_))
    for node in tree.nodes_:
        if not node.is_leaf:
            longest = max(
                len(shorten(node.condition(left), MAX_CONDITION_CHARACTERS))
                for left in (True, False)
            )
            letters[node.depth + 1] = max(letters[node.depth + 1], longest)
    x = np.cumsum(np.where(letters > 0, LETTER_INCHES * letters + 0.3, 0))
    heights = {leaf.number: -LEAF_INCHES * row for row, leaf in enumerate(tree.leaves_)}
    for node in reversed(tree.nodes_):
        if not node.is_leaf:
            heights[node.number] = float(
                np.mean([heights[child] for child in node.children])
            )
    return {
        node.number: (float(x[node.depth]), heights[node.number])
        for node in tree.nodes_
    }
