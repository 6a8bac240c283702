"""What files may hold of NN-EVCLUS with torch: apart from the rest, because torch is slow to import."""

from __future__ import annotations

from typing import Any

import torch

from dempster._errors import InvalidInputError
from dempster.cluster.evclus._torch_network import TorchNetwork
from dempster.persistence.schema import Schema, check_names

__all__ = ["SAVED"]


def _parts(network: TorchNetwork) -> dict[str, Any]:
    """The body goes into a file as its weights; the coefficients of the outlier unit and the matrix are numbers."""
    coefficients = network.coefficients
    return {
        "body": network.body,
        "layer": network.layer,
        "coefficients": None if coefficients is None else coefficients.detach().cpu().numpy(),
        "matrix": None if network.matrix is None else network.matrix.detach().cpu().numpy(),
    }


def _network(parts: dict[str, Any]) -> TorchNetwork:
    """On the processor, wherever it was trained."""
    check_names(parts, ("body", "layer", "coefficients", "matrix"), ("body", "layer", "coefficients"))
    made = TorchNetwork(parts["body"], parts["layer"], parts.get("matrix"))
    if (made.coefficients is None) != (parts["coefficients"] is None):
        raise InvalidInputError("the coefficients of the outlier unit do not go with the layer of masses")
    if made.coefficients is not None:
        with torch.no_grad():
            made.coefficients.copy_(torch.as_tensor(parts["coefficients"]))
    return made.eval()


SAVED = (Schema(TorchNetwork, _parts, _network),)
