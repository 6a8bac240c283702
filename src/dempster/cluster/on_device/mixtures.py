"""Sums over the objects of a mixture of Gaussians with one covariance, and their masses, with torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._arrays import Array, precision_of
from dempster.belief import FocalSets
from dempster.cluster.on_device.doubt import DoubtOnDevice
from dempster.data.device import bring, room_for, sent, torch_on

__all__ = ["RoundComponents", "sums_on_device", "masses_on_device", "log_densities_on_device"]

_CELLS = 1 << 27  # densities held at once


@dataclass(frozen=True)
class RoundComponents:
    """Components of a mixture, in coordinates in which they are round with variance one.

    Attributes
    ----------
    rounded : (p, p) array
        Takes objects there.
    places : (g, p) array
        Means of the components.
    constants : (g,) array
        Of their log-densities.
    normalizer : float
        What all log-densities share.
    origin : (p,) array or None
        To be taken off the objects first, which are then divided by ``unit``.
    unit : float
    """

    rounded: np.ndarray
    places: np.ndarray
    constants: np.ndarray
    normalizer: float
    origin: np.ndarray | None
    unit: float


def sums_on_device(components: RoundComponents, X: Any, weights: Any | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Log-likelihood of the rows of a tensor, and the sums of their masses m and of m x."""
    import torch

    weights = None if weights is None or len(weights) == 0 else weights
    densities = _Densities(components, X.dtype, X.device)
    likelihood = torch.zeros((), dtype=torch.float64, device=X.device)
    total = torch.zeros(len(densities), dtype=torch.float64, device=X.device)
    first = torch.zeros((len(densities), X.shape[1]), dtype=torch.float64, device=X.device)
    for start, stop in densities.blocks(len(X)):
        rows = X[start:stop]
        masses, logs = densities.of(rows)
        if weights is not None:
            w = weights[start:stop].to(masses.dtype)
            masses, logs = masses * w[:, None], logs * w
        likelihood += logs.sum(dtype=torch.float64)
        total += masses.sum(dim=0, dtype=torch.float64)
        first += (masses.T @ rows).double()
    return float(likelihood), total.cpu().numpy(), first.cpu().numpy()


def masses_on_device(components: RoundComponents, family: FocalSets, X: Array, device: Any, *, doubtful: bool) -> Array:
    """(n, f) masses of rows: of an array, whose blocks are sent one after the other, or of a tensor on the device.

    The components are the nonempty sets of the family, or, if doubt between neighbors is read off, the clusters.
    """
    torch = torch_on(device)
    out = room_for(X, len(family))
    densities = _Densities(components, getattr(torch, str(precision_of(X))), device)
    columns = sent(np.flatnonzero(family.cardinality > 0), device)
    doubt = DoubtOnDevice(family, device) if doubtful else None
    for start, stop in densities.blocks(len(X)):
        masses = densities.of(sent(X[start:stop], device))[0]
        if doubt is None:
            block = masses.new_zeros((stop - start, len(family)))
            block[:, columns] = masses
        else:
            block = doubt.masses(masses)
        bring(block, out[start:stop])
    return out


def log_densities_on_device(components: RoundComponents, X: Array) -> Array:
    """(n,) logarithms of the densities of the rows of a tensor, in double precision."""
    import torch

    densities = _Densities(components, torch.float64, X.device)
    return torch.cat([densities.of(X[start:stop].double())[1] for start, stop in densities.blocks(len(X))])


class _Densities:
    """The densities of the components, on a device."""

    def __init__(self, known: RoundComponents, dtype: Any, device: Any):
        arrays = known.rounded, known.places, known.constants
        self.rounded, self.places, self.constant = (sent(a, device).to(dtype) for a in arrays)
        self.origin = None if known.origin is None else sent(known.origin, device).to(dtype)
        self.unit, self.normalizer = known.unit, known.normalizer

    def __len__(self) -> int:
        return len(self.constant)

    def blocks(self, n: int) -> Iterator[tuple[int, int]]:
        step = max(1024, _CELLS // len(self))
        return ((start, min(start + step, n)) for start in range(0, n, step))

    def of(self, rows: Any) -> tuple[Any, Any]:
        """(b, g) masses on the nonempty sets and (b,) log-densities."""
        import torch

        objects = (rows if self.origin is None else (rows - self.origin) / self.unit) @ self.rounded
        logs = torch.addmm(self.constant, objects, self.places.T)
        total = torch.logsumexp(logs, dim=1)
        masses = (logs - total[:, None]).exp_()
        return masses, total - (objects * objects).sum(dim=1) / 2 + self.normalizer
