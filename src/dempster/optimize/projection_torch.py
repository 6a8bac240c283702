"""Torch implementation of `dempster.optimize.projection` for Euclidean data on a GPU.

An active set method solves the quadratic programs of all rows of a block at the same time. Each row
has a short list of the focal sets with positive mass. The small linear systems of all rows are
factorized together, and finished rows are removed from the loop. The compiled solver is used for
the few rows that need longer lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import Array, precision_of, row_slices
from dempster.data.device import allocate_rows, copy_into, import_torch, to_tensor
from dempster.optimize.projection import (
    SHARE_TOLERANCE,
    linear_image,
    projection_hessian,
)
from dempster.optimize.simplex_qp import simplex_qp_batch

_CONFLICTS_PER_BLOCK = 1 << 28  # 1 GB in single precision.
_MAX_LIST = 8  # Maximum number of nonzero masses of a row.
_RIDGE = 1e-12
# A set is added if its reduced gradient, relative to the largest gradient, is below -1e-9.
_ENTER = 1e-9


def project_euclidean(
    rows: Array,
    references: np.ndarray,
    masses: np.ndarray,
    conflict: np.ndarray,
    gamma: float,
    device: Any,
    weights: np.ndarray | None,
    radii: np.ndarray,
) -> Array:
    """Return the masses of n rows, shape (n, f), from target conflicts with p reference objects.

    The target conflicts are 1 - exp(-gamma d^2), where d is the Euclidean distance. ``references``,
    ``masses``, ``weights`` and ``radii`` are those of the reference objects. If
    ``rows`` is an array, its blocks are copied to the device one after the other, and the result is
    an array. If it is a tensor, the result is a tensor on the same device.
    """
    torch = import_torch(device)
    dtype = torch.float32 if precision_of(rows) == np.float32 else torch.float64
    hessian = projection_hessian(masses, conflict, weights)
    linear = linear_image(masses, conflict, weights)
    H = torch.as_tensor(hessian, device=device)
    image = torch.as_tensor(linear, dtype=dtype, device=device)
    centre = references.mean(axis=0)
    B = torch.as_tensor(references - centre, dtype=dtype, device=device)
    square = (B * B).sum(dim=1)
    shift = torch.as_tensor(centre, dtype=dtype, device=device)
    out = allocate_rows(rows, masses.shape[1])
    n_references = max(len(references), 1)
    size = max(1024, _CONFLICTS_PER_BLOCK // n_references)
    for block in row_slices(len(rows), size):
        A = to_tensor(rows[block], device)
        S = torch.addmm(square.neg(), A - shift, B.T, alpha=2)
        S -= ((A - shift) ** 2).sum(dim=1, keepdim=True)
        S.clamp_(max=0)
        nearest = S.argmax(dim=1)
        S.mul_(gamma).expm1_().neg_()
        X = simplex_qp_torch(H, S @ image).to(dtype)
        approach_known_rows(X, masses, A, references, nearest, radii)
        copy_into(X, out[block])
    return out


def approach_known_rows(
    masses: Any,
    known: np.ndarray,
    rows: Any,
    references: np.ndarray,
    nearest: Any,
    radii: np.ndarray,
) -> None:
    """Apply `dempster.optimize.projection.approach_known_masses` to rows on a device.

    The distances are computed by differences, because matrix products lose half of the digits.
    """

    def rows_of_nearest(values: np.ndarray) -> Any:
        return to_tensor(values, masses.device).to(masses.dtype)[nearest]

    distance = (rows - rows_of_nearest(references)).square().sum(dim=1).sqrt()
    share = 1 + SHARE_TOLERANCE - distance / rows_of_nearest(radii)
    share = share.clamp_(0, 1)[:, None]
    masses.mul_(1 - share).add_(share * rows_of_nearest(known))


def simplex_qp_torch(H: Any, G: Any) -> Any:
    """Minimize 1/2 x'Hx + g'x over the simplex for every row g of G.

    Return the minimizers in double precision.
    """
    import torch

    G = G.double()
    f = len(H)
    K = min(_MAX_LIST, f)
    out = torch.zeros_like(G)
    left = torch.arange(len(G), device=G.device)  # Indices of the unfinished rows.
    x = G.new_zeros((len(G), K))
    sets = torch.zeros_like(x, dtype=torch.long)
    # The initial point is the best vertex.
    sets[:, 0] = (G + 0.5 * torch.diagonal(H)).argmin(dim=1)
    x[:, 0] = 1
    size = torch.ones_like(left)
    hard = []
    slot = torch.arange(K, device=G.device)
    for _ in range(4 * f + 20):
        if len(left) == 0:
            break
        g = G[left]
        used = slot < size[:, None]
        y = _on_face(H, g, sets, used)
        step = torch.where(used, y - x, 0.0)
        shrinks = used & (step < 0) & (y < 0)
        speed = (-step).clamp(min=1e-300)
        limits = torch.where(shrinks, x / speed, torch.inf)
        limit = limits.amin(dim=1).clamp(max=1.0)
        cut = limit < 1
        x = torch.where(used, x + limit[:, None] * step, 0.0)
        # If the step of a row was cut at the boundary, the sets with zero mass are removed.
        is_zero = cut[:, None] & (x <= 1e-15)
        keep = used & ~is_zero
        x = torch.where(keep, x, 0.0)
        x /= x.sum(dim=1, keepdim=True)
        order = torch.argsort(~keep, dim=1, stable=True)
        sets = sets.gather(1, order)
        x = x.gather(1, order)
        size = keep.sum(dim=1)
        # In all other rows, the set with the most negative reduced gradient is added.
        used = slot < size[:, None]
        dense = torch.zeros_like(g)
        dense.scatter_add_(1, sets, torch.where(used, x, 0.0))
        gradient = dense @ H + g
        mean = (dense * gradient).sum(dim=1, keepdim=True)
        scale = gradient.abs().amax(dim=1) + mean[:, 0].abs()
        best, entering = (gradient - mean).masked_fill(dense > 0, 0.0).min(dim=1)
        done = ~cut & (best >= -_ENTER * scale)
        grow = ~cut & ~done
        full = grow & (size == K)
        out[left[done]] = dense[done]
        if full.any():
            hard.append(left[full])
        grow &= ~full
        where = torch.nonzero(grow).flatten()
        place = size[where]
        sets[where, place] = entering[where]
        x[where, place] = 0.0
        size = size + grow
        go_on = cut | grow
        left = left[go_on]
        sets = sets[go_on]
        x = x[go_on]
        size = size[go_on]
    rows = torch.cat([*hard, left])
    if len(rows):
        X = np.zeros((len(rows), f))
        linear = G[rows].cpu().numpy()
        simplex_qp_batch(H.cpu().numpy(), linear, X, 0, len(rows))
        out[rows] = torch.as_tensor(X, device=out.device)
    return out


def _on_face(H: Any, g: Any, sets: Any, used: Any) -> Any:
    """Minimize each row over the masses of its sets, which sum to one but may be negative."""
    import torch

    K = sets.shape[1]
    both = used[:, :, None] & used[:, None]
    A = torch.where(both, H[sets[:, :, None], sets[:, None]], 0.0)
    diagonal = torch.diagonal(A, dim1=1, dim2=2)
    largest = diagonal.amax(dim=1, keepdim=True)
    ridge = _RIDGE * largest.clamp(min=1e-300)
    diagonal += torch.where(used, ridge, 1.0)
    descent = torch.where(used, -g.gather(1, sets), 0.0)
    right = torch.stack([descent, used.double()], dim=2)
    L: list[list[Any]] = [[None] * K for _ in range(K)]
    for j in range(K):
        pivot = A[:, j, j]
        for k in range(j):
            pivot = pivot - L[j][k] * L[j][k]
        L[j][j] = pivot.clamp(min=1e-300).sqrt()
        for i in range(j + 1, K):
            s = A[:, i, j]
            for k in range(j):
                s = s - L[i][k] * L[j][k]
            L[i][j] = s / L[j][j]
    z: list[Any] = []
    for i in range(K):
        s = right[:, i]
        for k in range(i):
            s = s - L[i][k][:, None] * z[k]
        z.append(s / L[i][i][:, None])
    for i in range(K - 1, -1, -1):
        s = z[i]
        for k in range(i + 1, K):
            s = s - L[k][i][:, None] * z[k]
        z[i] = s / L[i][i][:, None]
    free = torch.stack([v[:, 0] for v in z], dim=1)
    ones = torch.stack([v[:, 1] for v in z], dim=1)
    multiplier = (1 - free.sum(dim=1)) / ones.sum(dim=1)
    return free + multiplier[:, None] * ones
