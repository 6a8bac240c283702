"""Display of several partitions of the same objects as points in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from dempster._errors import InvalidInputError
from dempster._validation import check, choice, real
from dempster.partition.compare import PartitionMap, embed_partitions
from dempster.plot import _canvas as canvas
from dempster.plot.palette import INK


class PartitionMapDisplay(canvas.Display):
    """Display of partitions as points whose distances approximate one minus the credal Rand index.

    Parameters
    ----------
    coordinates : array of shape (N, 2)
        Positions of the N partitions.
    names : sequence of N str
        Names of the partitions.
    stress : float, optional
        Kruskal's stress-1 of the map. Below 0.05 the distances are accurate; above 0.2 they are not.
    dissimilarity : array of shape (N, N), optional
        Dissimilarities of the partitions, which the distances approximate.

    Attributes
    ----------
    ax_, figure_ : Matplotlib axes and figure
    points_ : collection
        One point for each partition.
    labels_ : list of annotations
        Names of the partitions.
    stress_text_ : text or None
        Stress of the map.

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
        self.coordinates = canvas.validate_points(coordinates, "coordinates", ("N", 2))
        self.names = canvas.validate_names(names, "names", len(self.coordinates))
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
        **options: Any,
    ) -> Self:
        """Compare partitions and draw their map.

        Parameters
        ----------
        partitions : sequence of partitions or mapping of names to partitions
            Partitions of the same objects, each a CredalPartition or hard labels.
        names : sequence of str, optional
            Names of the partitions if ``partitions`` is a sequence; by default their indices.
        rule, distance, n_pairs, random_state
            Arguments of `dempster.partition.embed_partitions`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        PartitionMapDisplay
        """
        if isinstance(partitions, Mapping):
            if names is not None:
                raise InvalidInputError("names must be None if partitions is a mapping of names to partitions")
            names, partitions = [str(name) for name in partitions], list(partitions.values())
        partition_map = embed_partitions(
            partitions, names, rule=rule, distance=distance, n_pairs=n_pairs, random_state=random_state
        )
        return cls.from_map(partition_map, **options)

    @classmethod
    def from_map(cls, partition_map: PartitionMap, **options: Any) -> Self:
        """Draw the result of `dempster.partition.embed_partitions`.

        Parameters
        ----------
        partition_map : PartitionMap
            Result of `dempster.partition.embed_partitions`.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        PartitionMapDisplay
        """
        names = ("coordinates", "names", "stress", "dissimilarity")
        return cls(**{name: getattr(partition_map, name) for name in names}).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        marker_size: float = 55.0,
        labels: bool = True,
        title: str | None = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of N colors, optional
            By default all points have the same color.
        marker_size : float, default=55
            Area of the markers in square points.
        labels : bool, default=True
            Whether to write the names beside the points.
        title : str, optional

        Returns
        -------
        self
        """
        palette = canvas.cluster_colors(1) if colors is None else canvas.cluster_colors(len(self.coordinates), colors)
        new_figure = ax is None
        self._open_axes(ax, (6, 5))
        self.points_ = self.ax_.scatter(
            *self.coordinates.T, s=marker_size, c=palette, edgecolors="white", linewidths=0.8, zorder=3
        )
        self.ax_.margins(0.2)  # The margins leave space for the names.
        canvas.set_equal_units(self.ax_, "datalim")
        canvas.finish_axes(self.ax_, "distance = 1 − credal Rand index", title=title)
        self.ax_.grid(color="#ECECEC", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        if new_figure:
            self.figure_.draw_without_rendering()  # The placement of names needs the final size of the axes.
        self.ax_.apply_aspect()
        self.stress_text_ = None if self.stress is None else canvas.write_note(self.ax_, f"stress {self.stress:.3f}")
        self.labels_ = []
        if labels:
            avoid = [] if self.stress_text_ is None else [self.stress_text_]
            style: dict[str, Any] = {"fontsize": "small", "color": INK, "zorder": 4}
            self.labels_ = canvas.place_labels(self.ax_, self.coordinates, self.names, avoid=avoid, **style)
        return self
