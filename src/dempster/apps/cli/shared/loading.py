"""Load saved partitions and models, and the tables that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dempster._errors import InvalidInputError
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
    saved_model: TableModel | None = None

    @property
    def partition(self) -> CredalPartition:
        """The partition; an error is raised if the file contains a classifier."""
        if self.saved_partition is None:
            expected = "must contain a partition or a clustering model"
            raise UserError(f"{self.path} contains a classifier, but {expected}")
        return self.saved_partition

    @property
    def model(self) -> TableModel:
        """The model; an error is raised if the file contains only a partition."""
        if self.saved_model is None:
            advice = "write a model with dempster cluster --save-model"
            raise UserError(f"{self.path} contains a partition, not a model; {advice}")
        return self.saved_model

    @property
    def clustered(self) -> dict[str, Any] | None:
        """Columns that were clustered (see `Preparation.describe`); None if they are unknown."""
        preparation = getattr(self.saved_model, "preparation", None)
        if preparation is not None:
            return preparation.describe()
        return self.partition.metadata.get("clustered")

    @property
    def recipe(self) -> str:
        """The recipe of the model as TOML; an empty text if there is none."""
        return getattr(self.saved_model, "recipe", "")


def load_result(path: Path) -> SavedResult:
    """Load a partition or a model from a file in any supported format."""
    from dempster.apps.recipe import TableModel
    from dempster.cluster import ConformalClustering
    from dempster.io import read_partition, read_r
    from dempster.partition import CredalPartition
    from dempster.persistence import load

    suffix = path.suffix.lower()
    if suffix == ".rds":
        return SavedResult(path, read_r(path))
    if suffix != ".dempster":
        try:
            return SavedResult(path, read_partition(path))
        except InvalidInputError as error:
            advice = "write a model with dempster cluster --save-model"
            reason = f"{path} is neither a model nor a partition ({error})"
            raise UserError(f"{reason}; {advice}") from error
    content = load(path)
    if isinstance(content, CredalPartition):
        return SavedResult(path, content)
    model = content
    if isinstance(content, ConformalClustering):
        model = TableModel(content.clusterer_, conformal=content)
    elif not isinstance(content, TableModel):
        model = TableModel(content)
    if not hasattr(model.estimator, "predict_mass"):
        found = type(content).__name__
        raise UserError(
            f"{path} contains {found}, but must contain a partition or a model"
        )
    return SavedResult(path, getattr(model.estimator, "credal_partition_", None), model)


def read_rows(path: Path, options: dict[str, Any], recipe: str = "") -> pd.DataFrame:
    """Read a table.

    The index column (if the table has it), the sheet and na_values are those of the recipe (TOML
    text) by default.
    """
    from dempster.apps.recipe import Recipe
    from dempster.apps.recipe.recipe import FORMAT
    from dempster.io import read_table

    given = {name: options[name] for name in FORMAT}
    if options["no_index"]:
        given["index"] = False
    if path.suffix.lower() == ".dempster":
        raise UserError(f"{path} is a saved model or partition, but must be a table")
    settings = Recipe([str(path)], **given).reading_options()
    defaults = {}
    if recipe:
        defaults = Recipe.from_toml(recipe).reading_options()
    for name in {"sheet", "na_values"} & defaults.keys():
        settings.setdefault(name, defaults[name])
    table = read_table(path, **settings)
    index = defaults.get("index_col")
    if "index_col" not in settings and index in table.columns:
        # Identifiers such as 007 must be read as text, not as numbers.
        table = read_table(path, **settings, index_col=index)
    return table


def select_rows(
    table: pd.DataFrame, partition: CredalPartition, path: Path
) -> pd.DataFrame:
    """Return the rows of a table that match the objects of a partition, in their order."""
    from dempster._validation import row_index

    names_column = getattr(partition.index, "name", None)
    if names_column in table.columns and row_index(table) is None:
        table = table.set_index(names_column)
    if partition.index is None:
        if len(table) != len(partition):
            found = f"the partition has {len(partition):,} objects"
            raise UserError(f"{path} has {len(table):,} rows, but {found}")
        return table
    names = list(partition.index)
    if list(table.index) == names:
        return table
    lacking = [name for name in names if name not in table.index]
    if lacking:
        if len(table) == len(partition) and row_index(table) is None:
            return table.set_axis(names)
        raise UserError(
            f"{path} has no row '{lacking[0]}', which the partition contains; "
            "select the column of row names with --index"
        )
    if not table.index.is_unique or len(set(names)) < len(names):
        raise UserError(
            f"{path}: names of rows must be unique to match those of the partition"
        )
    return table.loc[names]


def list_input_files(recipe: Recipe) -> list[Path]:
    """Return the paths of all files that a recipe reads."""
    from dempster.apps.recipe.labels import is_file_name

    names = [*recipe.files]
    names += [
        name for name in (recipe.labels, recipe.truth) if name and is_file_name(name)
    ]
    if recipe.constraints is not None:
        names.append(recipe.constraints)
    return list(map(Path, names))
