"""``evidentia convert``: partitions and models from one kind of file to another."""

from __future__ import annotations

from pathlib import Path

import click

from evidentia.cli.shared.errors import UserError, WrongUse, user_errors
from evidentia.cli.shared.options import PATH, common
from evidentia.cli.shared.output import Screen, all_or_none, check_outputs, partition_document
from evidentia.cli.shared.subjects import read_subject
from evidentia.recipe.words import counted

__all__ = ["convert"]

_KINDS = (".csv", ".tsv", ".parquet", ".npz", ".rds", ".evidentia")


@click.command(short_help="Partitions and models from one kind of file to another.")
@click.argument("source", type=PATH)
@click.argument("target", type=PATH)
@common
def convert(source: Path, target: Path, quiet: bool, as_json: bool) -> None:
    """Write the partition of SOURCE as TARGET; their extensions tell the kinds.

    Both may be .csv, .tsv, .parquet, .npz, .evidentia, or .rds, which holds a credpart of R's package evclust. A model
    (.evidentia) gives the partition of its training run.

    \b
    evidentia convert clus.rds clus.parquet
    evidentia convert flowers.partition.csv flowers.rds
    """
    screen = Screen(quiet=quiet, as_json=as_json)
    for name, path in (("SOURCE", source), ("TARGET", target)):
        if path.suffix.lower() not in _KINDS:
            raise WrongUse(f"{name}: the extension must be one of {', '.join(_KINDS)}, got {path.suffix or 'none'}")
    check_outputs([target], [source])
    partition = read_subject(source).partition
    if partition is None:
        raise UserError(f"{source} holds a classifier, it must hold a partition")
    from evidentia.io import save, write_partition, write_r

    write = {".rds": write_r, ".evidentia": save}.get(target.suffix.lower(), write_partition)
    with user_errors(), all_or_none([target]) as (temporary,):
        write(partition, temporary)
    screen.result(f"{counted(len(partition), 'object')}, {counted(partition.n_clusters, 'cluster')}")
    screen.wrote([target])
    screen.document("convert", partition=partition_document(partition), files={"partition": str(target)})
