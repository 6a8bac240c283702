"""Names, parameters and capabilities of the clustering and classification methods.

The program, recipes and the studio list the methods without importing their classes.
``python -m tools.methods`` derives the list, `methods.json`, from the classes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class MethodParameter:
    """Parameter of a clustering or classification method."""

    name: str
    default: Any
    kind: str  # the permitted values in the docstring, such as 'float > 0 or "auto"'
    help: str  # first sentence of the description in the docstring

    @property
    def words(self) -> list[str]:
        """Permitted strings, such as ``["auto"]``."""
        return re.findall(r'"([^"]*)"', self.kind)

    @property
    def choices(self) -> list[str]:
        """All permitted values, if they can be listed; otherwise empty."""
        if self.kind == "bool":
            return ["true", "false"]
        if re.fullmatch(r"\{[^}]*\}", self.kind):
            return self.words
        return []


@dataclass(frozen=True)
class MethodInfo:
    """Description of a clustering or classification method."""

    name: str  # name in the command-line program, such as "ecm"
    package: str  # "cluster", "classify", or "labels" for clusters of other programs
    class_name: str
    summary: str
    capabilities: list[str]  # such as "weights": fit accepts sample_weight
    parameters: list[MethodParameter]  # in the order of the constructor

    @classmethod
    def from_dict(cls, name: str, entry: dict[str, Any]) -> MethodInfo:
        """Create the description of a method from its entry in the file."""
        parameters = [MethodParameter(**parameter) for parameter in entry["parameters"]]
        return cls(name, **entry | {"parameters": parameters})

    def load(self) -> Any:
        """Import and return the class."""
        return getattr(import_module(f"dempster.{self.package}"), self.class_name)

    def parameter(self, name: str) -> MethodParameter | None:
        """Return the parameter with the given name, or None if the method does not have it."""
        return next(
            (parameter for parameter in self.parameters if parameter.name == name), None
        )


_TEXT = Path(__file__).with_name("methods.json").read_text(encoding="utf-8")
METHODS = {
    name: MethodInfo.from_dict(name, entry) for name, entry in json.loads(_TEXT).items()
}


def method_names(package: str = "cluster") -> list[str]:
    """Return the names of all clustering or classification methods, such as ``ecm``."""
    return [name for name, method in METHODS.items() if method.package == package]


def methods_that(capability: str) -> list[str]:
    """Return the names of the clustering methods that have a capability."""
    return [name for name in method_names() if capability in METHODS[name].capabilities]


def methods_with(parameter: str, package: str = "cluster") -> list[str]:
    """Return the names of the methods that have a parameter."""
    return [
        name for name in method_names(package) if METHODS[name].parameter(parameter)
    ]


def default_method(*, constrained: bool) -> str:
    """Return the clustering method that is used if none is given.

    Not all methods can use constraints or labels.
    """
    if constrained:
        return "evclus"
    return "credal"


def parse_value(text: str) -> Any:
    """Parse text such as ``5``, ``0.5``, ``true``, ``none`` or ``[10, 10]``.

    Other text is returned unchanged.
    """
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
