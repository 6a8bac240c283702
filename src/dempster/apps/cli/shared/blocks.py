"""``dempster cluster big.parquet -o folder``: a table that need not fit in memory, read block by block."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._progress import heard_by
from dempster.apps.cli.shared.errors import UserError, WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.output import (
    Screen,
    all_or_none,
    check_extensions,
    check_outputs,
    further_outputs,
    headline,
    partition_document,
)
from dempster.apps.cli.shared.passes import passes_told, workers
from dempster.apps.recipe.words import counted, quoted

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Preparation, Recipe, TableModel

__all__ = ["reads_blocks", "cluster_blocks"]

_PARQUET = (".parquet", ".pq")
# what needs all rows in memory: settings of the recipe, and files to write beside the partition
_SETTINGS = ("index", "header", "delimiter", "decimal", "categories", "constraints", "labels", "truth")
_FILES = ("plot", "report")
_ROWS = 65_536


def reads_blocks(recipe: Recipe, output: Path) -> bool:
    """Whether a table is read in blocks: it is Parquet, and the output has no extension, as a folder."""
    file = Path(recipe.files[0])
    is_parquet = file.is_dir() or (file.is_file() and file.suffix.lower() in _PARQUET)
    return is_parquet and not output.suffix


def cluster_blocks(recipe: Recipe, output: Path, options: dict[str, Any], screen: Screen) -> None:
    """Cluster a Parquet file, or a folder of some, and write the masses into a new folder."""
    for name in _SETTINGS:
        if getattr(recipe, name) not in (None, ()):
            raise WrongUse(f"--{name} is not for tables that are read in blocks")
    for name in _FILES:
        if options[name] is not None:
            raise WrongUse(f"--{name} is not for tables that are read in blocks")
    if recipe.missing == "drop":
        raise WrongUse("--missing drop is not for tables that are read in blocks")
    _check_output(output)
    kept = further_outputs(options)
    check_extensions(kept)
    check_outputs(list(kept.values()), [Path(recipe.files[0])])
    with user_errors(), workers(options["dask"]):
        _cluster(recipe, output, kept, options, screen)


def _cluster(recipe: Recipe, output: Path, kept: dict[str, Path], options: dict[str, Any], screen: Screen) -> None:
    from dempster.apps.recipe import TableModel

    with user_errors():
        table = _Table.of(Path(recipe.files[0]), recipe.columns, recipe.exclude, screen.note)
        if recipe.scale:
            table = table.standardised(screen.note)
    if options["verbose"]:
        screen.note(f"clustering by {', '.join(table.columns)}")
    estimator = recipe.estimator()
    with readable_warnings():
        started = time.perf_counter()
        with (
            screen.working(f"reading {recipe.files[0]}") as told,
            user_errors(parameters=tuple(estimator.get_params(deep=False))),
            heard_by(told),
            passes_told(screen.note if options["verbose"] else None) as notes,
        ):
            estimator.fit(table if options["dask"] is None else table.for_dask())
        seconds = time.perf_counter() - started
        partition = estimator.credal_partition_
        what = counted(len(table.columns), "attribute") + (" (standardised)" if recipe.scale else "")
        head = headline(estimator, what, seconds=seconds)
        model = TableModel(estimator, table.preparation(recipe.missing), recipe.to_toml())
        with screen.working(f"writing {output}"):
            _write(partition, output, model, kept)
    screen.partition(head, partition)
    screen.result(notes.summary(len(partition), seconds))
    screen.result(f"wrote {counted(len(list(output.iterdir())), 'file')} into {output}", style="green")
    screen.wrote(list(kept.values()))
    screen.document(
        "cluster",
        recipe=recipe.to_dict(),
        run=recipe.to_command(),
        method=type(estimator).__name__,
        objective=estimator.objective_,
        converged=estimator.converged_,
        seconds=seconds,
        partition=partition_document(partition),
        files={"partition": str(output)} | {name: str(path) for name, path in kept.items()},
    )


def _check_output(output: Path) -> None:
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"--output: the folder {output} must be new or empty")
    if not output.absolute().parent.is_dir():
        raise UserError(f"cannot write {output}: there is no folder {output.parent}")


def _write(partition: Any, output: Path, model: TableModel, kept: dict[str, Path]) -> None:
    """All files or none: they are written beside the folder, which then takes their place."""
    from dempster.persistence import save

    with all_or_none(list(kept.values())) as temporaries:
        for name, path in zip(kept, temporaries, strict=True):
            if name == "model":
                save(model, path)
            else:
                path.write_text(model.recipe, encoding="utf-8")
        _write_folder(partition, output)


def _write_folder(partition: Any, output: Path) -> None:
    waiting = output.absolute().with_name(f".{output.name}.part")
    shutil.rmtree(waiting, ignore_errors=True)
    try:
        partition.to_parquet(waiting)
        if output.exists():
            output.rmdir()
        waiting.rename(output)
    except OSError as error:
        shutil.rmtree(waiting, ignore_errors=True)
        raise UserError(f"cannot write {output}: {error.strerror or error}; no file was changed") from error
    except BaseException:
        shutil.rmtree(waiting, ignore_errors=True)
        raise


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
    def of(cls, file: Path, columns: Sequence[str], exclude: Sequence[str], note: Callable[[str], None]) -> _Table:
        from dempster.data.in_process import parquet_dataset

        dataset = parquet_dataset(file)
        numeric = _numeric_columns(dataset.schema)
        for option, names in (("--columns", columns), ("--exclude", exclude)):
            unknown = [name for name in names if name not in dataset.schema.names]
            if unknown:
                known = quoted(dataset.schema.names, 20)
                raise UserError(f"{option}: there is no column {quoted(unknown)}; there are {known}")
        odd = [name for name in columns if name not in numeric]
        if odd:
            raise UserError(f"--columns: '{odd[0]}' is not a column of numbers")
        chosen = [name for name in (dict.fromkeys(columns) or numeric) if name not in exclude]
        if not chosen:
            raise UserError(f"the table has no numeric column; its columns are {quoted(dataset.schema.names)}")
        left = [name for name in dataset.schema.names if name not in numeric and not name.startswith("__index_level_")]
        if left and not columns:
            note(f"left out what is not numeric: {', '.join(left)}")
        return cls(dataset, chosen, np.zeros(len(chosen)), np.ones(len(chosen)))

    def standardised(self, note: Callable[[str], None]) -> _Table:
        """Mean 0 and standard deviation 1; a column that does not vary says nothing and is left out."""
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
        """What was done to the columns, for new rows."""
        from dempster.apps.recipe import Preparation

        return Preparation(self.columns, [], self.center, self.scale, missing)

    def for_dask(self) -> Any:
        """The same as a Dask DataFrame, whose parts are read by the workers."""
        import dask.dataframe as dd

        return (dd.read_parquet(self.dataset.files, columns=self.columns) - self.center) / self.scale

    def __iter__(self) -> Iterator[pd.DataFrame]:
        batches: Iterable[Any] = self.dataset.to_batches(
            columns=self.columns, batch_size=_ROWS, batch_readahead=2, fragment_readahead=1
        )
        for batch in batches:
            yield (batch.to_pandas(ignore_metadata=True) - self.center) / self.scale


def _numeric_columns(schema: Any) -> list[str]:
    import pyarrow as pa

    about = schema.pandas_metadata or {}
    names_of_rows = [name for name in about.get("index_columns", ()) if isinstance(name, str)]
    numeric = [field.name for field in schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)]
    return [name for name in numeric if name not in names_of_rows]
