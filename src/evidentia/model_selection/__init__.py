"""Choosing a model: how many clusters."""

from evidentia.model_selection.n_clusters import NClustersCurve, n_clusters_curve

__all__ = ["n_clusters_curve", "NClustersCurve"]
