"""``dempster compare``: how alike partitions are, and which objects they place differently."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_count
from dempster.apps.cli.shared.errors import Command, UserError, WrongUse
from dempster.apps.cli.shared.inputs import read_partition_file
from dempster.apps.cli.shared.options import output_option, plot_option, screen_options
from dempster.apps.cli.shared.output import (
    Screen,
    check_extension,
    check_outputs,
    draw_display,
    write_files,
    write_table,
)
from dempster.apps.cli.shared.param_types import PATH, WholeNumber

if TYPE_CHECKING:
    import pandas as pd

    from dempster.partition import CredalPartition


@click.command(cls=Command, short_help="Compare partitions: indices, map, who moved.")
@click.argument("files", nargs=-1, type=PATH, metavar="FILE FILE...")
@plot_option("Draw a map of the partitions: .png, .svg or .pdf.")
@output_option("Write all objects that moved: .csv.")
@click.option("-n", "--show", type=WholeNumber(0), default=10, show_default=True, metavar="N", help="Objects to show.")
@screen_options
def compare(files: tuple[Path, ...], plot: Path | None, output: Path | None, show: int, screen: Screen) -> None:
    """Compare two or more partitions of the same objects.

    The credal Rand index is 1 for the same partition. Consistency is 1 where nothing is contradicted: of two with the
    same consistency the more precise says more. Objects that moved are told against the first FILE, whose clusters
    lend their numbers to the most similar ones of the others.

    \b
    dempster compare ecm.csv evclus.csv --plot map.png
    """
    if len(files) < 2:
        raise WrongUse(f"name two partitions at least, got {format_count(len(files), 'file')}")
    outputs = [path for path in (plot, output) if path is not None]
    check_extension("--plot", plot)
    check_extension("--output", output, [".csv"])
    check_outputs(outputs, files)
    partitions = _read_same_objects(files)
    names = _short_names(files)
    with screen.working("comparing"):
        indices = _indices(partitions, names)
        others = zip(names[1:], partitions[1:], strict=True)
        moved = {name: moved_objects(partitions[0], other) for name, other in others}
        _write(partitions, names, moved, plot, output)
    screen.result(
        f"{format_count(len(files), 'partition')} of {format_count(len(partitions[0]), 'object')}", style="bold"
    )
    screen.result()
    screen.table(indices.round(3))
    for name, table in moved.items():
        screen.result()
        share = len(table) / max(len(partitions[0]), 1)
        screen.result(f"{format_count(len(table), 'object')} ({share:.1%}) from {names[0]} to {name}:", style="bold")
        if show and len(table):
            screen.table(table.head(show), index=False)
            if len(table) > show:
                screen.result(f"... and {len(table) - show:,} more")
    screen.wrote(outputs)
    screen.document(
        "compare",
        partitions={name: str(file) for name, file in zip(names, files, strict=True)},
        indices=indices.reset_index().to_dict("records"),
        moved={
            name: {"objects": len(table), "first": table.head(show).to_dict("records")} for name, table in moved.items()
        },
        files=[str(path) for path in outputs],
    )


def _read_same_objects(files: tuple[Path, ...]) -> list[CredalPartition]:
    """Read partitions, with their objects in the order of the first."""
    from dempster._validation import order_of_names

    partitions = [read_partition_file(file) for file in files]
    first = partitions[0]
    for place, (file, one) in enumerate(zip(files, partitions, strict=True)):
        if len(one) != len(first):
            raise UserError(f"{file} has {len(one):,} objects, {files[0]} has {len(first):,}: they must be the same")
        try:
            order = order_of_names(one.index, first.index)
        except InvalidInputError as error:
            raise UserError(f"{file} and {files[0]}: {error}") from error
        if order is not None:
            partitions[place] = one[order]
    return partitions


def _short_names(files: tuple[Path, ...]) -> list[str]:
    short = [file.name.removesuffix(file.suffix).removesuffix(".partition") for file in files]
    return short if len(set(short)) == len(short) else [str(file) for file in files]


def _indices(partitions: list[CredalPartition], names: list[str]) -> pd.DataFrame:
    """A row for each pair: how alike, how consistent."""
    import pandas as pd
    from sklearn.metrics import adjusted_rand_score

    from dempster.partition import consistency_index, credal_rand_index

    rows = []
    for i, a in enumerate(partitions):
        for j in range(i + 1, len(partitions)):
            b = partitions[j]
            rows.append(
                {
                    "partitions": f"{names[i]} and {names[j]}",
                    "credal Rand": float(credal_rand_index(a, b, random_state=0)),
                    "consistency": consistency_index(a, b),
                    "adjusted Rand": float(adjusted_rand_score(a.labels, b.labels)),
                }
            )
    return pd.DataFrame(rows).set_index("partitions")


def moved_objects(before: CredalPartition, after: CredalPartition) -> pd.DataFrame:
    """List the objects whose answer changed, the surest changes first: what they were and what they are."""
    import pandas as pd

    names = _match_names(before, after)
    frame = [*before.frame, *(name for name in names if name not in before.frame)]
    places = [frame.index(name) for name in names]
    old = np.zeros((len(before.focal_sets), len(frame)), dtype=bool)
    old[:, : len(before.frame)] = before.focal_sets.membership
    new = np.zeros((len(after.focal_sets), len(frame)), dtype=bool)
    new[:, places] = after.focal_sets.membership
    was, now = old[before.best_set], new[after.best_set]
    which = np.flatnonzero((was != now).any(axis=1))
    sureness = np.minimum(before.masses.max(axis=1), after.masses.max(axis=1))[which]
    which = which[np.argsort(-sureness, kind="stable")]
    index = np.arange(len(before)) if before.index is None else np.asarray(list(before.index), dtype=object)
    columns = {"object": index[which], "was": _answers(was[which], frame), "is": _answers(now[which], frame)}
    return pd.DataFrame(columns)


def _answers(sets: np.ndarray, frame: list[Any]) -> list[str]:
    """Write sets of clusters in words."""
    names = np.array([str(name) for name in frame], dtype=object)
    return [" or ".join(names[members]) or "outlier" for members in sets]


def _match_names(before: CredalPartition, after: CredalPartition) -> list[Any]:
    """Name the clusters of a partition after the most similar clusters of another one, each name once."""
    from scipy.optimize import linear_sum_assignment

    shared = before.pignistic().T @ after.pignistic()
    rows, columns = linear_sum_assignment(-shared)
    taken = {int(column): before.frame[row] for row, column in zip(rows, columns, strict=True)}
    return [taken.get(k, f"new {name}") for k, name in enumerate(after.frame)]


def _write(
    partitions: list[CredalPartition],
    names: list[str],
    moved: dict[str, pd.DataFrame],
    plot: Path | None,
    output: Path | None,
) -> None:
    import pandas as pd

    def draw_map(path: Path) -> None:
        from dempster.partition import embed_partitions
        from dempster.plot import PartitionMapDisplay

        found = embed_partitions(partitions, names)
        draw_display(lambda ax: PartitionMapDisplay.from_map(found, ax=ax), path, (6, 5))

    def write_moved(path: Path) -> None:
        write_table(pd.concat([table.assign(partition=name) for name, table in moved.items()]), path)

    writers = ((plot, draw_map), (output, write_moved))
    write_files({path: write for path, write in writers if path is not None})
