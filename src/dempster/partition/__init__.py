"""Credal partitions, their summaries, comparison and combination."""

from dempster.partition.combine import combine_partitions
from dempster.partition.compare import (
    IndexEstimate,
    PartitionMap,
    consistency_index,
    credal_rand_index,
    dominates,
    embed_partitions,
    nearest_pairs,
    non_dominated,
    pairwise_nonspecificity,
)
from dempster.partition.credal_partition import CredalPartition, PartitionSummary
from dempster.partition.lazy import LazyCredalPartition
from dempster.partition.relational import RelationalPartition

__all__ = [
    "CredalPartition",
    "LazyCredalPartition",
    "RelationalPartition",
    "PartitionSummary",
]
__all__ += [
    "credal_rand_index",
    "consistency_index",
    "pairwise_nonspecificity",
    "dominates",
    "non_dominated",
]
__all__ += [
    "IndexEstimate",
    "combine_partitions",
    "embed_partitions",
    "PartitionMap",
    "nearest_pairs",
]
