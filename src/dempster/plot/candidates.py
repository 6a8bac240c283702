"""Display of the candidates that `dempster.cluster.CredalClustering` compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from dempster._errors import InvalidInputError
from dempster._validation import as_boolean, check, flag
from dempster.plot import _canvas as canvas
from dempster.plot.mass_contour import draw_objects
from dempster.plot.palette import INK

MAX_COLUMNS = 4


def match_labels(labels: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Renumber clusters so that as many objects as possible have the same label as in a reference partition."""
    c = 1 + max(int(labels.max()), int(reference.max()))
    counts = np.bincount(labels * c + reference, minlength=c * c).reshape(c, c)
    return linear_sum_assignment(-counts)[1][labels]


class CandidatesDisplay(canvas.Display):
    """Display of the candidates of `dempster.cluster.CredalClustering` side by side.

    Each panel shows the sampled rows in the colors of the clusters of one candidate. Clusters of different candidates
    have the same color if they have many rows in common. The selected candidate has a frame.

    Parameters
    ----------
    points : array of shape (n, 2)
        Positions of the sampled rows.
    labels : int array of shape (m, n)
        Clusters of the rows for each of the m candidates.
    names : sequence of m str
        Titles of the panels.
    selected : sequence of m bool
        Whether each candidate is selected.
    axis_names : pair of str
        Names of the horizontal and the vertical axis.

    Attributes
    ----------
    figure_ : Matplotlib figure
    axes_ : list of m axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dempster.cluster import CredalClustering
    >>> from dempster.plot import CandidatesDisplay
    >>> X, moon = make_moons(200, noise=0.1, random_state=3)
    >>> display = CandidatesDisplay.from_estimator(CredalClustering(2, random_state=0).fit(X))
    >>> display.names[display.selected.argmax()]
    'EVCLUS, path distances (weight 1.00)'
    """

    def __init__(
        self, *, points: Any, labels: Any, names: Sequence[str], selected: Any, axis_names: tuple[str, str] = ("", "")
    ):
        self.points = canvas.validate_points(points, "points")
        found = canvas.validate_points(labels, "labels", ("m", len(self.points)))
        if found.size == 0 or (found < 0).any() or (found % 1 != 0).any():
            raise InvalidInputError("labels must contain nonnegative integers for at least one candidate")
        self.labels = found.astype(np.intp)
        self.names = canvas.validate_names(names, "names", len(found))
        self.selected = as_boolean(selected, "selected")
        if self.selected.shape != (len(found),):
            raise InvalidInputError(f"selected must contain {len(found)} values, got shape {self.selected.shape}")
        self.axis_names = tuple(canvas.validate_names(axis_names, "axis_names", 2))

    @classmethod
    def from_estimator(cls, estimator: Any, *, all_numbers: bool = False, **options: Any) -> Self:
        """Draw the candidates of a fitted `dempster.cluster.CredalClustering`.

        Parameters
        ----------
        estimator : fitted CredalClustering
            The display shows the rows on which the candidates were compared.
        all_numbers : bool, default=False
            Whether to draw the candidates with all numbers of clusters, instead of the selected number only.
        **options
            Options of `plot`, such as ``axes``.

        Returns
        -------
        CandidatesDisplay
        """
        check(all_numbers, "all_numbers", flag)
        canvas.validate_estimator(estimator, "candidate_labels_", "candidate_points_")
        table = estimator.candidates_
        selected = int(table["selected"].argmax())
        shown = np.flatnonzero(all_numbers | (table["n_clusters"] == table["n_clusters"][selected]))
        reference = estimator.candidate_labels_[selected]
        axes = ("coordinate 1", "coordinate 2")
        if estimator.n_features_in_ == 2 and estimator.metric == "euclidean":
            axes = tuple(getattr(estimator, "feature_names_in_", ("attribute 1", "attribute 2")))
        display = cls(
            points=estimator.candidate_points_,
            labels=[match_labels(estimator.candidate_labels_[i], reference) for i in shown],
            names=[_describe(table.iloc[i], all_numbers) for i in shown],
            selected=shown == selected,
            axis_names=axes,
        )
        return display.plot(**options)

    @canvas.validate_options()
    def plot(self, *, axes: Any = None, colors: Sequence[Any] | None = None, title: str | None = None) -> Self:
        """Draw a panel for each candidate.

        Parameters
        ----------
        axes : sequence of m Matplotlib axes, optional
            By default the panels of a new figure.
        colors : sequence of colors, optional
            Colors of the clusters.
        title : str, optional
            Title of the figure, or of the panel if there is only one.

        Returns
        -------
        self
        """
        m = len(self.labels)
        palette = canvas.cluster_colors(int(self.labels.max()) + 1, colors)
        self._open_panels(axes, m, min(m, MAX_COLUMNS), (3.6, 3.5))
        for ax, labels, name, selected in zip(self.axes_, self.labels, self.names, self.selected, strict=True):
            draw_objects(ax, self.points, labels, palette, None)
            canvas.finish_axes(ax)
            ax.set_xlabel(self.axis_names[0], parse_math=False)
            ax.set_ylabel(self.axis_names[1], parse_math=False)
            weight = "bold" if selected else "normal"
            ax.set_title(name.replace(" (", "\n(", 1), fontsize="small", fontweight=weight, parse_math=False)
            if selected:
                for spine in ax.spines.values():
                    spine.set(visible=True, color=INK, linewidth=2)
        if title is not None:
            (self.figure_.suptitle if m > 1 else self.axes_[0].set_title)(title)
        return self


def _describe(candidate: Any, with_number: bool) -> str:
    """Return the method, agreement and weight of a row of the table of candidates."""
    parts = [f"{candidate['n_clusters']} clusters"] if with_number else []
    parts += [] if np.isnan(candidate["agreement"]) else [f"agreement {candidate['agreement']:.2f}"]
    parts.append(f"weight {candidate['weight']:.2f}")
    return f"{candidate['method']} ({', '.join(parts)})"
