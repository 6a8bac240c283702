"""Tables in, partitions and models out, and files that are written whole or not at all."""

from evidentia.io.atomic import atomic_write, atomic_writes
from evidentia.io.dissimilarities import read_dissimilarities
from evidentia.io.files import describe, load, save
from evidentia.io.onnx.export import to_onnx
from evidentia.io.partitions import read_partition, write_partition
from evidentia.io.r_partitions import read_r, write_r
from evidentia.io.sparse_partitions import write_top_masses
from evidentia.io.tables import read_table

__all__ = [
    "read_table",
    "read_dissimilarities",
    "read_partition",
    "write_partition",
    "write_top_masses",
    "read_r",
    "write_r",
    "save",
    "load",
    "describe",
    "to_onnx",
    "atomic_write",
    "atomic_writes",
]
