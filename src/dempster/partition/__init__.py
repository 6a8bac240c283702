"""Credal partitions: the result of every clustering, its summaries, comparison and combination."""

from dempster.partition.combine import combine_partitions
from dempster.partition.compare import (
    Estimate,
    consistency_index,
    credal_rand_index,
    dominates,
    non_dominated,
    nonspecificity_of_pairs,
)
from dempster.partition.credal_partition import CredalPartition
from dempster.partition.lazy import LazyCredalPartition
from dempster.partition.map import PartitionMap, map_of_partitions
from dempster.partition.nearest_pairs import nearest_pairs
from dempster.partition.relational import RelationalPartition
from dempster.partition.summary import PartitionSummary

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
