"""What a user may set of NN-EVCLUS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dempster import _parameters as rule
from dempster.cluster._search import Sample
from dempster.cluster.evclus.network._objective import Penalties
from dempster.cluster.evclus.network._targets import SMALL
from dempster.cluster.evclus.training import Training

__all__ = ["NetworkSettings", "are_sizes", "is_module", "training_device"]

_WIDEST = 1_000_000  # layer of a network


def are_sizes(network: Any) -> bool:
    """Whether it is the size of a hidden layer, or those of several."""
    several = isinstance(network, list | tuple) or (isinstance(network, np.ndarray) and network.ndim == 1)
    sizes = network if several else [network]
    return all(rule.is_integer(s) and 1 <= int(s) <= _WIDEST for s in sizes)


def is_module(network: Any) -> bool:
    """Whether it is a torch.nn.Module (torch may not be there to ask)."""
    return callable(network) and hasattr(network, "state_dict")


def training_device(device: str, sample: Sample[np.ndarray], network: Any) -> str:
    """Where X was, if it was a tensor; few objects are quicker on the processor, and give what an array gives."""
    if sample.device is None:
        return device
    in_memory = sample.device.type == "cpu" or (len(sample.values) <= SMALL and not is_module(network))
    return "cpu" if in_memory else str(sample.device)


@dataclass(frozen=True)
class NetworkSettings:
    """The parameters of one fit.

    Attributes
    ----------
    network : "auto", int, sequence of int, or torch.nn.Module
        Hidden layers, or a network.
    penalties : Penalties
    convention : str
        Of the outlier unit.
    n_partners : int or None
        None: all pairs.
    seed : int or None
        The user's, where it is a number: a checkpoint belongs to one seed.
    """

    network: Any
    penalties: Penalties
    convention: str
    n_partners: int | None
    outlier_detector: Any
    training: Training
    n_init: int
    max_iter: int
    tol: float
    device: str
    checkpoint: str | Path | None
    seed: int | None

    @property
    def module(self) -> Any:
        """The network of the user's own; None if its layers are ours."""
        return self.network if is_module(self.network) else None

    @property
    def uses_torch(self) -> bool:
        """A network of the user's own is torch's, and so is all that happens on a device; the rest is NumPy."""
        return self.module is not None or self.device != "cpu"

    def hidden_layers(self, n_sets: int) -> list[int]:
        """Their sizes, where the network is not the user's own."""
        if isinstance(self.network, str):
            return [max(20, 3 * n_sets)]
        return [int(size) for size in np.atleast_1d(self.network)]
