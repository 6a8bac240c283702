"""A model with its preparation as an ONNX graph: the columns of the table, standardised, then the estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dempster._errors import InvalidInputError
from dempster.apps.recipe.model import TableModel
from dempster.onnx.formulas import centred
from dempster.onnx.graph import Value

__all__ = ["PREPARED"]


def _prepared(model: TableModel, X: Value) -> Value:
    preparation = model.preparation
    if preparation is None:
        return X
    if preparation.categories:
        raise InvalidInputError(
            "a model can be exported if its columns hold numbers, but "
            f"{preparation.categories[0]!r} is one of categories"
        )
    return centred(X, preparation.center, preparation.scale) if preparation.is_scaled else X


PREPARED: Mapping[type, Callable[[Any, Value], Value]] = {TableModel: _prepared}
