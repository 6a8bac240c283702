"""How files hold the values of the house: families of sets, mass functions, partitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.belief import FocalSets, MassFunctions, Opinions
from dempster.partition import CredalPartition
from dempster.persistence.schema import Schema, check_names

__all__ = ["VALUES"]

_CLOSE = 1e-3  # how far from one the sum of masses may be, of whatever precision


def _mass_schema(kind: Any) -> Schema:
    names = ("masses", "focal_sets", "index", "frame", *(("metadata",) if kind is CredalPartition else ()))

    def build(parts: dict[str, Any]) -> Any:
        """The very bits that were written; what are no masses is refused."""
        check_names(parts, names)
        masses, family = parts["masses"], parts["focal_sets"]
        if not isinstance(family, FocalSets) or not isinstance(masses, np.ndarray) or masses.dtype.kind != "f":
            raise InvalidInputError("masses must be numbers on a family of sets")
        if masses.ndim != 2 or masses.shape[1] != len(family):
            raise InvalidInputError(f"masses of shape {masses.shape} do not go with {len(family)} sets")
        if masses.size and not (masses.min() >= 0 and np.abs(masses.sum(axis=1) - 1).max() <= _CLOSE):
            raise InvalidInputError("masses must be nonnegative and sum to one")
        index, frame = parts["index"], kind(masses[:0], family, frame=parts["frame"]).frame
        if index is not None and (isinstance(index, str) or len(index) != len(masses)):
            raise InvalidInputError(f"index must hold one name for each of the {len(masses)} rows")
        more = {"metadata": parts["metadata"]} if "metadata" in parts else {}
        if not isinstance(more.get("metadata", {}), dict):
            raise InvalidInputError(f"metadata must be given by name, got {type(parts['metadata']).__name__}")
        if not isinstance(more.get("metadata", {}).get("choices", {}), dict):
            raise InvalidInputError("choices among the metadata must be given by name")
        return kind.unchecked(masses, family, index, frame, **more)

    return Schema(kind, lambda obj: {name: getattr(obj, name) for name in names}, build)


VALUES = {
    "belief": (
        Schema.of_arguments(FocalSets, {"membership": "membership"}),
        _mass_schema(MassFunctions),
        Schema.of(Opinions),
    ),
    "partition": (_mass_schema(CredalPartition),),
}
