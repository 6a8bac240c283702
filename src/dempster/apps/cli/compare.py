"""``dempster compare``: compare partitions, and list the objects that they assign differently."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_count
from dempster.apps.cli.shared import (
    PATH,
    Command,
    Outputs,
    Screen,
    UserError,
    WrongUse,
    load_result,
    plot_option,
    screen_options,
)
from dempster.apps.cli.shared.drawing import draw_picture

if TYPE_CHECKING:
    import pandas as pd

    from dempster.partition import CredalPartition


@click.command(
    cls=Command,
    examples=(
        "dempster cluster flowers.csv -c 3 -o three.csv",
        "dempster cluster flowers.csv -c 4 -o four.csv",
        "dempster compare three.csv four.csv --plot map.png",
    ),
)
@click.argument("files", nargs=-1, type=PATH, metavar="FILE FILE...")
@plot_option("Plot an embedding of the partitions: .png, .svg or .pdf.")
@click.option(
    "-n", "--show", type=click.IntRange(0), default=10, help="Objects to print."
)
@screen_options
def compare(
    files: tuple[Path, ...],
    plot: Path | None,
    show: int,
    screen: Screen,
) -> None:
    """Compare two or more partitions of the same objects.

    The credal Rand index is 1 for equal partitions. Consistency is 1 if the partitions do not
    contradict each other; outliers lower it. If two partitions have the same consistency, the more
    precise one is more informative. The list of moved objects compares the first FILE with each
    other FILE. For this list, each cluster gets the name of the most similar cluster of the first
    FILE.
    """
    if len(files) < 2:
        raise WrongUse(
            f"at least two partitions are needed, got {format_count(len(files), 'file')}"
        )
    outputs = Outputs(files)
    outputs.add_options({"plot": plot})
    partitions = _load_partitions(files)
    names = [
        file.name.removesuffix(file.suffix).removesuffix(".partition") for file in files
    ]
    if len(set(names)) < len(names):
        names = [str(file) for file in files]

    def draw_map(path: Path) -> None:
        from dempster.partition import embed_partitions
        from dempster.plot import PartitionMapDisplay

        embedding = embed_partitions(partitions, names)
        draw_picture(
            lambda ax: PartitionMapDisplay.from_map(embedding, ax=ax), path, (6, 5)
        )

    with screen.progress("comparing"):
        indices = _compute_indices(partitions, names)
        others = zip(names[1:], partitions[1:], strict=True)
        moved = {
            name: list_moved_objects(partitions[0], other) for name, other in others
        }
        outputs.write({"plot": draw_map})
    n_objects = format_count(len(partitions[0]), "object")
    screen.print(f"{format_count(len(files), 'partition')} of {n_objects}\n", bold=True)
    screen.print(indices.round(3).to_string())
    for name, table in moved.items():
        share = len(table) / max(len(partitions[0]), 1)
        end = ":" if show and len(table) else ""
        moves = f"{format_count(len(table), 'object')} ({share:.1%}) from {names[0]} to {name}"
        screen.print(f"\n{moves}{end}", bold=True)
        if show and len(table):
            screen.print(table.head(show).to_string(index=False))
            if len(table) > show:
                screen.print(f"... and {len(table) - show:,} more")
    screen.finish(
        outputs,
        partitions={name: str(file) for name, file in zip(names, files, strict=True)},
        indices=indices.reset_index().to_dict("records"),
        moved={
            name: {"objects": len(table), "first": table.head(show).to_dict("records")}
            for name, table in moved.items()
        },
    )


def _load_partitions(files: tuple[Path, ...]) -> list[CredalPartition]:
    """Load partitions, and reorder their objects to match the first partition."""
    from dempster._validation import match_names

    partitions = [load_result(file).partition for file in files]
    first = partitions[0]
    for position, (file, partition) in enumerate(zip(files, partitions, strict=True)):
        if len(partition) != len(first):
            raise UserError(
                f"{file} must have the {len(first):,} objects of {files[0]}, got {len(partition):,}"
            )
        try:
            order = match_names(partition.index, first.index)
        except InvalidInputError as error:
            raise UserError(f"{file} and {files[0]}: {error}") from error
        if order is not None:
            partitions[position] = partition[order]
    return partitions


def _compute_indices(
    partitions: list[CredalPartition], names: list[str]
) -> pd.DataFrame:
    """Return a table of agreement indices with one row for each pair of partitions."""
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from dempster.partition import consistency_index, credal_rand_index

    rows = []
    for (name, a), (other_name, b) in combinations(
        zip(names, partitions, strict=True), 2
    ):
        rows.append(
            {
                "partitions": f"{name} and {other_name}",
                "credal Rand": float(credal_rand_index(a, b, random_state=0)),
                "consistency": consistency_index(a, b),
                "adjusted Rand": float(adjusted_rand_score(a.labels, b.labels)),
            }
        )
    return pd.DataFrame(rows).set_index("partitions")


def list_moved_objects(before: CredalPartition, after: CredalPartition) -> pd.DataFrame:
    """Return a table of the objects whose set of clusters differs, the most certain ones first."""
    import pandas as pd

    from dempster.explain.review import describe_sets
    from dempster.explain.scores import match_one_to_one

    # Each cluster of the second partition gets the name of the most similar cluster of the first.
    similarity = before.pignistic().T @ after.pignistic()
    names = [f"new {name}" for name in after.frame]
    for k, match in enumerate(match_one_to_one(similarity.T)):
        if match >= 0:
            names[k] = before.frame[match]
    was = describe_sets(before, before.frame)
    now = describe_sets(after, names, list(dict.fromkeys([*before.frame, *names])))
    moved = np.flatnonzero(was != now)
    certainty = np.minimum(before.best_mass, after.best_mass)[moved]
    moved = moved[np.argsort(-certainty, kind="stable")]
    index = range(len(before)) if before.index is None else before.index
    objects = [index[k] for k in moved]
    return pd.DataFrame({"object": objects, "was": was[moved], "is": now[moved]})
