"""Types of option values, with error messages and shell completion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from dempster.apps.methods import METHODS, method_names, parse_value

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

    def __init__(self, words: Sequence[str] = ()):
        self.words = words

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if not isinstance(value, str):
            return value
        parsed = parse_value(value)
        return NONE if parsed is None else parsed

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [
            CompletionItem(word) for word in self.words if word.startswith(incomplete)
        ]


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

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        names = [
            name for name in method_names(self.package) if name.startswith(incomplete)
        ]
        return [CompletionItem(name, help=METHODS[name].summary) for name in names]


class ColumnNames(click.ParamType):
    """Names of columns separated by commas.

    The shell completes them from the columns of the input file.
    """

    name = "a,b,..."

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from dempster.io.dialect import sniff
        from dempster.io.tables import read_quietly

        argument = ctx.params.get("files") or ctx.params.get("file") or ()
        # click does not parse the arguments after an option that has no value yet.
        files = (
            [argument] if isinstance(argument, str | Path) else [*argument, *ctx.args]
        )
        names: list[str] = []
        try:
            file = Path(files[0])
            if file.suffix.lower() in (".csv", ".tsv", ".txt", ".gz"):
                dialect = sniff(file)
                if dialect.has_header:
                    names = dialect.first_line
            else:
                names = list(read_quietly(file).columns)
        except (IndexError, OSError, ValueError, ImportError):
            pass  # Without a readable file there are no completions.
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{name}")
            for name in names
            if name.startswith(last)
        ]
