"""``dempster demo``: a first result without data of one's own."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster.apps.cli.shared.errors import Command, UserError
from dempster.apps.cli.shared.options import screen_options
from dempster.apps.cli.shared.output import (
    Screen,
    check_outputs,
    draw_attributes,
    draw_convergence,
    headline,
    partition_document,
    write_files,
)
from dempster.apps.cli.shared.param_types import PATH

if TYPE_CHECKING:
    import pandas as pd


_FILES = ("example.csv", "partition.csv", "partition.png", "convergence.png")

_EXPLANATION = """\
An object is certain when its largest mass of belief is on one cluster, ambiguous
when it is on several between which the data cannot decide, and an outlier when it
is on none of them. The possible objects of a cluster are its certain ones and the
ambiguous ones that may belong to it; the typical one is that it is surest of."""


@click.command(cls=Command, short_help="Cluster an example dataset.")
@click.option(
    "--output",
    type=PATH,
    default=Path("demo"),
    show_default=True,
    metavar="FOLDER",
    help="Where to write the data, the partition and two pictures.",
)
@screen_options
def demo(output: Path, screen: Screen) -> None:
    """Cluster 400 example objects in four overlapping groups, and explain the result."""
    from dempster.cluster import ECM
    from dempster.datasets import load_example

    data = load_example(as_frame=True).data
    made = _make_folder(output)
    try:
        outputs = [output / name for name in _FILES]
        check_outputs(outputs)
        for path in outputs:
            if path.exists():
                raise UserError(f"{path} exists already, and the demo replaces nothing: choose another --output")
        estimator = ECM(4, delta=3.5, random_state=0)
        started = time.perf_counter()
        estimator.fit(data)
        seconds = time.perf_counter() - started
        _write(outputs, estimator, data)
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    screen.result("Four groups of 100 objects that overlap, clustered without knowing the groups.")
    screen.result()
    head = headline(estimator, "2 attributes", seconds=seconds)
    screen.partition(head, estimator.credal_partition_)
    screen.result()
    screen.result(_EXPLANATION)
    screen.result()
    screen.wrote(outputs)
    screen.result(f"Look at {outputs[2]}, then try:", style="bold")
    table = str(outputs[0])
    proposals = [
        (f"cluster {table} -c 4 --method ecm --no-scale --delta 2", "clusters reach less far: more outliers"),
        (f"explain {outputs[1]} {table} --object 20", "why an object is where it is"),
        (f"cluster {table} --report page.html", "the number of clusters found, and a page to read"),
        ("cluster --help", "all options, for a table of your own"),
    ]
    width = max(len(command) for command, _ in proposals) + 3
    for command, meaning in proposals:
        screen.result(f"  dempster {command:{width}}{meaning}")
    screen.document(
        "demo", partition=partition_document(estimator.credal_partition_), files=[str(path) for path in outputs]
    )


def _make_folder(path: Path) -> list[Path]:
    """Make the folder and those above it that are missing; return the new ones, innermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if path.exists() and not path.is_dir():
        raise UserError(f"--output: {path} is a file, it must be a folder")
    path.mkdir(parents=True, exist_ok=True)
    return missing


def _write(outputs: list[Path], estimator: Any, data: pd.DataFrame) -> None:
    from dempster.apps.recipe import choose_attributes
    from dempster.io import write_partition

    attributes = choose_attributes(data, scale=False)
    writers = (
        lambda path: data.to_csv(path, index=False),
        lambda path: write_partition(estimator.credal_partition_, path),
        lambda path: draw_attributes(estimator, attributes, path, "ECM, four clusters"),
        lambda path: draw_convergence(estimator, path, "ECM: objective after each iteration"),
    )
    write_files(dict(zip(outputs, writers, strict=True)))
