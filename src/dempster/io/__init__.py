"""Read tables, dissimilarities and partitions from files, and write partitions."""

from dempster.io.dissimilarities import read_dissimilarities
from dempster.io.partitions import read_partition, write_partition, write_top_masses
from dempster.io.r import read_r, write_r
from dempster.io.tables import read_table

__all__ = [
    "read_table",
    "read_dissimilarities",
    "read_partition",
    "write_partition",
    "write_top_masses",
    "read_r",
    "write_r",
]
