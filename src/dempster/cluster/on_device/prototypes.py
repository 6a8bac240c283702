"""The loops of the methods with prototypes (`prototypes._kernels`), with torch.

``arguments`` are those of the kernels: (p, g) barycentres of the nonempty sets, their metrics or None, factors and
sizes, delta^2, beta, and the cost up to which an object lies on a prototype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dempster._arrays import Array, precision_of
from dempster.cluster._mass_step import MassStep
from dempster.data.device import bring, room_for, sent, torch_on

__all__ = ["sums_on_device", "masses_on_device"]

_CELLS = 1 << 27  # costs held at once


def sums_on_device(arguments: tuple, X: Any, weights: Any | None) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Objective and sums over the rows of a tensor: of m^beta, of m^beta x, and (adaptive metric) of m^beta x x'."""
    import torch

    weights = None if weights is None or len(weights) == 0 else weights
    sets = _Sets(arguments, X.dtype, X.device)
    p, g = X.shape[1], len(sets.factor)
    objective = torch.zeros((), dtype=torch.float64, device=X.device)
    total = torch.zeros(g, dtype=torch.float64, device=X.device)
    first = torch.zeros((p, g), dtype=torch.float64, device=X.device)
    second = None if sets.metrics is None else torch.zeros((p, p, g), dtype=torch.float64, device=X.device)
    for start, stop in sets.blocks(len(X)):
        rows = X[start:stop]
        masses, _, minimum = sets.masses(rows)
        raised = _raised(masses, sets.beta)
        if weights is not None:
            w = weights[start:stop]
            minimum, raised = minimum * w, raised * w[:, None].to(raised.dtype)
        objective += minimum.sum(dtype=torch.float64)
        total += raised.sum(dim=0, dtype=torch.float64)
        first += (rows.T @ raised).double()
        if second is not None:
            for d in range(p):
                second[d, : d + 1] += ((rows[:, : d + 1] * rows[:, d : d + 1]).T @ raised).double()
    moments = np.empty((0, 0, g)) if second is None else second.cpu().numpy()
    return float(objective), total.cpu().numpy(), first.cpu().numpy(), moments


def masses_on_device(arguments: tuple, step: MassStep, X: Array, device: Any) -> Array:
    """(n, f) masses of rows: of an array, whose blocks are sent one after the other, or of a tensor on the device."""
    torch = torch_on(device)
    out = room_for(X, len(step.family))
    sets = _Sets(arguments, getattr(torch, str(precision_of(X))), device)
    columns, empty_column = step.columns()
    columns = sent(columns, device)
    for start, stop in sets.blocks(len(X)):
        masses, empty, _ = sets.masses(sent(X[start:stop], device))
        block = torch.zeros((stop - start, out.shape[1]), dtype=masses.dtype, device=device)
        block[:, columns] = masses
        if empty_column >= 0:
            block[:, empty_column] = empty
        bring(block, out[start:stop])
    return out


class _Sets:
    """The barycentres of the sets and their penalties, on a device."""

    def __init__(self, arguments: tuple, dtype: Any, device: Any):
        import torch

        places, metrics, factor, size, self.delta2, self.beta, self.zero = arguments
        # distances are taken from the middle of the barycentres, where products of attributes keep their digits
        middle = places.mean(axis=1)
        self.torch = torch
        self.shift, self.places, self.factor = (sent(a, device).to(dtype) for a in (middle, places.T - middle, factor))
        self.metrics = None if metrics is None else sent(np.moveaxis(metrics, 2, 0), device).to(dtype)
        self.size = sent(size, device)

    def blocks(self, n: int) -> Iterator[tuple[int, int]]:
        step = max(1024, _CELLS // (len(self.factor) * (1 if self.metrics is None else self.places.shape[1])))
        return ((start, min(start + step, n)) for start in range(0, n, step))

    def masses(self, rows: Any) -> tuple[Any, Any, Any]:
        """(b, g) masses of the nonempty sets, (b,) of the empty one, and (b,) minima: the mass step (mass_step.h)."""
        torch, power = self.torch, 1 / (self.beta - 1)
        costs = self._costs(rows - self.shift)
        weighted = costs * self.factor
        least = weighted.min(dim=1).values.clamp(max=self.delta2)
        on_prototype = costs <= self.zero
        shares = _raised(least[:, None] / weighted, power)
        empty = _raised(least / self.delta2, power) if np.isfinite(self.delta2) else torch.zeros_like(least)
        there = on_prototype.any(dim=1)
        if bool(there.any()):  # equal shares for the smallest sets among those that cost nothing
            size = torch.where(on_prototype, self.size, self.size.max() + 1)
            chosen = (size == size.min(dim=1, keepdim=True).values) & on_prototype
            shares = torch.where(there[:, None], chosen.to(shares.dtype), shares)
            empty = torch.where(there, 0, empty)
            least = torch.where(there, 0, least)
        total = shares.sum(dim=1) + empty
        return shares / total[:, None], empty / total, least * total ** (1 - self.beta)

    def _costs(self, rows: Any) -> Any:
        """(b, g) squared distances to the barycentres."""
        torch = self.torch
        if self.metrics is None:
            squares = (self.places * self.places).sum(dim=1)
            costs = torch.addmm(squares, rows, self.places.T, alpha=-2)
            return costs.add_((rows * rows).sum(dim=1, keepdim=True)).clamp_(min=0)
        gap = rows[:, None, :] - self.places
        return torch.einsum("igd,gde,ige->ig", gap, self.metrics, gap).clamp_(min=0)


def _raised(ratio: Any, power: float) -> Any:
    """ratio^power; the common values of beta need no logarithms."""
    known: dict[float, Callable[[Any], Any]] = {
        0.5: lambda r: r.sqrt(),
        1.0: lambda r: r,
        1.5: lambda r: r * r.sqrt(),
        2.0: lambda r: r * r,
    }
    return known[power](ratio) if power in known else ratio**power
