"""Read partitions and models that were written before, and the tables they are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dempster.apps.cli.shared.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Recipe, TableModel
    from dempster.partition import CredalPartition


@dataclass(frozen=True)
class Subject:
    """Content of a file.

    Attributes
    ----------
    partition : CredalPartition or None
        None for a classifier.
    model : TableModel or None
        None if the file holds a partition only.
    """

    partition: CredalPartition | None
    model: TableModel | None

    @property
    def recipe(self) -> str:
        """How the model was made, as TOML; empty if that is not known."""
        return "" if self.model is None else self.model.recipe


def read_subject(path: Path) -> Subject:
    """Read a partition from any kind of file, or a model."""
    from dempster.apps.recipe import TableModel
    from dempster.io import read_partition, read_r
    from dempster.partition import CredalPartition
    from dempster.persistence import load

    suffix = path.suffix.lower()
    if suffix == ".rds":
        return Subject(read_r(path), None)
    if suffix != ".dempster":
        return Subject(read_partition(path), None)
    found = load(path)
    if isinstance(found, CredalPartition):
        return Subject(found, None)
    model = found if isinstance(found, TableModel) else TableModel(found)
    if not hasattr(model.estimator, "predict_mass"):
        raise UserError(f"{path} holds a {type(found).__name__}, it must hold a partition or a model")
    return Subject(getattr(model.estimator, "credal_partition_", None), model)


def read_partition_file(path: Path) -> CredalPartition:
    """Read a partition, also that of a model."""
    found = read_subject(path).partition
    if found is None:
        raise UserError(f"{path} holds a classifier, it must hold a partition")
    return found


def read_rows(path: Path, options: dict[str, Any], recipe: str = "") -> pd.DataFrame:
    """Read a table by the options; the column that names the rows is that of the training run unless one is given."""
    from dempster.apps.recipe import Recipe
    from dempster.io import read_table

    given = {"index_col": options["index"], **{name: options[name] for name in ("header", "delimiter", "decimal")}}
    if options["index"] is None and recipe:
        given["index_col"] = Recipe.from_toml(recipe).index
    return read_table(path, **{name: value for name, value in given.items() if value is not None})


def find_rows(table: pd.DataFrame, partition: CredalPartition, path: Path) -> pd.DataFrame:
    """Return the rows of a table that a partition is about, in its order."""
    from dempster._validation import object_index

    if partition.index is None:
        if len(table) != len(partition):
            raise UserError(f"{path} has {len(table):,} rows, but the partition {len(partition):,} objects")
        return table
    wanted = list(partition.index)
    if list(table.index) == wanted:
        return table
    lacking = [name for name in wanted if name not in table.index]
    if lacking:
        if len(table) == len(partition) and object_index(table) is None:
            return table.set_axis(wanted)
        raise UserError(
            f"{path} has no row '{lacking[0]}', which the partition names; say by --index which column names the rows"
        )
    if not table.index.is_unique or len(set(wanted)) < len(wanted):
        raise UserError(f"{path}: some rows have the same name, so that names do not tell which object is which")
    return table.loc[wanted]


def find_object(partition: CredalPartition, name: str) -> int:
    """Return the position of an object by its name or, where objects have none, by its number."""
    if partition.index is not None:
        names = list(map(str, partition.index))
        if names.count(name) == 1:
            return names.index(name)
        if name in names:
            raise UserError(f"there are {names.count(name)} objects called '{name}': give them different names")
        raise UserError(f"there is no object '{name}'; the first are {', '.join(names[:5])}")
    if name.isdecimal() and len(name) <= len(str(len(partition))) and int(name) < len(partition):
        return int(name)
    raise UserError(f"there is no object '{name}'; they are numbered from 0 to {len(partition) - 1:,}")


def list_input_files(recipe: Recipe) -> list[Path]:
    """List all files that a run reads, none of which it may overwrite."""
    from dempster.apps.recipe.labels import is_file_name

    labels = [name for name in (recipe.labels, recipe.truth) if name is not None and is_file_name(name)]
    pairs = [] if recipe.constraints is None else [recipe.constraints]
    return [Path(name) for name in (*recipe.files, *labels, *pairs)]
