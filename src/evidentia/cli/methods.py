"""The clustering methods the program knows, and how options become parameters of an estimator."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from evidentia.cli.errors import UserError

__all__ = ["METHODS", "Method", "NumberOrAuto", "WholeNumber", "build_estimator", "parse_parameters"]

# Parameters that have an option of their own.
_OPTIONS = {
    "n_clusters": "--clusters",
    "focal_sets": "--focal-sets",
    "n_init": "--n-init",
    "max_iter": "--max-iter",
    "missing": "--missing",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "verbose": "--verbose",
}


@dataclass(frozen=True)
class Method:
    """A class of `evidentia.cluster`, imported when it is used, and what its objective is called."""

    class_name: str
    objective: str = "objective"
    module: str = "evidentia.cluster"

    def load(self) -> type:
        return getattr(import_module(self.module), self.class_name)


METHODS: dict[str, Method] = {
    "evclus": Method("EVCLUS", "stress"),
    "ecm": Method("ECM"),
    "recm": Method("RECM"),
}


class WholeNumber(click.ParamType):
    """An integer between two bounds, refused in plain words."""

    name = "integer"

    def __init__(self, low: int | None = None, high: int | None = None):
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number, or a usage error that says what it must be."""
        bounds = "" if self.low is None else f" of at least {self.low}"
        bounds += "" if self.high is None else f" and at most {self.high}"
        try:
            number = int(value)
        except ValueError:
            self.fail(f"must be a whole number{bounds}, got '{value}'", param, ctx)
        if (self.low is not None and number < self.low) or (self.high is not None and number > self.high):
            self.fail(f"must be a whole number{bounds}, got {number}", param, ctx)
        return number


class NumberOrAuto(WholeNumber):
    """An integer, or "auto"."""

    name = "integer or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or "auto" as it is."""
        return "auto" if value == "auto" else super().convert(value, param, ctx)


def parse_parameters(settings: Sequence[str]) -> dict[str, Any]:
    """``name=value`` texts as a dictionary; values become integers, floats, true, false, none or stay text."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise UserError(f"-p must look like name=value, got '{setting}'")
        key = name.strip().replace("-", "_")
        if key in parameters:
            raise UserError(f"-p {key} is given twice")
        parameters[key] = _value(value.strip())
    return parameters


def _value(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def build_estimator(name: str, options: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """An estimator with the options that were given (not None) and the parameters of ``-p``."""
    kind = METHODS[name].load()
    known = list(inspect.signature(kind).parameters)
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            raise UserError(f"method {name} has no option {_OPTIONS.get(key, key)}")
    free = sorted(set(known) - set(_OPTIONS))
    for key in parameters:
        if key in _OPTIONS:
            raise UserError(f"-p {key}: use the option {_OPTIONS[key]}")
        if key not in free:
            raise UserError(f"-p {key}: method {name} has no such parameter; it has {', '.join(free)}")
    return kind(**given, **parameters)
