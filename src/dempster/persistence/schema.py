"""Schemas of the classes that model files may contain.

A schema lists the parts of an object and their types, and builds the object from the parts. A file
contains class names such as ``cluster.ECM``, for which a schema must exist in the tables of
`_schemas` or be added by `register`. Classes without a schema can be neither saved nor loaded.

The types of the parts are declared in the tables or by the type hints of dataclasses, and are
checked when a file is loaded. A string declares an array by its shape. For example, ``"c p"``
declares two axes, and the same word means the same length within an object. A number is a fixed
length, and ``*`` is any length. ``"r:int64"`` also declares the type of the cells, ``"p?"`` allows
None, and ``p+1`` is the length p plus one. ``"p p|c p p"`` allows two or three axes. A tuple of
strings declares a tuple of arrays. The name of a part may contain dots. For example,
``_input.origin`` is the attribute ``origin`` of the part ``_input``.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import is_integer
from dempster.belief import FocalSets, MassFunctions
from dempster.partition import CredalPartition

Parts = dict[str, Any]
# Types of fitted attributes that have the same meaning in all estimators.
FITTED: dict[str, Any] = {
    **dict.fromkeys(
        (
            "n_features_in_",
            "n_clusters_",
            "n_iter_",
            "n_samples_seen_",
            "n_neighbors_",
            "n_redrawn_",
        ),
        int,
    ),
    **dict.fromkeys(("n_components_", "n_parameters_"), int),
    **dict.fromkeys(
        ("objective_", "beta_", "delta_", "d0_", "stress_", "loss_", "shift_", "smoothing_"), float
    ),
    **dict.fromkeys(
        ("bic_", "ebic_", "log_likelihood_", "regularization_", "leave_one_out_error_"), float
    ),
    **dict.fromkeys(("fidelity_", "min_belief_", "min_delta_"), float),
    **dict.fromkeys(("model_", "sampling_", "neighbors_"), str),
    "converged_": bool,
    "min_prominence_": float | None,
    "focal_sets_": FocalSets,
    "credal_partition_": CredalPartition,
    "leave_one_out_masses_": MassFunctions,
    "labels_": "n_samples",
    "cluster_centers_": "n_clusters n_features",
    "means_": "n_clusters n_features",
    "covariance_": "n_features n_features|n_clusters n_features n_features",
    "metric_matrix_": "n_features n_features",
    "metric_matrices_": "n_clusters n_features n_features",
    "medoid_indices_": "n_clusters:int",
    "candidate_indices_": "n_candidates:int",
    "attribute_weights_": "n_features",
    "view_of_feature_": "n_features:int",
    "components_": "n_components n_features",
    "eigenvalues_": "n_components",
}
_MODULES_ABOVE = {"recipe": "dempster.apps.recipe.model"}  # These modules call `register`.
# This table is separate because it imports torch.
_OWN_TABLES = {"dempster.cluster.evclus._torch_network": "networks"}
_FINITE_AXES = {"c", "f", "g", "n_features", "n_clusters"}  # Arrays with these axes must be finite.
_CELLS = {  # kinds of NumPy types, and their names in error messages
    "": ("biuf", "numbers"),
    "int": ("iu", "integers"),
    "any": ("biufmMOSTU", "numbers or text"),
}


@dataclasses.dataclass(frozen=True)
class Schema:
    """Functions that decompose the objects of a class into parts (values, or objects with a schema) and build them."""

    cls: type
    parts: Callable[[Any], Parts]
    build: Callable[[Parts], Any]

    @classmethod
    def from_fields(
        cls, kind: Any, check: Callable[[Any], None] | None = None, /, **shapes: str
    ) -> Schema:
        """Return the schema of a dataclass or named tuple.

        Fields with a default may be missing in files of earlier versions. ``check`` raises an error
        if the fields of an object are inconsistent. ``shapes`` declares the fields that are arrays.
        """
        if dataclasses.is_dataclass(kind):
            fields = [field for field in dataclasses.fields(kind) if field.init]
            names = [field.name for field in fields]
            defaults = {
                f.name for f in fields if not f.default is f.default_factory is dataclasses.MISSING
            }
        else:
            names = list(kind._fields)
            defaults = set(kind._field_defaults)
        required = [name for name in names if name not in defaults]

        def build(parts: Parts) -> Any:
            check_names(parts, names, required)
            hints = typing.get_type_hints(kind)
            check_parts(parts, {name: hints[name] for name in names})
            obj = kind(**parts)
            family = getattr(obj, "family", None)
            if isinstance(family, FocalSets):
                lengths = {"c": family.n_clusters, "f": len(family)}
            else:
                lengths = {}
            check_parts(parts, shapes, lengths)
            if check is not None:
                check(obj)
            return obj

        return cls(kind, lambda obj: {name: getattr(obj, name) for name in names}, build)

    @classmethod
    def from_arguments(
        cls,
        kind: Any,
        attributes: Mapping[str, str] | Iterable[str],
        *,
        optional: Iterable[str] = (),
        **types: Any,
    ) -> Schema:
        """Return the schema of a class whose constructor builds the object.

        ``attributes`` are the arguments of the constructor, mapped to the attributes that store
        them if the names differ. ``optional`` arguments may be missing in files of earlier
        versions.
        """
        stored = dict(
            attributes if isinstance(attributes, Mapping) else {name: name for name in attributes}
        )

        def build(parts: Parts) -> Any:
            check_names(parts, stored, set(stored) - set(optional))
            check_parts(parts, types)
            return kind(**parts)

        return cls(
            kind,
            lambda obj: {name: getattr(obj, attribute) for name, attribute in stored.items()},
            build,
        )

    @classmethod
    def from_attributes(cls, kind: Any, **types: Any) -> Schema:
        """Return the schema of a class whose objects are built by setting attributes instead of the constructor."""

        def build(parts: Parts) -> Any:
            check_names(parts, types)
            check_parts(parts, types)
            obj: Any = object.__new__(kind)
            for name, value in parts.items():
                setattr(obj, name, value)
            return obj

        return cls(kind, lambda obj: {name: getattr(obj, name) for name in types}, build)

    @classmethod
    def from_estimator(
        cls, kind: Any, check: Callable[[Any], None] | None = None, /, **attributes: Any
    ) -> Schema:
        """Return the schema of an estimator, with its parameters and all fitted attributes that are not lazy.

        ``attributes`` are the types of the required fitted attributes; a question mark at the end
        of a type makes the attribute optional. Others must have the types in `FITTED`. ``check``
        raises an error if they are inconsistent.
        """
        ours = kind.__module__.startswith("dempster.")
        if ours:
            declared = {**FITTED, **attributes}
        else:
            declared = {}
        if ours:
            required = {"n_features_in_"}
        else:
            required = set()
        required |= {
            name for name, spec in attributes.items() if "." not in name and str(spec)[-1] != "?"
        }

        def parts(estimator: Any) -> Parts:
            parameters = estimator.get_params(deep=False)
            state = estimator.__getstate__().items()
            fitted = {
                name: value
                for name, value in state
                if name not in parameters and not _is_lazy(value)
            }
            return {"parameters": parameters, "fitted": fitted}

        def build(found: Parts) -> Any:
            check_names(found, ("parameters", "fitted"))
            parameters = found["parameters"]
            fitted = found["fitted"]
            if not isinstance(parameters, dict) or not isinstance(fitted, dict):
                raise InvalidInputError("parameters and fitted attributes must be dictionaries")
            check_names(parameters, kind._get_param_names(), required=())
            estimator: Any = kind(**parameters)
            for name in fitted:
                if not _may_be_fitted(kind, name, ours):
                    raise InvalidInputError(f"{name!r} is not a fitted attribute")
            if fitted:
                check_names(fitted, fitted, required)
            width = fitted.get("n_features_in_")
            family = fitted.get("focal_sets_")
            lengths: dict[str, Any] = {"n_features": width} if is_integer(width) else {}
            lengths |= {"n_sets": len(family)} if isinstance(family, FocalSets) else {}
            check_parts(fitted, declared, lengths)
            if ours:
                _check_feature_names(fitted.get("feature_names_in_"), fitted.get("n_features_in_"))
            estimator.__setstate__({**vars(estimator), **fitted})
            if check is not None and fitted:
                check(estimator)
            return estimator

        return cls(kind, parts, build)


# ---- checks --------------------------------------------------------------------------------------


def check_names(
    parts: Iterable[str], known: Iterable[str], required: Iterable[str] | None = None
) -> None:
    """Raise an error for missing or unknown names of parts.

    By default all known names are required.
    """
    found = set(parts)
    allowed = set(known)
    missing = sorted(allowed - found if required is None else set(required) - found)
    unknown = sorted(map(str, found - allowed))
    if missing or unknown:
        raise InvalidInputError(
            f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is unknown"
        )


def check_parts(
    parts: Mapping[str, Any], declared: Mapping[str, Any], lengths: Mapping[str, int] | None = None
) -> None:
    """Raise an error if a part does not have its declared type, or if the shapes of arrays are inconsistent."""
    sizes = dict(lengths or {})
    for name, expected in declared.items():
        first, *inside = name.split(".")
        if first not in parts:
            continue
        value = parts[first]
        for attribute in inside:
            value = getattr(value, attribute)
        if isinstance(expected, str):
            _check_array(name, value, expected, sizes)
        elif isinstance(expected, tuple):
            if not isinstance(value, tuple) or len(value) != len(expected):
                raise InvalidInputError(
                    f"{name} must be a tuple of length {len(expected)}, got {_describe(value)}"
                )
            for k, (part, shape) in enumerate(zip(value, expected, strict=True)):
                _check_array(f"{name}[{k}]", part, shape, sizes)
        elif not _is_instance(value, expected):
            raise InvalidInputError(
                f"{name} must be {_type_name(expected)}, got {_describe(value)}"
            )


def _check_array(name: str, value: Any, declared: str, lengths: dict[str, int]) -> None:
    forms = declared.split("|")
    declared = next(
        (form for form in forms if len(form.split()) == getattr(value, "ndim", 0)), forms[0]
    )
    shape, _, cells = declared.rstrip("?").partition(":")
    if value is None and declared.endswith("?"):
        return
    words = shape.split()
    if cells in _CELLS:
        kinds, contents = _CELLS[cells]
    else:
        kinds = np.dtype(cells).kind
        contents = cells
    expected = f"an array of {contents} of shape ({', '.join(words)}{',' * (len(words) == 1)})"
    is_array = (
        isinstance(value, np.ndarray) and value.ndim == len(words) and value.dtype.kind in kinds
    )
    if not is_array or (cells not in _CELLS and value.dtype != cells):
        raise InvalidInputError(f"{name} must be {expected}, got {_describe(value)}")
    for word, length in zip(words, value.shape, strict=True):
        base, _, more = word.partition("+")
        extra = int(more or 0)
        wanted = length
        if base != "*":
            wanted = extra + (
                int(base) if base.isdigit() else lengths.setdefault(base, length - extra)
            )
        if wanted != length:
            raise InvalidInputError(
                f"{name} must be {expected} with {word} = {wanted}, got {_describe(value)}"
            )
    if (
        not _FINITE_AXES.isdisjoint(words)
        and value.dtype.kind == "f"
        and not np.isfinite(value).all()
    ):
        raise InvalidInputError(f"{name} must be finite, got NaN or infinity")


def _is_instance(value: Any, expected: Any) -> bool:
    """Return whether a value has the expected type.

    Type hints that are not classes accept any value.
    """
    if isinstance(expected, types.UnionType) or typing.get_origin(expected) is typing.Union:
        return any(_is_instance(value, part) for part in typing.get_args(expected))
    expected = typing.get_origin(expected) or expected
    if (
        expected is Any
        or not isinstance(expected, type)
        or getattr(expected, "_is_protocol", False)
    ):
        return True
    if expected is bool:
        return isinstance(value, bool | np.bool_)
    if expected in (int, float):
        return is_integer(value) or (expected is float and isinstance(value, float | np.floating))
    if expected is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return isinstance(value, expected)


def _type_name(expected: Any) -> str:
    if isinstance(expected, types.UnionType):
        return " or ".join(map(_type_name, typing.get_args(expected)))
    if expected is types.NoneType:
        return "None"
    return getattr(expected, "__name__", str(expected))


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__


def _check_feature_names(names: Any, width: int | None) -> None:
    if names is None:
        return
    is_text = (
        isinstance(names, np.ndarray)
        and names.dtype == object
        and all(isinstance(n, str) for n in names.flat)
    )
    if not is_text or names.shape != (width,) or len(set(names)) < len(names):
        raise InvalidInputError(
            f"feature_names_in_ must be {width} unique texts, got {_describe(names)}"
        )


def _is_lazy(value: Any) -> bool:
    """Return whether a value is computed lazily from the blocks of the training data."""
    from dempster.data.blocks import Blocks
    from dempster.partition.lazy import LazyCredalPartition

    return isinstance(value, LazyCredalPartition | Blocks) or hasattr(value, "__dask_graph__")


def _may_be_fitted(kind: type, name: Any, ours: bool) -> bool:
    """Return whether `fit` may set an attribute of this name; a file must not replace methods."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        return False
    in_class = getattr(kind, name, None)
    return (not ours or "_" in (name[0], name[-1])) and not (
        callable(in_class) or isinstance(in_class, property)
    )


# ---- tables --------------------------------------------------------------------------------------

_REGISTERED: dict[str, tuple[Schema, ...]] = {}


def register(package: str, *schemas: Schema) -> None:
    """Add the schemas of a package that imports this module."""
    _REGISTERED[package] = schemas


@cache
def schemas_by_name(package: str) -> Mapping[str, Schema]:
    """Import a package, and return a dictionary of its schemas with the class names as keys."""
    from dempster.persistence._schemas import TABLES

    if package in _MODULES_ABOVE:
        import_module(_MODULES_ABOVE[package])
        found = _REGISTERED[package]
    else:
        if package in TABLES:
            found = TABLES[package]()
        else:
            found = ()
    return {schema.cls.__name__: schema for schema in found}


def schema_named(name: str) -> Schema:
    """Return the schema for a class name in a file, such as ``cluster.ECM``."""
    package, _, kind = name.partition(".")
    schema = schemas_by_name(package).get(kind)
    if schema is None:
        raise InvalidInputError(f"{name!r} is not a class that this version of dempster can load")
    return schema


def schema_for(obj: Any) -> tuple[str, Schema] | None:
    """Return the name and the schema of an object's class for files, or None if the class has no schema."""
    kind = type(obj)
    top, *inside = kind.__module__.split(".")
    if top == "sklearn":
        package = top
    else:
        package = ""
    if top == "dempster" and inside:
        package = _OWN_TABLES.get(kind.__module__, inside[inside[0] == "apps"])
    schema = schemas_by_name(package).get(kind.__name__)
    if schema is not None and schema.cls is kind:
        return (f"{package}.{kind.__name__}", schema)
    return None
