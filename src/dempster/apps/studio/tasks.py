"""What is done in a process of its own: read a table, cluster it, find peaks, compare numbers, draw a plane, report."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._progress import heard_by
from dempster.apps.recipe import Recipe, prepare
from dempster.apps.studio.planes import Plane, scaling_plane, umap_plane
from dempster.cluster import BeliefPeaks
from dempster.io.atomic import as_file
from dempster.io.tables import read_quietly
from dempster.model_selection import number_of_clusters

Tell = Callable[[str, float | None], None]
MAX_CELLS = 400_000_000
_MAX_UNZIPPED = 4 << 30  # bytes
_PIECE = 1 << 20
_MAX_PEAK_OBJECTS = 300_000


def warm_up() -> None:
    """Import what a task would import first, while nobody waits."""
    import pandas  # noqa: F401
    import scipy.sparse.csgraph  # noqa: F401
    import sklearn.cluster
    import sklearn.decomposition  # noqa: F401


def _listener(tell: Tell) -> Callable[..., None]:
    def heard(name: str, done: int, total: int | None, unit: str, state: str) -> None:
        tell(f"{name}{': ' + state if state else ''}", done / total if total else None)

    return heard


def load(tell: Tell, path: str, options: dict[str, Any]) -> Any:
    """Read a table as data, nothing else."""
    tell("reading the table", None)
    _check_unzipped(Path(path))
    table = read_quietly(as_file(path), **options)
    if len(table) == 0:
        raise InvalidInputError("the table has no rows")
    if table.size > MAX_CELLS:
        raise InvalidInputError(f"the table has {table.size:,} cells; the studio takes up to {MAX_CELLS:,}")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise InvalidInputError(f"the table has two columns of the name '{twice}': rename one of them")
    return table


def _check_unzipped(path: Path) -> None:
    """A small file may unpack to more than there is memory."""
    if path.suffix.lower() != ".gz":
        return
    total = 0
    try:
        with gzip.open(path) as file:
            while piece := file.read(_PIECE):
                total += len(piece)
                if total > _MAX_UNZIPPED:
                    raise InvalidInputError(f"{path.name} unpacks to more than {_MAX_UNZIPPED >> 30} GB")
    except (OSError, EOFError) as error:
        raise InvalidInputError(f"{path.name} cannot be unpacked") from error


def cluster(tell: Tell, recipe: dict[str, Any]) -> dict[str, Any]:
    """Run a recipe; the table itself stays with the studio."""
    tell("reading and preparing", None)
    outcome = Recipe.from_dict(recipe).run(progress=_listener(tell))
    attributes = outcome.attributes
    assert attributes is not None  # the studio clusters tables
    tell("handing over the result", None)
    return {
        "estimator": outcome.estimator,
        "attributes": attributes.table,
        "values": attributes.values,
        "preparation": attributes.preparation,
        "rows": np.asarray(attributes.rows),
        "notes": [*outcome.notes, *(f"{name}: {words}" for name, words in outcome.choices.items())],
        "seconds": outcome.seconds,
    }


def peaks(tell: Tell, recipe: dict[str, Any], n_neighbors: int | str) -> dict[str, Any]:
    """Belief and delta of every object, in the units in which it would be clustered."""
    tell("finding belief peaks", None)
    prepared = prepare(Recipe.from_dict(recipe))
    attributes = prepared.attributes
    assert attributes is not None
    if attributes.preparation.categories:
        raise InvalidInputError("belief peaks are found among numbers; leave the categories out")
    if len(attributes.values) > _MAX_PEAK_OBJECTS:
        raise InvalidInputError(f"belief peaks are shown for up to {_MAX_PEAK_OBJECTS:,} objects")
    values = attributes.values.to_numpy(dtype=float)
    if np.isnan(values).any():
        raise InvalidInputError("belief peaks need all values: leave rows with missing cells out")
    found = BeliefPeaks(n_neighbors=n_neighbors, random_state=0).fit(values)
    return {
        "belief": found.belief_.astype(np.float32),
        "delta": found.delta_.astype(np.float32),
        "chosen": found.peak_indices_.tolist(),
        "n_neighbors": int(found.n_neighbors_),
        "min_belief": float(found.min_belief_),
        "values": values,
        "rows": np.asarray(attributes.rows),
    }


def number(tell: Tell, recipe: dict[str, Any]) -> dict[str, Any]:
    """What speaks for each number of clusters."""
    tell("comparing numbers of clusters", None)
    prepared = prepare(Recipe.from_dict(recipe))
    attributes = prepared.attributes
    assert attributes is not None
    metric = "gower" if attributes.preparation.categories else "euclidean"
    with heard_by(_listener(tell)):
        found = number_of_clusters(attributes.values, metric=metric, random_state=0)
    return {
        "n_clusters": found.n_clusters.tolist(),
        "support": found.support.tolist(),
        "witnesses": {name: values.tolist() for name, values in found.witnesses.items()},
        "best": found.best,
        "reasons": found.reasons(),
        "n_objects": found.n_objects,
    }


def plane(tell: Tell, kind: str, numbers: np.ndarray) -> Plane:
    """A flat picture that takes a while."""
    return {"mds": scaling_plane, "umap": umap_plane}[kind](numbers, tell)


def report(tell: Tell, **arguments: Any) -> str:
    """A report as one HTML page."""
    from dempster.apps.report import make_report

    tell("writing the report", None)
    return make_report(**arguments).to_html()


TASKS: dict[str, Callable[..., Any]] = {
    "load": load,
    "cluster": cluster,
    "peaks": peaks,
    "number": number,
    "plane": plane,
    "report": report,
}
