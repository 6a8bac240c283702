"""``evidentia cluster``: from a table to a credal partition."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evidentia.cli.attributes import Attributes, choose_attributes, split_names
from evidentia.cli.blocks import cluster_blocks, reads_blocks
from evidentia.cli.errors import UserError, readable_warnings, user_errors
from evidentia.cli.methods import METHODS, NumberOrAuto, WholeNumber, build_estimator, parse_parameters
from evidentia.cli.output import Screen, all_or_none, check_outputs, headline
from evidentia.cli.passes import DASK_OPTION
from evidentia.cli.pictures import check_picture, draw_partition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cluster"]

_UNNAMED = "Unnamed: 0"  # what pandas calls a first column without a heading


@click.command(short_help="Cluster the rows of a table.")
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@click.option(
    "-c", "--clusters", type=NumberOrAuto(1), default="auto", show_default=True, metavar="N", help="Number of clusters."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, readable=False),
    metavar="PATH",
    help="Where to write the partition: .csv, .tsv, .parquet or .npz. A name without extension is a new folder, and a "
    "Parquet FILE is then read in blocks. [default: FILE.partition.csv]",
)
@click.option(
    "--plot", type=click.Path(path_type=Path, readable=False), metavar="PATH", help="Also draw it: .png, .svg or .pdf."
)
@click.option("--method", type=click.Choice(sorted(METHODS)), default="evclus", show_default=True)
@click.option("--columns", multiple=True, metavar="A,B,...", help="The columns to use. [default: all numeric ones]")
@click.option("--exclude", multiple=True, metavar="A,B,...", help="Columns not to use.")
@click.option("--index", metavar="COLUMN", help="The column that names the rows.")
@click.option("--header/--no-header", default=None, help="Whether a text file names its columns. [default: look]")
@click.option("--delimiter", metavar="CHARACTER", help="What separates the columns of a text file. [default: look]")
@click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of a text file. [default: look]")
@click.option("--drop-missing", is_flag=True, help="Leave out rows with missing values.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "partial"]),
    help="partial: compare rows by the values that are there; the more are missing, the more doubt. [default: refuse]",
)
@click.option("--scale/--no-scale", default=True, show_default=True, help="Standardise the columns.")
@click.option("--seed", type=WholeNumber(0, 2**32 - 1), default=0, show_default=True, help="Same seed, same result.")
@click.option(
    "--focal-sets",
    type=click.Choice(["auto", "simple", "pairs", "full", "selected"]),
    help="Which sets of clusters may be told apart. [default: auto]",
)
@click.option("--n-init", type=WholeNumber(1), metavar="N", help="Starts; the best is kept.")
@click.option("--max-iter", type=WholeNumber(1), metavar="N", help="Iterations at most.")
@click.option("--jobs", type=WholeNumber(), metavar="N", help="Threads. [default: all processors]")
@DASK_OPTION
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of the method, as delta=5.")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing but warnings and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Also show the columns used and the iterations.")
def cluster(file: Path, **options: Any) -> None:
    """Cluster the rows of FILE, say how certain each is, and write the masses.

    FILE is a table: CSV, TSV, Parquet, Feather or a NumPy array. Its numeric columns are standardised and clustered.
    The result tells for each row which cluster it belongs to, between which clusters the data cannot decide, or that
    it is an outlier.

    \b
    evidentia cluster flowers.csv -c 3 --index name --plot flowers.png
    evidentia cluster flowers.csv -c 3 --columns length,width -p delta=5 -p metric=adaptive
    evidentia cluster more-than-memory.parquet -c 3 --method ecm -o masses
    """
    screen = Screen(quiet=options["quiet"])
    if reads_blocks(file, options["output"]):
        cluster_blocks(file, options["output"], _estimator(options), options, screen)
        return
    if options["dask"] is not None:
        raise UserError("--dask is for Parquet files that are read in blocks: give --output a name without extension")
    if file.is_dir():
        raise UserError(f"{file} is a folder, it must be a table; for a folder of Parquet files, --output is one too")
    output = options["output"] or _default_output(file)
    outputs = [output] if options["plot"] is None else [output, options["plot"]]
    _check_kinds(output, options["plot"])
    if options["drop_missing"] and options["missing"] == "partial":
        raise UserError("--drop-missing leaves out the rows that --missing partial would keep: give one of the two")
    estimator = _estimator(options)
    dialect = {name: options[name] for name in ("header", "delimiter", "decimal")}
    table = _read(file, options["index"], dialect, screen)
    check_outputs(outputs, [file])
    attributes = choose_attributes(
        table,
        columns=split_names(options["columns"]),
        exclude=split_names(options["exclude"]),
        scale=options["scale"],
        drop_missing=options["drop_missing"],
        keep_missing=options["missing"] == "partial",
        note=screen.note,
    )
    if options["clusters"] != "auto" and options["clusters"] > len(attributes.table):
        raise UserError(f"-c {options['clusters']}: more clusters than rows, the table has {len(attributes.table)}")
    if options["verbose"]:
        screen.note(f"clustering by {', '.join(attributes.table.columns)}")
    with readable_warnings():
        started = time.perf_counter()
        with user_errors():
            estimator.fit(attributes.standardised)
        seconds = time.perf_counter() - started
        head = headline(
            type(estimator).__name__,
            estimator,
            attributes.table.shape[1],
            scaled=attributes.is_scaled,
            objective=METHODS[options["method"]].objective,
            seconds=seconds,
        )
        _write(outputs, estimator, attributes, f"{type(estimator).__name__}, {file.name}")
    if options["verbose"]:
        ended = "converged" if estimator.converged_ else "stopped"
        screen.note(f"{ended} after {estimator.n_iter_} iterations")
    screen.partition(head, estimator.credal_partition_)
    screen.result(f"wrote {', '.join(map(str, outputs))}", style="green")


def _default_output(file: Path) -> Path:
    """``data.partition.csv`` beside ``data.csv`` (and ``data.csv.gz``)."""
    stem = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    return file.with_name(f"{stem}.partition.csv")


def _check_kinds(output: Path, plot: Path | None) -> None:
    from evidentia.io.partitions import PARTITION_KINDS

    if output.suffix.lower() not in PARTITION_KINDS:
        kinds = ", ".join(PARTITION_KINDS)
        raise UserError(f"--output: the extension must be one of {kinds}, got {output.suffix or 'none'}")
    if output.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise UserError("--output: .parquet files need pyarrow (pip install 'evidentia[parquet]')") from error
    if plot is not None:
        check_picture(plot)


def _estimator(options: dict[str, Any]) -> Any:
    settings = {
        "n_clusters": options["clusters"],
        "focal_sets": options["focal_sets"],
        "n_init": options["n_init"],
        "max_iter": options["max_iter"],
        "missing": options["missing"],
        "random_state": options["seed"],
        "n_jobs": options["jobs"],
        "verbose": int(sys.stderr.isatty() and not options["quiet"]),  # a progress bar is for people
    }
    return build_estimator(options["method"], settings, parse_parameters(options["parameters"]))


def _read(file: Path, index: str | None, dialect: dict[str, Any], screen: Screen) -> pd.DataFrame:
    from evidentia.io import read_table

    with user_errors():
        table = read_table(file, **dialect)
        if index is None and len(table.columns) and table.columns[0] == _UNNAMED and table[_UNNAMED].is_unique:
            index = _UNNAMED
            screen.note("the first column has no heading: it is taken as the names of the rows")
        if index is not None:
            table = read_table(file, index_col=index, **dialect)
    if table.attrs.get("header") is False and dialect["header"] is None:
        screen.note(f"the file has no header line: its columns are called {table.columns[0]}, ...")
    if index == _UNNAMED:
        table.index.name = None
    return table


def _write(outputs: list[Path], estimator: Any, attributes: Attributes, title: str) -> None:
    from evidentia.io import write_partition

    with all_or_none(outputs) as temporaries:
        write_partition(estimator.credal_partition_, temporaries[0])
        if len(temporaries) > 1:
            draw_partition(estimator, attributes, temporaries[1], title)
