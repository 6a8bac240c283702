"""The sums and masses of `EvidentialMixture`, with torch: where the objects are on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from evidentia.cluster._doubt_torch import DoubtOnDevice
from evidentia.cluster.mixtures._evidential_mixture import EvidentialMixture, MixtureSums
from evidentia.optimize.projection_torch import bring, sent, torch_on

__all__ = ["sums_on_device", "masses_on_device"]

_CELLS = 1 << 27  # densities held at once


def sums_on_device(mixture: EvidentialMixture, X: Any, weights: Any | None) -> MixtureSums:
    """What a step of EM needs of the rows of a tensor."""
    import torch

    densities = _Densities(mixture, X.dtype, X.device)
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
    return MixtureSums(float(likelihood), total.cpu().numpy(), first.cpu().numpy())


def masses_on_device(mixture: EvidentialMixture, X: np.ndarray, device: str) -> np.ndarray:
    """(n, f) masses of rows in the memory of the host, blocks of which are sent one after the other."""
    torch = torch_on(device)
    out = np.zeros((len(X), len(mixture.family)), dtype=X.dtype)
    densities = _Densities(mixture, torch.as_tensor(np.empty(0, X.dtype)).dtype, device)
    columns = np.flatnonzero(mixture.components.cardinality > 0)
    doubt = None if mixture.doubtful is None else DoubtOnDevice(mixture.doubtful, device)
    for start, stop in densities.blocks(len(X)):
        masses = densities.of(sent(X[start:stop], device))[0]
        if doubt is None:
            out[start:stop, columns] = masses.cpu().numpy()
        else:
            bring(doubt.masses(masses), out[start:stop])
    return out


class _Densities:
    """`EvidentialMixture._densities`, on a device."""

    def __init__(self, mixture: EvidentialMixture, dtype: Any, device: Any):
        rounded, places, constant, self.normalizer = mixture.rounded()
        self.rounded, self.places, self.constant = (sent(a, device).to(dtype) for a in (rounded, places, constant))
        self.origin = None if mixture.origin is None else sent(mixture.origin, device).to(dtype)
        self.unit = mixture.unit

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
