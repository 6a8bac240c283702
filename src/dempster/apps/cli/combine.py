"""``dempster combine``: one partition of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster._text import format_count
from dempster.apps.cli.shared.errors import Command, WrongUse
from dempster.apps.cli.shared.inputs import read_partition_file
from dempster.apps.cli.shared.options import output_option, screen_options, seed_option
from dempster.apps.cli.shared.output import (
    PARTITION,
    Screen,
    check_outputs,
    check_own_file,
    check_partition_kind,
    partition_document,
    write_files,
)
from dempster.apps.cli.shared.param_types import PATH, WholeNumber

_RULES = ("dubois_prade", "dempster", "yager", "average", "disjunctive", "conjunctive")


@click.command(cls=Command, short_help="Make one partition of several.")
@click.argument("files", nargs=-1, type=PATH, metavar="FILE FILE...")
@output_option("[default: combined.csv]")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="dubois_prade",
    show_default=True,
    help="How what they say of each pair is combined; dempster supposes that they are independent.",
)
@click.option("-c", "--clusters", type=WholeNumber(1), metavar="N", help="[default: the largest of the partitions]")
@click.option("--focal-sets", type=click.Choice(["simple", "pairs", "full"]), default="pairs", show_default=True)
@seed_option
@screen_options
def combine(files: tuple[Path, ...], output: Path | None, screen: Screen, **options: Any) -> None:
    """Combine partitions of the same objects, of different methods or different tables, into one.

    FILEs are partitions (.csv, .tsv, .parquet, .npz, .rds, .dempster) or models. Objects correspond by their names
    where they have some, else by their order.

    \b
    dempster combine shape.partition.csv color.partition.csv -o both.csv
    """
    from dempster.io import write_partition
    from dempster.partition import combine_partitions, credal_rand_index

    if len(files) < 2:
        raise WrongUse(f"name two partitions at least, got {format_count(len(files), 'file')}")
    output = output or check_own_file(Path("combined.csv"), PARTITION)
    check_partition_kind(output)
    check_outputs([output], files)
    partitions = [read_partition_file(file) for file in files]
    with screen.working("combining"):
        found = combine_partitions(
            partitions,
            options["rule"],
            n_clusters=options["clusters"],
            focal_sets=options["focal_sets"],
            random_state=options["seed"],
        )
        indices = [float(credal_rand_index(found, one, random_state=0)) for one in partitions]
        write_files({output: lambda path: write_partition(found, path)})
    screen.partition(
        f"{format_count(len(files), 'partition')} combined by {options['rule']}: {format_count(len(found), 'object')}, "
        f"{format_count(found.n_clusters, 'cluster')}",
        found,
    )
    agreement = ", ".join(f"{index:.3f} with {file}" for file, index in zip(files, indices, strict=True))
    screen.result(f"credal Rand index {agreement}")
    screen.wrote([output])
    screen.document(
        "combine",
        rule=options["rule"],
        partition=partition_document(found),
        credal_rand_index={str(file): index for file, index in zip(files, indices, strict=True)},
        files={"partition": str(output)},
    )
