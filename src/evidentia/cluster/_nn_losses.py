"""The terms of the loss of NN-EVCLUS, on tensors of masses (Denoeux, 2021, eqs. 9, 15 and section 4)."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["all_pairs_loss", "pairs_loss", "links_loss", "labels_loss"]


def all_pairs_loss(masses: Any, delta: Any, conflict: Any) -> Any:
    """Mean over all pairs of (conflict - delta)^2; delta is (n, n) with a zero diagonal."""
    n = len(masses)
    gap = (masses @ conflict) @ masses.T - delta
    squares = gap * gap
    return (squares.sum() - squares.diagonal().sum()) / (n * (n - 1))


def pairs_loss(masses: Any, i: Any, j: Any, delta: Any, conflict: Any) -> Any:
    """Mean over the given pairs of (conflict - delta)^2."""
    kappa = ((masses @ conflict)[i] * masses[j]).sum(dim=1)
    return ((kappa - delta) ** 2).mean()


def links_loss(masses: Any, must: Any, cannot: Any, form: Any) -> Any:
    """Half the mean over the constraints of m_i' Z m_j (must-link) and 2 - m_i' Z m_j (cannot-link)."""
    total = masses.new_zeros(())
    image = masses @ form
    if len(must):
        total = total + (image[must[:, 0]] * masses[must[:, 1]]).sum()
    if len(cannot):
        total = total + (2 - (image[cannot[:, 0]] * masses[cannot[:, 1]]).sum(dim=1)).sum()
    return total / (2 * (len(must) + len(cannot)))


def labels_loss(masses: Any, membership: Any, labels: Any) -> Any:
    """Mean over labelled objects of the squared distance of the plausibilities to the label."""
    plausible = masses @ membership
    wanted = torch.nn.functional.one_hot(labels, membership.shape[1]).to(masses.dtype)
    return ((plausible - wanted) ** 2).sum(dim=1).mean()
