"""Losses for networks that compute mass functions."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dempster._validation import check, integer
from dempster.belief import FocalSets
from dempster.belief.decisions import candidate_sets, expected_losses
from dempster.nn.layers import safe_log


def plausibility_cross_entropy(
    plausibilities: Tensor, target: Tensor, dim: int = -1
) -> Tensor:
    r"""Return the mean cross-entropy of the normalized plausibilities.

    .. math::

        -\sum_k y_k \log \frac{pl_k}{\sum_l pl_l}

    Parameters
    ----------
    plausibilities : Tensor
        Plausibilities of the classes in dimension ``dim``, from `contour` or `Fusion`.
    target : Tensor
        Classes (integers), without dimension ``dim``; or probabilities of the classes, of the same
        shape as ``plausibilities``.
    dim : int, default=-1
        Dimension of the classes.

    Returns
    -------
    Tensor
        Mean over all objects, a scalar.

    Notes
    -----
    If a network is very sure of a wrong class, plausibilities underflow and the gradient vanishes.
    `EvidentialLayer.weights_of_evidence` returns logits of the normalized plausibilities, for which
    `torch.nn.functional.cross_entropy` computes the same loss without underflow.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import EvidentialLayer, contour, plausibility_cross_entropy
    >>> layer = EvidentialLayer(5, 3, n_prototypes=6)
    >>> x, y = torch.randn(7, 5), torch.randint(3, (7,))
    >>> plausibility_cross_entropy(contour(layer(x)), y).backward()
    """
    logs = safe_log(plausibilities)
    logs = logs - safe_log(plausibilities.sum(dim=dim, keepdim=True))
    return -(_indicators(target, plausibilities, dim) * logs).sum(dim=dim).mean()


def plausibility_squared_error(
    plausibilities: Tensor, target: Tensor, dim: int = -1
) -> Tensor:
    r"""Return the mean squared error of the plausibilities.

    .. math::

        \sum_k (pl_k - y_k)^2

    Denoeux (2000) adds a penalty on the reliabilities, which reduces the number of active
    prototypes; see the example.

    Parameters
    ----------
    plausibilities : Tensor
        Plausibilities of the classes in dimension ``dim``, from `contour`.
    target : Tensor
        Classes (integers), without dimension ``dim``; or probabilities of the classes, of the same
        shape as ``plausibilities``.
    dim : int, default=-1
        Dimension of the classes.

    Returns
    -------
    Tensor
        Mean over all objects, a scalar.

    References
    ----------
    T. Denoeux (2000). A neural network classifier based on Dempster-Shafer theory. IEEE Trans. SMC
    A 30.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import EvidentialLayer, contour, plausibility_squared_error
    >>> layer = EvidentialLayer(5, 3, n_prototypes=6)
    >>> x, y = torch.randn(7, 5), torch.randint(3, (7,))
    >>> loss = plausibility_squared_error(contour(layer(x)), y)
    >>> (loss + 1e-3 * layer.reliabilities.mean()).backward()
    """
    errors = plausibilities - _indicators(target, plausibilities, dim)
    return (errors**2).sum(dim=dim).mean()


class ExpectedUtilityLoss(nn.Module):
    r"""Loss of set-valued predictions by their expected utility.

    An act selects a set A of classes. Its utility is :math:`g(|A|)` if A contains the true class,
    and 0 otherwise, where :math:`g(1) = 1` and larger sets are less useful, as in
    `MassFunctions.decide_sets`. Given a mass function, the generalized (Hurwicz) expected utility
    is the mean of the upper and the lower expected utility, weighted by ``optimism``. The loss is
    the cross-entropy

    .. math::

        -\sum_A \bigl(g_A \log E_A + (1 - g_A) \log (1 - E_A)\bigr)

    between the expected utility :math:`E_A` and the utility :math:`g_A` for the true class.
    ``max_size=1`` is the loss of Tong et al. (2021), whose parameter ν is 1 - ``optimism``.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    tolerance : float in [0.5, 1], default=0.8
        Utility of a pair of classes that contains the true class.
    optimism : float in [0, 1], default=0.5
        Weight of the upper expected utility.
    max_size : int, optional
        Maximum number of classes of a set. By default it is 2 for more than eight classes,
        otherwise there is no limit.
    dim : int, default=-1
        Dimension of the masses.

    References
    ----------
    Z. Tong, P. Xu and T. Denoeux (2021). An evidential classifier based on Dempster-Shafer theory
    and deep learning. Neurocomputing 450.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import EvidentialLayer, ExpectedUtilityLoss, to_masses
    >>> layer = EvidentialLayer(5, 3, n_prototypes=6)
    >>> x, y = torch.randn(7, 5), torch.randint(3, (7,))
    >>> ExpectedUtilityLoss(3)(layer(x), y).backward()
    >>> to_masses(layer(x)).decide_sets(tolerance=0.8, rule="hurwicz").shape
    torch.Size([7, 3])
    """

    utilities: Tensor
    expected: Tensor

    def __init__(
        self,
        n_classes: int,
        *,
        tolerance: float = 0.8,
        optimism: float = 0.5,
        max_size: int | None = None,
        dim: int = -1,
    ):
        super().__init__()
        check(n_classes, "n_classes", integer(2))
        family = FocalSets.simple(n_classes, empty=False)
        candidates, utilities = candidate_sets(family, tolerance, max_size)
        # The frame has the same utility for all classes, which adds a constant.
        utilities = utilities[:, candidates.cardinality < n_classes]
        losses = expected_losses(
            np.eye(len(family)), family, 1 - utilities, "hurwicz", optimism
        )
        self.dim = dim
        dtype = torch.get_default_dtype()
        # Utility of each set (column) for each true class, and for each focal set.
        self.register_buffer("utilities", torch.tensor(utilities, dtype=dtype))
        self.register_buffer("expected", torch.tensor(1 - losses, dtype=dtype))

    def forward(self, masses: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss.

        Parameters
        ----------
        masses : Tensor
            Masses of the classes and, last, of the frame in dimension ``dim``.
        target : Tensor
            Classes (integers), without dimension ``dim``.

        Returns
        -------
        Tensor
            Mean over all objects, a scalar.
        """
        rows = masses.movedim(self.dim, -1)
        with torch.autocast(masses.device.type, enabled=False):
            expected = rows @ self.expected.to(rows.dtype)
        goal = self.utilities[target].to(rows.dtype)
        logs = goal * safe_log(expected) + (1 - goal) * safe_log(1 - expected)
        return -logs.sum(dim=-1).mean()


def _indicators(target: Tensor, like: Tensor, dim: int) -> Tensor:
    """Return probabilities of the classes in the shape of ``like``."""
    if target.is_floating_point():
        return target
    return F.one_hot(target, like.shape[dim]).movedim(-1, dim).to(like.dtype)
