"""The order of `_starts.order_along_line`, found with torch: sorting is what a fit to many objects waits for."""

from __future__ import annotations

from typing import Any

import numpy as np

from evidentia.cluster._starts import direction_of_line, order_along_line
from evidentia.optimize.projection_torch import sent, torch_on

__all__ = ["order_on_device"]


def order_on_device(X: np.ndarray, device: str, rows: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the objects along the line, and which of them repeat the one before, cell by cell.

    ``rows`` is X as a tensor, if it is on the device already. What is rare is left to the processor: cells that are
    missing, and different objects at the same place.
    """
    torch = torch_on(device)
    rows = sent(X, device) if rows is None else rows
    at = torch.zeros(len(X), dtype=torch.float64, device=device)
    for column, factor in enumerate(direction_of_line(X)):
        at += factor * rows[:, column].double()
    places, order = torch.sort(at, stable=True)
    repeated = torch.zeros(len(X), dtype=torch.bool, device=device)
    ordered = rows[order]
    repeated[1:] = (ordered[1:] == ordered[:-1]).all(dim=1)
    if bool(torch.isnan(at).any()) or bool(((places[1:] == places[:-1]) & ~repeated[1:]).any()):
        found = order_along_line(X)
        same = np.zeros(len(X), dtype=bool)
        same[1:] = ((X[found[1:]] == X[found[:-1]]) | (np.isnan(X[found[1:]]) & np.isnan(X[found[:-1]]))).all(axis=1)
        return found, same
    return order.cpu().numpy(), repeated.cpu().numpy()
