"""Selection of the number of clusters."""

from dempster.cluster.choice.number import NumberOfClusters
from dempster.model_selection.n_clusters import (
    NClustersCurve,
    n_clusters_curve,
    number_of_clusters,
)

__all__ = [
    "number_of_clusters",
    "NumberOfClusters",
    "n_clusters_curve",
    "NClustersCurve",
]
