"""``dempster demo``: cluster an example dataset."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared import (
    PATH,
    Command,
    Outputs,
    Screen,
    UserError,
    format_headline,
    partition_document,
    screen_options,
)
from dempster.apps.cli.shared.drawing import draw_attributes, draw_picture

_FILES = ("example.csv", "partition.csv", "partition.png", "convergence.png")

_EXPLANATION = """\
An object is certain if its largest mass is on a single cluster, ambiguous if it is
on a set of several clusters, and an outlier if it is on the empty set. The possible
objects of a cluster are its certain objects and the ambiguous ones that may belong
to it. Its typical object has the largest belief in the cluster."""


@click.command(cls=Command)
@click.option(
    "--output",
    type=PATH,
    default=Path("demo"),
    metavar="FOLDER",
    help="Folder for the data, the partition and two plots.",
)
@screen_options
def demo(output: Path, screen: Screen) -> None:
    """Cluster 400 example objects in four overlapping groups, and explain the result."""
    from dempster.apps.recipe import choose_attributes
    from dempster.cluster import ECM
    from dempster.datasets import load_example
    from dempster.io import write_partition
    from dempster.plot import ConvergenceDisplay

    data = load_example(as_frame=True).data
    new_folders = _make_folder(output)
    try:
        outputs = Outputs()
        for name in _FILES:
            path = output / name
            outputs.add(name, path, [path.suffix])
            if path.exists():
                advice = "the demo overwrites no files, choose another --output"
                raise UserError(f"{path} exists; {advice}")
        estimator = ECM(4, delta=3.5, random_state=0)
        started = time.perf_counter()
        partition = estimator.fit(data).credal_partition_
        seconds = time.perf_counter() - started
        attributes = choose_attributes(data, scale=False)
        title = "ECM: objective after each iteration"

        def draw(ax: Any) -> None:
            ConvergenceDisplay.from_estimator(estimator, ax=ax, title=title)

        writers = (
            lambda path: data.to_csv(path, index=False),
            lambda path: write_partition(partition, path),
            lambda path: draw_attributes(
                estimator, attributes, path, "ECM, four clusters"
            ),
            lambda path: draw_picture(draw, path, (6.4, 4)),
        )
        outputs.write(dict(zip(_FILES, writers, strict=True)))
    except BaseException:
        for folder in new_folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    screen.print(
        "Four overlapping groups of 100 objects, clustered without using the groups.\n"
    )
    screen.print_partition(
        format_headline(estimator, "2 attributes", seconds=seconds), partition
    )
    screen.print(f"\n{_EXPLANATION}\n")
    screen.finish(
        "demo", list(outputs.values()), partition=partition_document(partition)
    )
    table, partition_file, plot = (outputs[name] for name in _FILES[:3])
    small_delta = f"cluster {table} -c 4 --method ecm --no-scale --delta 2"
    proposals = {
        small_delta: "a smaller delta gives more outliers",
        f"explain {partition_file} {table} --object 20": "explain one object",
        f"cluster {table} --report page.html": "select the number of clusters, write a report",
        "cluster --help": "all options, for your own table",
    }
    screen.print(f"Open {plot}, then try:", style="bold")
    width = max(map(len, proposals)) + 3
    for command, meaning in proposals.items():
        screen.print(f"  dempster {command:{width}}{meaning}")


def _make_folder(path: Path) -> list[Path]:
    """Create a folder and its parents, and return the created folders, the innermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if path.exists() and not path.is_dir():
        raise UserError(f"--output: {path} is a file, but must be a folder")
    path.mkdir(parents=True, exist_ok=True)
    return missing
