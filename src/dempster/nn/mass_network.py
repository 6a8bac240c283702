"""Network with a mass for each focal set, which `dempster.cluster.NNEVCLUS` trains."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import check, choice, integer, none

# Above this value softplus(x) is x in double precision.
_SOFTPLUS_THRESHOLD = 40.0


class MassNetwork(nn.Module):
    r"""Network that maps features to masses on focal sets, with an optional outlier unit.

    The masses m are the softmax of the scores that ``body`` and, if it is not None, ``head``
    return. With an outlier unit, the masses are :math:`(1 - g) m + g e`, where e has all mass on
    the empty set. The input h of the unit is the decision value of an outlier detector, which is
    positive inside the region of the data. Let :math:`\eta = \log(1 + \exp(b_0 + b_1 h))`. In the
    published program, :math:`g = \eta / (1 + \eta)`; in the paper (equations 12 and 13),
    :math:`1 - g = \eta / (1 + \eta)`.

    Parameters
    ----------
    body : torch.nn.Module
        Network that maps n rows to n scores for each focal set, or to the inputs of ``head``.
    empty : int, optional
        Index of the empty set among the focal sets, which an outlier unit requires.
    outlier_unit : {"program", "paper"}, optional
        Formula of the outlier unit. None means that there is no outlier unit.
    head : torch.nn.Linear, optional
        Last layer, if ``body`` does not return the scores.

    Attributes
    ----------
    coefficients : Parameter of shape (2,) or None
        Coefficients b0 and b1 of the outlier unit.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences
    572.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import MassNetwork
    >>> network = MassNetwork(torch.nn.Linear(4, 3))
    >>> masses = network(torch.randn(5, 4))
    >>> masses.shape
    torch.Size([5, 3])
    >>> bool(torch.allclose(masses.sum(dim=1), torch.ones(5)))
    True
    """

    def __init__(
        self,
        body: nn.Module,
        empty: int | None = None,
        outlier_unit: str | None = None,
        head: nn.Linear | None = None,
    ):
        super().__init__()
        check(empty, "empty", none | integer(0))
        check(outlier_unit, "outlier_unit", none | choice("program", "paper"))
        if outlier_unit is not None and empty is None:
            raise InvalidParameterError(
                "empty", "the index of the empty set if there is an outlier unit", empty
            )
        self.body = body
        self.head = head
        self.empty = empty
        self.outlier_unit = outlier_unit
        self.coefficients = None
        if outlier_unit is not None:
            # The mass on the empty set decreases with h.
            slope = -1.0 if outlier_unit == "program" else 1.0
            dtype = next((p.dtype for p in body.parameters()), None)
            self.coefficients = nn.Parameter(torch.tensor([0.0, slope], dtype=dtype))

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of the focal sets, before the softmax.

        Parameters
        ----------
        x : Tensor of shape (n, ...)

        Returns
        -------
        Tensor of shape (n, n_sets)
        """
        scores = self.body(x)
        if self.head is not None:
            scores = self.head(scores)
        return scores

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        """Return the masses.

        Parameters
        ----------
        x : Tensor of shape (n, ...)
        h : Tensor of shape (n,), optional
            Decision values of the outlier detector, which an outlier unit requires.

        Returns
        -------
        Tensor of shape (n, n_sets)
        """
        masses = self.scores(x).softmax(dim=1)
        if self.coefficients is None:
            return masses
        if h is None:
            raise InvalidInputError(
                "a network with an outlier unit requires the decision values of the detector"
            )
        total = self.coefficients[0] + self.coefficients[1] * h
        eta = F.softplus(total, threshold=_SOFTPLUS_THRESHOLD)
        numerator = eta if self.outlier_unit == "program" else 1
        share = (numerator / (1 + eta))[:, None]
        on_empty = torch.zeros_like(masses[0])
        on_empty[self.empty] = 1
        return (1 - share) * masses + share * on_empty
