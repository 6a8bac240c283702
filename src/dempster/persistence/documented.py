"""What the parts of an object must be, as its class says: types by its annotations, shapes by its docstring.

Digests that are right say that a file is whole, not that its parts fit together. Every class of the package says what
shape its arrays have, ``centers : (c, p) array`` or ``labels_ : ndarray of shape (n_samples,)``, and the same letter or
word means the same length. Files are held to it, so that parts that do not fit are refused when they are read, and not
by whatever fails first when they are used.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import is_integer
from dempster.belief import FocalSets, MassFunctions
from dempster.partition import CredalPartition

__all__ = ["check_feature_names", "check_types", "check_shapes", "family_lengths"]

_SHAPE = re.compile(
    r"^ *(\w+(?:, \w+)*) : (?:(?:nd)?arrays? of shape \(([^()]*)\)|\(([^()]*)\) (?:(\w+) )?(?:arrays?|numbers|sums?))"
    r"(?: of (\w+)[^()]*)?(?:,? optional| or None)?$",
    re.MULTILINE,
)
_SAID = re.compile(r"^ *((?:\w+_, )*\w+_) : (\w+)( or None)?$", re.MULTILINE)  # what a fit has left behind
_OF_MODELS = {"c", "f", "g", "n_features"}  # letters of clusters, sets and components: what belongs to them is known
_TYPES: dict[str, Callable[[Any], bool]] = {
    "None": lambda value: value is None,
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": is_integer,
    "float": lambda value: is_integer(value) or isinstance(value, float | np.floating),
    "str": lambda value: isinstance(value, str),
    "FocalSets": lambda value: isinstance(value, FocalSets),
    "MassFunctions": lambda value: isinstance(value, MassFunctions),
    "CredalPartition": lambda value: isinstance(value, CredalPartition),
    "np.dtype": lambda value: isinstance(value, np.dtype),
    "np.ndarray": lambda value: isinstance(value, np.ndarray) and value.dtype.kind != "c",
}


def check_types(kind: type, parts: Mapping[str, Any]) -> None:
    """Refuse parts of a record that are not of the plain types, or classes of the package, that its annotations or its
    docstring name; others are not looked at."""
    annotations = _said(kind)
    for name, value in parts.items():
        said, module = annotations.get(name, ("", ""))
        tests = [_test_of(word, module) for word in said.split(" | ")]
        if all(tests) and not any(test(value) for test in tests if test):
            raise InvalidInputError(f"{name} must be {said.replace(' | ', ' or ')}, got {_told(value)}")


@cache
def _said(kind: type) -> dict[str, tuple[str, str]]:
    """Of each attribute, by its name, the type in words, and the module in which these words are understood."""
    found: dict[str, tuple[str, str]] = {}
    for base in reversed(kind.__mro__):
        doc = (vars(base).get("__doc__") or "") if base.__module__.startswith("dempster.") else ""
        for names, said, optional in _SAID.findall(doc):
            if said in _TYPES:
                found |= dict.fromkeys(names.split(", "), (said + " | None" * bool(optional), base.__module__))
        annotations = vars(base).get("__annotations__", {})
        found |= {name: (str(said), base.__module__) for name, said in annotations.items()}
    return found


def check_feature_names(names: Any, width: int | None) -> None:
    """Refuse names of attributes that are no texts, or not one for each of them."""
    if names is None:
        return
    texts = (
        isinstance(names, np.ndarray) and names.dtype == object and all(isinstance(name, str) for name in names.flat)
    )
    if not texts or names.shape != (width,) or len(set(names)) < len(names):
        raise InvalidInputError(f"feature_names_in_ must be {width} different texts, got {_told(names)}")


def _test_of(word: str, module: str) -> Callable[[Any], bool] | None:
    """How a value of a type is known; None of types that are neither plain nor classes of the package."""
    if word in _TYPES:
        return _TYPES[word]
    found = vars(sys.modules[module]).get(word) if module in sys.modules else None
    if not isinstance(found, type) or not found.__module__.startswith("dempster."):
        return None
    return None if getattr(found, "_is_protocol", False) else lambda value: isinstance(value, found)


def check_shapes(kind: type, parts: Mapping[str, Any], lengths: Mapping[str, int]) -> None:
    """Refuse arrays whose shapes do not fit together, or not with ``lengths`` that are known by their words."""
    found = dict(lengths)
    for name, (shape, said, what) in _documented(kind).items():
        value = parts.get(name)
        if value is None:
            continue
        wanted = f"({', '.join(shape)}{',' * (len(shape) == 1)})"
        kinds = "biufmMOSTU" if name == "classes_" or what == "objects" else "iu" if said.startswith("int") else "biuf"
        exact = said if said in ("int32", "int64") else None
        if not isinstance(value, np.ndarray) or value.dtype.kind not in kinds or (exact and value.dtype != exact):
            numbers = "whole numbers" if kinds == "iu" else "numbers"
            raise InvalidInputError(
                f"{name} must be an array of {exact or numbers} of shape {wanted}, got {_told(value)}"
            )
        if value.ndim != len(shape):
            raise InvalidInputError(f"{name} must be of shape {wanted}, got {_told(value)}")
        for word, length in zip(shape, value.shape, strict=True):
            known = word.isidentifier()
            expected = int(word) if word.isdigit() else found.setdefault(word, length) if known else length
            if expected != length:
                raise InvalidInputError(
                    f"{name} must be of shape {wanted} with {word} = {expected}, got {_told(value)}"
                )
        finite = not _OF_MODELS.isdisjoint(shape) or name in ("classes_", "labels_")
        if finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise InvalidInputError(f"{name} must be finite, got NaN or infinity")


def family_lengths(record: Any) -> dict[str, int]:
    """The letters that every record with a family of sets takes from it: c clusters, f focal sets."""
    family = getattr(record, "family", None)
    return {"c": family.n_clusters, "f": len(family)} if isinstance(family, FocalSets) else {}


@cache
def _documented(kind: type) -> dict[str, tuple[tuple[str, ...], str, str]]:
    """Of each array, by its name, a word or number for every axis, the type that is said, and what it holds."""
    found: dict[str, tuple[tuple[str, ...], str, str]] = {}
    for base in reversed(kind.__mro__):
        doc = (vars(base).get("__doc__") or "") if base.__module__.startswith("dempster.") else ""
        for names, after, before, said, what in _SHAPE.findall(doc):
            shape = tuple(word.strip() for word in (after or before).split(",") if word.strip())
            found |= dict.fromkeys(names.split(", "), (shape, said, what))
    return found


def _told(value: Any) -> str:
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
