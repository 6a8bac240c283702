"""Objects that are sent to a device once, where every pass of a fit goes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.cluster.on_device.order import order_on_device
from evidentia.optimize.projection_torch import sent, torch_on

__all__ = ["RowsOnDevice", "rows_on_device"]


@dataclass(frozen=True)
class RowsOnDevice:
    """Objects, as tensors.

    Attributes
    ----------
    host : (n, p) array
        The same objects in the memory of the host.
    rows : (n, p) tensor
    weights : (n,) tensor or None
    device : str
    """

    host: np.ndarray
    rows: Any
    weights: Any
    device: str

    def order(self) -> np.ndarray:
        """Positions of the objects along a line (`_starts.order_along_line`)."""
        return order_on_device(self.host, self.device, self.rows)[0]


def rows_on_device(X: np.ndarray, weights: np.ndarray, device: str) -> RowsOnDevice | None:
    """The objects on a device, None if that is the processor; ``weights`` is empty if all count alike."""
    if device == "cpu":
        return None
    torch_on(device)
    given = None if len(weights) == 0 else sent(weights, device)
    return RowsOnDevice(X, sent(X, device), given, device)
