"""Displays of the explanation of an object, of cluster profiles, and of cautious trees."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

import dempster.plot._canvas as canvas
from dempster._errors import InvalidInputError
from dempster._text import (
    format_answer,
    format_cell,
    format_cluster,
    format_count,
    printable,
    shorten,
    shorten_all,
)
from dempster._validation import check, kind
from dempster.explain import CautiousTree, ObjectExplanation, Profile, explain_object, profile
from dempster.plot.credal_partition import MAX_SECTORS, split_markers
from dempster.plot.palette import GREY, INK

MAX_NAME_CHARACTERS = 34
MAX_CONDITION_CHARACTERS = 44
MAX_TITLE_CHARACTERS = 56
MAX_LINE_CHARACTERS = 64
# Minimum length of the bar "not from attributes", relative to the sum of the other bars.
MIN_BASE_SHARE = 1e-6
MAX_NUMBERED_CELLS = 400  # Larger heat maps have no numbers in their cells.
LEAF_INCHES = 0.5  # Vertical distance of leaves.
LETTER_INCHES = 0.072  # Width of a letter of a condition.
CHIP_INCHES = 0.34  # Width of the mark that shows the predicted set of a leaf.
BAR_INCHES = 1.0  # Width of the bar of a leaf.


class ObjectExplanationDisplay(canvas.Display):
    """Display of the contributions of the attributes of an object to the comparison of two clusters.

    The bar of each attribute extends towards the cluster that the attribute supports. The last bar
    is the total, which includes the part that does not come from the attributes.

    Parameters
    ----------
    explanation : ObjectExplanation
        Explanation to draw.
    clusters : pair of names of clusters, optional
        Clusters on the left and on the right; by default the two most plausible clusters.

    Attributes
    ----------
    pulls : array of shape (p,)
        Contributions of the p attributes. Negative values favor the left cluster, positive values
        the right cluster.
    base, total : float
        Evidence for the right cluster that does not come from the attributes, and the sum of all
        contributions.
    ax_, figure_ : Matplotlib axes and figure
    bars_ : list of bars
        The bars from top to bottom.

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

    def __init__(
        self, *, explanation: ObjectExplanation, clusters: Sequence[Hashable] | None = None
    ):
        check(explanation, "explanation", kind(ObjectExplanation, words="an ObjectExplanation"))
        self.explanation = explanation
        names = explanation.clusters
        pair = (names[0], names[min(1, len(names) - 1)]) if clusters is None else tuple(clusters)
        if len(pair) != 2 or not set(pair) <= set(names):
            raise InvalidInputError(
                f"clusters must be two of {', '.join(map(str, names))}, got {list(pair)}"
            )
        self.clusters = pair
        left, right = (names.index(name) for name in pair)
        evidence = explanation.evidence
        if self._is_single:
            self.pulls = explanation.parts[:, left]
            self.total = float(evidence[left])
        else:
            self.pulls = explanation.between(*pair)
            self.total = float(evidence[right] - evidence[left])
        self.base = self.total - float(self.pulls.sum())

    @property
    def _is_single(self) -> bool:
        """Whether there is only one cluster, so that bars show the contributions to its evidence."""
        return self.clusters[0] == self.clusters[1]

    @classmethod
    def from_explanation(
        cls,
        explanation: ObjectExplanation,
        *,
        clusters: Sequence[Hashable] | None = None,
        **options: Any,
    ) -> Self:
        """Draw an explanation.

        Parameters
        ----------
        explanation : ObjectExplanation
            Explanation to draw.
        clusters : pair of names of clusters, optional
            Clusters to compare; by default the two most plausible clusters.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ObjectExplanationDisplay
        """
        return cls(explanation=explanation, clusters=clusters).plot(**options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        i: Any,
        *,
        feature_names: Sequence[str] | None = None,
        attributes: Any = None,
        **options: Any,
    ) -> Self:
        """Explain an object and draw the explanation.

        Parameters
        ----------
        estimator, X, i, feature_names, attributes
            Arguments of `dempster.explain.explain_object`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        ObjectExplanationDisplay
        """
        explanation = explain_object(
            estimator, X, i, feature_names=feature_names, attributes=attributes, changes=False
        )
        return cls(explanation=explanation).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        most: int = 15,
        sort: bool = True,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        most : int, default=15
            Maximum number of attributes with separate bars. One bar shows the sum of the remaining
            contributions.
        sort : bool, default=True
            Whether to sort the attributes by the size of their contributions.
        colors : sequence of colors, optional
            Colors of all clusters.
        title : str, optional
            By default the assignment of the object.

        Returns
        -------
        self
        """
        names, widths, is_other = self._bars(int(most), sort)
        frame = list(self.explanation.masses.frame)
        palette = canvas.cluster_colors(len(frame), colors)
        self._open_axes(ax, (7.2, 1.7 + 0.3 * len(names)))
        ax = self.ax_
        left, right = (palette[frame.index(name)] for name in self.clusters)
        y = np.arange(len(names), dtype=float)
        y[-1] += 0.35  # A gap separates the total from the contributions.
        self.bars_ = list(
            ax.barh(y, widths, height=0.68, color=[left if w < 0 else right for w in widths])
        )
        for bar, other in zip(self.bars_, is_other, strict=True):
            bar.set_alpha(0.45 if other else 1.0)
        self.bars_[-1].set_height(0.8)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(y, names, parse_math=False)
        ax.set_ylim(y[-1] + 0.6, -0.6)
        self._name_sides(widths, left, right)
        canvas.finish_axes(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.yaxis.get_major_ticks()[-1].label1.set_fontweight("bold")
        quantity = self.explanation.quantity
        if not self._is_single:
            quantity = f"contribution to the difference between the clusters ({quantity})"
        ax.set_xlabel(fill(quantity, MAX_LINE_CHARACTERS), color=GREY, fontsize="small")
        if title is None:
            heading = self.explanation.to_text().splitlines()[0].rstrip(".")
        else:
            heading = title
        ax.set_title(
            fill(heading, MAX_TITLE_CHARACTERS),
            fontsize="medium",
            loc="left",
            pad=24,
            parse_math=False,
        )
        return self

    def _bars(self, most: int, sort: bool) -> tuple[list[str], np.ndarray, list[bool]]:
        """Return the name and length of each bar, and whether it is a remainder that is not a single attribute."""
        pulls = self.pulls
        e = self.explanation
        strongest = np.argsort(-np.abs(pulls), kind="stable")
        if len(pulls) > most + 1:
            shown = strongest[:most]
        else:
            shown = strongest
        if not sort:
            shown = np.sort(shown)
        names = [self._attribute_label(int(d)) for d in shown]
        widths = list(pulls[shown])
        if len(shown) < len(pulls):
            names.append(f"{len(pulls) - len(shown)} other {e.by}")
            widths.append(float(pulls.sum() - pulls[shown].sum()))
        if abs(self.base) > MIN_BASE_SHARE * np.abs(pulls).sum():
            names.append(f"not from {e.by}")
            widths.append(self.base)
        is_other = [k >= len(shown) for k in range(len(names))]
        return [*names, "total"], np.array([*widths, self.total]), [*is_other, False]

    def _attribute_label(self, d: int) -> str:
        e = self.explanation
        name = shorten(printable(e.attributes[d]), MAX_NAME_CHARACTERS)
        if e.by == "objects":
            return f"object {name}"
        if e.values is None:
            value = None
        else:
            value = e.values[d]
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return f"{name} unknown"
        return f"{name} = {shorten(format_cell(value), MAX_NAME_CHARACTERS)}"

    def _name_sides(self, widths: np.ndarray, left: Any, right: Any) -> None:
        """Write the names of the two clusters above the left and right half.

        Use the same scale in both halves.
        """
        limit = 1.05 * float(np.abs(widths).max()) or 1.0
        first, second = (
            shorten(format_cluster(name), MAX_NAME_CHARACTERS) for name in self.clusters
        )
        style = {
            "transform": self.ax_.transAxes,
            "va": "bottom",
            "fontweight": "bold",
            "parse_math": False,
        }
        if self._is_single:
            self.ax_.set_xlim(-limit, max(0.02 * limit, widths.max()))
            self.ax_.text(0.0, 1.015, f"away from {first}", ha="left", color=left, **style)
            return
        self.ax_.set_xlim(-limit, limit)
        self.ax_.text(0.0, 1.015, f"\N{LEFTWARDS ARROW} {first}", ha="left", color=left, **style)
        self.ax_.text(
            1.0, 1.015, f"{second} \N{RIGHTWARDS ARROW}", ha="right", color=right, **style
        )


class ProfileDisplay(canvas.Display):
    """Display of a `dempster.explain.Profile`.

    ``kind="heat"`` is a heat map of the effect sizes of features (rows) in groups (columns). A cell
    is orange if the group has larger values than the other objects, and blue if it has smaller
    values. The effect size is Cliff's delta, or the difference of shares for categories; both are
    between -1 and 1. ``kind="dots"`` has one panel for each feature, which shows the median and
    quartiles of each group, or shares, in the units of the feature.

    Parameters
    ----------
    profile : Profile
        Profile to draw.

    Attributes
    ----------
    axes_ : list of Matplotlib axes
    figure_ : figure
    groups_, features_ : arrays of int
        Indices of the drawn groups and features of the profile.
    colors_ : array of shape (c, 3)
        RGB colors of the clusters.
    image_ : image or None
        The heat map.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import ProfileDisplay
    >>> X = load_iris(as_frame=True).data
    >>> display = ProfileDisplay.from_partition(EVCLUS(3, random_state=0).fit(X), X)
    >>> display.image_.get_array().shape
    (4, 5)
    """

    def __init__(self, *, profile: Profile):
        check(profile, "profile", kind(Profile))
        self.profile = profile

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        X: Any,
        *,
        rule: str = "max_mass",
        weights: str = "certain",
        clustered: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the profile of a partition and draw it.

        Parameters
        ----------
        partition, X, rule, weights, clustered
            Arguments of `dempster.explain.profile`.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        ProfileDisplay
        """
        return cls(
            profile=profile(partition, X, rule=rule, weights=weights, clustered=clustered)
        ).plot(**options)

    @canvas.validate_options(kind=("heat", "dots"))
    def plot(
        self,
        *,
        axes: Any = None,
        kind: str = "heat",
        n_groups: int = 20,
        n_features: int | None = None,
        colors: Sequence[Any] | None = None,
        title: str | None = None,
    ) -> Self:
        """Draw the profile.

        Parameters
        ----------
        axes : Matplotlib axes, or sequence of axes, optional
            One axes for a heat map, or one axes for each drawn feature for dots; by default on a
            new figure.
        kind : {"heat", "dots"}, default="heat"
            Whether to draw a heat map or a panel of dots for each feature.
        n_groups : int, default=20
            Maximum number of groups. Clusters come first, then the largest ambiguous groups and the
            outliers.
        n_features : int, optional
            Maximum number of features; the features with the largest effects are drawn. The default
            is 30 for a heat map and 12 for dots.
        colors : sequence of colors, optional
            Colors of the clusters.
        title : str, optional

        Returns
        -------
        self
        """
        if n_features is None:
            if kind == "heat":
                most = 30
            else:
                most = 12
        else:
            most = n_features
        self.colors_ = canvas.cluster_colors(self.profile.partition.n_clusters, colors)
        size = [len(group) if group.n_possible is None else np.inf for group in self.profile.groups]
        self.groups_ = np.sort(np.argsort(-np.array(size), kind="stable")[: int(n_groups)])
        delta = np.abs(np.nan_to_num(self.profile.statistics["delta"][self.groups_]))
        self.features_ = np.sort(np.argsort(-delta.max(axis=0), kind="stable")[: int(most)])
        self.image_ = None
        if kind == "heat":
            self._draw_heat(axes, title)
        else:
            self._draw_dots(axes, title)
        return self

    def _feature_labels(self, most: int) -> list[str]:
        features = [self.profile.features[q] for q in self.features_]
        names = shorten_all([feature.label for feature in features], most)
        return [
            f"{name} *" if f.attribute.clustered else name
            for name, f in zip(names, features, strict=True)
        ]

    def _group_labels(self) -> list[str]:
        groups = [self.profile.groups[g] for g in self.groups_]
        names = shorten_all([group.name for group in groups], 26)
        return [f"{name} ({len(group):,})" for name, group in zip(names, groups, strict=True)]

    def _draw_heat(self, axes: Any, title: str | None) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        n_rows = len(self.features_)
        n_columns = len(self.groups_)
        labels = self._feature_labels(40)
        longest = max(map(len, labels))
        size = (0.09 * longest + 0.62 * n_columns + 1.6, 0.34 * n_rows + 1.9)
        self._open_panels(axes, 1, 1, size)
        ax = self.axes_[0]
        values = self.profile.statistics["delta"][np.ix_(self.groups_, self.features_)].T
        ends = ["#0072B2", "#F7F7F7", "#D55E00"]
        shades = LinearSegmentedColormap.from_list("lower to higher", ends).with_extremes(
            bad="white"
        )
        self.image_ = ax.imshow(
            np.ma.masked_invalid(values), cmap=shades, vmin=-1, vmax=1, aspect="auto"
        )
        rotated: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
        ax.set_xticks(range(n_columns), self._group_labels(), parse_math=False, **rotated)
        ax.set_yticks(range(n_rows), labels, parse_math=False)
        ax.tick_params(
            length=0, top=False, bottom=False, labeltop=True, labelbottom=False, labelsize="small"
        )
        ax.tick_params(axis="x", pad=10)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
        positions = np.column_stack([np.arange(n_columns), np.ones(n_columns)])
        self._draw_marks(ax, positions, 42, ax.get_xaxis_transform(), lift=6)
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value) and values.size <= MAX_NUMBERED_CELLS:
                if abs(value) > 0.75:
                    color = "white"
                else:
                    color = INK
                text = f"{value:+.1f}".replace("-", "−").replace("+0.0", "0").replace("−0.0", "0")
                ax.text(column, row, text, ha="center", va="center", fontsize=7.5, color=color)
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

    def _draw_dots(self, axes: Any, title: str | None) -> None:
        n_panels = len(self.features_)
        rows = len(self.groups_)
        self._open_panels(axes, n_panels, min(n_panels, 4), (2.7, 0.24 * rows + 0.95))
        names = self._group_labels()
        labels = self._feature_labels(34)
        for i, (ax, q, label) in enumerate(zip(self.axes_, self.features_, labels, strict=True)):
            self._draw_panel(ax, int(q), label)
            ax.set_yticks(range(rows), names if axes is not None or i % 4 == 0 else [""] * rows)
            for text in ax.get_yticklabels():
                text.set_parse_math(False)
            ax.tick_params(axis="y", length=0)
        if title is not None:
            (self.figure_.suptitle if axes is None else self.axes_[0].set_title)(title)

    def _draw_panel(self, ax: Any, q: int, name: str) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        feature = self.profile.features[q]
        if feature.attribute.is_number:
            names = ("q25", "median", "q75")
        else:
            names = ("mean", "mean", "mean")
        low, middle, high = (self.profile.statistics[name][self.groups_, q] for name in names)
        colors = self._group_colors()
        canvas.finish_axes(ax)
        ax.grid(axis="x", color="#E9E9E9", linewidth=0.7)
        ax.set_axisbelow(True)
        for y in np.flatnonzero(np.isfinite(middle)):
            ax.plot(
                [low[y], high[y]],
                [y, y],
                color=colors[y],
                linewidth=2.4,
                alpha=0.55,
                solid_capstyle="round",
            )
        self._draw_marks(ax, np.column_stack([middle, np.arange(len(middle))]), 38, ax.transData)
        ax.set_ylim(len(self.groups_) - 0.4, -0.6)
        ax.set_title(name, fontsize="small", parse_math=False)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        if feature.attribute.kind == "date":
            ax.xaxis.set_major_formatter(lambda days, _: feature.attribute.format(days)[:7])
        elif not feature.attribute.is_number:
            ax.set_xlim(-0.04, 1.04)
            ax.set_xticks([0, 0.5, 1])
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        else:
            ax.ticklabel_format(axis="x", useOffset=False, scilimits=(-4, 6))

    def _group_colors(self) -> np.ndarray:
        """Return the RGB color of each group, which is mixed for ambiguous groups and gray for outliers."""
        sets = np.zeros((len(self.groups_), len(self.colors_)), dtype=bool)
        for row, g in enumerate(self.groups_):
            sets[row, list(self.profile.groups[g].clusters)] = True
        colors = canvas.mix_colors(sets, self.colors_)
        colors[~sets.any(axis=1)] = 0.35
        return colors

    def _draw_marks(
        self, ax: Any, positions: np.ndarray, size: float, transform: Any, lift: float = 0
    ) -> None:
        """Draw a disc in the colors of its clusters, or a cross for outliers, for each group with a position."""
        from matplotlib.transforms import ScaledTranslation

        shifted = transform + ScaledTranslation(0, lift / 72, ax.figure.dpi_scale_trans)
        style: dict[str, Any] = {"transform": shifted, "clip_on": False, "zorder": 3}
        clusters = [list(self.profile.groups[g].clusters) for g in self.groups_]
        number = np.where(np.isfinite(positions).all(axis=1), [len(k) for k in clusters], -1)
        if (number == 0).any():
            ax.scatter(
                *positions[number == 0].T,
                s=0.8 * size,
                marker="x",
                color="black",
                linewidths=1.3,
                **style,
            )
        if (number > MAX_SECTORS).any():
            many = positions[number > MAX_SECTORS]
            ax.scatter(*many.T, s=size, color="0.5", edgecolors=INK, linewidths=0.7, **style)
        if (number == 1).any():
            colors = [self.colors_[clusters[row][0]] for row in np.flatnonzero(number == 1)]
            ax.scatter(
                *positions[number == 1].T,
                s=size,
                color=colors,
                edgecolors="white",
                linewidths=0.5,
                **style,
            )
        for row in np.flatnonzero((number > 1) & (number <= MAX_SECTORS)):
            options = {
                "linewidths": [0.7],
                "zorder": 3,
                "offset_transform": shifted,
                "clip_on": False,
            }
            marks = split_markers(
                positions[row][None], self.colors_[clusters[row]], np.pi, size, **options
            )
            ax.add_collection(marks, autolim=False)


class CautiousTreeDisplay(canvas.Display):
    """Display of a `dempster.explain.CautiousTree` from the root on the left to the leaves on the right.

    The thickness of a branch shows its share of the objects, and its text is the condition. Each
    leaf has a mark in the colors of the clusters that it predicts (a cross for outliers). The bar
    of a leaf shows the sets to which the partition assigns its objects. It has a single color if
    the rule is correct for all objects.

    Parameters
    ----------
    tree : fitted CautiousTree
        Tree to draw.

    Attributes
    ----------
    positions : dict of int to (x, y)
        Position of each node in inches, by its number.
    ax_, figure_ : Matplotlib axes and figure
    colors_ : array of shape (c, 3)
        RGB colors of the clusters.
    texts_ : list of texts
        Conditions of the branches, then predicted sets of the leaves.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import CautiousTree
    >>> from dempster.plot import CautiousTreeDisplay
    >>> X = load_iris(as_frame=True).data
    >>> tree = CautiousTree(max_leaves=3).fit(X, EVCLUS(3, random_state=0).fit(X))
    >>> display = CautiousTreeDisplay.from_estimator(tree)
    >>> len(display.positions)
    5
    """

    def __init__(self, *, tree: CautiousTree):
        check(tree, "tree", kind(CautiousTree))
        check_is_fitted(tree, "nodes_")
        self.tree = tree
        self.positions = _compute_positions(tree)

    @classmethod
    def from_estimator(cls, tree: CautiousTree, **options: Any) -> Self:
        """Draw a fitted tree.

        Parameters
        ----------
        tree : CautiousTree
            Fitted tree.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        CautiousTreeDisplay
        """
        return cls(tree=tree).plot(**options)

    @canvas.validate_options()
    def plot(
        self, *, ax: Any = None, colors: Sequence[Any] | None = None, title: str | None = None
    ) -> Self:
        """Draw the tree.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure that is large enough for the tree.
        colors : sequence of colors, optional
            Colors of the clusters.
        title : str, optional

        Returns
        -------
        self
        """
        answers = shorten_all(
            [format_answer(leaf.answer, self.tree.frame_) for leaf in self.tree.leaves_], 40
        )
        right = max(x for x, _ in self.positions.values())
        width = right + CHIP_INCHES + BAR_INCHES + 0.5 + max(0.085 * max(map(len, answers)), 1.9)
        height = LEAF_INCHES * len(answers)
        self.colors_ = canvas.cluster_colors(self.tree.n_clusters_, colors)
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
            condition = shorten(node.condition(left), MAX_CONDITION_CHARACTERS)
            style = {"fontsize": 8.5, "color": INK, "va": "bottom", "parse_math": False}
            self.texts_.append(self.ax_.text(x + 0.09, to_y + 0.035, condition, **style))

    def _draw_leaf(self, leaf: Any, answer: str, right: float) -> None:
        x, y = self.positions[leaf.number]
        if x < right:
            line = {"color": "#C4C4C4", "linewidth": 0.8 + 5 * leaf.share, "solid_capstyle": "butt"}
            self.ax_.plot([x, right], [y, y], **line)
        self._draw_mark(right, y, leaf.answer)
        self._draw_bar(right + CHIP_INCHES + 0.12, y, leaf.set_shares)
        x = right + CHIP_INCHES + BAR_INCHES + 0.25
        count = f"{format_count(leaf.n_objects)} ({leaf.share:.0%}), fidelity {leaf.fidelity:.2f}"
        style = {"parse_math": False, "ha": "left"}
        self.texts_.append(
            self.ax_.text(x, y + 0.02, answer, fontsize=9.5, color=INK, va="bottom", **style)
        )
        self.ax_.text(x, y - 0.02, count, fontsize=7.5, color=GREY, va="top", **style)

    def _draw_mark(self, x: float, y: float, answer: Sequence[int]) -> None:
        """Draw a rectangle in the colors of the predicted clusters, or with a cross if the predicted set is empty."""
        for k, cluster in enumerate(answer):
            width = CHIP_INCHES / len(answer)
            self._draw_rectangle(
                x + k * width, y, width, 0.26, facecolor=self.colors_[cluster], linewidth=0
            )
        style: dict[str, Any] = {
            "facecolor": "none" if answer else "white",
            "edgecolor": INK,
            "linewidth": 0.8,
            "zorder": 4,
        }
        self._draw_rectangle(x, y, CHIP_INCHES, 0.26, **style)
        if not answer:
            self.ax_.plot(x + CHIP_INCHES / 2, y, marker="x", color="black", markersize=7, zorder=5)

    def _draw_bar(self, x: float, y: float, shares: np.ndarray) -> None:
        """Draw the shares of the sets in a leaf.

        Pairs are hatched, larger sets gray, and outliers white.
        """
        style: dict[str, Any] = {
            "facecolor": "none",
            "edgecolor": GREY,
            "linewidth": 0.5,
            "zorder": 4,
        }
        self._draw_rectangle(x, y, BAR_INCHES, 0.11, **style)
        sets = list(self.tree.focal_sets_)
        for j in np.flatnonzero(shares > 0):
            width = float(BAR_INCHES * shares[j])
            style = {"facecolor": "0.6" if sets[j] else "white", "linewidth": 0}
            if len(sets[j]) in (1, 2):
                style["facecolor"] = self.colors_[sets[j][0]]
            if len(sets[j]) == 2:
                style |= {"hatch": "///", "edgecolor": self.colors_[sets[j][1]]}
            self._draw_rectangle(x, y, width, 0.11, **style)
            x += width

    def _draw_rectangle(
        self, x: float, y: float, width: float, height: float, *, zorder: int = 3, **style: Any
    ) -> None:
        from matplotlib.patches import Rectangle

        self.ax_.add_patch(Rectangle((x, y - height / 2), width, height, zorder=zorder, **style))


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
            heights[node.number] = float(np.mean([heights[child] for child in node.children]))
    return {node.number: (float(x[node.depth]), heights[node.number]) for node in tree.nodes_}
