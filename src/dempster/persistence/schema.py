"""What of an object goes into a file, and how it is made again: one `Schema` for each class that files may hold.

A file never names code. It says ``cluster.ECM``, and this module looks that up in closed tables: each package has a
module ``saved`` that lists its classes. A class that is in no table can neither be written nor made by a file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dempster._errors import InvalidInputError
from dempster._validation import is_integer
from dempster.persistence.documented import check_feature_names, check_shapes, check_types, family_lengths
from dempster.persistence.tried import try_model

__all__ = ["Schema", "check_names", "schemas_by_name", "schema_named", "schema_for"]

Parts = dict[str, Any]
_APART = {"dempster.cluster.evclus._torch_network": "networks"}  # a table of its own: it imports torch


@dataclass(frozen=True)
class Schema:
    """One class.

    Attributes
    ----------
    cls : type
    parts : function
        What an object consists of, by name: values that files can hold, other objects with a schema among them.
    build : function
        The object made of parts that were read. It raises a TypeError or ValueError where they do not fit.
    """

    cls: type
    parts: Callable[[Any], Parts]
    build: Callable[[Parts], Any]

    @classmethod
    def of_fields(cls, kind: type) -> Schema:
        """A dataclass or named tuple: its fields, given to its constructor. Files of earlier versions may lack those
        with a default."""
        names, required = _field_names(kind)

        def build(parts: Parts) -> Any:
            check_names(parts, names, required)
            check_types(kind, parts)
            made = kind(**parts)
            check_shapes(kind, parts, family_lengths(made))
            return made

        return cls(kind, lambda obj: {name: getattr(obj, name) for name in names}, build)

    @classmethod
    def of_arguments(cls, kind: type, attributes: Mapping[str, str], *, later: Iterable[str] = ()) -> Schema:
        """Any other class: arguments of its constructor, each with the attribute that keeps it. Files of earlier
        versions may lack those that came ``later``, which then have their defaults."""
        required = set(attributes) - set(later)

        def build(parts: Parts) -> Any:
            check_names(parts, attributes, required)
            check_shapes(kind, parts, {})
            return kind(**parts)

        return cls(kind, lambda obj: {name: getattr(obj, kept) for name, kept in attributes.items()}, build)

    @classmethod
    def of_attributes(cls, kind: type, *names: str) -> Schema:
        """A class whose constructor does more than to keep what it is given: the attributes that make it up."""

        def build(parts: Parts) -> Any:
            check_names(parts, names)
            check_types(kind, parts)
            check_shapes(kind, parts, {})
            made: Any = object.__new__(kind)
            for name, value in parts.items():
                setattr(made, name, value)
            return made

        return cls(kind, lambda obj: {name: getattr(obj, name) for name in names}, build)

    @classmethod
    def of_estimator(cls, kind: type, check: Callable[[Any], None] | None = None) -> Schema:
        """An estimator in scikit-learn's manner: its parameters, and what `fit` has left behind, but for what is lazy.
        Files of earlier versions may lack parameters, which then have their defaults. ``check`` refuses one whose
        attributes do not go together."""

        def parts(estimator: Any) -> Parts:
            parameters = estimator.get_params(deep=False)
            state = estimator.__getstate__()
            return {
                "parameters": parameters,
                "fitted": {n: value for n, value in state.items() if n not in parameters and not _is_lazy(value)},
            }

        def build(found: Parts) -> Any:
            check_names(found, ("parameters", "fitted"))
            if not all(isinstance(part, dict) for part in found.values()):
                raise InvalidInputError("parameters and fitted attributes must be given by name")
            estimator: Any = kind()
            check_names(found["parameters"], estimator.get_params(deep=False), required=())
            ours = kind.__module__.startswith("dempster.")
            # what is defined by the class, such as its methods, is not for a file to replace
            taken = [name for name in found["fitted"] if not _is_fitted(name, ours) or _is_behavior(kind, name)]
            if taken:
                raise InvalidInputError(f"{taken[0]!r} is no fitted attribute")
            width = found["fitted"].get("n_features_in_")
            if width is not None and not is_integer(width):
                raise InvalidInputError(f"n_features_in_ must be int, got {type(width).__name__}")
            model = found["fitted"].get("_model")
            if model is not None and schema_for(model) is None:
                raise InvalidInputError(f"_model must be a model, got {type(model).__name__}")
            if ours:
                check_feature_names(found["fitted"].get("feature_names_in_"), width)
            check_types(kind, found["fitted"])
            check_shapes(kind, found["fitted"], {} if width is None else {"n_features": int(width)})
            estimator.__setstate__({**vars(estimator), **found["parameters"], **found["fitted"]})
            if check is not None and found["fitted"]:
                check(estimator)
            if ours and found["fitted"]:
                try_model(estimator)
            return estimator

        return cls(kind, parts, build)

    @classmethod
    def of(cls, kind: type) -> Schema:
        """The schema that follows from what a class is."""
        is_record = dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")
        return cls.of_fields(kind) if is_record else cls.of_estimator(kind)


def check_names(parts: Iterable[str], known: Iterable[str], required: Iterable[str] | None = None) -> None:
    """Refuse parts that are too few (all are required unless some are said to be) or too many."""
    found, allowed = set(parts), set(known)
    lacking = sorted(allowed - found if required is None else set(required) - found)
    strange = sorted(map(str, found - allowed))
    if lacking or strange:
        raise InvalidInputError(f"it lacks {lacking[0]!r}" if lacking else f"{strange[0]!r} is not known")


def _field_names(kind: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All fields, and those without a default."""
    if hasattr(kind, "_fields"):  # a named tuple
        return kind._fields, tuple(name for name in kind._fields if name not in kind._field_defaults)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    missing = dataclasses.MISSING
    required = [field for field in fields if field.default is missing and field.default_factory is missing]
    return tuple(field.name for field in fields), tuple(field.name for field in required)


def _is_lazy(value: Any) -> bool:
    """Whether it has a row for each object of a fit to blocks, and is computed when it is asked for."""
    from dempster.data.blocks import Blocks
    from dempster.partition.lazy import LazyCredalPartition

    return isinstance(value, LazyCredalPartition | Blocks) or hasattr(value, "__dask_graph__")


def _is_fitted(name: Any, ours: bool) -> bool:
    """Whether a name may be that of what `fit` leaves behind, which begins or ends with a stroke in our classes."""
    return isinstance(name, str) and name.isidentifier() and (not ours or "_" in (name[0], name[-1]))


def _is_behavior(kind: type, name: str) -> bool:
    value = getattr(kind, name, None)
    return name.startswith("__") or callable(value) or isinstance(value, property)


# ---- the tables -----------------------------------------------------------------------------------------------------


@cache
def schemas_by_name(package: str) -> Mapping[str, Schema]:
    """Schemas of one package, by the names of their classes; a package is imported when it is asked for."""
    found: Iterable[Schema]
    match package:
        case "belief" | "partition":
            from dempster.persistence.values import VALUES

            found = VALUES[package]
        case "constraints":
            from dempster.persistence._constraints import SAVED as found
        case "dissimilarity":
            from dempster.persistence._dissimilarity import SAVED as found
        case "metric":
            from dempster.persistence._metric import SAVED as found
        case "mixture":
            from dempster.persistence._mixture import SAVED as found
        case "cluster":
            from dempster.persistence._cluster import SAVED as found
        case "classify":
            from dempster.persistence._classify import SAVED as found
        case "explain":
            from dempster.persistence._explain import SAVED as found
        case "recipe":
            from dempster.persistence._recipe import SAVED as found
        case "networks":
            from dempster.persistence._networks import SAVED as found
        case "sklearn":
            from dempster.persistence.scikit_learn import SAVED as found
        case _:
            return {}
    return {schema.cls.__name__: schema for schema in found}


def schema_named(name: str) -> Schema:
    """The schema of a class by the name it has in files, such as ``cluster.ECM``."""
    package, _, kind = name.partition(".")
    schema = schemas_by_name(package).get(kind)
    if schema is None:
        raise InvalidInputError(f"{name!r} is not known to this version of dempster")
    return schema


def _package_of(inside: list[str]) -> str:
    return inside[1] if inside[0] == "apps" else inside[0]


def schema_for(obj: Any) -> tuple[str, Schema] | None:
    """The name in files and the schema of an object's class, not of those it derives from; None if it has none."""
    kind = type(obj)
    top, *inside = kind.__module__.split(".")
    package = top if top == "sklearn" else _package_of(inside) if top == "dempster" and inside else ""
    package = _APART.get(kind.__module__, package)
    schema = schemas_by_name(package).get(kind.__name__)
    return (f"{package}.{kind.__name__}", schema) if schema is not None and schema.cls is kind else None
