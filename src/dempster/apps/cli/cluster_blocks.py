"""``dempster cluster big.parquet -o folder``: cluster a table that is read in blocks."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dempster._errors import MissingExtraError
from dempster._progress import report_progress_to
from dempster._text import format_count, quote_names
from dempster.apps.cli.cluster import run_document
from dempster.apps.cli.shared import (
    Outputs,
    Screen,
    UserError,
    WrongUse,
    format_headline,
)
from dempster.apps.recipe import Preparation, Recipe, TableModel
from dempster.data.blocks import compute_moments
from dempster.data.in_process import open_blocks, parquet_dataset
from dempster.data.passes import peak_memory
from dempster.optimize.blocks import block_map
from dempster.persistence import save

# Fields of the recipe and output files that need all rows in memory.
_NEED_MEMORY = (
    *("index", "header", "delimiter", "decimal", "sheet", "na_values"),
    *("categories", "constraints", "labels", "truth", "confidence"),
    *("outlier_weight", "ambiguity_weight"),
)
_OUTPUTS_NEED_MEMORY = ("plot", "report")
BLOCK_ROWS = 65_536
DASK_TIMEOUT = 10  # seconds


def cluster_blocks(
    recipe: Recipe,
    output: Path,
    outputs: Outputs,
    options: dict[str, Any],
    screen: Screen,
) -> None:
    """Cluster a Parquet file or a folder of them, and write the masses into a new folder."""
    unsupported = [
        name for name in _NEED_MEMORY if getattr(recipe, name) not in (None, (), 1.0)
    ]
    unsupported += [name for name in _OUTPUTS_NEED_MEMORY if name in outputs]
    if recipe.missing == "drop":
        unsupported.append("missing drop")
    if unsupported:
        option = unsupported[0].replace("_", "-")
        raise WrongUse(f"--{option} cannot be used with a table that is read in blocks")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"--output: the folder {output} must be new or empty")
    if not output.absolute().parent.is_dir():
        raise UserError(f"cannot write {output}: there is no folder {output.parent}")
    with _start_workers(options["dask"]):
        _cluster(recipe, output, outputs, options, screen)


def _cluster(
    recipe: Recipe,
    output: Path,
    outputs: Outputs,
    options: dict[str, Any],
    screen: Screen,
) -> None:
    table = _Table.open(
        Path(recipe.files[0]), recipe.columns, recipe.exclude, screen.note
    )
    if recipe.scale:
        table = table.standardize(screen.note)
    if options["verbose"]:
        screen.note(f"clustering by {', '.join(table.columns)}")
    estimator = recipe.estimator()
    started = time.perf_counter()
    with (
        screen.progress(f"reading {recipe.files[0]}") as progress,
        report_progress_to(progress),
        _count_passes(screen.note if options["verbose"] else None) as passes,
    ):
        estimator.fit(table if options["dask"] is None else table.to_dask())
    seconds = time.perf_counter() - started
    partition = estimator.credal_partition_
    preparation = Preparation(
        table.columns, [], table.center, table.scale, recipe.missing
    )
    model = TableModel(estimator, preparation, recipe.to_toml())
    with screen.progress(f"writing {output}"):
        writers = {
            "model": lambda path: save(model, path),
            "config": lambda path: path.write_text(model.recipe, encoding="utf-8"),
        }
        outputs.write(writers, also=lambda: _write_folder(partition, output))
    data = format_count(len(table.columns), "attribute")
    if recipe.scale:
        data += " (standardized)"
    head = format_headline(estimator, data, seconds=seconds)
    screen.print_partition(head, partition, options["verbose"])
    screen.print(passes.summarize(len(partition), seconds))
    n_files = format_count(len(list(output.iterdir())), "file")
    screen.print(f"wrote {n_files} into {output}", style="green")
    if outputs:
        screen.print(f"wrote {', '.join(map(str, outputs.values()))}", style="green")
    files = {name: str(path) for name, path in {"partition": output, **outputs}.items()}
    screen.print_document(
        "cluster", **run_document(recipe, estimator, seconds), files=files
    )


def _write_folder(partition: Any, output: Path) -> None:
    temporary = output.absolute().with_name(f".{output.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        partition.to_parquet(temporary)
        if output.exists():
            output.rmdir()
        temporary.rename(output)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(
            f"cannot write {output}: {reason}; no file was changed"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@dataclass
class _Table:
    """Numeric columns of Parquet files in blocks of rows.

    The values to cluster are ``(cells - center) / scale``.
    """

    dataset: Any  # pyarrow.dataset.Dataset
    columns: list[str]
    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def open(
        cls,
        file: Path,
        columns: Sequence[str],
        exclude: Sequence[str],
        note: Callable[[str], None],
    ) -> _Table:
        dataset = parquet_dataset(file)
        numeric = _numeric_columns(dataset.schema)
        for option, names in (("--columns", columns), ("--exclude", exclude)):
            unknown = [name for name in names if name not in dataset.schema.names]
            if unknown:
                raise UserError(
                    f"{option}: there is no column {quote_names(unknown)}; "
                    f"the columns are {quote_names(dataset.schema.names, 20)}"
                )
        other = [name for name in columns if name not in numeric]
        if other:
            raise UserError(f"--columns: column '{other[0]}' is not numeric")
        selected = [
            name for name in (dict.fromkeys(columns) or numeric) if name not in exclude
        ]
        if not selected:
            available = quote_names(dataset.schema.names)
            raise UserError(
                f"the table has no numeric column; the columns are {available}"
            )
        names = [
            name
            for name in dataset.schema.names
            if not name.startswith("__index_level_")
        ]
        ignored = [name for name in names if name not in numeric]
        if ignored and not columns:
            note(f"left out columns that are not numeric: {', '.join(ignored)}")
        return cls(dataset, selected, np.zeros(len(selected)), np.ones(len(selected)))

    def standardize(self, note: Callable[[str], None]) -> _Table:
        """Return the table with standardized columns, without constant columns."""
        with block_map(1) as apply:
            moments = compute_moments(open_blocks(self), apply)
        varies = moments.high > moments.low
        if not varies.any():
            raise UserError("all columns are constant")
        if not varies.all():
            note(
                f"left out constant columns: {', '.join(np.array(self.columns)[~varies])}"
            )
        columns = [
            name for name, keep in zip(self.columns, varies, strict=True) if keep
        ]
        scale = np.sqrt(moments.scatter[varies] / moments.weight)
        return _Table(self.dataset, columns, moments.mean[varies], scale)

    def to_dask(self) -> Any:
        """Return the table as a Dask DataFrame, which the Dask workers read."""
        import dask.dataframe as dd

        table = dd.read_parquet(self.dataset.files, columns=self.columns)
        return (table - self.center) / self.scale

    def __iter__(self) -> Iterator[pd.DataFrame]:
        batches: Iterable[Any] = self.dataset.to_batches(
            columns=self.columns,
            batch_size=BLOCK_ROWS,
            batch_readahead=2,
            fragment_readahead=1,
        )
        for batch in batches:
            yield (batch.to_pandas(ignore_metadata=True) - self.center) / self.scale


def _numeric_columns(schema: Any) -> list[str]:
    import pyarrow as pa

    index = (schema.pandas_metadata or {}).get("index_columns", ())
    numeric = []
    for field in schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        if is_number and field.name not in index:
            numeric.append(field.name)
    return numeric


@contextmanager
def _start_workers(address: str | None) -> Iterator[None]:
    """Connect to a Dask cluster, or start local workers if the address is empty.

    Do nothing if the address is None.
    """
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("--dask", "Dask", "dask") from error
    try:
        if address:
            client = Client(address, timeout=DASK_TIMEOUT)
        else:
            client = Client(dashboard_address=None)
    except (OSError, ValueError, TimeoutError) as error:
        message = f"--dask: cannot connect to a Dask cluster at {address}: {error}"
        raise UserError(message) from error
    with client:
        yield


class _PassCounter(logging.Handler):
    """Log handler that counts how often a fit reads the complete table (passes)."""

    def __init__(self, note: Callable[[str], None] | None):
        super().__init__(logging.INFO)
        self.note = note
        self.passes = 0

    def emit(self, record: logging.LogRecord) -> None:
        if not getattr(record, "is_pass", False):
            return
        self.passes += 1
        if self.note is not None:
            self.note(record.getMessage())

    def summarize(self, n_rows: int, seconds: float) -> str:
        """Return a text such as "12 passes over 1,000 rows, 9,000 rows per second"."""
        unit = "pass" if self.passes == 1 else "passes"
        rate = self.passes * n_rows / seconds
        text = f"{self.passes} {unit} over {n_rows:,} rows, {rate:,.0f} rows per second"
        memory = peak_memory()
        if memory is not None:
            text += f", peak memory {memory / 2**20:,.0f} MB"
        return text


@contextmanager
def _count_passes(note: Callable[[str], None] | None) -> Iterator[_PassCounter]:
    """Count the passes over the table during all fits in the ``with`` block."""
    log = logging.getLogger("dempster")
    counter = _PassCounter(note)
    level = log.level
    log.addHandler(counter)
    log.setLevel(min(level, logging.INFO) if level else logging.INFO)
    try:
        yield counter
    finally:
        log.removeHandler(counter)
        log.setLevel(level)
