"""Why an object is where it is, in words and numbers, beside the certain objects it is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.recipe.units import Units
from dempster.apps.studio.packing import plain
from dempster.apps.studio.runs import Run
from dempster.explain import ObjectExplanation, explain_object

__all__ = ["why", "cells"]

_MOST_ATTRIBUTES = 40
_MOST_SETS = 6
_MOST_OBJECTS = 50_000  # that an object is compared with; of more, a sample


def why(run: Run, position: int) -> dict[str, Any]:
    """The explanation of the object at a position of a run."""
    if not 0 <= position < len(run):
        raise InvalidInputError(f"object must be a position from 0 to {len(run) - 1}, got {position}")
    some = _compared(len(run), position)
    with run.lock:
        found = explain_object(run.estimator, run.values.iloc[some], _meant(run, some, position))
    found = Units.of(run.preparation).of_explanation(found)
    partition = run.partition
    masses = partition.masses[position]
    order = [int(j) for j in np.argsort(-masses, kind="stable")[:_MOST_SETS] if masses[j] >= 0.005]
    exemplars = [
        {
            "cluster": str(e.cluster),
            "name": run.names[some[e.position]],
            "position": int(some[e.position]),
            "values": cells(run, int(some[e.position])),
        }
        for e in found.exemplars
    ]
    sentences = found.to_text().splitlines()
    if len(some) < len(run):
        sentences.append(f"It was compared with a sample of {len(some):,} of the {len(run):,} objects.")
    return plain(
        {
            "position": position,
            "row": int(run.rows[position]),
            "name": run.names[position],
            "doubt": float(run.doubt[position]),
            "sentences": sentences,
            "masses": [{"set": j, "name": run.set_names[j], "mass": float(masses[j])} for j in order],
            "plausibility": partition.contour[position].tolist(),
            "by": found.by,
            "quantity": found.quantity,
            "clusters": [str(name) for name in found.clusters],
            "cluster_positions": [list(partition.frame).index(name) for name in found.clusters],
            "attributes": _attributes(run, found, position),
            "exemplars": exemplars,
            "values": cells(run, position),
            "columns": [str(name) for name in run.attributes.columns],
        }
    )


def _compared(n: int, position: int) -> np.ndarray:
    """Positions of the objects that one is compared with, itself among them."""
    if n <= _MOST_OBJECTS:
        return np.arange(n)
    return np.union1d(np.random.default_rng(0).choice(n, _MOST_OBJECTS, replace=False), [position])


def _meant(run: Run, some: np.ndarray, position: int) -> Any:
    """The object as `explain_object` knows it: its name where rows have names, itself where they are not unique."""
    if run.partition.index is None and len(some) == len(run):
        return position
    index = run.values.index
    return index[position] if index.is_unique else run.values.iloc[position]


def cells(run: Run, position: int) -> list[Any]:
    """The attributes of an object in the units of the file."""
    return plain(list(run.attributes.iloc[position]))


def _attributes(run: Run, found: ObjectExplanation, position: int) -> list[dict[str, Any]]:
    """What pulls, the strongest first, with the value of the object in the units of the file."""
    pull = found.contributions
    order = np.argsort(-np.ptp(pull, axis=1) if pull.shape[1] > 1 else -np.abs(pull[:, 0]), kind="stable")
    own = dict(zip(map(str, run.attributes.columns), cells(run, position), strict=True))
    return [
        {
            "name": found.attributes[a],
            "value": own.get(found.attributes[a]),
            "usual": [column[a] for column in found.typical] if found.typical else None,
            "pull": pull[a].tolist(),
        }
        for a in order[:_MOST_ATTRIBUTES]
    ]
