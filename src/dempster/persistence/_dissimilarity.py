"""What files may hold of this package."""

from __future__ import annotations

from dempster.dissimilarity.gower import GowerData, GowerEncoder
from dempster.dissimilarity.input import DissimilarityInput
from dempster.dissimilarity.pca import DissimilarityPCA
from dempster.dissimilarity.point_tree import PointTree
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import AttributeSource, GowerSource, MatrixSource, SparseSource
from dempster.persistence.documented import check_shapes
from dempster.persistence.schema import Schema, check_names

__all__ = ["SAVED"]


_LEARNT = ("metric", "parameters", "within")
_INPUT = ("metric", "symmetrize", "sparse", "centered", "fewest", "remedy", "origin", "encoder")


def _read_input(parts: dict) -> DissimilarityInput:
    check_names(parts, _INPUT)
    check_shapes(DissimilarityInput, parts, {})
    learnt = {name: parts.pop(name) for name in ("origin", "encoder")}
    made = DissimilarityInput(**parts)
    made.origin, made.encoder = learnt["origin"], learnt["encoder"]
    return made


SAVED = (
    *map(Schema.of, (References, GowerData, GowerEncoder, DissimilarityPCA)),
    Schema(DissimilarityInput, lambda found: {name: getattr(found, name) for name in _INPUT}, _read_input),
    Schema.of_arguments(AttributeSource, {"X": "objects", **{name: name for name in _LEARNT}}, later=["within"]),
    Schema.of_arguments(GowerSource, {"objects": "objects", "usual": "usual"}, later=["usual"]),
    Schema.of_arguments(MatrixSource, {"D": "matrix"}),
    Schema.of_arguments(SparseSource, {"D": "stored"}),
    # built again: the tree follows from its points, and positions in it are never taken from a file
    Schema.of_arguments(PointTree, {"X": "points", "p": "p", "n_jobs": "n_jobs"}),
)
