"""The contours of `Surroundings` for Euclidean data, with torch: blocks of objects travel to a GPU and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from evidentia.optimize.projection_torch import torch_on

__all__ = ["contours_on_device"]

_CELLS = 1 << 27  # distances held at once


def contours_on_device(
    rows: np.ndarray,
    references: np.ndarray,
    weights: np.ndarray,
    scales: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    amounts: tuple[float, float],
    rate: float,
    device: str,
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """For block after block: where it starts, (b, c) sums as `affinity` gives them, (b,) distances within which
    references of the smaller amount lie, and (b,) distances to the nearest reference.

    Parameters
    ----------
    rows : (n, d) array
        Stays in the memory of the host.
    references : (r, d) array, with ``weights``, ``scales`` and ``labels``
    amounts : two floats
        Weights of the references that are near, and of those by which the scale is measured.
    rate, device
    """
    torch = torch_on(device)
    dtype = torch.float32 if rows.dtype == np.float32 else torch.float64

    def sent(values: np.ndarray) -> Any:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=dtype, device=device)

    center = references.mean(axis=0)
    B, w, s = sent(references - center), sent(weights), sent(scales)
    square, shift, inverse = (B * B).sum(dim=1), sent(center), rate / s
    members = np.zeros((len(references), n_clusters))
    total = np.bincount(labels, weights, minlength=n_clusters)
    members[np.arange(len(labels)), labels] = weights / np.sqrt(total[labels])
    share = sent(members)
    equal = bool((weights == weights[0]).all())
    size = max(256, _CELLS // max(len(references), 1))
    for start in range(0, len(rows), size):
        A = torch.as_tensor(rows[start : start + size], dtype=dtype).to(device) - shift
        squares = torch.addmm(square, A, B.T, alpha=-2).add_((A * A).sum(dim=1, keepdim=True)).clamp_(min=0)
        near, far = (_reached(torch, squares, w, amount, equal).sqrt() for amount in amounts)
        own = far.clamp(min=float(scales.min()))
        nearest = squares.min(dim=1).values.sqrt()
        S = squares.mul_(inverse).div_(own[:, None]).neg_().exp_() @ share
        yield start, S.cpu().numpy(), near.cpu().numpy(), nearest.cpu().numpy()


def _reached(torch: Any, values: Any, weights: Any, amount: float, equal: bool) -> Any:
    """(b,) smallest value of each row up to which the weights add up to an amount."""
    if equal:
        k = min(max(int(np.ceil(amount / float(weights[0]) - 1e-6)), 1), values.shape[1])
        return torch.kthvalue(values, k, dim=1).values
    ordered, order = values.sort(dim=1)
    enough = weights[order].cumsum(dim=1) >= amount
    first = torch.where(enough.any(dim=1), enough.int().argmax(dim=1), values.shape[1] - 1)
    return ordered.gather(1, first[:, None])[:, 0]
