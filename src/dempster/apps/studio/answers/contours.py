"""What a model says of every place of a flat picture."""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.studio.packing import packed
from dempster.apps.studio.planes.plane import Plane
from dempster.apps.studio.runs import Run

__all__ = ["contours"]

_ACROSS, _DOWN = 120, 90
_MOST_SETS = 40


def contours(run: Run, plane: Plane, box: tuple[float, float, float, float]) -> bytes:
    """Masses, in steps of 1/255, over a grid of a box (left, bottom, right, top) of a plane.

    Attributes that the plane does not show are held at their medians.
    """
    import pandas as pd

    left, bottom, right, top = box
    if not (np.isfinite(box).all() and left < right and bottom < top):
        raise InvalidInputError(f"the box must be left < right and bottom < top, got {box}")
    if not hasattr(run.estimator, "predict_mass"):
        raise InvalidInputError(f"{type(run.estimator).__name__} gives no masses to new places")
    across, up = np.linspace(left, right, _ACROSS), np.linspace(bottom, top, _DOWN)
    points = np.column_stack([grid.ravel() for grid in np.meshgrid(across, up)])
    values = plane.to_values(points)
    if values is None or run.preparation.categories:
        raise InvalidInputError("masses over the plane need two attributes or principal components of numbers")
    found = run.estimator.predict_mass(pd.DataFrame(values, columns=run.values.columns))
    masses = np.asarray(found.masses)
    largest = np.sort(np.argsort(-masses.max(axis=0), kind="stable")[:_MOST_SETS])
    shades = np.round(255 * masses[:, largest]).astype(np.uint8)
    return packed({"shades": shades.T}, width=_ACROSS, height=_DOWN, sets=largest.tolist(), box=list(box))
