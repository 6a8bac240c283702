"""``dempster combine``: one partition of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared.errors import WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.kinds import PATH, WholeNumber
from dempster.apps.cli.shared.options import common
from dempster.apps.cli.shared.output import (
    PARTITION,
    Screen,
    all_or_none,
    check_outputs,
    check_partition_kind,
    keep_files_of_others,
    partition_document,
)
from dempster.apps.cli.shared.subjects import read_partition_file
from dempster.apps.recipe.words import counted

__all__ = ["combine"]

_RULES = ("dubois_prade", "dempster", "yager", "average", "disjunctive", "conjunctive")


@click.command(short_help="Make one partition of several.")
@click.argument("files", nargs=-1, type=PATH, metavar="FILE FILE...")
@click.option("-o", "--output", type=PATH, metavar="PATH", help="[default: combined.csv]")
@click.option(
    "--rule",
    type=click.Choice(_RULES),
    default="dubois_prade",
    show_default=True,
    help="How what they say of each pair is combined; dempster supposes that they are independent.",
)
@click.option("-c", "--clusters", type=WholeNumber(1), metavar="N", help="[default: the largest of the partitions]")
@click.option("--focal-sets", type=click.Choice(["simple", "pairs", "full"]), default="pairs", show_default=True)
@click.option("--seed", type=WholeNumber(0, 2**31 - 1), default=0, show_default=True, help="Same seed, same result.")
@common
def combine(files: tuple[Path, ...], output: Path | None, **options: Any) -> None:
    """Combine partitions of the same objects, of different methods or different tables, into one.

    FILEs are partitions (.csv, .tsv, .parquet, .npz, .rds, .dempster) or models. Objects correspond by their names
    where they have some, else by their order.

    \b
    dempster combine shape.partition.csv color.partition.csv -o both.csv
    """
    from dempster.partition import combine_partitions, credal_rand_index

    if len(files) < 2:
        raise WrongUse(f"name two partitions at least, got {counted(len(files), 'file')}")
    screen = Screen(quiet=options["quiet"], as_json=options["as_json"])
    output = output or keep_files_of_others(Path("combined.csv"), PARTITION)
    check_partition_kind(output)
    check_outputs([output], files)
    partitions = [read_partition_file(file) for file in files]
    with readable_warnings(), user_errors(), screen.working("combining"):
        found = combine_partitions(
            partitions,
            options["rule"],
            n_clusters=options["clusters"],
            focal_sets=options["focal_sets"],
            random_state=options["seed"],
        )
        indices = [float(credal_rand_index(found, one, random_state=0)) for one in partitions]
        from dempster.io import write_partition

        with all_or_none([output]) as (temporary,):
            write_partition(found, temporary)
    screen.partition(
        f"{counted(len(files), 'partition')} combined by {options['rule']}: {counted(len(found), 'object')}, "
        f"{counted(found.n_clusters, 'cluster')}",
        found,
    )
    told = ", ".join(f"{index:.3f} with {file}" for file, index in zip(files, indices, strict=True))
    screen.result(f"credal Rand index {told}")
    screen.wrote([output])
    screen.document(
        "combine",
        rule=options["rule"],
        partition=partition_document(found),
        credal_rand_index={str(file): index for file, index in zip(files, indices, strict=True)},
        files={"partition": str(output)},
    )
