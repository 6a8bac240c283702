"""Credal partitions: the result of every clustering, its summaries, comparison and combination."""

from dempster.partition.combine import combine_partitions
from dempster.partition.compare import (
    Estimate,
    PartitionMap,
    consistency_index,
    credal_rand_index,
    dominates,
    map_of_partitions,
    nearest_pairs,
    non_dominated,
    nonspecificity_of_pairs,
)
from dempster.partition.credal_partition import CredalPartition, PartitionSummary
from dempster.partition.lazy import LazyCredalPartition
from dempster.partition.relational import RelationalPartition

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
