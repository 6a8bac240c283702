"""Dissimilarities, nearest neighbors, and degrees of conflict."""

from dempster.dissimilarity.pca import DissimilarityPCA
from dempster.dissimilarity.transform import to_conflict

__all__ = ["to_conflict", "DissimilarityPCA"]
