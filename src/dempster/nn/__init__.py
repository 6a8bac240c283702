"""Torch modules: evidential layers, contextual discounting, fusion and losses (extra ``nn``)."""

from dempster._errors import MissingExtraError

try:
    import torch  # noqa: F401
except ImportError as error:
    raise MissingExtraError("dempster.nn", "torch", "nn") from error

from dempster.nn.layers import (
    ContextualDiscounting,
    EvidentialLayer,
    Fusion,
    contour,
    to_masses,
)
from dempster.nn.losses import (
    ExpectedUtilityLoss,
    plausibility_cross_entropy,
    plausibility_squared_error,
)
from dempster.nn.mass_network import MassNetwork

__all__ = [
    "EvidentialLayer",
    "ContextualDiscounting",
    "Fusion",
    "MassNetwork",
    "contour",
    "to_masses",
    "plausibility_cross_entropy",
    "plausibility_squared_error",
    "ExpectedUtilityLoss",
]
