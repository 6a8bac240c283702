"""Doubt of EVCLUS for Euclidean data, with torch: blocks of objects travel to a GPU, and their masses back.

The formulas are those of `_doubt_model.Surroundings` and of `dempster.cluster._mass_step`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import Array, precision_of, to_host
from dempster.belief import FocalSets
from dempster.cluster.on_device.doubt import DoubtOnDevice
from dempster.data.device import bring, sent, torch_on

__all__ = ["masses_on_device"]

_CELLS = 1 << 27  # distances held at once


def masses_on_device(
    rows: Array,
    references: np.ndarray,
    around: Any,
    labels: np.ndarray,
    family: FocalSets,
    amounts: tuple[float, float],
    rate: float,
    device: Any,
    out: Array,
) -> np.ndarray:
    """Write the (n, f) masses of the rows; gives those rows that may be equal to a reference: their first attribute is
    that of one.

    Parameters
    ----------
    rows : (n, d) array
        An array stays in the memory of the host; a tensor is on the device.
    references : (r, d) array, of the clusters ``labels``
    around : Surroundings
        Of the references.
    family : FocalSets
        Single clusters and pairs of neighbors.
    amounts : two floats
        Weights of the references that are near, and of those by which the scale is measured.
    rate, device, out
    """
    torch = torch_on(device)
    dtype = torch.float32 if precision_of(rows) == np.float32 else torch.float64

    def known(values: np.ndarray) -> Any:
        return sent(values, device).to(dtype)

    weights, scales, c = around.weights, around.scales, family.n_clusters
    center = references.mean(axis=0)
    B, w, s = known(references - center), known(weights), known(scales)
    square, shift, inverse = (B * B).sum(dim=1), known(center), rate / s
    members = np.zeros((len(references), c))
    total = np.bincount(labels, weights, minlength=c)
    members[np.arange(len(labels)), labels] = weights / np.sqrt(total[labels])
    share = known(members)
    equal = bool((weights == weights[0]).all())
    firsts = torch.sort(known(references[:, 0])).values
    doubt = DoubtOnDevice(family, device)
    size = max(256, _CELLS // max(len(references), 1))
    found = []
    for start in range(0, len(rows), size):
        given = sent(rows[start : start + size], device)
        A = given - shift
        squares = torch.addmm(square, A, B.T, alpha=-2).add_((A * A).sum(dim=1, keepdim=True)).clamp_(min=0)
        near, far = (reached.sqrt() for reached in _reached(torch, squares, w, amounts, equal))
        own = far.clamp(min=float(scales.min()))
        S = squares.mul_(inverse).div_(own[:, None]).neg_().exp_() @ share
        least = float(np.exp(around.fence - 50 * around.softness))
        above = ((near / around.usual).clamp(min=least).log() - around.fence) / around.softness
        bring(doubt.masses(S, torch.sigmoid(above)), out[start : start + size])
        place = torch.searchsorted(firsts, given[:, 0].contiguous()).clamp(max=len(firsts) - 1)
        found.append(start + torch.nonzero(firsts[place] == given[:, 0]).flatten())
    return to_host(torch.cat(found))


def _reached(torch: Any, values: Any, weights: Any, amounts: tuple[float, float], equal: bool) -> list[Any]:
    """(b,) smallest value of each row up to which the weights add up to an amount, for each of the amounts."""
    if equal:  # the smallest few of each row, found once for all amounts
        ranks = [int(np.ceil(amount / float(weights[0]) - 1e-6)) for amount in amounts]
        ranks = [min(max(rank, 1), values.shape[1]) for rank in ranks]
        smallest = torch.topk(values, max(ranks), dim=1, largest=False, sorted=True).values
        return [smallest[:, rank - 1] for rank in ranks]
    ordered, order = values.sort(dim=1)
    reach = weights[order].cumsum(dim=1)
    firsts = [(reach < amount).sum(dim=1, keepdim=True).clamp(max=values.shape[1] - 1) for amount in amounts]
    return [ordered.gather(1, first)[:, 0] for first in firsts]
