"""Prepared data and result of a recipe, and models with the preparation of their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dempster import _validation as rule
from dempster._arrays import divide, scale_columns
from dempster._errors import InvalidParameterError
from dempster.apps.recipe.attributes import Attributes, Note, Preparation
from dempster.apps.recipe.export import parse_toml
from dempster.constraints import Constraints
from dempster.partition import CredalPartition
from dempster.persistence.schema import register

if TYPE_CHECKING:
    from dempster.cluster import ConformalClustering
    from dempster.explain import ObjectExplanation


WEIGHTS = ("outlier_weight", "ambiguity_weight")  # fields of a recipe


def reweight_sets(
    partition: CredalPartition,
    *,
    outlier_weight: float = 1.0,
    ambiguity_weight: float = 1.0,
) -> CredalPartition:
    """Multiply the masses of the empty set and of sets of several clusters by weights.

    The masses of each object are normalized afterwards. An object changes its set if the product of
    mass and weight is larger for another set.

    Parameters
    ----------
    partition : CredalPartition
        Partition to change.
    outlier_weight, ambiguity_weight : float, default=1
        Positive weights of the empty set and of sets of several clusters.

    Returns
    -------
    CredalPartition

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.apps.recipe import reweight_sets
    >>> partition = CredalPartition([[0, 0.4, 0, 0.6]], FocalSets.full(2))
    >>> reweight_sets(partition, ambiguity_weight=0.5).masses.round(2).tolist()
    [[0.0, 0.57, 0.0, 0.43]]
    """
    positive = rule.positive
    rule.check(outlier_weight, "outlier_weight", positive)
    rule.check(ambiguity_weight, "ambiguity_weight", positive)
    if outlier_weight == ambiguity_weight == 1:
        return partition
    size = partition.focal_sets.cardinality
    weight = np.select(
        [size == 0, size == 1], [outlier_weight, 1.0], ambiguity_weight
    ).astype(partition.dtype)
    masses = scale_columns(partition.stored_masses, weight)
    return CredalPartition.unchecked(
        divide(masses, masses.sum(axis=1)[:, None], 0),
        partition.focal_sets,
        partition.index,
        partition.frame,
        metadata=partition.metadata,
    )


@dataclass(frozen=True, eq=False)
class TableModel:
    """Fitted estimator with the preparation of its table.

    `dempster.persistence` can save it, and load it after ``import dempster.apps.recipe``.

    Attributes
    ----------
    estimator : fitted clusterer or classifier
    preparation : Preparation or None
        Selected columns, standardization and treatment of missing values. It is None for
        dissimilarities and images.
    recipe : str
        Recipe of the training run as TOML, or an empty text for a classifier.
    conformal : ConformalClustering or None
        Sets of clusters, if the recipe has a ``confidence``.

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
    conformal: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise InvalidParameterError(
                "estimator", "a clusterer or classifier", self.estimator
            )
        rule.check(self.preparation, "preparation", rule.none | rule.kind(Preparation))

    def predict_mass(self, table: Any) -> Any:
        """Predict the masses of new rows.

        Missing values are treated in the same way as in the training run.

        Parameters
        ----------
        table : DataFrame
            Table with the columns of the training run, or dissimilarities of each new object to the
            training objects.

        Returns
        -------
        CredalPartition or MassFunctions
        """
        return self.predict_prepared(self.prepare(table))

    def predict_prepared(self, rows: Any) -> Any:
        """Predict the masses of prepared rows, on clusters with the names of the training run.

        Parameters
        ----------
        rows : DataFrame
            Result of `prepare`.

        Returns
        -------
        CredalPartition or MassFunctions
        """
        masses = self.estimator.predict_mass(rows)
        training = getattr(self.estimator, "credal_partition_", None)
        if isinstance(training, CredalPartition) and isinstance(
            masses, CredalPartition
        ):
            recipe = parse_toml(self.recipe)
            weights = {name: recipe[name] for name in WEIGHTS if name in recipe}
            return reweight_sets(masses.name_clusters(training.frame), **weights)
        return masses

    def prepare(
        self, table: Any, *, missing: str | None = None, note: Note | None = None
    ) -> Any:
        """Prepare new rows for the estimator.

        Parameters
        ----------
        table : DataFrame
            Table with the columns of the training run, or dissimilarities of each new object to the
            training objects.
        missing : {"refuse", "drop", "partial"}, optional
            Treatment of rows with missing values. By default they are treated in the same way as in
            the training run.
        note : function, optional
            Function that is called with a text about rows that are left out.

        Returns
        -------
        DataFrame
            Argument of the estimator's `predict_mass`; ``table`` itself if the model has no
            preparation.
        """
        if self.preparation is None:
            return table
        preparation = self.preparation
        if missing is not None:
            preparation = replace(preparation, missing=missing)
        return preparation.transform(table, note)


register(TableModel)


@dataclass(frozen=True, eq=False)
class PreparedTable:
    r"""Input data of a recipe, ready for the estimator.

    Attributes
    ----------
    X : table, matrix or image
        Data for `fit`.
    table : DataFrame or None
        Table as read from the file; None for dissimilarities and images.
    attributes : Attributes or None
        Selected columns and rows; None for dissimilarities and images.
    y : array or None
        Known labels of the selected rows as 0, 1, ..., with -1 for unknown labels. If the
        method is "doubt", they are the labels themselves. It is None if the method does not use
        labels; they are then converted to constraints.
    constraints : Constraints or None
        Constraints on pairs of the selected rows.
    truth : Series or None
        True labels, with which the result is compared.
    notes : list of str
        Notes on the input data, such as columns that were left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import Recipe, prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "flowers.csv")
    ...     _ = file.write_text("length,color\n1.0,red\n1.2,red\n8.0,blue\n8.3,blue\n")
    ...     prepared = prepare(Recipe(str(file), truth="color"))
    >>> prepared.X.round(1).to_dict("list"), prepared.truth.tolist()
    ({'length': [1.0, 1.2, 8.0, 8.3]}, ['red', 'red', 'blue', 'blue'])
    """

    X: Any
    table: pd.DataFrame | None = None
    attributes: Attributes | None = None
    y: np.ndarray | None = None
    constraints: Constraints | None = None
    truth: pd.Series | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def fit_params(self) -> dict[str, Any]:
        """Arguments of `fit` besides X: labels and constraints, if there are any."""
        params = {"y": self.y, "constraints": self.constraints}
        return {name: value for name, value in params.items() if value is not None}


@dataclass(frozen=True, eq=False)
class RecipeResult:
    r"""Result of a recipe.

    Attributes
    ----------
    recipe : Recipe
        Recipe that was run.
    estimator : fitted estimator
    prepared : PreparedTable
        Input data, and notes on them.
    seconds : float
        Duration of the fit.
    conformal : ConformalClustering or None
        Sets of clusters, if the recipe has a ``confidence``.
    warnings : list of str
        Warnings of the fit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import Recipe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "flowers.csv")
    ...     _ = file.write_text("length\n1.0\n1.1\n1.2\n8.0\n8.1\n8.3\n")
    ...     result = Recipe(str(file), method="ecm", clusters=2, seed=0).run()
    >>> result.partition.n_clusters, result.table.shape, result.attributes.columns
    (2, (6, 1), ['length'])
    >>> result.model.preparation.center.round(2).tolist()
    [4.62]
    """

    recipe: Any  # a Recipe; its module imports this module
    estimator: Any
    prepared: PreparedTable
    seconds: float
    conformal: ConformalClustering | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def partition(self) -> CredalPartition:
        """Credal partition."""
        return self.estimator.credal_partition_

    @property
    def table(self) -> pd.DataFrame | None:
        """Table with all rows and columns; None for dissimilarities and images."""
        return self.prepared.table

    @property
    def attributes(self) -> Attributes | None:
        """Selected columns and rows; None for dissimilarities and images."""
        return self.prepared.attributes

    @cached_property
    def model(self) -> TableModel:
        """Estimator with the preparation of the table, for `dempster.persistence.save`."""
        preparation = getattr(self.attributes, "preparation", None)
        return TableModel(
            self.estimator, preparation, self.recipe.to_toml(), self.conformal
        )


@dataclass(frozen=True)
class Units:
    """Conversion of standardized columns to their units, ``shift + factor * standardized``."""

    shift: dict[str, float]
    factor: dict[str, float]

    @classmethod
    def from_preparation(cls, preparation: Preparation) -> Units:
        """Return the conversion for the numeric columns of a preparation."""
        names = preparation.numbers
        shift = dict(zip(names, preparation.center.tolist(), strict=True))
        factor = dict(zip(names, preparation.scale.tolist(), strict=True))
        return cls(shift, factor)

    def convert_explanation(self, explanation: ObjectExplanation) -> ObjectExplanation:
        """Convert the values in an explanation to their original units.

        Contributions and values of other columns do not change.
        """
        if explanation.by != "attributes":
            return explanation

        def convert_row(names: Sequence[str], cells: Sequence[Any]) -> tuple[Any, ...]:
            row = list(cells)
            for k, name in enumerate(names):
                if name in self.shift and isinstance(row[k], float | int):
                    row[k] = self.shift[name] + self.factor[name] * row[k]
            return tuple(row)

        names = explanation.attributes
        values = explanation.values
        if values is not None:
            values = convert_row(names, values)
        typical = explanation.typical
        if typical is not None:
            typical = tuple(convert_row(names, cells) for cells in typical)
        changes = []
        for change in explanation.changes:
            before = convert_row(change.attributes, change.before)
            after = convert_row(change.attributes, change.after)
            changes.append(replace(change, before=before, after=after))
        return replace(
            explanation, values=values, typical=typical, changes=tuple(changes)
        )
