"""Display of matrices of pairs of objects as heat maps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import shorten
from dempster.partition.credal_partition import CredalPartition, as_credal_partition
from dempster.partition.relational import RELATIONS
from dempster.plot import _canvas as canvas

MAX_OBJECTS = 1_000  # A larger image would have more cells than pixels.
MAX_NAME_CHARACTERS = 22


def order_by_cluster(partition: CredalPartition) -> np.ndarray:
    """Return (every k-th of) the objects, sorted by cluster and by decreasing belief in it, with outliers last."""
    labels = partition.labels_with_outliers
    order = np.lexsort((-partition.singleton_belief.max(axis=1), labels, labels < 0))
    return order[:: -(-len(order) // MAX_OBJECTS) or 1]


class PairMatrixDisplay(canvas.Display):
    """Display of matrices of pairs of objects as heat maps, with the objects sorted by cluster.

    The matrices are the relational representation of a partition, which consists of the masses on whether two objects
    are in the same cluster, or dissimilarities. Lines separate the clusters.

    Parameters
    ----------
    matrices : mapping of str to array of shape (m, m)
        Values of the pairs, by the title of the panel.
    labels : sequence of m str, optional
        Name of the cluster of each row.
    objects : sequence of m int, optional
        Index of the object in each row; 0..m-1 by default.

    Attributes
    ----------
    figure_ : Matplotlib figure
    axes_ : list of axes
        One panel for each matrix.
    images_ : list of images
        One image for each matrix.
    colorbar_ : color bar

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> from dempster.plot import PairMatrixDisplay
    >>> model = ECM(2, random_state=0).fit(load_butterfly().data)
    >>> display = PairMatrixDisplay.from_partition(model.credal_partition_)
    >>> list(display.matrices), display.labels[5:7]
    (['same', 'different', 'unknown', 'plausibility of same'], ['0', '1'])
    """

    def __init__(self, *, matrices: Mapping[str, Any], labels: Sequence[Hashable] | None = None, objects: Any = None):
        self.matrices = {
            str(name): canvas.validate_points(values, f"matrices[{name!r}]", ("m", "m"))
            for name, values in canvas.mapping_items(matrices, "matrices")
        }
        shapes = {matrix.shape for matrix in self.matrices.values()}
        m = min((len(matrix) for matrix in self.matrices.values()), default=0)
        if shapes != {(m, m)} or m == 0:
            raise InvalidInputError(f"matrices must contain square matrices of the same size, got {sorted(shapes)}")
        self.labels = canvas.validate_names([""] * m if labels is None else labels, "labels", m)
        found = canvas.validate_sequence(np.arange(m) if objects is None else objects, "objects", m)
        self.objects = found.astype(np.intp)

    @classmethod
    def from_partition(cls, partition: Any, **options: Any) -> Self:
        """Draw the relational representation of a partition.

        The panels show the masses of "same cluster", "different clusters" and "unknown", and the plausibility of "same
        cluster", which is the sum of the first and the third mass. Of more than 1,000 objects a part is drawn.

        Parameters
        ----------
        partition : CredalPartition or hard labels
            Partition to draw.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        PairMatrixDisplay
        """
        partition = as_credal_partition(partition)
        order = order_by_cluster(partition)
        masses = dict(zip(RELATIONS, partition[order].relational().to_dense(), strict=True))
        matrices = {name: masses[name] for name in ("same", "different", "unknown")}
        matrices["plausibility of same"] = masses["same"] + masses["unknown"]
        return cls._from_order(matrices, partition, order, options)

    @classmethod
    def from_dissimilarities(cls, dissimilarities: Any, partition: Any, **options: Any) -> Self:
        """Draw a matrix of dissimilarities, sorted by the clusters of a partition.

        Parameters
        ----------
        dissimilarities : array-like of shape (n, n)
            Dissimilarities of the objects. Of more than 1,000 objects a part is drawn.
        partition : CredalPartition or hard labels
            Partition of the n objects.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        PairMatrixDisplay
        """
        partition = as_credal_partition(partition)
        n = len(partition)
        matrix = canvas.validate_points(dissimilarities, "dissimilarities", (n, n))
        order = order_by_cluster(partition)
        return cls._from_order({"dissimilarity": matrix[np.ix_(order, order)]}, partition, order, options)

    @classmethod
    def _from_order(
        cls, matrices: dict[str, np.ndarray], partition: CredalPartition, order: np.ndarray, options: dict[str, Any]
    ) -> Self:
        names = [*partition.frame, "outliers"]  # Outliers have the label -1.
        labels = [names[k] for k in partition.labels_with_outliers[order]]
        return cls(matrices=matrices, labels=labels, objects=order).plot(**options)

    @canvas.validate_options()
    def plot(self, *, axes: Any = None, cmap: Any = "viridis", title: str | None = None) -> Self:
        """Draw the heat maps.

        Parameters
        ----------
        axes : sequence of Matplotlib axes, optional
            One axes for each matrix; by default the panels of a new figure.
        cmap : colormap, default="viridis"
            All panels have the same scale, which starts at zero.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        k = len(self.matrices)
        self._open_panels(axes, k, min(k, 2), (4.2, 3.9) if k > 1 else (5.4, 4.6))
        highest = max(float(matrix.max()) for matrix in self.matrices.values())
        starts = np.array([i for i, name in enumerate(self.labels) if i == 0 or name != self.labels[i - 1]])
        middles = (starts + np.append(starts[1:], len(self.labels)) - 1) / 2
        names = [shorten(self.labels[i], MAX_NAME_CHARACTERS) for i in starts]
        self.images_ = []
        for ax, (name, matrix) in zip(self.axes_, self.matrices.items(), strict=True):
            self.images_.append(ax.imshow(matrix, cmap=cmap, vmin=0, vmax=highest, interpolation="nearest"))
            for border in starts[1:] - 0.5:
                ax.axhline(border, color="white", linewidth=0.8)
                ax.axvline(border, color="white", linewidth=0.8)
            ax.set_xticks(middles, names, parse_math=False)
            ax.set_yticks(middles, names, parse_math=False)
            ax.tick_params(length=0, labelsize="small")
            ax.set_title(name if k > 1 or title is None else title, fontsize="medium")
        if k > 1 and title is not None:
            self.figure_.suptitle(title)
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=self.axes_, shrink=0.8, aspect=30)
        return self
