"""Schemas of the classes that model files may contain.

A schema lists the parts of an object and their types, and builds the object from the parts. A file
contains class names such as ``cluster.ECM``. Classes without a schema can be neither saved nor
loaded. The following classes have a schema:

- the public estimators of the packages of methods,
- the dataclasses, named tuples and other classes of these packages that are types of parameters or
  attributes of such a class (`schemas_by_name` follows the annotations),
- the classes in the tables of `_schemas`, and those that an application adds by `register`.

The parts of an object are declared by the annotations of its class, and are checked when a file is
loaded. An array is annotated with its shape, for example ``Annotated[np.ndarray, "c p"]``. The same
word means the same length within an object. A number is a fixed length, and ``*`` is any length.
``"r:int64"`` also declares the type of the cells, and ``p+1`` is the length p plus one. Several
texts are alternatives. In ``Annotated[Metric, ".matrix p p"]``, the text declares the shape of an
attribute of the part. `MaybeUnset` marks attributes that only some fits set.

A method ``_check_loaded`` of a class may raise an error for parts that are inconsistent.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Annotated, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from dempster._errors import InvalidInputError
from dempster._types import UNSET
from dempster._validation import is_integer
from dempster.belief import FocalSets, MassFunctions
from dempster.partition import CredalPartition

Parts = dict[str, Any]
# Files may contain the public estimators of these packages.
_METHOD_PACKAGES = ("classify", "cluster", "explain", "metric", "mixture")
_UNDECLARED = (Any, Annotated[Any, UNSET])
# Arrays with these axes must be finite.
_FINITE_AXES = {
    "c",
    "f",
    "g",
    "n_features",
    "n_clusters",
}
_CELLS = {  # kinds of NumPy types, and their names in error messages
    "": ("biuf", "numbers"),
    "int": ("iu", "integers"),
    "any": ("biufmMOSTU", "numbers or text"),
}


class _CommonAttributes:
    """Fitted attributes that have the same type in all estimators that do not declare another."""

    n_features_in_: int
    n_clusters_: int
    n_components_: int
    n_iter_: int
    n_neighbors_: int
    n_parameters_: int
    n_samples_seen_: int
    n_starts_: int
    beta_: float
    bic_: float
    d0_: float
    delta_: float
    ebic_: float
    fidelity_: float
    leave_one_out_error_: float
    log_likelihood_: float
    loss_: float
    min_belief_: float
    min_delta_: float
    min_prominence_: float | None
    objective_: float
    regularization_: float
    shift_: float
    smoothing_: float
    stress_: float
    tol_: float
    converged_: bool
    model_: str
    neighbors_: str
    sampling_: str
    credal_partition_: CredalPartition
    focal_sets_: FocalSets
    leave_one_out_masses_: MassFunctions
    candidate_indices_: Annotated[np.ndarray, "n_candidates:int"]
    cluster_centers_: Annotated[np.ndarray, "n_clusters n_features"]
    components_: Annotated[np.ndarray, "n_components n_features"]
    covariance_: Annotated[
        np.ndarray, "n_features n_features", "n_clusters n_features n_features"
    ]
    eigenvalues_: Annotated[np.ndarray, "n_components"]
    labels_: Annotated[np.ndarray, "n_samples"]
    means_: Annotated[np.ndarray, "n_clusters n_features"]
    medoid_indices_: Annotated[np.ndarray, "n_clusters:int"]
    metric_matrices_: Annotated[np.ndarray, "n_clusters n_features n_features"]
    metric_matrix_: Annotated[np.ndarray, "n_features n_features"]
    view_of_feature_: Annotated[np.ndarray, "n_features:int"]


@dataclasses.dataclass(frozen=True)
class Schema:
    """Functions that decompose the objects of a class into parts, and build objects from parts.

    Parts are values, or objects with a schema.
    """

    cls: type
    parts: Callable[[Any], Parts]
    build: Callable[[Parts], Any]

    @classmethod
    def from_class(cls, kind: Any) -> Schema:
        """Return the schema of a class whose parts are its annotated attributes.

        Dataclasses and named tuples are built by their constructor, and fields with a default may
        be missing in files of earlier versions. The attributes of other classes are set one by one.
        """
        declared = _annotations(kind)
        if dataclasses.is_dataclass(kind) or issubclass(kind, tuple):
            parameters = inspect.signature(kind).parameters.values()
            names = [parameter.name for parameter in parameters]
            required = [p.name for p in parameters if p.default is p.empty]
            construct = kind
        else:
            names = required = [name for name in declared if not hasattr(kind, name)]
            construct = partial(_set_attributes, kind)

        def build(parts: Parts) -> Any:
            check_names(parts, names, required)
            check_parts(parts, declared)
            obj = construct(**parts)
            family = getattr(obj, "family", None)
            if isinstance(family, FocalSets):
                check_parts(parts, declared, {"c": family.n_clusters, "f": len(family)})
            _check_loaded(obj)
            return obj

        return cls(
            kind, lambda obj: {name: getattr(obj, name) for name in names}, build
        )

    @classmethod
    def from_arguments(cls, kind: Any, /, **renamed: str) -> Schema:
        """Return the schema of a class whose parts are the arguments of its constructor.

        ``renamed`` contains the attributes that store arguments of another name. Arguments with a
        default may be missing in files of earlier versions.
        """
        arguments = inspect.signature(kind).parameters.values()
        required = [a.name for a in arguments if a.default is a.empty]
        attributes = {a.name: renamed.get(a.name, a.name) for a in arguments}
        annotations = _annotations(kind)
        declared = {
            name: annotations.get(stored, Any) for name, stored in attributes.items()
        }

        def parts(obj: Any) -> Parts:
            return {name: getattr(obj, stored) for name, stored in attributes.items()}

        def build(parts: Parts) -> Any:
            check_names(parts, attributes, required)
            check_parts(parts, declared)
            return kind(**parts)

        return cls(kind, parts, build)

    @classmethod
    def from_estimator(
        cls, kind: Any, check: Callable[[Any], None] | None = None
    ) -> Schema:
        """Return the schema of an estimator, with its parameters and its fitted attributes.

        Lazy attributes are left out. The annotated attributes of a fitted estimator are required
        unless they are marked by `MaybeUnset` or have a default in the class. ``check`` raises an
        error if the attributes of an estimator of another library are inconsistent.
        """
        annotations = _annotations(kind)
        declared = {
            name: hint for name, hint in annotations.items() if hint not in _UNDECLARED
        }
        required = [
            name
            for name, hint in annotations.items()
            if "_" in (name[0], name[-1])
            and not hasattr(kind, name)
            and UNSET not in typing.get_args(hint)
        ]
        is_ours = kind.__module__.startswith("dempster.")
        if is_ours:
            required.append("n_features_in_")
            declared = {**_annotations(_CommonAttributes), **declared}

        def parts(estimator: Any) -> Parts:
            parameters = estimator.get_params(deep=False)
            fitted = {
                name: value
                for name, value in estimator.__getstate__().items()
                if name not in parameters and not _is_lazy(value)
            }
            return {"parameters": parameters, "fitted": fitted}

        def build(parts: Parts) -> Any:
            check_names(parts, ("parameters", "fitted"))
            parameters = parts["parameters"]
            fitted = parts["fitted"]
            check_parts(parts, {"parameters": dict, "fitted": dict})
            check_names(parameters, kind._get_param_names(), required=())
            estimator: Any = kind(**parameters)
            if not fitted:
                return estimator
            for name in fitted:
                if not _may_be_fitted(kind, name, is_ours):
                    raise InvalidInputError(f"{name!r} is not a fitted attribute")
            check_names(fitted, fitted, required)
            n_features = fitted.get("n_features_in_")
            check_parts(fitted, declared, {"n_features": n_features})
            _check_feature_names(fitted.get("feature_names_in_"), n_features)
            estimator.__setstate__({**vars(estimator), **fitted})
            (check or _check_loaded)(estimator)
            return estimator

        return cls(kind, parts, build)


def _annotations(obj: Any) -> dict[str, Any]:
    return typing.get_type_hints(obj, include_extras=True)


def _set_attributes(kind: type, **parts: Any) -> Any:
    obj: Any = object.__new__(kind)
    for name, value in parts.items():
        setattr(obj, name, value)
    return obj


def _is_lazy(value: Any) -> bool:
    """Return whether a value is computed lazily from the blocks of the training data."""
    from dempster.data.blocks import Blocks
    from dempster.partition.lazy import LazyCredalPartition

    return isinstance(value, LazyCredalPartition | Blocks) or hasattr(
        value, "__dask_graph__"
    )


def _may_be_fitted(kind: type, name: Any, is_ours: bool) -> bool:
    """Return whether `fit` may set an attribute of this name; a file must not replace methods."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
        return False
    if is_ours and "_" not in (name[0], name[-1]):
        return False
    in_class = getattr(kind, name, None)
    return not callable(in_class) and not isinstance(in_class, property)


# ---- checks --------------------------------------------------------------------------------------


def check_names(
    parts: Iterable[str], known: Iterable[str], required: Iterable[str] | None = None
) -> None:
    """Raise an error for missing or unknown names of parts.

    By default all known names are required.
    """
    found = set(parts)
    allowed = set(known)
    needed = allowed if required is None else set(required)
    for name in sorted(needed - found):
        raise InvalidInputError(f"{name!r} is missing")
    for name in sorted(map(str, found - allowed)):
        raise InvalidInputError(f"{name!r} is unknown")


def check_parts(
    parts: Mapping[str, Any],
    declared: Mapping[str, Any],
    lengths: Mapping[str, Any] | None = None,
) -> None:
    """Raise an error if a part does not have its declared type.

    The shapes of arrays must agree with each other and with the known ``lengths`` of axes.
    """
    sizes = dict(lengths or {})
    for name, hint in declared.items():
        if name in parts:
            _check_part(name, parts[name], hint, sizes)


def check_array(
    name: str, value: Any, shapes: Sequence[str], lengths: dict[str, int]
) -> None:
    """Raise an error if a value is not an array of one of the shapes."""
    n_axes = getattr(value, "ndim", 0)
    declared = next(
        (shape for shape in shapes if len(shape.split()) == n_axes), shapes[0]
    )
    axes, _, cells = declared.partition(":")
    words = axes.split()
    if cells in _CELLS:
        kinds, contents = _CELLS[cells]
    else:
        kinds = np.dtype(cells).kind
        contents = cells
    expected = f"an array of {contents} of shape ({', '.join(words)})"
    is_array = (
        isinstance(value, np.ndarray)
        and n_axes == len(words)
        and value.dtype.kind in kinds
    )
    if not is_array or (cells not in _CELLS and value.dtype != cells):
        raise InvalidInputError(f"{name} must be {expected}, got {_describe(value)}")
    for word, length in zip(words, value.shape, strict=True):
        if word == "*":
            continue
        base, _, more = word.partition("+")
        extra = int(more or 0)
        if base.isdigit():
            wanted = int(base)
        else:
            wanted = lengths.setdefault(base, length - extra) + extra
        if wanted != length:
            raise InvalidInputError(
                f"{name} must be {expected} with {word} = {wanted}, got {_describe(value)}"
            )
    must_be_finite = value.dtype.kind == "f" and not _FINITE_AXES.isdisjoint(words)
    if must_be_finite and not np.isfinite(value).all():
        raise InvalidInputError(f"{name} must be finite, got NaN or infinity")


def _check_part(name: str, value: Any, hint: Any, lengths: dict[str, int]) -> None:
    kinds = typing.get_args(hint)
    if _is_annotated(hint):
        kind, *notes = kinds
        shapes = [note for note in notes if note != UNSET]
        if not shapes or shapes[0].startswith("."):
            _check_part(name, value, kind, lengths)
            for shape in shapes:
                _check_attribute(name, value, shape, lengths)
        else:
            if kind is Any and isinstance(value, pd.Series):
                value = value.to_numpy()
            check_array(name, value, shapes, lengths)
    elif typing.get_origin(hint) is tuple and _is_annotated(kinds[0]):
        if not isinstance(value, tuple) or len(value) != len(kinds):
            raise InvalidInputError(
                f"{name} must be a tuple of length {len(kinds)}, got {_describe(value)}"
            )
        for k, (part, kind) in enumerate(zip(value, kinds, strict=True)):
            _check_part(f"{name}[{k}]", part, kind, lengths)
    elif (
        _is_union(hint)
        and _is_annotated(kinds[0])
        and not any(_is_instance(value, kind) for kind in kinds[1:])
    ):
        _check_part(name, value, kinds[0], lengths)
    elif not _is_instance(value, hint):
        raise InvalidInputError(
            f"{name} must be {_type_name(hint)}, got {_describe(value)}"
        )


def _check_attribute(
    name: str, value: Any, declared: str, lengths: dict[str, int]
) -> None:
    """Check the shape of an attribute of a part, declared by a text such as ``.origin p``."""
    attribute, shape = declared.removeprefix(".").split(maxsplit=1)
    array = getattr(value, attribute)
    if array is not None:
        check_array(f"{name}.{attribute}", array, [shape], lengths)


def _is_instance(value: Any, expected: Any) -> bool:
    """Return whether a value has the expected type.

    Type hints that are not classes accept any value.
    """
    if _is_union(expected):
        return any(_is_instance(value, kind) for kind in typing.get_args(expected))
    expected = typing.get_origin(expected) or expected
    if (
        expected is Any
        or not isinstance(expected, type)
        or getattr(expected, "_is_protocol", False)
    ):
        return True
    if expected is bool:
        return isinstance(value, bool | np.bool_)
    if expected is int:
        return is_integer(value)
    if expected is float:
        return is_integer(value) or isinstance(value, float | np.floating)
    if expected is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return isinstance(value, expected)


def _is_annotated(hint: Any) -> bool:
    return typing.get_origin(hint) is Annotated


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (types.UnionType, typing.Union)


def _type_name(expected: Any) -> str:
    if _is_union(expected):
        return " or ".join(map(_type_name, typing.get_args(expected)))
    if expected is types.NoneType:
        return "None"
    return getattr(expected, "__name__", str(expected))


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__


def _check_feature_names(names: Any, width: Any) -> None:
    if names is None:
        return
    are_texts = isinstance(names, np.ndarray) and all(
        isinstance(name, str) for name in names.flat
    )
    if not are_texts or names.shape != (width,) or len(set(names)) < width:
        raise InvalidInputError(
            f"feature_names_in_ must be {width} unique texts, got {_describe(names)}"
        )


def _check_loaded(obj: Any) -> None:
    if hasattr(obj, "_check_loaded"):
        obj._check_loaded()


# ---- tables --------------------------------------------------------------------------------------

_APPLICATIONS = ("recipe",)  # whose classes register themselves when they are imported
_REGISTERED: set[type] = set()


def register(kind: type) -> None:
    """Let files contain a dataclass of an application, and the classes of its fields."""
    _REGISTERED.add(kind)
    schemas_by_name.cache_clear()


@cache
def schemas_by_name(package: str) -> Mapping[str, Schema]:
    """Import a package, and return a dictionary of its schemas with the class names as keys."""
    from dempster.persistence._schemas import TABLES

    if package in TABLES:
        return {schema.cls.__name__: schema for schema in TABLES[package]()}
    if package in _APPLICATIONS:
        import_module(f"dempster.apps.{package}")
    pending = [kind for kind in _REGISTERED if _package_of(kind) == package]
    if package in _METHOD_PACKAGES:
        module = import_module(f"dempster.{package}")
        public = [getattr(module, name) for name in module.__all__]
        pending = [kind for kind in public if _is_estimator(kind)]
    found: dict[str, Schema] = {}
    while pending:
        kind = pending.pop()
        is_protocol = getattr(kind, "_is_protocol", False)
        if kind.__name__ in found or _package_of(kind) != package or is_protocol:
            continue
        if _is_estimator(kind):
            found[kind.__name__] = Schema.from_estimator(kind)
        else:
            found[kind.__name__] = Schema.from_class(kind)
        for hint in _annotations(kind).values():
            pending += _classes_in(hint)
    return found


def schema_named(name: str) -> Schema:
    """Return the schema for a class name in a file, such as ``cluster.ECM``."""
    package, _, kind = name.partition(".")
    schema = schemas_by_name(package).get(kind)
    if schema is None:
        raise InvalidInputError(
            f"{name!r} is not a class that this version of dempster can load"
        )
    return schema


def schema_for(obj: Any) -> tuple[str, Schema] | None:
    """Return the name and the schema of an object's class, or None if it has no schema."""
    kind = type(obj)
    package = _package_of(kind)
    schema = schemas_by_name(package).get(kind.__name__)
    if schema is None or schema.cls is not kind:
        return None
    return f"{package}.{kind.__name__}", schema


def _package_of(kind: type) -> str:
    """Return the name of a package in files, such as ``cluster``, ``recipe`` or ``sklearn``."""
    module = kind.__module__.removeprefix("dempster.").removeprefix("apps.")
    return module.partition(".")[0]


def _is_estimator(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseEstimator)


def _classes_in(hint: Any) -> Iterator[type]:
    """Yield the classes in a type hint such as ``list[View] | None``."""
    if isinstance(hint, type):
        yield hint
    if typing.get_origin(hint) is not type:
        for part in typing.get_args(hint):
            yield from _classes_in(part)
