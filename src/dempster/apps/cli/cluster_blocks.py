"""``dempster cluster big.parquet -o folder``: cluster a table that is read in blocks."""

from __future__ import annotations

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
    reject_options,
)
from dempster.apps.recipe import Preparation, Recipe, TableModel
from dempster.data.blocks import compute_moments
from dempster.data.identifiers import find_identifiers
from dempster.data.in_process import open_blocks, parquet_dataset
from dempster.io.tables import check_columns_exist
from dempster.optimize.blocks import block_map
from dempster.persistence import save

# Options that need all rows in memory.
_NEED_MEMORY = (
    *("index", "header", "delimiter", "decimal", "sheet", "na_values"),
    *("categories", "constraints", "labels", "truth", "confidence"),
    *("outlier_weight", "ambiguity_weight", "append", "plot", "report"),
)
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
    where = "a table that is read in blocks"
    reject_options(recipe, options, _NEED_MEMORY, where)
    if recipe.missing == "drop":
        raise WrongUse(f"--missing drop cannot be used with {where}")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"--output: the folder {output} must be new or empty")
    if not output.absolute().parent.is_dir():
        raise UserError(f"cannot write {output}: there is no folder {output.parent}")
    table = _Table.open(
        Path(recipe.files[0]), recipe.columns, recipe.exclude, screen.note
    )
    if recipe.scale:
        table = table.standardize(screen.note)
    estimator = recipe.estimator()
    started = time.perf_counter()
    with (
        screen.progress(f"reading {recipe.files[0]}") as progress,
        report_progress_to(progress),
    ):
        estimator.fit(table if options["dask"] is None else table.to_dask())
    seconds = time.perf_counter() - started
    partition = estimator.credal_partition_
    preparation = Preparation(
        table.columns, [], table.center, table.scale, recipe.missing
    )
    model = TableModel(estimator, preparation, recipe.to_toml())
    temporary = output.absolute().with_name(f".{output.name}.part")
    shutil.rmtree(temporary, ignore_errors=True)
    with screen.progress(f"writing {output}"):
        try:
            partition.to_parquet(temporary)
            if output.exists():
                output.rmdir()
            temporary.rename(output)
            try:
                outputs.write({"model": lambda path: save(model, path)}, recipe)
            except BaseException:
                output.rename(temporary)
                raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    data = format_count(len(table.columns), "attribute")
    if recipe.scale:
        data += " (standardized)"
    head = format_headline(estimator, data, seconds=seconds)
    screen.print_partition(head, partition, options["verbose"], table.columns)
    files = {"partition": output, **outputs}
    screen.finish(files, **run_document(recipe, estimator, seconds))


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
        header = pd.DataFrame(columns=dataset.schema.names)
        check_columns_exist(header, "columns", columns)
        check_columns_exist(header, "exclude", exclude)
        other = [name for name in columns if name not in numeric]
        if other:
            raise UserError(f"--columns: column '{other[0]}' is not numeric")
        selected = [
            name for name in (dict.fromkeys(columns) or numeric) if name not in exclude
        ]
        if not columns:
            first_rows = dataset.head(BLOCK_ROWS, columns=selected).to_pandas()
            identifiers = dict(find_identifiers(first_rows))
            for name, reason in identifiers.items():
                note(f"left out the column {name} ({reason})")
            selected = [name for name in selected if name not in identifiers]
        if not selected:
            available = quote_names(dataset.schema.names)
            raise UserError(
                f"the table has no numeric column; the columns are {available}"
            )
        ignored = [
            name
            for name in dataset.schema.names
            if name not in numeric and not name.startswith("__index_level_")
        ]
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
    return [
        field.name
        for field in schema
        if (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
        and field.name not in index
    ]


@contextmanager
def start_workers(address: str | None) -> Iterator[None]:
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
