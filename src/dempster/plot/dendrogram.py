"""Display of the hierarchy of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dempster._text import printable
from dempster.partition.credal_partition import as_credal_partition
from dempster.partition.layers import MIN_SIMILARITY
from dempster.plot._canvas import Display, finish_axes
from dempster.plot.palette import INK

_MAX_NAMES = 60  # number of clusters whose names are drawn


class DendrogramDisplay(Display):
    """Display of the order in which the clusters of a partition merge.

    The height of a merger is the mean similarity of the clusters on a logarithmic scale, from 1
    (bottom: all objects are between them) to 0.000001 or less (top: no object is between them).

    Parameters
    ----------
    tree : array-like of shape (c - 1, 4)
        Linkage in the format of SciPy, such as `CredalPartition.merge_tree`.
    names : sequence of c str
        Names of the clusters.

    Attributes
    ----------
    order : ndarray of shape (c,)
        Indices of the clusters from left to right.
    brackets : ndarray of shape (c - 1, 4, 2)
        Corners of the line of each merger: positions from left to right, where the clusters are at
        0, 1, 2, ..., and similarities.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : line collection
        One line for each merger.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import DendrogramDisplay
    >>> partition = ECM(4, random_state=0).fit(load_iris().data).credal_partition_
    >>> len(DendrogramDisplay.from_partition(partition).order)
    4
    """

    def __init__(self, *, tree: Any, names: Sequence[str]):
        from scipy.cluster.hierarchy import leaves_list  # slow to import

        self.names = list(names)
        self.tree = np.asarray(tree, float)
        self.order = leaves_list(self.tree)
        self.brackets = self._compute_brackets()

    @classmethod
    def from_partition(cls, partition: Any, **options: Any) -> Self:
        """Draw the hierarchy of the clusters of a partition.

        Parameters
        ----------
        partition : CredalPartition
            Partition into two or more clusters.
        **options
            Options of `plot`, such as ``ax``.

        Returns
        -------
        DendrogramDisplay
        """
        credal = as_credal_partition(partition)
        names = [printable(name) for name in credal.frame]
        return cls(tree=credal.merge_tree, names=names).plot(**options)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Self:
        """Draw the hierarchy.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        self
        """
        from matplotlib.collections import LineCollection

        c = len(self.order)
        labels = []
        if c <= _MAX_NAMES:
            labels = [self.names[k] for k in self.order]
        ax = self._open_axes(ax, (6.4, 4))
        self.lines_ = LineCollection(list(self.brackets), colors=INK, linewidths=1)
        ax.add_collection(self.lines_)
        ax.set_xlim(-0.5, c - 0.5)
        ax.set_yscale("log")
        ax.set_ylim(1, 0.7 * self.brackets[..., 1].min())
        ax.set_xticks(np.arange(c), labels, rotation=90)
        finish_axes(ax, "cluster", "similarity of merged clusters", title=title)
        return self

    def _compute_brackets(self) -> np.ndarray:
        c = len(self.order)
        pairs = self.tree[:, :2].astype(int)
        place = np.append(np.argsort(self.order), np.empty(c - 1))
        for step, pair in enumerate(pairs):
            place[c + step] = place[pair].mean()
        top = np.maximum(1 - self.tree[:, 2], MIN_SIMILARITY)
        similarity = np.append(np.ones(c), top)
        brackets = np.empty((c - 1, 4, 2))
        brackets[:, :, 0] = place[pairs].repeat(2, axis=1)
        brackets[:, [0, 3], 1] = similarity[pairs]
        brackets[:, 1:3, 1] = top[:, None]
        return brackets
