"""Result of comparing numbers of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_MIN_PLAUSIBILITY = 0.1  # Numbers with a smaller plausibility are not mentioned.
_MAX_MENTIONED = (
    6  # If more numbers are plausible, the data do not determine the number.
)


@dataclass(frozen=True, eq=False, repr=False)
class NumberOfClusters:
    """Comparison of several numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of int, shape (k,)
        Numbers that were compared, in increasing order.
    plausibility : ndarray of shape (k,)
        Plausibility of each number; 1 for the best. In generated data, the true number had a
        plausibility of at least 0.1 in about nine of ten cases.
    expected_agreement : ndarray of shape (k,)
        Adjusted Rand index that is expected between the true clusters and the best partition into
        each number of clusters.
    best : int
        Number of clusters of the partition with the largest expected agreement; 1 if the objects
        do not form several clusters.
    low_agreement : float
        Agreement of the best partition that nine of ten such partitions exceed.
    n_objects : int
        Number of different objects that were compared.
    """

    n_clusters: Annotated[np.ndarray, "k:int"]
    plausibility: Annotated[np.ndarray, "k"]
    expected_agreement: Annotated[np.ndarray, "k"]
    best: int
    low_agreement: float
    n_objects: int

    @property
    def plausible(self) -> dict[int, float]:
        """Numbers with a plausibility of at least 0.1, in decreasing order, and these values."""
        order = np.argsort(-self.plausibility, kind="stable")
        return {
            int(self.n_clusters[place]): float(self.plausibility[place])
            for place in order
            if self.plausibility[place] >= _MIN_PLAUSIBILITY
        }

    @property
    def is_determined(self) -> bool:
        """Whether at most six numbers are plausible."""
        return len(self.plausible) <= _MAX_MENTIONED

    @property
    def next_best(self) -> int | None:
        """Number above one with the largest expected agreement after the best; None if none is."""
        others = (self.n_clusters != self.best) & (self.n_clusters > 1)
        if not others.any():
            return None
        expected = np.where(others, self.expected_agreement, -np.inf)
        return int(self.n_clusters[expected.argmax()])

    def expected_of(self, n_clusters: int) -> float:
        """Return the expected agreement of a number of clusters that was compared.

        Parameters
        ----------
        n_clusters : int

        Returns
        -------
        float
        """
        place = np.flatnonzero(self.n_clusters == n_clusters)
        return float(self.expected_agreement[place[0]])

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with the plausibility and the expected agreement of each number.

        Returns
        -------
        pandas.DataFrame
            One row for each number of clusters.
        """
        import pandas as pd

        columns = {
            "plausibility": self.plausibility,
            "expected_agreement": self.expected_agreement,
        }
        return pd.DataFrame(columns, index=pd.Index(self.n_clusters, name="n_clusters"))

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Draw the plausibility of each number as bars, and the expected agreement as a line.

        The bar of the best number is dark. If many bars are high, the data do not determine the
        number of clusters.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``bars_``, ``line_`` and
            ``best_text_``.
        """
        from dempster.plot.number_of_clusters import NumberOfClustersDisplay

        return NumberOfClustersDisplay(self).plot(ax=ax, title=title)

    def reasons(self) -> str:
        """Return a text with the best number, how sure it is, and the other plausible numbers.

        Returns
        -------
        str
        """
        agreement = f"expected agreement with the true clusters {self.expected_of(self.best):.2f}"
        low = f"below {self.low_agreement:.2f} in one of ten such tables"
        if self.best == 1:
            parts = ["1; the objects do not form several clusters"]
            if self.next_best is not None:
                expected = self.expected_of(self.next_best)
                parts.append(
                    f"the best number above one is {self.next_best}, with an expected agreement of "
                    f"{expected:.2f}; to use it, pass n_clusters={self.next_best}"
                )
            return "; ".join(parts)
        parts = [str(self.best), f"{agreement}, {low}"]
        if not self.is_determined:
            parts.append("the number is not determined by these data")
            return "; ".join(parts)
        others = [
            f"{k} ({value:.2f})"
            for k, value in self.plausible.items()
            if k != self.best
        ]
        if others:
            parts.append(f"also plausible: {', '.join(others)}")
        return "; ".join(parts)

    def __len__(self) -> int:
        return len(self.n_clusters)

    def __repr__(self) -> str:
        return f"NumberOfClusters({self.reasons()})"
