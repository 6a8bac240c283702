"""Dissimilarities between objects: where they come from, which pairs to look at, how they become conflicts."""

from dempster.dissimilarity.pca import DissimilarityPCA
from dempster.dissimilarity.transform import to_conflict

__all__ = ["to_conflict", "DissimilarityPCA"]
