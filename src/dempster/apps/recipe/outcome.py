"""What a recipe reads, and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.recipe.attributes import Attributes
from dempster.apps.recipe.model import TableModel

if TYPE_CHECKING:
    import pandas as pd

    from dempster.constraints import Constraints
    from dempster.partition import CredalPartition

__all__ = ["Outcome", "Prepared"]


@dataclass(frozen=True, eq=False)
class Prepared:
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
class Outcome:
    """What a recipe gave.

    Attributes
    ----------
    recipe : Recipe
    estimator : fitted estimator
    prepared : Prepared
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

    recipe: Any  # a Recipe, which knows this class
    estimator: Any
    prepared: Prepared
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
