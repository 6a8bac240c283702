"""Types of option values, with error messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.methods import method_names, parse_value

NONE = (
    object()
)  # value of an option set to "none"; None means that the option is not set


class FileName(click.Path):
    """Nonempty path.

    An empty path (from an unset shell variable) is rejected, as it would mean the current folder.
    """

    def __init__(self, path_type: type | None = None):
        super().__init__(readable=False, path_type=path_type)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if value == "":
            self.fail("must be the name of a file, got ''", param, ctx)
        return super().convert(value, param, ctx)


PATH = FileName(Path)


class WholeNumber(click.ParamType):
    """Integer between two bounds."""

    name = "n"  # shown in capitals in the help

    def __init__(self, low: int, high: int | None = None):
        self.low = low
        self.high = high

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        expected = f"must be an integer of at least {self.low}"
        if self.high is not None:
            expected += f" and at most {self.high}"
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{expected}, got '{value}'", param, ctx)
        if number < self.low or (self.high is not None and number > self.high):
            self.fail(f"{expected}, got {number}", param, ctx)
        return number


class NumberOrAuto(WholeNumber):
    """Integer or "auto"."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if value == "auto":
            return "auto"
        return super().convert(value, param, ctx)


class ParameterValue(click.ParamType):
    """Value of a parameter of a method, which may be a number, a boolean, a list or a text."""

    name = "value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if not isinstance(value, str):
            return value
        parsed = parse_value(value)
        return NONE if parsed is None else parsed


class MethodName(click.ParamType):
    """Name of a method, in uppercase or lowercase letters."""

    name = "method"

    def __init__(self, package: str):
        self.package = package

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        name = str(value).lower()
        names = method_names(self.package)
        if name not in names:
            self.fail(f"must be one of {', '.join(names)}, got '{value}'", param, ctx)
        return name
