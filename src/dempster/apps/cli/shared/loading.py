"""Load saved partitions and models, and the tables that they describe."""

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
class SavedResult:
    """Partition or model from a file.

    A classifier has no partition, and a file with only a partition has no model.
    """

    path: Path
    saved_partition: CredalPartition | None
    saved_model: TableModel | None

    @property
    def partition(self) -> CredalPartition:
        """The partition; an error is raised if the file contains a classifier."""
        if self.saved_partition is None:
            raise UserError(
                f"{self.path} contains a classifier, but must contain a partition or a clustering model"
            )
        return self.saved_partition

    @property
    def model(self) -> TableModel:
        """The model; an error is raised if the file contains only a partition."""
        if self.saved_model is None:
            raise UserError(
                f"{self.path} contains a partition, not a model; write a model with dempster cluster --save-model"
            )
        return self.saved_model

    @property
    def recipe(self) -> str:
        """The recipe of the model as TOML; an empty text if there is none."""
        if self.saved_model is None:
            return ""
        return self.saved_model.recipe


def load_result(path: Path) -> SavedResult:
    """Load a partition or a model from a file in any supported format."""
    from dempster.apps.recipe import TableModel
    from dempster.cluster import ConformalClustering
    from dempster.io import read_partition, read_r
    from dempster.partition import CredalPartition
    from dempster.persistence import load

    suffix = path.suffix.lower()
    if suffix != ".dempster":
        return SavedResult(path, read_r(path) if suffix == ".rds" else read_partition(path), None)
    content = load(path)
    if isinstance(content, CredalPartition):
        return SavedResult(path, content, None)
    if isinstance(content, ConformalClustering):
        content = TableModel(content.clusterer_, conformal=content)
    if isinstance(content, TableModel):
        model = content
    else:
        model = TableModel(content)
    if not hasattr(model.estimator, "predict_mass"):
        raise UserError(
            f"{path} contains {type(content).__name__}, but must contain a partition or a model"
        )
    return SavedResult(path, getattr(model.estimator, "credal_partition_", None), model)


def read_rows(path: Path, options: dict[str, Any], recipe: str = "") -> pd.DataFrame:
    """Read a table.

    The index column, the sheet and na_values are those of the recipe (TOML text) by default.
    """
    from dempster.apps.cli.shared.options import split_names
    from dempster.apps.recipe import Recipe
    from dempster.io import read_table

    settings = {name: options[name] for name in ("header", "delimiter", "decimal", "sheet")}
    settings |= {
        "index_col": options["index"],
        "na_values": split_names(options["na_values"], "na-values") or None,
    }
    if recipe:
        defaults = Recipe.from_toml(recipe).reading_options()
    else:
        defaults = {}
    for name in ("index_col", "sheet", "na_values"):
        if settings[name] is None:
            settings[name] = defaults.get(name)
    return read_table(
        path, **{name: value for name, value in settings.items() if value is not None}
    )


def select_rows(table: pd.DataFrame, partition: CredalPartition, path: Path) -> pd.DataFrame:
    """Return the rows of a table that match the objects of a partition, in the order of the objects."""
    from dempster._validation import row_index

    if partition.index is None:
        if len(table) != len(partition):
            raise UserError(
                f"{path} has {len(table):,} rows, but the partition has {len(partition):,} objects"
            )
        return table
    names = list(partition.index)
    if list(table.index) == names:
        return table
    lacking = [name for name in names if name not in table.index]
    if lacking:
        if len(table) == len(partition) and row_index(table) is None:
            return table.set_axis(names)
        raise UserError(
            f"{path} has no row '{lacking[0]}', which the partition contains; select the column of row names with "
            "--index"
        )
    if not table.index.is_unique or len(set(names)) < len(names):
        raise UserError(
            f"{path}: names of rows must be unique to match the objects of the partition"
        )
    return table.loc[names]


def find_object(partition: CredalPartition, name: str) -> int:
    """Return the position of the object with a given name or, if objects have no names, with a given number."""
    if partition.index is not None:
        names = list(map(str, partition.index))
        if names.count(name) == 1:
            return names.index(name)
        if name in names:
            raise UserError(
                f"--object: {names.count(name)} objects are named '{name}'; names must be unique"
            )
        raise UserError(
            f"--object: there is no object '{name}'; the first are {', '.join(names[:5])}"
        )
    if name.isdecimal() and int(name) < len(partition):
        return int(name)
    raise UserError(
        f"--object: there is no object '{name}'; objects are numbered from 0 to {len(partition) - 1:,}"
    )


def list_input_files(recipe: Recipe) -> list[Path]:
    """Return the paths of all files that a recipe reads."""
    from dempster.apps.recipe.labels import is_file_name

    labels = [
        name for name in (recipe.labels, recipe.truth) if name is not None and is_file_name(name)
    ]
    if recipe.constraints is None:
        pairs = []
    else:
        pairs = [recipe.constraints]
    return [Path(name) for name in (*recipe.files, *labels, *pairs)]
