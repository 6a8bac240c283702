"""``dempster convert``: partitions and models from one kind of file to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dempster._text import format_count
from dempster.apps.cli.shared.errors import Command, UserError
from dempster.apps.cli.shared.inputs import read_subject
from dempster.apps.cli.shared.options import screen_options
from dempster.apps.cli.shared.output import Screen, check_extension, check_outputs, partition_document, write_files
from dempster.apps.cli.shared.param_types import PATH

if TYPE_CHECKING:
    from dempster.apps.recipe import TableModel
    from dempster.partition import CredalPartition


_KINDS = (".csv", ".tsv", ".parquet", ".npz", ".rds", ".dempster")
_GRAPH = ".onnx"


@click.command(cls=Command, short_help="Partitions and models from one kind of file to another.")
@click.argument("source", type=PATH)
@click.argument("target", type=PATH)
@screen_options
def convert(source: Path, target: Path, screen: Screen) -> None:
    """Write the partition of SOURCE as TARGET; their extensions tell the kinds.

    Both may be .csv, .tsv, .parquet, .npz, .dempster, or .rds, which holds a credpart of R's package evclust. A model
    (.dempster) gives the partition of its training run, or, if TARGET is .onnx, a graph that other programs run: it
    takes the columns of the table in their units, and gives masses.

    \b
    dempster convert clus.rds clus.parquet
    dempster convert flowers.partition.csv flowers.rds
    dempster convert flowers.dempster flowers.onnx
    """
    check_extension("SOURCE", source, _KINDS)
    check_extension("TARGET", target, (*_KINDS, _GRAPH))
    check_outputs([target], [source])
    subject = read_subject(source)
    if target.suffix.lower() == _GRAPH:
        _write_graph(subject.model, source, target, screen)
    else:
        _write_partition(subject.partition, source, target, screen)


def _write_partition(partition: CredalPartition | None, source: Path, target: Path, screen: Screen) -> None:
    if partition is None:
        raise UserError(f"{source} holds a classifier, it must hold a partition")
    from dempster.io import write_partition, write_r
    from dempster.persistence import save

    write = {".rds": write_r, ".dempster": save}.get(target.suffix.lower(), write_partition)
    write_files({target: lambda path: write(partition, path)})
    screen.result(f"{format_count(len(partition), 'object')}, {format_count(partition.n_clusters, 'cluster')}")
    screen.wrote([target])
    screen.document("convert", partition=partition_document(partition), files={"partition": str(target)})


def _write_graph(model: TableModel | None, source: Path, target: Path, screen: Screen) -> None:
    """Write a model with its preparation, for other programs."""
    if model is None:
        raise UserError(f"{source} holds a partition, not a model: write one by dempster cluster --save-model")
    from dempster.onnx import to_onnx

    write_files({target: lambda path: to_onnx(model, path)})
    name, n_sets = type(model.estimator).__name__, len(model.estimator.focal_sets_)
    screen.result(f"{name}: masses on {format_count(n_sets, 'set')}")
    screen.wrote([target])
    screen.document("convert", model={"method": name, "n_sets": n_sets}, files={"model": str(target)})
