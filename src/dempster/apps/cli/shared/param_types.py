"""Types of the values that options take, with plain error messages and completion in the shell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dempster import registry

NONE = object()  # "none" was typed; None is the value of an option that was not given


class FileName(click.Path):
    """A path. An empty one would mean the current folder; it comes from an unset variable of the shell."""

    def __init__(self, path_type: type | None = None):
        super().__init__(readable=False, path_type=path_type)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("must be the name of a file, got ''", param, ctx)
        return super().convert(value, param, ctx)


PATH = FileName(Path)


class WholeNumber(click.ParamType):
    """An integer between two bounds, refused in plain words."""

    name = "integer"

    def __init__(self, low: int | None = None, high: int | None = None):
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
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
        return "auto" if value == "auto" else super().convert(value, param, ctx)


class Value(click.ParamType):
    """A number, a truth value, a list or a word, as a parameter of a method takes it."""

    name = "value"

    def __init__(self, words: Sequence[str] = ()):
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        found = registry.parse_value(value)
        return NONE if found is None else found

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


class MethodName(click.ParamType):
    """A method, by the name of its class in small letters."""

    name = "method"

    def __init__(self, package: str):
        self.package = package

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value).lower()
        known = registry.method_names(self.package)
        if name not in known:
            self.fail(f"must be one of {', '.join(known)}, got '{value}'", param, ctx)
        return name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        found = [name for name in registry.method_names(self.package) if name.startswith(incomplete)]
        return [CompletionItem(name, help=registry.method_summary(name, self.package)) for name in found]


class ColumnNames(click.ParamType):
    """Names of columns, separated by commas; completed from the file that is named before."""

    name = "columns"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given = ctx.params.get("files") or ctx.params.get("file") or ()
        # where an option still waits for its value, click leaves the arguments before it unread
        files = [given] if isinstance(given, str | Path) else [*given, *ctx.args]
        before, comma, last = incomplete.rpartition(",")
        try:
            names = _read_column_names(Path(files[0])) if files else []
        except (OSError, ValueError, ImportError):
            names = []
        return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]


def _read_column_names(file: Path) -> list[str]:
    """Read the names of the columns, of a text file from its first lines."""
    from dempster.io.dialect import sniff
    from dempster.io.tables import read_quietly

    if file.suffix.lower() in (".csv", ".tsv", ".txt", ".gz"):
        dialect = sniff(file)
        return dialect.first_line if dialect.has_header else []
    return list(read_quietly(file).columns)
