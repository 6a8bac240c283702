"""``dempster cluster big.parquet -o folder``: a table that need not fit in memory, read block by block."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import MissingExtraError
from dempster._progress import heard_by
from dempster._text import format_count, quote_names
from dempster.apps.cli.cluster import run_document
from dempster.apps.cli.shared.errors import UserError, WrongUse
from dempster.apps.cli.shared.output import Screen, check_outputs, headline, write_files, write_text

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Preparation, Recipe, TableModel


# fields of the recipe and outputs that need all rows in memory
_NEED_MEMORY = ("index", "header", "delimiter", "decimal", "categories", "constraints", "labels", "truth")
_OUTPUTS_NEED_MEMORY = ("plot", "report")
BLOCK_ROWS = 65_536
DASK_TIMEOUT = 10  # seconds until a cluster must have answered


def cluster_blocks(
    recipe: Recipe, output: Path, further: dict[str, Path], options: dict[str, Any], screen: Screen
) -> None:
    """Cluster a Parquet file, or a folder of some, and write the masses into a new folder."""
    refused = [f"--{name}" for name in _NEED_MEMORY if getattr(recipe, name) not in (None, ())]
    refused += [f"--{name}" for name in _OUTPUTS_NEED_MEMORY if name in further]
    refused += ["--missing drop"] * (recipe.missing == "drop")
    if refused:
        raise WrongUse(f"{refused[0]} is not for tables that are read in blocks")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"--output: the folder {output} must be new or empty")
    if not output.absolute().parent.is_dir():
        raise UserError(f"cannot write {output}: there is no folder {output.parent}")
    check_outputs(list(further.values()), [Path(recipe.files[0])])
    with _start_workers(options["dask"]):
        _cluster(recipe, output, further, options, screen)


def _cluster(recipe: Recipe, output: Path, further: dict[str, Path], options: dict[str, Any], screen: Screen) -> None:
    from dempster.apps.recipe import TableModel

    table = _Table.open(Path(recipe.files[0]), recipe.columns, recipe.exclude, screen.note)
    if recipe.scale:
        table = table.standardize(screen.note)
    if options["verbose"]:
        screen.note(f"clustering by {', '.join(table.columns)}")
    estimator = recipe.estimator()
    started = time.perf_counter()
    with (
        screen.working(f"reading {recipe.files[0]}") as progress,
        heard_by(progress),
        _count_passes(screen.note if options["verbose"] else None) as passes,
    ):
        estimator.fit(table if options["dask"] is None else table.for_dask())
    seconds = time.perf_counter() - started
    partition = estimator.credal_partition_
    what = format_count(len(table.columns), "attribute") + (" (standardised)" if recipe.scale else "")
    head = headline(estimator, what, seconds=seconds)
    model = TableModel(estimator, table.preparation(recipe.missing), recipe.to_toml())
    with screen.working(f"writing {output}"):
        _write(partition, output, model, further)
    screen.partition(head, partition)
    screen.result(passes.summary(len(partition), seconds))
    screen.result(f"wrote {format_count(len(list(output.iterdir())), 'file')} into {output}", style="green")
    screen.wrote(list(further.values()))
    screen.document(
        "cluster",
        **run_document(recipe, estimator, seconds),
        files={"partition": str(output)} | {name: str(path) for name, path in further.items()},
    )


def _write(partition: Any, output: Path, model: TableModel, further: dict[str, Path]) -> None:
    from dempster.persistence import save

    writers = {"model": lambda path: save(model, path), "config": write_text(model.recipe)}
    write_files({path: writers[name] for name, path in further.items()}, also=lambda: _write_folder(partition, output))


def _write_folder(partition: Any, output: Path) -> None:
    waiting = output.absolute().with_name(f".{output.name}.part")
    shutil.rmtree(waiting, ignore_errors=True)
    try:
        partition.to_parquet(waiting)
        if output.exists():
            output.rmdir()
        waiting.rename(output)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror or error}; no file was changed") from error
    finally:
        shutil.rmtree(waiting, ignore_errors=True)


@dataclass
class _Table:
    """The numeric columns of Parquet files, which can be read again and again.

    Attributes
    ----------
    dataset : pyarrow.dataset.Dataset
    columns : list of str
    center, scale : arrays
        What is subtracted, and by what is divided.
    """

    dataset: Any
    columns: list[str]
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def open(cls, file: Path, columns: Sequence[str], exclude: Sequence[str], note: Callable[[str], None]) -> _Table:
        from dempster.data.in_process import parquet_dataset

        dataset = parquet_dataset(file)
        numeric = _numeric_columns(dataset.schema)
        for option, names in (("--columns", columns), ("--exclude", exclude)):
            unknown = [name for name in names if name not in dataset.schema.names]
            if unknown:
                known = quote_names(dataset.schema.names, 20)
                raise UserError(f"{option}: there is no column {quote_names(unknown)}; there are {known}")
        odd = [name for name in columns if name not in numeric]
        if odd:
            raise UserError(f"--columns: '{odd[0]}' is not a column of numbers")
        chosen = [name for name in (dict.fromkeys(columns) or numeric) if name not in exclude]
        if not chosen:
            raise UserError(f"the table has no numeric column; its columns are {quote_names(dataset.schema.names)}")
        left = [name for name in dataset.schema.names if name not in numeric and not name.startswith("__index_level_")]
        if left and not columns:
            note(f"left out what is not numeric: {', '.join(left)}")
        return cls(dataset, chosen, np.zeros(len(chosen)), np.ones(len(chosen)))

    def standardize(self, note: Callable[[str], None]) -> _Table:
        """Scale to mean 0 and standard deviation 1; constant columns are left out."""
        from dempster.data.blocks import moments_of
        from dempster.data.in_process import open_blocks
        from dempster.optimize.blocks import block_map

        with block_map(1) as apply:
            moments = moments_of(open_blocks(self), apply)
        varies = moments.high > moments.low
        if not varies.any():
            raise UserError("all the columns are constant: there is nothing to cluster")
        if not varies.all():
            note(f"left out as constant: {', '.join(np.array(self.columns)[~varies])}")
        columns = [name for name, does in zip(self.columns, varies, strict=True) if does]
        return _Table(self.dataset, columns, moments.mean[varies], np.sqrt(moments.scatter[varies] / moments.weight))

    def preparation(self, missing: str) -> Preparation:
        from dempster.apps.recipe import Preparation

        return Preparation(self.columns, [], self.center, self.scale, missing)

    def for_dask(self) -> Any:
        """Return the table as a Dask DataFrame, whose parts are read by the workers."""
        import dask.dataframe as dd

        return (dd.read_parquet(self.dataset.files, columns=self.columns) - self.center) / self.scale

    def __iter__(self) -> Iterator[pd.DataFrame]:
        batches: Iterable[Any] = self.dataset.to_batches(
            columns=self.columns, batch_size=BLOCK_ROWS, batch_readahead=2, fragment_readahead=1
        )
        for batch in batches:
            yield (batch.to_pandas(ignore_metadata=True) - self.center) / self.scale


def _numeric_columns(schema: Any) -> list[str]:
    import pyarrow as pa

    about = schema.pandas_metadata or {}
    names_of_rows = [name for name in about.get("index_columns", ()) if isinstance(name, str)]
    numeric = [field.name for field in schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)]
    return [name for name in numeric if name not in names_of_rows]


@contextmanager
def _start_workers(address: str | None) -> Iterator[None]:
    """Use the Dask workers at an address, or on this machine for an empty one; None: no workers."""
    if address is None:
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError("--dask", "Dask", "dask") from error
    if not address:
        with LocalCluster(dashboard_address=None) as cluster, Client(cluster):
            yield
        return
    try:
        client = Client(address, timeout=DASK_TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(f"--dask: there is no cluster of Dask at {address}: {error}") from error
    with client:
        yield


class _PassCounter(logging.Handler):
    """Counts the passes of a fit over its table, and shows each as it begins."""

    def __init__(self, note: Callable[[str], None] | None):
        super().__init__(logging.INFO)
        self.note, self.passes = note, 0

    def emit(self, record: logging.LogRecord) -> None:
        if not getattr(record, "is_pass", False):
            return
        self.passes += 1
        if self.note is not None:
            self.note(record.getMessage())

    def summary(self, n_rows: int, seconds: float) -> str:
        """Return ``12 passes over 1,000,000 rows, 9,000,000 rows a second, 310 MB at most``."""
        from dempster.data.passes import peak_memory

        memory = peak_memory()
        most = "" if memory is None else f", {memory / 2**20:,.0f} MB at most"
        several = "pass" if self.passes == 1 else "passes"
        rate = self.passes * n_rows / seconds
        return f"{self.passes} {several} over {n_rows:,} rows, {rate:,.0f} rows a second{most}"


@contextmanager
def _count_passes(note: Callable[[str], None] | None) -> Iterator[_PassCounter]:
    """Count the passes of the fits inside the block."""
    log, counter = logging.getLogger("dempster"), _PassCounter(note)
    level = log.level
    log.addHandler(counter)
    log.setLevel(min(level, logging.INFO) if level else logging.INFO)
    try:
        yield counter
    finally:
        log.removeHandler(counter)
        log.setLevel(level)
