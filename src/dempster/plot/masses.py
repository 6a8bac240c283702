"""Display of the masses of all objects as lines."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

from dempster._validation import check, kind
from dempster.belief import FocalSets
from dempster.partition.credal_partition import as_credal_partition
from dempster.plot import _canvas as canvas
from dempster.plot.mass_contour import select_sets, set_colors

MAX_MARKED_OBJECTS = 60  # With more objects, markers would cover the lines.
_MARKERS = "osD^v<>P"


class MassesDisplay(canvas.Display):
    """Display of the masses of all objects, with a line for each set of clusters.

    The objects are on the horizontal axis, in the order of the partition. Lines of single clusters are solid, lines of
    several clusters are dashed, and the line of the empty set is dotted.

    Parameters
    ----------
    masses : array of shape (n, s)
        Masses of the n objects on the s sets.
    sets : FocalSets
        The s sets of clusters.
    cluster_names : sequence of length c, optional
        Names of the clusters; 0..c-1 by default.

    Attributes
    ----------
    set_names : list of s str
        Names of the sets.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines
        One line for each set.

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans. Systems, Man and
    Cybernetics B 34.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_butterfly
    >>> from dempster.plot import MassesDisplay
    >>> model = EVCLUS(2, focal_sets="full", d0=11, random_state=0).fit(load_butterfly().data)
    >>> display = MassesDisplay.from_partition(model.credal_partition_)
    >>> display.set_names, display.masses.shape
    (['∅', '{0}', '{1}', 'Ω'], (12, 4))
    """

    def __init__(self, *, masses: Any, sets: FocalSets, cluster_names: Sequence[Hashable] | None = None):
        check(sets, "sets", kind(FocalSets))
        self.sets = sets
        self.masses = canvas.validate_points(masses, "masses", ("n", len(sets)))
        names = range(sets.n_clusters) if cluster_names is None else cluster_names
        self.cluster_names = canvas.validate_names(names, "cluster_names", sets.n_clusters)
        self.set_names = sets.names(self.cluster_names)

    @classmethod
    def from_partition(
        cls, partition: Any, *, sets: Any = None, cluster_names: Sequence[Hashable] | None = None, **options: Any
    ) -> Self:
        """Draw the masses of a partition.

        Parameters
        ----------
        partition : CredalPartition or hard labels
            Partition to draw.
        sets : list of sets, FocalSets or one set (a tuple), optional
            Sets to draw, given by the numbers or names of their clusters. The default is the empty set, the single
            clusters, and the sets of several clusters whose mass reaches 0.25, up to twelve sets.
        cluster_names : sequence of length c, optional
            Names of the clusters; by default the names in the partition.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        MassesDisplay
        """
        partition = as_credal_partition(partition)
        family = select_sets(partition, sets, "mass")
        names = partition.frame if cluster_names is None else cluster_names
        return cls(masses=partition.mass(family), sets=family, cluster_names=names).plot(**options)

    @canvas.validate_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        colors : sequence of c colors, optional
            Colors of the clusters; the color of a set is the mean color of its clusters.
        legend : bool or "auto"
            Whether to draw a legend; "auto" draws it.
        title : str, optional

        Returns
        -------
        self
        """
        palette = set_colors(self.sets, canvas.cluster_colors(self.sets.n_clusters, colors))
        self._open_axes(ax, (7.2, 4))
        self.lines_ = []
        for j, size in enumerate(self.sets.cardinality):
            style: dict[str, Any] = {"linestyle": (":", "-")[size] if size < 2 else "--", "linewidth": 1.5}
            if len(self.masses) <= MAX_MARKED_OBJECTS:
                style |= {"marker": _MARKERS[j % len(_MARKERS)], "markersize": 4.5}
            self.lines_ += self.ax_.plot(self.masses[:, j], color=palette[j], label=self.set_names[j], **style)
        canvas.finish_axes(self.ax_, "object", "mass", title, grid=True, integer_ticks=True)
        self.ax_.set_ylim(-0.03, 1.03)
        if canvas.resolve_auto(legend, True):
            outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            canvas.draw_legend(self.ax_, self.lines_, fontsize="small", frameon=False, **outside)
        return self
