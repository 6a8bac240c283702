"""``dempster convert``: convert partitions and models to other file formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster._text import format_count
from dempster.apps.cli.shared import (
    PATH,
    Command,
    Outputs,
    Screen,
    check_extension,
    load_result,
    partition_document,
    screen_options,
)

_EXTENSIONS = (".csv", ".tsv", ".parquet", ".npz", ".rds", ".dempster")
_ONNX = ".onnx"


@click.command(
    cls=Command,
    examples=(
        "dempster convert clus.rds clus.parquet",
        "dempster convert flowers.partition.csv flowers.rds",
        "dempster convert flowers.dempster flowers.onnx",
    ),
)
@click.argument("source", type=PATH)
@click.argument("target", type=PATH)
@screen_options
def convert(source: Path, target: Path, screen: Screen) -> None:
    """Write the partition in SOURCE to TARGET; the extensions select the file formats.

    Both files may be .csv, .tsv, .parquet, .npz, .dempster, or .rds (a credpart of the R package
    evclust). If SOURCE is a model (.dempster), the partition of its training rows is written. If
    TARGET is .onnx, the model is written as an ONNX graph that computes masses from the columns of
    the table in their original units.
    """
    check_extension("SOURCE", source, _EXTENSIONS)
    outputs = Outputs([source])
    is_graph = target.suffix.lower() == _ONNX
    outputs.add(
        "model" if is_graph else "partition", target, (*_EXTENSIONS, _ONNX), "TARGET"
    )
    result = load_result(source)
    content: dict[str, Any]
    if is_graph:
        from dempster.onnx import to_onnx

        model = result.model
        outputs.write({"model": lambda path: to_onnx(model, path)})
        name = type(model.estimator).__name__
        n_sets = len(model.estimator.focal_sets_)
        screen.print(f"{name}: masses on {format_count(n_sets, 'set')}")
        content = {"model": {"method": name, "n_sets": n_sets}}
    else:
        from dempster.io import write_partition, write_r
        from dempster.persistence import save

        partition = result.partition
        write = {".rds": write_r, ".dempster": save}.get(
            target.suffix.lower(), write_partition
        )
        outputs.write({"partition": lambda path: write(partition, path)})
        n_clusters = format_count(partition.n_clusters, "cluster")
        screen.print(f"{format_count(len(partition), 'object')}, {n_clusters}")
        content = {"partition": partition_document(partition)}
    screen.finish("convert", outputs, **content)
