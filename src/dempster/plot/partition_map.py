"""Several partitions of the same objects as points: near when they say nearly the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, check, choice, real
from dempster.partition.compare import PartitionMap, embed_partitions
from dempster.plot._canvas import (
    GREY,
    INK,
    axes_to_draw_on,
    checked_options,
    cluster_colors,
    equal_units,
    finish_axes,
    place_labels,
    shown_names,
)


class PartitionMapDisplay:
    """Map of partitions: distances in the plane approximate one minus the credal Rand index.

    Parameters
    ----------
    coordinates : array of shape (N, 2)
    names : sequence of N str
    stress : float, optional
        How far the picture is from the true distances (Kruskal's stress-1): below 0.05 good, above 0.2 poor.
    dissimilarity : array of shape (N, N), optional
        What the distances approximate.

    Attributes
    ----------
    coordinates, names, stress, dissimilarity
        As given.
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
    labels_ : list of annotations
    stress_text_ : text or None

    References
    ----------
    T. Denoeux, S. Li and S. Sriboonchitta (2018). Evaluating and comparing soft partitions: an approach based on
    Dempster-Shafer theory. IEEE Trans. Fuzzy Systems 26.

    Examples
    --------
    >>> from dempster.plot import PartitionMapDisplay
    >>> partitions = {"halves": [0, 0, 1, 1], "same": [1, 1, 0, 0], "crossed": [0, 1, 0, 1]}
    >>> display = PartitionMapDisplay.from_partitions(partitions)
    >>> display.names, display.coordinates.shape
    (['halves', 'same', 'crossed'], (3, 2))
    """

    def __init__(
        self, *, coordinates: Any, names: Sequence[str], stress: float | None = None, dissimilarity: Any = None
    ):
        self.coordinates = as_reals(coordinates, "coordinates")
        if self.coordinates.ndim != 2 or self.coordinates.shape[1] != 2 or not np.isfinite(self.coordinates).all():
            raise InvalidInputError(
                f"coordinates must be finite and of shape (N, 2), got shape {self.coordinates.shape}"
            )
        self.names = shown_names(names, "names", len(self.coordinates))
        check(stress, "stress", choice(None) | real(0))
        self.stress = stress
        self.dissimilarity = dissimilarity

    @classmethod
    def from_partitions(
        cls,
        partitions: Sequence[Any] | Mapping[str, Any],
        names: Sequence[str] | None = None,
        *,
        rule: str = "smacof",
        distance: str = "jousselme",
        n_pairs: int | str | None = "auto",
        random_state: Any = 0,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compare partitions and draw their map.

        Parameters
        ----------
        partitions : sequence of CredalPartition or hard labels, or mapping of names to them
            Of the same objects.
        names : sequence of str, optional
            Names of the partitions of a sequence; their positions by default.
        rule, distance, n_pairs, random_state
            As in `dempster.partition.embed_partitions`.
        ax : Matplotlib axes, optional
            Where to draw; on a new figure by default.
        **options
            Passed to `plot`.

        Returns
        -------
        PartitionMapDisplay
        """
        if isinstance(partitions, Mapping):
            if names is not None:
                raise InvalidInputError("names must be None when the partitions come with their names in a mapping")
            names, partitions = [str(name) for name in partitions], list(partitions.values())
        drawn = embed_partitions(
            partitions, names, rule=rule, distance=distance, n_pairs=n_pairs, random_state=random_state
        )
        return cls.from_map(drawn, ax=ax, **options)

    @classmethod
    def from_map(cls, partition_map: PartitionMap, *, ax: Any = None, **options: Any) -> Self:
        """Draw a map that `dempster.partition.embed_partitions` made; ``options`` are those of `plot`."""
        display = cls(
            coordinates=partition_map.coordinates,
            names=partition_map.names,
            stress=partition_map.stress,
            dissimilarity=partition_map.dissimilarity,
        )
        return display.plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        marker_size: float = 55.0,
        labels: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        colors : sequence of N colours, optional
            One colour for all by default.
        marker_size : float, default=55
            Area of the markers in square points.
        labels : bool, default=True
            Whether to write the names beside the points.
        title : str, optional

        Returns
        -------
        PartitionMapDisplay
        """
        n = len(self.coordinates)
        palette = cluster_colors(n, colors) if colors is not None else cluster_colors(1)
        new_figure = ax is None
        self.ax_ = axes_to_draw_on(ax, (6, 5))
        self.figure_ = self.ax_.figure
        self.points_ = self.ax_.scatter(
            *self.coordinates.T, s=marker_size, c=palette, edgecolors="white", linewidths=0.8, zorder=3
        )
        self._frame(title)
        if new_figure:
            self.figure_.draw_without_rendering()  # settles the size of the axes, which the names need
        self.ax_.apply_aspect()
        self.stress_text_ = None
        if self.stress is not None:
            corner = {"transform": self.ax_.transAxes, "ha": "right", "va": "bottom"}
            self.stress_text_ = self.ax_.text(
                0.985, 0.02, f"stress {self.stress:.3f}", color=GREY, fontsize="small", **corner
            )
        self.labels_ = self._place_names() if labels else []
        return self

    def _place_names(self) -> list[Any]:
        style = {"fontsize": "small", "color": INK, "zorder": 4}
        avoid = [] if self.stress_text_ is None else [self.stress_text_]
        return place_labels(self.ax_, self.coordinates, self.names, avoid=avoid, **style)

    def _frame(self, title: str | None) -> None:
        self.ax_.margins(0.2)  # room for the names
        equal_units(self.ax_, "datalim")  # distances are what the picture is about
        finish_axes(self.ax_, "distance = 1 − credal Rand index", title=title)
        self.ax_.grid(color="#ECECEC", linewidth=0.7)
        self.ax_.set_axisbelow(True)
