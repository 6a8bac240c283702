"""Credal partitions: the result of every clustering, its summaries, comparison and combination."""

from evidentia.partition.combine import combine_partitions
from evidentia.partition.compare import (
    Estimate,
    consistency_index,
    credal_rand_index,
    dominates,
    non_dominated,
    nonspecificity_of_pairs,
)
from evidentia.partition.credal_partition import CredalPartition
from evidentia.partition.lazy import LazyCredalPartition
from evidentia.partition.map import PartitionMap, map_of_partitions
from evidentia.partition.nearest_pairs import nearest_pairs
from evidentia.partition.relational import RelationalPartition
from evidentia.partition.summary import PartitionSummary

__all__ = [
    "CredalPartition",
    "LazyCredalPartition",
    "RelationalPartition",
    "PartitionSummary",
    "credal_rand_index",
    "consistency_index",
    "nonspecificity_of_pairs",
    "dominates",
    "non_dominated",
    "Estimate",
    "combine_partitions",
    "map_of_partitions",
    "PartitionMap",
    "nearest_pairs",
]
