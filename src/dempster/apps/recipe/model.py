"""What a recipe reads and leaves: prepared data, the outcome of a run, a model with the preparation of its table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster.apps.recipe.attributes import Attributes, Preparation
from dempster.persistence.schema import Schema, register

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dempster.constraints import Constraints
    from dempster.explain import ObjectExplanation
    from dempster.partition import CredalPartition


@dataclass(frozen=True, eq=False)
class TableModel:
    """What a run leaves behind for later ones, written and read by `dempster.persistence`.

    Attributes
    ----------
    estimator : fitted clusterer or classifier
    preparation : Preparation or None
        Columns, standardisation and what to do with missing cells; None for dissimilarities and images.
    recipe : str
        How it was made, as TOML; empty for a classifier.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.cluster import ECM
    >>> from dempster.apps.recipe import TableModel, choose_attributes
    >>> table = pd.DataFrame({"length": [1.0, 1.1, 1.2, 8.0, 8.1, 8.3], "color": list("rrgbbb")})
    >>> attributes = choose_attributes(table)
    >>> model = TableModel(ECM(2, random_state=0).fit(attributes.values), attributes.preparation)
    >>> model.predict_mass(pd.DataFrame({"length": [1.1, 8.2]})).labels.tolist() in ([0, 1], [1, 0])
    True
    """

    estimator: Any
    preparation: Preparation | None = None
    recipe: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InvalidInputError(f"estimator must be a clusterer or classifier, got {rule.shown(self.estimator)}")
        rule.check(self.preparation, "preparation", rule.choice(None) | rule.kind(Preparation))
        rule.check(self.recipe, "recipe", rule.kind(str, words="text"))

    def predict_mass(self, table: Any, *, missing: str | None = None, note: Callable[[str], None] | None = None) -> Any:
        """Masses of new rows.

        Parameters
        ----------
        table : DataFrame
            With the columns of the training run; for dissimilarities, those of each new object to the old ones.
        missing : {"refuse", "drop", "partial"}, optional
            What to do with rows in which cells are missing; as in the training run by default.
        note : function, optional
            Is told in words which rows are left out.
        """
        return self.estimator.predict_mass(self.prepared(table, missing=missing, note=note))

    def prepared(self, table: Any, *, missing: str | None = None, note: Callable[[str], None] | None = None) -> Any:
        """New rows as the estimator takes them."""
        if self.preparation is None:
            return table
        preparation = self.preparation if missing is None else replace(self.preparation, missing=missing)
        found: pd.DataFrame = preparation.transform(table, note)
        return found


register("recipe", Schema.of_fields(Preparation), Schema.of_fields(TableModel))


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """What a recipe reads, ready for the estimator.

    Attributes
    ----------
    X : table, matrix or image
        What is clustered.
    table : DataFrame or None
        As it was read; None for dissimilarities and images.
    attributes : Attributes or None
        The columns and rows that are clustered; None for dissimilarities and images.
    y : array or None
        Known labels of the clustered rows as 0, 1, ..., -1 where nothing is known.
    constraints : Constraints or None
    truth : Series or None
        Labels to compare with.
    notes : list of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import Recipe, prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "flowers.csv")
    ...     _ = file.write_text("length,color\\n1.0,red\\n1.2,red\\n8.0,blue\\n8.3,blue\\n")
    ...     prepared = prepare(Recipe(str(file), truth="color"))
    >>> prepared.X.round(1).to_dict("list"), prepared.truth.tolist()
    ({'length': [-1.0, -1.0, 1.0, 1.0]}, ['red', 'red', 'blue', 'blue'])
    """

    X: Any
    table: pd.DataFrame | None = None
    attributes: Attributes | None = None
    y: np.ndarray | None = None
    constraints: Constraints | None = None
    truth: pd.Series | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class RecipeResult:
    """What a recipe gave.

    Attributes
    ----------
    recipe : Recipe
    estimator : fitted estimator
    prepared : PreparedTable
        What was read and clustered, with all notes on the way.
    seconds : float
        How long the fit took.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import Recipe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "flowers.csv")
    ...     _ = file.write_text("length\\n1.0\\n1.1\\n1.2\\n8.0\\n8.1\\n8.3\\n")
    ...     outcome = Recipe(str(file), method="ecm", clusters=2, seed=0).run()
    >>> outcome.partition.n_clusters, outcome.table.shape, outcome.attributes.columns
    (2, (6, 1), ['length'])
    >>> outcome.model.preparation.center.round(2).tolist()
    [4.62]
    """

    recipe: Any  # a Recipe, whose module imports this one
    estimator: Any
    prepared: PreparedTable
    seconds: float

    @property
    def partition(self) -> CredalPartition:
        """The credal partition."""
        return self.estimator.credal_partition_

    @property
    def table(self) -> pd.DataFrame | None:
        """The table as it was read, all rows and columns; None for dissimilarities and images."""
        return self.prepared.table

    @property
    def attributes(self) -> Attributes | None:
        """The columns and rows that were clustered; None for dissimilarities and images."""
        return self.prepared.attributes

    @property
    def notes(self) -> list[str]:
        """What was left out, standardised or found on the way, in plain words."""
        return self.prepared.notes

    @property
    def truth(self) -> pd.Series | None:
        """Labels to compare with, of the clustered rows."""
        return self.prepared.truth

    @property
    def choices(self) -> dict[str, str]:
        """What "auto" stood for, by parameter, in words with the reason."""
        return dict(self.partition.metadata.get("choices", {}))

    @cached_property
    def model(self) -> TableModel:
        """The estimator with what was done to the table before: what `dempster.persistence.save` takes."""
        preparation = None if self.attributes is None else self.attributes.preparation
        return TableModel(self.estimator, preparation, self.recipe.to_toml())


if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Units:
    """Units of standardized columns: ``own = shift + factor * scaled``, by the names of the columns."""

    shift: dict[str, float]
    factor: dict[str, float]

    @classmethod
    def of(cls, preparation: Preparation) -> Units:
        """Return the units of the columns that a preparation standardizes."""
        if not preparation.is_scaled:
            return cls({}, {})
        names = preparation.numbers
        return cls(
            dict(zip(names, map(float, preparation.center), strict=True)),
            dict(zip(names, map(float, preparation.scale), strict=True)),
        )

    def own(self, name: str, value: Any) -> Any:
        """Convert a value of a standardized column to its own unit; return anything else unchanged."""
        if name not in self.shift or not isinstance(value, float | int) or isinstance(value, bool):
            return value
        return self.shift[name] + self.factor[name] * value

    def of_explanation(self, found: ObjectExplanation) -> ObjectExplanation:
        """Convert the values of attributes in an explanation to their own units; pulls stay as they are."""
        if found.by != "attributes" or not self.shift:
            return found

        def row(names: Sequence[str], cells: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(self.own(name, cell) for name, cell in zip(names, cells, strict=True))

        names = found.attributes
        return replace(
            found,
            values=None if found.values is None else row(names, found.values),
            typical=None if found.typical is None else tuple(row(names, cells) for cells in found.typical),
            changes=tuple(
                replace(one, before=row(one.attributes, one.before), after=row(one.attributes, one.after))
                for one in found.changes
            ),
        )
