"""The terms of the loss of NN-EVCLUS, on tensors of masses (Denoeux, 2021, eqs. 9, 15 and section 4)."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["all_pairs_loss", "conflicts_wanted", "pairs_loss", "links_loss", "labels_loss"]


def all_pairs_loss(masses: Tensor, delta: Tensor, conflict: Tensor, squares: Tensor) -> Tensor:
    """Mean over all pairs of (conflict - delta)^2; delta is (n, n) with a zero diagonal, squares the sum of delta^2.

    The square is multiplied out: one product of delta with the masses remains, and no other (n, n) matrix, neither
    here nor in the gradient.
    """
    n = len(masses)
    image = masses @ conflict
    conflicts = ((image.T @ image) * (masses.T @ masses)).sum() - (image * masses).sum(dim=1).square().sum()
    cross = (image * (delta @ masses)).sum()
    return (conflicts - 2 * cross + squares) / (n * (n - 1))


def conflicts_wanted(points: Tensor, gamma: float) -> Tensor:
    """delta = 1 - exp(-gamma d^2) of all pairs of points, from Euclidean distances, with a zero diagonal."""
    centered = points - points.mean(dim=0)  # products of coordinates lose digits far from the origin
    scaled = centered * (2 * gamma) ** 0.5
    half = 0.5 * scaled.square().sum(dim=1)
    exponent = torch.addmm(-half[:, None] - half[None, :], scaled, scaled.T)
    return exponent.clamp_(max=0).expm1_().neg_().fill_diagonal_(0)


def pairs_loss(masses: Tensor, i: Tensor, j: Tensor, delta: Tensor, conflict: Tensor) -> Tensor:
    """Mean over the given pairs of (conflict - delta)^2."""
    kappa = ((masses @ conflict)[i] * masses[j]).sum(dim=1)
    return ((kappa - delta) ** 2).mean()


def links_loss(masses: Tensor, must: Tensor, cannot: Tensor, form: Tensor) -> Tensor:
    """Half the mean over the constraints of m_i' Z m_j (must-link) and 2 - m_i' Z m_j (cannot-link)."""
    total = masses.new_zeros(())
    image = masses @ form
    if len(must):
        total = total + (image[must[:, 0]] * masses[must[:, 1]]).sum()
    if len(cannot):
        total = total + (2 - (image[cannot[:, 0]] * masses[cannot[:, 1]]).sum(dim=1)).sum()
    return total / (2 * (len(must) + len(cannot)))


def labels_loss(masses: Tensor, membership: Tensor, labels: Tensor) -> Tensor:
    """Mean over labelled objects of the squared distance of the plausibilities to the label."""
    plausible = masses @ membership
    wanted = torch.nn.functional.one_hot(labels, membership.shape[1]).to(masses.dtype)
    return ((plausible - wanted) ** 2).sum(dim=1).mean()
