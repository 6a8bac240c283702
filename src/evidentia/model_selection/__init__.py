"""Choosing a model: how many clusters."""

from evidentia.cluster.number import NumberOfClusters
from evidentia.model_selection.n_clusters import NClustersCurve, n_clusters_curve
from evidentia.model_selection.number import number_of_clusters

__all__ = ["number_of_clusters", "NumberOfClusters", "n_clusters_curve", "NClustersCurve"]
