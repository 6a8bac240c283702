"""What the groups of a partition are: a map of effect sizes, or medians and quartiles attribute by attribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import shorten_all
from dempster.explain import Profile, profile
from dempster.plot._drawing.canvas import GREY, INK, panels_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import cluster_colors, mixed_colors
from dempster.plot._drawing.markers import split_markers
from dempster.plot._drawing.options import checked_options

__all__ = ["ProfileDisplay"]

_MOST_SECTORS = 4  # colors that can be told apart inside one marker
_MOST_NUMBERS = 400  # cells with their numbers in a map


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
        if values.size <= _MOST_NUMBERS:
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
        quiet_frame(ax)
        ax.grid(axis="x", color="#E9E9E9", linewidth=0.7)
        ax.set_axisbelow(True)
        for y in np.flatnonzero(np.isfinite(middle)):
            ax.plot([low[y], high[y]], [y, y], color=fills[y], linewidth=2.4, alpha=0.55, solid_capstyle="round")
        self._draw_marks(ax, np.column_stack([middle, np.arange(len(middle))]), 38, ax.transData)
        ax.set_ylim(len(self.groups_) - 0.4, -0.6)
        ax.set_title(name, fontsize="small", parse_math=False)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        if feature.attribute.kind == "date":
            ax.xaxis.set_major_formatter(lambda days, _: feature.attribute.text(days)[:7])
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
        if (number > _MOST_SECTORS).any():
            many = places[number > _MOST_SECTORS]
            ax.scatter(*many.T, s=size, color="0.5", edgecolors=INK, linewidths=0.7, **style)
        if (number == 1).any():
            colors = [self.colors_[clusters[row][0]] for row in np.flatnonzero(number == 1)]
            ax.scatter(*places[number == 1].T, s=size, color=colors, edgecolors="white", linewidths=0.5, **style)
        for row in np.flatnonzero((number > 1) & (number <= _MOST_SECTORS)):
            options = {"linewidths": [0.7], "zorder": 3, "offset_transform": at, "clip_on": False}
            marks = split_markers(places[row][None], self.colors_[clusters[row]], np.pi, size, **options)
            ax.add_collection(marks, autolim=False)
