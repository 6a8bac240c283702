"""Pictures that explain: what pulls an object, what clusters are like, and the rules of a cautious tree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from textwrap import fill
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_cell, format_cluster, printable, shorten, shorten_all
from dempster.explain import CautiousTree, ObjectExplanation, Profile, explain_object, profile
from dempster.plot._canvas import (
    GREY,
    INK,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    finish_axes,
    mixed_colors,
    panels_to_draw_on,
)
from dempster.plot.credal_partition import split_markers

MAX_NAME_CHARACTERS = 34  # characters of an attribute; of longer names the middle is left out
MAX_TITLE_CHARACTERS, MAX_LINE_CHARACTERS = 56, 64
MIN_BASE_SHARE = 1e-6  # of all pulls, below which there is nothing besides the attributes
MAX_SECTORS = 4  # colors that can be told apart inside one marker
MAX_NUMBERED_CELLS = 400  # cells with their numbers in a map
LEAF_INCHES = 0.5  # inches for a leaf
LETTER_INCHES = 0.072  # inches of a letter of a condition
CHIP_INCHES = 0.34  # width of the mark of an answer, in inches
BAR_INCHES = 1.0  # width of the bar of what the objects of a leaf are


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
        finish_axes(self.ax_)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.get_yticklabels()[-1].set_fontweight("bold")
        self.ax_.set_xlabel(_difference_of(self.explanation.quantity, self.clusters), color=GREY, fontsize="small")
        heading = self.explanation.to_text().splitlines()[0].rstrip(".") if title is None else title
        self.ax_.set_title(fill(heading, MAX_TITLE_CHARACTERS), fontsize="medium", loc="left", pad=24, parse_math=False)
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
        if abs(self.base) > MIN_BASE_SHARE * np.abs(pulls).sum():
            names.append(f"besides the {e.by}")
            widths.append(self.base)
            kinds.append("other")
        return [*names, "together"], np.array([*widths, self.total]), [*kinds, "sum"]

    def _name_the_sides(self, widths: np.ndarray, left: Any, right: Any) -> None:
        """The clusters above the bars that pull to them; both sides are as wide, so that lengths can be compared."""
        reach = 1.05 * float(np.abs(widths).max()) or 1.0
        self.ax_.set_xlim(-reach, reach if self.clusters[0] != self.clusters[1] else max(0.02 * reach, widths.max()))
        first, second = (shorten(format_cluster(name), MAX_NAME_CHARACTERS) for name in self.clusters)
        style = {"transform": self.ax_.transAxes, "va": "bottom", "fontweight": "bold", "parse_math": False}
        if self.clusters[0] == self.clusters[1]:
            self.ax_.text(0.0, 1.015, f"away from {first}", ha="left", color=left, **style)
            return
        self.ax_.text(0.0, 1.015, f"\N{LEFTWARDS ARROW} {first}", ha="left", color=left, **style)
        self.ax_.text(1.0, 1.015, f"{second} \N{RIGHTWARDS ARROW}", ha="right", color=right, **style)


def _named(e: ObjectExplanation, d: int) -> str:
    name = shorten(printable(e.attributes[d]), MAX_NAME_CHARACTERS)
    if e.by == "objects":
        return f"object {name}"
    value = None if e.values is None else e.values[d]
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return f"{name} unknown"
    return f"{name} = {shorten(format_cell(value), MAX_NAME_CHARACTERS)}"


def _difference_of(quantity: str, clusters: Sequence[Hashable]) -> str:
    return fill(quantity if clusters[0] == clusters[1] else f"difference in: {quantity}", MAX_LINE_CHARACTERS)


class ProfileDisplay:
    """Picture of a `dempster.explain.Profile`.

    ``kind="heat"`` is a map of effect sizes, attributes by groups: orange where the group has larger values than the
    rest, blue where it has smaller ones (Cliff's delta, for categories the difference of shares; both from -1 to 1).
    ``kind="dots"`` has a panel for each attribute, in its own units: medians and quartiles of each group, or shares.

    Make one with `from_partition`; the constructor takes a profile that is already computed.

    Parameters
    ----------
    profile : Profile

    Attributes
    ----------
    profile : Profile
    axes_ : list of Matplotlib axes
    figure_ : figure
    groups_, features_ : arrays of int
        Which groups and features of the profile are drawn.
    colors_ : array of shape (c, 3)
    image_ : image or None
        The map.

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
        if not isinstance(profile, Profile):
            raise InvalidInputError(f"profile must come from dempster.explain.profile, got {type(profile).__name__}")
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
        axes: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the profile of a partition by the attributes X of its objects.

        Parameters
        ----------
        partition, X, rule, weights, clustered
            As in `dempster.explain.profile`.
        axes : Matplotlib axes or sequence of them, optional
        **options
            Passed to `plot`.

        Returns
        -------
        ProfileDisplay
        """
        found = profile(partition, X, rule=rule, weights=weights, clustered=clustered)
        return cls(profile=found).plot(axes=axes, **options)

    @checked_options(kind=("heat", "dots"))
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
        """Draw.

        Parameters
        ----------
        axes : Matplotlib axes, or sequence of one for each feature, optional
            One for a map, one for each feature that is drawn for dots; on a new figure by default.
        kind : {"heat", "dots"}, default="heat"
        n_groups : int, default=20
            Most groups: clusters first, then the largest ambiguous ones and the outliers.
        n_features : int, optional
            Most features, those that differ most in some group; 30 in a map, 12 panels of dots by default.
        colors : sequence of colors, optional
            Of the clusters.
        title : str, optional

        Returns
        -------
        ProfileDisplay
        """
        most = (30 if kind == "heat" else 12) if n_features is None else n_features
        self.colors_ = cluster_colors(self.profile.partition.n_clusters, colors)
        self.groups_ = self._chosen_groups(int(n_groups))
        delta = np.abs(np.nan_to_num(self.profile.statistics["delta"][self.groups_]))
        self.features_ = np.sort(np.argsort(-delta.max(axis=0), kind="stable")[: int(most)])
        self.image_ = None
        if kind == "heat":
            self._draw_heat(axes, title)
        else:
            self._draw_dots(axes, title)
        return self

    def _chosen_groups(self, most: int) -> np.ndarray:
        groups = self.profile.groups
        size = [len(group) if group.n_possible is None else np.inf for group in groups]
        return np.sort(np.argsort(-np.array(size), kind="stable")[:most])

    def _feature_labels(self, most: int) -> list[str]:
        features = [self.profile.features[q] for q in self.features_]
        names = shorten_all([feature.label for feature in features], most)
        return [f"{name} *" if f.attribute.clustered else name for name, f in zip(names, features, strict=True)]

    def _group_labels(self) -> list[str]:
        groups = [self.profile.groups[g] for g in self.groups_]
        names = shorten_all([group.name for group in groups], 26)
        return [f"{name} ({len(group):,})" for name, group in zip(names, groups, strict=True)]

    # ---- map ------------------------------------------------------------------------------------------------------

    def _draw_heat(self, axes: Any, title: str | None) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        n_rows, n_columns = len(self.features_), len(self.groups_)
        labels = self._feature_labels(40)
        longest = max(map(len, labels))
        size = (0.09 * longest + 0.62 * n_columns + 1.6, 0.34 * n_rows + 1.9)
        ax = panels_to_draw_on(axes, 1, 1, size)[0]
        self.axes_, self.figure_ = [ax], ax.figure
        values = self.profile.statistics["delta"][np.ix_(self.groups_, self.features_)].T
        ends = ["#0072B2", "#F7F7F7", "#D55E00"]
        shades = LinearSegmentedColormap.from_list("lower to higher", ends).with_extremes(bad="white")
        self.image_ = ax.imshow(np.ma.masked_invalid(values), cmap=shades, vmin=-1, vmax=1, aspect="auto")
        turned: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
        ax.set_xticks(range(n_columns), self._group_labels(), parse_math=False, **turned)
        ax.set_yticks(range(n_rows), labels, parse_math=False)
        ax.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False, labelsize="small")
        ax.tick_params(axis="x", pad=10)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5)
        ax.tick_params(which="minor", length=0)
        above = np.column_stack([np.arange(n_columns), np.ones(n_columns)])
        self._draw_marks(ax, above, 42, ax.get_xaxis_transform(), lift=6)
        if values.size <= MAX_NUMBERED_CELLS:
            self._write_numbers(ax, values)
        bar = self.figure_.colorbar(self.image_, ax=ax, fraction=0.04, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1])
        bar.ax.set_yticklabels(["−1 lower", "−0.5", "0", "+0.5", "+1 higher"])
        bar.ax.tick_params(labelsize="small", color=GREY)
        bar.outline.set_visible(False)
        if any(self.profile.features[q].attribute.clustered for q in self.features_):
            ax.set_xlabel("* clustered", fontsize="small", color=GREY, loc="left")
        if title is not None:
            ax.set_title(title, loc="left")

    def _write_numbers(self, ax: Any, values: np.ndarray) -> None:
        for (row, column), value in np.ndenumerate(values):
            if np.isfinite(value):
                color = "white" if abs(value) > 0.75 else INK
                text = f"{value:+.1f}".replace("-", "−").replace("+0.0", "0").replace("−0.0", "0")
                ax.text(column, row, text, ha="center", va="center", fontsize=7.5, color=color)

    # ---- dots -----------------------------------------------------------------------------------------------------

    def _draw_dots(self, axes: Any, title: str | None) -> None:
        number, rows = len(self.features_), len(self.groups_)
        panels = panels_to_draw_on(axes, number, min(number, 4), (2.7, 0.24 * rows + 0.95))
        self.axes_, self.figure_ = panels, panels[0].figure
        names, labels = self._group_labels(), self._feature_labels(34)
        for place, (ax, q, label) in enumerate(zip(panels, self.features_, labels, strict=True)):
            self._draw_panel(ax, int(q), label)
            ax.set_yticks(range(rows), names if axes is not None or place % 4 == 0 else [""] * rows)
            for text in ax.get_yticklabels():
                text.set_parse_math(False)
            ax.tick_params(axis="y", length=0)
        if title is not None:
            if axes is None:
                self.figure_.suptitle(title)
            else:
                panels[0].set_title(title)

    def _draw_panel(self, ax: Any, q: int, name: str) -> None:
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        feature = self.profile.features[q]
        names = ("q25", "median", "q75") if feature.attribute.is_number else ("mean", "mean", "mean")
        low, middle, high = (self.profile.statistics[name][self.groups_, q] for name in names)
        fills = self._fills()
        finish_axes(ax)
        ax.grid(axis="x", color="#E9E9E9", linewidth=0.7)
        ax.set_axisbelow(True)
        for y in np.flatnonzero(np.isfinite(middle)):
            ax.plot([low[y], high[y]], [y, y], color=fills[y], linewidth=2.4, alpha=0.55, solid_capstyle="round")
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

    # ---- marks ----------------------------------------------------------------------------------------------------

    def _fills(self) -> np.ndarray:
        """(g, 3) color of each group: that of its cluster, mixed for several, grey for outliers."""
        sets = np.zeros((len(self.groups_), len(self.colors_)), dtype=bool)
        for row, g in enumerate(self.groups_):
            sets[row, list(self.profile.groups[g].clusters)] = True
        fills = mixed_colors(sets, self.colors_)
        fills[~sets.any(axis=1)] = 0.35
        return fills

    def _draw_marks(self, ax: Any, places: np.ndarray, size: float, transform: Any, lift: float = 0) -> None:
        """A disc at each place (unless it is NaN) in the color of the cluster, with sectors for several, a cross for
        outliers; raised by some points."""
        from matplotlib.transforms import ScaledTranslation

        at = transform + ScaledTranslation(0, lift / 72, ax.figure.dpi_scale_trans)
        style: dict[str, Any] = {"transform": at, "clip_on": False, "zorder": 3}
        clusters = [list(self.profile.groups[g].clusters) for g in self.groups_]
        number = np.where(np.isfinite(places).all(axis=1), [len(k) for k in clusters], -1)
        if (number == 0).any():
            ax.scatter(*places[number == 0].T, s=0.8 * size, marker="x", color="black", linewidths=1.3, **style)
        if (number > MAX_SECTORS).any():
            many = places[number > MAX_SECTORS]
            ax.scatter(*many.T, s=size, color="0.5", edgecolors=INK, linewidths=0.7, **style)
        if (number == 1).any():
            colors = [self.colors_[clusters[row][0]] for row in np.flatnonzero(number == 1)]
            ax.scatter(*places[number == 1].T, s=size, color=colors, edgecolors="white", linewidths=0.5, **style)
        for row in np.flatnonzero((number > 1) & (number <= MAX_SECTORS)):
            options = {"linewidths": [0.7], "zorder": 3, "offset_transform": at, "clip_on": False}
            marks = split_markers(places[row][None], self.colors_[clusters[row]], np.pi, size, **options)
            ax.add_collection(marks, autolim=False)


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
        width = right + CHIP_INCHES + BAR_INCHES + 0.5 + max(0.085 * max(map(len, words)), 1.9)
        height = LEAF_INCHES * len(words)
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
        self.ax_.set_ylim(-height + 0.1, LEAF_INCHES * 0.6)
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
        self._draw_bar(right + CHIP_INCHES + 0.12, y, leaf.set_shares)
        at = right + CHIP_INCHES + BAR_INCHES + 0.25
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
            part = CHIP_INCHES / len(answer)
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
        self.ax_.add_patch(Rectangle((x, y - half), CHIP_INCHES, 2 * half, **rim))
        if not answer:
            self.ax_.plot(x + CHIP_INCHES / 2, y, marker="x", color="black", markersize=7, zorder=5)

    def _draw_bar(self, x: float, y: float, shares: np.ndarray) -> None:
        """What the objects of a leaf answer themselves: plain where certain, striped in two colors between a pair,
        grey between more, white for outliers."""
        from matplotlib.patches import Rectangle

        sets = list(self.tree.focal_sets_)
        for j in np.flatnonzero(shares > 0):
            width = float(BAR_INCHES * shares[j])
            fill: dict[str, Any] = {"facecolor": "white" if not sets[j] else "0.6", "linewidth": 0}
            if len(sets[j]) in (1, 2):
                fill["facecolor"] = self.colors_[sets[j][0]]
            if len(sets[j]) == 2:
                fill |= {"hatch": "///", "edgecolor": self.colors_[sets[j][1]]}
            self.ax_.add_patch(Rectangle((x, y - 0.055), width, 0.11, zorder=3, **fill))
            x += width
        self.ax_.add_patch(
            Rectangle(
                (x - BAR_INCHES, y - 0.055), BAR_INCHES, 0.11, facecolor="none", edgecolor=GREY, linewidth=0.5, zorder=4
            )
        )


def _answers(tree: CautiousTree) -> list[str]:
    """Return the answers of the leaves in words; different names stay different when they are shortened."""
    words = [leaf.format_answer(tree.frame_) for leaf in tree.leaves_]
    different = list(dict.fromkeys(words))
    short = dict(zip(different, shorten_all(different, 40), strict=True))
    return [short[text] for text in words]


def _places(tree: CautiousTree) -> dict[int, tuple[float, float]]:
    """Place leaves below each other, a node in the middle of its children, as far right as the conditions need."""
    letters = np.zeros(tree.get_depth() + 1)
    for node in tree.nodes_:
        if not node.is_leaf:
            longest = max(len(shorten(node.condition(left), 44)) for left in (True, False))
            letters[node.depth + 1] = max(letters[node.depth + 1], longest)
    x = np.cumsum(np.where(letters > 0, LETTER_INCHES * letters + 0.3, 0))
    heights = {leaf.number: -LEAF_INCHES * row for row, leaf in enumerate(tree.leaves_)}
    for node in reversed(tree.nodes_):
        if not node.is_leaf:
            heights[node.number] = float(np.mean([heights[child] for child in node.children]))
    return {node.number: (float(x[node.depth]), heights[node.number]) for node in tree.nodes_}
