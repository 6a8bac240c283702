"""Who makes operators of an estimator: each package has a module ``exported`` that lists its classes.

As with files (`dempster.persistence.schema`), a package is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster.onnx.graph import Value

__all__ = ["Exporter", "exporter_of", "is_pipeline", "label_shares", "object_shape", "preparation_of", "known_names"]

Exporter = Callable[[Any, Value], Value]
"""From an estimator and its attributes to masses, or to attributes after a preparation."""


def exporter_of(estimator: Any) -> Exporter | None:
    """How this very class becomes masses; None if it does not."""
    found: Mapping[type, Exporter]
    match _package(estimator):
        case "cluster":
            from dempster.onnx._cluster import EXPORTED as found
        case "classify":
            from dempster.onnx._classify import EXPORTED as found
        case _:
            return None
    return found.get(type(estimator))


def preparation_of(model: Any) -> Exporter | None:
    """What a model with a preparation does to its attributes first; None if it is not one."""
    if _package(model) != "recipe":
        return None
    from dempster.onnx._recipe import PREPARED

    return PREPARED.get(type(model))


def is_pipeline(model: Any) -> bool:
    """Whether it is a pipeline of scikit-learn, without importing that."""
    return (type(model).__module__, type(model).__name__) == ("sklearn.pipeline", "Pipeline")


def label_shares(estimator: Any) -> np.ndarray:
    """(f, c) what the mass of each set adds to the score of each label."""
    if _package(estimator) == "cluster":
        from dempster.onnx._cluster import label_shares
    else:
        from dempster.onnx._classify import label_shares
    return label_shares(estimator)


def object_shape(estimator: Any) -> tuple[int, ...]:
    """The shape of an object that an estimator takes."""
    if _package(estimator) != "cluster":
        return (int(estimator.n_features_in_),)
    from dempster.onnx._cluster import object_shape

    return object_shape(estimator)


def known_names() -> list[str]:
    """Names of the estimators that can be exported."""
    from dempster.onnx._classify import EXPORTED as classifiers
    from dempster.onnx._cluster import EXPORTED as clusterers

    return [*sorted(kind.__name__ for kind in clusterers), *sorted(kind.__name__ for kind in classifiers)]


def _package(obj: Any) -> str:
    top, *inside = type(obj).__module__.split(".")
    return inside[inside[0] == "apps"] if top == "dempster" and inside else ""
