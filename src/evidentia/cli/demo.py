"""``evidentia demo``: a first result without data of one's own."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evidentia.cli.attributes import Attributes
from evidentia.cli.errors import UserError, readable_warnings
from evidentia.cli.output import Screen, all_or_none, check_outputs, headline
from evidentia.cli.pictures import draw_convergence, draw_partition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["demo"]

_FILES = ("example.csv", "partition.csv", "partition.png", "convergence.png")

_EXPLANATION = """\
An object is certain when its largest mass of belief is on one cluster, ambiguous
when it is on several between which the data cannot decide, and an outlier when it
is on none of them. The possible objects of a cluster are its certain ones and the
ambiguous ones that may belong to it; the typical one is that it is surest of."""


@click.command(short_help="Cluster an example dataset.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, readable=False),
    default=Path("demo"),
    show_default=True,
    metavar="FOLDER",
    help="Where to write the data, the partition and two pictures.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show nothing but warnings and errors.")
def demo(output: Path, quiet: bool) -> None:
    """Cluster 400 example objects in four overlapping groups, and explain the result."""
    from evidentia.cluster import ECM
    from evidentia.datasets import load_example

    screen = Screen(quiet=quiet)
    data = load_example(as_frame=True).data
    made = _make_folder(output)
    try:
        outputs = [output / name for name in _FILES]
        check_outputs(outputs)
        for path in outputs:
            if path.exists():
                raise UserError(f"{path} exists already, and the demo replaces nothing: choose another --output")
        estimator = ECM(4, delta=3.5, random_state=0)
        with readable_warnings():
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
    head = headline("ECM", estimator, data.shape[1], scaled=False, objective="objective", seconds=seconds)
    screen.partition(head, estimator.credal_partition_)
    screen.result()
    screen.result(_EXPLANATION)
    screen.result()
    screen.result(f"wrote {', '.join(map(str, outputs))}", style="green")
    screen.result(f"Look at {outputs[2]}, then try:", style="bold")
    for command, meaning in (
        (f"{outputs[0]} -c 4 --method ecm --no-scale -p delta=2", "clusters reach less far: more outliers"),
        (f"{outputs[0]} -c 2 --plot two.png", "two clusters instead of four"),
        ("--help", "all options, for a table of your own"),
    ):
        screen.result(f"  evidentia cluster {command:{len(str(outputs[0])) + 46}}{meaning}")


def _make_folder(path: Path) -> list[Path]:
    """Make the folder and those above it that are missing; returns the new ones, innermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if path.exists() and not path.is_dir():
        raise UserError(f"--output: {path} is a file, it must be a folder")
    path.mkdir(parents=True, exist_ok=True)
    return missing


def _write(outputs: list[Path], estimator: Any, data: pd.DataFrame) -> None:
    from evidentia.io import write_partition

    with all_or_none(outputs) as (table, partition, picture, convergence):
        data.to_csv(table, index=False)
        write_partition(estimator.credal_partition_, partition)
        draw_partition(estimator, Attributes(data), picture, "ECM, four clusters")
        draw_convergence(estimator, convergence, "ECM: objective after each iteration")
