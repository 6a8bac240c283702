"""The order of `_starts.order_along_line`, found with torch: sorting is what a fit to many objects waits for."""

from __future__ import annotations

import numpy as np

from dempster._arrays import Array, same_place, to_host
from dempster.cluster._starts import direction_of_line, order_along_line

__all__ = ["order_on_device"]


def order_on_device(rows: Array) -> tuple[Array, Array]:
    """Positions of the objects of a tensor along the line, and which of them repeat the one before, cell by cell.

    What is rare is left to the processor: cells that are missing, and different objects at the same place.
    """
    import torch

    at = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    for column, factor in enumerate(direction_of_line(rows)):
        at += factor * rows[:, column].double()
    places, order = torch.sort(at, stable=True)
    repeated = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    ordered = rows[order]
    repeated[1:] = (ordered[1:] == ordered[:-1]).all(dim=1)
    if bool(torch.isnan(at).any()) or bool(((places[1:] == places[:-1]) & ~repeated[1:]).any()):
        X = to_host(rows)
        found = order_along_line(X)
        same = np.zeros(len(X), dtype=bool)
        same[1:] = ((X[found[1:]] == X[found[:-1]]) | (np.isnan(X[found[1:]]) & np.isnan(X[found[:-1]]))).all(axis=1)
        return same_place(found, rows), same_place(same, rows)
    return order, repeated
