"""``dempster combine``: combine several partitions into one."""

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
    WholeNumber,
    WrongUse,
    default_path,
    load_result,
    output_option,
    partition_document,
    screen_options,
    seed_option,
)

_RULES = ("dubois_prade", "dempster", "yager", "average", "disjunctive", "conjunctive")


@click.command(
    cls=Command,
    examples=("dempster combine shape.partition.csv color.partition.csv -o both.csv",),
)
@click.argument("files", nargs=-1, type=PATH, metavar="FILE FILE...")
@output_option("File of the combined partition. [default: combined.csv]")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="dubois_prade",
    help="Rule of combination; dempster assumes independent sources of evidence.",
)
@click.option(
    "-c",
    "--clusters",
    type=WholeNumber(1),
    help="Number of clusters. [default: largest of the partitions]",
)
@click.option(
    "--focal-sets",
    type=click.Choice(["simple", "pairs", "full"]),
    default="pairs",
    help="Sets of clusters that may have mass.",
)
@seed_option
@screen_options
def combine(
    files: tuple[Path, ...], output: Path | None, screen: Screen, **options: Any
) -> None:
    """Combine partitions of the same objects, from different methods or different tables.

    FILEs are partitions (.csv, .tsv, .parquet, .npz, .rds, .dempster) or models. Objects are
    matched by name if they have names, otherwise by position.
    """
    from dempster.io import write_partition
    from dempster.partition import combine_partitions, credal_rand_index

    if len(files) < 2:
        n_files = format_count(len(files), "file")
        raise WrongUse(f"at least two partitions are needed, got {n_files}")
    outputs = Outputs(files)
    outputs.add("partition", output or default_path(Path("combined"), ".csv"))
    partitions = [load_result(file).partition for file in files]
    with screen.progress("combining"):
        combined = combine_partitions(
            partitions,
            options["rule"],
            n_clusters=options["clusters"],
            focal_sets=options["focal_sets"],
            random_state=options["seed"],
        )
        indices = {
            str(file): float(credal_rand_index(combined, partition, random_state=0))
            for file, partition in zip(files, partitions, strict=True)
        }
        outputs.write({"partition": lambda path: write_partition(combined, path)})
    head = (
        f"{format_count(len(files), 'partition')} combined by {options['rule']}: "
        f"{format_count(len(combined), 'object')}, {format_count(combined.n_clusters, 'cluster')}"
    )
    screen.print_partition(head, combined)
    texts = [f"{index:.3f} with {file}" for file, index in indices.items()]
    screen.print(f"credal Rand index {', '.join(texts)}")
    content = {
        "rule": options["rule"],
        "partition": partition_document(combined),
        "credal_rand_index": indices,
    }
    screen.finish("combine", outputs, **content)
