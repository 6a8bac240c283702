"""Widget with the map of a partition, which sends the selection to Python and explains objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dempster._arrays import largest_in_rows
from dempster._errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dempster._text import format_count
from dempster._types import TableLike
from dempster.apps.map import STATIC_FOLDER, join_modules
from dempster.apps.report.cluster_profiles import profile_clusters
from dempster.apps.report.coordinates import (
    MapCoordinates,
    pack_coordinates,
    place_objects,
)
from dempster.apps.report.facts import Explainer
from dempster.apps.report.report_input import ReportInput, resolve_report_input

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise MissingExtraError("the map in notebooks", "anywidget", "notebook") from error

MAX_POINTS = 200_000  # maximum number of objects on the map; scatter.js draws as many
N_MASSES = 3  # number of masses in the tooltip
_STATIC = Path(__file__).parent / "static"


class _Positions(traitlets.List):
    """List of positions of objects, which accepts any array-like of integers."""

    def validate(self, explorer: PartitionExplorer, value: Any) -> list[int]:
        positions = np.asarray(value)
        n = explorer.n_objects
        if positions.size == 0:
            return []
        is_list = positions.ndim == 1 and positions.dtype.kind in "iu"
        if not is_list or positions.min() < 0 or positions.max() >= n:
            raise InvalidParameterError(
                "selection", f"a list of positions from 0 to {n - 1}", value
            )
        return np.unique(positions).tolist()


def explore(
    subject: Any,
    X: TableLike = None,
    *,
    attributes: TableLike = None,
    names: Any = None,
    metric: str | None = None,
) -> PartitionExplorer:
    """Show an interactive map of a partition in a notebook.

    Parameters
    ----------
    subject : CredalPartition, labels, fitted clusterer or pipeline
        The result to show. Explanations of a clusterer use its model, and explanations of a
        partition use only the members of the clusters.
    X : array-like, table, or list or dictionary of tables, optional
        Training data of the subject, which are attributes or dissimilarities of the objects.
        Without X, the map shows the plausibilities of the clusters, and objects are not explained.
    attributes : table of n rows, optional
        Columns that describe the objects, if they differ from X. Examples are attributes of objects
        that were clustered by dissimilarities, and columns before scaling.
    names : sequence or mapping, optional
        Names of all clusters, or a mapping from names in the partition to new names.
    metric : {"precomputed"} or None
        "precomputed" if ``subject`` is a partition or labels, and X contains dissimilarities.

    Returns
    -------
    PartitionExplorer
        A widget whose attribute ``selection`` contains the positions of the selected objects.

    Examples
    --------
    >>> from dempster.apps.notebook import explore
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> X = load_iris(as_frame=True).data
    >>> model = ECM(3, random_state=0).fit(X)
    >>> explorer = explore(model, X)  # the last expression of a cell is shown
    >>> explorer.selection = model.credal_partition_.ambiguous
    >>> len(X.iloc[explorer.selection])
    22
    """
    data = resolve_report_input(
        subject, X, attributes=attributes, names=names, metric=metric, argument="X"
    )
    return PartitionExplorer(data)


class PartitionExplorer(anywidget.AnyWidget):
    """Interactive map of a partition for notebooks that support anywidget.

    The map shows certain objects as dots, ambiguous objects as dots of several colors, and outliers
    as crosses. Select objects with a lasso, a rectangle or the legend; hold Ctrl to add them to the
    selection. Click an object to explain it. The widget loads nothing from the internet.

    Parameters
    ----------
    data : ReportInput
        Validated arguments of `explore`, which creates the widget.

    Attributes
    ----------
    n_objects : int
        Number of objects of the partition.
    selection : list of int
        Positions of the selected objects in increasing order. Assign any array of positions to
        select objects.
    focus : int or None
        Position of the explained object.
    explanation : str
        Text that explains this object.

    Notes
    -----
    Of more than 200,000 objects, the map shows a random sample. The last three attributes are
    traits: ``explorer.observe(function, "selection")`` calls a function whenever the selection
    changes.
    """

    _esm = join_modules(
        [
            *(
                STATIC_FOLDER / name
                for name in ("scatter.js", "webgl.js", "partition_map.js")
            ),
            _STATIC / "explorer.js",
        ]
    )
    _css = (_STATIC / "explorer.css").read_text(encoding="utf-8")
    _data = traitlets.Bytes().tag(sync=True)
    selection = _Positions(help="Positions of the selected objects.").tag(sync=True)
    focus = traitlets.CInt(
        None, allow_none=True, help="Position of the explained object."
    ).tag(sync=True)
    explanation = traitlets.Unicode(help="Explanation of the object ``focus``.").tag(
        sync=True
    )

    def __init__(self, data: ReportInput):
        rng = np.random.default_rng(0)
        none_linked = np.zeros(0, np.intp)
        coordinates = place_objects(
            data, profile_clusters(data, rng), MAX_POINTS, none_linked, rng
        )
        if coordinates is None:
            raise InvalidInputError("the map needs objects that differ from each other")
        self.n_objects = len(data.partition)
        if data.X is None:
            self._explainer = None
        else:
            self._explainer = Explainer(data)
        super().__init__(_data=_pack_map(data, coordinates))

    @traitlets.validate("focus")
    def _check_focus(self, proposal: Any) -> int | None:
        focus = proposal["value"]
        n = self.n_objects
        if focus is not None and not 0 <= focus < n:
            raise InvalidParameterError(
                "focus", f"a position from 0 to {n - 1}, or None", focus
            )
        return focus

    @traitlets.observe("focus")
    def _explain(self, change: Any) -> None:
        text = ""
        if self.focus is not None and self._explainer is not None:
            try:
                text = self._explainer.explain(self.focus, changes=True).to_text()
            except (ValueError, TypeError, NotImplementedError) as error:
                text = f"This object cannot be explained: {error}"
        self.explanation = text

    def __repr__(self) -> str:
        return (
            f"PartitionExplorer({format_count(self.n_objects)}, "
            f"{len(self.selection):,} selected)"
        )


def _pack_map(data: ReportInput, coordinates: MapCoordinates) -> bytes:
    """Pack the map with the largest masses of each object, as multiples of 1/65535."""
    partition = data.partition[coordinates.rows]
    number = min(N_MASSES, len(partition.focal_sets))
    sets, masses = largest_in_rows(partition.stored_masses, number)
    return pack_coordinates(
        data,
        coordinates,
        top_sets=np.maximum(sets, 0).astype(np.int32),
        top_masses=np.round(65535 * masses).astype(np.uint16),
    )
