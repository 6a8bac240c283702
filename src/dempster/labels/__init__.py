"""Clusters that other programs found: doubt, evaluation and matching.

`doubt` estimates how plausible each cluster is for each object, `evaluate` how good the clusters
are, and `match_clusters` compares two labelings of the same objects.
"""

from dempster.labels.evaluation import (
    BestPartition,
    ClusterEvaluation,
    DoubtfulLabel,
    Evaluation,
    compare_labels,
    evaluate,
)
from dempster.labels.labeled_clustering import LabeledClustering
from dempster.labels.labeled_partition import (
    LabeledPartition,
    LazyLabeledPartition,
    doubt,
)
from dempster.labels.matching import ClusterMatching, match_clusters

__all__ = ["doubt", "LabeledPartition", "LazyLabeledPartition"]
__all__ += ["LabeledClustering"]
__all__ += ["evaluate", "compare_labels", "Evaluation"]
__all__ += ["ClusterEvaluation", "DoubtfulLabel", "BestPartition"]
__all__ += ["match_clusters", "ClusterMatching"]
