"""The probabilities of round Gaussians (`mixtures._evidential_mixture`), as operators of ONNX."""

from __future__ import annotations

from dempster.cluster.on_device.mixtures import RoundComponents
from dempster.io.onnx.graph import Value

__all__ = ["probabilities"]


def probabilities(X: Value, known: RoundComponents) -> Value:
    """(n, g) probabilities of the components; exponents may be large, so they are found in double precision."""
    objects = X.double()
    if known.origin is not None:
        objects = (objects - known.origin) / known.unit
    middle = known.places.mean(axis=0)  # what is the same for all components would cost digits
    logs = objects @ (known.rounded @ (known.places - middle).T) + known.constants
    return logs.softmax().astype(X.dtype)
